//! A search finds exactly what a look at every span finds, wherever the rows lie: traces in several segments and memtables,
//! spans sent again as they were or changed, times that make no sense.

use crate::shared::fault_disk::FaultDisk;
use crate::shared::plain::Plain;
use crate::shared::store::{append_all, open};
use crate::shared::traces::attribute;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest as Request;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;
use prost::Message;
use sluice::model::{Order, TraceQuery};
use sluice::storage::query::Limits;
use sluice::storage::{Engine, Options};
use std::sync::Arc;

const TIMES: [u64; 10] = [0, 1, 2, 10, 11, 50, 100, 1_000, 2_000_000_000_000_000_000, u64::MAX];
const SERVICES: [&str; 3] = ["", "cart", "shop"];
const NAMES: [&str; 3] = ["get", "put", "list"];

fn time() -> impl Strategy<Value = u64> {
    select(TIMES.to_vec())
}

/// A request, shown as what it says.
struct Sent(Vec<u8>);

impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of_resource = &Request::decode(&*self.0).unwrap().resource_spans[0];
        let (scope, resource) = (&of_resource.scope_spans[0], of_resource.resource.as_ref().unwrap());
        let (span, name) = (&scope.spans[0], &scope.scope.as_ref().unwrap().name);
        let service = resource.attributes.iter().map(|service| &service.value);
        let Span { trace_id, span_id, parent_span_id, start_time_unix_nano: start, end_time_unix_nano: end, .. } = span;
        let ids = (trace_id[0], span_id[0], parent_span_id.first());
        write!(f, "{ids:?} {start}..{end} kind {} scope {name:?} {:?}", span.kind, service.collect::<Vec<_>>())?;
        write!(f, " {} status {:?} {:?}", span.name, span.status, span.attributes.first().map(|pair| &pair.value))
    }
}

/// A request of one span.
fn request(span: Span, scope: &str, service: &str) -> Sent {
    let scope = InstrumentationScope { name: scope.to_owned(), ..InstrumentationScope::default() };
    let attributes = (!service.is_empty()).then(|| attribute("service.name", service));
    let resource = Resource { attributes: attributes.into_iter().collect(), ..Resource::default() };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans: vec![span], ..ScopeSpans::default() }];
    let resource_spans = vec![ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() }];
    Sent(Request { resource_spans }.encode_to_vec())
}

/// Few ids, so that spans are sent again, changed or not.
fn span() -> impl Strategy<Value = Sent> {
    let ids = (1..6u8, 1..4u8, 0..4u8, 2..4i32, select(vec!["", "scope"]));
    let rest = (time(), time(), 0..3i32, select(SERVICES.to_vec()), select(NAMES.to_vec()), 0..3u8);
    (ids, rest).prop_map(|((trace, id, parent, kind, scope), (start, end, status, service, name, value))| {
        let span = Span {
            trace_id: vec![trace * 40; 16],
            span_id: vec![id; 8],
            parent_span_id: if parent == 0 { Vec::new() } else { vec![parent; 8] },
            name: name.to_owned(),
            kind,
            start_time_unix_nano: start,
            end_time_unix_nano: end,
            attributes: (value > 0).then(|| attribute("key", &value.to_string())).into_iter().collect(),
            status: Some(Status { code: status, ..Status::default() }),
            ..Span::default()
        };
        request(span, scope, service)
    })
}

/// What is sent between one seal and the next.
fn history() -> impl Strategy<Value = Vec<Vec<Sent>>> {
    vec(vec(span(), 1..10), 1..5)
}

fn some<T: Clone + std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.3, value)
}

fn query() -> impl Strategy<Value = TraceQuery> {
    let texts = (some(select(SERVICES.to_vec())), some(select(vec!["get", "put", "nowhere"])), some(0..3u8));
    let numbers = (some(2..4i32), some(0..3i32), (some(time()), some(time())), (some(time()), some(time())));
    (texts, numbers, any::<bool>(), 1..5usize).prop_map(
        |((service, operation, value), (kind, status, start, duration), slow, limit)| {
            let order = if slow { Order::SlowestFirst } else { Order::NewestFirst };
            TraceQuery {
                service: service.map(str::to_owned),
                operation: operation.map(str::to_owned),
                attributes: value.map(|value| ("key".to_owned(), value.to_string())).into_iter().collect(),
                kind,
                status,
                start,
                duration,
                order,
                limit,
            }
        },
    )
}

/// All but the last part are sealed, each into a segment of its own.
fn store(history: &[Vec<Sent>]) -> Engine {
    let mut options = Options::new("/store");
    (options.wal.file_size, options.wal.max_size) = (16 << 10, 128 << 10);
    let engine = open(options, Arc::new(FaultDisk::default()));
    for (number, part) in history.iter().enumerate() {
        if number > 0 {
            engine.flush().unwrap();
        }
        append_all(&engine, part.iter().map(|request| &*request.0));
    }
    engine
}

fn at(trace: u8, id: u8, service: &str, start: u64) -> Sent {
    let times = Span { start_time_unix_nano: start, end_time_unix_nano: start + 1, ..Span::default() };
    request(Span { trace_id: vec![trace; 16], span_id: vec![id; 8], ..times }, "", service)
}

/// Trace 1 has its earliest span sent again with a later start, in a segment where nothing matches: the trace begins at 200 and
/// not at 100, as the index of its first segment has it, and so comes before trace 2.
#[test]
fn a_trace_whose_first_span_was_sent_again_with_a_later_start_comes_in_its_place() {
    let history =
        [vec![at(1, 1, "shop", 100), at(1, 2, "shop", 200)], vec![at(1, 1, "cart", 900)], vec![at(2, 1, "shop", 150)]];
    let engine = store(&history);
    let window = TraceQuery { start: (None, Some(500)), limit: 1, ..TraceQuery::default() };
    let service = TraceQuery { service: Some("shop".to_owned()), limit: 1, ..TraceQuery::default() };
    for query in [window, service] {
        let found = engine.snapshot().find(&query, Limits::NONE).unwrap().found;
        assert_eq!(found.iter().map(|trace| (trace.id.0[0], trace.start)).collect::<Vec<_>>(), [(1, 200)], "{query:?}");
    }
}

proptest! {
    #![proptest_config(Config { cases: 1500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_search_finds_what_a_look_at_every_span_finds(history in history(), queries in vec(query(), 20)) {
        let plain = Plain::of(history.iter().flatten().map(|request| &*request.0));
        let engine = store(&history);
        let snapshot = engine.snapshot();
        for query in queries {
            let answer = snapshot.find(&query, Limits::NONE).unwrap();
            prop_assert_eq!(&answer.found, &plain.find(&query), "{:?}", query);
            prop_assert_eq!(answer.warnings, Vec::<String>::new());
            let traces = snapshot.find_traces(&query, Limits::NONE).unwrap().found;
            prop_assert!(traces.iter().map(|trace| trace.id).eq(answer.found.iter().map(|summary| summary.id)));
        }
    }
}
