//! The sorted list of a segment's traces, in pages.
//!
//! A page is compressed and checksummed by itself and has its own strings, so that a look-up reads one page and a damaged
//! one costs the traces between its neighbours only. The directory index names each page's first trace.

use super::facts::{Facts, Mark};
use super::{Codec, facts};
use crate::model::wire::put_varint;
use crate::model::{TraceId, time::Nanos};
use crate::storage::codec::{Decoder, Malformed, crc, put_prefixed, put_signed};
use std::collections::HashMap;

/// Entries of a page; the last one may have fewer.
pub const PAGE_ENTRIES: usize = 512;
/// Bytes of a page's header.
pub const PAGE_HEADER: usize = 20;

/// One trace of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectoryEntry {
    pub trace_id: TraceId,
    /// Ordinal of the block its run is in, or of the first of the blocks that hold a piece of it each.
    pub block: u32,
    pub blocks: u32,
    pub facts: Facts,
    pub mark: Mark,
}

/// Where a page lies and what it begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRef {
    pub first: TraceId,
    pub offset: u64,
    pub length: u32,
    pub entries: u32,
}

/// The bytes of one page.
pub fn encode_page(entries: &[DirectoryEntry], codec: Codec) -> Vec<u8> {
    let mut strings = Strings::default();
    let mut body = Vec::new();
    let base = PageBase::of(entries);
    entries.iter().for_each(|entry| put_entry(&mut body, entry, &base, &mut strings));
    let mut raw = Vec::with_capacity(body.len());
    put_varint(&mut raw, strings.list.len() as u64);
    strings.list.iter().for_each(|text| put_prefixed(&mut raw, text.as_bytes()));
    [base.start, base.received].into_iter().for_each(|number| put_varint(&mut raw, number));
    raw.extend_from_slice(&body);
    let (codec, packed) = codec.compress(&raw);

    let mut out = vec![0; 4];
    out.extend_from_slice(&((PAGE_HEADER + packed.len()) as u32).to_le_bytes());
    out.extend_from_slice(&[codec as u8, 0, 0, 0]);
    out.extend_from_slice(&(raw.len() as u32).to_le_bytes());
    out.extend_from_slice(&(entries.len() as u32).to_le_bytes());
    out.extend_from_slice(&packed);
    let crc = crc(&[out.get(4..).unwrap_or_default()]);
    out.splice(..4, crc.to_le_bytes());
    out
}

/// Times that the entries of a page are relative to.
struct PageBase {
    start: Nanos,
    received: Nanos,
}

impl PageBase {
    fn of(entries: &[DirectoryEntry]) -> Self {
        let least = |of: fn(&Facts) -> Nanos| entries.iter().map(|entry| of(&entry.facts)).min().unwrap_or(0);
        Self { start: least(|facts| facts.min_start), received: least(|facts| facts.first_received) }
    }
}

/// The strings of a page, each once.
#[derive(Default)]
struct Strings {
    indices: HashMap<String, u64>,
    list: Vec<String>,
}

impl Strings {
    fn index(&mut self, text: &str) -> u64 {
        if let Some(&index) = self.indices.get(text) {
            return index;
        }
        let index = self.list.len() as u64;
        self.list.push(text.to_owned());
        self.indices.insert(text.to_owned(), index);
        index
    }
}

fn put_entry(out: &mut Vec<u8>, entry: &DirectoryEntry, base: &PageBase, strings: &mut Strings) {
    let facts = &entry.facts;
    out.extend_from_slice(&entry.trace_id.0);
    for number in [entry.block.into(), entry.blocks.into(), facts.rows.into(), facts.bytes, facts.errors.into()] {
        put_varint(out, number);
    }
    put_varint(out, facts.min_start.wrapping_sub(base.start));
    put_signed(out, facts.max_end.wrapping_sub(facts.min_start) as i64);
    put_varint(out, facts.first_received.wrapping_sub(base.received));
    put_varint(out, facts.last_received.wrapping_sub(facts.first_received));
    let (service, name) = (strings.index(&facts.root_service), strings.index(&facts.root_name));
    [service, name, facts.root_duration].into_iter().for_each(|number| put_varint(out, number));
    put_varint(out, facts.services.len() as u64);
    facts.services.iter().for_each(|service| put_varint(out, strings.index(service)));
    // Most randomness is that of the id and need not be stored.
    put_varint(out, facts.randomness ^ facts::random_of_id(entry.trace_id));
    put_varint(out, facts.flags.into());
    put_mark(out, &entry.mark, strings);
}

const UNJUDGED: u8 = 0;
const KEPT: u8 = 1;

fn put_mark(out: &mut Vec<u8>, mark: &Mark, strings: &mut Strings) {
    match mark {
        Mark::Unjudged { not_before, failures } => {
            out.push(UNJUDGED);
            put_varint(out, *not_before);
            put_varint(out, (*failures).into());
        }
        Mark::Kept { reason, policy, late, shadow_drop } => {
            out.push(KEPT);
            put_varint(out, strings.index(reason));
            put_varint(out, (*policy).into());
            out.push(u8::from(*late) | u8::from(*shadow_drop) << 1);
        }
    }
}

/// Reads a page.
pub fn decode_page(bytes: &[u8]) -> Result<Vec<DirectoryEntry>, &'static str> {
    let mut header = Decoder::new(bytes);
    let stored = header.u32().map_err(|_| "directory page cut short")?;
    if stored != crc(&[header.rest()]) {
        return Err("directory page checksum does not match");
    }
    decode_checked(header).map_err(|_| "malformed directory page")
}

fn decode_checked(mut header: Decoder<'_>) -> Result<Vec<DirectoryEntry>, Malformed> {
    header.u32()?;
    let codec = header.u8()?;
    header.bytes(3)?;
    let (raw_len, count) = (header.u32()? as usize, header.u32()? as usize);
    let codec = Codec::from_u8(codec).ok_or(header.malformed())?;
    let raw = codec.decompress(header.rest(), raw_len).ok_or(header.malformed())?;
    let mut page = Decoder::new(&raw);
    let mut strings = Vec::new();
    for _ in 0..page.small::<usize>()? {
        strings.push(page.text()?);
    }
    let base = PageBase { start: page.varint()?, received: page.varint()? };
    let mut entries = Vec::new();
    for _ in 0..count {
        entries.push(get_entry(&mut page, &base, &strings)?);
    }
    Ok(entries)
}

fn get_entry(page: &mut Decoder<'_>, base: &PageBase, strings: &[&str]) -> Result<DirectoryEntry, Malformed> {
    let trace_id = TraceId(page.array()?);
    let (block, blocks) = (page.small()?, page.small()?);
    let mut facts = Facts { rows: page.small()?, bytes: page.varint()?, errors: page.small()?, ..Facts::default() };
    facts.min_start = base.start.wrapping_add(page.varint()?);
    facts.max_end = facts.min_start.wrapping_add(page.signed()? as u64);
    facts.first_received = base.received.wrapping_add(page.varint()?);
    facts.last_received = facts.first_received.wrapping_add(page.varint()?);
    facts.root_service = get_string(page, strings)?;
    facts.root_name = get_string(page, strings)?;
    facts.root_duration = page.varint()?;
    for _ in 0..page.small::<usize>()? {
        facts.services.push(get_string(page, strings)?);
    }
    facts.randomness = page.varint()? ^ facts::random_of_id(trace_id);
    facts.flags = page.small()?;
    let mark = get_mark(page, strings)?;
    Ok(DirectoryEntry { trace_id, block, blocks, facts, mark })
}

fn get_mark(page: &mut Decoder<'_>, strings: &[&str]) -> Result<Mark, Malformed> {
    match page.u8()? {
        UNJUDGED => Ok(Mark::Unjudged { not_before: page.varint()?, failures: page.small()? }),
        KEPT => {
            let (reason, policy, flags) = (get_string(page, strings)?, page.small()?, page.u8()?);
            Ok(Mark::Kept { reason, policy, late: flags & 1 != 0, shadow_drop: flags & 2 != 0 })
        }
        _ => Err(page.malformed()),
    }
}

fn get_string(page: &mut Decoder<'_>, strings: &[&str]) -> Result<String, Malformed> {
    let index: usize = page.small()?;
    strings.get(index).map(|text| (*text).to_owned()).ok_or(page.malformed())
}

/// The directory index as stored.
pub fn encode_index(pages: &[PageRef]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, pages.len() as u64);
    for page in pages {
        out.extend_from_slice(&page.first.0);
        [page.offset, page.length.into(), page.entries.into()]
            .into_iter()
            .for_each(|number| put_varint(&mut out, number));
    }
    out
}

pub fn decode_index(raw: &[u8]) -> Result<Vec<PageRef>, Malformed> {
    let mut fields = Decoder::new(raw);
    let mut pages = Vec::new();
    for _ in 0..fields.small::<usize>()? {
        let first = TraceId(fields.array()?);
        pages.push(PageRef { first, offset: fields.varint()?, length: fields.small()?, entries: fields.small()? });
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<DirectoryEntry> {
        let facts = Facts {
            rows: 3,
            bytes: 900,
            errors: 1,
            min_start: 1_000,
            max_end: 10,
            first_received: 5,
            last_received: 9,
            root_service: "shop".into(),
            root_name: "GET /".into(),
            root_duration: 7,
            services: vec!["cart".into(), "shop".into()],
            randomness: 42,
            flags: facts::END_BEFORE_START,
        };
        let kept = Mark::Kept { reason: "error".into(), policy: 2, late: true, shadow_drop: false };
        let first =
            DirectoryEntry { trace_id: TraceId([1; 16]), block: 0, blocks: 1, facts: facts.clone(), mark: kept };
        let mark = Mark::Unjudged { not_before: 77, failures: 3 };
        let second = DirectoryEntry { trace_id: TraceId([2; 16]), block: 1, blocks: 4, facts, mark };
        vec![first, second]
    }

    #[test]
    fn a_page_reads_back_as_written_with_either_codec() {
        for codec in [Codec::None, Codec::Lz4] {
            assert_eq!(decode_page(&encode_page(&entries(), codec)), Ok(entries()));
        }
    }

    #[test]
    fn any_flipped_byte_of_a_page_is_noticed() {
        let page = encode_page(&entries(), Codec::Lz4);
        for at in 0..page.len() {
            let mut damaged = page.clone();
            damaged[at] ^= 0x10;
            assert!(decode_page(&damaged).is_err(), "byte {at}");
        }
    }
}
