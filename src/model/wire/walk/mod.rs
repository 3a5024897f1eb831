//! One pass over a request: checks everything, notes where each span lies.

mod envelope;
mod ids;
mod order;

pub(super) use ids::LinkIds;

use super::fields::*;
use super::plain::{self, is_utf8};
use super::reader::{Field, MAX_DEPTH, Reader, WireError};
use super::schema::{Content, Message, content};
use crate::model::{Refusals, SpanId, TraceId, time::Nanos};
use envelope::EnvelopeBuilder;
use ids::SpanIds;
use order::FieldOrder;

/// The keys of one span and the place of its bytes in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpanHead {
    pub trace_id: TraceId,
    pub span_id: SpanId,
    /// All zero: no parent.
    pub parent: SpanId,
    pub start: Nanos,
    pub end: Nanos,
    pub kind: i32,
    pub status: i32,
    /// Offset and length of the `Span` message in the request.
    pub at: u32,
    pub len: u32,
    /// Indices into the request's resources and scopes.
    pub resource: u32,
    pub scope: u32,
    /// Offset in the span behind which no field with a number below 9 comes, so none that a key is made of but the
    /// status; `MIXED` where the sender has another order.
    pub tail: u32,
    /// Offset in the span of its one status, which holds a code and nothing else; `MIXED` for any other.
    pub status_at: u32,
}

/// No such offset.
pub const MIXED: u32 = u32::MAX;

/// A `ResourceSpans` without its scopes, or a `ScopeSpans` without its spans: the resource or scope itself,
/// its schema URL and unknown fields. A range of the request, or of `Walk::side` where it lay in several pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Envelope {
    at: u32,
    len: u32,
    aside: bool,
}

/// One scope of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScopeHead {
    pub envelope: Envelope,
}

/// What one pass over a request found.
#[derive(Debug, Clone, Default)]
pub struct Walk {
    pub spans: Vec<SpanHead>,
    pub resources: Vec<Envelope>,
    pub scopes: Vec<ScopeHead>,
    side: Vec<u8>,
    faults: Faults,
}

/// What must not stay in the bytes.
#[derive(Debug, Clone, Default)]
struct Faults {
    spans: u32,
    first: Option<String>,
    links: u32,
    strings: u32,
}

impl Walk {
    /// Whether the bytes hold spans, links or text that must not stay in them.
    pub fn needs_rewrite(&self) -> bool {
        self.faults.spans > 0 || self.faults.links > 0 || self.faults.strings > 0
    }

    pub fn refusals(&self) -> Refusals {
        Refusals {
            spans: self.faults.spans,
            reason: self.faults.first.clone().unwrap_or_default(),
            links: self.faults.links,
            repaired_strings: self.faults.strings,
        }
    }

    /// The bytes of one of this walk's envelopes, given the request it walked.
    pub fn envelope<'a>(&'a self, request: &'a [u8], envelope: &Envelope) -> &'a [u8] {
        let bytes = if envelope.aside { &self.side } else { request };
        let at = envelope.at as usize;
        bytes.get(at..at + envelope.len as usize).unwrap_or_default()
    }

    /// Bytes this walk keeps in memory.
    pub fn memory(&self) -> usize {
        self.spans.capacity() * size_of::<SpanHead>()
            + self.resources.capacity() * size_of::<Envelope>()
            + self.scopes.capacity() * size_of::<ScopeHead>()
            + self.side.capacity()
    }
}

/// Walks an `ExportTraceServiceRequest`.
///
/// Errors: malformed protobuf, a known field of the wrong wire type, values nested deeper than 100, a request of
/// more than [`crate::model::batch::MAX_BATCH_BYTES`].
pub fn walk(request: &[u8]) -> Result<Walk, WireError> {
    if request.len() > crate::model::batch::MAX_BATCH_BYTES {
        return Err(WireError { what: "request larger than 1 GiB", at: 0 });
    }
    let mut walk = Walk::default();
    let mut reader = Reader::new(request);
    while let Some((field, value)) = reader.next_field()? {
        if field == REQUEST_RESOURCE_SPANS {
            let message = message(&reader, value)?;
            walk.resource_spans(message)?;
        }
    }
    walk.spans.shrink_to_fit();
    Ok(walk)
}

/// A message inside the request and where it begins.
#[derive(Clone, Copy)]
struct Inner<'a> {
    bytes: &'a [u8],
    base: usize,
}

impl<'a> Inner<'a> {
    fn reader(&self) -> Reader<'a> {
        Reader::within(self.bytes, self.base)
    }
}

/// The message that `reader` has just read as `value`.
#[inline]
fn message<'a>(reader: &Reader<'a>, value: Field<'a>) -> Result<Inner<'a>, WireError> {
    match value {
        Field::Bytes(bytes) => Ok(Inner { bytes, base: reader.offset() - bytes.len() }),
        _ => Err(reader.error("wrong wire type for a message")),
    }
}

impl Walk {
    fn resource_spans(&mut self, of: Inner<'_>) -> Result<(), WireError> {
        let index = self.resources.len() as u32;
        self.resources.push(Envelope::default());
        let mut envelope = EnvelopeBuilder::default();
        let mut reader = of.reader();
        let mut from = 0;
        while let Some((field, value)) = reader.next_field()? {
            match field {
                RESOURCE_SPANS_SCOPE_SPANS => self.scope_spans(message(&reader, value)?, index)?,
                RESOURCE_SPANS_RESOURCE => self.check(Message::Resource, message(&reader, value)?, 0)?,
                3 => self.text(&reader, value)?,
                _ => {}
            }
            if field != RESOURCE_SPANS_SCOPE_SPANS {
                envelope.add(of, from, reader.position());
            }
            from = reader.position();
        }
        let envelope = envelope.finish(self);
        if let Some(slot) = self.resources.get_mut(index as usize) {
            *slot = envelope;
        }
        Ok(())
    }

    fn scope_spans(&mut self, of: Inner<'_>, resource: u32) -> Result<(), WireError> {
        let index = self.scopes.len() as u32;
        self.scopes.push(ScopeHead::default());
        let mut envelope = EnvelopeBuilder::default();
        let mut reader = of.reader();
        let mut from = 0;
        while let Some((field, value)) = reader.next_field()? {
            match field {
                SCOPE_SPANS_SPANS => self.span(message(&reader, value)?, resource, index)?,
                SCOPE_SPANS_SCOPE => self.check(Message::Scope, message(&reader, value)?, 0)?,
                3 => self.text(&reader, value)?,
                _ => {}
            }
            if field != SCOPE_SPANS_SPANS {
                envelope.add(of, from, reader.position());
            }
            from = reader.position();
        }
        let envelope = envelope.finish(self);
        if let Some(slot) = self.scopes.get_mut(index as usize) {
            slot.envelope = envelope;
        }
        Ok(())
    }

    fn span(&mut self, of: Inner<'_>, resource: u32, scope: u32) -> Result<(), WireError> {
        let before = (self.faults.links, self.faults.strings);
        let mut head =
            SpanHead { at: of.base as u32, len: of.bytes.len() as u32, resource, scope, ..SpanHead::default() };
        let mut order = FieldOrder::default();
        let mut ids = SpanIds::default();
        let mut reader = of.reader();
        let mut from = 0;
        while let Some((field, value)) = reader.next_field()? {
            order.note(field, from);
            match (field, value) {
                (SPAN_TRACE_ID, Field::Bytes(id)) => ids.trace = id,
                (SPAN_SPAN_ID, Field::Bytes(id)) => ids.span = id,
                (SPAN_PARENT, Field::Bytes(id)) => ids.parent = id,
                (SPAN_KIND, Field::Varint(kind)) => head.kind = kind as i32,
                (SPAN_START, Field::Fixed64(time)) => head.start = time,
                (SPAN_END, Field::Fixed64(time)) => head.end = time,
                (SPAN_STATUS, Field::Bytes(status)) => {
                    order.note_status(status, from);
                    self.status(message(&reader, value)?, &mut head)?;
                }
                _ => self.field(Message::Span, field, value, &reader, 0)?,
            }
            from = reader.position();
        }
        (head.tail, head.status_at) = order.finish(from);
        match ids.check() {
            Ok((trace_id, span_id, parent)) => self.spans.push(SpanHead { trace_id, span_id, parent, ..head }),
            Err(reason) => {
                (self.faults.links, self.faults.strings) = before;
                self.faults.spans = self.faults.spans.saturating_add(1);
                self.faults.first.get_or_insert(reason);
            }
        }
        Ok(())
    }

    fn status(&mut self, of: Inner<'_>, head: &mut SpanHead) -> Result<(), WireError> {
        self.check(Message::Status, of, 0)?;
        if let Some(code) = super::read::last_varint(of.bytes, STATUS_CODE) {
            head.status = code as i32;
        }
        Ok(())
    }

    /// Checks every field of a message, depth first.
    fn check(&mut self, kind: Message, of: Inner<'_>, depth: u32) -> Result<(), WireError> {
        let mut reader = of.reader();
        if depth > MAX_DEPTH {
            return Err(reader.error("values nested deeper than 100"));
        }
        let mut link = (kind == Message::Link).then(LinkIds::default);
        while let Some((field, value)) = reader.next_field()? {
            if let (Some(ids), Field::Bytes(id)) = (&mut link, value) {
                ids.note(field, id);
            }
            self.field(kind, field, value, &reader, depth)?;
        }
        if link.is_some_and(|ids| !ids.valid()) {
            self.faults.links = self.faults.links.saturating_add(1);
        }
        Ok(())
    }

    #[inline]
    fn field(
        &mut self,
        of: Message,
        field: u32,
        value: Field<'_>,
        at: &Reader<'_>,
        depth: u32,
    ) -> Result<(), WireError> {
        match (content(of, field), value) {
            (Content::Text, _) => self.text(at, value),
            (Content::Message(Message::KeyValue), Field::Bytes(bytes)) => self.attribute(bytes, value, at, depth),
            (Content::Message(kind), Field::Bytes(_)) => self.check(kind, message(at, value)?, depth + 1),
            (Content::Varint, Field::Varint(_))
            | (Content::Fixed64, Field::Fixed64(_))
            | (Content::Fixed32, Field::Fixed32(_))
            | (Content::Bytes, Field::Bytes(_))
            | (Content::Unknown, _) => Ok(()),
            _ => Err(at.error("wrong wire type for a known field")),
        }
    }

    #[inline]
    fn attribute(&mut self, bytes: &[u8], value: Field<'_>, at: &Reader<'_>, depth: u32) -> Result<(), WireError> {
        let Some(plain) = plain::attribute(bytes) else {
            return self.check(Message::KeyValue, message(at, value)?, depth + 1);
        };
        let wrong = u32::from(!is_utf8(plain.key)) + u32::from(!is_utf8(plain.text));
        self.faults.strings = self.faults.strings.saturating_add(wrong);
        Ok(())
    }

    #[inline]
    fn text(&mut self, at: &Reader<'_>, value: Field<'_>) -> Result<(), WireError> {
        let Field::Bytes(text) = value else {
            return Err(at.error("wrong wire type for text"));
        };
        if !is_utf8(text) {
            self.faults.strings = self.faults.strings.saturating_add(1);
        }
        Ok(())
    }
}
