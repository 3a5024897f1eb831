//! The fragments of several segments and memtables by what traces are ordered by, greatest first: a merge of the segments'
//! indexes.

use super::source::{Place, Source};
use super::top::key_of;
use crate::model::{Order, TraceId};
use crate::storage::Snapshot;
use crate::storage::error::StorageError;
use crate::storage::memtable::MemtableView;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One fragment. Its key bounds that of its trace; see `find`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Head {
    pub key: u64,
    pub place: Place,
}

/// Holds one head of each segment, and the memtables' heads.
pub struct Heads<'a> {
    lists: Vec<List<'a>>,
    next: BinaryHeap<(u64, Reverse<usize>, Place)>,
}

enum List<'a> {
    Segment(usize, Box<dyn Iterator<Item = Result<(u64, u64), StorageError>> + 'a>),
    Memtable(usize, BinaryHeap<(u64, Reverse<TraceId>)>),
}

impl<'a> Heads<'a> {
    /// Heads of fragments that may have a row with a key of at most `most`.
    ///
    /// Errors: an index cannot be read.
    pub fn new(snapshot: &'a Snapshot, sources: &[Source], order: Order, most: u64) -> Result<Self, StorageError> {
        let mut heads = Self { lists: Vec::new(), next: BinaryHeap::new() };
        for &source in sources {
            heads.lists.extend(list(snapshot, source, order, most));
        }
        for list in 0..heads.lists.len() {
            heads.advance(list)?;
        }
        Ok(heads)
    }

    fn advance(&mut self, list: usize) -> Result<(), StorageError> {
        if let Some(next) = self.lists.get_mut(list)
            && let Some((key, place)) = next.next()?
        {
            self.next.push((key, Reverse(list), place));
        }
        Ok(())
    }

    /// The greatest key to come.
    pub fn key(&self) -> Option<u64> {
        self.next.peek().map(|(key, ..)| *key)
    }

    pub fn next(&mut self) -> Result<Option<Head>, StorageError> {
        let Some((key, Reverse(list), place)) = self.next.pop() else { return Ok(None) };
        self.advance(list)?;
        Ok(Some(Head { key, place }))
    }
}

fn list<'a>(snapshot: &'a Snapshot, source: Source, order: Order, most: u64) -> Option<List<'a>> {
    Some(match source {
        Source::Segment(index) => {
            let segment = snapshot.segments.get(index)?;
            let mut keys = Vec::new();
            for page in 0..segment.page_count() {
                for entry in segment.page(page).unwrap_or_default() {
                    keys.push((key_of(order, entry.facts.min_start, entry.facts.max_end), keys.len() as u64));
                }
            }
            keys.sort_by_key(|(key, _)| Reverse(*key));
            List::Segment(index, Box::new(keys.into_iter().skip_while(move |(key, _)| *key > most).map(Ok)))
        }
        Source::Memtable(index) => {
            List::Memtable(index, memtable_heads(snapshot.memory.get(index)?, order, most).into())
        }
    })
}

/// Of a trace in memory, which may hold rows that others have taken the place of: the start of its newest row, which stays;
/// the time between the least start and the greatest end of any.
fn memtable_heads(view: &MemtableView, order: Order, most: u64) -> Vec<(u64, Reverse<TraceId>)> {
    view.heads(|head, index| {
        let key = match order {
            Order::NewestFirst if head.min_start > most => return None,
            Order::NewestFirst => index.newest_start(head, view.len())?,
            Order::SlowestFirst => key_of(order, head.min_start, head.max_end),
        };
        Some((key, Reverse(head.id)))
    })
}

impl List<'_> {
    fn next(&mut self) -> Result<Option<(u64, Place)>, StorageError> {
        match self {
            Self::Segment(segment, index) => {
                let Some(next) = index.next() else { return Ok(None) };
                let (key, ordinal) = next?;
                Ok(Some((key, Place::Segment { segment: *segment, ordinal })))
            }
            Self::Memtable(memtable, heads) => {
                Ok(heads.pop().map(|(key, Reverse(id))| (key, Place::Memtable { memtable: *memtable, id })))
            }
        }
    }
}
