//! Where the parts of a trace are.

use super::limits::{Limits, Stopped};
use super::pages::Pages;
use crate::model::TraceId;
use crate::storage::Snapshot;
use crate::storage::segment::DirectoryEntry;

/// Every place of a snapshot that holds rows of one trace.
#[derive(Debug, Clone)]
pub struct Fragments {
    pub id: TraceId,
    /// Index of the segment in the snapshot, and its directory entry.
    pub segments: Vec<(usize, DirectoryEntry)>,
    pub memory: Vec<InMemory>,
    /// What of it cannot be told.
    pub warnings: Vec<String>,
}

/// Rows of one memtable.
#[derive(Debug, Clone)]
pub struct InMemory {
    /// Index of the memtable in the snapshot.
    pub memtable: usize,
    /// (Entry, place) of each, in LSN order.
    pub rows: Vec<(u32, u32)>,
}

impl Fragments {
    pub fn new(id: TraceId) -> Self {
        Self { id, segments: Vec::new(), memory: Vec::new(), warnings: Vec::new() }
    }

    /// Looks for a trace everywhere but in the segments that `known` tells of.
    pub fn find(
        snapshot: &Snapshot,
        id: TraceId,
        known: Vec<(usize, DirectoryEntry)>,
        pages: &mut Pages,
        limits: &Limits,
    ) -> Result<Self, Stopped> {
        limits.check()?;
        let found: Vec<_> = known.iter().map(|(segment, _)| *segment).collect();
        let mut fragments = Self { segments: known, ..Self::new(id) };
        for segment in (0..snapshot.segments.len()).filter(|segment| !found.contains(segment)) {
            match pages.find(snapshot, segment, id) {
                Ok(entry) => fragments.segments.extend(entry.map(|entry| (segment, entry))),
                Err(error) => fragments.warnings.push(error.to_string()),
            }
        }
        fragments.segments.sort_unstable_by_key(|(segment, _)| *segment);
        for (memtable, view) in snapshot.memory.iter().enumerate() {
            let rows = view.rows(id);
            if !rows.is_empty() {
                fragments.memory.push(InMemory { memtable, rows });
            }
        }
        Ok(fragments)
    }

    pub fn count(&self) -> usize {
        self.segments.len() + self.memory.len()
    }

    /// The directory entry of a trace that is in one segment and nowhere else: its facts are those of the whole trace.
    pub fn only(&self) -> Option<&(usize, DirectoryEntry)> {
        self.segments.first().filter(|_| self.count() == 1)
    }
}
