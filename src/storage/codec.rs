//! Numbers and bytes in the store's own formats: little-endian, or base-128 where most are small.

use crate::model::wire::put_varint;

/// Bytes that end early or make no sense where they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed at byte {0}")]
pub struct Malformed(pub usize);

/// Reads a format from front to back.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    pub fn malformed(&self) -> Malformed {
        Malformed(self.at)
    }

    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(count).ok_or(Malformed(self.at))?;
        let bytes = self.bytes.get(self.at..end).ok_or(Malformed(self.at))?;
        self.at = end;
        Ok(bytes)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let at = self.at;
        self.bytes(N)?.try_into().map_err(|_| Malformed(at))
    }

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    #[inline]
    pub fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(Malformed(self.at))?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed(self.at))
    }

    /// A base-128 number that must fit `T`.
    #[inline]
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Malformed> {
        let at = self.at;
        T::try_from(self.varint()?).map_err(|_| Malformed(at))
    }

    /// A signed number, zigzag.
    #[inline]
    pub fn signed(&mut self) -> Result<i64, Malformed> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A length, then that many bytes.
    pub fn prefixed(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.small()?;
        self.bytes(length)
    }

    /// Text with its length before it.
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        let at = self.at;
        std::str::from_utf8(self.prefixed()?).map_err(|_| Malformed(at))
    }
}

/// Appends a signed number, zigzag.
#[inline]
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends bytes with their length before them.
pub fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// CRC-32 (IEEE) of some pieces, one after the other.
pub fn crc(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}
