//! The OTLP trace request, read and written as protobuf bytes.
//!
//! `walk` checks a whole request in one pass and notes where each span lies; it allocates per request,
//! never per span. `rewrite` writes a request again without what must not stay in it. `keys` cuts a row's keys out
//! of a span's bytes and puts them back. Unknown fields are kept everywhere.
//!
//! Sources: opentelemetry-proto `trace.proto`, `common.proto`, `resource.proto`; protobuf encoding guide.

pub mod fields;
pub mod keys;
mod plain;
pub mod read;
mod reader;
mod rewrite;
mod schema;
mod walk;
mod writer;

pub use reader::{Field, MAX_DEPTH, Reader, WireError};
pub use rewrite::rewrite;
pub use walk::{Envelope, MIXED, ScopeHead, SpanHead, Walk, walk};
pub use writer::{put_bytes, put_fixed32, put_fixed64, put_message, put_varint, put_varint_field};
