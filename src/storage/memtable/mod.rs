//! Batches answered and readable, not yet in a segment.

mod append;
mod index;

pub use index::{TraceHead, TraceIndex};

use crate::model::time::Nanos;
use crate::model::{Batch, Row, TraceId, wire::SpanHead};
use append::AppendOnly;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

/// A batch with its position and the time it was received.
#[derive(Clone)]
pub struct Entry {
    pub lsn: u64,
    pub received: Nanos,
    pub batch: Batch,
}

/// Entries in LSN order. Only the `wal` thread adds; a frozen one is never added to again.
#[derive(Default)]
pub struct Memtable {
    entries: AppendOnly<Entry>,
    bytes: AtomicUsize,
    spans: AtomicUsize,
    /// Built and brought up to date by those who read; the `wal` thread never waits for it.
    index: RwLock<TraceIndex>,
}

impl Memtable {
    /// Adds a synced group, all at once for readers.
    pub fn extend(&self, group: impl IntoIterator<Item = Entry>) {
        let counted = |entry: Entry| {
            self.bytes.fetch_add(memory_of(&entry.batch), Ordering::Relaxed);
            self.spans.fetch_add(entry.batch.spans().len(), Ordering::Relaxed);
            entry
        };
        self.entries.extend(group.into_iter().map(counted));
    }

    /// The entries so far. A clone of each is a pointer.
    pub fn entries(&self) -> Vec<Entry> {
        (0..self.entries.len()).filter_map(|index| self.entries.get(index).cloned()).collect()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes in memory, as counted against the bound.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn spans(&self) -> usize {
        self.spans.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// LSN of the newest entry.
    pub fn last_lsn(&self) -> Option<u64> {
        self.entries.get(self.entries.len().checked_sub(1)?).map(|entry| entry.lsn)
    }

    /// Store time at which the oldest entry was received.
    pub fn oldest(&self) -> Option<Nanos> {
        self.entries.get(0).map(|entry| entry.received)
    }
}

/// The entries of a memtable up to one moment. It never changes, whatever is added meanwhile.
#[derive(Clone)]
pub struct MemtableView {
    memtable: Arc<Memtable>,
    len: usize,
}

impl MemtableView {
    /// All entries up to now.
    pub fn new(memtable: Arc<Memtable>) -> Self {
        let len = memtable.entries.len();
        Self { memtable, len }
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn entry(&self, index: u32) -> Option<&Entry> {
        self.memtable.entries.get(index as usize).filter(|_| (index as usize) < self.len)
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        (0..self.len).filter_map(|index| self.memtable.entries.get(index))
    }

    /// Lowest and highest LSN; `None` where there is no entry.
    pub fn lsns(&self) -> Option<(u64, u64)> {
        let last = self.len.checked_sub(1)?;
        Some((self.memtable.entries.get(0)?.lsn, self.memtable.entries.get(last)?.lsn))
    }

    /// Looks something up by trace. `look` should be quick: who needs newer entries indexed waits for it.
    pub fn indexed<T>(&self, look: impl FnOnce(&TraceIndex) -> T) -> T {
        let index = self.memtable.index.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if index.covered() >= self.len {
            return look(&index);
        }
        drop(index);
        let mut index = self.memtable.index.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        index.cover((0..self.len).map_while(|entry| self.memtable.entries.get(entry)));
        look(&index)
    }

    /// Something of each trace, in no order.
    pub fn heads<T>(&self, of: impl Fn(&TraceHead, &TraceIndex) -> Option<T>) -> Vec<T> {
        self.indexed(|index| {
            let now = index.heads().iter().filter(|head| index.newest_start(head, self.len).is_some());
            now.filter_map(|head| of(head, index)).collect()
        })
    }

    /// How many of the memtable's entries these are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// (Entry, place) of each row of a trace, in LSN order.
    pub fn rows(&self, id: TraceId) -> Vec<(u32, u32)> {
        self.indexed(|index| index.head(id).map_or_else(Vec::new, |head| index.rows(head, self.len)))
    }

    /// The keys of a row and what they were read from.
    pub fn row(&self, (entry, place): (u32, u32)) -> Option<(Row, &Entry, &SpanHead)> {
        let entry = self.entry(entry)?;
        let head = entry.batch.spans().get(place as usize)?;
        Some((row(entry, place, head), entry, head))
    }
}

/// What a batch is counted as, so that a reservation made before it exists agrees with it.
pub fn memory_of(batch: &Batch) -> usize {
    memory_for(batch.bytes().len(), batch.spans().len())
}

/// Bytes of memory for a batch of this size: its bytes, its heads, and a fixed share for the rest.
pub fn memory_for(bytes: usize, spans: usize) -> usize {
    const OVERHEAD: usize = 512;
    bytes.saturating_add(spans.saturating_mul(size_of::<SpanHead>())).saturating_add(OVERHEAD)
}

/// The keys of the span at `place` of an entry.
pub fn row(entry: &Entry, place: u32, head: &SpanHead) -> Row {
    Row {
        span_id: head.span_id,
        parent: head.parent,
        start: head.start,
        end: head.end,
        kind: head.kind,
        status: head.status,
        lsn: entry.lsn,
        place,
        received: entry.received,
    }
}
