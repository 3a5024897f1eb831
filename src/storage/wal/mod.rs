//! The log of batches not yet in a segment.
//!
//! A log file has a fixed size, two copies of its header and then frames, one a batch, each at a multiple of 8 bytes. Files are
//! allocated whole and reused: the id of the file is part of every frame's checksum, so that what an earlier use left
//! behind is never read as new. Nothing is appended to a file found at a start: a start begins a new file, whose
//! header says where its predecessor ends. Byte tables: `docs/formats.md`.

pub mod frame;
pub mod header;
pub mod hole;
pub mod log;
pub mod replay;
pub(super) mod scan;
mod spares;

pub use frame::{FRAME_HEADER, Frame, FrameKind, Seed};
pub use header::{FileHeader, HEADER_PAGE, Previous};
pub use hole::{Hole, HolePart, Odd, Oddity};
pub use log::{Log, LogError};
pub use replay::{Replay, Replayed};
