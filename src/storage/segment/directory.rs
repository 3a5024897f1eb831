//! The sorted list of a segment's traces, in pages.
//!
//! A page is compressed and checksummed by itself and has its own strings, so that a look-up reads one page and a damaged
//! one costs the traces between its neighbours only. Ids stand unpacked in front; every other field is a column. The
//! directory index names each page's first trace.

use super::facts::{Facts, Mark};
use super::part::{BadPart, Packer, Part};
use super::{SectionKind, facts};
use crate::model::TraceId;
use crate::model::wire::put_varint;
use crate::storage::codec::{Decoder, Malformed, put_prefixed, put_signed};
use std::collections::HashMap;

/// Entries of a page; the last one may have fewer.
pub const PAGE_ENTRIES: usize = 512;

/// Received times are whole milliseconds where the store gave them.
const MILLISECOND: u64 = 1_000_000;

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
pub fn encode_page(entries: &[DirectoryEntry], packer: &mut Packer) -> Vec<u8> {
    let mut head = (entries.len() as u32).to_le_bytes().to_vec();
    head.extend(entries.iter().flat_map(|entry| entry.trace_id.0));
    put_times(&mut head, entries);
    let mut strings = Dictionary::default();
    let mut lists = Dictionary::default();
    let columns = encode_columns(entries, &mut strings, &mut lists);
    let mut raw = Vec::with_capacity(columns.len() * 2);
    put_varint(&mut raw, strings.list.len() as u64);
    strings.list.iter().for_each(|text: &String| put_prefixed(&mut raw, text.as_bytes()));
    put_varint(&mut raw, lists.list.len() as u64);
    for list in &lists.list {
        put_varint(&mut raw, list.len() as u64);
        list.iter().for_each(|&index| put_varint(&mut raw, index));
    }
    raw.extend_from_slice(&columns);
    packer.part(SectionKind::DIRECTORY, 0, &head, &raw)
}

/// Values that a page refers to by number, each once.
struct Dictionary<T> {
    indices: HashMap<T, u64>,
    list: Vec<T>,
}

impl<T> Default for Dictionary<T> {
    fn default() -> Self {
        Self { indices: HashMap::new(), list: Vec::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Dictionary<T> {
    fn index<Q: Eq + std::hash::Hash + ToOwned<Owned = T> + ?Sized>(&mut self, value: &Q) -> u64
    where
        T: std::borrow::Borrow<Q>,
    {
        if let Some(&index) = self.indices.get(value) {
            return index;
        }
        let index = self.list.len() as u64;
        self.list.push(value.to_owned());
        self.indices.insert(value.to_owned(), index);
        index
    }
}

/// The columns, one behind the other. Most values are small next to the one they are a difference to.
fn encode_columns(
    entries: &[DirectoryEntry],
    strings: &mut Dictionary<String>,
    lists: &mut Dictionary<Vec<u64>>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut column = |of: &mut dyn FnMut(&DirectoryEntry, &mut Vec<u8>)| {
        entries.iter().for_each(|entry| of(entry, &mut out));
    };
    let mut block = 0;
    column(&mut |entry, out| {
        put_varint(out, u64::from(entry.block.wrapping_sub(block)));
        block = entry.block;
    });
    column(&mut |entry, out| put_varint(out, entry.blocks.into()));
    column(&mut |entry, out| put_varint(out, entry.facts.rows.into()));
    column(&mut |entry, out| put_varint(out, entry.facts.bytes));
    column(&mut |entry, out| put_varint(out, entry.facts.errors.into()));
    column(&mut |entry, out| put_varint(out, entry.facts.flags.into()));
    column(&mut |entry, out| put_varint(out, strings.index(&*entry.facts.root_service)));
    column(&mut |entry, out| put_varint(out, strings.index(&*entry.facts.root_name)));
    column(&mut |entry, out| {
        let list: Vec<_> = entry.facts.services.iter().map(|service| strings.index(&**service)).collect();
        put_varint(out, lists.index(&*list));
    });
    column(&mut |entry, out| put_varint(out, entry.facts.randomness ^ facts::random_of_id(entry.trace_id)));
    column(&mut |entry, out| put_mark(out, &entry.mark, strings));
    column(&mut |entry, out| put_signed(out, entry.facts.root_duration.wrapping_sub(envelope(&entry.facts)) as i64));
    out
}

/// Times, next to random and therefore not packed: start, envelope, first and last received.
fn put_times(out: &mut Vec<u8>, entries: &[DirectoryEntry]) {
    let (start, received) = bases(entries);
    let whole = |time: u64| time.is_multiple_of(MILLISECOND);
    let unit = match entries.iter().all(|of| whole(of.facts.first_received) && whole(of.facts.last_received)) {
        true => MILLISECOND,
        false => 1,
    };
    [start, received / unit, unit].into_iter().for_each(|number| put_varint(out, number));
    for Facts { min_start, max_end, first_received, last_received, .. } in entries.iter().map(|entry| &entry.facts) {
        put_varint(out, min_start.wrapping_sub(start));
        put_signed(out, max_end.wrapping_sub(*min_start) as i64);
        put_varint(out, (first_received / unit).wrapping_sub(received / unit));
        put_signed(out, (last_received / unit).wrapping_sub(first_received / unit) as i64);
    }
}

fn get_times(head: &mut Decoder<'_>, entries: &mut [DirectoryEntry]) -> Result<(), Malformed> {
    let (start, received, unit) = (head.varint()?, head.varint()?, head.varint()?);
    for facts in entries.iter_mut().map(|entry| &mut entry.facts) {
        facts.min_start = start.wrapping_add(head.varint()?);
        facts.max_end = facts.min_start.wrapping_add(head.signed()? as u64);
        let first = received.wrapping_add(head.varint()?);
        let last = first.wrapping_add(head.signed()? as u64);
        (facts.first_received, facts.last_received) = (first.wrapping_mul(unit), last.wrapping_mul(unit));
    }
    if head.is_empty() { Ok(()) } else { Err(head.malformed()) }
}

/// From the least start to the greatest end; wraps where that ends first.
fn envelope(facts: &Facts) -> u64 {
    facts.max_end.wrapping_sub(facts.min_start)
}

/// Least start and least first received time: what the entries are relative to.
fn bases(entries: &[DirectoryEntry]) -> (u64, u64) {
    let least = |of: fn(&Facts) -> u64| entries.iter().map(|entry| of(&entry.facts)).min().unwrap_or(0);
    (least(|facts| facts.min_start), least(|facts| facts.first_received))
}

const UNJUDGED: u8 = 0;
const KEPT: u8 = 1;

fn put_mark(out: &mut Vec<u8>, mark: &Mark, strings: &mut Dictionary<String>) {
    match mark {
        Mark::Unjudged { not_before, failures } => {
            out.push(UNJUDGED);
            put_varint(out, *not_before);
            put_varint(out, (*failures).into());
        }
        Mark::Kept { reason, policy, late, shadow_drop } => {
            out.push(KEPT);
            put_varint(out, strings.index(&**reason));
            put_varint(out, (*policy).into());
            out.push(u8::from(*late) | u8::from(*shadow_drop) << 1);
        }
    }
}

/// The ids of a page alone: checked, but without unpacking the rest.
pub fn decode_ids(bytes: &[u8]) -> Result<Vec<TraceId>, BadPart> {
    get_ids(&mut Decoder::new(Part::head_of(bytes)?)).map_err(|_| BadPart("malformed directory page"))
}

fn get_ids(head: &mut Decoder<'_>) -> Result<Vec<TraceId>, Malformed> {
    let count = head.u32()? as usize;
    let ids = head.bytes(count.saturating_mul(16))?;
    Ok(ids.as_chunks::<16>().0.iter().map(|id| TraceId(*id)).collect())
}

/// Reads a page.
pub fn decode_page(bytes: &[u8]) -> Result<Vec<DirectoryEntry>, BadPart> {
    let part = Part::decode(bytes)?;
    decode_checked(&part).map_err(|_| BadPart("malformed directory page"))
}

fn decode_checked(part: &Part<'_>) -> Result<Vec<DirectoryEntry>, Malformed> {
    let mut page = Decoder::new(&part.raw);
    let mut strings = Vec::new();
    for _ in 0..page.small::<usize>()? {
        strings.push(page.text()?);
    }
    let mut lists = Vec::new();
    for _ in 0..page.small::<usize>()? {
        let mut list = Vec::new();
        for _ in 0..page.small::<usize>()? {
            list.push(get_string(&mut page, &strings)?);
        }
        lists.push(list);
    }
    let mut head = Decoder::new(part.head);
    let entry = |trace_id| DirectoryEntry { trace_id, ..DirectoryEntry::default() };
    let mut entries: Vec<_> = get_ids(&mut head)?.into_iter().map(entry).collect();
    get_times(&mut head, &mut entries)?;
    decode_columns(&mut page, &mut entries, &strings, &lists)?;
    if page.is_empty() { Ok(entries) } else { Err(page.malformed()) }
}

/// All packed columns; the times are there.
fn decode_columns(
    page: &mut Decoder<'_>,
    entries: &mut [DirectoryEntry],
    strings: &[&str],
    lists: &[Vec<String>],
) -> Result<(), Malformed> {
    let mut block = 0u32;
    for entry in entries.iter_mut() {
        block = block.wrapping_add(page.small()?);
        entry.block = block;
    }
    for entry in entries.iter_mut() {
        entry.blocks = page.small()?;
    }
    for entry in entries.iter_mut() {
        entry.facts.rows = page.small()?;
    }
    for entry in entries.iter_mut() {
        entry.facts.bytes = page.varint()?;
    }
    for entry in entries.iter_mut() {
        entry.facts.errors = page.small()?;
    }
    for entry in entries.iter_mut() {
        entry.facts.flags = page.small()?;
    }
    for entry in entries.iter_mut() {
        entry.facts.root_service = get_string(page, strings)?;
    }
    for entry in entries.iter_mut() {
        entry.facts.root_name = get_string(page, strings)?;
    }
    for entry in entries.iter_mut() {
        let list: usize = page.small()?;
        entry.facts.services = lists.get(list).cloned().ok_or(page.malformed())?;
    }
    for entry in entries.iter_mut() {
        entry.facts.randomness = page.varint()? ^ facts::random_of_id(entry.trace_id);
    }
    for entry in entries.iter_mut() {
        entry.mark = get_mark(page, strings)?;
    }
    for entry in entries.iter_mut() {
        entry.facts.root_duration = envelope(&entry.facts).wrapping_add(page.signed()? as u64);
    }
    Ok(())
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
    use crate::storage::segment::Codec;

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
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
            assert_eq!(decode_page(&encode_page(&entries(), &mut Packer::new(codec))), Ok(entries()));
        }
    }

    #[test]
    fn any_flipped_byte_of_a_page_is_noticed() {
        let page = encode_page(&entries(), &mut Packer::new(Codec::Lz4));
        for at in 0..page.len() {
            let mut damaged = page.clone();
            damaged[at] ^= 0x10;
            assert!(decode_page(&damaged).is_err(), "byte {at}");
        }
    }
}
