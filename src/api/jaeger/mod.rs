//! Jaeger's JSON, as its UI and Grafana's data source load one trace.
//!
//! What it has no place for is left out: attributes of links and scopes, schema URLs, unknown fields. Nothing is adjusted:
//! times, parents and names are those that were sent.

mod encode;
mod model;
mod parameters;
mod tags;
#[cfg(test)]
mod tests;

pub use encode::trace as encode;
pub use model::{KeyValue, Log, Process, Reference, Span, Trace};

use super::Reading;
use super::answer::{Refusal, body, json};
use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use parameters::Asked;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub(super) fn routes() -> Router<Reading> {
    Router::new().route("/api/traces/{id}", get(one_trace))
}

async fn one_trace(
    State(reading): State<Reading>,
    id: Result<Path<String>, PathRejection>,
    parameters: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<impl IntoResponse, Refusal> {
    let Path(id) = id.map_err(|error| Refusal::bad(error.body_text()))?;
    let Query(parameters) = parameters.map_err(|error| Refusal::bad(error.body_text()))?;
    let asked = Asked::read(&id, &parameters)?;
    let answer = timeout(reading.timeout, find(&reading, asked)).await;
    let answer = answer.unwrap_or_else(|_| Err(too_slow(&reading)));
    answer.map(json).map_err(|refusal| refusal.pretty(asked.pretty))
}

async fn find(reading: &Reading, asked: Asked) -> Result<Vec<u8>, Refusal> {
    let found = reading.reader.get_trace(asked.id, std::time::Instant::now() + reading.timeout).await?;
    let trace = found.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "trace not found"))?;
    // Elsewhere than where connections are served: a trace may be of any size.
    let encoding = spawn_blocking(move || body(vec![encode(&trace, asked.raw)], asked.pretty));
    encoding.await.map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?
}

fn too_slow(reading: &Reading) -> Refusal {
    let message = format!("not read within {:?}; the query extension's timeout can be raised", reading.timeout);
    Refusal::new(StatusCode::GATEWAY_TIMEOUT, message)
}
