//! A stored trace as Jaeger JSON.

use super::model::{Log, Process, Reference, Span, Trace};
use super::tags::{self, Tags};
use crate::model::{SpanId, StoredSpan, TraceId, time};
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span as OtlpSpan};
use prost::Message;
use std::collections::{BTreeMap, HashMap};

const NANOS_PER_MICRO: u64 = 1_000;
/// The bit of OTLP's flags that W3C trace context calls sampled. The others mean something else to Jaeger.
const SAMPLED: u32 = 1;

/// The trace with its spans in the order in which they were read. `raw` shows attributes as they were sent: a key
/// that was given twice is there twice, where otherwise its last value counts.
pub fn trace(trace: &crate::model::Trace, raw: bool) -> Trace {
    let mut processes = Processes { raw, ..Processes::default() };
    let mut warnings = trace.warnings.clone();
    let mut spans = Vec::with_capacity(trace.spans.len());
    for stored in &trace.spans {
        let process = processes.id(&stored.resource, &mut warnings);
        spans.push(span(trace.id, stored, process, raw));
    }
    Trace { trace_id: trace.id.to_string(), spans, processes: processes.known, warnings: some(warnings) }
}

/// The distinct resources, numbered in the order in which they appear.
#[derive(Default)]
struct Processes<'a> {
    raw: bool,
    ids: HashMap<&'a [u8], String>,
    known: BTreeMap<String, Process>,
}

impl<'a> Processes<'a> {
    fn id(&mut self, resource: &'a [u8], warnings: &mut Vec<String>) -> String {
        if let Some(id) = self.ids.get(resource) {
            return id.clone();
        }
        let id = format!("p{}", self.ids.len() + 1);
        let decoded: ResourceSpans = decode(resource, "the resource", warnings);
        let attributes = decoded.resource.unwrap_or_default().attributes;
        self.known.insert(id.clone(), tags::process(&attributes, self.raw));
        self.ids.insert(resource, id.clone());
        id
    }
}

/// Ids, times, kind and status come from the row, so a span is shown even where the rest of it cannot be decoded.
fn span(trace: TraceId, stored: &StoredSpan, process_id: String, raw: bool) -> Span {
    let mut warnings = Vec::new();
    let row = &stored.row;
    let span: OtlpSpan = decode(&stored.span, "the span", &mut warnings);
    let scope: ScopeSpans = decode(&stored.scope, "the scope", &mut warnings);
    warnings.extend(backwards(row.start, row.end));
    Span {
        trace_id: trace.to_string(),
        span_id: row.span_id.to_string(),
        flags: Some(span.flags & SAMPLED).filter(|flags| *flags > 0),
        references: references(trace, row.parent, &span.links),
        start_time: row.start / NANOS_PER_MICRO,
        duration: time::duration(row.start, row.end) / NANOS_PER_MICRO,
        tags: tags::span(&span, row, &scope.scope.unwrap_or_default(), raw),
        logs: span.events.iter().map(|event| log(event, raw)).collect(),
        operation_name: span.name,
        process_id,
        warnings: some(warnings),
    }
}

/// What was stored was checked when it came in; where it cannot be decoded all the same, that is said.
fn decode<M: Message + Default>(bytes: &[u8], what: &str, warnings: &mut Vec<String>) -> M {
    M::decode(bytes).unwrap_or_else(|error| {
        warnings.push(format!("{what} cannot be decoded: {error}"));
        M::default()
    })
}

fn backwards(start: u64, end: u64) -> Option<String> {
    let by = start.checked_sub(end).filter(|by| *by > 0)?;
    Some(format!("the span ends {by} ns before it starts: its duration is shown as 0"))
}

/// The parent first. A link to it would say the same again.
fn references(trace: TraceId, parent: SpanId, links: &[Link]) -> Vec<Reference> {
    let parent = parent.is_valid().then_some((trace, parent));
    let ids = |link: &Link| Some((TraceId::from_bytes(&link.trace_id)?, SpanId::from_bytes(&link.span_id)?));
    let linked = links.iter().filter_map(ids).filter(|ids| Some(*ids) != parent);
    let child_of = parent.into_iter().map(|ids| reference("CHILD_OF", ids));
    child_of.chain(linked.map(|ids| reference("FOLLOWS_FROM", ids))).collect()
}

fn reference(ref_type: &'static str, (trace, span): (TraceId, SpanId)) -> Reference {
    Reference { ref_type, trace_id: trace.to_string(), span_id: span.to_string() }
}

fn log(event: &Event, raw: bool) -> Log {
    let mut fields = Tags::default();
    fields.text("event", &event.name);
    fields.attributes(&event.attributes, raw);
    fields.count("otel.dropped_attributes_count", event.dropped_attributes_count);
    Log { timestamp: event.time_unix_nano / NANOS_PER_MICRO, fields: fields.into() }
}

fn some(warnings: Vec<String>) -> Option<Vec<String>> {
    Some(warnings).filter(|warnings| !warnings.is_empty())
}
