//! Block index, blocks, their names, columns and bodies.

use super::{BLOCK_SIZE, Cursor, File, Table, Trace, crc, unpack};
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
    let mut bytes = Cursor(&file.bytes[40..]);
    let blocks = (0..count).map(|_| Block::read(bytes.bytes(lengths.varint() as usize))).collect();
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
        let table = Table::of("Block header");
        assert_eq!(table.size(), 40);
        let header = table.read(bytes);
        header.check_reserved();
        assert_eq!(header.numbers(["crc", "length"]), [crc(&bytes[4..]), bytes.len() as u64]);
        let mut names = Cursor(&bytes[table.size()..]);
        let hashes = ["resources", "scopes"].map(|name| {
            let count = header.number(name);
            (0..count).map(|_| names.array::<16>()).collect::<Vec<_>>()
        });
        let raw = unpack(header.number("codec"), names.0, header.number("raw_length"));
        let [runs, rows, columns] = header.numbers(["runs", "rows", "columns_length"]).map(|number| number as usize);
        let (columns, bodies) = raw.split_at(columns);
        let mut columns = Cursor(columns);
        let (runs, bases) = get_runs(&mut columns, runs);
        let rows = get_rows(&mut columns, bodies, rows, &runs, &bases, &hashes);
        assert!(columns.0.is_empty(), "the columns are read to their end");
        Self { flags: header.number("flags"), runs, rows }
    }

    /// The rows of a trace.
    fn run(&self, id: TraceId) -> &[StoredRow] {
        let index = self.runs.iter().position(|(trace, _)| *trace == id).unwrap();
        let from = self.runs[..index].iter().map(|(_, rows)| rows).sum();
        &self.rows[from..from + self.runs[index].1]
    }
}

/// Trace and number of rows of each run, and its least start.
fn get_runs(columns: &mut Cursor<'_>, count: usize) -> (Vec<(TraceId, usize)>, Vec<u64>) {
    (0..count).map(|_| ((TraceId(columns.array()), columns.varint() as usize), columns.varint())).unzip()
}

fn get_arrivals(columns: &mut Cursor<'_>) -> Vec<(u64, u64)> {
    let (mut lsn, mut received) = (0u64, 0u64);
    let count = columns.varint();
    let mut next = || {
        lsn = lsn.wrapping_add_signed(columns.zigzag());
        received = received.wrapping_add_signed(columns.zigzag());
        (lsn, received)
    };
    (0..count).map(|_| next()).collect()
}

fn get_rows(
    columns: &mut Cursor<'_>,
    bodies: &[u8],
    count: usize,
    runs: &[(TraceId, usize)],
    bases: &[u64],
    names: &[Vec<[u8; 16]>; 2],
) -> Vec<StoredRow> {
    let arrivals = get_arrivals(columns);
    let ids: Vec<_> = (0..count).map(|_| SpanId(columns.array())).collect();
    // The run of each row and where that begins.
    let run_of = runs.iter().enumerate().flat_map(|(run, (_, rows))| std::iter::repeat_n(run, *rows));
    let run_of: Vec<_> = run_of.collect();
    let begin = |row: usize| run_of.iter().position(|run| *run == run_of[row]).unwrap();
    let parent = |columns: &mut Cursor<'_>, row: usize| match columns.varint() {
        0 => SpanId::default(),
        1 => SpanId(columns.array()),
        index => ids[begin(row) + index as usize - 2],
    };
    let parents: Vec<_> = (0..count).map(|row| parent(columns, row)).collect();
    let starts: Vec<_> = (0..count).map(|row| bases[run_of[row]] + columns.varint()).collect();
    let ends: Vec<_> = starts.iter().map(|start| start.wrapping_add_signed(columns.zigzag())).collect();
    let mut varints = |count| (0..count).map(|_| columns.varint()).collect::<Vec<_>>();
    let (kinds, statuses) = (varints(count), varints(count));
    let shapes = columns.bytes(count);
    let mut varints = || (0..count).map(|_| columns.varint() as usize).collect::<Vec<_>>();
    let (resources, scopes, arrived, places, lengths) = (varints(), varints(), varints(), varints(), varints());
    let mut bodies = Cursor(bodies);
    let row = |row: usize| {
        let (lsn, received) = arrivals[arrived[row]];
        let keys = Row {
            span_id: ids[row],
            parent: parents[row],
            start: starts[row],
            end: ends[row],
            kind: kinds[row] as u32 as i32,
            status: statuses[row] as u32 as i32,
            lsn,
            place: places[row] as u32,
            received,
        };
        let body = bodies.bytes(lengths[row]).to_vec();
        let (resource, scope) = (names[0][resources[row]], names[1][scopes[row]]);
        StoredRow { row: keys, shape: shapes[row], resource, scope, body }
    };
    let rows = (0..count).map(row).collect();
    assert!(bodies.0.is_empty(), "the bodies are read to their end");
    rows
}

fn check_rows(trace: &Trace, rows: &[&StoredRow], tables: &[Names; 2]) {
    assert_eq!(rows.len(), trace.rows.len());
    for (index, stored) in rows.iter().enumerate() {
        assert_eq!(stored.row, trace.rows[index]);
        assert_eq!((stored.shape, &stored.body), (trace.cut[index].0, &trace.cut[index].1));
        assert_eq!(joined(trace.id, stored), trace.spans[index], "cut fields come back as formats.md says");
        assert_eq!(tables[0][&stored.resource], trace.batch.resource(0));
        assert_eq!(tables[1][&stored.scope], trace.batch.scope(0));
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
