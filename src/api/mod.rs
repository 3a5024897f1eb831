//! Reading over HTTP: the APIs that tools for looking at traces already speak, over any [`TraceReader`].
//!
//! A request is read into an [`Asked`](asked::Asked), its parameters into a [`TraceQuery`](crate::model::TraceQuery); what
//! the reader gives is put into JSON on a thread of its own. Every answer but the page at `/` is JSON, refusals included,
//! in the shape of the API whose path was asked. Nothing here knows where traces lie.

mod answer;
mod asked;
mod condition;
pub mod jaeger;
mod names;
mod parameters;
#[cfg(test)]
mod tests;
mod v3;
mod value;

use crate::component::{ReadError, TraceReader};
use crate::model::{Answer, Operation};
use answer::Refusal;
use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What can be asked, for people who open the address in a browser.
const PAGE: &str = "\
sluice query

Jaeger JSON (Jaeger's UI, Grafana's Jaeger data source)

  GET /api/services                         names of all services
  GET /api/services/{service}/operations    names of a service's spans
  GET /api/operations                       the same with their kinds
      ?service=                  needed
      ?spanKind=                 server, client, producer, consumer, internal or unspecified
  GET /api/traces                           traces that have a span which meets all conditions
      ?service=, ?operation=     exactly
      ?start=, ?end=             when the span starts, in microseconds since 1970
      ?minDuration=, ?maxDuration=   of the span, as in 1.2ms or 1h30m
      ?tag=key:value             any number of them; also error:true, span.kind:server, otel.status_code:OK
      ?tags={\"key\":\"value\"}      the same as JSON
      ?limit=                    20 unless told, at most 1500
      ?order=                    newest (unless told) or slowest
      ?traceID=                  instead of conditions, any number of them: these traces
  GET /api/traces/{trace id}                one trace; the id is 1 to 32 hex digits of any case
      ?start=, ?end=             accepted as hints, not needed to find a trace

      ?prettyPrint=true          with line breaks, for all of these
      ?raw=true                  attributes as sent: a key that was given twice is shown twice

Jaeger api_v3 (newer Jaeger UIs)

  GET /api/v3/services
  GET /api/v3/operations                    ?service= (needed), ?spanKind=
  GET /api/v3/traces/{trace id}             one trace as OTLP JSON, nothing left out
  GET /api/v3/traces                        traces as OTLP JSON
  GET /api/v3/trace-summaries               traces in short
      ?query.startTimeMin=, ?query.startTimeMax=     needed, as in 2026-01-31T12:00:00Z
      ?query.serviceName=, ?query.operationName=
      ?query.durationMin=, ?query.durationMax=
      ?query.attributes={\"key\":\"value\"}
      ?query.searchDepth=        most traces: 100 unless told, at most 1500
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
        .merge(v3::routes())
        .route("/", get(async || PAGE))
        .fallback(nothing_here)
        .method_not_allowed_fallback(only_get)
        .with_state(Reading { reader, timeout })
}

async fn nothing_here(uri: Uri) -> Response {
    let message = format!("nothing is served at {}; / says what can be asked", uri.path());
    shaped(&uri, &Refusal::new(StatusCode::NOT_FOUND, message))
}

async fn only_get(uri: Uri) -> Response {
    shaped(&uri, &Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here"))
}

/// In the shape of the API whose path it is.
fn shaped(uri: &Uri, refusal: &Refusal) -> Response {
    if uri.path().starts_with(v3::PREFIX) { v3::refused(refusal) } else { jaeger::refused(refusal, false) }
}

impl Reading {
    /// What `ask` reads. It is given up when the time is over, even where the reader does not end by itself.
    async fn read<T, F: Future<Output = Result<T, ReadError>>>(
        &self,
        ask: impl FnOnce(Arc<dyn TraceReader>, Instant) -> F,
    ) -> Result<T, Refusal> {
        let until = Instant::now() + self.timeout;
        let read = tokio::time::timeout_at(until.into(), ask(self.reader.clone(), until)).await;
        read.unwrap_or(Err(ReadError::TimedOut)).map_err(|error| self.refusal(&error))
    }

    async fn operations(&self, service: String) -> Result<Answer<Vec<Operation>>, Refusal> {
        self.read(|reader, until| async move { reader.operations(service, until).await }).await
    }

    fn refusal(&self, error: &ReadError) -> Refusal {
        match error {
            ReadError::TimedOut => Refusal::new(
                StatusCode::GATEWAY_TIMEOUT,
                format!("not read within {:?}: ask for less, or raise timeout of the query extension", self.timeout),
            ),
            ReadError::NotOpen => Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            ReadError::Damaged(_) | ReadError::Failed(_) => Refusal::failed(error.to_string()),
        }
    }
}
