//! Traces made by hand: one with everything odd in it, one with every field there is.

use crate::model::{Row, SpanId, StoredSpan, Trace, TraceId};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, EntityRef, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;

pub const ID: &str = "008efff798038103d269b633813fc703";

fn id() -> TraceId {
    TraceId::parse(ID).unwrap()
}

fn any(value: Value) -> AnyValue {
    AnyValue { value: Some(value) }
}

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.into(), value: Some(any(value)), ..KeyValue::default() }
}

fn text(key: &str, value: &str) -> KeyValue {
    pair(key, Value::StringValue(value.into()))
}

fn resource(attributes: Vec<KeyValue>) -> Vec<u8> {
    let resource = Some(Resource { attributes, ..Resource::default() });
    ResourceSpans { resource, ..ResourceSpans::default() }.encode_to_vec()
}

fn scope() -> Vec<u8> {
    let scope = InstrumentationScope { name: "shop.http".into(), version: "1.2".into(), ..Default::default() };
    ScopeSpans { scope: Some(scope), ..ScopeSpans::default() }.encode_to_vec()
}

fn stored(span: Span, resource: Vec<u8>, scope: Vec<u8>) -> StoredSpan {
    let row = Row {
        span_id: SpanId::from_bytes(&span.span_id).unwrap(),
        parent: SpanId::from_bytes(&span.parent_span_id).unwrap_or_default(),
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
        kind: span.kind,
        status: span.status.as_ref().map_or(0, |status| status.code),
        ..Row::default()
    };
    StoredSpan { row, resource: resource.into(), scope: scope.into(), span: span.encode_to_vec().into() }
}

/// A span with this id, of which nothing else is set but ids and times.
fn span(id_byte: u8, start: u64, end: u64) -> Span {
    Span {
        trace_id: id().0.to_vec(),
        span_id: vec![0, 0, 0, 0, 0, 0, 0, id_byte],
        start_time_unix_nano: start,
        end_time_unix_nano: end,
        ..Span::default()
    }
}

/// Every type of value, and a key that was given twice.
fn values() -> Vec<KeyValue> {
    let list = vec![any(Value::StringValue("a".into())), any(Value::IntValue(1)), AnyValue { value: None }];
    let map = vec![text("k", "v"), pair("bytes", Value::BytesValue(vec![1, 2])), text("k", "w")];
    vec![
        text("text", "ünï \"quoted\""),
        text("twice", "first"),
        pair("bool", Value::BoolValue(true)),
        pair("int", Value::IntValue(i64::MIN)),
        pair("double", Value::DoubleValue(0.5)),
        pair("nan", Value::DoubleValue(f64::NAN)),
        pair("infinite", Value::DoubleValue(f64::NEG_INFINITY)),
        pair("bytes", Value::BytesValue(vec![0, 255])),
        pair("list", Value::ArrayValue(ArrayValue { values: list })),
        pair("map", Value::KvlistValue(KeyValueList { values: map })),
        KeyValue { key: "empty".into(), value: None, ..KeyValue::default() },
        text("twice", "second"),
    ]
}

fn link(trace_id: TraceId, span: u8) -> Link {
    Link { trace_id: trace_id.0.to_vec(), span_id: vec![0, 0, 0, 0, 0, 0, 0, span], ..Link::default() }
}

/// The service is empty, kind and status were not said, the parent never came.
fn every_value() -> StoredSpan {
    let span = Span { name: "values".into(), flags: 0x301, attributes: values(), ..span(0xb1, 1_999, 4_999) };
    stored(span, resource(vec![text("service.name", ""), text("host", "a")]), Vec::new())
}

/// A failed child of a span that is not there, with events and links, and a kind nobody knows.
fn failed() -> StoredSpan {
    let other = TraceId::parse("ff").unwrap();
    let exception = Event {
        time_unix_nano: 3_000,
        name: "exception".into(),
        attributes: vec![text("exception.type", "E")],
        dropped_attributes_count: 2,
    };
    let span = Span {
        name: "failed".into(),
        parent_span_id: vec![0, 0, 0, 0, 0, 0, 0, 0xaa],
        trace_state: "vendor=1".into(),
        kind: 99,
        attributes: vec![text("error", "timeout"), text("span.kind", "99")],
        events: vec![exception, Event::default()],
        links: vec![link(id(), 0xaa), link(other, 0x0c), link(id(), 0xb1)],
        dropped_links_count: 3,
        status: Some(Status { code: 2, message: "too slow".into() }),
        ..span(0xb2, 2_000, 2_000)
    };
    stored(span, resource(vec![text("service.name", "old"), text("service.name", "shop")]), scope())
}

/// Ends before it starts; no resource at all.
fn backwards() -> StoredSpan {
    let status = Some(Status { code: 1, message: String::new() });
    stored(Span { name: "backwards".into(), kind: 2, status, ..span(0xb3, 1_000_000, 1) }, Vec::new(), scope())
}

/// The latest times there are; `service.name` is a number; a status nobody knows.
fn at_the_end_of_time() -> StoredSpan {
    let status = Some(Status { code: 7, message: String::new() });
    let span = Span { name: "late".into(), kind: 5, status, ..span(0xb4, 0, u64::MAX) };
    stored(span, resource(vec![pair("service.name", Value::IntValue(7))]), Vec::new())
}

/// A block of it was damaged.
pub fn trace() -> Trace {
    let mut again = backwards();
    again.row.span_id = SpanId([0, 0, 0, 0, 0, 0, 0, 0xb5]);
    Trace {
        id: id(),
        spans: vec![every_value(), failed(), backwards(), at_the_end_of_time(), again],
        warnings: vec!["segments/1: damaged at byte 4096: checksum".into()],
    }
}

/// One failed span of which every field that OTLP has is set, and those of everything around and in it.
pub fn every_field() -> Trace {
    let resource = Resource {
        attributes: vec![text("service.name", "shop"), pair("cores", Value::IntValue(8))],
        dropped_attributes_count: 1,
        entity_refs: vec![EntityRef {
            schema_url: "https://example.org/entity".into(),
            r#type: "host".into(),
            id_keys: vec!["host.id".into()],
            description_keys: vec!["host.name".into()],
        }],
    };
    let scope = InstrumentationScope {
        name: "shop.http".into(),
        version: "1.2".into(),
        attributes: vec![pair("stable", Value::BoolValue(false))],
        dropped_attributes_count: 2,
    };
    let event = Event {
        time_unix_nano: 1_700_000_000_000_000_001,
        name: "exception".into(),
        attributes: values(),
        dropped_attributes_count: 3,
    };
    let link = Link {
        trace_id: id().0.to_vec(),
        span_id: vec![0, 0, 0, 0, 0, 0, 0, 0xb1],
        trace_state: "link=1".into(),
        attributes: vec![text("why", "retry")],
        dropped_attributes_count: 4,
        flags: 0x301,
    };
    let span = Span {
        trace_id: vec![0x0a; 16],
        span_id: vec![0x0b; 8],
        trace_state: "vendor=1".into(),
        parent_span_id: vec![0x0c; 8],
        flags: 0x100,
        name: "every field".into(),
        kind: 3,
        start_time_unix_nano: 1_700_000_000_000_000_000,
        end_time_unix_nano: 1_700_000_000_000_000_002,
        attributes: values(),
        dropped_attributes_count: 5,
        events: vec![event],
        dropped_events_count: 6,
        links: vec![link],
        dropped_links_count: 7,
        status: Some(Status { message: "too slow".into(), code: 2 }),
    };
    let around =
        ResourceSpans { resource: Some(resource), scope_spans: Vec::new(), schema_url: "https://example.org/r".into() };
    let inside = ScopeSpans { scope: Some(scope), spans: Vec::new(), schema_url: "https://example.org/s".into() };
    let id = TraceId([0x0a; 16]);
    Trace { id, spans: vec![stored(span, around.encode_to_vec(), inside.encode_to_vec())], warnings: Vec::new() }
}
