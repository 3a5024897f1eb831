//! A segment's traces ordered by one of their facts, greatest first, in pages: `find` reads only as far as it needs.
//!
//! One entry a trace, not a row: searches rank traces.

use super::DirectoryEntry;
use crate::model::wire::put_varint;
use crate::storage::codec::{Decoder, Malformed};

/// Entries of a page; the last one may have fewer.
pub const INDEX_PAGE: usize = 4096;

/// What traces are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexKind {
    /// From the least start to the greatest end.
    Latency,
    /// The least start.
    StartTime,
}

impl IndexKind {
    pub fn key(self, entry: &DirectoryEntry) -> u64 {
        let facts = &entry.facts;
        match self {
            Self::Latency => facts.max_end.saturating_sub(facts.min_start),
            Self::StartTime => facts.min_start,
        }
    }
}

/// A key and the trace that has it, by its place in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexEntry {
    pub key: u64,
    pub ordinal: u32,
}

/// Orders entries as they are stored: greatest key first, then in directory order.
pub fn sort(entries: &mut [IndexEntry]) {
    entries.sort_unstable_by_key(|entry| (std::cmp::Reverse(entry.key), entry.ordinal));
}

/// The raw bytes of a page: its greatest key, then the steps down, then the ordinals.
pub fn encode(entries: &[IndexEntry]) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.len() * 6 + 16);
    put_varint(&mut out, entries.len() as u64);
    let first = entries.first().map_or(0, |entry| entry.key);
    put_varint(&mut out, first);
    let mut above = first;
    for entry in entries {
        put_varint(&mut out, above.wrapping_sub(entry.key));
        above = entry.key;
    }
    let widest = entries.iter().map(|entry| entry.ordinal).max().unwrap_or(0);
    let bytes = (32 - widest.leading_zeros()).div_ceil(8).max(1) as usize;
    out.push(bytes as u8);
    // One column a byte: the high ones pack well where ordinals are small.
    for place in (0..bytes).rev() {
        out.extend(entries.iter().map(|entry| (entry.ordinal >> (8 * place)) as u8));
    }
    out
}

/// Reads a page; `traces` is how many the segment has, every ordinal below it.
pub fn decode(raw: &[u8], traces: u64) -> Result<Vec<IndexEntry>, Malformed> {
    let mut fields = Decoder::new(raw);
    let count: usize = fields.small()?;
    if count > raw.len() {
        return Err(fields.malformed());
    }
    let mut key = fields.varint()?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        key = key.checked_sub(fields.varint()?).ok_or(fields.malformed())?;
        entries.push(IndexEntry { key, ordinal: 0 });
    }
    for _ in 0..fields.u8()?.min(4) {
        let column = fields.bytes(count)?;
        for (entry, byte) in entries.iter_mut().zip(column) {
            entry.ordinal = entry.ordinal << 8 | u32::from(*byte);
        }
    }
    let sound = fields.is_empty() && entries.iter().all(|entry| u64::from(entry.ordinal) < traces);
    if sound { Ok(entries) } else { Err(fields.malformed()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_back_in_order() {
        let key = |ordinal: u32| u64::from(ordinal.wrapping_mul(0x9e37_79b9)) << 20;
        let mut entries: Vec<_> = (0..70_000).map(|ordinal| IndexEntry { key: key(ordinal), ordinal }).collect();
        sort(&mut entries);
        assert_eq!(decode(&encode(&entries), 70_000), Ok(entries.clone()));
        assert!(decode(&encode(&entries), 69_999).is_err(), "an ordinal beyond the directory");
        assert_eq!(decode(&encode(&[]), 0), Ok(Vec::new()));
    }
}
