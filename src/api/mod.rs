//! Reading over HTTP: the APIs that tools for looking at traces already speak, over any [`TraceReader`].
//!
//! Every answer but the page at `/` is JSON in the Jaeger envelope, errors included. Nothing here knows where traces lie.

mod answer;
pub mod jaeger;

use crate::component::TraceReader;
use answer::Refusal;
use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::routing::get;
use std::sync::Arc;
use std::time::Duration;

/// What can be asked, for people who open the address in a browser.
const PAGE: &str = "\
sluice query

  GET /api/traces/{trace id}     one trace as Jaeger JSON; the id is 1 to 32 hex digits of any case
      ?prettyPrint=true          with line breaks
      ?raw=true                  attributes as sent: a key that was given twice is shown twice
      ?start=, ?end=             microseconds; accepted as hints, not needed to find a trace
";

/// What the handlers work with.
#[derive(Clone)]
struct Reading {
    reader: Arc<dyn TraceReader>,
    timeout: Duration,
}

/// All routes, reading from `reader`. A read that takes longer than `timeout` is answered 504.
pub fn router(reader: Arc<dyn TraceReader>, timeout: Duration) -> Router {
    jaeger::routes()
        .route("/", get(async || PAGE))
        .fallback(nothing_here)
        .method_not_allowed_fallback(only_get)
        .with_state(Reading { reader, timeout })
}

async fn nothing_here(uri: Uri) -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, format!("nothing is served at {}; / says what can be asked", uri.path()))
}

async fn only_get() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here")
}
