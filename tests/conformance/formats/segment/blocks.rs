//! Block index, blocks, their names, columns and bodies.

use super::{BLOCK_SIZE, Cursor, File, Part, Table, Trace, stored};
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use prost::Message;
use sluice::model::{Row, SpanId, TraceId};
use std::collections::BTreeMap;

type Names = BTreeMap<[u8; 16], Vec<u8>>;

/// Checks every row of every trace; gives the number of blocks.
pub fn check(file: &File<'_>, traces: &[Trace], places: &[(u64, u64)], tables: &[Names; 2]) -> u64 {
    let blocks = blocks(file);
    for (trace, &(first, count)) in traces.iter().zip(places) {
        let pieces = &blocks[first as usize..(first + count) as usize];
        let large = trace.facts.bytes > BLOCK_SIZE as u64;
        assert_eq!((count > 1, pieces.iter().all(|block| block.flags == 1)), (large, large));
        let rows: Vec<_> = pieces.iter().flat_map(|block| block.run(trace.id)).collect();
        check_rows(trace, &rows, tables);
    }
    blocks.len() as u64
}

fn blocks(file: &File<'_>) -> Vec<Block> {
    let index = file.section(1);
    let mut lengths = Cursor(&index);
    let count = lengths.varint();
    let mut end = 40;
    let mut block = || {
        let offset = end + lengths.varint() as usize;
        end = offset + lengths.varint() as usize;
        Block::read(&file.bytes[offset..end])
    };
    let blocks = (0..count).map(|_| block()).collect();
    assert!(lengths.0.is_empty());
    blocks
}

/// A row with what belongs to it.
struct StoredRow {
    row: Row,
    shape: u8,
    resource: [u8; 16],
    scope: [u8; 16],
    body: Vec<u8>,
}

struct Block {
    flags: u64,
    runs: Vec<(TraceId, usize)>,
    rows: Vec<StoredRow>,
}

impl Block {
    fn read(bytes: &[u8]) -> Self {
        let part = Part::read(bytes);
        assert_eq!(part.kind, 10);
        let table = Table::of("Block head");
        let counts = table.read(part.head);
        let mut head = Cursor(&part.head[table.size()..]);
        let hashes = ["resources", "scopes"].map(|name| {
            let count = counts.number(name);
            (0..count).map(|_| head.array::<16>()).collect::<Vec<_>>()
        });
        let [runs, rows] = counts.numbers(["runs", "rows"]).map(|number| number as usize);
        let mut columns = Cursor(&part.raw);
        let (runs, bases) = get_runs(&mut head, &mut columns, runs);
        let rows = get_rows(&mut head, &mut columns, rows, &runs, &bases, &hashes);
        assert!(head.0.is_empty() && columns.0.is_empty(), "both are read to their end");
        Self { flags: part.flags, runs, rows }
    }

    /// The rows of a trace.
    fn run(&self, id: TraceId) -> &[StoredRow] {
        let index = self.runs.iter().position(|(trace, _)| *trace == id).unwrap();
        let from = self.runs[..index].iter().map(|(_, rows)| rows).sum();
        &self.rows[from..from + self.runs[index].1]
    }
}

/// Trace and number of rows of each run, and its least start.
fn get_runs(head: &mut Cursor<'_>, columns: &mut Cursor<'_>, count: usize) -> (Vec<(TraceId, usize)>, Vec<u64>) {
    let ids: Vec<_> = (0..count).map(|_| TraceId(head.array())).collect();
    let least = head.varint();
    let bases = (0..count).map(|_| least + head.varint()).collect();
    (ids.into_iter().map(|id| (id, columns.varint() as usize)).collect(), bases)
}

fn get_arrivals(columns: &mut Cursor<'_>) -> Vec<(u64, u64)> {
    let (mut lsn, mut received) = (0u64, 0u64);
    let (count, unit) = (columns.varint(), columns.varint());
    let mut next = || {
        lsn += columns.varint();
        received = received.wrapping_add_signed(columns.zigzag());
        (lsn, received * unit)
    };
    (0..count).map(|_| next()).collect()
}

fn get_rows(
    head: &mut Cursor<'_>,
    columns: &mut Cursor<'_>,
    count: usize,
    runs: &[(TraceId, usize)],
    bases: &[u64],
    names: &[Vec<[u8; 16]>; 2],
) -> Vec<StoredRow> {
    let parent_count = head.varint();
    let ids: Vec<_> = (0..count).map(|_| SpanId(head.array())).collect();
    let parent_ids: Vec<_> = (0..parent_count).map(|_| SpanId(head.array())).collect();
    // The run of each row and where that begins.
    let run_of = runs.iter().enumerate().flat_map(|(run, (_, rows))| std::iter::repeat_n(run, *rows));
    let run_of: Vec<_> = run_of.collect();
    let begin = |row: usize| run_of.iter().position(|run| *run == run_of[row]).unwrap();
    let starts: Vec<_> = (0..count).map(|row| bases[run_of[row]] + head.varint()).collect();
    let ends: Vec<_> = starts.iter().map(|start| start.wrapping_add_signed(head.zigzag())).collect();
    let arrivals = get_arrivals(columns);
    let arrived: Vec<_> = (0..count).map(|_| arrivals[columns.varint() as usize]).collect();
    let mut parent_ids = parent_ids.into_iter();
    let mut parent = |columns: &mut Cursor<'_>, row: usize| match columns.varint() {
        0 => SpanId::default(),
        1 => parent_ids.next().unwrap(),
        index => ids[begin(row) + index as usize - 2],
    };
    let parents: Vec<_> = (0..count).map(|row| parent(columns, row)).collect();
    let mut varints = |count| (0..count).map(|_| columns.varint()).collect::<Vec<_>>();
    let (kinds, statuses) = (varints(count), varints(count));
    let shapes = columns.bytes(count);
    let mut varints = || (0..count).map(|_| columns.varint() as usize).collect::<Vec<_>>();
    let (resources, scopes, lengths) = (varints(), varints(), varints());
    let row = |row: usize| {
        let (lsn, received) = arrived[row];
        let keys = Row {
            span_id: ids[row],
            parent: parents[row],
            start: starts[row],
            end: ends[row],
            kind: kinds[row] as u32 as i32,
            status: statuses[row] as u32 as i32,
            lsn,
            place: 0,
            received,
        };
        let body = columns.bytes(lengths[row]).to_vec();
        let (resource, scope) = (names[0][resources[row]], names[1][scopes[row]]);
        StoredRow { row: keys, shape: shapes[row], resource, scope, body }
    };
    (0..count).map(row).collect()
}

fn check_rows(trace: &Trace, rows: &[&StoredRow], tables: &[Names; 2]) {
    assert_eq!(rows.len(), trace.rows.len());
    for (index, found) in rows.iter().enumerate() {
        assert_eq!(found.row, stored(&trace.rows[index]));
        assert_eq!((found.shape, &found.body), (trace.cut[index].0, &trace.cut[index].1));
        assert_eq!(joined(trace.id, found), trace.spans[index], "cut fields come back as formats.md says");
        assert_eq!(tables[0][&found.resource], trace.batch.resource(0));
        assert_eq!(tables[1][&found.scope], trace.batch.scope(0));
    }
}

/// The span of a row: its body with the cut fields put back.
fn joined(id: TraceId, StoredRow { row, shape, body, .. }: &StoredRow) -> Span {
    let mut span = Span::decode(&**body).unwrap();
    let cut = (&*span.trace_id, &*span.span_id, span.kind, span.start_time_unix_nano, span.end_time_unix_nano);
    assert_eq!(cut, (&[][..], &[][..], 0, 0, 0), "these fields are always cut");
    (span.trace_id, span.span_id) = (id.0.to_vec(), row.span_id.0.to_vec());
    if row.parent.is_valid() {
        assert!(span.parent_span_id.is_empty());
        span.parent_span_id = row.parent.0.to_vec();
    }
    (span.kind, span.start_time_unix_nano, span.end_time_unix_nano) = (row.kind, row.start, row.end);
    if *shape == 1 {
        assert_eq!(span.status, None);
        span.status = Some(Status { code: row.status, message: String::new() });
    }
    span
}
