//! All traces of a snapshot, in id order, a merge of sorted directories.

use super::reading::Reading;
use crate::model::{Trace, TraceId};
use crate::storage::Snapshot;
use crate::storage::segment::{DirectoryEntry, Segment};
use std::collections::{BTreeMap, VecDeque};

/// Where the parts of one trace are.
#[derive(Debug, Clone)]
pub struct Fragments {
    pub id: TraceId,
    /// Index of the segment in the snapshot, and its directory entry.
    pub segments: Vec<(usize, DirectoryEntry)>,
    /// (Entry, place) of the rows in memory; `None` where they have not been looked for.
    pub memory: Option<Vec<(u32, u32)>>,
    pub warnings: Vec<String>,
}

impl Fragments {
    pub fn new(id: TraceId) -> Self {
        Self { id, segments: Vec::new(), memory: None, warnings: Vec::new() }
    }
}

/// Goes through all traces of a snapshot once.
pub struct Traces<'a> {
    reading: Reading<'a>,
    memory: BTreeMap<TraceId, Vec<(u32, u32)>>,
    directories: Vec<DirectoryCursor<'a>>,
    /// What could not be read, and so belongs to no trace that was given.
    pub warnings: Vec<String>,
}

impl<'a> Traces<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Self {
        let mut memory: BTreeMap<TraceId, Vec<(u32, u32)>> = BTreeMap::new();
        for (index, entry) in snapshot.entries.iter().enumerate() {
            for (place, head) in entry.batch.spans().iter().enumerate() {
                memory.entry(head.trace_id).or_default().push((index as u32, place as u32));
            }
        }
        let directories = snapshot.segments.iter().map(|segment| DirectoryCursor::new(segment)).collect();
        let warnings = snapshot.unreadable.iter().map(|file| file.why.clone()).collect();
        Self { reading: Reading::new(snapshot), memory, directories, warnings }
    }

    /// Where the parts of the next trace are.
    pub fn next_fragments(&mut self) -> Option<Fragments> {
        for directory in &mut self.directories {
            directory.fill(&mut self.warnings);
        }
        let in_segments = self.directories.iter().filter_map(DirectoryCursor::id);
        let id = in_segments.chain(self.memory.keys().next().copied()).min()?;
        let mut fragments = Fragments::new(id);
        fragments.memory = Some(self.memory.remove(&id).unwrap_or_default());
        for (index, directory) in self.directories.iter_mut().enumerate() {
            fragments.segments.extend(directory.take(id).map(|entry| (index, entry)));
        }
        Some(fragments)
    }

    /// The next trace with all its spans.
    pub fn next_trace(&mut self) -> Option<Trace> {
        let fragments = self.next_fragments()?;
        Some(self.assemble(&fragments))
    }

    pub fn assemble(&mut self, fragments: &Fragments) -> Trace {
        self.reading.assemble(fragments)
    }
}

/// Reads one directory, a page at a time.
struct DirectoryCursor<'a> {
    segment: &'a Segment,
    next_page: usize,
    entries: VecDeque<DirectoryEntry>,
}

impl<'a> DirectoryCursor<'a> {
    fn new(segment: &'a Segment) -> Self {
        Self { segment, next_page: 0, entries: VecDeque::new() }
    }

    fn fill(&mut self, warnings: &mut Vec<String>) {
        while self.entries.is_empty() && self.next_page < self.segment.page_count() {
            let page = self.segment.readable_page(self.next_page);
            self.entries = page.entries.into();
            for warning in page.errors.iter().map(ToString::to_string) {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            self.next_page += 1;
        }
    }

    fn id(&self) -> Option<TraceId> {
        self.entries.front().map(|entry| entry.trace_id)
    }

    fn take(&mut self, id: TraceId) -> Option<DirectoryEntry> {
        self.entries.pop_front_if(|entry| entry.trace_id == id)
    }
}
