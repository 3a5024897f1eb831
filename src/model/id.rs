//! Trace and span ids. Source: OTLP `trace.proto`; text forms as people paste them into a search box.

use std::fmt;

/// A trace id: 16 bytes, valid when not all zero. Ordered by its bytes, as segments are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TraceId(pub [u8; 16]);

/// A span id: 8 bytes, valid when not all zero. As a parent, all zero means "none".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SpanId(pub [u8; 8]);

impl TraceId {
    /// The id in these bytes, or `None` for a wrong length or the all-zero id.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let id = Self(bytes.try_into().ok()?);
        id.is_valid().then_some(id)
    }

    /// Parses 1 to 32 hex digits of any case; shorter ids are padded with zeros on the left.
    pub fn parse(text: &str) -> Option<Self> {
        let mut id = [0; 16];
        parse_hex(text, &mut id)?;
        Self::from_bytes(&id)
    }

    pub fn is_valid(&self) -> bool {
        self.0 != [0; 16]
    }
}

impl SpanId {
    /// The id in these bytes, or `None` for a wrong length or the all-zero id.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let id = Self(bytes.try_into().ok()?);
        id.is_valid().then_some(id)
    }

    pub fn is_valid(&self) -> bool {
        self.0 != [0; 8]
    }
}

/// Fills `out` from the right with the digits of `text`; the rest is zero.
fn parse_hex(text: &str, out: &mut [u8]) -> Option<()> {
    if text.is_empty() || text.len() > out.len() * 2 {
        return None;
    }
    out.fill(0);
    for (place, digit) in text.bytes().rev().enumerate() {
        let value = (digit as char).to_digit(16)? as u8;
        let byte = out.iter_mut().rev().nth(place / 2)?;
        *byte |= value << (4 * (place % 2));
    }
    Some(())
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_id_is_found_by_its_full_trimmed_and_upper_case_text() {
        let full = TraceId::parse("008efff798038103d269b633813fc703").unwrap();
        assert_eq!(TraceId::parse("8efff798038103d269b633813fc703"), Some(full));
        assert_eq!(TraceId::parse("8EFFF798038103D269B633813FC703"), Some(full));
        assert_eq!(full.to_string(), "008efff798038103d269b633813fc703");
    }

    #[test]
    fn text_that_is_no_id_is_refused() {
        for text in ["", "0", "00000000000000000000000000000000", "xyz", "1é"] {
            assert_eq!(TraceId::parse(text), None, "{text}");
        }
        assert_eq!(TraceId::parse(&"1".repeat(33)), None);
        assert_eq!(TraceId::from_bytes(&[1; 15]), None);
        assert_eq!(SpanId::from_bytes(&[0; 8]), None);
    }
}
