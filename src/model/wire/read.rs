//! Small questions to a message whose request was walked before. A message that cannot be read has no answer.

use super::fields::*;
use super::reader::{Field, Reader};

/// The last value of a number field.
pub fn last_varint(message: &[u8], field: u32) -> Option<u64> {
    last(message, field, |value| if let Field::Varint(number) = value { Some(number) } else { None })
}

/// The last value of a bytes, text or message field.
pub fn last_bytes(message: &[u8], field: u32) -> Option<&[u8]> {
    last(message, field, |value| if let Field::Bytes(bytes) = value { Some(bytes) } else { None })
}

fn last<'a, T>(message: &'a [u8], field: u32, of: impl Fn(Field<'a>) -> Option<T>) -> Option<T> {
    let mut reader = Reader::new(message);
    let mut found = None;
    while let Ok(Some((number, value))) = reader.next_field() {
        if number == field {
            found = of(value).or(found);
        }
    }
    found
}

/// The text of a field, empty where there is none.
pub fn text(message: &[u8], field: u32) -> &str {
    last_bytes(message, field).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The scope's name in a `ScopeSpans` envelope, empty where there is none.
pub fn scope_name(envelope: &[u8]) -> &str {
    last_bytes(envelope, SCOPE_SPANS_SCOPE).map_or("", |scope| text(scope, SCOPE_NAME))
}

/// `service.name` of a `ResourceSpans` envelope, where it is text. With duplicate keys the last one counts.
pub fn service_name(envelope: &[u8]) -> Option<&str> {
    string_attribute(last_bytes(envelope, RESOURCE_SPANS_RESOURCE)?, RESOURCE_ATTRIBUTES, "service.name")
}

/// The text value of the attribute `key` among the `KeyValue`s in `field` of a message.
fn string_attribute<'a>(message: &'a [u8], field: u32, key: &str) -> Option<&'a str> {
    let mut reader = Reader::new(message);
    let mut found = None;
    while let Ok(Some((number, value))) = reader.next_field() {
        if let (true, Field::Bytes(pair)) = (number == field, value)
            && text(pair, KEY_VALUE_KEY) == key
        {
            found = last_bytes(pair, KEY_VALUE_VALUE).and_then(|value| last_bytes(value, ANY_VALUE_STRING));
        }
    }
    found.and_then(|value| std::str::from_utf8(value).ok())
}
