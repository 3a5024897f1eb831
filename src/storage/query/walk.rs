//! Goes through the traces of several segments and memtables in id order: a merge of their sorted lists of ids.

use super::limits::{Limits, Stopped};
use super::source::{Place, Source};
use crate::model::TraceId;
use crate::storage::Snapshot;
use crate::storage::memtable::MemtableView;
use crate::storage::segment::Segment;
use crate::storage::segment::directory::PAGE_ENTRIES;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One trace and where it was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met {
    pub id: TraceId,
    pub places: Vec<Place>,
}

/// Holds one page of ids of each segment, and the ids of the memtables.
pub struct Walk<'a> {
    lists: Vec<Ids<'a>>,
    /// The next id of each list that has one.
    next: BinaryHeap<Reverse<(TraceId, usize)>>,
    limits: Limits,
    /// Pages that cannot be read. Their traces are met in other places only.
    pub warnings: Vec<String>,
}

impl<'a> Walk<'a> {
    pub fn new(snapshot: &'a Snapshot, sources: &[Source], limits: Limits) -> Result<Self, Stopped> {
        let lists = sources.iter().filter_map(|&source| Ids::new(snapshot, source)).collect();
        let mut walk = Self { lists, next: BinaryHeap::new(), limits, warnings: Vec::new() };
        for list in 0..walk.lists.len() {
            walk.advance(list)?;
        }
        Ok(walk)
    }

    fn advance(&mut self, list: usize) -> Result<(), Stopped> {
        if let Some(ids) = self.lists.get_mut(list)
            && let Some(id) = ids.next(&self.limits, &mut self.warnings)?
        {
            self.next.push(Reverse((id, list)));
        }
        Ok(())
    }

    /// The next trace.
    pub fn next(&mut self) -> Result<Option<Met>, Stopped> {
        let Some(&Reverse((id, _))) = self.next.peek() else { return Ok(None) };
        let mut met = Met { id, places: Vec::new() };
        while let Some(&Reverse((next, list))) = self.next.peek()
            && next == id
        {
            self.next.pop();
            met.places.extend(self.lists.get(list).map(|ids| ids.place(id)));
            self.advance(list)?;
        }
        Ok(Some(met))
    }
}

/// The ids of one source, ascending.
enum Ids<'a> {
    Segment { segment: &'a Segment, index: usize, next_page: usize, ids: std::vec::IntoIter<TraceId>, given: u32 },
    Memtable { index: usize, ids: std::vec::IntoIter<TraceId> },
}

impl<'a> Ids<'a> {
    fn new(snapshot: &'a Snapshot, source: Source) -> Option<Self> {
        Some(match source {
            Source::Segment(index) => {
                let (segment, ids) = (&**snapshot.segments.get(index)?, Vec::new().into_iter());
                Self::Segment { segment, index, next_page: 0, ids, given: 0 }
            }
            Source::Memtable(index) => {
                Self::Memtable { index, ids: sorted_ids(snapshot.memory.get(index)?).into_iter() }
            }
        })
    }

    /// Where the id is that was given last.
    fn place(&self, id: TraceId) -> Place {
        match self {
            Self::Segment { index, given, .. } => Place::Segment { segment: *index, ordinal: given.saturating_sub(1) },
            Self::Memtable { index, .. } => Place::Memtable { memtable: *index, id },
        }
    }

    fn next(&mut self, limits: &Limits, warnings: &mut Vec<String>) -> Result<Option<TraceId>, Stopped> {
        match self {
            Self::Memtable { ids, .. } => Ok(ids.next()),
            Self::Segment { segment, next_page, ids, given, .. } => {
                while ids.as_slice().is_empty() && *next_page < segment.page_count() {
                    limits.check()?;
                    *given = (*next_page * PAGE_ENTRIES) as u32;
                    match segment.page_ids(*next_page) {
                        Ok(page) => *ids = page.into_iter(),
                        Err(error) => warnings.push(error.to_string()),
                    }
                    *next_page += 1;
                }
                *given += 1;
                Ok(ids.next())
            }
        }
    }
}

fn sorted_ids(view: &MemtableView) -> Vec<TraceId> {
    let mut ids = view.heads(|head, _| Some(head.id));
    ids.sort_unstable();
    ids
}
