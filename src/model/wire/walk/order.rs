//! The order of a span's fields.

use super::MIXED;
use crate::model::wire::fields::SPAN_END;

/// Where the fields of a span lie, so that cutting its keys out later need not look at all of them again.
#[derive(Default)]
pub struct FieldOrder {
    tail: Option<u32>,
    mixed: bool,
    status: Option<u32>,
}

impl FieldOrder {
    #[inline]
    pub fn note(&mut self, field: u32, at: usize) {
        if field > SPAN_END {
            self.tail.get_or_insert(at as u32);
        } else {
            self.mixed |= self.tail.is_some();
        }
    }

    /// A second status, or one that holds more than a code, stays where it is.
    pub fn note_status(&mut self, status: &[u8], at: usize) {
        let plain = matches!(status, [0x18, 1..=0x7f]);
        self.status = Some(if plain && self.status.is_none() { at as u32 } else { MIXED });
    }

    pub fn finish(self, end: usize) -> (u32, u32) {
        let tail = if self.mixed { MIXED } else { self.tail.unwrap_or(end as u32) };
        (tail, self.status.unwrap_or(MIXED))
    }
}
