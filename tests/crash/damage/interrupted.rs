//! A repair that is interrupted at any disk operation is run again and finishes.
//!
//! Scenario: a store with damage in several files; the machine dies at operation 0, 1, 2, … of the repair and leaves only
//! what was synced, or everything; then the repair is run again, at once or after a start of the store. Guarantee: it ends
//! in a store that verifies as sound and holds every row that an undisturbed repair keeps, and nothing damaged is deleted.

use super::check::contents;
use super::fixture::{Fixture, ROOT, Rows, StillClock, open, put, rows_of};
use crate::support::fault_disk::{Fault, FaultDisk, Left};
use sluice::storage::disk::Disk;
use sluice::storage::repair::{Repaired, repair};
use sluice::storage::{OpenStore, StorageError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A damaged store, and the damaged files as they are.
struct Damaged {
    what: &'static str,
    disk: FaultDisk,
    files: Vec<Vec<u8>>,
}

fn mend(disk: &FaultDisk) -> Result<Repaired, StorageError> {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    repair(&shared, Arc::new(StillClock), Path::new(ROOT), &mut |_| {})
}

fn rows(disk: &FaultDisk) -> Rows {
    let store = OpenStore::open(Path::new(ROOT), disk).unwrap();
    rows_of(&store.snapshot, &mut Vec::new())
}

fn damaged_stores(fixture: &Fixture) -> Vec<Damaged> {
    let flipped = |kind: &str, part: &str| {
        let file = fixture
            .files
            .iter()
            .find(|file| file.kind == kind && file.parts.iter().any(|own| own.name == part))
            .unwrap();
        let at = file.parts.iter().find(|own| own.name == part).unwrap().bytes.start + 6;
        let mut bytes = file.bytes.clone();
        bytes[at] ^= 1;
        (file.path.clone(), bytes)
    };
    let store = |what, changes: Vec<(PathBuf, Vec<u8>)>, gone: &[&Path]| {
        let disk = fixture.disk.after_crash(Left::All);
        changes.iter().for_each(|(path, bytes)| put(&disk, path, bytes));
        gone.iter().for_each(|path| disk.remove(path).unwrap());
        // A copy of the manifest is written again by any start.
        let kept = changes.into_iter().filter(|(path, _)| !path.ends_with("manifest.a"));
        Damaged { what, disk: disk.after_crash(Left::All), files: kept.map(|(_, bytes)| bytes).collect() }
    };
    let (a, b) = (fixture.file("manifest.a").path.clone(), fixture.file("manifest.b").path.clone());
    vec![
        store("a block", vec![flipped("segment", "block")], &[]),
        store("a footer", vec![flipped("segment", "footer")], &[]),
        store("a frame", vec![flipped("closed log file", "frame")], &[]),
        store("no manifest", vec![], &[&a, &b]),
        store("no manifest and a block", vec![flipped("segment", "block")], &[&a, &b]),
        store(
            "everything",
            vec![
                flipped("segment", "block"),
                flipped("set-aside file", "frame"),
                flipped("closed log file", "frame"),
                flipped("manifest.a", "all of it"),
            ],
            &[],
        ),
    ]
}

/// Runs the repair until it is over before the fault is met, and gives every disk a crash leaves to `then`.
fn at_every_operation(damaged: &Damaged, then: impl Fn(&FaultDisk, &str)) {
    for at in 0.. {
        let disk = damaged.disk.after_crash(Left::All).with_fault(at, Fault::Crash);
        let outcome = mend(&disk);
        let Some(hit) = disk.hit() else {
            println!("{}: {at} operations", damaged.what);
            assert!(at > 5, "{}: the repair does nothing", damaged.what);
            return;
        };
        // Where the log is tidied up once all of it is in segments, a failure is the next start's to mend.
        let tidying = hit.contains("/wal") || hit.contains("/damaged");
        let claims = outcome.is_ok_and(|done| done.after.is_sound()) && !tidying;
        assert!(!claims, "{}: {hit}: a repair that died said it was done", damaged.what);
        for left in [Left::Synced, Left::All, Left::AllBytes] {
            then(&disk.after_crash(left), &format!("{}, dead at operation {at} ({hit}), left {left:?}", damaged.what));
        }
    }
}

fn check(disk: &FaultDisk, damaged: &Damaged, kept: &Rows, what: &str) {
    let done = mend(disk).unwrap_or_else(|error| panic!("{what}: the second repair: {error}"));
    assert!(done.after.is_sound(), "{what}: {:?}", done.after.findings);
    let found = rows(disk);
    assert_eq!(found.len(), kept.len(), "{what}: rows");
    assert!(found == *kept, "{what}: other rows");
    let files: Vec<_> = contents(disk).into_values().collect();
    assert!(damaged.files.iter().all(|file| files.contains(file)), "{what}: a damaged file is gone");
}

#[test]
fn a_repair_that_is_interrupted_at_any_operation_is_run_again_and_finishes() {
    let fixture = Fixture::new();
    for damaged in damaged_stores(&fixture) {
        let undisturbed = damaged.disk.after_crash(Left::All);
        assert!(mend(&undisturbed).unwrap().after.is_sound(), "{}", damaged.what);
        let kept = rows(&undisturbed);
        at_every_operation(&damaged, |disk, what| check(disk, &damaged, &kept, what));
    }
}

#[test]
fn a_start_between_an_interrupted_repair_and_the_next_loses_nothing() {
    let fixture = Fixture::new();
    for damaged in damaged_stores(&fixture) {
        let undisturbed = damaged.disk.after_crash(Left::All);
        mend(&undisturbed).unwrap();
        let kept = rows(&undisturbed);
        at_every_operation(&damaged, |disk, what| {
            // It may refuse to start, but only to be repaired.
            match open(disk) {
                Ok(engine) => engine.shutdown(),
                Err(error) => assert!(error.to_string().contains("sluice store repair"), "{what}: {error}"),
            }
            check(disk, &damaged, &kept, &format!("{what}, then a start"));
        });
    }
}
