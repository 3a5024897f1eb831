//! One frame: a header of 48 bytes and the OTLP bytes of a batch.

use crate::model::time::Nanos;
use crate::storage::codec::{Decoder, Malformed};

/// Bytes of a frame's header.
pub const FRAME_HEADER: usize = 48;

/// What a file adds to the checksums of its frames, so that frames of another file, or of an earlier use of the same
/// one, are not taken for its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(u32);

impl Seed {
    pub fn new(store: &[u8; 16], file: u64) -> Self {
        Self(crate::storage::codec::crc(&[store, &file.to_le_bytes()]))
    }
}

/// What a frame is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    Batch = 1,
    /// The file was closed in good order and ends here.
    End = 2,
}

/// A frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub kind: FrameKind,
    pub lsn: u64,
    /// Store time at which the batch was received; never earlier than that of the frame before.
    pub received: Nanos,
    /// The highest LSN known to be durable when this frame was written.
    pub durable: u64,
    pub payload_len: u32,
    /// CRC-32 of the payload.
    pub payload_crc: u32,
}

impl Frame {
    /// Bytes from the start of this frame to that of the next: header, payload, padding to 8.
    pub fn size(&self) -> u64 {
        (FRAME_HEADER as u64 + u64::from(self.payload_len)).next_multiple_of(8)
    }

    pub fn encode(&self, seed: Seed) -> [u8; FRAME_HEADER] {
        let mut out = Vec::with_capacity(FRAME_HEADER);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.payload_len.to_le_bytes());
        out.extend_from_slice(&self.lsn.to_le_bytes());
        out.extend_from_slice(&self.received.to_le_bytes());
        out.extend_from_slice(&self.durable.to_le_bytes());
        out.extend_from_slice(&self.payload_crc.to_le_bytes());
        out.push(self.kind as u8);
        out.resize(FRAME_HEADER, 0);
        let mut header = [0; FRAME_HEADER];
        header.copy_from_slice(&out);
        let crc = header_crc(&header, seed);
        header[..4].copy_from_slice(&crc.to_le_bytes());
        header
    }

    /// The frame in these bytes, if they begin with a header of this file. Says nothing about the payload.
    pub fn decode(bytes: &[u8], seed: Seed) -> Option<Self> {
        let header: &[u8; FRAME_HEADER] = bytes.first_chunk()?;
        let stored = u32::from_le_bytes(*header.first_chunk()?);
        if stored != header_crc(header, seed) {
            return None;
        }
        Self::parse(header).ok()?
    }

    fn parse(header: &[u8; FRAME_HEADER]) -> Result<Option<Self>, Malformed> {
        let mut fields = Decoder::new(header);
        fields.u32()?;
        let payload_len = fields.u32()?;
        let (lsn, received, durable, payload_crc) = (fields.u64()?, fields.u64()?, fields.u64()?, fields.u32()?);
        let kind = match fields.u8()? {
            1 => FrameKind::Batch,
            2 => FrameKind::End,
            _ => return Ok(None),
        };
        Ok(Some(Self { kind, lsn, received, durable, payload_len, payload_crc }))
    }
}

fn header_crc(header: &[u8; FRAME_HEADER], seed: Seed) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&seed.0.to_le_bytes());
    hasher.update(&header[4..]);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        Frame { kind: FrameKind::Batch, lsn: 7, received: 11, durable: 6, payload_len: 5, payload_crc: 99 }
    }

    #[test]
    fn a_frame_is_read_only_under_the_seed_of_its_file() {
        let (mine, other) = (Seed::new(&[1; 16], 3), Seed::new(&[1; 16], 4));
        let bytes = frame().encode(mine);
        assert_eq!(Frame::decode(&bytes, mine), Some(frame()));
        assert_eq!(Frame::decode(&bytes, other), None);
        assert_eq!(Frame::decode(&bytes, Seed::new(&[2; 16], 3)), None);
    }

    #[test]
    fn any_flipped_bit_of_a_header_is_noticed() {
        let seed = Seed::new(&[1; 16], 3);
        let bytes = frame().encode(seed);
        for bit in 0..FRAME_HEADER * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Frame::decode(&flipped, seed), None, "bit {bit}");
        }
    }
}
