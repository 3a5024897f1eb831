//! The `seal-N` threads: each takes the oldest frozen memtable that nobody works on and makes a segment of it. Segments
//! are published in the order of the freezes, whoever is ready first.
//!
//! A seal that fails is tried again, with growing pauses, and those behind it wait to be published: the rows are durable
//! in the log and readable in memory, so this is a state of the store and never an answer to a sender.

use super::Shared;
use super::catalog::{Published, Sealed};
use super::wal_thread::Command;
use crate::storage::error::StorageError;
use crate::storage::files::Layout;
use crate::storage::memtable::Memtable;
use crate::storage::options::Options;
use crate::storage::seal::{SealInto, seal};
use crate::storage::segment::writer::WriteOptions;
use crate::storage::segment::Segment;
use crate::telemetry::{self, names};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A memtable on its way to a segment.
pub struct Frozen {
    pub memtable: Arc<Memtable>,
    /// Its number among all freezes of this run of the store.
    pub freeze: u64,
    /// Id of its segment.
    pub segment: u64,
}

/// The `wal` thread's end of the seal threads.
pub struct Sealers {
    queue: mpsc::Sender<Frozen>,
    patience: Arc<Patience>,
    threads: Vec<JoinHandle<()>>,
}

impl Sealers {
    pub fn start(shared: &Arc<Shared>, commands: &mpsc::Sender<Command>) -> std::io::Result<Self> {
        let (queue, inbox) = mpsc::channel();
        let inbox = Arc::new(Mutex::new(inbox));
        let patience = Arc::new(Patience::default());
        let mut threads = Vec::new();
        for number in 1..=shared.options.seal.workers.max(1) {
            let worker = Worker { shared: shared.clone(), commands: commands.clone(), patience: patience.clone() };
            let inbox = inbox.clone();
            let name = format!("seal-{number}");
            threads.push(std::thread::Builder::new().name(name).spawn(move || worker.run(&inbox))?);
        }
        Ok(Self { queue, patience, threads })
    }

    pub fn seal(&self, frozen: Frozen) {
        // The threads are gone only after a panic, which was reported; the rows stay in the log.
        let _ = self.queue.send(frozen);
    }

    /// Waits until everything handed over is sealed, or cannot be now.
    pub fn finish(self) {
        self.patience.end();
        drop(self.queue);
        for thread in self.threads {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

struct Worker {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    patience: Arc<Patience>,
}

impl Worker {
    fn run(&self, inbox: &Mutex<mpsc::Receiver<Frozen>>) {
        loop {
            let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(frozen) = next else { return };
            if self.seal_until_done(&frozen).is_none() {
                return;
            }
        }
    }

    /// Seals and publishes; `None` when the store is stopping and it cannot be done.
    fn seal_until_done(&self, frozen: &Frozen) -> Option<()> {
        let started = Instant::now();
        let Shared { disk, layout, options, store, .. } = &*self.shared;
        let segment = Arc::new(self.retry(|| seal_one(&**disk, (layout, options, store), frozen))?);
        telemetry::record("seal", started.elapsed());
        self.shared.catalog.add_sealed(frozen.freeze, Sealed { memtable: frozen.memtable.clone(), segment });
        let published = self.retry(|| self.shared.catalog.publish_sealed(self.shared.clock.now()))?;
        self.announce(published);
        Some(())
    }

    fn announce(&self, published: Published) {
        let Published { memtables, memory, position } = published;
        if memtables > 0 {
            self.shared.budget.release_memory(memory);
            // A stopping `wal` thread releases log files by itself.
            let _ = self.commands.send(Command::Sealed { position, memtables });
        }
    }

    fn retry<T>(&self, mut attempt: impl FnMut() -> Result<T, StorageError>) -> Option<T> {
        let mut pause = FIRST_PAUSE;
        loop {
            match attempt() {
                Ok(value) => {
                    if self.shared.set_trouble("seal", None) {
                        tracing::info!("sealing works again");
                    }
                    return Some(value);
                }
                Err(error) => self.report(&error),
            }
            if !self.patience.wait(pause) {
                return None;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn report(&self, error: &StorageError) {
        tracing::error!(%error, "sealing failed; the rows are in the log and readable, it is tried again");
        metrics::counter!(names::STORE_SEAL_FAILURES.name, "exporter" => self.shared.name()).increment(1);
        self.shared.set_trouble("seal", Some(error.to_string()));
        let _ = self.commands.send(Command::SealFailed(error.to_string()));
    }
}

/// Writes the segment of a frozen memtable and gives it its name.
pub fn seal_one(
    disk: &dyn crate::storage::disk::Disk,
    (layout, options, store): (&Layout, &Options, &[u8; 16]),
    frozen: &Frozen,
) -> Result<Segment, StorageError> {
    let write = WriteOptions { block_size: options.block_size, codec: options.seal.codec };
    let into = SealInto { layout, store: *store, id: frozen.segment, options: write };
    seal(disk, &frozen.memtable.entries(), into)
}

/// How long it is worth going on: pauses that end at once when a store stops.
#[derive(Default)]
struct Patience {
    ended: Mutex<bool>,
    woken: Condvar,
}

impl Patience {
    /// Waits; `false` when there is no patience any more.
    fn wait(&self, pause: Duration) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.woken.wait_timeout_while(ended, pause, |ended| !*ended);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn end(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.woken.notify_all();
    }
}
