//! Protobuf primitives over borrowed bytes. Nothing here trusts a length.

use thiserror::Error;

/// Groups, and values inside values, may nest this deep; deeper is refused before the stack is at risk.
pub const MAX_DEPTH: u32 = 100;

/// Bytes that are no OTLP request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not an OTLP trace request: {what} at byte {at}")]
pub struct WireError {
    pub what: &'static str,
    pub at: usize,
}

/// The value of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
    /// A group, skipped.
    Group,
}

/// Reads fields one after the other from one message.
#[derive(Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where `bytes` begins in the whole request, for errors.
    base: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::within(bytes, 0)
    }

    /// A reader of a message that begins `base` bytes into the request.
    pub fn within(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, at: 0, base }
    }

    /// Offset of the next unread byte within this message.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Offset of the next unread byte in the whole request.
    pub fn offset(&self) -> usize {
        self.base + self.at
    }

    pub fn error(&self, what: &'static str) -> WireError {
        WireError { what, at: self.offset() }
    }

    /// The next field's number and value, or `None` at the end of the message.
    #[inline(always)]
    pub fn next_field(&mut self) -> Result<Option<(u32, Field<'a>)>, WireError> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let (number, wire_type) = self.tag()?;
        let value = match wire_type {
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => Field::Bytes(self.length_delimited()?),
            3 => self.skip_group(number, 1)?,
            5 => Field::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(self.error("unknown wire type")),
        };
        Ok(Some((number, value)))
    }

    #[inline(always)]
    fn tag(&mut self) -> Result<(u32, u8), WireError> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| self.error("field number too large"))?;
        if number == 0 || number > (1 << 29) - 1 {
            return Err(self.error("field number out of range"));
        }
        Ok((number, (tag & 7) as u8))
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64, WireError> {
        if let Some(&byte) = self.bytes.get(self.at)
            && byte < 0x80
        {
            self.at += 1;
            return Ok(byte.into());
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at) else {
                return Err(self.error("number cut short"));
            };
            self.at += 1;
            if shift == 63 && byte > 1 {
                return Err(self.error("number longer than 64 bits"));
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error("number longer than 64 bits"))
    }

    #[inline(always)]
    fn length_delimited(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.varint()?;
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(value) => {
                self.at += value.len();
                Ok(value)
            }
            None => Err(self.error("length beyond the end of its message")),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let value = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let value = *value.ok_or_else(|| self.error("number cut short"))?;
        self.at += N;
        Ok(value)
    }

    /// Skips to the end mark of group `number`. Iterative, so that depth costs no stack.
    fn skip_group(&mut self, number: u32, depth: u32) -> Result<Field<'a>, WireError> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            let (field, wire_type) = self.tag()?;
            match wire_type {
                0 => drop(self.varint()?),
                1 => drop(self.array::<8>()?),
                2 => drop(self.length_delimited()?),
                3 if open.len() as u32 + depth > MAX_DEPTH => return Err(self.error("groups nested too deep")),
                3 => open.push(field),
                4 if field == innermost => drop(open.pop()),
                5 => drop(self.array::<4>()?),
                _ => return Err(self.error("malformed group")),
            }
        }
        Ok(Field::Group)
    }
}
