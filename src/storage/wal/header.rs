//! The header page of a log file.

use crate::storage::codec::{Decoder, Malformed, crc};

/// Bytes before the first frame.
pub const HEADER_PAGE: u64 = 4096;
/// Bytes of the header itself.
pub const HEADER_SIZE: usize = 84;
pub const MAGIC: [u8; 8] = *b"SLUICEWL";
pub const VERSION: u32 = 1;

/// What a log file says about itself and about the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHeader {
    pub store: [u8; 16],
    pub id: u64,
    pub size: u64,
    /// No frame of this file has a lower LSN.
    pub first_lsn: u64,
    pub previous: Option<Previous>,
}

/// Where the file before this one ends. Whatever lies behind that offset was never answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Previous {
    pub id: u64,
    pub end: u64,
    pub last_lsn: u64,
}

/// Why bytes are no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadHeader {
    Damaged,
    Version(u32),
}

impl From<Malformed> for BadHeader {
    fn from(_: Malformed) -> Self {
        Self::Damaged
    }
}

impl FileHeader {
    pub fn encode(&self) -> Vec<u8> {
        let previous = self.previous.unwrap_or(Previous { id: 0, end: 0, last_lsn: 0 });
        let mut out = Vec::with_capacity(HEADER_SIZE);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.store);
        for number in [self.id, self.size, self.first_lsn, previous.id, previous.end, previous.last_lsn] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let crc = crc(&[&out]);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, BadHeader> {
        let mut fields = Decoder::new(bytes);
        if fields.array()? != MAGIC {
            return Err(BadHeader::Damaged);
        }
        let version = fields.u32()?;
        fields.u32()?;
        let store = fields.array()?;
        let (id, size, first_lsn) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let previous = Previous { id: fields.u64()?, end: fields.u64()?, last_lsn: fields.u64()? };
        let covered = bytes.get(..fields.position()).unwrap_or_default();
        if fields.u32()? != crc(&[covered]) {
            return Err(BadHeader::Damaged);
        }
        if version != VERSION {
            return Err(BadHeader::Version(version));
        }
        Ok(Self { store, id, size, first_lsn, previous: (previous.id != 0).then_some(previous) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_as_written_and_any_flipped_bit_is_noticed() {
        let previous = Some(Previous { id: 4, end: 8192, last_lsn: 41 });
        let header = FileHeader { store: [7; 16], id: 5, size: 1 << 20, first_lsn: 42, previous };
        let bytes = header.encode();
        assert_eq!(bytes.len(), HEADER_SIZE);
        assert_eq!(FileHeader::decode(&bytes), Ok(header));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FileHeader::decode(&flipped), Err(BadHeader::Damaged), "bit {bit}");
        }
    }
}
