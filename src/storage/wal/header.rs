//! The header of a log file.
//!
//! It stands twice, in a page of its own each: it alone says where the file before it ends, and what lies behind that
//! end may have been refused.

use crate::storage::codec::{Decoder, Malformed, crc};

/// Bytes before the first frame: a page for each copy of the header.
pub const HEADER_PAGE: u64 = 8192;
/// Where the second copy begins.
pub const COPY_AT: usize = 4096;
/// Bytes of the header itself.
pub const HEADER_SIZE: usize = 84;
pub const MAGIC: [u8; 8] = *b"SLUICEWL";
pub const VERSION: u32 = 2;

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

/// What the two copies of a header give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundHeader {
    pub header: FileHeader,
    /// Where the copy begins that is not as it was written, if one is not.
    pub damaged_copy: Option<u64>,
}

impl FoundHeader {
    /// Reads both copies; one is enough. Where they differ, the one with the id of the file's name counts.
    pub fn read(pages: &[u8], id: u64) -> Result<Self, BadHeader> {
        let copies = [0, COPY_AT].map(|at| FileHeader::decode(pages.get(at..).unwrap_or_default()));
        let of_name = |copy: &Result<FileHeader, BadHeader>| copy.is_ok_and(|header| header.id == id);
        match copies {
            [Ok(first), Ok(second)] if first == second => Ok(Self { header: first, damaged_copy: None }),
            [Ok(header), second] if header.id == id || !of_name(&second) => {
                Ok(Self { header, damaged_copy: Some(COPY_AT as u64) })
            }
            [_, Ok(header)] => Ok(Self { header, damaged_copy: Some(0) }),
            [Err(BadHeader::Damaged), Err(bad)] | [Err(bad), _] | [_, Err(bad)] => Err(bad),
        }
    }
}

impl FileHeader {
    /// Both copies, with the pages they stand in.
    pub fn encode_pages(&self) -> Vec<u8> {
        let mut pages = self.encode();
        pages.resize(COPY_AT, 0);
        pages.extend_from_within(..);
        pages
    }

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

    #[test]
    fn either_copy_of_a_header_will_do_and_the_other_is_known_to_be_damaged() {
        let header = FileHeader { store: [7; 16], id: 5, size: 1 << 20, first_lsn: 42, previous: None };
        let pages = header.encode_pages();
        assert_eq!(pages.len() as u64, HEADER_PAGE);
        assert_eq!(FoundHeader::read(&pages, 5), Ok(FoundHeader { header, damaged_copy: None }));
        for at in [0, COPY_AT] {
            let mut damaged = pages.clone();
            damaged[at + 20] ^= 1;
            assert_eq!(FoundHeader::read(&damaged, 5), Ok(FoundHeader { header, damaged_copy: Some(at as u64) }));
        }
        let mut damaged = pages.clone();
        [20, COPY_AT + 20].iter().for_each(|&at| damaged[at] ^= 1);
        assert_eq!(FoundHeader::read(&damaged, 5), Err(BadHeader::Damaged));
        let other = FileHeader { id: 4, ..header };
        let mixed = [&other.encode_pages()[..COPY_AT], &pages[COPY_AT..]].concat();
        assert_eq!(FoundHeader::read(&mixed, 5), Ok(FoundHeader { header, damaged_copy: Some(0) }));
    }
}
