//! Status, envelope and form of each answer.

use super::fixture::{self, ID};
use crate::api::router;
use crate::component::{BoxFuture, ReadError, TraceReader};
use crate::model::{Trace, TraceId};
use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt;

/// Has one trace, fails for some ids, and never answers for one.
struct Fixed;

const DAMAGED: &str = "d";
const FAILING: &str = "f";
const CLOSED: &str = "c";
const ENDLESS: &str = "e";

impl TraceReader for Fixed {
    fn get_trace(&self, id: TraceId, _: std::time::Instant) -> BoxFuture<'_, Result<Option<Trace>, ReadError>> {
        let is = |text| TraceId::parse(text) == Some(id);
        let answer = match () {
            () if is(ID) => Ok(Some(fixture::trace())),
            () if is(DAMAGED) => Err(ReadError::Damaged("segments/7: damaged at byte 12: checksum".into())),
            () if is(FAILING) => Err(ReadError::Failed("gave up".into())),
            () if is(CLOSED) => Err(ReadError::NotOpen),
            () if is(ENDLESS) => return Box::pin(std::future::pending()),
            () => Ok(None),
        };
        Box::pin(std::future::ready(answer))
    }
}

async fn ask(method: Method, path: &str) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    let timeout = if path.ends_with(ENDLESS) { Duration::from_millis(1) } else { Duration::from_secs(60) };
    let response = router(Arc::new(Fixed), timeout).oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn get(path: &str) -> (u16, String) {
    ask(Method::GET, path).await
}

fn refusal(code: u16, message: &str) -> (u16, String) {
    let errors = json!([{"code": code, "msg": message}]).to_string();
    (code, format!("{{\"data\":null,\"total\":0,\"limit\":0,\"offset\":0,\"errors\":{errors}}}"))
}

#[tokio::test]
async fn a_trace_is_found_by_its_full_trimmed_and_upper_case_id() {
    let full = get(&format!("/api/traces/{ID}")).await;
    assert_eq!(full.0, 200);
    assert!(full.1.starts_with(&format!("{{\"data\":[{{\"traceID\":\"{ID}\"")), "{}", full.1);
    assert!(full.1.ends_with("],\"total\":1,\"limit\":0,\"offset\":0,\"errors\":null}"), "{}", full.1);
    for id in [ID.trim_start_matches('0'), &ID.to_uppercase()] {
        assert_eq!(get(&format!("/api/traces/{id}")).await, full, "{id}");
    }
    assert_eq!(get(&format!("/api/traces/{ID}?start=1&end=2")).await, full, "times are hints");
}

#[tokio::test]
async fn pretty_print_changes_the_form_and_nothing_else() {
    let (plain, pretty) =
        (get(&format!("/api/traces/{ID}")).await.1, get(&format!("/api/traces/{ID}?prettyPrint=true")).await.1);
    assert!(!plain.contains('\n') && pretty.lines().count() > 100);
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(value(&plain), value(&pretty));
    assert!(get("/api/traces/a?prettyPrint=1").await.1.contains("\n"));
}

#[tokio::test]
async fn what_is_not_there_is_404_in_the_envelope() {
    assert_eq!(get("/api/traces/abc").await, refusal(404, "trace not found"));
    let (status, body) = get("/api/no-such-thing").await;
    assert_eq!(status, 404);
    assert!(body.starts_with("{\"data\":null") && body.contains("/api/no-such-thing"), "{body}");
}

#[tokio::test]
async fn what_makes_no_sense_is_400_and_says_why() {
    for (path, named) in [
        ("/api/traces/xyz", "xyz"),
        ("/api/traces/0", "not all 0"),
        ("/api/traces/%ff", "UTF-8"),
        ("/api/traces/a?limit=2", "limit"),
        ("/api/traces/a?raw=maybe", "raw"),
    ] {
        let (status, body) = get(path).await;
        assert_eq!(status, 400, "{path}: {body}");
        assert!(body.starts_with("{\"data\":null,") && body.contains(named), "{path}: {body}");
    }
    assert_eq!(ask(Method::POST, "/api/traces/a").await, refusal(405, "only GET is served here"));
}

#[tokio::test]
async fn a_failure_to_read_is_told_from_an_absent_trace() {
    let damaged = refusal(500, "segments/7: damaged at byte 12: checksum");
    assert_eq!(get(&format!("/api/traces/{DAMAGED}")).await, damaged);
    assert_eq!(get(&format!("/api/traces/{FAILING}")).await, refusal(500, "gave up"));
    let (status, body) = get(&format!("/api/traces/{CLOSED}")).await;
    assert!(status == 503 && body.contains("not open"), "{status} {body}");
}

#[tokio::test]
async fn a_read_that_takes_too_long_is_504() {
    let (status, body) = get(&format!("/api/traces/{ENDLESS}")).await;
    assert!(status == 504 && body.contains("not read within 1ms"), "{status} {body}");
}

#[tokio::test]
async fn the_page_for_people_names_what_is_served() {
    let (status, page) = get("/").await;
    assert!(status == 200 && page.contains("/api/traces/"), "{page}");
}
