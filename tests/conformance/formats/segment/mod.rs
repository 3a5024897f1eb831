//! The golden segment, from its trailer to its bodies.

mod blocks;
mod directory;
mod sections;

use super::check_golden;
use super::cursor::{Cursor, crc, unpack};
use super::golden::{self, BLOCK_SIZE, SEGMENT, STORE, Trace};
use super::tables::{Fields, Layout as Table};
use sluice::storage::segment::Segment;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

#[test]
fn the_golden_segment_is_written_byte_for_byte() {
    check_golden("v2.seg", &golden::segment());
}

#[test]
fn the_golden_segment_is_what_formats_md_says() {
    let (bytes, traces) = (golden::stored("v2.seg"), golden::traces());
    check_header(&bytes);
    let file = File::of(&bytes);
    check_footer(&file.footer, &traces);
    let kinds: Vec<_> = file.sections.iter().map(|row| row.number("kind")).collect();
    assert_eq!(kinds, [3, 1, 4, 5, 6, 7, 8, 9], "a small segment has one part of each");
    sections::check(&file, &traces);
    let places = directory::check(&file, &traces);
    let tables = [file.table(4), file.table(5)];
    let blocks = blocks::check(&file, &traces, &places, &tables);
    assert_eq!(file.footer.number("blocks"), blocks);
}

/// The file, taken apart from its end.
struct File<'a> {
    bytes: &'a [u8],
    footer: Fields,
    /// The section table.
    sections: Vec<Fields>,
}

/// A part, unpacked.
struct Part<'a> {
    kind: u64,
    flags: u64,
    head: &'a [u8],
    raw: Vec<u8>,
}

impl<'a> Part<'a> {
    /// The part that these bytes are.
    fn read(bytes: &'a [u8]) -> Self {
        let table = Table::of("Part header");
        assert_eq!(table.size(), 20);
        let header = table.read(bytes);
        header.check_reserved();
        assert_eq!(header.numbers(["crc", "length"]), [crc(&bytes[4..]), bytes.len() as u64]);
        let (head, packed) = bytes[table.size()..].split_at(header.number("head_length") as usize);
        let raw = unpack(header.number("codec"), packed, header.number("raw_length"));
        Self { kind: header.number("kind"), flags: header.number("flags"), head, raw }
    }
}

impl<'a> File<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let trailer = bytes.len() - Table::of("Trailer").size();
        let end = Table::of("Trailer").read(&bytes[trailer..]);
        assert_eq!(end.bytes("magic"), b"SLUICEND");
        let body = &bytes[trailer - end.number("footer_length") as usize..trailer];
        assert_eq!(end.number("footer_crc"), crc(body));
        let (fixed, row) = (Table::of("Footer"), Table::of("Section table row"));
        let footer = fixed.read(body);
        let (inputs, rows) = body[fixed.size()..].split_at(8 * footer.number("inputs") as usize);
        assert_eq!(inputs, golden::INPUTS.map(u64::to_le_bytes).concat());
        let rows = rows.chunks_exact(row.size());
        assert_eq!((rows.len() as u64, rows.remainder().len()), (footer.number("sections"), 0));
        let sections = rows.map(|bytes| row.read(bytes)).inspect(Fields::check_reserved).collect();
        Self { bytes, footer, sections }
    }

    /// The only part of a kind of section, unpacked.
    fn section(&self, kind: u64) -> Vec<u8> {
        let row = self.sections.iter().find(|row| row.number("kind") == kind).unwrap();
        let [offset, length] = row.numbers(["offset", "length"]).map(|number| number as usize);
        let part = Part::read(&self.bytes[offset..offset + length]);
        assert_eq!((part.kind, part.head), (kind, &[][..]));
        part.raw
    }

    /// Resources or scopes by content hash.
    fn table(&self, kind: u64) -> BTreeMap<[u8; 16], Vec<u8>> {
        let raw = self.section(kind);
        let mut fields = Cursor(&raw);
        let mut entries = Vec::new();
        while !fields.0.is_empty() {
            entries.push((fields.array::<16>(), fields.blob().to_vec()));
        }
        assert!(entries.is_sorted_by_key(|(hash, _)| *hash));
        for (hash, envelope) in &entries {
            assert_eq!(hash[..], blake3::hash(envelope).as_bytes()[..16]);
        }
        entries.into_iter().collect()
    }
}

/// A row as a segment gives it back: without its place in its batch.
fn stored(row: &sluice::model::Row) -> sluice::model::Row {
    sluice::model::Row { place: 0, ..*row }
}

fn check_header(bytes: &[u8]) {
    let table = Table::of("Segment header");
    assert_eq!(table.size(), 40);
    let header = table.read(bytes);
    assert_eq!((header.bytes("magic"), header.bytes("store")), (&b"SLUICESG"[..], &STORE[..]));
    assert_eq!(header.numbers(["version", "id", "crc"]), [2, SEGMENT, crc(&bytes[..36])]);
}

fn check_footer(footer: &Fields, traces: &[Trace]) {
    let rows: Vec<_> = traces.iter().flat_map(|trace| &trace.rows).collect();
    let least = |of: fn(&&&sluice::model::Row) -> u64| rows.iter().map(|row| of(&row)).min().unwrap();
    let most = |of: fn(&&&sluice::model::Row) -> u64| rows.iter().map(|row| of(&row)).max().unwrap();
    assert_eq!((footer.numbers(["version", "id"]), footer.bytes("store")), ([2, SEGMENT], &STORE[..]));
    assert_eq!(footer.numbers(["lsn_low", "lsn_high"]), [least(|row| row.lsn), most(|row| row.lsn)]);
    let received = [least(|row| row.received), most(|row| row.received)];
    assert_eq!(footer.numbers(["received_low", "received_high"]), received);
    assert_eq!(footer.numbers(["start_low", "end_high"]), [least(|row| row.start), most(|row| row.end)]);
    let ids = (traces.first().unwrap().id.0, traces.last().unwrap().id.0);
    assert_eq!((footer.bytes("first_trace"), footer.bytes("last_trace")), (&ids.0[..], &ids.1[..]));
    let bodies = traces.iter().flat_map(|trace| &trace.cut).map(|(_, body)| body.len() as u64).sum();
    let counts = footer.numbers(["rows", "traces", "body_bytes", "unjudged"]);
    assert_eq!(counts, [rows.len() as u64, traces.len() as u64, bodies, 3]);
    let checksum = traces.iter().fold(0, |sum: u64, trace| sum.wrapping_add(ledger(trace)));
    assert_eq!(footer.number("checksum"), checksum);
}

/// The ledger checksum of one trace.
fn ledger(trace: &Trace) -> u64 {
    let id = u128::from_be_bytes(trace.id.0);
    let row = |(row, (_, body)): (&sluice::model::Row, &(u8, Vec<u8>))| {
        let (span, parent) = (u64::from_be_bytes(row.span_id.0), u64::from_be_bytes(row.parent.0));
        let codes = u64::from(row.kind as u32) << 32 | u64::from(row.status as u32);
        let numbers = [span, parent, row.start, row.end, codes, xxh3_64(body), (id >> 64) as u64, id as u64];
        xxh3_64(&numbers.map(u64::to_le_bytes).concat())
    };
    trace.rows.iter().zip(&trace.cut).map(row).fold(0, u64::wrapping_add)
}

#[test]
fn the_golden_segment_is_read() {
    let (disk, path) = golden::segment_on_disk();
    // The disk holds what was just written; what counts is the stored file.
    sluice::storage::disk::replace_file(&disk, path.parent().unwrap(), "golden.seg", &golden::stored("v2.seg"))
        .unwrap();
    let segment = Segment::open(&disk, &path).unwrap();
    assert_eq!(*segment.names().unwrap(), golden::names());
    for trace in golden::traces() {
        let entry = segment.find(trace.id).unwrap().unwrap();
        assert_eq!((&entry.facts, &entry.mark), (&trace.facts, &trace.mark));
        let blocks = (entry.block..entry.block + entry.blocks).map(|block| segment.block(block).unwrap());
        let spans: Vec<_> = blocks
            .flat_map(|block| {
                let run = block.run(trace.id).unwrap().rows.clone();
                block.rows[run].iter().map(|row| (row.row, block.span(trace.id, row))).collect::<Vec<_>>()
            })
            .collect();
        let expected = trace.rows.iter().zip(&trace.spans);
        assert_eq!(spans.len(), expected.len());
        for ((row, span), (expected_row, expected_span)) in spans.iter().zip(expected) {
            assert_eq!(
                (row, &<_ as prost::Message>::decode(&**span)),
                (&stored(expected_row), &Ok(expected_span.clone()))
            );
        }
        let (resources, scopes) = (segment.resources().0, segment.scopes().0);
        let hash = sluice::storage::segment::ContentHash::of;
        assert_eq!(resources.get(&hash(trace.batch.resource(0))).unwrap(), trace.batch.resource(0));
        assert_eq!(scopes.get(&hash(trace.batch.scope(0))).unwrap(), trace.batch.scope(0));
    }
}
