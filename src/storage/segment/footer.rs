//! The end of a segment: what it holds and where its sections are.

use super::{END_MAGIC, VERSION};
use crate::model::{TraceId, time::Nanos};
use crate::storage::codec::{Decoder, Malformed, crc};

/// Bytes behind the footer that say where it begins: length, checksum, magic.
pub const TRAILER_SIZE: usize = 16;

/// What a part holds. A reader skips kinds it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SectionKind(pub u8);

impl SectionKind {
    pub const BLOCK_INDEX: Self = Self(1);
    /// A page of the directory.
    pub const DIRECTORY: Self = Self(2);
    pub const DIRECTORY_INDEX: Self = Self(3);
    pub const RESOURCES: Self = Self(4);
    pub const SCOPES: Self = Self(5);
    /// Trace-id filter.
    pub const FILTER: Self = Self(6);
    /// (service, operation, kind) and attribute keys.
    pub const NAMES: Self = Self(7);
    /// Traces by latency.
    pub const LATENCY_INDEX: Self = Self(8);
    /// Traces by start time.
    pub const START_TIME_INDEX: Self = Self(9);
    pub const BLOCK: Self = Self(10);

    pub fn is_known(self) -> bool {
        (Self::BLOCK_INDEX..=Self::BLOCK).contains(&self)
    }
}

/// One row of the section table: where a part that is neither block nor directory page lies. Tables and indexes have
/// several, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    pub kind: SectionKind,
    pub offset: u64,
    pub length: u64,
}

/// What a segment says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footer {
    pub id: u64,
    pub store: [u8; 16],
    /// Lowest and highest LSN of its rows.
    pub lsns: (u64, u64),
    pub received: (Nanos, Nanos),
    /// Least start and greatest end of its spans.
    pub times: (Nanos, Nanos),
    pub trace_ids: (TraceId, TraceId),
    pub rows: u64,
    pub traces: u64,
    pub blocks: u64,
    /// Bytes of the bodies before compression.
    pub body_bytes: u64,
    /// Traces without a verdict.
    pub unjudged: u64,
    /// Wrapping sum over all rows of a hash of keys and body: the ledger's checksum, independent of order.
    pub checksum: u64,
    /// Ids of the segments that a merge made this one from; none for a seal.
    pub inputs: Vec<u64>,
    pub sections: Vec<Section>,
}

/// Why bytes are no footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadFooter {
    Damaged(&'static str),
    Version(u32),
}

impl From<Malformed> for BadFooter {
    fn from(_: Malformed) -> Self {
        Self::Damaged("malformed footer")
    }
}

impl Footer {
    /// The footer and its trailer.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(self.sections.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.inputs.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.store);
        for (low, high) in [self.lsns, self.received, self.times] {
            out.extend_from_slice(&low.to_le_bytes());
            out.extend_from_slice(&high.to_le_bytes());
        }
        out.extend_from_slice(&self.trace_ids.0.0);
        out.extend_from_slice(&self.trace_ids.1.0);
        let counts = [self.rows, self.traces, self.blocks, self.body_bytes, self.unjudged, self.checksum];
        counts.iter().for_each(|count| out.extend_from_slice(&count.to_le_bytes()));
        self.inputs.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
        self.sections.iter().for_each(|section| put_section(&mut out, section));
        let (length, crc) = (out.len() as u32, crc(&[&out]));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&END_MAGIC);
        out
    }

    /// Bytes of the footer that a trailer ends.
    pub fn length(trailer: &[u8]) -> Result<usize, BadFooter> {
        let mut fields = Decoder::new(trailer);
        let length = fields.u32()? as usize;
        fields.u32()?;
        if fields.array()? == END_MAGIC { Ok(length) } else { Err(BadFooter::Damaged("no end mark")) }
    }

    /// Reads a footer, given its bytes with the trailer.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadFooter> {
        let (body, trailer) = bytes.split_at_checked(bytes.len().saturating_sub(TRAILER_SIZE)).unwrap_or_default();
        let mut fields = Decoder::new(trailer);
        fields.u32()?;
        if fields.u32()? != crc(&[body]) {
            return Err(BadFooter::Damaged("footer checksum does not match"));
        }
        let mut fields = Decoder::new(body);
        let version = fields.u32()?;
        if version != VERSION {
            return Err(BadFooter::Version(version));
        }
        let (sections, inputs) = (fields.u32()?, fields.u32()?);
        let mut footer = Self { id: fields.u64()?, store: fields.array()?, ..Self::default() };
        footer.lsns = (fields.u64()?, fields.u64()?);
        footer.received = (fields.u64()?, fields.u64()?);
        footer.times = (fields.u64()?, fields.u64()?);
        footer.trace_ids = (TraceId(fields.array()?), TraceId(fields.array()?));
        (footer.rows, footer.traces, footer.blocks) = (fields.u64()?, fields.u64()?, fields.u64()?);
        (footer.body_bytes, footer.unjudged, footer.checksum) = (fields.u64()?, fields.u64()?, fields.u64()?);
        for _ in 0..inputs {
            footer.inputs.push(fields.u64()?);
        }
        for _ in 0..sections {
            footer.sections.push(get_section(&mut fields)?);
        }
        Ok(footer)
    }

    /// The parts of a kind, in order.
    pub fn sections_of(&self, kind: SectionKind) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(move |section| section.kind == kind)
    }
}

fn put_section(out: &mut Vec<u8>, section: &Section) {
    out.extend_from_slice(&u32::from(section.kind.0).to_le_bytes());
    [section.offset, section.length].iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

fn get_section(fields: &mut Decoder<'_>) -> Result<Section, BadFooter> {
    let [kind, _, _, _] = fields.array()?;
    Ok(Section { kind: SectionKind(kind), offset: fields.u64()?, length: fields.u64()? })
}
