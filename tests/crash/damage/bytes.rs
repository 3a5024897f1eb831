//! A flipped bit in every byte, one at a time.

use super::fixture::{File, Fixture};
use super::kinds::flip;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

/// With this set every byte is tried; else one in so many.
const ALL: &str = "SLUICE_DAMAGE_ALL";
const SAMPLE: usize = 41;

/// Bytes that mean something. A log file is mostly room for frames.
fn bytes_of(file: &File) -> Vec<usize> {
    let in_parts: Vec<_> = file.parts.iter().flat_map(|part| part.bytes.clone()).collect();
    let whole = !file.kind.ends_with("log file");
    if whole { (0..file.bytes.len()).collect() } else { in_parts }
}

#[test]
fn a_flipped_bit_of_any_byte_costs_only_what_it_hit_and_is_found() {
    let (fixture, started) = (Fixture::new(), Instant::now());
    let step = if std::env::var_os(ALL).is_some() { 1 } else { SAMPLE };
    let (mut cases, mut failed) = (0, Vec::new());
    for file in &fixture.files {
        let bytes = bytes_of(file);
        println!("{}: one in {step} of {} bytes of {}", file.kind, bytes.len(), file.path.display());
        for at in bytes.into_iter().step_by(step) {
            cases += 1;
            let case = flip(&fixture, file, at, at as u8);
            if std::panic::catch_unwind(AssertUnwindSafe(|| fixture.check(&case))).is_err() {
                failed.push(case.what);
            }
        }
    }
    println!("{cases} bytes in {:?}; {ALL}=1 tries all", started.elapsed());
    assert!(failed.is_empty(), "{} of {cases} failed: {failed:#?}", failed.len());
}
