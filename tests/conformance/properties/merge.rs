//! A merge of whatever segments gives what a reader saw before, and the segment that one seal of all of it had made.

use super::bytes::{extra_fields, request_in, request_of, resource_named, scope_named};
use crate::support::fault_disk::FaultDisk;
use crate::support::stores::{self, TestClock, read, small};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;
use sluice::merge;
use sluice::model::wire::{fields::*, put_bytes, put_fixed64, put_varint_field};
use sluice::model::{Batch, Trace};
use sluice::storage::Engine;
use sluice::storage::segment::facts::{FactRow, root_of};
use sluice::storage::segment::{Codec, DirectoryEntry, Facts, IndexKind, Segment};
use std::collections::BTreeSet;

/// What differs between spans that are likely to meet: in a trace, as parents, as duplicates, as fragments.
#[derive(Debug, Clone)]
struct AnySpan {
    /// Trace, span, and parent, of a few.
    ids: (u8, u8, Option<u8>),
    times: (u64, u64),
    kind: u64,
    error: bool,
    /// Of three of each. Two scopes have one name.
    resource: u8,
    scope: u8,
    /// Fields that are copied as they are, unknown ones among them.
    fields: Vec<u8>,
    padding: usize,
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 1_000..1_020u64, 2 => 1_699_999_999_000_000_000..1_700_000_001_000_000_000u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

prop_compose! {
    fn span()(
        ids in (0..6u8, 0..8u8, proptest::option::of(0..9u8)),
        times in (time(), time()),
        kind in prop_oneof![8 => 0..3u64, 1 => any::<u64>()],
        error in any::<bool>(),
        names in (0..3u8, 0..3u8),
        fields in extra_fields(),
        padding in prop_oneof![6 => 0..40usize, 2 => 0..1_500usize, 1 => 3_000..9_000usize],
    ) -> AnySpan {
        let (resource, scope) = names;
        AnySpan { ids, times, kind, error, resource, scope, fields, padding }
    }
}

fn made(put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out);
    out
}

impl AnySpan {
    fn request(&self) -> Vec<u8> {
        let (trace, span, parent) = self.ids;
        let id = |number: u8| [number, 0, 0, 0, 0, 0, 0, 1];
        let body = made(|out| {
            put_bytes(out, SPAN_TRACE_ID, &[id(trace * 40), id(trace)].concat());
            put_bytes(out, SPAN_SPAN_ID, &id(span));
            parent.iter().for_each(|parent| put_bytes(out, SPAN_PARENT, &id(*parent)));
            put_bytes(out, SPAN_NAME, format!("operation {span}").as_bytes());
            put_varint_field(out, SPAN_KIND, self.kind);
            put_fixed64(out, SPAN_START, self.times.0);
            put_fixed64(out, SPAN_END, self.times.1);
            let code = made(|out| put_varint_field(out, STATUS_CODE, 2));
            self.error.then(|| put_bytes(out, SPAN_STATUS, &code));
            out.extend_from_slice(&self.fields);
            put_bytes(out, 900, &vec![b'x'; self.padding]);
        });
        let resource = resource_named(["shop", "cart", ""][usize::from(self.resource)]);
        let scope = scope_named(["a", "b", "b"][usize::from(self.scope)], ["1", "1", "2"][usize::from(self.scope)]);
        request_in(&body, &resource, &scope)
    }
}

/// Batches, and after which of them the memtable is sealed.
type History = Vec<(Vec<AnySpan>, bool)>;

fn histories() -> impl Strategy<Value = History> {
    vec((vec(span(), 1..12), prop_oneof![2 => Just(true), 1 => Just(false)]), 2..9)
}

fn play(history: &History, seal_between: bool) -> (Engine, FaultDisk) {
    let disk = FaultDisk::default();
    let engine = stores::open(disk.clone(), small(), &TestClock::default()).unwrap();
    for (spans, seal) in history {
        // A request of several top-level messages is one batch.
        let bytes: Vec<u8> = spans.iter().flat_map(AnySpan::request).collect();
        stores::append(&engine, Batch::from_otlp(bytes.into()).unwrap().batch);
        if *seal && seal_between {
            engine.flush().unwrap();
        }
    }
    engine.flush().unwrap();
    (engine, disk)
}

fn entries(segment: &Segment) -> Vec<DirectoryEntry> {
    let pages = (0..segment.page_count()).map(|page| segment.page(page).unwrap());
    let place_apart = |entry: DirectoryEntry| DirectoryEntry { block: 0, blocks: 0, ..entry };
    pages.flatten().map(place_apart).collect()
}

fn index(segment: &Segment, kind: IndexKind) -> Vec<(u64, u32)> {
    let pages = (0..segment.index_pages(kind)).map(|page| segment.index_page(kind, page).unwrap());
    pages.flatten().map(|entry| (entry.key, entry.ordinal)).collect()
}

/// Facts of a trace as it is read, worked out anew.
fn facts(trace: &Trace) -> Facts {
    use sluice::model::wire::{keys, read, walk};
    let services: Vec<_> =
        trace.spans.iter().map(|span| read::service_name(&span.resource).unwrap_or_default()).collect();
    let body = |span: &[u8]| {
        let request = request_of(span);
        let batch = Batch::from_otlp(request.into()).unwrap().batch;
        let mut body = Vec::new();
        keys::cut(batch.span_bytes(&batch.spans()[0]), &batch.spans()[0], &mut body);
        body
    };
    let bodies: Vec<_> = trace.spans.iter().map(|span| body(&span.span)).collect();
    let rows: Vec<_> = (trace.spans.iter().zip(&bodies).zip(&services))
        .map(|((span, body), service)| FactRow { row: &span.row, bytes: body.len() as u64, service })
        .collect();
    assert!(walk(&trace.to_otlp()).is_ok());
    let root = root_of(&rows).map_or(&[][..], |root| &bodies[root]);
    Facts::of(trace.id, &rows, root)
}

/// Each index lists every trace once, greatest key first, under the key that its entry has.
fn check_indexes(segment: &Segment) {
    let entries = entries(segment);
    for kind in [IndexKind::Latency, IndexKind::StartTime] {
        let found = index(segment, kind);
        let mut expected: Vec<_> = entries.iter().zip(0..).map(|(entry, ordinal)| (kind.key(entry), ordinal)).collect();
        expected.sort_by_key(|(key, ordinal)| (std::cmp::Reverse(*key), *ordinal));
        assert_eq!(found, expected, "{kind:?}");
    }
}

fn check_segments(engine: &Engine, traces: &[Trace]) {
    let snapshot = engine.snapshot();
    let mut found = Vec::new();
    for segment in snapshot.segments.iter() {
        check_indexes(segment);
        let entries = entries(segment);
        let footer = segment.footer();
        assert_eq!(footer.traces, entries.len() as u64);
        assert_eq!(footer.rows, entries.iter().map(|entry| u64::from(entry.facts.rows)).sum::<u64>());
        assert!(entries.iter().all(|entry| segment.may_hold(entry.trace_id)), "the filter denies what is there");
        found.extend(entries);
    }
    found.sort_by_key(|entry| entry.trace_id);
    assert_eq!(found.len(), traces.len(), "no trace lies in two outputs");
    for (entry, trace) in found.iter().zip(traces) {
        assert_eq!((entry.trace_id, &entry.facts), (trace.id, &facts(trace)));
    }
}

/// Operations, and attribute keys with their types.
type AllNames = (BTreeSet<(String, String, i32)>, Vec<(String, u8)>);

fn names(engine: &Engine) -> AllNames {
    let mut all = sluice::storage::segment::Names::default();
    engine.snapshot().segments.iter().for_each(|segment| all.unite(&segment.names().unwrap()));
    (all.operations, all.attributes.into_iter().collect())
}

/// What one seal of the whole history makes is what the merge made.
fn check_against_one_seal(merged: &Engine, history: &History) {
    let (sealed, _disk) = play(history, false);
    let (merged, sealed) = (merged.snapshot(), sealed.snapshot());
    let ([merged], [sealed]) = (&merged.segments[..], &sealed.segments[..]) else { panic!("one segment each") };
    assert_eq!(entries(merged), entries(sealed));
    for kind in [IndexKind::Latency, IndexKind::StartTime] {
        assert_eq!(index(merged, kind), index(sealed, kind));
    }
    let said = |segment: &Segment| {
        let footer = segment.footer().clone();
        (footer.lsns, footer.received, footer.times, footer.trace_ids, footer.rows, footer.body_bytes, footer.checksum)
    };
    assert_eq!(said(merged), said(sealed));
}

fn codec() -> impl Strategy<Value = Codec> {
    prop_oneof![Just(Codec::None), Just(Codec::Lz4), Just(Codec::Zstd)]
}

proptest! {
    #![proptest_config(Config { cases: 48, failure_persistence: None, ..Config::default() })]

    #[test]
    fn merged_segments_read_as_they_did_and_are_what_one_seal_had_made(
        history in histories(), codec in codec(), first in 0..4usize, max_rows in prop_oneof![2 => Just(u64::MAX), 1 => 1..12u64],
    ) {
        let (engine, disk) = play(&history, true);
        let (before, names_before) = (read(&engine.snapshot()), names(&engine));
        // Some first and then all, so that a merged segment is merged again.
        let ids = stores::ids(&engine);
        let some = merge::Options { codec, ..merge::Options::default() };
        if ids.len() > first {
            stores::merge(&engine, Some(&ids[first..]), &some).unwrap();
            prop_assert_eq!(&read(&engine.snapshot()), &before);
        }
        let report = stores::merge(&engine, None, &merge::Options { max_rows, ..some }).unwrap();
        prop_assert_eq!(&read(&engine.snapshot()), &before);
        prop_assert_eq!(report.traces, before.len() as u64);
        prop_assert_eq!(report.rows, before.iter().map(|trace| trace.spans.len() as u64).sum::<u64>());
        prop_assert_eq!(stores::ids(&engine), report.outputs.clone());
        prop_assert_eq!(stores::files(&disk), stores::names(&report.outputs));
        check_segments(&engine, &before);
        prop_assert_eq!(names(&engine), names_before);
        if max_rows == u64::MAX {
            check_against_one_seal(&engine, &history);
        } else {
            let snapshot = engine.snapshot();
            for segment in snapshot.segments.iter() {
                let largest = entries(segment).iter().map(|entry| u64::from(entry.facts.rows)).max().unwrap();
                prop_assert!(segment.footer().rows < max_rows + largest, "cut at the first trace behind the bound");
            }
        }
    }
}
