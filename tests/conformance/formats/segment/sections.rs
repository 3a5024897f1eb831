//! Filter, names and index sections.

use super::{Cursor, File, Trace, golden};
use std::cmp::Reverse;
use xxhash_rust::xxh3::xxh3_64;

/// Parquet's salts.
const SALTS: [u32; 8] =
    [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];

pub fn check(file: &File<'_>, traces: &[Trace]) {
    let filter = file.section(6);
    traces.iter().for_each(|trace| assert!(claims(&filter, &trace.id.0)));
    check_names(&file.section(7));
    let facts = |trace: &Trace| (trace.facts.min_start, trace.facts.max_end);
    let latencies = traces.iter().map(|trace| facts(trace).1.saturating_sub(facts(trace).0));
    assert_eq!(index(&file.section(8)), ordered(latencies));
    assert_eq!(index(&file.section(9)), ordered(traces.iter().map(|trace| facts(trace).0)));
}

fn claims(filter: &[u8], id: &[u8; 16]) -> bool {
    let hash = xxh3_64(id);
    let blocks = filter.len() as u64 / 32;
    assert_eq!(filter.len() % 32, 0);
    let block = ((hash >> 32) * blocks >> 32) as usize * 32;
    SALTS.iter().enumerate().all(|(index, salt)| {
        let at = block + index * 4;
        let word = u32::from_le_bytes(filter[at..at + 4].try_into().unwrap());
        word >> ((hash as u32).wrapping_mul(*salt) >> 27) & 1 == 1
    })
}

fn check_names(raw: &[u8]) {
    let expected = golden::names();
    let mut fields = Cursor(raw);
    assert_eq!(fields.byte(), 0, "nothing was left out");
    assert_eq!(fields.varint() as usize, expected.operations.len());
    for operation in &expected.operations {
        assert_eq!((fields.text(), fields.text(), fields.varint() as u32 as i32), *operation);
    }
    assert_eq!(fields.varint() as usize, expected.attributes.len());
    for (key, types) in &expected.attributes {
        assert_eq!((&fields.text(), &fields.byte()), (key, types));
    }
    assert!(fields.0.is_empty());
}

/// Keys and ordinals as stored.
fn index(raw: &[u8]) -> Vec<(u64, u64)> {
    let mut fields = Cursor(raw);
    let count = fields.varint() as usize;
    let mut key = fields.varint();
    let mut step = || {
        key -= fields.varint();
        key
    };
    let keys: Vec<_> = (0..count).map(|_| step()).collect();
    let mut ordinals = vec![0; count];
    for _ in 0..fields.byte() {
        fields
            .bytes(count)
            .iter()
            .zip(&mut ordinals)
            .for_each(|(byte, ordinal)| *ordinal = *ordinal << 8 | u64::from(*byte));
    }
    assert!(fields.0.is_empty());
    keys.into_iter().zip(ordinals).collect()
}

fn ordered(keys: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut entries: Vec<_> = keys.zip(0..).collect();
    entries.sort_by_key(|(key, ordinal)| (Reverse(*key), *ordinal));
    entries
}
