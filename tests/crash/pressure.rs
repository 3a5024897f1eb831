//! Senders that are faster than seals: back-pressure.

use crate::support::gate_disk::GateDisk;
use crate::support::noise;
use crate::support::store::{requests, wait_until};
use sluice::component::BatchSize;
use sluice::exporters::storage::room;
use sluice::storage::clock::SystemClock;
use sluice::storage::{AppendError, Engine, Options};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

const SENDERS: u64 = 8;
const BATCHES_EACH: u64 = 24;
const SPANS: u64 = 8;
/// Half a megabyte a batch.
const NOISE: usize = 64 << 10;
/// How often each sender is refused before the seals go on.
const REFUSALS: u64 = 2;

fn options() -> Options {
    let mut options = Options::new("/store");
    options.wal.file_size = 8 << 20;
    options.wal.max_size = 64 << 20;
    options.seal.max_size = 8 << 20;
    options.memtable_max = 72 << 20;
    options
}

/// What all senders did together.
#[derive(Default)]
struct Counts {
    refused: AtomicU64,
    most_memory: AtomicUsize,
}

/// Sends its batches one after the other, each until it is taken.
fn send(engine: &Engine, sender: u64, counts: &Counts, refused: &mpsc::Sender<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for number in (sender..SENDERS * BATCHES_EACH).step_by(SENDERS as usize) {
        let batch = noise::batch(number, SPANS, NOISE);
        loop {
            let began = Instant::now();
            let room = runtime.block_on(room::wait(engine, BatchSize::of(&batch)));
            counts.most_memory.fetch_max(engine.memory(), Ordering::Relaxed);
            match room {
                Ok(room) => {
                    let (done, answer) = mpsc::channel();
                    engine.append(batch, room, Box::new(move |outcome| done.send(outcome).unwrap()));
                    break answer.recv().unwrap().unwrap();
                }
                Err(AppendError::NoRoom(_)) => {
                    assert!(began.elapsed() >= room::DELAY, "refused without being kept waiting first");
                    counts.refused.fetch_add(1, Ordering::Relaxed);
                    let _ = refused.send(());
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

/// Scenario: a log of 64 MiB and no seal comes to an end until every sender was refused. Guarantee: senders are kept waiting
/// and then refused, memory stays within its bound, and afterwards every batch is there once.
#[test]
fn senders_that_are_faster_than_seals_wait_are_refused_and_lose_nothing() {
    let disk = GateDisk::new("/store/segments");
    let engine = Engine::open(options(), Arc::new(disk.clone()), Arc::new(SystemClock)).unwrap();
    let (counts, (refused, refusals)) = (Counts::default(), mpsc::channel());
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (engine, counts, refused) = (&engine, &counts, refused.clone());
            scope.spawn(move || send(engine, sender, counts, &refused));
        }
        drop(refused);
        (0..SENDERS * REFUSALS).for_each(|_| refusals.recv().unwrap());
        let (waiting, memory) = (engine.log_files_waiting(), engine.memory() >> 20);
        println!("held back: {waiting} log files wait, {memory} MiB in memory, nothing sealed");
        assert!(waiting >= 6, "{waiting} log files wait");
        assert_eq!(engine.segment_count(), 0);
        disk.open_gate();
    });
    let began = Instant::now();
    engine.flush().unwrap();
    wait_until("no log file waits", || engine.log_files_waiting() == 0);
    let (refused, most) = (counts.refused.into_inner(), counts.most_memory.into_inner());
    println!(
        "drained in {:.2} s after the last answer; {refused} sends refused; at most {} MiB in memory",
        began.elapsed().as_secs_f64(),
        most >> 20
    );
    assert!(most <= options().memtable_max, "{most} bytes");
    let found = requests(&engine.snapshot());
    assert_eq!(found.len() as u64, SENDERS * BATCHES_EACH);
    found.iter().for_each(|(number, request)| assert_eq!(*request, noise::request(*number, SPANS, NOISE)));
}
