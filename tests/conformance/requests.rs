//! Requests to send.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

/// A valid span; `n` makes it another one.
pub fn span(n: u64) -> Span {
    Span {
        trace_id: u128::from(n + 1).to_be_bytes().to_vec(),
        span_id: (n + 1).to_be_bytes().to_vec(),
        name: format!("span {n}"),
        kind: 2,
        start_time_unix_nano: 1_700_000_000_000_000_000 + n,
        end_time_unix_nano: 1_700_000_000_000_001_000 + n,
        ..Span::default()
    }
}

pub fn of_spans(spans: Vec<Span>) -> ExportTraceServiceRequest {
    let scope = InstrumentationScope { name: "tests".to_owned(), ..InstrumentationScope::default() };
    let service = text_attribute("service.name", "conformance");
    let resource = Resource { attributes: vec![service], ..Resource::default() };
    let scope_spans = ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() };
    let resource_spans =
        ResourceSpans { resource: Some(resource), scope_spans: vec![scope_spans], ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
}

pub fn text_attribute(key: &str, value: &str) -> KeyValue {
    attribute(key, Some(Value::StringValue(value.to_owned())))
}

pub fn attribute(key: &str, value: Option<Value>) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value }), ..KeyValue::default() }
}

/// A request with this many spans.
pub fn spans(count: u64) -> Vec<u8> {
    of_spans((0..count).map(span).collect()).encode_to_vec()
}

/// A request with one span that takes about this many bytes and does not compress to nothing of interest.
pub fn of_size(bytes: usize) -> Vec<u8> {
    let large = text_attribute("large", &"x".repeat(bytes));
    of_spans(vec![Span { attributes: vec![large], ..span(0) }]).encode_to_vec()
}
