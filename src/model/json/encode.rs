//! Protobuf bytes to JSON text.

use super::MAX_DEPTH;
use super::schema::{Field, Kind, Message, REQUEST};
use crate::model::wire::{self, Reader, WireError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use std::io::Write;

/// An OTLP request (or several, one after the other) as one line of OTLP/JSON. Text that is not UTF-8 is repaired.
///
/// Errors: bytes that are no request; the offset is that within the innermost message.
pub fn encode(request: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::with_capacity(request.len().saturating_mul(2));
    object(&REQUEST, request, 0, &mut out)?;
    Ok(out)
}

/// A value of a known field, with the field's index.
type Found<'a> = (usize, wire::Field<'a>);

fn object(message: &Message, bytes: &[u8], depth: u32, out: &mut Vec<u8>) -> Result<(), WireError> {
    if depth > MAX_DEPTH {
        return Err(WireError { what: "values nested deeper than 100", at: 0 });
    }
    let found = known(message, bytes)?;
    out.push(b'{');
    let begin = out.len();
    for values in found.chunk_by(|a, b| a.0 == b.0) {
        let field = values.first().and_then(|(index, _)| message.fields.get(*index));
        let Some(field) = field.filter(|field| field.repeated || message.one_of || !is_default(field, values)) else {
            continue;
        };
        if out.len() > begin {
            out.push(b',');
        }
        put(out, field.name);
        out.push(b':');
        if field.repeated { array(field, values, depth, out)? } else { last(field, values, depth, out)? }
    }
    out.push(b'}');
    Ok(())
}

/// The known fields in the order of the proto file; where only one may be set, the last one alone.
fn known<'a>(message: &Message, bytes: &'a [u8]) -> Result<Vec<Found<'a>>, WireError> {
    let mut found = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next_field()? {
        if let Some(index) = message.fields.iter().position(|field| field.number == number) {
            found.push((index, value));
        }
    }
    if message.one_of {
        let last = found.last().map(|(index, _)| *index);
        let others = found.iter().rposition(|(index, _)| Some(*index) != last);
        found.drain(..others.map_or(0, |place| place + 1));
    }
    found.sort_by_key(|(index, _)| *index);
    Ok(found)
}

fn is_default(field: &Field, values: &[Found<'_>]) -> bool {
    match values.last() {
        Some((_, wire::Field::Varint(0) | wire::Field::Fixed64(0) | wire::Field::Fixed32(0))) => true,
        Some((_, wire::Field::Bytes([]))) => !matches!(field.kind, Kind::Message(_)),
        _ => false,
    }
}

fn array(field: &Field, values: &[Found<'_>], depth: u32, out: &mut Vec<u8>) -> Result<(), WireError> {
    for (place, (_, value)) in values.iter().enumerate() {
        out.push(if place == 0 { b'[' } else { b',' });
        single(field, *value, depth, out)?;
    }
    out.push(b']');
    Ok(())
}

/// A field that is not repeated: the last value counts, and of a message all of them together.
fn last(field: &Field, values: &[Found<'_>], depth: u32, out: &mut Vec<u8>) -> Result<(), WireError> {
    match (field.kind, values) {
        (Kind::Message(_), [_, _, ..]) => {
            let parts = values.iter().map(|(_, value)| bytes(*value)).collect::<Result<Vec<_>, _>>()?;
            single(field, wire::Field::Bytes(&parts.concat()), depth, out)
        }
        (_, [.., (_, value)]) => single(field, *value, depth, out),
        (_, []) => Ok(()),
    }
}

fn single(field: &Field, value: wire::Field<'_>, depth: u32, out: &mut Vec<u8>) -> Result<(), WireError> {
    use wire::Field::{Fixed32, Fixed64, Varint};
    match (field.kind, value) {
        (Kind::Message(message), value) => object(message, bytes(value)?, depth + 1, out)?,
        (Kind::Text, value) => put(out, String::from_utf8_lossy(bytes(value)?)),
        (Kind::Id, value) => id(bytes(value)?, out),
        (Kind::Bytes, value) => put(out, STANDARD.encode(bytes(value)?)),
        (Kind::Bool, Varint(value)) => put(out, value != 0),
        (Kind::Int64, Varint(value)) => quoted(out, value as i64),
        (Kind::Uint32, Varint(value)) => put(out, value as u32),
        (Kind::Enum(_), Varint(value)) => put(out, value as i32),
        (Kind::Fixed64, Fixed64(value)) => quoted(out, value),
        (Kind::Fixed32, Fixed32(value)) => put(out, value),
        (Kind::Double, Fixed64(bits)) => double(f64::from_bits(bits), out),
        _ => return Err(WRONG_TYPE),
    }
    Ok(())
}

const WRONG_TYPE: WireError = WireError { what: "wrong wire type for a known field", at: 0 };

fn bytes(value: wire::Field<'_>) -> Result<&[u8], WireError> {
    if let wire::Field::Bytes(bytes) = value { Ok(bytes) } else { Err(WRONG_TYPE) }
}

fn double(value: f64, out: &mut Vec<u8>) {
    match value {
        _ if value.is_nan() => put(out, "NaN"),
        f64::INFINITY => put(out, "Infinity"),
        f64::NEG_INFINITY => put(out, "-Infinity"),
        _ => put(out, value),
    }
}

fn id(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    bytes.iter().for_each(|byte| print(out, format_args!("{byte:02x}")));
    out.push(b'"');
}

fn quoted(out: &mut Vec<u8>, number: impl std::fmt::Display) {
    print(out, format_args!("\"{number}\""));
}

/// A `Vec` takes everything, and no value here has an error of its own.
fn print(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

fn put(out: &mut Vec<u8>, value: impl Serialize) {
    let _ = serde_json::to_writer(out, &value);
}
