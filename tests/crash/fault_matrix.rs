//! A scripted history (append, seal, reopen, append, seal, stop) with one fault at every operation in turn. What
//! `durability: buffered` and `sealed` promise is tried with the same history in `buffered.rs` and `sealed.rs`.
//!
//! Scenario: the fault is a crash that loses all unsynced bytes, or any one unsynced write; or a failed operation; or a
//! short write. Guarantees: rules 1, 2, 3, 5 and 14 of `docs/invariants.md`: after the next start every batch answered
//! `Ok` is there once and field for field, no refused batch is there, and nothing else is.

use crate::support::fault_disk::{Fault, FaultDisk, Left};
use crate::support::traces;
use prost::Message;
use sluice::model::{TraceId, wire};
use sluice::storage::clock::SystemClock;
use sluice::storage::query::{Traces, summarize};
use sluice::storage::{AppendError, Durability, Engine, Options, Snapshot, StorageError};
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};

/// What a sender was told about a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Ok,
    /// In the log, not yet sealed.
    NotSealed,
    Refused,
    /// No answer, or one given by a machine that was already gone.
    Unknown,
}

/// An answer, and how often the log had been made durable when it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    pub answer: Answer,
    pub log_syncs: u64,
}

/// Answers by the number of the batch.
pub type Answers = BTreeMap<u64, Heard>;

const SPANS: u64 = 3;

/// Small files, so that the history meets full files, new ones and reused ones.
pub fn options(durability: Durability) -> Options {
    let mut options = Options::new("/store");
    options.durability = durability;
    options.wal.file_size = 20 << 10;
    options.wal.max_size = 120 << 10;
    options.block_size = 4 << 10;
    options
}

/// What is opened to see what is left: how it was written does not matter.
fn open(disk: &FaultDisk) -> Result<Engine, StorageError> {
    open_as(disk, Durability::Wal)
}

pub fn open_as(disk: &FaultDisk, durability: Durability) -> Result<Engine, StorageError> {
    Engine::open(options(durability), Arc::new(disk.clone()), Arc::new(SystemClock))
}

/// Batches differ in size, so that what a failed write leaves behind is never just covered by the next.
fn padding(number: u64) -> usize {
    [500, 100, 400, 600, 80][number as usize % 5]
}

/// Hands over some batches at once, so that they can share a commit, then waits for their answers.
pub fn append(engine: &Engine, disk: &FaultDisk, numbers: std::ops::Range<u64>, answers: &mut Answers) {
    let waiting: Vec<_> = numbers.map(|number| (number, begin_append(engine, disk, number))).collect();
    for (number, answer) in waiting {
        let told = |answer| Heard { answer, log_syncs: disk.log_syncs() };
        let heard = match answer {
            Some(answer) => answer.recv().unwrap_or_else(|_| told(Answer::Unknown)),
            None => told(Answer::Refused),
        };
        answers.insert(number, heard);
    }
}

fn begin_append(engine: &Engine, disk: &FaultDisk, number: u64) -> Option<mpsc::Receiver<Heard>> {
    let batch = traces::batch(number, SPANS, padding(number));
    let room = engine.reserve(batch.bytes().len(), batch.spans().len()).ok()?;
    let (done, answer) = mpsc::channel();
    let heard = disk.clone();
    let outcome_heard = move |outcome| {
        let answer = match outcome {
            _ if heard.crashed() => Answer::Unknown,
            Ok(()) => Answer::Ok,
            Err(AppendError::NotSealed) => Answer::NotSealed,
            Err(AppendError::Unknown(_)) => Answer::Unknown,
            Err(_) => Answer::Refused,
        };
        done.send(Heard { answer, log_syncs: heard.log_syncs() }).unwrap();
    };
    engine.append(batch, room, Box::new(outcome_heard));
    Some(answer)
}

/// How a history is lived.
#[derive(Debug, Clone, Copy)]
pub struct History {
    pub durability: Durability,
    /// Of appends and a seal, for each of two runs of the engine.
    pub rounds: u32,
}

const WAL: History = History { durability: Durability::Wal, rounds: 3 };

/// The history. Faults only change how far it comes. `soon` is called once, in the middle of it, after the second
/// append behind the fault: what a crash would leave then has not been sealed or overwritten by what comes later.
fn play(disk: &FaultDisk, history: History, soon: impl Fn(&Answers)) -> Answers {
    let mut answers = Answers::new();
    let mut number = 0;
    let mut since_fault = 0;
    for _ in 0..2 {
        // An opening that fails is tried again, as a service manager would.
        let Some(engine) = (0..2).find_map(|_| open_as(disk, history.durability).ok()) else { continue };
        for round in 0..history.rounds {
            for count in [1, 3, 1] {
                append(&engine, disk, number..number + count, &mut answers);
                number += count;
                since_fault += u32::from(disk.hit().is_some());
                if since_fault == 2 {
                    soon(&answers);
                }
            }
            if round + 1 < history.rounds {
                // A failed seal is a state of the store; it goes on being tried.
                let _ = engine.flush().or_else(|_| engine.flush());
            }
        }
        engine.shutdown();
    }
    answers
}

/// Opens what a crash left and compares it with what senders were told.
fn check(disk: &FaultDisk, answers: &Answers, what: &str) {
    check_all_but(disk, answers, |_| false, what);
}

/// The same, where some answered batches may be gone.
pub fn check_all_but(disk: &FaultDisk, answers: &Answers, may_be_gone: impl Fn(&Heard) -> bool, what: &str) {
    for start in 0..2 {
        let engine = open(disk).unwrap_or_else(|error| panic!("{what}: start {start}: {error}"));
        let damage: Vec<_> = engine.found().holes.iter().filter(|hole| hole.durable).collect();
        assert!(damage.is_empty(), "{what}: start {start}: nothing was damaged, but {damage:?}");
        let snapshot = engine.snapshot();
        let what = format!("{what}: start {start}");
        let mut found = read_all(&snapshot, &what);
        for (&number, heard) in answers {
            let trace = found.remove(&traces::trace_id(number));
            match (heard.answer, trace) {
                (Answer::Refused, Some(_)) => panic!("{what}: batch {number} was refused and is there"),
                (_, Some(trace)) => check_trace(number, &trace, &what),
                (Answer::Refused | Answer::Unknown, None) => {}
                (_, None) => assert!(may_be_gone(heard), "{what}: batch {number} was answered and is gone"),
            }
        }
        assert!(found.is_empty(), "{what}: traces nobody sent: {:?}", found.keys());
        assert_eq!(summarize(&snapshot).spans % SPANS, 0);
        engine.flush().unwrap();
    }
}

/// All traces, which both ways to read agree on.
pub fn read_all(snapshot: &Snapshot, what: &str) -> BTreeMap<TraceId, sluice::model::Trace> {
    let mut found = BTreeMap::new();
    let mut traces = Traces::new(snapshot);
    while let Some(trace) = traces.next_trace() {
        assert_eq!(trace.warnings, Vec::<String>::new(), "{what}");
        assert_eq!(trace, snapshot.trace(trace.id), "{what}: both ways to read agree");
        found.insert(trace.id, trace);
    }
    assert_eq!(traces.warnings, Vec::<String>::new(), "{what}");
    found
}

fn check_trace(number: u64, trace: &sluice::model::Trace, what: &str) {
    let expected = traces::request(number, SPANS, padding(number));
    let stored = wire::walk(&trace.to_otlp()).unwrap();
    assert_eq!(stored.spans.len() as u64, SPANS, "{what}: batch {number} is shown once");
    type Request = opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    assert_eq!(Request::decode(&*trace.to_otlp()).unwrap(), expected, "{what}: batch {number}");
}

/// Runs the history with the fault at operation 0, 1, 2, … until it is over before the fault is met.
fn at_every_operation(fault: Fault, then: impl Fn(&FaultDisk, &Answers, &str)) {
    at_every_operation_of(WAL, fault, then);
}

/// The same with another history.
pub fn at_every_operation_of(history: History, fault: Fault, then: impl Fn(&FaultDisk, &Answers, &str)) {
    for at in 0.. {
        let disk = FaultDisk::default().with_fault(at, fault);
        let soon = |answers: &Answers| {
            then(&disk, answers, &format!("soon after {fault:?} at operation {at}: {:?}", disk.hit()))
        };
        let answers = play(&disk, history, soon);
        let Some(hit) = disk.hit() else {
            println!("{history:?}, {fault:?}: {at} operations");
            assert!(at > 50, "the history is too short to say anything");
            return;
        };
        then(&disk, &answers, &format!("{fault:?} at operation {at} ({hit})"));
    }
}

#[test]
fn a_crash_that_loses_all_unsynced_bytes_at_any_operation_loses_no_answered_batch() {
    at_every_operation(Fault::Crash, |disk, answers, what| check(&disk.after_crash(Left::Synced), answers, what));
}

#[test]
fn a_crash_that_leaves_everything_or_only_synced_names_loses_no_answered_batch() {
    at_every_operation(Fault::Crash, |disk, answers, what| {
        check(&disk.after_crash(Left::All), answers, what);
        check(&disk.after_crash(Left::AllBytes), answers, what);
    });
}

#[test]
fn a_crash_that_loses_any_one_unsynced_write_loses_no_answered_batch() {
    at_every_operation(Fault::Crash, |disk, answers, what| {
        for back in 0..disk.unsynced_writes() {
            check(&disk.after_crash(Left::AllButWrite(back)), answers, &format!("{what}, write {back} lost"));
        }
    });
}

/// Lives the history on this disk; says what its faults hit.
pub fn play_on(disk: &FaultDisk, history: History) -> (Answers, String) {
    let answers = play(disk, history, |_| ());
    (answers, disk.hit().unwrap_or_default())
}

/// Ids of all traces that a reader sees.
fn readable(engine: &Engine) -> Vec<TraceId> {
    let snapshot = engine.snapshot();
    let mut traces = Traces::new(&snapshot);
    std::iter::from_fn(|| traces.next_fragments()).map(|fragments| fragments.id).collect()
}

#[test]
fn a_power_cut_after_a_kill_and_a_start_takes_back_nothing_that_was_readable() {
    at_every_operation(Fault::Crash, |disk, _, what| {
        let killed = disk.after_kill();
        let engine = open(&killed).unwrap();
        let before = readable(&engine);
        let after = readable(&open(&killed.after_crash(Left::Synced)).unwrap());
        assert_eq!(after, before, "{what}");
    });
}

#[test]
fn a_failed_operation_never_makes_a_wrong_answer() {
    at_every_operation(Fault::Fail, |disk, answers, what| {
        let refused = answers.values().any(|heard| heard.answer == Answer::Refused);
        assert!(!refused || what.contains("/wal"), "{what}: a failure of a seal is no answer to a sender");
        check(&disk.after_crash(Left::Synced), answers, what);
        check(&disk.after_crash(Left::All), answers, what);
    });
}

#[test]
fn a_short_write_never_makes_a_wrong_answer() {
    at_every_operation(Fault::Short, |disk, answers, what| {
        check(&disk.after_crash(Left::Synced), answers, what);
        check(&disk.after_crash(Left::All), answers, what);
    });
}
