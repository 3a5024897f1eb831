//! One damage at a time.

use super::fixture::{Fixture, ROOT};
use super::kinds::{self, Named};
use sluice::storage::verify::verify;
use std::panic::AssertUnwindSafe;
use std::path::Path;

#[test]
fn a_sound_store_is_sound() {
    let fixture = Fixture::new();
    let report = verify(&fixture.disk, Path::new(ROOT), &mut |_| {}).unwrap();
    assert_eq!(report.findings, []);
}

/// Every damage to every kind of file: at each structure, not at each byte.
fn all<'a>(fixture: &'a Fixture, other: &'a Fixture) -> Vec<Named<'a>> {
    let mut all = Vec::new();
    for file in &fixture.files {
        let others = other.file(file.kind);
        all.extend(kinds::flips(fixture, file));
        all.extend(kinds::cuts(fixture, file));
        all.extend(kinds::zero_pages(fixture, file));
        all.push(kinds::missing(fixture, file));
        all.extend(kinds::copies(fixture, file));
        all.extend(kinds::foreign(fixture, file, others));
        all.extend(kinds::versions(fixture, file));
    }
    all.extend(kinds::both_manifests(fixture, other));
    all
}

#[test]
fn whatever_is_damaged_what_is_sound_is_served_and_a_repair_keeps_it() {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let start = std::time::Instant::now();
    let (mut cases, mut failed) = (0, Vec::new());
    for Named { file, damage, case } in all(&fixture, &other) {
        cases += 1;
        match std::panic::catch_unwind(AssertUnwindSafe(|| fixture.check(&case))) {
            Ok(outcome) => println!("{file} | {damage} | {outcome:?}"),
            Err(_) => failed.push(case.what),
        }
    }
    println!("{cases} cases in {:?}", start.elapsed());
    assert!(failed.is_empty(), "{} of {cases} failed: {failed:#?}", failed.len());
}
