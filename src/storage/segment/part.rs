//! The frame that every part of a segment has: a file whose footer is lost can still be gone through, and damage costs
//! only the part it hit.
//!
//! `crc · length · kind · codec · flags · raw length · head length`, the head as it is, the rest packed.

use super::{Codec, SectionKind};
use crate::storage::codec::{Decoder, crc};

/// Bytes before a part's head.
pub const PART_HEADER: usize = 20;
/// No part is larger, packed or not: a larger claim is damage and nothing is allocated for it.
pub const LARGEST_PART: usize = 1 << 30;

/// A part read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    pub kind: SectionKind,
    pub flags: u8,
    /// What is not packed.
    pub head: &'a [u8],
    pub raw: Vec<u8>,
}

/// The part's bytes make no part, or one of a version to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadPart(pub &'static str);

/// Makes parts, all with one codec.
pub struct Packer {
    codec: Codec,
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl Packer {
    pub fn new(codec: Codec) -> Self {
        let zstd = (codec == Codec::Zstd).then(|| zstd::bulk::Compressor::new(super::ZSTD_LEVEL).ok()).flatten();
        Self { codec, zstd }
    }

    /// The bytes of a part. What does not get smaller is stored as it is.
    pub fn part(&mut self, kind: SectionKind, flags: u8, head: &[u8], raw: &[u8]) -> Vec<u8> {
        let packed = self.pack(raw).filter(|packed| packed.len() < raw.len());
        let (codec, body) = packed.as_deref().map_or((Codec::None, raw), |packed| (self.codec, packed));
        let length = PART_HEADER + head.len() + body.len();
        let mut out = Vec::with_capacity(length);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(length as u32).to_le_bytes());
        out.extend_from_slice(&[kind.0, codec as u8, flags, 0]);
        out.extend_from_slice(&(raw.len() as u32).to_le_bytes());
        out.extend_from_slice(&(head.len() as u32).to_le_bytes());
        out.extend_from_slice(head);
        out.extend_from_slice(body);
        let crc = crc(&[out.get(4..).unwrap_or_default()]).to_le_bytes();
        out.iter_mut().zip(crc).for_each(|(to, from)| *to = from);
        out
    }

    fn pack(&mut self, raw: &[u8]) -> Option<Vec<u8>> {
        match self.codec {
            Codec::None => None,
            Codec::Lz4 => Some(lz4_flex::block::compress(raw)),
            Codec::Zstd => self.zstd.as_mut()?.compress(raw).ok(),
        }
    }
}

/// The length that a part's first bytes claim, if they look like a part at all.
pub fn claimed_length(header: &[u8]) -> Option<usize> {
    let mut fields = Decoder::new(header.get(..PART_HEADER)?);
    fields.u32().ok()?;
    let length = fields.u32().ok()? as usize;
    let (kind, codec) = (fields.u8().ok()?, fields.u8().ok()?);
    let head = Decoder::new(header.get(16..)?).u32().ok()? as usize;
    let plausible = (PART_HEADER..=LARGEST_PART).contains(&length) && head <= length - PART_HEADER;
    (plausible && SectionKind(kind).is_known() && Codec::from_u8(codec).is_some()).then_some(length)
}

impl<'a> Part<'a> {
    /// Checks and unpacks a part, given exactly its bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, BadPart> {
        let Checked { kind, codec, flags, head, packed, raw_length } = Checked::read(bytes)?;
        let codec = Codec::from_u8(codec).ok_or(BadPart("packed by a newer version"))?;
        let raw = codec.decompress(packed, raw_length).ok_or(BadPart("does not unpack"))?;
        Ok(Self { kind, flags, head, raw })
    }

    /// What a part holds, given bytes whose checksum is known to fit.
    pub fn kind_of(bytes: &[u8]) -> Option<SectionKind> {
        bytes.get(8).map(|kind| SectionKind(*kind))
    }

    /// How it is packed, given the same.
    pub fn codec_of(bytes: &[u8]) -> Option<Codec> {
        bytes.get(9).and_then(|codec| Codec::from_u8(*codec))
    }

    /// The head of a part alone. The whole part is checked and nothing is unpacked.
    pub fn head_of(bytes: &'a [u8]) -> Result<&'a [u8], BadPart> {
        Ok(Checked::read(bytes)?.head)
    }
}

/// A part whose checksum fits.
struct Checked<'a> {
    kind: SectionKind,
    codec: u8,
    flags: u8,
    head: &'a [u8],
    packed: &'a [u8],
    raw_length: usize,
}

impl<'a> Checked<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, BadPart> {
        let short = |_| BadPart("part cut short");
        let mut fields = Decoder::new(bytes);
        if fields.u32().map_err(short)? != crc(&[fields.rest()]) {
            return Err(BadPart("checksum does not match"));
        }
        if fields.u32().map_err(short)? as usize != bytes.len() {
            return Err(BadPart("length does not match"));
        }
        let [kind, codec, flags, _] = fields.array().map_err(short)?;
        let (raw_length, head_length) = (fields.u32().map_err(short)? as usize, fields.u32().map_err(short)? as usize);
        let head = fields.bytes(head_length).map_err(short)?;
        Ok(Self { kind: SectionKind(kind), codec, flags, head, packed: fields.rest(), raw_length })
    }
}
