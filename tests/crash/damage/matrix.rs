//! One damage at a time.

use super::check::Case;
use super::fixture::{File, Fixture, RowId};
use std::collections::BTreeSet;

/// Rows that may be gone when these bytes are.
fn touched(file: &File, from: usize, to: usize) -> BTreeSet<RowId> {
    let hit = file.parts.iter().filter(|part| part.bytes.start < to && from < part.bytes.end);
    hit.flat_map(|part| part.rows.iter().cloned()).collect()
}

fn is_known(file: &File, from: usize, to: usize) -> bool {
    file.parts.iter().any(|part| part.known && part.bytes.start < to && from < part.bytes.end)
}

fn name(file: &File) -> &str {
    file.path.file_name().unwrap().to_str().unwrap()
}

/// The case of a file with other bytes between two offsets.
fn changed<'a>(fixture: &Fixture, file: &'a File, what: &str, bytes: &[u8], (from, to): (usize, usize)) -> Case<'a> {
    Case {
        what: format!("{} {}: {what}", file.kind, file.path.display()),
        disk: fixture.with(&file.path, bytes),
        files: vec![name(file)],
        may_lose: touched(file, from, to),
        known: is_known(file, from, to),
        other_version: false,
    }
}

fn flip<'a>(fixture: &Fixture, file: &'a File, at: usize) -> Case<'a> {
    let mut bytes = file.bytes.clone();
    bytes[at] ^= 0x10;
    changed(fixture, file, &format!("flipped at {at}"), &bytes, (at, at + 1))
}

#[test]
fn a_sound_store_is_sound() {
    let fixture = Fixture::new();
    let disk = fixture.disk.clone();
    let report =
        sluice::storage::verify::verify(&disk, std::path::Path::new(super::fixture::ROOT), &mut |_| {}).unwrap();
    assert_eq!(report.findings, []);
    for file in &fixture.files {
        println!("{} {}: {} bytes, {} parts", file.kind, file.path.display(), file.bytes.len(), file.parts.len());
    }
}

#[test]
fn a_flipped_bit_in_any_structure_costs_only_what_it_hit() {
    let fixture = Fixture::new();
    let start = std::time::Instant::now();
    let mut cases = 0;
    for file in &fixture.files {
        for part in &file.parts {
            let (first, last) = (part.bytes.start, part.bytes.end - 1);
            for at in [first, first + 4, (first + last) / 2, last] {
                let outcome = fixture.check(&flip(&fixture, file, at));
                println!("{} {} at {at}: {outcome:?}", file.kind, part.name);
                cases += 1;
            }
        }
    }
    println!("{cases} cases in {:?}", start.elapsed());
}
