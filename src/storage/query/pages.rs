//! Directory entries by ordinal, a page at a time.

use crate::storage::Snapshot;
use crate::storage::error::StorageError;
use crate::storage::segment::DirectoryEntry;
use crate::storage::segment::directory::PAGE_ENTRIES;
use std::collections::HashMap;

/// Remembers the last page of each segment: whoever asks in ascending order reads each page once.
#[derive(Default)]
pub struct Pages {
    last: HashMap<usize, (usize, Vec<DirectoryEntry>)>,
    /// How many pages were read so far.
    pub read: u64,
}

/// Pages remembered at once.
const MOST: usize = 64;

impl Pages {
    /// The entry of this ordinal of a segment, given by its index in the snapshot.
    pub fn entry(
        &mut self,
        snapshot: &Snapshot,
        segment: usize,
        ordinal: u64,
    ) -> Result<Option<DirectoryEntry>, StorageError> {
        let (page, at) = ((ordinal / PAGE_ENTRIES as u64) as usize, (ordinal % PAGE_ENTRIES as u64) as usize);
        if self.last.get(&segment).is_none_or(|(last, _)| *last != page) {
            let Some(segment_file) = snapshot.segments.get(segment) else { return Ok(None) };
            self.read += 1;
            let entries = segment_file.page(page)?;
            if self.last.len() >= MOST {
                self.last.clear();
            }
            self.last.insert(segment, (page, entries));
        }
        Ok(self.last.get(&segment).and_then(|(_, entries)| entries.get(at)).cloned())
    }
}
