//! Jaeger's JSON, as its UI and Grafana's data source list, search and load traces.
//!
//! What it has no place for is left out: attributes of links and scopes, schema URLs, unknown fields. Nothing is adjusted:
//! times, parents and names are those that were sent.

mod encode;
mod envelope;
mod model;
mod search;
mod tags;
#[cfg(test)]
mod tests;

pub use encode::trace as encode;
pub(super) use envelope::refused;
pub use model::{KeyValue, Log, Operation, Process, Reference, Span, Trace};

use super::answer::{Refusal, Shown, encoded, in_short};
use super::asked::Asked;
use super::{Reading, names, value};
use crate::component::{ReadError, TraceReader};
use crate::model::{Answer, Trace as StoredTrace, TraceId};
use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use envelope::envelope;
use search::Search;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Instant;

pub(super) fn routes() -> Router<Reading> {
    Router::new()
        .route("/api/services", route(services))
        .route("/api/services/{service}/operations", route(operation_names))
        .route("/api/operations", route(operations))
        .route("/api/traces", route(search))
        .route("/api/traces/{id}", route(one_trace))
}

/// A route whose answers and refusals stand in the envelope, with line breaks where that is asked for.
fn route<F: Future<Output = Result<Shown, Refusal>> + Send + 'static>(
    answer: fn(Asked, bool) -> F,
) -> MethodRouter<Reading> {
    get(async move |mut asked: Asked| -> Result<Shown, Response> {
        let pretty = asked.parameters.one(&["prettyPrint"], value::boolean);
        let pretty = pretty.map_err(|refusal| refused(&refusal, false))?.unwrap_or_default();
        answer(asked, pretty).await.map_err(|refusal| refused(&refusal, pretty))
    })
}

async fn services(Asked { reading, parameters, .. }: Asked, pretty: bool) -> Result<Shown, Refusal> {
    parameters.end()?;
    let services = reading.read(|reader, until| async move { reader.services(until).await }).await?;
    encoded(move || list(&services, pretty)).await
}

/// The names alone, each once.
async fn operation_names(Asked { reading, path, parameters }: Asked, pretty: bool) -> Result<Shown, Refusal> {
    parameters.end()?;
    let Answer { found, warnings } = reading.operations(path).await?;
    let mut names: Vec<_> = found.into_iter().map(|operation| operation.name).collect();
    names.dedup();
    encoded(move || list(&Answer { found: names, warnings }, pretty)).await
}

async fn operations(Asked { reading, mut parameters, .. }: Asked, pretty: bool) -> Result<Shown, Refusal> {
    let service = parameters.one(&["service"], value::text)?;
    let kind = parameters.one(&["spanKind"], names::parse_kind)?;
    parameters.end()?;
    let service = service.ok_or_else(|| Refusal::bad("service: is needed"))?;
    let Answer { found, warnings } = reading.operations(service).await?;
    let wanted = found.into_iter().filter(|operation| kind.is_none_or(|kind| operation.kind == kind));
    let found: Vec<_> = wanted.map(Operation::from).collect();
    encoded(move || list(&Answer { found, warnings }, pretty)).await
}

fn list(answer: &Answer<Vec<impl Serialize>>, pretty: bool) -> Result<Shown, Refusal> {
    envelope(&answer.found, answer.found.len(), &answer.warnings, pretty)
}

async fn search(Asked { reading, mut parameters, .. }: Asked, pretty: bool) -> Result<Shown, Refusal> {
    let search = Search::read(&mut parameters)?;
    let raw = parameters.one(&["raw"], value::boolean)?.unwrap_or_default();
    parameters.end()?;
    let answer = reading.read(|reader, until| find(reader, search, until)).await?;
    encoded(move || traces(answer, raw, pretty)).await
}

async fn find(
    reader: Arc<dyn TraceReader>,
    search: Search,
    until: Instant,
) -> Result<Answer<Vec<StoredTrace>>, ReadError> {
    match search {
        Search::Ids(ids) => by_ids(&*reader, ids, until).await,
        Search::Matching(query) => reader.find_traces(query, until).await,
    }
}

/// Those that there are, newest first. One that cannot be read does not cost the others.
async fn by_ids(
    reader: &dyn TraceReader,
    ids: Vec<TraceId>,
    until: Instant,
) -> Result<Answer<Vec<StoredTrace>>, ReadError> {
    let mut answer: Answer<Vec<StoredTrace>> = Answer::default();
    for id in ids {
        match reader.get_trace(id, until).await {
            Ok(found) => answer.found.extend(found),
            Err(ReadError::Damaged(damage)) => answer.warnings.push(damage),
            Err(error) => return Err(error),
        }
    }
    if answer.found.is_empty() && !answer.warnings.is_empty() {
        return Err(ReadError::Damaged(answer.warnings.join("; ")));
    }
    let start = |trace: &StoredTrace| trace.spans.iter().map(|span| span.row.start).min();
    answer.found.sort_by_cached_key(|trace| (Reverse(start(trace)), trace.id));
    Ok(answer)
}

/// What was not looked at might belong to any of the traces, so each says it.
fn traces(mut answer: Answer<Vec<StoredTrace>>, raw: bool, pretty: bool) -> Result<Shown, Refusal> {
    let missing = in_short(&answer.warnings);
    for trace in &mut answer.found {
        answer.warnings.extend_from_slice(&trace.warnings);
        trace.warnings.extend(missing.clone());
    }
    envelope(Encoded { traces: &answer.found, raw }, answer.found.len(), &answer.warnings, pretty)
}

/// Encoded one after the other, while they are written: a trace in this form is many times as large as it is stored.
struct Encoded<'a> {
    traces: &'a [StoredTrace],
    raw: bool,
}

impl Serialize for Encoded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.traces.iter().map(|trace| encode(trace, self.raw)))
    }
}

async fn one_trace(Asked { reading, path, mut parameters }: Asked, pretty: bool) -> Result<Shown, Refusal> {
    let id = value::trace_id(&path).map_err(Refusal::bad)?;
    let raw = parameters.one(&["raw"], value::boolean)?.unwrap_or_default();
    search::hints(&mut parameters)?;
    parameters.end()?;
    let found = reading.read(|reader, until| async move { reader.get_trace(id, until).await }).await?;
    let trace = found.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "trace not found"))?;
    encoded(move || traces(Answer { found: vec![trace], warnings: Vec::new() }, raw, pretty)).await
}
