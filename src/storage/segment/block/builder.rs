//! Runs on their way into a block.

use super::{MILLISECOND, NO_PARENT, PARENT_BY_ID, PARENT_BY_INDEX};
use crate::model::wire::put_varint;
use crate::model::{Row, SpanId, TraceId, time::Nanos};
use crate::storage::codec::put_signed;
use crate::storage::segment::SectionKind;
use crate::storage::segment::part::Packer;
use crate::storage::segment::table::ContentHash;
use std::collections::HashMap;

/// One row of a run on its way into a block.
#[derive(Debug, Clone, Copy)]
pub struct RunRow<'a> {
    pub row: Row,
    /// What `keys::cut` said of the body.
    pub shape: u8,
    /// Indices into the segment's tables.
    pub resource: u32,
    pub scope: u32,
    pub body: &'a [u8],
}

/// Collects runs until they are enough for a block.
#[derive(Default)]
pub struct BlockBuilder {
    trace_ids: Vec<u8>,
    /// Rows and least start of each run.
    runs: Vec<(u32, Nanos)>,
    columns: Columns,
    rows: u32,
    /// LSN and received time of each row.
    arrivals: Vec<(u64, Nanos)>,
    resources: Local<u32>,
    scopes: Local<u32>,
    bodies: Vec<u8>,
}

/// One buffer a column, in the order they are stored.
#[derive(Default)]
struct Columns {
    span_ids: Vec<u8>,
    parents: Vec<u8>,
    parent_ids: Vec<u8>,
    starts: Vec<u8>,
    durations: Vec<u8>,
    kinds: Vec<u8>,
    statuses: Vec<u8>,
    shapes: Vec<u8>,
    resources: Vec<u8>,
    scopes: Vec<u8>,
    body_lengths: Vec<u8>,
}

impl Columns {
    /// Ids and times: next to random, so they only spoil the packing of what is not.
    fn unpacked(&self) -> [&Vec<u8>; 4] {
        [&self.span_ids, &self.parent_ids, &self.starts, &self.durations]
    }

    fn packed(&self) -> [&Vec<u8>; 7] {
        let Self { parents, kinds, statuses, shapes, resources, scopes, body_lengths, .. } = self;
        [parents, kinds, statuses, shapes, resources, scopes, body_lengths]
    }
}

/// Numbers the values that a block uses, in the order of their first use.
struct Local<T> {
    indices: HashMap<T, u32>,
    values: Vec<T>,
    /// Values met lately, by a few bits of their hash: most rows use one of these.
    recent: [Option<(T, u32)>; RECENT],
}

const RECENT: usize = 64;

impl<T: Copy> Default for Local<T> {
    fn default() -> Self {
        Self { indices: HashMap::new(), values: Vec::new(), recent: [None; RECENT] }
    }
}

/// A few bits that differ between neighbouring values.
trait Slot {
    fn slot(&self) -> usize;
}

impl Slot for u32 {
    fn slot(&self) -> usize {
        *self as usize % RECENT
    }
}

impl<T: Copy + Eq + std::hash::Hash + Slot> Local<T> {
    fn index(&mut self, value: T) -> u64 {
        let slot = value.slot();
        if let Some(Some((recent, index))) = self.recent.get(slot)
            && *recent == value
        {
            return (*index).into();
        }
        let next = self.values.len() as u32;
        let index = *self.indices.entry(value).or_insert(next);
        if index == next {
            self.values.push(value);
        }
        if let Some(recent) = self.recent.get_mut(slot) {
            *recent = Some((value, index));
        }
        index.into()
    }
}

impl BlockBuilder {
    /// Bytes before compression, roughly.
    pub fn size(&self) -> usize {
        self.bodies.len() + self.columns.span_ids.len() * 3
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a run, or a piece of one.
    pub fn add_run(&mut self, id: TraceId, rows: &[RunRow<'_>]) {
        let base = rows.iter().map(|row| row.row.start).min().unwrap_or(0);
        self.trace_ids.extend_from_slice(&id.0);
        self.runs.push((rows.len() as u32, base));
        let parents = Parents::new(rows);
        rows.iter().for_each(|row| self.add_row(row, base, &parents));
    }

    fn add_row(&mut self, run_row: &RunRow<'_>, base: Nanos, parents: &Parents<'_>) {
        let row = &run_row.row;
        self.arrivals.push((row.lsn, row.received));
        let (resource, scope) = (self.resources.index(run_row.resource), self.scopes.index(run_row.scope));
        let columns = &mut self.columns;
        columns.span_ids.extend_from_slice(&row.span_id.0);
        parents.put(row.parent, &mut columns.parents, &mut columns.parent_ids);
        put_varint(&mut columns.starts, row.start.wrapping_sub(base));
        put_signed(&mut columns.durations, row.end.wrapping_sub(row.start) as i64);
        put_varint(&mut columns.kinds, u64::from(row.kind as u32));
        put_varint(&mut columns.statuses, u64::from(row.status as u32));
        columns.shapes.push(run_row.shape);
        put_varint(&mut columns.resources, resource);
        put_varint(&mut columns.scopes, scope);
        put_varint(&mut columns.body_lengths, run_row.body.len() as u64);
        self.bodies.extend_from_slice(run_row.body);
        self.rows += 1;
    }

    /// The finished block; the builder is empty again. `names` gives the content hash of a table's entry.
    pub fn finish(
        &mut self,
        packer: &mut Packer,
        flags: u8,
        names: (&dyn Fn(u32) -> ContentHash, &dyn Fn(u32) -> ContentHash),
    ) -> Vec<u8> {
        let block = std::mem::take(self);
        let (resources, scopes) = (&block.resources.values, &block.scopes.values);
        let mut head = Vec::with_capacity(16 * (1 + resources.len() + scopes.len()) + block.rows as usize * 24);
        let counts = [block.runs.len() as u32, block.rows, resources.len() as u32, scopes.len() as u32];
        counts.into_iter().for_each(|count| head.extend_from_slice(&count.to_le_bytes()));
        resources.iter().for_each(|&resource| head.extend_from_slice(&names.0(resource).0));
        scopes.iter().for_each(|&scope| head.extend_from_slice(&names.1(scope).0));
        head.extend_from_slice(&block.trace_ids);
        let least = block.runs.iter().map(|(_, base)| *base).min().unwrap_or(0);
        put_varint(&mut head, least);
        block.runs.iter().for_each(|(_, base)| put_varint(&mut head, base.wrapping_sub(least)));
        put_varint(&mut head, block.columns.parent_ids.len() as u64 / 8);
        block.columns.unpacked().into_iter().for_each(|column| head.extend_from_slice(column));

        let mut raw = Vec::with_capacity(block.bodies.len() + block.rows as usize * 16);
        block.runs.iter().for_each(|(rows, _)| put_varint(&mut raw, (*rows).into()));
        put_arrivals(&mut raw, &block.arrivals);
        block.columns.packed().into_iter().for_each(|column| raw.extend_from_slice(column));
        raw.extend_from_slice(&block.bodies);
        packer.part(SectionKind::BLOCK, flags, &head, &raw)
    }
}

/// The distinct arrivals in order, which makes their differences small, then which of them each row has.
fn put_arrivals(out: &mut Vec<u8>, rows: &[(u64, Nanos)]) {
    let mut arrivals = rows.to_vec();
    arrivals.sort_unstable();
    arrivals.dedup();
    let unit = if arrivals.iter().all(|(_, received)| received % MILLISECOND == 0) { MILLISECOND } else { 1 };
    put_varint(out, arrivals.len() as u64);
    put_varint(out, unit);
    let mut before = (0, 0);
    for &(lsn, received) in &arrivals {
        let received = received / unit;
        put_varint(out, lsn.wrapping_sub(before.0));
        put_signed(out, received.wrapping_sub(before.1) as i64);
        before = (lsn, received);
    }
    for row in rows {
        // Every row's arrival is among them.
        put_varint(out, arrivals.binary_search(row).unwrap_or_default() as u64);
    }
}

/// Finds parents among the rows of a run: an index is shorter than an id.
struct Parents<'a> {
    rows: &'a [RunRow<'a>],
    by_id: Option<HashMap<SpanId, usize>>,
}

impl<'a> Parents<'a> {
    /// Up to here, looking at every row is quicker than a map.
    const FEW: usize = 24;

    fn new(rows: &'a [RunRow<'a>]) -> Self {
        let by_id = (rows.len() > Self::FEW)
            .then(|| rows.iter().enumerate().map(|(index, row)| (row.row.span_id, index)).collect());
        Self { rows, by_id }
    }

    fn find(&self, id: SpanId) -> Option<usize> {
        match &self.by_id {
            Some(map) => map.get(&id).copied(),
            None => self.rows.iter().position(|row| row.row.span_id == id),
        }
    }

    fn put(&self, parent: SpanId, out: &mut Vec<u8>, ids: &mut Vec<u8>) {
        if !parent.is_valid() {
            return put_varint(out, NO_PARENT);
        }
        match self.find(parent) {
            Some(index) => put_varint(out, PARENT_BY_INDEX + index as u64),
            None => {
                put_varint(out, PARENT_BY_ID);
                ids.extend_from_slice(&parent.0);
            }
        }
    }
}
