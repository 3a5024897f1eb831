//! The shape of everything inside a span, as a table: which fields are text, which are messages of what kind.
//!
//! One table serves the check (`walk`) and the repair (`rewrite`), so they cannot differ in what they look at.

/// A message below `ScopeSpans.spans`, a resource or a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    Resource,
    EntityRef,
    Scope,
    Span,
    Event,
    Link,
    Status,
    KeyValue,
    AnyValue,
    ArrayValue,
    KeyValueList,
}

/// What a field of a message holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Varint,
    Fixed64,
    Fixed32,
    Bytes,
    Text,
    Message(Message),
    /// Not in the schema: any wire type, skipped and kept.
    Unknown,
}

/// What `field` of `message` holds. Source: OTLP 1.9 `trace.proto`, `common.proto`, `resource.proto`.
#[inline]
pub fn content(message: Message, field: u32) -> Content {
    use Content::{Bytes, Fixed32, Fixed64, Message as In, Text, Unknown, Varint};
    use Message::*;
    match (message, field) {
        (KeyValue, 1) | (AnyValue, 1) => Text,
        (KeyValue, 2) | (ArrayValue, 1) => In(AnyValue),
        (AnyValue, 2 | 3) => Varint,
        (AnyValue, 4) => Fixed64,
        (AnyValue, 5) => In(ArrayValue),
        (AnyValue, 6) => In(KeyValueList),
        (AnyValue, 7) => Bytes,
        (KeyValueList, 1) | (Resource, 1) | (Scope, 3) | (Span, 9) | (Event, 3) | (Link, 4) => In(KeyValue),
        (Span, 1 | 2 | 4) | (Link, 1 | 2) => Bytes,
        (Span, 3 | 5) | (Event, 2) | (Link, 3) | (Status, 2) | (Scope, 1 | 2) | (EntityRef, 1..=4) => Text,
        (Span, 7 | 8) | (Event, 1) => Fixed64,
        (Span, 16) | (Link, 6) => Fixed32,
        (Span, 6 | 10 | 12 | 14) | (Event, 4) | (Link, 5) | (Status, 3) | (Scope, 4) | (Resource, 2) => Varint,
        (Span, 11) => In(Event),
        (Span, 13) => In(Link),
        (Span, 15) => In(Status),
        (Resource, 3) => In(EntityRef),
        _ => Unknown,
    }
}
