//! Whether a span is what was asked for. Every search, whatever it was sped up by, agrees with this.

use crate::model::wire::fields::*;
use crate::model::wire::{Field, Reader, read};
use crate::model::{Row, StoredSpan, TraceQuery, time::duration};

/// A span where it lies. What is looked at of the `Span` message is what the keys leave, so its body will do.
#[derive(Debug, Clone, Copy)]
pub struct SpanRef<'a> {
    pub row: &'a Row,
    /// `ResourceSpans` without its scopes.
    pub resource: &'a [u8],
    /// `ScopeSpans` without its spans.
    pub scope: &'a [u8],
    pub span: &'a [u8],
}

impl<'a> From<&'a StoredSpan> for SpanRef<'a> {
    fn from(StoredSpan { row, resource, scope, span }: &'a StoredSpan) -> Self {
        Self { row, resource, scope, span }
    }
}

impl<'a> SpanRef<'a> {
    /// `service.name` of its resource, empty where there is none.
    pub fn service(&self) -> &'a str {
        read::service_name(self.resource).unwrap_or_default()
    }

    pub fn name(&self) -> &'a str {
        read::text(self.span, SPAN_NAME)
    }
}

/// Whether this span meets every condition of the query.
pub fn matches<'a>(query: &TraceQuery, span: impl Into<SpanRef<'a>>) -> bool {
    let span = span.into();
    keys_match(query, span.row)
        && query.service.as_deref().is_none_or(|name| span.service() == name)
        && query.operation.as_deref().is_none_or(|name| span.name() == name)
        && query.attributes.iter().all(|(key, value)| has_attribute(span, key, value))
}

/// Whether the keys of a span meet all conditions on keys.
pub fn keys_match(query: &TraceQuery, row: &Row) -> bool {
    query.kind.is_none_or(|kind| row.kind == kind)
        && query.status.is_none_or(|status| row.status == status)
        && within(row.start, query.start)
        && within(duration(row.start, row.end), query.duration)
}

pub fn within(value: u64, (least, most): (Option<u64>, Option<u64>)) -> bool {
    least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most)
}

fn has_attribute(span: SpanRef<'_>, key: &str, value: &str) -> bool {
    let resource = read::last_bytes(span.resource, RESOURCE_SPANS_RESOURCE).unwrap_or_default();
    let scope = read::last_bytes(span.scope, SCOPE_SPANS_SCOPE).unwrap_or_default();
    among(span.span, SPAN_ATTRIBUTES, key, value)
        || among(resource, RESOURCE_ATTRIBUTES, key, value)
        || among(scope, SCOPE_ATTRIBUTES, key, value)
        || fields(span.span, SPAN_EVENTS).any(|event| among(event, EVENT_ATTRIBUTES, key, value))
}

/// Whether one of the `KeyValue`s in `field` has this key and this value as text.
fn among(message: &[u8], field: u32, key: &str, value: &str) -> bool {
    fields(message, field).any(|pair| {
        read::text(pair, KEY_VALUE_KEY) == key
            && read::last_bytes(pair, KEY_VALUE_VALUE).is_some_and(|found| is_text(found, value))
    })
}

/// Every occurrence of a bytes, text or message field.
fn fields(message: &[u8], field: u32) -> impl Iterator<Item = &[u8]> {
    let mut reader = Reader::new(message);
    std::iter::from_fn(move || {
        while let Ok(Some((number, value))) = reader.next_field() {
            if let (true, Field::Bytes(bytes)) = (number == field, value) {
                return Some(bytes);
            }
        }
        None
    })
}

/// Whether an `AnyValue` is this text. Lists, maps and bytes are not searched.
fn is_text(value: &[u8], text: &str) -> bool {
    let mut reader = Reader::new(value);
    let mut same = false;
    while let Ok(Some((field, value))) = reader.next_field() {
        same = match (field, value) {
            (ANY_VALUE_STRING, Field::Bytes(bytes)) => bytes == text.as_bytes(),
            (ANY_VALUE_BOOL, Field::Varint(number)) => text == if number != 0 { "true" } else { "false" },
            (ANY_VALUE_INT, Field::Varint(number)) => text.parse() == Ok(number as i64),
            (ANY_VALUE_DOUBLE, Field::Fixed64(bits)) => text.parse() == Ok(f64::from_bits(bits)),
            _ => same,
        };
    }
    same
}
