//! Lists, searches and traces as viewers ask for them, from the real daemon.

use crate::shared::daemon::Daemon;
use crate::shared::http::{JSON, PROTOBUF, Sender};
use crate::shared::spans::Spans;
use crate::shared::traces::{attribute, request, trace_id};
use crate::shared::{json_requests, small_files};
use prost::Message;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sluice::model::{TraceId, json as otlp_json};
use std::collections::BTreeSet;

const SPANS: u64 = 5;
const NONE: [u64; 0] = [];

/// Twelve traces of `shop` and then three of `cart`, each a millisecond later than the one before.
fn send(daemon: &Daemon) {
    let mut sender = Sender::connect(daemon.http).unwrap();
    for number in 0..15 {
        let mut request = request(number, SPANS, 3);
        if number >= 12 {
            request.resource_spans[0].resource.as_mut().unwrap().attributes = vec![attribute("service.name", "cart")];
        }
        if number == 7 {
            request.resource_spans[0].scope_spans[0].spans[3].end_time_unix_nano += 5_000_000;
        }
        assert_eq!(sender.post(PROTOBUF, &request.encode_to_vec()).unwrap().0, 200);
    }
}

fn get(daemon: &Daemon, path: &str) -> (u16, String) {
    let (status, body) = Sender::connect(daemon.query).unwrap().get(path).unwrap();
    (status, String::from_utf8(body).unwrap())
}

fn value(daemon: &Daemon, path: &str) -> Value {
    let (status, body) = get(daemon, path);
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// The numbers of the traces in a list, by the ids under this key.
fn numbers(traces: &Value, key: &str) -> Vec<u64> {
    let number = |trace: &Value| {
        let id = TraceId::parse(trace[key].as_str().unwrap()).unwrap();
        (0..15).find(|number| trace_id(*number) == id).unwrap()
    };
    traces.as_array().unwrap().iter().map(number).collect()
}

fn found(daemon: &Daemon, query: &str) -> Vec<u64> {
    numbers(&value(daemon, &format!("/api/traces?{query}"))["data"], "traceID")
}

const TIMES: &str = "query.startTimeMin=2023-11-14T22:13:20.010Z&query.startTimeMax=2023-11-15T00:13:21.5+02:00";

/// Every route, with what makes its answer sure to be another one where something is left out.
fn routes() -> Vec<String> {
    let id = trace_id(7);
    vec![
        "/api/services".into(),
        "/api/services/shop/operations".into(),
        "/api/operations?service=shop&spanKind=server".into(),
        "/api/traces?service=shop&limit=100".into(),
        format!("/api/traces/{id}"),
        "/api/v3/services".into(),
        "/api/v3/operations?service=cart".into(),
        format!("/api/v3/traces/{id}"),
        format!("/api/v3/traces?{TIMES}"),
        format!("/api/v3/trace-summaries?{TIMES}"),
    ]
}

#[test]
fn an_empty_store_answers_every_list_with_an_empty_one() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(directory.path(), "");
    let empty = json!({"data": [], "total": 0, "limit": 0, "offset": 0, "errors": null});
    for path in routes().iter().filter(|path| !path.contains("v3") && !path.contains("traces/")) {
        assert_eq!(value(&daemon, path), empty, "{path}");
    }
    assert_eq!(value(&daemon, "/api/v3/services"), json!({"services": []}));
    assert_eq!(value(&daemon, "/api/v3/operations?service=a"), json!({"operations": []}));
    assert_eq!(value(&daemon, &format!("/api/v3/trace-summaries?{TIMES}")), json!({"summaries": []}));
    let none = (404, r#"{"error":{"httpCode":404,"message":"No traces found"}}"#.to_owned());
    assert_eq!(get(&daemon, &format!("/api/v3/traces?{TIMES}")), none);
}

#[test]
fn services_and_operations_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(directory.path(), "");
    send(&daemon);
    assert_eq!(value(&daemon, "/api/services")["data"], json!(["cart", "shop"]));
    assert_eq!(value(&daemon, "/api/v3/services"), json!({"services": ["cart", "shop"]}));
    let names = ["operation 0", "operation 1", "operation 2", "operation 3", "operation 4"];
    assert_eq!(value(&daemon, "/api/services/cart/operations")["data"], json!(names));
    let server = json!([{"name": "operation 1", "spanKind": "server"}]);
    assert_eq!(value(&daemon, "/api/operations?service=shop&spanKind=server")["data"], server);
    let operations = value(&daemon, "/api/v3/operations?service=shop");
    assert_eq!(operations["operations"][4], json!({"name": "operation 4", "spanKind": "consumer"}));
    assert_eq!(value(&daemon, "/api/operations?service=nobody")["total"], 0);
}

#[test]
fn searches_find_the_traces_that_match_newest_first() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(directory.path(), "");
    send(&daemon);
    let shop: Vec<u64> = (0..12).rev().collect();
    assert_eq!(found(&daemon, "service=shop"), shop);
    assert_eq!(found(&daemon, "limit=2"), [14, 13]);
    assert_eq!(found(&daemon, "start=1700000000003000&end=1700000000005004"), [5, 4, 3]);
    assert_eq!(found(&daemon, "minDuration=5ms"), [7]);
    assert_eq!(found(&daemon, "order=slowest&limit=1"), [7]);
    assert_eq!(found(&daemon, "service=shop&operation=operation%202&tag=error%3Atrue&limit=1"), [11]);
    assert_eq!(found(&daemon, "operation=operation%201&tag=error%3Atrue"), NONE, "one span meets all conditions");
    assert_eq!(
        found(&daemon, "service=cart&tags=%7B%22padding%22%3A%22xxx%22%2C%22span.kind%22%3A%22server%22%7D"),
        [14, 13, 12]
    );
    assert_eq!(found(&daemon, "tag=otel.status_code%3AOK"), NONE);
    let (one, other) = (trace_id(3), trace_id(9));
    assert_eq!(found(&daemon, &format!("traceID={one}&traceID={other}&traceID=abc")), [9, 3]);
}

#[test]
fn api_v3_finds_the_same_traces_in_short_and_whole() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(directory.path(), "");
    send(&daemon);
    let summaries = value(&daemon, &format!("/api/v3/trace-summaries?{TIMES}"));
    assert_eq!(numbers(&summaries["summaries"], "traceId"), [14, 13, 12, 11, 10]);
    let expected = json!({
        "traceId": trace_id(14).to_string(), "rootServiceName": "cart", "rootOperationName": "operation 0",
        "minStartTimeUnixNano": "1700000000014000000", "maxEndTimeUnixNano": "1700000000014004504",
        "spanCount": 5, "errorSpanCount": 1, "services": [{"name": "cart", "spanCount": 5, "errorSpanCount": 1}],
    });
    assert_eq!(summaries["summaries"][0], expected);
    let whole = get(&daemon, &format!("/api/v3/traces?{TIMES}&query.searchDepth=2&query.service_name=shop"));
    assert_eq!(spans_of(&whole), sent_spans([11, 10]));
    assert_eq!(spans_of(&get(&daemon, &format!("/api/v3/traces/{}", trace_id(5)))), sent_spans([5]));
}

#[test]
fn every_route_answers_alike_from_memory_and_from_segments() {
    let directory = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::start(directory.path(), "");
    send(&daemon);
    let before: Vec<_> = routes().iter().map(|path| get(&daemon, path)).collect();
    assert!(before.iter().all(|(status, _)| *status == 200));
    daemon.stop();
    let daemon = Daemon::start(directory.path(), "");
    for (path, before) in routes().iter().zip(before) {
        assert_eq!(get(&daemon, path), before, "{path}");
    }
}

/// What a v3 answer holds, read by our own decoder.
fn spans_of((status, body): &(u16, String)) -> Spans {
    #[derive(Deserialize)]
    struct Wrapper<'a> {
        #[serde(borrow)]
        result: &'a RawValue,
    }
    assert_eq!(*status, 200, "{body}");
    let wrapper: Wrapper = serde_json::from_str(body).unwrap();
    let mut spans = Spans::default();
    spans.add(&otlp_json::decode(wrapper.result.get().as_bytes()).unwrap());
    spans
}

fn sent_spans(numbers: impl IntoIterator<Item = u64>) -> Spans {
    let mut spans = Spans::default();
    numbers.into_iter().for_each(|number| spans.add(&request(number, SPANS, 3).encode_to_vec()));
    spans
}

/// Scenario: every OTLP request of the corpus' small files is sent, then each trace is asked for by its id. Guarantee:
/// each span comes out once, with every field it had, as had its resource and scope.
#[test]
fn real_traces_come_out_of_api_v3_field_for_field() {
    let directory = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(directory.path(), "");
    let mut sender = Sender::connect(daemon.http).unwrap();
    let mut sent = Spans::default();
    for request in small_files().iter().flat_map(|path| json_requests(path)) {
        if let Ok(decoded) = otlp_json::decode(&request) {
            assert_eq!(sender.post(JSON, &request).unwrap().0, 200);
            sent.add(&decoded);
        }
    }
    let ids: BTreeSet<_> = sent.by_identity.keys().map(|(trace, ..)| TraceId(trace[..].try_into().unwrap())).collect();
    let mut reader = Sender::connect(daemon.query).unwrap();
    let mut shown = Spans::default();
    for id in &ids {
        let (status, body) = reader.get(&format!("/api/v3/traces/{id}")).unwrap();
        let of_trace = spans_of(&(status, String::from_utf8(body).unwrap()));
        shown.deliveries += of_trace.deliveries;
        shown.by_identity.extend(of_trace.by_identity);
    }
    assert_eq!(shown.deliveries, sent.by_identity.len(), "a span is shown twice, or not at all");
    let changed = sent.by_identity.iter().filter(|(identity, print)| shown.by_identity.get(*identity) != Some(print));
    assert_eq!(changed.count(), 0, "spans are changed");
    println!("{} traces of {} spans", ids.len(), shown.deliveries);
}
