//! Cuts a row's keys out of a span's bytes and puts them back.
//!
//! The store keeps ids, parent, times, kind and a plain status as columns. What is left of the `Span` message is
//! its *body*. `join(cut(span))` equals the span field for field, unknown fields included; the order of the cut fields
//! among the others may differ, which protobuf allows.

use super::fields::*;
use super::reader::{Field, Reader};
use super::writer::{put_bytes, put_fixed64, put_varint_field};
use crate::model::{SpanId, TraceId, time::Nanos};

/// The status was cut out of the body: it held a code and nothing else.
pub const STATUS_CUT: u8 = 1;

/// The keys of a span, and which of them its body no longer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    pub trace_id: TraceId,
    pub span_id: SpanId,
    pub parent: SpanId,
    pub start: Nanos,
    pub end: Nanos,
    pub kind: i32,
    pub status: i32,
    /// `STATUS_CUT` or 0.
    pub shape: u8,
}

/// Appends the body of a walked `Span` message to `out` and gives its shape.
pub fn cut(span: &[u8], parent: SpanId, out: &mut Vec<u8>) -> u8 {
    let status = plain_status(span);
    let mut reader = Reader::new(span);
    let (mut from, mut kept_from) = (0, 0);
    while let Ok(Some((field, value))) = reader.next_field() {
        let is_key = match (field, value) {
            (SPAN_TRACE_ID | SPAN_SPAN_ID, Field::Bytes(_)) => true,
            // An explicit all-zero parent has no other place than the body.
            (SPAN_PARENT, Field::Bytes(_)) => parent.is_valid(),
            (SPAN_KIND, Field::Varint(_)) | (SPAN_START | SPAN_END, Field::Fixed64(_)) => true,
            (SPAN_STATUS, Field::Bytes(_)) => status,
            _ => false,
        };
        if is_key {
            out.extend_from_slice(span.get(kept_from..from).unwrap_or_default());
            kept_from = reader.position();
        }
        from = reader.position();
    }
    out.extend_from_slice(span.get(kept_from..).unwrap_or_default());
    if status { STATUS_CUT } else { 0 }
}

/// Whether the span has exactly one status and that is a one-byte code other than 0 alone.
fn plain_status(span: &[u8]) -> bool {
    let mut reader = Reader::new(span);
    let (mut count, mut plain) = (0, false);
    while let Ok(Some((field, value))) = reader.next_field() {
        if let (SPAN_STATUS, Field::Bytes(status)) = (field, value) {
            count += 1;
            plain = matches!(status, [0x18, 1..=0x7f]);
        }
    }
    count == 1 && plain
}

/// Appends the `Span` message of these keys and this body to `out`.
pub fn join(keys: &Keys, body: &[u8], out: &mut Vec<u8>) {
    put_bytes(out, SPAN_TRACE_ID, &keys.trace_id.0);
    put_bytes(out, SPAN_SPAN_ID, &keys.span_id.0);
    if keys.parent.is_valid() {
        put_bytes(out, SPAN_PARENT, &keys.parent.0);
    }
    if keys.kind != 0 {
        put_varint_field(out, SPAN_KIND, i64::from(keys.kind) as u64);
    }
    if keys.start != 0 {
        put_fixed64(out, SPAN_START, keys.start);
    }
    if keys.end != 0 {
        put_fixed64(out, SPAN_END, keys.end);
    }
    if keys.shape & STATUS_CUT != 0 {
        put_bytes(out, SPAN_STATUS, &[0x18, keys.status as u8]);
    }
    out.extend_from_slice(body);
}
