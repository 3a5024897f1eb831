//! Directory entries, a page at a time.

use crate::model::TraceId;
use crate::storage::Snapshot;
use crate::storage::error::StorageError;
use crate::storage::segment::{DirectoryEntry, Segment};
use std::collections::HashMap;

/// Remembers the last page of each segment: whoever asks in ascending order reads each page once.
#[derive(Default)]
pub struct Pages {
    last: HashMap<usize, (usize, Vec<DirectoryEntry>)>,
    /// How many pages were read so far.
    pub read: u64,
}

/// Pages remembered at once.
const MOST: usize = 256;

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
        Ok(self.page(segment, file, page)?.get(place).cloned())
    }

    /// The entry of a trace.
    pub fn find(
        &mut self,
        snapshot: &Snapshot,
        segment: usize,
        id: TraceId,
    ) -> Result<Option<DirectoryEntry>, StorageError> {
        let Some(file) = snapshot.segments.get(segment).filter(|file| file.may_hold(id)) else { return Ok(None) };
        let Some(page) = file.page_of(id) else { return Ok(None) };
        let entries = self.page(segment, file, page)?;
        let found = entries.binary_search_by_key(&id, |entry| entry.trace_id).ok();
        Ok(found.and_then(|place| entries.get(place)).cloned())
    }

    fn page(&mut self, segment: usize, file: &Segment, page: usize) -> Result<&[DirectoryEntry], StorageError> {
        if self.last.get(&segment).is_none_or(|(last, _)| *last != page) {
            if self.last.len() >= MOST {
                self.last.clear();
            }
            self.read += 1;
            self.last.insert(segment, (page, file.page(page)?));
        }
        Ok(self.last.get(&segment).map(|(_, entries)| &**entries).unwrap_or_default())
    }
}
