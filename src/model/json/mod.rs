//! OTLP/JSON: a trace request as JSON text, turned into OTLP protobuf bytes and back without structs in between.
//!
//! Reading is forgiving where senders differ: keys in camelCase and in snake_case, integers as text or numbers, enums
//! by name or number, ids in any case, base64 in all four forms, `null` for every default, unknown keys skipped whatever
//! they hold. With a key given twice the last one wins, whatever its spelling. Ids of a wrong length are passed on, so
//! that they cost their span only. A byte order mark before the text is refused.
//!
//! Writing has one form: camelCase, fields in the order of the proto files, ids in lower-case hex, 64-bit integers as
//! text, enums as numbers, bytes in padded base64, defaults left out. Unknown protobuf fields are not written.
//!
//! Messages may nest as deep as on the wire. What is skipped may nest deeper: skipping takes no stack.
//!
//! Source: OTLP specification, "JSON Protobuf Encoding"; proto3 JSON mapping.

mod decode;
mod encode;
mod scalar;
mod schema;
#[cfg(test)]
mod tests;

pub use decode::{JsonError, decode};
pub use encode::encode;

/// How deep messages may nest. The walk counts from inside a span, three messages further in, and has the last word.
const MAX_DEPTH: u32 = super::wire::MAX_DEPTH + 3;
