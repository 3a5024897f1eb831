//! A trace as it is read back.

use super::wire::{self, put_bytes};
use super::{SpanId, TraceId, time::Nanos};
use bytes::Bytes;

/// The keys of a row: what the store keeps of a span beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Row {
    pub span_id: SpanId,
    /// All zero: no parent.
    pub parent: SpanId,
    pub start: Nanos,
    pub end: Nanos,
    /// As sent; values outside OTLP's enum are kept.
    pub kind: i32,
    /// OTLP status code as sent; 2 is an error.
    pub status: i32,
    /// Position of the span's batch in the WAL; with `place` it orders all rows.
    pub lsn: u64,
    /// Index of the span in its batch; 0 once it is in a segment, where no two rows of a span share an LSN.
    pub place: u32,
    /// When the batch was received, by the store's clock.
    pub received: Nanos,
}

/// One span with everything it was sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSpan {
    pub row: Row,
    /// `ResourceSpans` without its scopes: resource, schema URL, unknown fields.
    pub resource: Bytes,
    /// `ScopeSpans` without its spans.
    pub scope: Bytes,
    /// The `Span` message.
    pub span: Bytes,
}

/// All spans of a trace, each once, ordered by start time and span id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    pub id: TraceId,
    pub spans: Vec<StoredSpan>,
    /// What of the trace could not be read: a sentence each, with file and offset.
    pub warnings: Vec<String>,
}

impl Trace {
    /// The trace as one OTLP request. Neighbouring spans of the same resource and scope share a message.
    pub fn to_otlp(&self) -> Vec<u8> {
        spans_to_otlp(&self.spans)
    }
}

/// These spans as one OTLP request.
pub fn spans_to_otlp(spans: &[StoredSpan]) -> Vec<u8> {
    let mut request = Vec::new();
    for of_resource in spans.chunk_by(|a, b| a.resource == b.resource) {
        let mut resource = of_resource.first().map_or_else(Vec::new, |span| span.resource.to_vec());
        for of_scope in of_resource.chunk_by(|a, b| a.scope == b.scope) {
            let mut scope = of_scope.first().map_or_else(Vec::new, |span| span.scope.to_vec());
            of_scope.iter().for_each(|span| put_bytes(&mut scope, wire::fields::SCOPE_SPANS_SPANS, &span.span));
            put_bytes(&mut resource, wire::fields::RESOURCE_SPANS_SCOPE_SPANS, &scope);
        }
        put_bytes(&mut request, wire::fields::REQUEST_RESOURCE_SPANS, &resource);
    }
    request
}
