//! Attributes, and what else OTLP says of a span, as key, type and value.
//!
//! What is made of other fields stands behind the attributes and never replaces one: where an attribute has the same key
//! with another value, both are shown.

use super::model::{KeyValue, Process};
use crate::api::names;
use crate::model::Row;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue as Attribute};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::Value;
use std::collections::HashMap;

const SERVICE_NAME: &str = "service.name";

/// A list of tags that is being put together.
#[derive(Default)]
pub struct Tags(Vec<KeyValue>);

impl From<Tags> for Vec<KeyValue> {
    fn from(tags: Tags) -> Self {
        tags.0
    }
}

impl Tags {
    /// Attributes in their order. Of a key given several times the last value counts, in the place of the first; with
    /// `raw` all are there.
    pub fn attributes(&mut self, attributes: &[Attribute], raw: bool) {
        let mut places: HashMap<&str, usize> = HashMap::new();
        for attribute in attributes {
            let tag = key_value(attribute);
            let place = if raw { None } else { places.get(attribute.key.as_str()) };
            match place.and_then(|place| self.0.get_mut(*place)) {
                Some(earlier) => *earlier = tag,
                None => {
                    places.insert(&attribute.key, self.0.len());
                    self.0.push(tag);
                }
            }
        }
    }

    /// A text, where there is one.
    pub fn text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.add(key, "string", text.into());
        }
    }

    /// A number, where it is not 0.
    pub fn count(&mut self, key: &str, count: u32) {
        if count > 0 {
            self.add(key, "int64", count.into());
        }
    }

    fn add(&mut self, key: &str, kind: &'static str, value: Value) {
        let tag = KeyValue { key: key.to_owned(), kind, value };
        if !self.0.contains(&tag) {
            self.0.push(tag);
        }
    }
}

/// The name is the text of `service.name`, empty where there is none; a value of another type stays a tag.
pub fn process(attributes: &[Attribute], raw: bool) -> Process {
    let mut tags = Tags::default();
    tags.attributes(attributes, raw);
    let mut tags = tags.0;
    let is_name = |tag: &KeyValue| tag.key == SERVICE_NAME && tag.kind == "string";
    let name = tags.iter().rfind(|tag| is_name(tag)).and_then(|tag| tag.value.as_str()).unwrap_or_default().to_owned();
    tags.retain(|tag| !is_name(tag));
    Process { service_name: name, tags }
}

/// The attributes of a span, then its kind, status, trace state, counts of what was dropped, and scope.
pub fn span(span: &Span, row: &Row, scope: &InstrumentationScope, raw: bool) -> Vec<KeyValue> {
    let mut tags = Tags::default();
    tags.attributes(&span.attributes, raw);
    if row.kind != names::UNSPECIFIED {
        tags.text("span.kind", &names::kind(row.kind));
    }
    status(&mut tags, row.status, span);
    tags.text("w3c.tracestate", &span.trace_state);
    tags.count("otel.dropped_attributes_count", span.dropped_attributes_count);
    tags.count("otel.dropped_events_count", span.dropped_events_count);
    tags.count("otel.dropped_links_count", span.dropped_links_count);
    tags.text("otel.scope.name", &scope.name);
    tags.text("otel.scope.version", &scope.version);
    tags.into()
}

fn status(tags: &mut Tags, code: i32, span: &Span) {
    if code == names::ERROR {
        tags.add("error", "bool", true.into());
    }
    if code != names::UNSET {
        tags.text("otel.status_code", &names::status(code));
    }
    tags.text("otel.status_description", span.status.as_ref().map_or("", |status| &status.message));
}

fn key_value(attribute: &Attribute) -> KeyValue {
    let (kind, value) = typed(attribute.value.as_ref().and_then(|any| any.value.as_ref()));
    KeyValue { key: attribute.key.clone(), kind, value }
}

/// Lists and maps are texts that hold JSON; no value is an empty text.
fn typed(value: Option<&Any>) -> (&'static str, Value) {
    match value {
        None => ("string", "".into()),
        Some(any @ (Any::StringValue(_) | Any::StringValueStrindex(_))) => ("string", json(any)),
        Some(any @ Any::BoolValue(_)) => ("bool", json(any)),
        Some(any @ Any::IntValue(_)) => ("int64", json(any)),
        Some(any @ Any::DoubleValue(_)) => ("float64", json(any)),
        Some(any @ Any::BytesValue(_)) => ("binary", json(any)),
        Some(any @ (Any::ArrayValue(_) | Any::KvlistValue(_))) => ("string", json(any).to_string().into()),
    }
}

/// Its depth is bounded by the protobuf decoder's.
fn json(value: &Any) -> Value {
    match value {
        Any::StringValue(text) => text.as_str().into(),
        // A place in a table that a trace request does not have.
        Any::StringValueStrindex(index) => format!("string table entry {index}").into(),
        Any::BoolValue(value) => (*value).into(),
        Any::IntValue(value) => (*value).into(),
        Any::DoubleValue(value) => double(*value),
        Any::BytesValue(bytes) => STANDARD.encode(bytes).into(),
        Any::ArrayValue(list) => list.values.iter().map(element).collect(),
        Any::KvlistValue(map) => {
            let entry = |pair: &Attribute| (pair.key.clone(), pair.value.as_ref().map_or(Value::Null, element));
            Value::Object(map.values.iter().map(entry).collect())
        }
    }
}

fn element(any: &AnyValue) -> Value {
    any.value.as_ref().map_or(Value::Null, json)
}

/// JSON has no number for what is not finite: the names of proto3 JSON.
fn double(value: f64) -> Value {
    match value {
        _ if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => value.into(),
    }
}
