//! Batches that cannot be sealed.
//!
//! Scenario: a disk on which segments with certain batches in them panic, or read back damaged. Guarantees: everything else
//! is sealed and the position moves on; the batches are set aside as they came, and no row of them is ever gone: not
//! before the next start, not after it, not with a crash or a failure at any operation.

use crate::fault_matrix::{open_as, options, read_all};
use crate::support::fault_disk::{Fault, FaultDisk, Left};
use crate::support::poison_disk::{Poison, PoisonDisk, batch};
use crate::support::traces;
use sluice::model::Batch;
use sluice::storage::clock::SystemClock;
use sluice::storage::disk::{read_file, replace_file};
use sluice::storage::files::{Layout, set_aside_name};
use sluice::storage::manifest::{self, FileKind, Found, Manifest};
use sluice::storage::query::summarize;
use sluice::storage::{AppendError, Durability, Engine, OpenStore, Options, StorageError};
use std::path::Path;
use std::sync::{Arc, mpsc};

const ROOT: &str = "/store";
const POISONS: [Poison; 2] = [Poison::Panic, Poison::Damage];

fn open(disk: &FaultDisk, poison: Poison, options: Options) -> Result<Engine, StorageError> {
    Engine::open(options, Arc::new(PoisonDisk::new(disk.clone(), poison)), Arc::new(SystemClock))
}

fn wal() -> Options {
    options(Durability::Wal)
}

fn append(engine: &Engine, batch: Batch) -> Result<(), AppendError> {
    let room = engine.reserve(batch.bytes().len(), batch.spans().len())?;
    let (done, answer) = mpsc::channel();
    engine.append(batch, room, Box::new(move |outcome| done.send(outcome).unwrap()));
    answer.recv().unwrap()
}

/// Appends these batches and seals them as far as can be.
fn fill(engine: &Engine, batches: u64, poisoned: &[u64]) {
    (0..batches).for_each(|number| append(engine, batch(number, poisoned.contains(&number))).unwrap());
    flush(engine);
}

/// Each attempt that fails is said to whoever waits, so this asks until there is nothing more to fail.
fn flush(engine: &Engine) {
    while engine.flush().is_err() {}
}

fn manifest(disk: &FaultDisk) -> Manifest {
    match manifest::load(disk, &Layout::new(Path::new(ROOT))).unwrap() {
        Found::Manifest(manifest, _) => manifest,
        Found::Nothing | Found::Lost(_) => panic!("no manifest"),
    }
}

/// What is named, as kinds and rows.
fn named(disk: &FaultDisk, kind: FileKind) -> Vec<u64> {
    manifest(disk).files.iter().filter(|file| file.kind == kind).map(|file| file.rows).collect()
}

/// Every batch of `numbers` is readable, once and with both its spans, and nothing else is.
fn check_readable(snapshot: &sluice::storage::Snapshot, numbers: std::ops::Range<u64>, what: &str) {
    let found = read_all(snapshot, what);
    let ids: Vec<_> = numbers.clone().filter(|number| found.contains_key(&traces::trace_id(*number))).collect();
    assert_eq!(ids, numbers.collect::<Vec<_>>(), "{what}");
    assert_eq!((found.len(), found.values().all(|trace| trace.spans.len() == 2)), (ids.len(), true), "{what}");
}

#[test]
fn what_cannot_be_sealed_is_set_aside_and_everything_else_is_in_segments() {
    for (poison, poisoned) in
        POISONS.iter().flat_map(|poison| [vec![3], vec![0, 6], vec![2, 3]].map(|bad| (*poison, bad)))
    {
        let what = format!("{poison:?} {poisoned:?}");
        let disk = FaultDisk::default();
        let engine = open(&disk, poison, wal()).unwrap();
        fill(&engine, 7, &poisoned);
        check_readable(&engine.snapshot(), 0..7, &what);
        assert_eq!(manifest(&disk).position, 8, "{what}: the position moves on");
        assert_eq!(named(&disk, FileKind::SetAside), [2 * poisoned.len() as u64], "{what}");
        let sealed: u64 = named(&disk, FileKind::Segment).iter().sum();
        assert_eq!(sealed, 2 * (7 - poisoned.len() as u64), "{what}");
        assert!(
            engine.troubles()[0].starts_with(&format!("set-aside: {} batches", poisoned.len())),
            "{:?}",
            engine.troubles()
        );
        assert_eq!(engine.set_aside(), poisoned.len() as u64);
        append(&engine, batch(7, false)).unwrap();
        engine.flush().unwrap();
        check_readable(&engine.snapshot(), 0..8, &what);
    }
}

#[test]
fn what_is_set_aside_is_readable_after_a_start_and_counts_as_memory() {
    for poison in POISONS {
        let disk = FaultDisk::default();
        let engine = open(&disk, poison, wal()).unwrap();
        fill(&engine, 5, &[1, 4]);
        let memory = engine.memory();
        assert!(memory > 500, "two batches stay in memory: {memory}");
        drop(engine);
        for start in 0..2 {
            let engine = open(&disk, poison, wal()).unwrap();
            check_readable(&engine.snapshot(), 0..5, &format!("{poison:?}, start {start}"));
            assert_eq!((engine.found().set_aside, engine.found().replayed_batches), (2, 0));
            assert_eq!(engine.memory(), memory);
            assert!(engine.troubles()[0].starts_with("set-aside: 2 batches"), "{:?}", engine.troubles());
        }
        let store = OpenStore::open(Path::new(ROOT), &disk).unwrap();
        check_readable(&store.snapshot, 0..5, "read only");
        let summary = summarize(&store.snapshot);
        assert_eq!((summary.memtable_spans, summary.set_aside_spans, summary.spans), (0, 4, 10));
    }
}

#[test]
fn where_nothing_can_be_sealed_all_is_set_aside_and_batches_are_taken_as_long_as_memory_lasts() {
    let disk = FaultDisk::default();
    let options = Options { memtable_max: 16 << 10, ..wal() };
    let engine = open(&disk, Poison::Panic, options).unwrap();
    fill(&engine, 4, &[0, 1, 2, 3]);
    assert_eq!((named(&disk, FileKind::Segment).len(), named(&disk, FileKind::SetAside)), (0, vec![8]));
    let refused = (4..100).map(|number| append(&engine, batch(number, true))).find(|answer| {
        flush(&engine);
        answer.is_err()
    });
    assert!(matches!(refused, Some(Err(AppendError::Full(_)))), "{refused:?}");
    assert!(engine.memory() <= 16 << 10);
}

/// The start seals what fills a memtable on the spot: a batch that panics there must not keep the store from opening.
#[test]
fn a_start_that_meets_such_a_batch_in_the_log_opens_and_sets_it_aside() {
    for poison in POISONS {
        let disk = FaultDisk::default();
        let engine = open(&disk, poison, wal()).unwrap();
        (0..9).for_each(|number| append(&engine, batch(number, number == 2)).unwrap());
        let killed = disk.after_kill();
        let mut options = wal();
        options.seal.max_size = 2 << 10;
        let engine = open(&killed, poison, options).unwrap();
        while engine.set_aside() == 0 {
            std::thread::yield_now();
        }
        check_readable(&engine.snapshot(), 0..9, &format!("{poison:?}"));
    }
}

/// The history of one batch that cannot be sealed among five, with a fault at every operation in turn.
fn at_every_operation(poison: Poison, fault: Fault, then: impl Fn(&FaultDisk, &[u64], &str)) {
    for at in 0.. {
        let disk = FaultDisk::default().with_fault(at, fault);
        let mut answered = Vec::new();
        if let Some(engine) = (0..2).find_map(|_| open(&disk, poison, wal()).ok()) {
            for number in 0..5 {
                if append(&engine, batch(number, number == 2)).is_ok() && !disk.crashed() {
                    answered.push(number);
                }
            }
            while !disk.crashed() && engine.flush().is_err() {}
            engine.shutdown();
        }
        let Some(hit) = disk.hit() else {
            println!("{poison:?}, {fault:?}: {at} operations");
            assert!(at > 40, "the history is too short to say anything");
            return;
        };
        then(&disk, &answered, &format!("{poison:?}, {fault:?} at operation {at} ({hit})"));
    }
}

fn check_answered(disk: &FaultDisk, answered: &[u64], what: &str) {
    for left in [Left::Synced, Left::All, Left::AllBytes] {
        let disk = disk.after_crash(left);
        for start in 0..2 {
            let what = format!("{what}, {left:?}, start {start}");
            let engine = open_as(&disk, Durability::Wal).unwrap_or_else(|error| panic!("{what}: {error}"));
            let found = read_all(&engine.snapshot(), &what);
            for number in answered {
                let trace = found.get(&traces::trace_id(*number));
                assert!(trace.is_some_and(|trace| trace.spans.len() == 2), "{what}: batch {number} is gone");
            }
            engine.flush().unwrap();
        }
    }
}

#[test]
fn a_crash_at_any_operation_loses_no_batch_that_is_set_aside() {
    POISONS.iter().for_each(|poison| at_every_operation(*poison, Fault::Crash, check_answered));
}

#[test]
fn a_failed_operation_loses_no_batch_that_is_set_aside() {
    POISONS.iter().for_each(|poison| at_every_operation(*poison, Fault::Fail, check_answered));
}

#[test]
fn damage_in_a_set_aside_file_is_said_and_costs_only_its_batch() {
    let disk = FaultDisk::default();
    let engine = open(&disk, Poison::Panic, wal()).unwrap();
    fill(&engine, 5, &[1, 3]);
    drop(engine);
    let layout = Layout::new(Path::new(ROOT));
    let id = manifest(&disk).files.iter().find(|file| file.kind == FileKind::SetAside).unwrap().id;
    let mut content = read_file(&disk, &layout.set_aside(id)).unwrap();
    content[48 + 60] ^= 1;
    replace_file(&disk, &layout.set_aside, &set_aside_name(id), &content).unwrap();
    let store = OpenStore::open(Path::new(ROOT), &disk).unwrap();
    let gone = store.snapshot.trace(traces::trace_id(1));
    assert!(gone.spans.is_empty() && gone.warnings[0].contains("damaged at byte 48"), "{:?}", gone.warnings);
    assert_eq!(store.snapshot.trace(traces::trace_id(3)).spans.len(), 2);
    assert_eq!(read_file(&disk, &layout.set_aside(id)).unwrap(), content, "left as it is");
}
