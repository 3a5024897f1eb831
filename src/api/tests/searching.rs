//! Searching for traces as Jaeger JSON.

use super::fixture::ID;
use super::{DAMAGE, Fake, Got, every_field, get, refusal, trace};
use crate::model::{Order, TraceId, TraceQuery};
use serde_json::{Value, json};
use std::sync::Arc;

fn reader() -> Arc<Fake> {
    Arc::new(Fake::with(vec![every_field(), trace()]))
}

fn ids(got: &Got) -> Vec<String> {
    let body = got.json();
    let traces = body["data"].as_array().unwrap_or_else(|| panic!("{got:?}"));
    assert_eq!(body["total"], traces.len(), "{got:?}");
    traces.iter().map(|trace| trace["traceID"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn whole_traces_are_shown_in_the_order_of_the_reader() {
    let reader = reader();
    let found = get(&reader, "/api/traces?service=shop").await;
    assert_eq!((found.status, ids(&found)), (200, vec![TraceId([0x0a; 16]).to_string(), ID.to_owned()]));
    let alone = get(&reader, &format!("/api/traces/{ID}")).await.json();
    assert_eq!(found.json()["data"][1], alone["data"][0], "as it is shown by its id");
    assert_eq!(found.json()["errors"], Value::Null);
    assert_eq!(ids(&get(&reader, "/api/traces?limit=1&raw=true&prettyPrint=true").await).len(), 1);
}

#[tokio::test]
async fn nothing_found_is_an_empty_list() {
    let got = get(&Arc::new(Fake::default()), "/api/traces?service=a").await;
    let empty = r#"{"data":[],"total":0,"limit":0,"offset":0,"errors":null}"#.to_owned();
    assert_eq!(got, Got { status: 200, body: empty, warning: None });
}

/// What Jaeger's UI and Grafana send.
#[tokio::test]
async fn the_reader_is_asked_for_what_the_parameters_say() {
    let reader = reader();
    let ui = "/api/traces?end=1700000003600000&limit=50&lookback=1h&maxDuration&minDuration=1.5ms&operation=GET%20%2F\
              &service=shop&start=1700000000000000&tags=%7B%22error%22%3A%22true%22%2C%22http.status_code%22%3A%22500%22%7D";
    assert_eq!(get(&reader, ui).await.status, 200);
    let expected = TraceQuery {
        service: Some("shop".into()),
        operation: Some("GET /".into()),
        kind: None,
        status: Some(2),
        start: (Some(1_700_000_000_000_000_000), Some(1_700_000_003_600_000_999)),
        duration: (Some(1_500_000), None),
        attributes: vec![("http.status_code".into(), "500".into())],
        order: Order::NewestFirst,
        limit: 50,
    };
    assert_eq!(*reader.queries.lock().unwrap(), [expected]);
}

#[tokio::test]
async fn traces_are_found_by_several_ids_and_shown_newest_first() {
    let (reader, other) = (reader(), TraceId([0x0a; 16]).to_string());
    let asked = format!("/api/traces?traceID={ID}&traceID={other}&traceID=abc&traceID={}", ID.to_uppercase());
    let got = get(&reader, &asked).await;
    assert_eq!(ids(&got), [other, ID.to_owned()]);
    assert_eq!(ids(&get(&reader, "/api/traces?traceID=abc").await), [""; 0]);
    assert!(reader.queries.lock().unwrap().is_empty(), "nothing is searched for");
}

#[tokio::test]
async fn an_id_that_cannot_be_read_does_not_cost_the_others() {
    let mut fake = Fake::with(vec![every_field()]);
    fake.damaged = TraceId::parse("d");
    let (reader, whole) = (Arc::new(fake), TraceId([0x0a; 16]));
    let got = get(&reader, &format!("/api/traces?traceID={whole}&traceID=d")).await;
    assert_eq!((ids(&got), got.warning.as_deref()), (vec![whole.to_string()], Some(DAMAGE)));
    let alone = get(&reader, "/api/traces?traceID=d&traceID=e").await;
    assert_eq!(alone, refusal("/api", 500, DAMAGE), "whether anything of it is there is not known");
}

#[tokio::test]
async fn what_could_not_be_read_is_said_in_every_trace_and_never_as_an_error() {
    let mut fake = Fake::with(vec![every_field(), trace()]);
    fake.warnings = vec![DAMAGE.into(), "segments/8: gone".into()];
    let got = get(&Arc::new(fake), "/api/traces").await;
    let (body, short) = (got.json(), format!("{DAMAGE} (and 1 more)"));
    assert_eq!((got.status, &body["errors"]), (200, &Value::Null));
    assert_eq!(body["data"][0]["warnings"], json!([short]));
    assert_eq!(body["data"][1]["warnings"], json!(["segments/1: damaged at byte 4096: checksum", short]));
    assert_eq!(got.warning, Some(format!("{DAMAGE} (and 2 more)")));
}

#[tokio::test]
async fn what_cannot_be_searched_for_is_400_and_says_why() {
    for (query, named) in [
        ("limit=1501", "limit: \"1501\" is not between 1 and 1500"),
        ("tag=error:false", "error=false cannot be searched for"),
        ("spanKind=server", "\"spanKind\""),
        ("traceID=a&service=shop", "\"service\" here (known: prettyPrint, traceID, start, end, raw)"),
    ] {
        let got = get(&reader(), &format!("/api/traces?{query}")).await;
        let body = got.json();
        let message = body["errors"][0]["msg"].as_str().unwrap();
        assert!(got.status == 400 && message.contains(named), "{query}: {message}");
    }
}
