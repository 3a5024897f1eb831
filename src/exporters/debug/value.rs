//! Attribute values as text.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use serde_json::Value as Json;

/// With its type, as in `Str(GET)` or `Int(200)`.
pub fn typed(value: Option<&AnyValue>) -> String {
    let name = match value.and_then(|any| any.value.as_ref()) {
        None => "Empty",
        Some(Value::StringValue(_) | Value::StringValueStrindex(_)) => "Str",
        Some(Value::BoolValue(_)) => "Bool",
        Some(Value::IntValue(_)) => "Int",
        Some(Value::DoubleValue(_)) => "Double",
        Some(Value::ArrayValue(_)) => "Slice",
        Some(Value::KvlistValue(_)) => "Map",
        Some(Value::BytesValue(_)) => "Bytes",
    };
    format!("{name}({})", plain(value))
}

/// Without its type. Lists and maps are JSON.
pub fn plain(value: Option<&AnyValue>) -> String {
    match json(value) {
        Json::Null => String::new(),
        Json::String(text) => clean(&text),
        other => other.to_string(),
    }
}

/// Its depth is bounded by the protobuf decoder's.
fn json(value: Option<&AnyValue>) -> Json {
    match value.and_then(|any| any.value.as_ref()) {
        None => Json::Null,
        Some(Value::StringValue(text)) => text.as_str().into(),
        Some(Value::StringValueStrindex(index)) => format!("string table entry {index}").into(),
        Some(Value::BoolValue(value)) => (*value).into(),
        Some(Value::IntValue(value)) => (*value).into(),
        // JSON has no word for these three.
        Some(Value::DoubleValue(value)) if !value.is_finite() => value.to_string().into(),
        Some(Value::DoubleValue(value)) => (*value).into(),
        Some(Value::BytesValue(bytes)) => hex(bytes).into(),
        Some(Value::ArrayValue(list)) => list.values.iter().map(|value| json(Some(value))).collect(),
        Some(Value::KvlistValue(map)) => Json::Object(map.values.iter().map(entry).collect()),
    }
}

fn entry(pair: &KeyValue) -> (String, Json) {
    (pair.key.clone(), json(pair.value.as_ref()))
}

/// Text from outside, unable to begin a line of its own or to steer a terminal.
pub fn clean(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// Two digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
