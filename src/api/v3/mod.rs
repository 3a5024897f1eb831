//! Jaeger's api_v3 over HTTP, as newer Jaeger UIs list and search. A trace is OTLP JSON: nothing is adjusted, and nothing is
//! left out but fields that OTLP does not know.

mod model;
mod search;
mod summary;

use super::answer::{Refusal, Shown, encoded, in_short};
use super::asked::Asked;
use super::{Reading, names, value};
use crate::model::json::encode;
use crate::model::trace::spans_to_otlp;
use crate::model::{Answer, Trace, TraceQuery};
use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use model::{Operation, Operations, Services, Summaries, shown_kind};
use serde_json::json;

/// Refusals under this path have the shape of this API.
pub const PREFIX: &str = "/api/v3/";

pub(super) fn routes() -> Router<Reading> {
    Router::new()
        .route("/api/v3/services", route(services))
        .route("/api/v3/operations", route(operations))
        .route("/api/v3/traces", route(traces))
        .route("/api/v3/traces/{trace_id}", route(one_trace))
        .route("/api/v3/trace-summaries", route(summaries))
}

fn route<F: Future<Output = Result<Shown, Refusal>> + Send + 'static>(answer: fn(Asked) -> F) -> MethodRouter<Reading> {
    get(async move |asked: Asked| answer(asked).await.map_err(|refusal| refused(&refusal)))
}

/// `{"error":{"httpCode":…,"message":…}}`
pub fn refused(refusal: &Refusal) -> Response {
    let error = json!({"error": {"httpCode": refusal.status.as_u16(), "message": refusal.message}});
    refusal.with_body(&error, false)
}

async fn services(Asked { reading, parameters, .. }: Asked) -> Result<Shown, Refusal> {
    parameters.end()?;
    let Answer { found, warnings } = reading.read(|reader, until| async move { reader.services(until).await }).await?;
    encoded(move || Shown::new(&Services { services: found }, &warnings, false)).await
}

async fn operations(Asked { reading, mut parameters, .. }: Asked) -> Result<Shown, Refusal> {
    let service = parameters.one(&["service"], value::text)?;
    let kind = parameters.one(&["spanKind", "span_kind"], names::parse_kind)?.map(shown_kind);
    parameters.end()?;
    let service = service.ok_or_else(|| Refusal::bad("service: is needed"))?;
    let Answer { found, warnings } = reading.operations(service).await?;
    let wanted = found.into_iter().filter(|operation| kind.is_none_or(|kind| shown_kind(operation.kind) == kind));
    let mut operations: Vec<_> = wanted.map(Operation::from).collect();
    // Two that differ in what was not said look alike and are neighbours.
    operations.dedup();
    encoded(move || Shown::new(&Operations { operations }, &warnings, false)).await
}

async fn one_trace(Asked { reading, path, mut parameters }: Asked) -> Result<Shown, Refusal> {
    let id = value::trace_id(&path).map_err(|why| Refusal::bad(format!("trace_id: {why}")))?;
    search::hints(&mut parameters)?;
    parameters.end()?;
    let found = reading.read(|reader, until| async move { reader.get_trace(id, until).await }).await?;
    encoded(move || otlp(Answer { found: found.into_iter().collect(), warnings: Vec::new() })).await
}

async fn traces(Asked { reading, mut parameters, .. }: Asked) -> Result<Shown, Refusal> {
    let query = search::read(&mut parameters)?;
    parameters.end()?;
    let answer = find(&reading, query).await?;
    encoded(move || otlp(answer)).await
}

async fn summaries(Asked { reading, mut parameters, .. }: Asked) -> Result<Shown, Refusal> {
    let query = search::read(&mut parameters)?;
    parameters.end()?;
    let answer = find(&reading, query).await?;
    encoded(move || {
        let summaries = answer.found.iter().map(summary::of).collect();
        Shown::new(&Summaries { summaries }, &warnings(&answer), false)
    })
    .await
}

async fn find(reading: &Reading, query: TraceQuery) -> Result<Answer<Vec<Trace>>, Refusal> {
    reading.read(|reader, until| async move { reader.find_traces(query, until).await }).await
}

/// What could not be read, of the traces and beside them: their form has no place for it.
fn warnings(answer: &Answer<Vec<Trace>>) -> Vec<String> {
    answer.warnings.iter().chain(answer.found.iter().flat_map(|trace| &trace.warnings)).cloned().collect()
}

/// All of them in one: `{"result":{"resourceSpans":[…]}}`.
fn otlp(answer: Answer<Vec<Trace>>) -> Result<Shown, Refusal> {
    let warning = in_short(&warnings(&answer));
    if answer.found.is_empty() {
        return Err(Refusal { warning, ..Refusal::new(StatusCode::NOT_FOUND, "No traces found") });
    }
    let request: Vec<u8> = answer.found.iter().flat_map(|trace| spans_to_otlp(&trace.spans)).collect();
    drop(answer);
    let traces = encode(&request).map_err(|error| Refusal::failed(format!("cannot be put into JSON: {error}")))?;
    Ok(Shown { json: [br#"{"result":"#, &*traces, b"}"].concat(), warning })
}
