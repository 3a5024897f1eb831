//! Directory entries by ordinal, a page at a time.

use crate::storage::Snapshot;
use crate::storage::error::StorageError;
use crate::storage::segment::DirectoryEntry;
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
        ordinal: u32,
    ) -> Result<Option<DirectoryEntry>, StorageError> {
        let Some(file) = snapshot.segments.get(segment) else { return Ok(None) };
        let (page, place) = file.place_of(ordinal);
        if self.last.get(&segment).is_none_or(|(last, _)| *last != page) {
            if self.last.len() >= MOST {
                self.last.clear();
            }
            self.read += 1;
            self.last.insert(segment, (page, file.page(page)?));
        }
        Ok(self.last.get(&segment).and_then(|(_, entries)| entries.get(place)).cloned())
    }
}
