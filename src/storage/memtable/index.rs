//! The traces of a memtable, for those who read.
//!
//! The rows of a trace are a chain from its newest to its oldest. A reader whose moment is over by now follows the chain
//! past the rows that came later; what is said of a trace as a whole may count them, and so only bounds what it sees.

use super::Entry;
use crate::model::wire::read;
use crate::model::{TraceId, time::Nanos};
use std::collections::HashMap;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// Covers the first entries of a memtable, more of them each time someone needs it.
#[derive(Default)]
pub struct TraceIndex {
    covered: usize,
    traces: HashMap<TraceId, u32>,
    heads: Vec<TraceHead>,
    rows: Vec<ChainedRow>,
    services: Services,
}

/// Bounds of all rows of a trace that are covered, duplicates included.
#[derive(Debug, Clone, Copy)]
pub struct TraceHead {
    pub id: TraceId,
    pub min_start: Nanos,
    pub max_end: Nanos,
    newest: u32,
}

#[derive(Clone, Copy)]
struct ChainedRow {
    entry: u32,
    place: u32,
    start: Nanos,
    before: u32,
}

impl TraceIndex {
    /// How many entries are covered.
    pub fn covered(&self) -> usize {
        self.covered
    }

    /// Covers the rest of `entries`, which are those of the memtable from its first on.
    pub fn cover<'a>(&mut self, entries: impl Iterator<Item = &'a Entry>) {
        for entry in entries.skip(self.covered) {
            self.services.begin(entry);
            for place in 0..entry.batch.spans().len() {
                self.add(entry, place);
            }
            self.covered += 1;
        }
    }

    fn add(&mut self, entry: &Entry, place: usize) {
        let Some(head) = entry.batch.spans().get(place) else { return };
        self.services.note(self.covered as u32, entry, head.resource);
        let row = self.rows.len() as u32;
        let index = *self.traces.entry(head.trace_id).or_insert_with(|| {
            self.heads.push(TraceHead::new(head.trace_id));
            self.heads.len() as u32 - 1
        });
        let Some(trace) = self.heads.get_mut(index as usize) else { return };
        let start = head.start;
        self.rows.push(ChainedRow { entry: self.covered as u32, place: place as u32, start, before: trace.newest });
        trace.newest = row;
        trace.min_start = trace.min_start.min(start);
        trace.max_end = trace.max_end.max(head.end);
    }

    pub fn head(&self, id: TraceId) -> Option<&TraceHead> {
        self.heads.get(*self.traces.get(&id)? as usize)
    }

    /// All traces in no order, those of later rows alone among them.
    pub fn heads(&self) -> &[TraceHead] {
        &self.heads
    }

    fn chain(&self, head: &TraceHead, entries: usize) -> impl Iterator<Item = &ChainedRow> {
        let mut next = head.newest;
        let chain = std::iter::from_fn(move || {
            let row = self.rows.get(next as usize)?;
            next = row.before;
            Some(row)
        });
        chain.skip_while(move |row| row.entry as usize >= entries)
    }

    /// (Entry, place) of a trace's rows among the first `entries`, in LSN order.
    pub fn rows(&self, head: &TraceHead, entries: usize) -> Vec<(u32, u32)> {
        let mut rows: Vec<_> = self.chain(head, entries).map(|row| (row.entry, row.place)).collect();
        rows.reverse();
        rows
    }

    /// Start of the newest row of a trace among the first `entries`; `None` where it has none there.
    pub fn newest_start(&self, head: &TraceHead, entries: usize) -> Option<Nanos> {
        self.chain(head, entries).next().map(|row| row.start)
    }

    /// Every service with a row among the first `entries`, in no order.
    pub fn services(&self, entries: usize) -> impl Iterator<Item = &str> {
        let known = self.services.known.iter();
        known.filter(move |(_, known)| (known.first as usize) < entries).map(|(name, _)| name.as_str())
    }

    /// The number of a service here; `None` where no row has it.
    pub fn service(&self, name: &str) -> Option<u32> {
        self.services.known.get(name).map(|known| known.number)
    }

    /// The number of the service of a resource of an entry.
    pub fn service_of(&self, entry: u32, resource: u32) -> Option<u32> {
        self.services.of(entry, resource)
    }
}

impl TraceHead {
    fn new(id: TraceId) -> Self {
        Self { id, min_start: Nanos::MAX, max_end: 0, newest: NONE }
    }
}

/// The services of all resources, each looked for once.
#[derive(Default)]
struct Services {
    known: HashMap<String, Service>,
    /// Where the resources of each entry begin in `numbers`.
    entries: Vec<u32>,
    numbers: Vec<u32>,
}

struct Service {
    number: u32,
    /// The first entry with a row of it.
    first: u32,
}

impl Services {
    /// Makes room for the resources of the next entry.
    fn begin(&mut self, entry: &Entry) {
        self.entries.push(self.numbers.len() as u32);
        self.numbers.resize(self.numbers.len() + entry.batch.table_sizes().0, NONE);
    }

    fn slot(&self, entry: u32, resource: u32) -> Option<usize> {
        Some(*self.entries.get(entry as usize)? as usize + resource as usize)
    }

    fn of(&self, entry: u32, resource: u32) -> Option<u32> {
        self.numbers.get(self.slot(entry, resource)?).copied().filter(|&number| number != NONE)
    }

    /// The number of a resource that a row has.
    fn note(&mut self, index: u32, entry: &Entry, resource: u32) -> u32 {
        if let Some(number) = self.of(index, resource) {
            return number;
        }
        let name = read::service_name(entry.batch.resource(resource)).unwrap_or_default();
        let number = self.known.get(name).map_or(self.known.len() as u32, |known| known.number);
        if number as usize == self.known.len() {
            self.known.insert(name.to_owned(), Service { number, first: index });
        }
        if let Some(slot) = self.slot(index, resource).and_then(|slot| self.numbers.get_mut(slot)) {
            *slot = number;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Memtable, MemtableView};
    use super::*;
    use crate::model::Batch;
    use crate::model::wire::put_bytes;
    use std::sync::Arc;

    /// A span of trace `trace`; span id and start are `number`.
    fn span(trace: u8, number: u8) -> Vec<u8> {
        let mut span = Vec::new();
        put_bytes(&mut span, 1, &[trace; 16]);
        put_bytes(&mut span, 2, &[number; 8]);
        span.extend_from_slice(&[0x39, number, 0, 0, 0, 0, 0, 0, 0]);
        span
    }

    fn message(parts: &[(u32, &[u8])]) -> Vec<u8> {
        let mut message = Vec::new();
        parts.iter().for_each(|(field, bytes)| put_bytes(&mut message, *field, bytes));
        message
    }

    fn entry(lsn: u64, service: &str, spans: &[(u8, u8)]) -> Entry {
        let value = message(&[(1, service.as_bytes())]);
        let attribute = message(&[(1, b"service.name"), (2, &value)]);
        let resource = message(&[(1, &attribute)]);
        let mut scope = Vec::new();
        spans.iter().for_each(|(trace, number)| put_bytes(&mut scope, 2, &span(*trace, *number)));
        let request = message(&[(1, &message(&[(1, &resource), (2, &scope)]))]);
        Entry { lsn, received: 0, batch: Batch::from_otlp(request.into()).unwrap().batch }
    }

    #[test]
    fn a_moment_is_read_the_same_whatever_came_later() {
        let memtable = Arc::new(Memtable::default());
        memtable.extend([entry(1, "shop", &[(1, 50), (2, 10)]), entry(2, "cart", &[(1, 40)])]);
        let (id, before) = (TraceId([1; 16]), MemtableView::new(memtable.clone()));
        let read = |view: &MemtableView| {
            let newest = view.indexed(|index| index.newest_start(index.head(id).unwrap(), view.len));
            let mut services = view.indexed(|index| index.services(view.len).map(str::to_owned).collect::<Vec<_>>());
            services.sort();
            (view.rows(id), newest, services, view.rows(TraceId([3; 16])), view.lsns())
        };
        let shop = ["cart".to_owned(), "shop".to_owned()];
        let expected = (vec![(0, 0), (1, 0)], Some(40), shop.to_vec(), vec![], Some((1, 2)));
        assert_eq!(read(&before), expected);

        memtable.extend([entry(3, "bank", &[(3, 7), (1, 60)])]);
        let after = MemtableView::new(memtable);
        assert_eq!(after.rows(id), [(0, 0), (1, 0), (2, 1)]);
        assert_eq!(read(&after).3, [(2, 0)]);
        assert_eq!(read(&before), expected, "after the index has grown");
        assert!(before.entry(2).is_none());
    }

    #[test]
    fn a_row_is_told_by_its_service() {
        let memtable = Arc::new(Memtable::default());
        memtable.extend([entry(1, "shop", &[(1, 1)]), entry(2, "cart", &[(2, 2)])]);
        MemtableView::new(memtable).indexed(|index| {
            let cart = index.service("cart").unwrap();
            assert_eq!((index.service_of(1, 0), index.service("bank")), (Some(cart), None));
        });
    }
}
