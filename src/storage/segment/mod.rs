//! One immutable file of rows, grouped in traces, sorted by trace id.
//!
//! ```text
//! header · block · block · directory page · block · … · sections · footer
//! ```
//!
//! A *block* holds neighbouring runs: their key columns, then the span bytes that the keys leave. The *directory* has
//! one entry a trace with its facts and its judged mark. Resources and scopes are stored once and named by content.
//! The footer names every section, so that one that is not asked for is never read. Every part has a checksum of its
//! own: damage costs only the part it hit. Byte tables: `docs/formats.md`.

pub mod anatomy;
pub mod block;
pub mod directory;
pub mod envelopes;
pub mod facts;
pub mod filter;
pub mod footer;
pub mod identity;
pub mod index;
pub mod mend;
pub mod names;
pub mod part;
pub mod reader;
pub mod salvage;
pub mod scan;
pub mod table;
pub mod writer;

pub use anatomy::Anatomy;
pub use block::{Block, RunRow};
pub use directory::DirectoryEntry;
pub use envelopes::Envelopes;
pub use facts::{Facts, Mark};
pub use footer::{Footer, Section, SectionKind};
pub use identity::{Header, identify};
pub use index::{IndexEntry, IndexKind};
pub use names::Names;
pub use reader::Segment;
pub use table::{ContentHash, TableBuilder};
pub use writer::{Origin, SegmentWriter};

pub const MAGIC: [u8; 8] = *b"SLUICESG";
pub const END_MAGIC: [u8; 8] = *b"SLUICEND";
pub const VERSION: u32 = 2;
/// Beyond this level zstd costs more than it saves here; see `docs/benchmarks.md`.
pub const ZSTD_LEVEL: i32 = 3;
/// Bytes of a segment's header.
pub const HEADER_SIZE: usize = 40;

/// How a part is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Codec {
    None = 0,
    Lz4 = 1,
    Zstd = 2,
}

impl Codec {
    pub fn from_u8(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::None),
            1 => Some(Self::Lz4),
            2 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The raw bytes; `None` where the packed ones do not give exactly `raw_len`.
    pub fn decompress(self, packed: &[u8], raw_len: usize) -> Option<Vec<u8>> {
        // LZ4 makes at most 255 bytes of one: a larger claim is not worth allocating for.
        let plausible = raw_len <= packed.len().saturating_mul(256);
        let raw = match self {
            Self::None => packed.to_vec(),
            Self::Lz4 if plausible => lz4_flex::block::decompress(packed, raw_len).ok()?,
            Self::Zstd if raw_len <= part::LARGEST_PART => zstd::bulk::decompress(packed, raw_len).ok()?,
            Self::Lz4 | Self::Zstd => return None,
        };
        (raw.len() == raw_len).then_some(raw)
    }
}
