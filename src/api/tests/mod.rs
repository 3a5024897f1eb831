//! Every route over a reader that gives what a test says: status, shape, and what the reader was asked.

mod fixture;
mod lists;
mod one_trace;
mod searching;
mod v3;

pub use fixture::{every_field, trace};

use crate::component::reader::Read;
use crate::component::{ReadError, TraceReader};
use crate::model::{Answer, Operation, Trace, TraceId, TraceQuery};
use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::future::{pending, ready};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tower::ServiceExt;

/// Gives what it has to everyone and notes what it was asked.
#[derive(Default)]
struct Fake {
    traces: Vec<Trace>,
    services: Vec<String>,
    operations: Vec<Operation>,
    warnings: Vec<String>,
    /// Every read fails like this.
    error: Option<ReadError>,
    /// Reading this trace finds damage.
    damaged: Option<TraceId>,
    /// No read ends.
    endless: bool,
    queries: Mutex<Vec<TraceQuery>>,
}

impl Fake {
    fn with(traces: Vec<Trace>) -> Self {
        Self { traces, ..Self::default() }
    }

    fn failing(error: ReadError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    fn give<'a, T: Send + 'a>(&self, found: T) -> Read<'a, T> {
        match &self.error {
            _ if self.endless => Box::pin(pending()),
            Some(error) => Box::pin(ready(Err(error.clone()))),
            None => Box::pin(ready(Ok(found))),
        }
    }

    fn answer<'a, T: Send + 'a>(&self, found: T) -> Read<'a, Answer<T>> {
        self.give(Answer { found, warnings: self.warnings.clone() })
    }
}

impl TraceReader for Fake {
    fn get_trace(&self, id: TraceId, _: Instant) -> Read<'_, Option<Trace>> {
        if self.damaged == Some(id) {
            return Box::pin(ready(Err(ReadError::Damaged(DAMAGE.into()))));
        }
        self.give(self.traces.iter().find(|trace| trace.id == id).cloned())
    }

    fn find_traces(&self, query: TraceQuery, _: Instant) -> Read<'_, Answer<Vec<Trace>>> {
        let found = self.traces.iter().take(query.limit).cloned().collect();
        self.queries.lock().unwrap().push(query);
        self.answer(found)
    }

    fn services(&self, _: Instant) -> Read<'_, Answer<Vec<String>>> {
        self.answer(self.services.clone())
    }

    fn operations(&self, service: String, _: Instant) -> Read<'_, Answer<Vec<Operation>>> {
        self.answer(if service == "a/b ü" { self.operations.clone() } else { Vec::new() })
    }
}

const DAMAGE: &str = "segments/7: damaged at byte 12: checksum";

/// One path of every route.
const ROUTES: [&str; 10] = [
    "/api/services",
    "/api/services/a/operations",
    "/api/operations?service=a",
    "/api/traces",
    "/api/traces/a",
    "/api/v3/services",
    "/api/v3/operations?service=a",
    "/api/v3/traces/a",
    "/api/v3/traces?query.startTimeMin=2026-01-01T00:00:00Z&query.startTimeMax=2026-01-02T00:00:00Z",
    "/api/v3/trace-summaries?query.startTimeMin=2026-01-01T00:00:00Z&query.startTimeMax=2026-01-02T00:00:00Z",
];

/// What came back.
#[derive(Debug, PartialEq)]
struct Got {
    status: u16,
    body: String,
    warning: Option<String>,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

async fn ask(reader: &Arc<Fake>, method: Method, path: &str) -> Got {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    let timeout = if reader.endless { Duration::from_millis(1) } else { Duration::from_secs(60) };
    let response = super::router(reader.clone(), timeout).oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let warning = response.headers().get("Sluice-Warning").map(|value| value.to_str().unwrap().to_owned());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    Got { status, body: String::from_utf8(body.to_vec()).unwrap(), warning }
}

async fn get(reader: &Arc<Fake>, path: &str) -> Got {
    ask(reader, Method::GET, path).await
}

/// A refusal in the shape of the API of this path.
fn refusal(path: &str, code: u16, message: &str) -> Got {
    let errors = json!([{"code": code, "msg": message}]);
    let body = match path.starts_with("/api/v3/") {
        true => json!({"error": {"httpCode": code, "message": message}}).to_string(),
        false => format!(r#"{{"data":null,"total":0,"limit":0,"offset":0,"errors":{errors}}}"#),
    };
    Got { status: code, body, warning: None }
}

#[tokio::test]
async fn every_failure_to_read_has_its_status_in_the_shape_of_the_api() {
    for (error, status, message) in [
        (ReadError::Damaged(DAMAGE.into()), 500, DAMAGE),
        (ReadError::Failed("gave up".into()), 500, "gave up"),
        (ReadError::NotOpen, 503, "the store is not open: it is starting or stopping"),
        (ReadError::TimedOut, 504, "not read within 60s: ask for less, or raise timeout of the query extension"),
    ] {
        let reader = Arc::new(Fake::failing(error));
        for path in ROUTES {
            assert_eq!(get(&reader, path).await, refusal(path, status, message), "{path}");
        }
    }
}

#[tokio::test]
async fn a_read_that_does_not_end_is_504_all_the_same() {
    let reader = Arc::new(Fake { endless: true, ..Fake::default() });
    for path in ROUTES {
        let got = get(&reader, path).await;
        assert!(got.status == 504 && got.body.contains("not read within 1ms"), "{path}: {got:?}");
    }
}

#[tokio::test]
async fn unknown_parameters_paths_and_methods_are_refused_in_the_shape_of_the_api() {
    let reader = Arc::new(Fake::default());
    for path in ROUTES {
        let unknown = format!("{path}{}colour=red", if path.contains('?') { '&' } else { '?' });
        let got = get(&reader, &unknown).await;
        assert_eq!(got.status, 400, "{unknown}: {got:?}");
        assert!(got.body.contains("there is no parameter \\\"colour\\\" here (known: "), "{unknown}: {got:?}");
        let expected = refusal(path, 405, "only GET is served here");
        assert_eq!(ask(&reader, Method::POST, path).await, expected, "{path}");
    }
    for path in ["/api/dependencies", "/api/v3/dependencies", "/elsewhere"] {
        let expected = refusal(path, 404, &format!("nothing is served at {path}; / says what can be asked"));
        assert_eq!(get(&reader, path).await, expected);
    }
    for path in ["/api/traces/%ff", "/api/services/%ff/operations", "/api/v3/traces/%ff"] {
        let got = get(&reader, path).await;
        let message =
            if path.contains("v3") { &got.json()["error"]["message"] } else { &got.json()["errors"][0]["msg"] };
        assert!(got.status == 400 && message.as_str().unwrap().contains("UTF-8"), "{path}: {got:?}");
    }
}

#[tokio::test]
async fn the_page_for_people_names_every_route() {
    let got = get(&Arc::new(Fake::default()), "/").await;
    assert_eq!(got.status, 200);
    for route in ROUTES {
        let path =
            route.split('?').next().unwrap().replace("/a/", "/{service}/").replace("/traces/a", "/traces/{trace id}");
        assert!(got.body.lines().any(|line| line.split("  ").any(|word| word == format!("GET {path}"))), "{path}");
    }
}
