//! Directory index, directory pages and their entries.

use super::{Cursor, File, Part, Trace};
use sluice::storage::segment::{Facts, Mark};

/// Checks every entry; gives the blocks of each trace: the first and how many.
pub fn check(file: &File<'_>, traces: &[Trace]) -> Vec<(u64, u64)> {
    let index = file.section(3);
    let mut fields = Cursor(&index);
    assert_eq!(fields.varint(), 1, "four traces are one page");
    assert_eq!(fields.array(), traces[0].id.0);
    let offset = fields.varint() as usize;
    let length = fields.varint() as usize;
    assert_eq!((fields.varint(), fields.0.len()), (traces.len() as u64, 0));
    let page = Part::read(&file.bytes[offset..offset + length]);
    assert_eq!(page.kind, 2);
    let times = check_head(&mut Cursor(page.head), traces);
    check_columns(&mut Cursor(&page.raw), traces, &times)
}

/// Ids and times; gives each entry's time from start to end.
fn check_head(head: &mut Cursor<'_>, traces: &[Trace]) -> Vec<u64> {
    assert_eq!(u32::from_le_bytes(head.array()) as usize, traces.len());
    traces.iter().for_each(|trace| assert_eq!(head.array(), trace.id.0));
    let (start, received, unit) = (head.varint(), head.varint(), head.varint());
    let mut envelope = |facts: &Facts| {
        let min_start = start + head.varint();
        let envelope = head.zigzag();
        let first = received + head.varint();
        let last = first.wrapping_add_signed(head.zigzag());
        let times = [min_start, min_start.wrapping_add_signed(envelope), first * unit, last * unit];
        assert_eq!(times, [facts.min_start, facts.max_end, facts.first_received, facts.last_received]);
        envelope as u64
    };
    let envelopes = traces.iter().map(|trace| envelope(&trace.facts)).collect();
    assert!(head.0.is_empty());
    envelopes
}

fn check_columns(fields: &mut Cursor<'_>, traces: &[Trace], envelopes: &[u64]) -> Vec<(u64, u64)> {
    let count = fields.varint();
    let strings: Vec<_> = (0..count).map(|_| fields.text()).collect();
    let count = fields.varint();
    let mut list = || {
        let count = fields.varint();
        (0..count).map(|_| strings[fields.varint() as usize].clone()).collect::<Vec<_>>()
    };
    let lists: Vec<_> = (0..count).map(|_| list()).collect();
    let mut block = 0;
    let mut next = || {
        block += fields.varint();
        block
    };
    let firsts: Vec<_> = traces.iter().map(|_| next()).collect();
    let counts: Vec<_> = traces.iter().map(|_| fields.varint()).collect();
    let numbers: [fn(&Facts) -> u64; 4] =
        [|facts| facts.rows.into(), |facts| facts.bytes, |facts| facts.errors.into(), |facts| facts.flags.into()];
    for number in numbers {
        traces.iter().for_each(|trace| assert_eq!(fields.varint(), number(&trace.facts)));
    }
    for text in [|facts: &Facts| facts.root_service.clone(), |facts: &Facts| facts.root_name.clone()] {
        traces.iter().for_each(|trace| assert_eq!(strings[fields.varint() as usize], text(&trace.facts)));
    }
    traces.iter().for_each(|trace| assert_eq!(lists[fields.varint() as usize], trace.facts.services));
    let of_id = |trace: &Trace| u128::from_be_bytes(trace.id.0) as u64 & ((1 << 56) - 1);
    traces.iter().for_each(|trace| assert_eq!(fields.varint() ^ of_id(trace), trace.facts.randomness));
    traces.iter().for_each(|trace| assert_eq!(mark(fields, &strings), trace.mark));
    for (trace, envelope) in traces.iter().zip(envelopes) {
        assert_eq!(envelope.wrapping_add_signed(fields.zigzag()), trace.facts.root_duration);
    }
    assert!(fields.0.is_empty());
    firsts.into_iter().zip(counts).collect()
}

fn mark(fields: &mut Cursor<'_>, strings: &[String]) -> Mark {
    match fields.byte() {
        0 => Mark::Unjudged { not_before: fields.varint(), failures: fields.varint() as u32 },
        1 => {
            let (reason, policy) = (strings[fields.varint() as usize].clone(), fields.varint() as u32);
            let flags = fields.byte();
            Mark::Kept { reason, policy, late: flags & 1 == 1, shadow_drop: flags & 2 == 2 }
        }
        other => panic!("mark {other}"),
    }
}
