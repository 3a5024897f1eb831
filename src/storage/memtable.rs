//! Batches answered and readable, not yet in a segment.

use crate::model::time::Nanos;
use crate::model::{Batch, Row, StoredSpan, TraceId, wire::SpanHead};
use bytes::Bytes;
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    entries: RwLock<Vec<Entry>>,
    bytes: AtomicUsize,
    spans: AtomicUsize,
}

impl Memtable {
    /// Adds a synced group, all at once for readers.
    pub fn extend(&self, group: impl IntoIterator<Item = Entry>) {
        let mut entries = self.entries.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        for entry in group {
            self.bytes.fetch_add(memory_of(&entry.batch), Ordering::Relaxed);
            self.spans.fetch_add(entry.batch.spans().len(), Ordering::Relaxed);
            entries.push(entry);
        }
    }

    /// The entries so far. A clone of each is a pointer.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
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
        self.entries.read().unwrap_or_else(|poisoned| poisoned.into_inner()).last().map(|entry| entry.lsn)
    }

    /// Store time at which the oldest entry was received.
    pub fn oldest(&self) -> Option<Nanos> {
        self.entries.read().unwrap_or_else(|poisoned| poisoned.into_inner()).first().map(|entry| entry.received)
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

/// The rows of one trace in one entry.
pub fn rows_of<'a>(entry: &'a Entry, id: TraceId) -> impl Iterator<Item = StoredSpan> + 'a {
    let heads = entry.batch.spans().iter().enumerate();
    heads.filter(move |(_, head)| head.trace_id == id).map(|(place, head)| stored(entry, place as u32, head))
}

/// The span at `place` of an entry with everything it was sent with.
pub fn stored(entry: &Entry, place: u32, head: &SpanHead) -> StoredSpan {
    StoredSpan {
        row: row(entry, place, head),
        resource: Bytes::copy_from_slice(entry.batch.resource(head.resource)),
        scope: Bytes::copy_from_slice(entry.batch.scope(head.scope)),
        span: Bytes::copy_from_slice(entry.batch.span_bytes(head)),
    }
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
