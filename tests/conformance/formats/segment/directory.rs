//! Directory index, directory pages and their entries.

use super::{Cursor, File, Table, Trace, crc, unpack};
use sluice::storage::segment::Mark;

/// Checks every entry; gives the blocks of each trace: the first and how many.
pub fn check(file: &File<'_>, traces: &[Trace]) -> Vec<(u64, u64)> {
    let index = file.section(3);
    let mut fields = Cursor(&index);
    assert_eq!(fields.varint(), 1, "four traces are one page");
    assert_eq!(fields.array(), traces[0].id.0);
    let offset = fields.varint() as usize;
    let length = fields.varint() as usize;
    assert_eq!((fields.varint(), fields.0.len()), (traces.len() as u64, 0));
    let page = &file.bytes[offset..offset + length];
    assert_eq!(page, file.stored(2), "the only page is the whole directory");

    let table = Table::of("Directory page header");
    assert_eq!(table.size(), 20);
    let header = table.read(page);
    header.check_reserved();
    assert_eq!(header.numbers(["crc", "length", "entries"]), [crc(&page[4..]), length as u64, traces.len() as u64]);
    let raw = unpack(header.number("codec"), &page[table.size()..], header.number("raw_length"));
    check_entries(&mut Cursor(&raw), traces)
}

/// What entries are relative to.
struct Page {
    strings: Vec<String>,
    start: u64,
    received: u64,
}

impl Page {
    fn string(&self, fields: &mut Cursor<'_>) -> String {
        self.strings[fields.varint() as usize].clone()
    }
}

fn check_entries(fields: &mut Cursor<'_>, traces: &[Trace]) -> Vec<(u64, u64)> {
    let count = fields.varint();
    let strings = (0..count).map(|_| fields.text()).collect();
    let page = Page { strings, start: fields.varint(), received: fields.varint() };
    let places = traces.iter().map(|trace| check_entry(fields, &page, trace)).collect();
    assert!(fields.0.is_empty());
    places
}

fn check_entry(fields: &mut Cursor<'_>, page: &Page, trace: &Trace) -> (u64, u64) {
    assert_eq!(fields.array(), trace.id.0);
    let place = (fields.varint(), fields.varint());
    let facts = &trace.facts;
    assert_eq!([(); 3].map(|()| fields.varint()), [facts.rows.into(), facts.bytes, facts.errors.into()]);
    let start = page.start + fields.varint();
    let end = start.wrapping_add_signed(fields.zigzag());
    let first = page.received + fields.varint();
    let last = first + fields.varint();
    assert_eq!([start, end, first, last], [facts.min_start, facts.max_end, facts.first_received, facts.last_received]);
    let root = (page.string(fields), page.string(fields), fields.varint());
    assert_eq!(root, (facts.root_service.clone(), facts.root_name.clone(), facts.root_duration));
    let count = fields.varint();
    let services: Vec<_> = (0..count).map(|_| page.string(fields)).collect();
    assert_eq!(services, facts.services);
    let of_id = u128::from_be_bytes(trace.id.0) as u64 & ((1 << 56) - 1);
    assert_eq!([fields.varint() ^ of_id, fields.varint()], [facts.randomness, facts.flags.into()]);
    assert_eq!(mark(fields, page), trace.mark);
    place
}

fn mark(fields: &mut Cursor<'_>, page: &Page) -> Mark {
    match fields.byte() {
        0 => Mark::Unjudged { not_before: fields.varint(), failures: fields.varint() as u32 },
        1 => {
            let (reason, policy, flags) = (page.string(fields), fields.varint() as u32, fields.byte());
            Mark::Kept { reason, policy, late: flags & 1 == 1, shadow_drop: flags & 2 == 2 }
        }
        other => panic!("mark {other}"),
    }
}
