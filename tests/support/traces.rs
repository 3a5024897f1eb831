//! Requests made for tests: every span is different and says which batch it is from.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;
use sluice::model::{Batch, TraceId};

/// A text attribute.
pub fn attribute(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(value.to_owned())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}

/// The id of trace `number`: spread over the id space, never zero.
pub fn trace_id(number: u64) -> TraceId {
    let high = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut id = [0; 16];
    id[..8].copy_from_slice(&high.to_be_bytes());
    id[8..].copy_from_slice(&(number + 1).to_be_bytes());
    TraceId(id)
}

/// Span `place` of trace `number`, with `padding` bytes of attributes.
pub fn span(number: u64, place: u64, padding: usize) -> Span {
    let start = 1_700_000_000_000_000_000 + number * 1_000_000 + place * 1_000;
    Span {
        trace_id: trace_id(number).0.to_vec(),
        span_id: (number * 1_000 + place + 1).to_be_bytes().to_vec(),
        parent_span_id: if place == 0 { Vec::new() } else { (number * 1_000 + 1).to_be_bytes().to_vec() },
        name: format!("operation {place}"),
        kind: 1 + (place % 5) as i32,
        start_time_unix_nano: start,
        end_time_unix_nano: start + 500 + place,
        attributes: vec![attribute("padding", &"x".repeat(padding))],
        status: (place % 3 == 2).then(|| Status { code: 2, message: String::new() }),
        ..Span::default()
    }
}

/// One request with `spans` spans of trace `number`.
pub fn request(number: u64, spans: u64, padding: usize) -> ExportTraceServiceRequest {
    let resource = Resource { attributes: vec![attribute("service.name", "shop")], ..Resource::default() };
    let scope = InstrumentationScope { name: "tests".to_owned(), ..InstrumentationScope::default() };
    let spans = (0..spans).map(|place| span(number, place, padding)).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() }],
    }
}

/// The same as a batch.
pub fn batch(number: u64, spans: u64, padding: usize) -> Batch {
    Batch::from_otlp(request(number, spans, padding).encode_to_vec().into()).unwrap().batch
}
