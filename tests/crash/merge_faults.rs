//! The machine dies or the disk fails at every operation of a merge, in turn.
//!
//! Scenario: four segments with fragments and duplicates of the same traces; a fault at operation 0, 1, 2 … of their
//! merge; what a power cut leaves is more or less; then a start, a merge, and another start. Guarantees: rules 2, 7 and
//! 14: every row is there once, no file is left over after a start, and nothing is called damaged that is not.

use crate::support::fault_disk::{Fault, FaultDisk, Left};
use crate::support::stores::{self, TestClock, append, files, ids, names, open, read, small};
use crate::support::traces;
use sluice::merge::{self, MergeError, merge_next};
use sluice::model::Trace;
use sluice::storage::Engine;

/// Four segments of one size: of each trace all have a part, and all have one span that is the same.
fn filled(clock: &TestClock) -> FaultDisk {
    let disk = FaultDisk::default();
    let engine = open(disk.clone(), small(), clock).unwrap();
    for part in 0..4 {
        for number in 0..12 {
            append(&engine, traces::batch(number, part + 1, 400));
        }
        engine.flush().unwrap();
    }
    engine.shutdown();
    // Nothing is waiting for a sync.
    disk.after_crash(Left::All)
}

fn options() -> merge::Options {
    // Several outputs: a crash may come between them.
    merge::Options { max_rows: 15, ..merge::Options::default() }
}

fn merge_all(engine: &Engine) -> Result<(), MergeError> {
    stores::merge(engine, None, &options()).map(drop)
}

/// Opens what a crash left: all is there, nothing else is, and it merges.
fn check(disk: &FaultDisk, clock: &TestClock, before: &[Trace], what: &str) {
    let engine = open(disk.clone(), small(), clock).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = engine.found();
    assert!(found.unreadable.is_empty() && found.holes.is_empty() && found.notes.is_empty(), "{what}: {found:?}");
    assert_eq!(files(disk), names(&ids(&engine)), "{what}: files and live segments");
    assert!(read(&engine.snapshot()) == before, "{what}: what is read has changed");
    merge_all(&engine).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(read(&engine.snapshot()) == before, "{what}: merged after the start");
    assert_eq!(files(disk), names(&ids(&engine)), "{what}: files after that merge");
    drop(engine);
    let again = open(disk.after_crash(Left::Synced), small(), clock).unwrap();
    assert!(read(&again.snapshot()) == before, "{what}: after another start");
}

/// Merges with a fault at operation 0, 1, 2, … until the merge is over before the fault is met.
fn at_every_operation(fault: Fault, then: impl Fn(&FaultDisk, &Engine, &TestClock, &[Trace], &str)) {
    let clock = TestClock::default();
    let filled = filled(&clock);
    for at in 0.. {
        let disk = filled.after_crash(Left::All);
        let engine = open(disk.clone(), small(), &clock).unwrap();
        let before = read(&engine.snapshot());
        let disk = disk.with_fault(at, fault);
        let outcome = merge_all(&engine);
        let Some(hit) = disk.hit() else {
            assert!(outcome.is_ok() && at > 20, "{at} operations are too few to say anything: {outcome:?}");
            return println!("{fault:?}: {at} operations");
        };
        assert!(!matches!(outcome, Err(MergeError::Damaged { .. } | MergeError::Ledger(_))), "{outcome:?}");
        assert!(read(&engine.snapshot()) == before, "{hit}: readers notice a merge");
        then(&disk, &engine, &clock, &before, &format!("{fault:?} at operation {at} ({hit})"));
    }
}

fn crash_leaves(left: impl Fn(&FaultDisk) -> Vec<Left>) {
    at_every_operation(Fault::Crash, |disk, _, clock, before, what| {
        for left in left(disk) {
            check(&disk.after_crash(left), clock, before, &format!("{what}, {left:?} left"));
        }
    });
}

#[test]
fn a_crash_at_any_operation_of_a_merge_loses_no_row_and_leaves_no_file() {
    crash_leaves(|_| vec![Left::Synced, Left::All, Left::AllBytes]);
}

#[test]
fn a_crash_that_loses_any_one_unsynced_write_of_a_merge_loses_no_row_and_leaves_no_file() {
    crash_leaves(|disk| (0..disk.unsynced_writes()).map(Left::AllButWrite).collect());
}

#[test]
fn a_failed_operation_of_a_merge_leaves_its_inputs_and_the_next_attempt_succeeds() {
    for fault in [Fault::Fail, Fault::Full, Fault::Short] {
        at_every_operation(fault, |disk, engine, clock, before, what| {
            for left in [Left::Synced, Left::All] {
                check(&disk.after_crash(left), clock, before, &format!("{what}, {left:?} left"));
            }
            // Until the next attempt, which ends any doubt about the manifest, and then never again.
            assert!(merge_next(engine, &options(), true, &|| true).unwrap().is_none(), "all are full");
            merge_all(engine).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(read(&engine.snapshot()) == before, "{what}: after the next attempt");
            // What could not be removed is, at the next start.
            if !what.contains("(remove ") {
                assert_eq!(files(disk), names(&ids(engine)), "{what}: files after the next attempt");
            }
        });
    }
}
