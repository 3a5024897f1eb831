//! `durability: buffered`: answered when written, synced within `wal.buffered_sync`.
//!
//! Scenario: the history of `fault_matrix.rs`, with syncs only where the store needs one (a seal, a full file, a stop), so
//! that answered batches without a sync are met by every fault. Guarantees: a kill loses nothing answered; a power cut
//! loses at most what was answered since the last sync; a failed sync or write loses nothing answered and brings back
//! nothing refused.

use crate::fault_matrix::{
    Answer, Answers, Heard, History, append, at_every_operation_of, check_all_but, open_as, options, play_on,
};
use crate::support::fault_disk::{Fault, FaultDisk, Left};
use sluice::storage::clock::SystemClock;
use sluice::storage::{Durability, Engine, OpenStore};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const NEVER: Durability = Durability::Buffered { sync: Duration::from_secs(3600) };
const HISTORY: History = History { durability: NEVER, rounds: 3 };

/// Generous: only a sync that never comes meets it.
const LONG: Duration = Duration::from_secs(60);

fn after_kill(disk: &FaultDisk, answers: &Answers, what: &str) {
    check_all_but(&disk.after_kill(), answers, |_| false, &format!("{what}, killed"));
}

/// Whatever of the unsynced a power cut leaves, what was synced after it was answered is there.
fn after_power_cut(disk: &FaultDisk, answers: &Answers, what: &str) {
    let syncs = disk.log_syncs();
    let since_last_sync = |heard: &Heard| heard.log_syncs == syncs;
    for left in [Left::Synced, Left::AllBytes] {
        check_all_but(&disk.after_crash(left), answers, since_last_sync, &format!("{what}, {left:?}"));
    }
}

#[test]
fn a_kill_at_any_operation_loses_nothing_that_was_answered() {
    at_every_operation_of(HISTORY, Fault::Crash, after_kill);
}

#[test]
fn a_power_cut_at_any_operation_loses_only_what_was_answered_since_the_last_sync() {
    let lost = RefCell::new(0);
    at_every_operation_of(HISTORY, Fault::Crash, |disk, answers, what| {
        after_power_cut(disk, answers, what);
        let left = OpenStore::open(Path::new("/store"), &disk.after_crash(Left::Synced));
        let batches = left.map_or(0, |store| crate::fault_matrix::read_all(&store.snapshot, what).len());
        let answered = answers.values().filter(|heard| heard.answer == Answer::Ok).count();
        *lost.borrow_mut() += answered.saturating_sub(batches);
    });
    assert!(lost.into_inner() > 0, "no power cut met a batch without a sync: this says nothing about them");
}

#[test]
fn a_power_cut_that_loses_any_one_unsynced_write_loses_only_what_was_answered_since_the_last_sync() {
    at_every_operation_of(HISTORY, Fault::Crash, |disk, answers, what| {
        let syncs = disk.log_syncs();
        for back in 0..disk.unsynced_writes() {
            let left = disk.after_crash(Left::AllButWrite(back));
            check_all_but(&left, answers, |heard| heard.log_syncs == syncs, &format!("{what}, write {back} lost"));
        }
    });
}

#[test]
fn a_failed_operation_loses_nothing_answered_and_brings_back_nothing_refused() {
    for fault in [Fault::Fail, Fault::Short] {
        at_every_operation_of(HISTORY, fault, |disk, answers, what| {
            let refused = answers.values().any(|heard| heard.answer == Answer::Refused);
            assert!(!refused || what.contains("/wal"), "{what}: a failure of a seal is no answer to a sender");
            after_kill(disk, answers, what);
            after_power_cut(disk, answers, what);
        });
    }
}

/// The bytes that a failed sync was to save are gone at once: only what is written again is there.
#[test]
fn a_failed_sync_on_a_forgetful_disk_loses_nothing_that_was_answered() {
    for sync in syncs_of_answered() {
        let disk = FaultDisk::default().forgetful().with_fault(sync, Fault::Fail);
        let (answers, hit) = play_on(&disk, HISTORY);
        let what = format!("failure at operation {sync}: {hit}");
        after_kill(&disk, &answers, &what);
        after_power_cut(&disk, &answers, &what);
    }
}

/// The operations of the history that sync a log file after batches were answered.
fn syncs_of_answered() -> Vec<usize> {
    let found = RefCell::new(BTreeMap::new());
    at_every_operation_of(HISTORY, Fault::Crash, |disk, answers, what| {
        let hit = disk.hit().unwrap_or_default();
        let pending = answers.values().any(|heard| heard.answer == Answer::Ok && heard.log_syncs == disk.log_syncs());
        if hit.starts_with("sync /store/wal") && pending {
            let at = what.split("operation ").nth(1).and_then(|rest| rest.split([' ', ':']).next());
            found.borrow_mut().insert(at.unwrap().parse::<usize>().unwrap(), hit);
        }
    });
    found.into_inner().into_keys().collect()
}

/// Fails each sync of answered batches, and has a second fault at each of the operations after it, by which they are written
/// to a new file.
fn while_it_is_mended(disk: impl Fn() -> FaultDisk, second: Fault, then: impl Fn(&FaultDisk, &Answers, &str)) {
    let syncs = syncs_of_answered();
    assert!(syncs.len() >= 4, "too few to say anything: {syncs:?}");
    for sync in syncs {
        for after in 1..=9 {
            let disk = disk().with_fault(sync, Fault::Fail).and_fault(sync + after, second);
            let (answers, hit) = play_on(&disk, HISTORY);
            let what = format!("failure at operation {sync}, {second:?} at {}: {hit}", sync + after);
            then(&disk, &answers, &what);
            after_power_cut(&disk, &answers, &what);
        }
    }
}

#[test]
fn a_kill_while_a_failed_sync_is_mended_loses_nothing_that_was_answered() {
    while_it_is_mended(FaultDisk::default, Fault::Crash, after_kill);
}

/// Then the log is broken: the store takes nothing more, and seals what it has.
#[test]
fn a_failed_sync_that_cannot_be_mended_loses_nothing_that_was_answered() {
    let broken = RefCell::new(0);
    let forgetful = || FaultDisk::default().forgetful();
    while_it_is_mended(forgetful, Fault::Fail, |disk, answers, what| {
        after_kill(disk, answers, what);
        *broken.borrow_mut() += u32::from(answers.values().any(|heard| heard.answer == Answer::Unknown));
    });
    println!("{} histories with batches of unknown fate", broken.into_inner());
}

/// What the log could not make durable any more is being sealed when the power goes: a segment ahead of the log must not
/// look like one that an old manifest does not know.
#[test]
fn a_power_cut_after_the_log_broke_leaves_a_store_that_opens() {
    for sync in syncs_of_answered() {
        for after in 2..=24 {
            let disk = FaultDisk::default().with_fault(sync, Fault::Fail).and_fault(sync + 1, Fault::Fail);
            let disk = disk.and_fault(sync + after, Fault::Crash);
            let (answers, hit) = play_on(&disk, HISTORY);
            after_power_cut(&disk, &answers, &hit);
        }
    }
}

/// A start seals on the spot what fills a memtable: not before it is durable in the log.
#[test]
fn a_power_cut_while_a_start_seals_what_a_kill_left_leaves_a_store_that_opens() {
    let disk = FaultDisk::default();
    let engine = open_as(&disk, NEVER).unwrap();
    let mut answers = Answers::new();
    (0..7).for_each(|number| append(&engine, &disk, number..number + 1, &mut answers));
    let mut small = options(NEVER);
    small.seal.max_size = 2 << 10;
    for at in 0.. {
        let disk = disk.after_kill().with_fault(at, Fault::Crash);
        let opened = Engine::open(small.clone(), Arc::new(disk.clone()), Arc::new(SystemClock));
        let Some(hit) = disk.hit() else {
            assert!(at > 40 && opened.is_ok(), "nothing was sealed on the spot: {at} operations");
            return;
        };
        let what = format!("operation {at} ({hit})");
        check_all_but(&disk.after_crash(Left::Synced), &answers, |_| true, &what);
        check_all_but(&disk.after_kill(), &answers, |_| false, &what);
    }
}

#[test]
fn what_is_answered_is_synced_in_time_without_any_further_batch() {
    let disk = FaultDisk::default();
    let engine = open_as(&disk, Durability::Buffered { sync: Duration::from_millis(5) }).unwrap();
    let mut answers = Answers::new();
    append(&engine, &disk, 0..1, &mut answers);
    let began = Instant::now();
    while disk.log_syncs() == answers[&0].log_syncs {
        assert!(began.elapsed() < LONG, "never synced");
        std::thread::yield_now();
    }
    check_all_but(&disk.after_crash(Left::Synced), &answers, |_| false, "after the sync");
}

#[test]
fn a_stop_syncs_what_was_answered() {
    let disk = FaultDisk::default();
    let engine = open_as(&disk, NEVER).unwrap();
    let mut answers = Answers::new();
    append(&engine, &disk, 0..5, &mut answers);
    engine.shutdown();
    check_all_but(&disk.after_crash(Left::Synced), &answers, |_| false, "stopped");
}

/// A torn tail that was cut off once is no damage at the start after that.
#[test]
fn a_power_cut_in_the_middle_of_unsynced_batches_is_never_called_damage() {
    let disk = FaultDisk::default();
    let engine = open_as(&disk, NEVER).unwrap();
    let mut answers = Answers::new();
    (0..6).for_each(|number| append(&engine, &disk, number..number + 1, &mut answers));
    for back in 0..disk.unsynced_writes() {
        let mut left = disk.after_crash(Left::AllButWrite(back));
        for start in 0..3 {
            let engine = open_as(&left, NEVER).unwrap();
            let damage: Vec<_> = engine.found().holes.iter().filter(|hole| hole.durable).collect();
            assert!(damage.is_empty(), "write {back} lost, start {start}: {damage:?}");
            append(&engine, &left, 10..11, &mut Answers::new());
            left = left.after_kill();
        }
    }
}
