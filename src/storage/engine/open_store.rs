//! Reading a store that nobody writes to.

use super::Found;
use super::recovery::{self, Directory};
use super::view::{self, Snapshot};
use crate::storage::disk::Disk;
use crate::storage::error::StorageError;
use crate::storage::files::Layout;
use std::sync::Arc;

/// A store that is open for reading only, while nobody writes to it.
pub struct OpenStore {
    pub directory: Directory,
    pub found: Found,
    pub snapshot: Snapshot,
    /// Bytes of all log files.
    pub log_bytes: u64,
}

impl OpenStore {
    /// Opens a directory and changes nothing in it. What is only in the log is held in memory.
    pub fn open(directory: &std::path::Path, disk: &dyn Disk) -> Result<Self, StorageError> {
        let directory = recovery::open_for_reading(disk, Layout::new(directory))?;
        let mut entries = Vec::new();
        let replay =
            recovery::read_log(disk, &directory.layout, &directory.manifest, &mut |entry| entries.push(entry))?;
        let found = Found::of(&directory, &replay, entries.len() as u64);
        let snapshot = Snapshot {
            epoch: directory.manifest.epoch,
            segments: Arc::new(directory.segments.clone()),
            unreadable: Arc::new(directory.unreadable.clone()),
            set_aside: Arc::new(directory.set_aside.clone()),
            entries: view::entries(&directory.set_aside, entries),
        };
        let log_bytes = replay.bytes;
        Ok(Self { directory, found, snapshot, log_bytes })
    }
}
