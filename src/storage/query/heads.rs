//! The fragments of several segments and memtables by what traces are ordered by, greatest first: a merge of the segments'
//! indexes.

use super::source::{Place, Source};
use super::top::key_of;
use crate::model::{Order, TraceId};
use crate::storage::Snapshot;
use crate::storage::error::StorageError;
use crate::storage::memtable::MemtableView;
use crate::storage::segment::{IndexEntry, IndexKind, Segment};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Holds a page of each segment's index, and the memtables' heads.
pub struct Heads<'a> {
    lists: Vec<List<'a>>,
    next: BinaryHeap<(u64, Reverse<usize>, Place)>,
    /// Where fragments are left out.
    pub left_out: BTreeSet<Source>,
}

impl<'a> Heads<'a> {
    /// Fragments are left out where every row has a key above `most`.
    ///
    /// Errors: an index cannot be read.
    pub fn new(snapshot: &'a Snapshot, sources: &[Source], order: Order, most: u64) -> Result<Self, StorageError> {
        let mut heads = Self { lists: Vec::new(), next: BinaryHeap::new(), left_out: BTreeSet::new() };
        for &source in sources {
            let list = match source {
                Source::Segment(index) => {
                    snapshot.segments.get(index).map(|segment| List::of_segment(index, segment, order, most))
                }
                Source::Memtable(index) => {
                    snapshot.memory.get(index).map(|view| Ok(List::of_memtable(index, view, order, most)))
                }
            };
            let Some((list, left_out)) = list.transpose()? else { continue };
            heads.left_out.extend(left_out.then_some(source));
            heads.lists.push(list);
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

    pub fn next(&mut self) -> Result<Option<Place>, StorageError> {
        let Some((_, Reverse(list), place)) = self.next.pop() else { return Ok(None) };
        self.advance(list)?;
        Ok(Some(place))
    }
}

/// The fragments of one source, greatest key first.
enum List<'a> {
    Segment(usize, Index<'a>),
    Memtable(usize, BinaryHeap<(u64, Reverse<TraceId>)>),
}

impl<'a> List<'a> {
    /// The list, and whether fragments are left out of it.
    fn of_segment(index: usize, segment: &'a Segment, order: Order, most: u64) -> Result<(Self, bool), StorageError> {
        let (list, left_out) = Index::below(segment, order, most)?;
        Ok((Self::Segment(index, list), left_out))
    }

    fn of_memtable(index: usize, view: &MemtableView, order: Order, most: u64) -> (Self, bool) {
        let all = memtable_heads(view, order);
        let (heads, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, least)| *least <= most);
        let heads: Vec<_> = heads.into_iter().map(|(head, _)| head).collect();
        (Self::Memtable(index, heads.into()), !others.is_empty())
    }

    fn next(&mut self) -> Result<Option<(u64, Place)>, StorageError> {
        match self {
            Self::Segment(segment, index) => {
                let place = |ordinal| Place::Segment { segment: *segment, ordinal };
                Ok(index.next()?.map(|IndexEntry { key, ordinal }| (key, place(ordinal))))
            }
            Self::Memtable(memtable, heads) => {
                let place = |id| Place::Memtable { memtable: *memtable, id };
                Ok(heads.pop().map(|(key, Reverse(id))| (key, place(id))))
            }
        }
    }
}

/// Key and id of each trace in a memtable, and the least key that a row of it has.
///
/// A memtable holds rows that others have taken the place of. Of all rows of a trace the newest stays for sure, so the
/// trace begins no later than that; and it takes no longer than from the least start to the greatest end of any.
fn memtable_heads(view: &MemtableView, order: Order) -> Vec<((u64, Reverse<TraceId>), u64)> {
    view.heads(|head, index| {
        let (key, least) = match order {
            Order::NewestFirst => (index.newest_start(head, view.len())?, head.min_start),
            Order::SlowestFirst => (key_of(order, head.min_start, head.max_end), 0),
        };
        Some(((key, Reverse(head.id)), least))
    })
}

/// A segment's index, from some place on.
struct Index<'a> {
    segment: &'a Segment,
    kind: IndexKind,
    next_page: usize,
    entries: std::vec::IntoIter<IndexEntry>,
}

impl<'a> Index<'a> {
    /// Entries with keys up to `most`, and whether there are others.
    fn below(segment: &'a Segment, order: Order, most: u64) -> Result<(Self, bool), StorageError> {
        let kind = match order {
            Order::NewestFirst => IndexKind::StartTime,
            Order::SlowestFirst => IndexKind::Latency,
        };
        let mut index = Self { segment, kind, next_page: 0, entries: Vec::new().into_iter() };
        if segment.index_pages(kind) == 0 && segment.footer().traces > 0 {
            return Err(StorageError::damaged(segment.path(), segment.size(), "an index is missing"));
        }
        let top = segment.index_page(kind, 0)?.first().map_or(0, |entry| entry.key);
        if top <= most {
            return Ok((index, false));
        }
        index.next_page = index.last_page_above(most)?;
        index.fill()?;
        let below = index.entries.as_slice().partition_point(|entry| entry.key > most);
        index.entries.by_ref().take(below).for_each(drop);
        Ok((index, true))
    }

    /// The last page that begins with a greater key; the first one does.
    fn last_page_above(&self, most: u64) -> Result<usize, StorageError> {
        let (mut above, mut end) = (0, self.segment.index_pages(self.kind));
        while end - above > 1 {
            let middle = above + (end - above) / 2;
            let first = self.segment.index_page(self.kind, middle)?.first().map_or(0, |entry| entry.key);
            if first > most { above = middle } else { end = middle }
        }
        Ok(above)
    }

    fn fill(&mut self) -> Result<(), StorageError> {
        while self.entries.as_slice().is_empty() && self.next_page < self.segment.index_pages(self.kind) {
            self.entries = self.segment.index_page(self.kind, self.next_page)?.into_iter();
            self.next_page += 1;
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<IndexEntry>, StorageError> {
        self.fill()?;
        Ok(self.entries.next())
    }
}
