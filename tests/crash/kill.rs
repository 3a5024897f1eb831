//! The real daemon under load, killed with SIGKILL at a random moment, again and again on one directory.
//!
//! Scenario: 8 connections send batches of very different sizes into a small log, so that some are refused; after a
//! random number of answers the process is killed. Guarantees: rules 1, 5 and 14: every batch answered with success is
//! found, once and field for field; no refused batch is found. The same with segments so small that merges run all the
//! time, so that the kill comes in the middle of one: rule 7. `SLUICE_KILL_ROUNDS` sets the number of rounds,
//! `SLUICE_KILL_SEED` repeats a run.

use crate::support::daemon::Daemon;
use crate::support::http::{PROTOBUF, Sender};
use crate::support::traces;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use sluice::storage::OpenStore;
use sluice::storage::disk::SystemDisk;
use sluice::storage::query::{Limits, Traces};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

const CONNECTIONS: u64 = 8;
const STORAGE: &str = "wal: {max_size: 8MiB, file_size: 1MiB}";
/// With a sync so rare that most answered batches have none when the process is killed.
const BUFFERED: &str = "durability: buffered, wal: {max_size: 8MiB, file_size: 1MiB, buffered_sync: 10s}";
/// Segments of a few batches, merged two at a time as soon as there are two.
const MERGING: &str =
    "wal: {max_size: 8MiB, file_size: 1MiB}, seal: {max_size: 256KiB}, merge: {workers: 2, max_inputs: 2}";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Ok,
    Refused,
    None,
}

/// A batch that was sent: how large it was and what the sender heard.
#[derive(Debug, Clone, Copy)]
struct Sent {
    spans: u64,
    padding: usize,
    answer: Answer,
}

/// A small generator of its own, so that a printed seed repeats a run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) % bound
    }
}

/// Most batches are small; some are a large part of the log.
fn size(random: &mut Random) -> (u64, usize) {
    match random.below(10) {
        0..4 => (1 + random.below(20), 50),
        4..6 => (100, 500),
        _ => (4, 150_000 + random.below(450_000) as usize),
    }
}

/// Sends until the daemon is gone.
fn send(address: SocketAddr, mut random: Random, numbers: &AtomicU64, heard: &mpsc::Sender<(u64, Sent)>) {
    let Ok(mut sender) = Sender::connect(address) else { return };
    loop {
        let (spans, padding) = size(&mut random);
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let body = traces::request(number, spans, padding).encode_to_vec();
        let answer = match sender.post(PROTOBUF, &body) {
            Ok((200, _)) => Answer::Ok,
            Ok((503, _)) => Answer::Refused,
            Ok((code, body)) => panic!("batch {number}: {code} {}", String::from_utf8_lossy(&body)),
            Err(_) => Answer::None,
        };
        let gone = heard.send((number, Sent { spans, padding, answer })).is_err();
        if gone || answer == Answer::None {
            return;
        }
    }
}

/// Loads a daemon and kills it after `answers` answers.
fn round(
    (directory, storage): (&Path, &str),
    random: &mut Random,
    numbers: &Arc<AtomicU64>,
    sent: &mut BTreeMap<u64, Sent>,
) {
    let mut daemon = Daemon::start(directory, storage);
    let (heard, answers) = mpsc::channel();
    let senders: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (address, numbers, heard) = (daemon.http, numbers.clone(), heard.clone());
            let random = Random(random.below(u64::MAX));
            std::thread::spawn(move || send(address, random, &numbers, &heard))
        })
        .collect();
    drop(heard);
    let until = 1 + random.below(if storage == MERGING { 120 } else { 250 });
    let first: Vec<_> = answers.iter().take(until as usize).collect();
    daemon.kill();
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    sent.extend(first.into_iter().chain(answers.try_iter()));
}

/// What a check of the whole directory counts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    found: u64,
    missing: u64,
    twice: u64,
    refused_present: u64,
    changed: u64,
    unknown_to_senders: u64,
}

fn check(directory: &Path, sent: &BTreeMap<u64, Sent>) -> Count {
    let store = OpenStore::open(directory, &SystemDisk).unwrap();
    assert!(store.found.holes.iter().all(|hole| !hole.durable), "{:?}", store.found.holes);
    let mut count = Count::default();
    let mut found = BTreeMap::new();
    let mut traces = Traces::new(&store.snapshot, Limits::NONE).unwrap();
    while let Some(trace) = traces.next_trace().unwrap() {
        assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
        let number = u64::from_be_bytes(trace.id.0[8..].try_into().unwrap()) - 1;
        found.insert(number, (trace.spans.len() as u64, trace.to_otlp()));
    }
    for (number, batch) in sent {
        let there = found.remove(number);
        match (batch.answer, &there) {
            (Answer::Ok, None) => count.missing += 1,
            (Answer::Refused, Some(_)) => count.refused_present += 1,
            _ => {}
        }
        if let Some((rows, otlp)) = there {
            count.found += 1;
            count.twice += u64::from(rows > batch.spans);
            count.changed += u64::from(!same(&otlp, *number, batch));
        }
    }
    count.unknown_to_senders = found.len() as u64;
    count
}

/// Whether what was read is what was sent, field for field.
fn same(otlp: &[u8], number: u64, sent: &Sent) -> bool {
    ExportTraceServiceRequest::decode(otlp).unwrap() == traces::request(number, sent.spans, sent.padding)
}

#[test]
fn kill_at_any_moment_loses_no_answered_batch_and_keeps_no_refused_one() {
    let Totals { refused, rounds, .. } = kill_again_and_again(STORAGE, 20);
    assert!(refused >= 5 * rounds, "too few refusals to say anything: {refused}");
}

#[test]
fn kill_in_the_middle_of_merges_loses_no_answered_batch_and_shows_none_twice() {
    let Totals { merged, cut_short, rounds, .. } = kill_again_and_again(MERGING, 20);
    println!("{merged} rounds left merged segments, {cut_short} an output of a merge that was cut short");
    assert!(merged * 10 >= rounds * 8, "too few merges to say anything: {merged} of {rounds} rounds");
    assert!(cut_short * 4 >= rounds, "hardly any kill came in the middle of a merge: {cut_short} of {rounds} rounds");
}

#[test]
fn kill_at_any_moment_loses_no_batch_that_was_answered_without_a_sync() {
    kill_again_and_again(BUFFERED, 10);
}

/// What the rounds met.
#[derive(Debug, Default)]
struct Totals {
    rounds: u64,
    refused: u64,
    /// Rounds after which a live segment was one that a merge had made.
    merged: u64,
    /// Rounds after which there was a file that no manifest names.
    cut_short: u64,
}

/// Whether there are merged segments, and whether files of segments that are not named.
fn merges(directory: &Path) -> (bool, bool) {
    let store = OpenStore::open(directory, &SystemDisk).unwrap();
    let segments = &store.snapshot.segments;
    let files = std::fs::read_dir(directory.join("segments")).unwrap().count();
    (segments.iter().any(|segment| !segment.footer().inputs.is_empty()), files > segments.len())
}

/// Kills the daemon this often, unless the environment says how often.
fn kill_again_and_again(storage: &str, rounds: u64) -> Totals {
    let setting = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let rounds = setting("SLUICE_KILL_ROUNDS").unwrap_or(rounds);
    let seed = setting("SLUICE_KILL_SEED").unwrap_or_else(sluice::model::time::wall_now);
    println!("SLUICE_KILL_SEED={seed}");
    let scratch = tempfile::tempdir().unwrap();
    let mut random = Random(seed);
    let numbers = Arc::new(AtomicU64::new(0));
    let (mut answered_rounds, mut totals, mut seen) = (0, [0; 3], Totals::default());
    let mut sent = BTreeMap::new();
    for number in 0..rounds {
        // Ten rounds on each directory: each start meets what several kills left.
        let directory = scratch.path().join((number / 10).to_string());
        if number % 10 == 0 {
            sent.clear();
        }
        let before = answers(&sent);
        round((&directory, storage), &mut random, &numbers, &mut sent);
        let (merged, cut_short) = merges(&directory);
        seen.merged += u64::from(merged);
        seen.cut_short += u64::from(cut_short);
        let after = answers(&sent);
        answered_rounds += u64::from(after[0] > before[0]);
        (0..3).for_each(|kind| totals[kind] += after[kind] - before[kind]);
        let found = check(&directory, &sent);
        let good = Count { found: found.found, ..Count::default() };
        assert_eq!(found, good, "round {number}, seed {seed}");
    }
    let [answered, refused, unanswered] = totals;
    println!(
        "{storage}: {rounds} rounds, {answered_rounds} with answered batches: {answered} answered, {refused} refused, {unanswered} \
         without an answer; answered and missing 0, shown twice 0, refused and present 0"
    );
    assert!(answered_rounds * 10 >= rounds * 9, "{answered_rounds} rounds with answers of {rounds}");
    Totals { rounds, refused, ..seen }
}

/// How many batches were answered, refused, and left without an answer.
fn answers(sent: &BTreeMap<u64, Sent>) -> [u64; 3] {
    [Answer::Ok, Answer::Refused, Answer::None]
        .map(|kind| sent.values().filter(|sent| sent.answer == kind).count() as u64)
}
