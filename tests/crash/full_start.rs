//! Starting on a full disk, and with a log larger than the memory.
//!
//! Guarantee: the store opens, keeps its bound of memory, says what it does not show yet, takes nothing before it does, and
//! recovers by itself when there is room.

use crate::support::fault_disk::{Fault, FaultDisk, Left};
use crate::support::manual_clock::ManualClock;
use crate::support::noise;
use crate::support::store::{append, requests, wait_until};
use sluice::storage::query::{Limits, Traces};
use sluice::storage::{AppendError, Engine, NoRoom, Options, StorageError};
use std::sync::Arc;
use std::time::Duration;

const KIB: u64 = 1 << 10;

/// Memory for `memory` bytes of batches, in memtables of a quarter.
fn options(memory: usize) -> Options {
    let mut options = Options::new("/store");
    options.wal.file_size = 64 * KIB;
    options.wal.max_size = 4096 * KIB;
    options.memtable_max = memory;
    options.block_size = 4 << 10;
    options.disk_reserve = Some(64 * KIB);
    options
}

fn open(disk: &FaultDisk, clock: &ManualClock, memory: usize) -> Result<Engine, StorageError> {
    Engine::open(options(memory), Arc::new(disk.clone()), Arc::new(clock.clone()))
}

const BATCHES: u64 = 40;

/// Forty batches of 8 KB each, all of them in the log only: what a kill leaves.
fn killed(clock: &ManualClock) -> FaultDisk {
    let disk = FaultDisk::default();
    let engine = open(&disk, clock, 4 << 20).unwrap();
    for number in 0..BATCHES {
        append(&engine, &noise::batch(number, 4, 2_000)).unwrap();
    }
    assert_eq!(engine.segment_count(), 0);
    disk.after_kill()
}

fn refusal(engine: &Engine) -> Option<NoRoom> {
    match engine.reserve(100, 1) {
        Err(AppendError::NoRoom(no_room)) => Some(no_room),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    }
}

/// Every batch is there, once and unchanged; and one more can be sent.
fn check(engine: &Engine, batches: u64) {
    let found = requests(&engine.snapshot());
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), (0..batches).collect::<Vec<_>>());
    found.iter().for_each(|(number, request)| assert_eq!(*request, noise::request(*number, 4, 2_000)));
    append(engine, &noise::batch(batches, 4, 2_000)).unwrap();
    assert!(requests(&engine.snapshot()).contains_key(&batches));
}

/// Scenario: a log of three times the memory and not a byte free: no segment and no log file can be made. Then there is
/// room.
#[test]
fn a_start_on_a_full_disk_opens_within_its_memory_and_recovers_without_another_start() {
    let clock = ManualClock::new();
    let disk = killed(&clock);
    disk.set_capacity(disk.used());
    let memory = 100 << 10;
    let engine = open(&disk, &clock, memory).unwrap();
    assert!(engine.memory() <= memory && engine.memory() > memory / 2, "{}", engine.memory());
    let unread = engine.unread();
    assert!(unread > BATCHES / 2 && unread < BATCHES, "{unread}");
    assert_eq!(engine.readable_lsn(), BATCHES - unread);
    let snapshot = engine.snapshot();
    assert_eq!((snapshot.readable_lsn(), snapshot.unread), (Some(BATCHES - unread), unread));
    let warnings = Traces::new(&snapshot, Limits::NONE).unwrap().warnings;
    assert_eq!(warnings, [format!("the log is being replayed: {unread} batches are not readable yet")]);
    assert_eq!(refusal(&engine), Some(NoRoom::Replaying { left: unread }));
    let trouble = |part: &str| engine.troubles().iter().any(|trouble| trouble.starts_with(part));
    assert!(trouble(&format!("replay: the log is being replayed: {unread} of {BATCHES}")), "{:?}", engine.troubles());
    wait_until("it is said that no log file can be made", || trouble("wal: cannot make a log file"));
    assert!(engine.flush().is_err(), "nothing can be sealed");

    disk.set_capacity(8 << 20);
    let mut most = 0;
    wait_until("all is read", || {
        most = most.max(engine.memory());
        engine.unread() == 0
    });
    assert!(most <= memory, "{most} bytes in memory");
    wait_until("nothing is wrong any more", || engine.troubles().is_empty());
    assert_eq!((engine.readable_lsn(), engine.snapshot().unread), (BATCHES, 0));
    wait_until("batches are taken", || refusal(&engine).is_none());
    check(&engine, BATCHES);
    drop(engine);
    check(&open(&disk, &clock, memory).unwrap(), BATCHES + 1);
}

/// Scenario: the same, killed and started again while the disk is full. Guarantee: any number of starts takes nothing away
/// and makes nothing twice.
#[test]
fn starts_on_a_full_disk_can_be_killed_again_and_again() {
    let clock = ManualClock::new();
    let mut disk = killed(&clock);
    disk.set_capacity(disk.used());
    for _ in 0..4 {
        let engine = open(&disk, &clock, 100 << 10).unwrap();
        assert!(engine.unread() > 0 && engine.found().holes.is_empty(), "{:?}", engine.found().holes);
        disk = disk.after_kill();
    }
    disk.set_capacity(8 << 20);
    let engine = open(&disk, &clock, 100 << 10).unwrap();
    assert_eq!((engine.unread(), engine.found().holes.len()), (0, 0));
    check(&engine, BATCHES);
}

/// Scenario: a full disk with segments on it that are too old. Guarantee: they make the room, and the start needs no help.
#[test]
fn a_start_on_a_full_disk_first_gives_up_what_retention_does_not_keep() {
    let clock = ManualClock::new();
    let disk = FaultDisk::default();
    let engine = open(&disk, &clock, 4 << 20).unwrap();
    for number in 1_000..1_200 {
        append(&engine, &noise::batch(number, 4, 2_000)).unwrap_or_else(|_| engine.flush().unwrap());
    }
    engine.flush().unwrap();
    clock.advance(Duration::from_secs(167 * 3600));
    for number in 0..BATCHES {
        append(&engine, &noise::batch(number, 4, 2_000)).unwrap();
    }
    clock.advance(Duration::from_secs(2 * 3600));
    let disk = disk.after_kill();
    disk.set_capacity(disk.used());
    let engine = open(&disk, &clock, 100 << 10).unwrap();
    assert_eq!(engine.unread(), 0, "{:?}", engine.troubles());
    check(&engine, BATCHES);
}

/// Scenario: a history that dies at every operation in turn, and a start whose memory holds less than two batches.
/// Guarantee: what is left over by a seal that was cut short is understood before anything is written, and every answered
/// batch is there once.
#[test]
fn a_start_with_less_memory_than_the_log_holds_shows_the_same_after_a_crash_at_any_operation() {
    let clock = ManualClock::new();
    for at in 0.. {
        let disk = FaultDisk::default().with_fault(at, Fault::Crash);
        let mut answered = Vec::new();
        if let Ok(engine) = open(&disk, &clock, 4 << 20) {
            for number in 0..12 {
                if append(&engine, &noise::batch(number, 4, 2_000)).is_ok() && !disk.crashed() {
                    answered.push(number);
                }
                if number % 5 == 4 {
                    let _ = engine.flush();
                }
            }
        }
        let is_over = disk.hit().is_none();
        for left in [Left::All, Left::Synced] {
            let what = format!("operation {at} ({:?}), {left:?}", disk.hit());
            let engine =
                open(&disk.after_crash(left), &clock, 12 << 10).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(engine.unread(), 0, "{what}: with room on the disk a start waits for all of it");
            let mut found = requests(&engine.snapshot());
            answered
                .iter()
                .for_each(|number| assert!(found.remove(number).is_some(), "{what}: batch {number} is gone"));
            assert!(found.len() <= 1, "{what}: {:?}", found.keys());
        }
        if is_over {
            println!("{at} operations");
            assert!(at > 30);
            return;
        }
    }
}
