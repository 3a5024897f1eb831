//! Cuts a row's keys out of a span's bytes and puts them back.
//!
//! The store keeps ids, parent, times, kind and a plain status as columns. What is left of the `Span` message is
//! its *body*. `join(cut(span))` equals the span field for field, unknown fields included; the order of the cut fields
//! among the others may differ, which protobuf allows.

use super::fields::*;
use super::reader::{Field, Reader};
use super::walk::{MIXED, SpanHead};
use super::writer::{put_bytes, put_fixed64, put_varint_field};
use crate::model::{Row, TraceId};

/// The status was cut out of the body: it held a code and nothing else.
pub const STATUS_CUT: u8 = 1;

/// Appends the body of a walked `Span` message to `out` and gives its shape.
pub fn cut(span: &[u8], head: &SpanHead, out: &mut Vec<u8>) -> u8 {
    let status = (head.status_at != MIXED).then_some(head.status_at as usize);
    let tail = if head.tail == MIXED { span.len() } else { head.tail as usize };
    let front = span.get(..tail).unwrap_or(span);
    cut_front(front, head, status, out);
    let rest = span.get(front.len()..).unwrap_or_default();
    match status.and_then(|at| rest.split_at_checked(at.checked_sub(front.len())?)) {
        Some((before, after)) => {
            out.extend_from_slice(before);
            out.extend_from_slice(after.get(PLAIN_STATUS..).unwrap_or_default());
        }
        None => out.extend_from_slice(rest),
    }
    if status.is_some() { STATUS_CUT } else { 0 }
}

/// Bytes of a status field that holds a one-byte code and nothing else.
const PLAIN_STATUS: usize = 4;

/// Copies the fields that are no keys from the part of a span where they may be mixed with keys.
fn cut_front(front: &[u8], head: &SpanHead, status: Option<usize>, out: &mut Vec<u8>) {
    let mut reader = Reader::new(front);
    let (mut from, mut kept_from) = (0, 0);
    while let Ok(Some((field, value))) = reader.next_field() {
        let is_key = match (field, value) {
            (SPAN_TRACE_ID | SPAN_SPAN_ID, Field::Bytes(_)) => true,
            // An explicit all-zero parent has no other place than the body.
            (SPAN_PARENT, Field::Bytes(_)) => head.parent.is_valid(),
            (SPAN_KIND, Field::Varint(_)) | (SPAN_START | SPAN_END, Field::Fixed64(_)) => true,
            (SPAN_STATUS, Field::Bytes(_)) => status.is_some(),
            _ => false,
        };
        if is_key {
            out.extend_from_slice(front.get(kept_from..from).unwrap_or_default());
            kept_from = reader.position();
        }
        from = reader.position();
    }
    out.extend_from_slice(front.get(kept_from..).unwrap_or_default());
}

/// Appends the `Span` message of these keys, this shape and this body to `out`.
pub fn join(trace_id: TraceId, row: &Row, shape: u8, body: &[u8], out: &mut Vec<u8>) {
    put_bytes(out, SPAN_TRACE_ID, &trace_id.0);
    put_bytes(out, SPAN_SPAN_ID, &row.span_id.0);
    if row.parent.is_valid() {
        put_bytes(out, SPAN_PARENT, &row.parent.0);
    }
    if row.kind != 0 {
        put_varint_field(out, SPAN_KIND, i64::from(row.kind) as u64);
    }
    if row.start != 0 {
        put_fixed64(out, SPAN_START, row.start);
    }
    if row.end != 0 {
        put_fixed64(out, SPAN_END, row.end);
    }
    if shape & STATUS_CUT != 0 {
        put_bytes(out, SPAN_STATUS, &[0x18, row.status as u8]);
    }
    out.extend_from_slice(body);
}
