//! Traces and summaries in api_v3.

use super::fixture::ID;
use super::{DAMAGE, Fake, Got, every_field, get, refusal, trace};
use crate::model::{SpanId, Trace, TraceId, TraceQuery, json};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// What `tests/fixtures/otlp_trace.json` holds was checked by hand against the OTLP proto files and the proto3 JSON mapping.
const GOLDEN: &str = include_str!("../../../tests/fixtures/otlp_trace.json");
const TIMES: &str = "query.startTimeMin=2023-01-01T00:00:00Z&query.startTimeMax=2024-01-01T00:00:00Z";

fn reader(traces: Vec<Trace>) -> Arc<Fake> {
    Arc::new(Fake::with(traces))
}

/// The answer as OTLP protobuf, by our own decoder.
fn decoded(got: &Got) -> ExportTraceServiceRequest {
    #[derive(Deserialize)]
    struct Wrapper<'a> {
        #[serde(borrow)]
        result: &'a RawValue,
    }
    let wrapper: Wrapper = serde_json::from_str(&got.body).unwrap();
    let request = json::decode(wrapper.result.get().as_bytes()).unwrap();
    ExportTraceServiceRequest::decode(&*request).unwrap()
}

/// Compared as bytes: NaN equals nothing.
fn assert_same(got: &Got, traces: &[Trace]) {
    let sent: Vec<u8> = traces.iter().flat_map(Trace::to_otlp).collect();
    let sent = ExportTraceServiceRequest::decode(&*sent).unwrap();
    assert_eq!(decoded(got).encode_to_vec(), sent.encode_to_vec(), "{}", got.body);
}

#[tokio::test]
async fn a_trace_is_otlp_json_as_the_golden_file_has_it() {
    let id = TraceId([0x0a; 16]);
    let got = get(&reader(vec![every_field()]), &format!("/api/v3/traces/{id}")).await;
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    assert_eq!((got.status, got.json()), (200, golden), "{}", got.body);
}

#[tokio::test]
async fn every_field_of_a_trace_comes_out_of_its_json() {
    for trace in [every_field(), trace()] {
        let reader = reader(vec![trace.clone()]);
        let got = get(&reader, &format!("/api/v3/traces/{}", trace.id)).await;
        assert_same(&got, &[trace]);
    }
}

#[tokio::test]
async fn traces_that_were_found_are_put_into_one() {
    let traces = vec![every_field(), trace()];
    let reader = reader(traces.clone());
    assert_same(&get(&reader, &format!("/api/v3/traces?{TIMES}")).await, &traces);
}

#[tokio::test]
async fn an_id_and_hints_are_read_in_every_spelling() {
    let reader = reader(vec![trace()]);
    let full = get(&reader, &format!("/api/v3/traces/{ID}")).await;
    assert_eq!(full.status, 200);
    for asked in [
        ID.trim_start_matches('0').to_uppercase(),
        format!("{ID}?startTime=2026-01-01T00:00:00Z&endTime=2026-01-01T00:00:00.123456789-07:00&rawTraces=true"),
        format!("{ID}?start_time=2026-01-01T00:00:00+02:00&end_time=&raw_traces=false"),
    ] {
        assert_eq!(get(&reader, &format!("/api/v3/traces/{asked}")).await, full, "{asked}");
    }
    for (asked, named) in
        [("xyz", "trace_id: \\\"xyz\\\""), ("a?startTime=now", "startTime: "), ("a?raw=1", "\\\"raw\\\"")]
    {
        let got = get(&reader, &format!("/api/v3/traces/{asked}")).await;
        assert!(got.status == 400 && got.body.contains(named), "{asked}: {got:?}");
    }
}

#[tokio::test]
async fn no_traces_are_404_as_jaeger_says_it() {
    let reader = reader(Vec::new());
    let expected = r#"{"error":{"httpCode":404,"message":"No traces found"}}"#;
    for path in ["/api/v3/traces/abc".to_owned(), format!("/api/v3/traces?{TIMES}")] {
        assert_eq!(get(&reader, &path).await, refusal(&path, 404, "No traces found"));
        assert_eq!(get(&reader, &path).await.body, expected);
    }
    let none = get(&reader, &format!("/api/v3/trace-summaries?{TIMES}")).await;
    assert_eq!((none.status, none.body.as_str()), (200, r#"{"summaries":[]}"#));
}

#[tokio::test]
async fn what_could_not_be_read_is_said_in_a_header_even_where_nothing_was_found() {
    let warnings = vec![DAMAGE.to_owned()];
    let nothing = Arc::new(Fake { warnings: warnings.clone(), ..Fake::default() });
    let some = Arc::new(Fake { warnings, ..Fake::with(vec![trace()]) });
    for (reader, expected) in [(nothing, DAMAGE.to_owned()), (some, format!("{DAMAGE} (and 1 more)"))] {
        for path in ["traces", "trace-summaries"] {
            let got = get(&reader, &format!("/api/v3/{path}?{TIMES}")).await;
            assert_eq!(got.warning.as_deref(), Some(&*expected), "{path}");
        }
    }
}

#[tokio::test]
async fn the_reader_is_asked_for_what_the_parameters_say() {
    let reader = reader(vec![trace()]);
    let more = "query.serviceName=shop&query.searchDepth=20&query.attributes=%7B%22span.kind%22:%22server%22%7D";
    for path in ["traces", "trace-summaries"] {
        assert_eq!(get(&reader, &format!("/api/v3/{path}?{TIMES}&{more}")).await.status, 200);
    }
    let expected = TraceQuery {
        service: Some("shop".into()),
        kind: Some(2),
        start: (Some(1_672_531_200_000_000_000), Some(1_704_067_200_000_000_000)),
        limit: 20,
        ..TraceQuery::default()
    };
    assert_eq!(*reader.queries.lock().unwrap(), [expected.clone(), expected]);
}

/// The trace with everything odd in it: five spans, none of them a failed root, one whose parent never came.
#[tokio::test]
async fn a_summary_counts_roots_errors_and_orphans_of_all_services() {
    let mut rooted = every_field();
    let mut root = rooted.spans[0].clone();
    root.row.span_id = SpanId([0x0c; 8]);
    root.row.parent = SpanId::default();
    root.row.status = 0;
    root.resource = trace().spans[0].resource.clone();
    rooted.spans.push(root);
    let got = get(&reader(vec![rooted, trace()]), &format!("/api/v3/trace-summaries?{TIMES}")).await;
    let expected = concat!(
        r#"{"summaries":[{"traceId":"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a","rootOperationName":"every field","#,
        r#""minStartTimeUnixNano":"1700000000000000000","maxEndTimeUnixNano":"1700000000000000002","#,
        r#""spanCount":2,"errorSpanCount":1,"services":[{"name":"","spanCount":1},"#,
        r#"{"name":"shop","spanCount":1,"errorSpanCount":1}]},"#,
        r#"{"traceId":"008efff798038103d269b633813fc703","rootOperationName":"late","#,
        r#""maxEndTimeUnixNano":"18446744073709551615","spanCount":5,"errorSpanCount":1,"orphanSpanCount":1,"#,
        r#""services":[{"name":"","spanCount":4},{"name":"shop","spanCount":1,"errorSpanCount":1}]}]}"#,
    );
    assert_eq!((got.status, got.body.as_str()), (200, expected));
}

#[tokio::test]
async fn a_trace_that_ends_before_it_starts_lasts_nothing_in_its_summary() {
    let mut backwards = trace();
    backwards.spans.retain(|span| span.row.start > span.row.end);
    let got = get(&reader(vec![backwards]), &format!("/api/v3/trace-summaries?{TIMES}")).await.json();
    let summary = &got["summaries"][0];
    assert_eq!(summary["minStartTimeUnixNano"], "1000000");
    assert_eq!(summary["maxEndTimeUnixNano"], "1000000");
}
