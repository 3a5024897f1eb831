//! The store: batches are durable before they are answered, readable at once, and end in sorted segments.
//!
//! ```text
//! Engine::append ─► wal thread: log file, one sync a group ─► memtable ─► answer
//!                                       memtable, frozen ─► seal thread: segment ─► manifest ─► log files reused
//! ```
//!
//! The `wal` thread alone assigns LSNs, writes, syncs, inserts into the memtable in LSN order and wakes the callers;
//! everything else follows from that order. Blocking code on named threads; nothing here knows a protocol.

mod aside;
pub mod clock;
pub mod codec;
mod collapse;
pub mod disk;
pub mod engine;
pub mod error;
pub mod files;
mod inventory;
pub mod manifest;
mod memtable;
pub mod options;
mod owner;
pub mod query;
pub mod repair;
mod seal;
pub mod segment;
pub mod set_aside;
pub mod verify;
pub mod wal;

pub use engine::{Engine, OpenStore, Snapshot};
pub use error::{AppendError, StorageError};
pub use options::{Durability, Options, SealOptions, WalOptions};
