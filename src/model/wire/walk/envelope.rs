//! The pieces of an envelope.

use super::{Envelope, Inner, Walk};

/// Collects the pieces of an envelope; copies only when there is more than one.
#[derive(Default)]
pub struct EnvelopeBuilder {
    envelope: Envelope,
    /// All of it, once it is more than one range of the request. Kept apart from `Walk::side` until it is whole, for
    /// envelopes of scopes come in between.
    pieces: Vec<u8>,
}

impl EnvelopeBuilder {
    /// Adds bytes `from..to` of the message `of`.
    pub fn add(&mut self, of: Inner<'_>, from: usize, to: usize) {
        let (at, len) = ((of.base + from) as u32, (to - from) as u32);
        let range = &mut self.envelope;
        if range.len == 0 {
            *range = Envelope { at, len, aside: false };
        } else if self.pieces.is_empty() && range.at + range.len == at {
            range.len += len;
        } else {
            self.add_piece(of, from, to);
        }
    }

    fn add_piece(&mut self, of: Inner<'_>, from: usize, to: usize) {
        if self.pieces.is_empty() {
            let first = self.envelope.at as usize - of.base;
            let range = first..first + self.envelope.len as usize;
            self.pieces.extend_from_slice(of.bytes.get(range).unwrap_or_default());
        }
        self.pieces.extend_from_slice(of.bytes.get(from..to).unwrap_or_default());
    }

    pub fn finish(self, walk: &mut Walk) -> Envelope {
        if self.pieces.is_empty() {
            return self.envelope;
        }
        let at = walk.side.len() as u32;
        walk.side.extend_from_slice(&self.pieces);
        Envelope { at, len: self.pieces.len() as u32, aside: true }
    }
}
