//! The ids of spans and links as they were sent: good ones, or a sentence about what is wrong.

use crate::model::wire::fields::{LINK_SPAN_ID, LINK_TRACE_ID};
use crate::model::{SpanId, TraceId};

/// The ids of a span as sent.
#[derive(Default)]
pub struct SpanIds<'a> {
    pub trace: &'a [u8],
    pub span: &'a [u8],
    pub parent: &'a [u8],
}

impl SpanIds<'_> {
    /// The ids, or a sentence about the first bad one.
    pub fn check(&self) -> Result<(TraceId, SpanId, SpanId), String> {
        let trace = TraceId::from_bytes(self.trace).ok_or_else(|| explain("trace id", self.trace, 16))?;
        let span = SpanId::from_bytes(self.span).ok_or_else(|| explain("span id", self.span, 8))?;
        let parent = match self.parent {
            [] => SpanId::default(),
            id => SpanId(id.try_into().map_err(|_| explain("parent span id", id, 8))?),
        };
        Ok((trace, span, parent))
    }
}

/// Why an id is refused, and the usual cause where it can be seen.
fn explain(what: &str, id: &[u8], expected: usize) -> String {
    match id.len() {
        0 => format!("{what} is missing"),
        length if length == expected => format!("{what} is all zero"),
        length if length == 2 * expected && id.iter().all(u8::is_ascii_hexdigit) => {
            format!("{what} has {length} bytes instead of {expected}: it looks like hex text")
        }
        length => format!("{what} has {length} bytes instead of {expected}"),
    }
}

/// The ids of a link as sent.
#[derive(Default)]
pub struct LinkIds {
    trace: bool,
    span: bool,
}

impl LinkIds {
    pub fn note(&mut self, field: u32, id: &[u8]) {
        match field {
            LINK_TRACE_ID => self.trace = TraceId::from_bytes(id).is_some(),
            LINK_SPAN_ID => self.span = SpanId::from_bytes(id).is_some(),
            _ => {}
        }
    }

    pub fn valid(&self) -> bool {
        self.trace && self.span
    }
}
