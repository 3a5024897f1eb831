//! What holds for all traces, looked at as a receiver sees them.

use super::encode::Encoder;
use super::plan::Plan;
use super::pods::{Pods, Request};
use super::random::Random;
use super::simulate::Simulator;
use crate::model::Batch;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

const BEGIN: u64 = 1_700_000_000_000_000_000;
const BATCH: u64 = 100;

struct Made {
    services: u32,
    seed: u64,
    error_ratio: f64,
    /// Where ids come from.
    ids: u64,
    /// Between one trace and the next, nanoseconds.
    apart: u64,
}

impl Default for Made {
    fn default() -> Self {
        Self { services: 12, seed: 1, error_ratio: 0.1, ids: 1, apart: 1_000_000 }
    }
}

impl Made {
    fn requests(&self, traces: u64) -> Vec<Request> {
        let (plan, mut requests) = (Plan::new(self.services), Vec::new());
        let mut encoder = Encoder::new(Random::new(self.ids), plan.copies.len());
        let mut pods = Pods::new(&plan, BATCH);
        let simulator = Simulator { plan, seed: self.seed, error_ratio: self.error_ratio };
        for number in 0..traces {
            let trace = simulator.trace(number);
            let dated = encoder.date(&trace, BEGIN + number * self.apart);
            pods.add(&simulator.plan, &mut encoder, &dated, &mut requests);
        }
        pods.flush(&simulator.plan, &mut requests);
        requests
    }

    fn traces(&self, traces: u64) -> Vec<Vec<Seen>> {
        let mut by_id: BTreeMap<(u64, Vec<u8>), Vec<Seen>> = BTreeMap::new();
        let all: Vec<_> = self.requests(traces).iter().flat_map(spans).collect();
        let mut begins: HashMap<Vec<u8>, u64> = HashMap::new();
        for seen in &all {
            let begin = begins.entry(seen.span.trace_id.clone()).or_insert(u64::MAX);
            *begin = (*begin).min(seen.span.start_time_unix_nano);
        }
        all.into_iter().for_each(|seen| {
            by_id.entry((begins[&seen.span.trace_id], seen.span.trace_id.clone())).or_default().push(seen)
        });
        by_id.into_values().collect()
    }
}

/// A span with where it is from.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    service: String,
    scope: String,
    span: Span,
}

impl Seen {
    fn failed(&self) -> bool {
        self.span.status.as_ref().is_some_and(|status| status.code == 2)
    }

    fn is(&self, kind: SpanKind) -> bool {
        self.span.kind == kind as i32
    }
}

fn spans(request: &Request) -> Vec<Seen> {
    let decoded = ExportTraceServiceRequest::decode(request.body.clone()).unwrap();
    let mut seen = Vec::new();
    for of_resource in decoded.resource_spans {
        let service = text(&of_resource.resource.unwrap().attributes, "service.name").unwrap();
        for of_scope in of_resource.scope_spans {
            let scope = of_scope.scope.unwrap().name;
            let of = |span| Seen { service: service.clone(), scope: scope.clone(), span };
            seen.extend(of_scope.spans.into_iter().map(of));
        }
    }
    seen
}

fn value<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a Value> {
    attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?.value.as_ref()
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    match value(attributes, key)? {
        Value::StringValue(text) => Some(text.clone()),
        _ => None,
    }
}

fn parent<'a>(trace: &'a [Seen], of: &Seen) -> Option<&'a Seen> {
    trace.iter().find(|seen| seen.span.span_id == of.span.parent_span_id)
}

/// Ids numbered in the order in which they come up, times since the trace began.
fn without_ids_and_times(requests: &[Request]) -> Vec<Seen> {
    let mut all: Vec<_> = requests.iter().flat_map(spans).collect();
    let mut begins: HashMap<Vec<u8>, u64> = HashMap::new();
    for seen in &all {
        let begin = begins.entry(seen.span.trace_id.clone()).or_insert(u64::MAX);
        *begin = (*begin).min(seen.span.start_time_unix_nano);
    }
    let mut numbers: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut number = |id: &mut Vec<u8>| {
        let next = numbers.len() as u64;
        *id = numbers.entry(std::mem::take(id)).or_insert(next).to_be_bytes().to_vec();
    };
    for Seen { span, .. } in &mut all {
        let begin = begins[&span.trace_id];
        span.start_time_unix_nano -= begin;
        span.end_time_unix_nano -= begin;
        span.events.iter_mut().for_each(|event| event.time_unix_nano -= begin);
        [&mut span.trace_id, &mut span.span_id, &mut span.parent_span_id].into_iter().for_each(&mut number);
        for link in &mut span.links {
            number(&mut link.trace_id);
            number(&mut link.span_id);
        }
    }
    all
}

#[test]
fn the_same_seed_makes_the_same_traces_but_for_ids_and_times_of_day() {
    let of = |seed, ids, apart| Made { seed, ids, apart, ..Made::default() }.requests(300);
    let (one, same) = (of(5, 1, 1_000_000), of(5, 2, 7_000));
    assert_eq!(without_ids_and_times(&one), without_ids_and_times(&same));
    let ids =
        |requests: &[Request]| requests.iter().flat_map(spans).map(|seen| seen.span.span_id).collect::<HashSet<_>>();
    assert!(ids(&one).is_disjoint(&ids(&same)));
    assert_ne!(without_ids_and_times(&one), without_ids_and_times(&of(6, 1, 1_000_000)));
}

#[test]
fn every_request_is_walked_without_a_complaint_and_is_from_one_pod() {
    let requests = Made::default().requests(2_000);
    for request in &requests {
        let ingested = Batch::from_otlp(request.body.clone()).unwrap();
        assert_eq!(ingested.refusals, Default::default());
        assert_eq!(ingested.batch.spans().len() as u64, request.spans);
        assert!((1..=BATCH).contains(&request.spans));
        assert_eq!(ingested.batch.table_sizes().0, 1);
    }
    let full = requests.iter().filter(|request| request.spans == BATCH).count();
    assert!(full > requests.len() / 2, "{full} of {}", requests.len());
}

#[test]
fn ids_are_unique_and_every_parent_is_there() {
    let traces = Made::default().traces(2_000);
    assert_eq!(traces.len(), 2_000);
    let mut ids = HashSet::new();
    for trace in &traces {
        assert_eq!(trace.iter().filter(|seen| seen.span.parent_span_id.is_empty()).count(), 1, "one root");
        for seen in trace {
            assert!(ids.insert(seen.span.span_id.clone()));
            assert!(seen.span.parent_span_id.is_empty() || parent(trace, seen).is_some(), "{seen:?}");
        }
    }
}

#[test]
fn children_lie_within_their_parents_and_consumers_behind_them() {
    for trace in Made::default().traces(2_000) {
        for seen in &trace {
            assert!(seen.span.start_time_unix_nano < seen.span.end_time_unix_nano, "{seen:?}");
            let Some(parent) = parent(&trace, seen) else { continue };
            let (outer, inner) = (&parent.span, &seen.span);
            if seen.is(SpanKind::Consumer) {
                assert!(parent.is(SpanKind::Producer) && outer.end_time_unix_nano < inner.start_time_unix_nano);
            } else {
                assert!(outer.start_time_unix_nano <= inner.start_time_unix_nano, "{parent:?}\n{seen:?}");
                assert!(inner.end_time_unix_nano <= outer.end_time_unix_nano, "{parent:?}\n{seen:?}");
            }
        }
    }
}

#[test]
fn a_client_and_its_server_are_two_services_and_agree() {
    let mut pairs = 0;
    for trace in Made::default().traces(500) {
        for server in trace.iter().filter(|seen| seen.is(SpanKind::Server)) {
            let Some(client) = parent(&trace, server) else { continue };
            assert!(client.is(SpanKind::Client) && client.service != server.service);
            assert_eq!(text(&client.span.attributes, "server.address"), Some(server.service.clone()));
            for status in ["http.response.status_code", "rpc.response.status_code"] {
                assert_eq!(value(&client.span.attributes, status), value(&server.span.attributes, status));
            }
            pairs += 1;
        }
    }
    assert!(pairs > 1_000, "{pairs}");
}

#[test]
fn the_error_ratio_is_that_of_traces_with_an_error() {
    for (ratio, least, most) in [(0.0, 0, 0), (0.2, 500, 700), (1.0, 3_000, 3_000)] {
        let traces = Made { error_ratio: ratio, ..Made::default() }.traces(3_000);
        let failed = traces.iter().filter(|trace| trace.iter().any(Seen::failed)).count();
        assert!((least..=most).contains(&failed), "{failed} of 3000 with ratio {ratio}");
    }
}

#[test]
fn errors_go_up_until_someone_tries_again_or_does_without() {
    let traces = Made { error_ratio: 1.0, ..Made::default() }.traces(3_000);
    let (mut up_to_the_root, mut stopped, mut resent, mut done_without) = (0, 0, 0, 0);
    for trace in &traces {
        let root = trace.iter().find(|seen| seen.span.parent_span_id.is_empty()).unwrap();
        if root.failed() {
            up_to_the_root += 1
        } else {
            stopped += 1
        }
        resent +=
            usize::from(trace.iter().any(|seen| value(&seen.span.attributes, "http.request.resend_count").is_some()));
        let origins: Vec<_> = trace.iter().filter(|seen| !seen.span.events.is_empty()).collect();
        assert!(!origins.is_empty());
        for origin in origins {
            let exception = &origin.span.events[0];
            assert!(origin.failed() && exception.name == "exception");
            for key in ["exception.type", "exception.message", "exception.stacktrace"] {
                assert!(text(&exception.attributes, key).is_some());
            }
        }
        for failed in trace.iter().filter(|seen| seen.failed()) {
            assert!(value(&failed.span.attributes, "error.type").is_some());
            let optional = failed.is(SpanKind::Client) && failed.span.name == "shop.v1.Recommendation/ListFor";
            done_without += usize::from(optional && !parent(trace, failed).unwrap().failed());
        }
    }
    assert!(up_to_the_root > 500 && stopped > 500, "{up_to_the_root} {stopped}");
    assert!(resent > 20 && done_without > 20, "{resent} {done_without}");
}

#[test]
fn traces_differ_in_size_and_every_kind_and_service_appears() {
    let traces = Made::default().traces(5_000);
    let sizes: Vec<_> = traces.iter().map(Vec::len).collect();
    let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
    assert!(*least == 2 && (150..1_000).contains(most), "{least} to {most} spans");
    let all = || traces.iter().flatten();
    let kinds: BTreeSet<_> = all().map(|seen| seen.span.kind).collect();
    assert_eq!(kinds, BTreeSet::from([1, 2, 3, 4, 5]));
    assert_eq!(all().map(|seen| &seen.service).collect::<BTreeSet<_>>().len(), 12);
    let keys: BTreeSet<_> = all().flat_map(|seen| &seen.span.attributes).map(|attribute| &*attribute.key).collect();
    for key in ["http.request.method", "http.route", "http.response.status_code", "db.system.name", "db.query.text"] {
        assert!(keys.contains(key), "{key}");
    }
    for key in ["messaging.system", "messaging.destination.name", "rpc.system.name", "rpc.method", "error.type"] {
        assert!(keys.contains(key), "{key}");
    }
}

#[test]
fn a_trace_comes_from_several_services_in_several_requests() {
    let requests = Made::default().requests(1_000);
    let mut parts: HashMap<Vec<u8>, usize> = HashMap::new();
    for request in &requests {
        let traces: HashSet<_> = spans(request).into_iter().map(|seen| seen.span.trace_id).collect();
        traces.into_iter().for_each(|id| *parts.entry(id).or_default() += 1);
    }
    let spread = parts.values().filter(|parts| **parts > 1).count();
    assert!(spread > 800, "{spread} of 1000");
}

#[test]
fn links_lead_from_consumers_to_producers() {
    let traces = Made::default().traces(8_000);
    let all: HashMap<_, _> =
        traces.iter().flatten().map(|seen| ((&seen.span.trace_id, &seen.span.span_id), seen)).collect();
    let (mut within, mut across) = (0, 0);
    for seen in traces.iter().flatten().filter(|seen| !seen.span.links.is_empty()) {
        assert!(seen.is(SpanKind::Consumer));
        for link in &seen.span.links {
            assert!(all[&(&link.trace_id, &link.span_id)].is(SpanKind::Producer));
            *(if link.trace_id == seen.span.trace_id { &mut within } else { &mut across }) += 1;
        }
        if seen.span.parent_span_id.is_empty() {
            let count = value(&seen.span.attributes, "messaging.batch.message_count");
            assert_eq!(count, Some(&Value::IntValue(seen.span.links.len() as i64)));
        }
    }
    assert!(within > 100 && across > 20, "{within} {across}");
}

#[test]
fn more_services_are_more_shops_and_fewer_are_fewer() {
    let names = |services| {
        let traces = Made { services, ..Made::default() }.traces(5_000);
        assert!(traces.iter().all(|trace| trace.len() >= 2));
        traces.into_iter().flatten().map(|seen| seen.service).collect::<BTreeSet<_>>()
    };
    assert_eq!(names(2).into_iter().collect::<Vec<_>>(), ["catalog", "frontend"]);
    let many = names(26);
    assert_eq!(many.len(), 26);
    assert!(many.contains("checkout") && many.contains("checkout-2") && many.contains("frontend-3"));
}
