//! Writes a request again without the spans and links that were refused, and with its text repaired.
//! Unknown fields and the order of all fields stay.

use super::fields::*;
use super::reader::{Field, Reader, WireError};
use super::schema::{Content, Message, content};
use super::walk::LinkIds;
use super::writer::put_bytes;
use crate::model::{SpanId, TraceId};

/// The request as it may be kept. Only bytes that were walked without error should come here; others give that error again.
pub fn rewrite(request: &[u8]) -> Result<Vec<u8>, WireError> {
    copy(request, request.len(), |field, bytes| match field {
        REQUEST_RESOURCE_SPANS => resource_spans(bytes).map(Some),
        _ => Ok(None),
    })
}

/// What becomes of a length-delimited field: `None` keeps it as it is.
type Changed = Result<Option<Change>, WireError>;

enum Change {
    To(Vec<u8>),
    Leave,
}

fn resource_spans(message: &[u8]) -> Result<Change, WireError> {
    copy_all(message, |field, bytes| match field {
        RESOURCE_SPANS_SCOPE_SPANS => scope_spans(bytes).map(Some),
        RESOURCE_SPANS_RESOURCE => repair(Message::Resource, bytes).map(Some),
        3 => Ok(Some(Change::To(repair_text(bytes)))),
        _ => Ok(None),
    })
}

fn scope_spans(message: &[u8]) -> Result<Change, WireError> {
    copy_all(message, |field, bytes| match field {
        SCOPE_SPANS_SPANS if !has_valid_ids(bytes) => Ok(Some(Change::Leave)),
        SCOPE_SPANS_SPANS => repair(Message::Span, bytes).map(Some),
        SCOPE_SPANS_SCOPE => repair(Message::Scope, bytes).map(Some),
        3 => Ok(Some(Change::To(repair_text(bytes)))),
        _ => Ok(None),
    })
}

/// Repairs the text of a message and of all below it; leaves out links with bad ids.
fn repair(kind: Message, message: &[u8]) -> Result<Change, WireError> {
    copy_all(message, |field, bytes| match content(kind, field) {
        Content::Text => Ok(Some(Change::To(repair_text(bytes)))),
        Content::Message(Message::Link) if !link_is_valid(bytes) => Ok(Some(Change::Leave)),
        Content::Message(inner) => repair(inner, bytes).map(Some),
        _ => Ok(None),
    })
}

fn copy_all(message: &[u8], change: impl Fn(u32, &[u8]) -> Changed) -> Result<Change, WireError> {
    copy(message, message.len(), change).map(Change::To)
}

/// Copies a message field by field, each length-delimited one as `change` says.
fn copy(message: &[u8], size: usize, change: impl Fn(u32, &[u8]) -> Changed) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::with_capacity(size);
    let mut reader = Reader::new(message);
    let mut from = 0;
    while let Some((field, value)) = reader.next_field()? {
        let changed = if let Field::Bytes(bytes) = value { change(field, bytes)? } else { None };
        match changed {
            None => out.extend_from_slice(message.get(from..reader.position()).unwrap_or_default()),
            Some(Change::To(bytes)) => put_bytes(&mut out, field, &bytes),
            Some(Change::Leave) => {}
        }
        from = reader.position();
    }
    Ok(out)
}

fn repair_text(text: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(text).into_owned().into_bytes()
}

fn has_valid_ids(span: &[u8]) -> bool {
    let id = |field| super::read::last_bytes(span, field).unwrap_or_default();
    TraceId::from_bytes(id(SPAN_TRACE_ID)).is_some()
        && SpanId::from_bytes(id(SPAN_SPAN_ID)).is_some()
        && matches!(id(SPAN_PARENT).len(), 0 | 8)
}

fn link_is_valid(link: &[u8]) -> bool {
    let mut ids = LinkIds::default();
    for field in [LINK_TRACE_ID, LINK_SPAN_ID] {
        super::read::last_bytes(link, field).into_iter().for_each(|id| ids.note(field, id));
    }
    ids.valid()
}
