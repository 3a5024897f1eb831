//! Field numbers of the OTLP messages that sluice looks into.

pub const REQUEST_RESOURCE_SPANS: u32 = 1;

pub const RESOURCE_SPANS_RESOURCE: u32 = 1;
pub const RESOURCE_SPANS_SCOPE_SPANS: u32 = 2;
pub const RESOURCE_SPANS_SCHEMA_URL: u32 = 3;

pub const RESOURCE_ATTRIBUTES: u32 = 1;

pub const SCOPE_SPANS_SCOPE: u32 = 1;
pub const SCOPE_SPANS_SPANS: u32 = 2;
pub const SCOPE_SPANS_SCHEMA_URL: u32 = 3;

pub const SCOPE_NAME: u32 = 1;
pub const SCOPE_VERSION: u32 = 2;
pub const SCOPE_ATTRIBUTES: u32 = 3;

pub const SPAN_TRACE_ID: u32 = 1;
pub const SPAN_SPAN_ID: u32 = 2;
pub const SPAN_TRACE_STATE: u32 = 3;
pub const SPAN_PARENT: u32 = 4;
pub const SPAN_NAME: u32 = 5;
pub const SPAN_KIND: u32 = 6;
pub const SPAN_START: u32 = 7;
pub const SPAN_END: u32 = 8;
pub const SPAN_ATTRIBUTES: u32 = 9;
pub const SPAN_EVENTS: u32 = 11;
pub const SPAN_LINKS: u32 = 13;
pub const SPAN_STATUS: u32 = 15;
pub const SPAN_FLAGS: u32 = 16;

pub const EVENT_TIME: u32 = 1;
pub const EVENT_NAME: u32 = 2;
pub const EVENT_ATTRIBUTES: u32 = 3;

pub const LINK_TRACE_ID: u32 = 1;
pub const LINK_SPAN_ID: u32 = 2;

pub const STATUS_MESSAGE: u32 = 2;
pub const STATUS_CODE: u32 = 3;

pub const KEY_VALUE_KEY: u32 = 1;
pub const KEY_VALUE_VALUE: u32 = 2;
pub const ANY_VALUE_STRING: u32 = 1;
pub const ANY_VALUE_BOOL: u32 = 2;
pub const ANY_VALUE_INT: u32 = 3;
pub const ANY_VALUE_DOUBLE: u32 = 4;
