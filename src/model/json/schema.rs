//! The messages of a trace request as tables of their fields: one for reading and writing.
//!
//! Source: OTLP 1.9 `trace_service.proto`, `trace.proto`, `resource.proto`, `common.proto`.

pub struct Message {
    /// In the order of the proto file.
    pub fields: &'static [Field],
    /// At most one field is set.
    pub one_of: bool,
}

pub struct Field {
    pub name: &'static str,
    /// The name in the proto file, which is read as well.
    pub snake: &'static str,
    pub number: u32,
    pub kind: Kind,
    pub repeated: bool,
}

#[derive(Clone, Copy)]
pub enum Kind {
    Text,
    /// Bytes that are hex in JSON.
    Id,
    /// Bytes that are base64 in JSON.
    Bytes,
    Bool,
    Int64,
    Uint32,
    Fixed64,
    Fixed32,
    Double,
    /// Names by number, from 0.
    Enum(&'static [&'static str]),
    Message(&'static Message),
}

/// A message has at most this many fields here.
pub const MAX_FIELDS: usize = 16;

impl Message {
    /// The field of this name in either spelling, with its index.
    pub fn named(&self, name: &str) -> Option<(usize, &'static Field)> {
        self.fields.iter().enumerate().find(|(_, field)| field.name == name || field.snake == name)
    }
}

const fn one(name: &'static str, snake: &'static str, number: u32, kind: Kind) -> Field {
    Field { name, snake, number, kind, repeated: false }
}

const fn many(name: &'static str, snake: &'static str, number: u32, kind: Kind) -> Field {
    Field { name, snake, number, kind, repeated: true }
}

const fn message(fields: &'static [Field]) -> Message {
    Message { fields, one_of: false }
}

use Kind::{Bool, Bytes, Double, Enum, Fixed32, Fixed64, Id, Int64, Message as In, Text, Uint32};

pub static REQUEST: Message = message(&[many("resourceSpans", "resource_spans", 1, In(&RESOURCE_SPANS))]);

static RESOURCE_SPANS: Message = message(&[
    one("resource", "resource", 1, In(&RESOURCE)),
    many("scopeSpans", "scope_spans", 2, In(&SCOPE_SPANS)),
    one("schemaUrl", "schema_url", 3, Text),
]);

static SCOPE_SPANS: Message = message(&[
    one("scope", "scope", 1, In(&SCOPE)),
    many("spans", "spans", 2, In(&SPAN)),
    one("schemaUrl", "schema_url", 3, Text),
]);

static RESOURCE: Message = message(&[
    many("attributes", "attributes", 1, In(&KEY_VALUE)),
    one("droppedAttributesCount", "dropped_attributes_count", 2, Uint32),
    many("entityRefs", "entity_refs", 3, In(&ENTITY_REF)),
]);

static ENTITY_REF: Message = message(&[
    one("schemaUrl", "schema_url", 1, Text),
    one("type", "type", 2, Text),
    many("idKeys", "id_keys", 3, Text),
    many("descriptionKeys", "description_keys", 4, Text),
]);

static SCOPE: Message = message(&[
    one("name", "name", 1, Text),
    one("version", "version", 2, Text),
    many("attributes", "attributes", 3, In(&KEY_VALUE)),
    one("droppedAttributesCount", "dropped_attributes_count", 4, Uint32),
]);

static SPAN: Message = message(&[
    one("traceId", "trace_id", 1, Id),
    one("spanId", "span_id", 2, Id),
    one("traceState", "trace_state", 3, Text),
    one("parentSpanId", "parent_span_id", 4, Id),
    one("flags", "flags", 16, Fixed32),
    one("name", "name", 5, Text),
    one("kind", "kind", 6, Enum(SPAN_KINDS)),
    one("startTimeUnixNano", "start_time_unix_nano", 7, Fixed64),
    one("endTimeUnixNano", "end_time_unix_nano", 8, Fixed64),
    many("attributes", "attributes", 9, In(&KEY_VALUE)),
    one("droppedAttributesCount", "dropped_attributes_count", 10, Uint32),
    many("events", "events", 11, In(&EVENT)),
    one("droppedEventsCount", "dropped_events_count", 12, Uint32),
    many("links", "links", 13, In(&LINK)),
    one("droppedLinksCount", "dropped_links_count", 14, Uint32),
    one("status", "status", 15, In(&STATUS)),
]);

const SPAN_KINDS: &[&str] = &[
    "SPAN_KIND_UNSPECIFIED",
    "SPAN_KIND_INTERNAL",
    "SPAN_KIND_SERVER",
    "SPAN_KIND_CLIENT",
    "SPAN_KIND_PRODUCER",
    "SPAN_KIND_CONSUMER",
];

static EVENT: Message = message(&[
    one("timeUnixNano", "time_unix_nano", 1, Fixed64),
    one("name", "name", 2, Text),
    many("attributes", "attributes", 3, In(&KEY_VALUE)),
    one("droppedAttributesCount", "dropped_attributes_count", 4, Uint32),
]);

static LINK: Message = message(&[
    one("traceId", "trace_id", 1, Id),
    one("spanId", "span_id", 2, Id),
    one("traceState", "trace_state", 3, Text),
    many("attributes", "attributes", 4, In(&KEY_VALUE)),
    one("droppedAttributesCount", "dropped_attributes_count", 5, Uint32),
    one("flags", "flags", 6, Fixed32),
]);

static STATUS: Message = message(&[
    one("message", "message", 2, Text),
    one("code", "code", 3, Enum(&["STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"])),
]);

static KEY_VALUE: Message = message(&[one("key", "key", 1, Text), one("value", "value", 2, In(&ANY_VALUE))]);

static ANY_VALUE: Message = Message {
    fields: &[
        one("stringValue", "string_value", 1, Text),
        one("boolValue", "bool_value", 2, Bool),
        one("intValue", "int_value", 3, Int64),
        one("doubleValue", "double_value", 4, Double),
        one("arrayValue", "array_value", 5, In(&ARRAY_VALUE)),
        one("kvlistValue", "kvlist_value", 6, In(&KEY_VALUE_LIST)),
        one("bytesValue", "bytes_value", 7, Bytes),
    ],
    one_of: true,
};

static ARRAY_VALUE: Message = message(&[many("values", "values", 1, In(&ANY_VALUE))]);

static KEY_VALUE_LIST: Message = message(&[many("values", "values", 1, In(&KEY_VALUE))]);
