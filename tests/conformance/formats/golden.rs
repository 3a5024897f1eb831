//! The golden files: what goes into them, made by the product's own writers.

use crate::support::{fault_disk::FaultDisk, traces};
use bytes::Bytes;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;
use sluice::model::wire::{SpanHead, keys, put_varint_field};
use sluice::model::{Batch, Row, TraceId};
use sluice::storage::WalOptions;
use sluice::storage::codec::crc;
use sluice::storage::disk::{Disk, read_file};
use sluice::storage::files::Layout;
use sluice::storage::manifest::{FileKind, LiveFile, Manifest, Policy};
use sluice::storage::segment::facts::FactRow;
use sluice::storage::segment::writer::WriteOptions;
use sluice::storage::segment::{Codec, Facts, Mark, Names, Origin, RunRow, SegmentWriter};
use sluice::storage::wal::log::Inherited;
use sluice::storage::wal::{Frame, FrameKind, Log, Previous};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub const STORE: [u8; 16] = *b"the golden store";
pub const RECEIVED: u64 = 1_700_000_100_000_000_000;
pub const LOG: u64 = 5;
pub const LOG_SIZE: u64 = 12288;
pub const PREVIOUS: Previous = Previous { id: 4, end: 7168, last_lsn: 40 };
pub const SEGMENT: u64 = 7;
/// Small, so that one trace needs blocks of its own.
pub const BLOCK_SIZE: usize = 600;

/// Where a golden file is kept.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats").join(name)
}

pub fn stored(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// The batches of the log.
pub fn frames() -> Vec<(Frame, Bytes)> {
    let batches = [(41, 0, 40), (42, 7, 40), (43, 9, 42)].into_iter();
    let frame = |(lsn, after, durable)| {
        let payload = Bytes::from(traces::request(lsn, lsn - 40, 20).encode_to_vec());
        let (payload_len, payload_crc) = (payload.len() as u32, crc(&[&payload]));
        let received = RECEIVED + after;
        (Frame { kind: FrameKind::Batch, lsn, received, durable, payload_len, payload_crc }, payload)
    };
    batches.map(frame).collect()
}

/// A log with one file of three frames and an end mark, on a disk of its own.
pub fn log() -> (FaultDisk, Layout) {
    let (disk, layout) = (FaultDisk::default(), Layout::new(Path::new("/golden")));
    let options = WalOptions { max_size: 8 * LOG_SIZE, file_size: LOG_SIZE, commit_window: Duration::ZERO };
    let found = Inherited { closed: vec![], spares: vec![], previous: Some(PREVIOUS), next_id: LOG, next_lsn: 41 };
    let mut log = Log::start(Arc::new(disk.clone()), layout.clone(), options, STORE, found).unwrap();
    let frames = frames();
    log.commit(&frames[..2]).unwrap();
    log.commit(&frames[2..]).unwrap();
    log.close(RECEIVED + 10).unwrap();
    (disk, layout)
}

pub fn wal() -> Vec<u8> {
    let (disk, layout) = log();
    read_file(&disk, &layout.log(LOG)).unwrap()
}

/// One trace of the segment, as sent and as the writer is given it.
pub struct Trace {
    pub id: TraceId,
    pub batch: Batch,
    pub spans: Vec<Span>,
    pub rows: Vec<Row>,
    /// Shape and body of each row.
    pub cut: Vec<(u8, Vec<u8>)>,
    pub facts: Facts,
    pub mark: Mark,
}

/// Four traces: a plain one, one of odd values, one too large for a block, one that was judged.
pub fn traces() -> Vec<Trace> {
    let late = Mark::Kept { reason: "error".into(), policy: 1, late: true, shadow_drop: false };
    let waiting = Mark::Unjudged { not_before: 77, failures: 3 };
    let plain = (0..3).map(|place| traces::span(1, place, 10)).collect();
    let large = (0..5).map(|place| traces::span(3, place, 300)).collect();
    let judged = vec![traces::span(4, 0, 40)];
    let all = [(1, plain, Mark::default()), (2, odd_spans(), waiting), (3, large, Mark::default()), (4, judged, late)];
    let mut all: Vec<_> = all.into_iter().map(|(number, spans, mark)| trace(number, spans, mark)).collect();
    all.sort_by_key(|trace| trace.id);
    all
}

/// A parent that is elsewhere, one that is all zero, an unknown kind, a status with words, times the wrong way round.
fn odd_spans() -> Vec<Span> {
    let mut spans: Vec<_> = (0..3).map(|place| traces::span(2, place, 5)).collect();
    spans[0].parent_span_id = vec![0; 8];
    spans[0].kind = -1;
    spans[1].parent_span_id = vec![9; 8];
    spans[1].status = Some(Status { code: 2, message: "no more stock".into() });
    spans[2].end_time_unix_nano = spans[2].start_time_unix_nano - 5;
    spans[2].status = Some(Status { code: 1, message: String::new() });
    spans
}

fn trace(number: u64, spans: Vec<Span>, mark: Mark) -> Trace {
    let service = if number == 4 { "cart" } else { "shop" };
    let batch = batch(service, &spans);
    let id = traces::trace_id(number);
    let (lsn, received) = (60 + number, RECEIVED + number);
    let heads = batch.spans().iter().zip(0..);
    let rows: Vec<_> = heads
        .map(|(head, place)| Row {
            span_id: head.span_id,
            parent: head.parent,
            start: head.start,
            end: head.end,
            kind: head.kind,
            status: head.status,
            lsn,
            place,
            received,
        })
        .collect();
    let cut: Vec<_> = batch.spans().iter().map(|head| cut(batch.span_bytes(head), head)).collect();
    let fact_rows: Vec<_> = rows.iter().zip(&cut).map(|(row, (_, body))| FactRow { row, body, service }).collect();
    let facts = Facts::of(id, &fact_rows);
    Trace { id, batch, spans, rows, cut, facts, mark }
}

fn batch(service: &str, spans: &[Span]) -> Batch {
    let resource = Resource { attributes: vec![traces::attribute("service.name", service)], ..Resource::default() };
    let scope = InstrumentationScope { name: "golden".into(), version: "1".into(), ..InstrumentationScope::default() };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans: spans.to_vec(), schema_url: "urn:scope".into() }];
    let resource_spans = ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() };
    let mut request = Vec::new();
    let mut message = resource_spans.encode_to_vec();
    // A field of a later OTLP.
    put_varint_field(&mut message, 500, 12_345);
    sluice::model::wire::put_bytes(&mut request, 1, &message);
    Batch::from_otlp(request.into()).unwrap().batch
}

fn cut(span: &[u8], head: &SpanHead) -> (u8, Vec<u8>) {
    let mut body = Vec::new();
    (keys::cut(span, head, &mut body), body)
}

/// Which segments the golden one says it was merged from.
pub const INPUTS: [u64; 2] = [3, 5];

/// What the golden segment says its spans are called.
pub fn names() -> Names {
    let mut names = Names::default();
    names.add_operation("shop", "operation 0", 1);
    names.add_operation("cart", "operation 1", -1);
    names.add_key("service.name", 1 << 1);
    names.add_key("http.response.status_code", 1 << 3 | 1);
    names
}

/// The segment of [`traces`], on a disk of its own.
pub fn segment_on_disk() -> (FaultDisk, PathBuf) {
    let (disk, path) = (FaultDisk::default(), PathBuf::from("/golden.seg"));
    let traces = traces();
    let options = WriteOptions { block_size: BLOCK_SIZE, codec: Codec::Lz4 };
    let origin = Origin { id: SEGMENT, store: STORE, inputs: INPUTS.to_vec() };
    let mut writer = SegmentWriter::create(&disk, &path, origin, options).unwrap();
    writer.names().unite(&names());
    for trace in &traces {
        let (resource, scope) = (writer.resource(trace.batch.resource(0)), writer.scope(trace.batch.scope(0)));
        let rows = trace.rows.iter().zip(&trace.cut);
        let rows: Vec<_> =
            rows.map(|(row, (shape, body))| RunRow { row: *row, shape: *shape, resource, scope, body }).collect();
        writer.add_run(trace.id, &rows, trace.facts.clone(), trace.mark.clone()).unwrap();
    }
    writer.finish().unwrap();
    (disk, path)
}

pub fn segment() -> Vec<u8> {
    let (disk, path) = segment_on_disk();
    read_file(&disk as &dyn Disk, &path).unwrap()
}

/// A manifest with something in every field.
pub fn manifest_value() -> Manifest {
    let file = |kind, id, not_before| LiveFile {
        kind,
        id,
        bytes: 4096 * id,
        rows: 300 + id,
        traces: 20,
        lsns: (id, 1_000_000 + id),
        received: (RECEIVED, RECEIVED + id),
        not_before,
    };
    Manifest {
        store: STORE,
        epoch: 12,
        position: 64,
        proven: 63,
        judge_from: 10,
        bucket_width: 21_600_000_000_000,
        clock: RECEIVED + 99,
        next_segment: 8,
        next_log: 6,
        policies: vec![Policy { id: 1, text: "errors and slow ones".into() }],
        files: vec![file(FileKind::Segment, 6, 0), file(FileKind::Remainder, 7, RECEIVED + 5)],
    }
}

pub fn manifest() -> Vec<u8> {
    manifest_value().encode()
}
