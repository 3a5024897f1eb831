//! `durability: sealed`: answered when a segment has it.
//!
//! Scenario: the history of `fault_matrix.rs`; a disk that holds segments up. Guarantees: `Ok` only once the manifest names
//! the segment, so that even the loss of the whole log takes nothing from it; whoever hears "in the log, not yet sealed" is
//! told the truth, and resending is harmless.

use crate::fault_matrix::{
    Answer, Answers, History, append, at_every_operation_of, check_all_but, open_as, options, read_all,
};
use crate::support::fault_disk::{Fault, FaultDisk, Left};
use crate::support::gate_disk::GateDisk;
use crate::support::traces;
use sluice::storage::clock::SystemClock;
use sluice::storage::disk::Disk;
use sluice::storage::files::Layout;
use sluice::storage::manifest::{self, Found};
use sluice::storage::query::summarize;
use sluice::storage::{AppendError, Durability, Engine, OpenStore};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

const SEALED: Durability = Durability::Sealed { timeout: Duration::from_secs(3600) };
const HISTORY: History = History { durability: SEALED, rounds: 1 };

/// The same disk without any log file.
fn without_log(disk: &FaultDisk) -> FaultDisk {
    let wal = Layout::new(Path::new("/store")).wal;
    for name in disk.list(&wal).unwrap() {
        disk.remove(&wal.join(name)).unwrap();
    }
    disk.clone()
}

/// What was answered is in segments, whatever becomes of the log; what is only in the log is there as well.
fn check(disk: &FaultDisk, answers: &Answers, what: &str) {
    for left in [Left::Synced, Left::All] {
        check_all_but(&disk.after_crash(left), answers, |_| false, &format!("{what}, {left:?}"));
        let Ok(store) = OpenStore::open(Path::new("/store"), &without_log(&disk.after_crash(left))) else {
            assert!(answers.values().all(|heard| heard.answer != Answer::Ok), "{what}, {left:?}");
            continue;
        };
        let found = read_all(&store.snapshot, what);
        for (number, _) in answers.iter().filter(|(_, heard)| heard.answer == Answer::Ok) {
            assert!(
                found.contains_key(&traces::trace_id(*number)),
                "{what}, {left:?}: batch {number} is in no segment"
            );
        }
    }
}

#[test]
fn a_crash_at_any_operation_leaves_every_answered_batch_in_a_segment() {
    at_every_operation_of(HISTORY, Fault::Crash, check);
}

#[test]
fn a_failed_operation_leaves_every_answered_batch_in_a_segment_and_brings_back_nothing_refused() {
    at_every_operation_of(HISTORY, Fault::Fail, check);
}

/// A store whose segments are held up by the disk until the gate is opened.
fn held_up(timeout: Duration) -> (GateDisk, Engine) {
    let disk = GateDisk::new("/store/segments");
    let options = options(Durability::Sealed { timeout });
    let engine = Engine::open(options, Arc::new(disk.clone()), Arc::new(SystemClock)).unwrap();
    (disk, engine)
}

type Outcome = mpsc::Receiver<(Result<(), AppendError>, u64)>;

/// Appends; hears the outcome, and the manifest's position at that moment.
fn begin(engine: &Engine, disk: &FaultDisk, number: u64) -> Outcome {
    let batch = traces::batch(number, 2, 100);
    let room = engine.reserve(batch.bytes().len(), batch.spans().len()).unwrap();
    let (done, heard) = mpsc::channel();
    let disk = disk.clone();
    let position = move || match manifest::load(&disk, &Layout::new(Path::new("/store"))) {
        Ok(Found::Manifest(manifest, _)) => manifest.position,
        _ => 0,
    };
    engine.append(batch, room, Box::new(move |outcome| done.send((outcome, position())).unwrap()));
    heard
}

/// Waits until a batch can be read.
fn wait_until_readable(engine: &Engine, number: u64) {
    while engine.snapshot().trace(traces::trace_id(number)).spans.is_empty() {
        std::thread::yield_now();
    }
}

#[test]
fn ok_comes_only_after_the_manifest_names_the_segment() {
    let (disk, engine) = held_up(Duration::from_secs(3600));
    let waiting: Vec<_> = (0..20).map(|number| begin(&engine, disk.inner(), number)).collect();
    wait_until_readable(&engine, 19);
    assert!(waiting.iter().all(|heard| heard.try_recv().is_err()), "answered before it was sealed");
    disk.open_gate();
    for (number, heard) in waiting.into_iter().enumerate() {
        let (outcome, position) = heard.recv().unwrap();
        assert_eq!(outcome, Ok(()));
        // LSNs begin with 1, and a manifest's position is above every LSN it covers.
        assert!(position > number as u64 + 1, "batch {number} was answered at position {position}");
    }
    assert!(engine.segment_count() < 20, "groups share a segment");
}

#[test]
fn a_timeout_says_where_the_batch_is_and_resending_is_harmless() {
    let (disk, engine) = held_up(Duration::from_millis(20));
    let (outcome, _) = begin(&engine, disk.inner(), 0).recv().unwrap();
    let error = outcome.unwrap_err();
    assert_eq!(error, AppendError::NotSealed);
    assert_eq!(error.to_string(), "in the log, not yet sealed; resending is harmless");
    assert_eq!(engine.snapshot().trace(traces::trace_id(0)).spans.len(), 2, "readable nevertheless");
    let killed = open_as(&disk.inner().after_kill(), Durability::Wal).unwrap();
    assert_eq!(summarize(&killed.snapshot()).spans, 2, "in the log");
    disk.open_gate();
    // Another twenty milliseconds may be too short for a busy machine; a sender would try again as well.
    while begin(&engine, disk.inner(), 0).recv().unwrap().0.is_err() {}
    engine.flush().unwrap();
    assert_eq!(summarize(&engine.snapshot()).spans, 2, "shown once");
}

#[test]
fn a_seal_that_fails_is_said_at_once_and_later_batches_are_answered_again() {
    let (disk, engine) = held_up(Duration::from_secs(3600));
    disk.fail_gate();
    let (outcome, _) = begin(&engine, disk.inner(), 0).recv().unwrap();
    assert_eq!(outcome, Err(AppendError::NotSealed));
    disk.open_gate();
    // A seal that is still in its pause may fail this one too.
    while begin(&engine, disk.inner(), 1).recv().unwrap().0.is_err() {}
    assert_eq!(engine.troubles(), Vec::<String>::new());
}

#[test]
fn a_stop_seals_and_answers_who_waits() {
    let disk = FaultDisk::default();
    let engine = open_as(&disk, SEALED).unwrap();
    let waiting: Vec<_> = (0..10).map(|number| begin(&engine, &disk, number)).collect();
    engine.shutdown();
    assert!(waiting.into_iter().all(|heard| heard.recv().unwrap().0.is_ok()));
    let mut answers = Answers::new();
    append(&open_as(&disk, SEALED).unwrap(), &disk, 20..21, &mut answers);
    assert_eq!(answers[&20].answer, Answer::Ok);
}
