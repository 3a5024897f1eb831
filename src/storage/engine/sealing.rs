//! The `seal-N` threads: each takes the oldest frozen memtable that nobody works on and makes a segment of it. Segments
//! are published in the order of the freezes, whoever is ready first.
//!
//! A seal that fails is tried again, with growing pauses, and those behind it wait to be published: the rows are durable
//! in the log and readable in memory, so this is a state of the store and never an answer to a sender whose batch is
//! durable. One that fails again and again for a reason that waiting does not mend is taken apart: what can be sealed is,
//! and the batches that cannot are set aside as they came.

use super::Shared;
use super::catalog::{Published, Sealed};
use super::pieces::{self, Pieces};
use super::wal_thread::Command;
use crate::storage::disk::Disk;
use crate::storage::error::StorageError;
use crate::storage::files::{Layout, unfinished};
use crate::storage::memtable::{Entry, Memtable};
use crate::storage::options::Options;
use crate::storage::seal::{SealInto, seal};
use crate::storage::segment::writer::WriteOptions;
use crate::storage::segment::{Codec, Segment};
use crate::storage::set_aside::{self, SetAside};
use crate::telemetry::{Laps, names};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How often a seal may fail for another reason than the disk before it is taken apart.
const ATTEMPTS: u32 = 3;

/// A memtable on its way to a segment.
pub struct Frozen {
    pub memtable: Arc<Memtable>,
    /// Its number among all freezes of this run of the store.
    pub freeze: u64,
    /// Whether it has rows that the log cannot make durable any more.
    pub ahead_of_log: bool,
    /// The time since it was frozen.
    pub laps: Laps,
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
            if self.seal_until_done(frozen).is_none() {
                return;
            }
        }
    }

    /// Seals and publishes; `None` when the store is stopping and it cannot be done.
    fn seal_until_done(&self, frozen: Frozen) -> Option<()> {
        let Frozen { memtable, freeze, ahead_of_log, mut laps } = frozen;
        laps.end("seal_queue");
        let made = self.seal(&memtable.entries(), ahead_of_log)?;
        let set_aside = self.set_aside(made.alone)?;
        // What a seal consists of inside `seal_one` can be told apart here: stages that end one after the other.
        laps.end("seal_build");
        self.shared.catalog.add_sealed(freeze, Sealed { memtable, segments: made.whole, set_aside, laps });
        let published = self.retry(|| self.shared.catalog.publish_sealed(self.shared.clock.now()))?;
        self.announce(published);
        Some(())
    }

    /// Makes segments of these entries: one, if that can be done.
    fn seal(&self, entries: &[Entry], ahead_of_log: bool) -> Option<Pieces<Arc<Segment>, Entry>> {
        let mut attempts = ATTEMPTS;
        pieces::make(entries, &mut |entries| {
            let segment = self.shared.catalog.new_segment();
            if ahead_of_log {
                // A start finds rows in this file that the log does not hold. A manifest that knows the id says that
                // this is no reason to doubt it.
                self.retry(|| self.shared.catalog.know_ids(self.shared.clock.now()))?;
            }
            let made = self.attempt(std::mem::replace(&mut attempts, 1), || self.seal_one(segment, entries))?;
            Some(made.inspect_err(|error| self.give_up(segment, entries.len(), error)))
        })
    }

    fn seal_one(&self, id: u64, entries: &[Entry]) -> Result<Arc<Segment>, StorageError> {
        let Shared { disk, layout, options, store, .. } = &*self.shared;
        seal_one(&**disk, (layout, options, store), id, entries).map(Arc::new)
    }

    /// Removes what attempts at a segment have left.
    fn give_up(&self, id: u64, batches: usize, error: &StorageError) {
        tracing::error!(%error, batches, "batches cannot be sealed together: each half is tried by itself; one that is alone is set aside");
        let path = self.shared.layout.segment(id);
        for path in [unfinished(&path), path] {
            // Most often there is none. What stays is removed by the next start.
            let _ = self.shared.disk.remove(&path);
        }
    }

    /// Writes batches that cannot be sealed as they came; `None` inside where there are none.
    fn set_aside(&self, entries: Vec<Entry>) -> Option<Option<Arc<SetAside>>> {
        if entries.is_empty() {
            return Some(None);
        }
        let Shared { disk, layout, store, catalog, .. } = &*self.shared;
        let id = catalog.new_segment();
        let file = self.retry(|| set_aside::write(&**disk, layout, store, id, entries.clone()))?;
        let path = layout.set_aside(id);
        tracing::error!(file = %path.display(), batches = entries.len(), "batches that cannot be sealed are set aside; they stay readable");
        Some(Some(Arc::new(file)))
    }

    fn announce(&self, published: Published) {
        let Published { memtables, memory, position, set_aside, .. } = published;
        if memtables > 0 {
            self.shared.note_set_aside(set_aside);
            self.shared.budget.release_memory(memory);
            // A stopping `wal` thread releases log files by itself.
            let _ = self.commands.send(Command::Sealed { position, memtables });
        }
        published.record();
    }

    /// Tries until it works; `None` when the store is stopping.
    fn retry<T>(&self, attempt: impl FnMut() -> Result<T, StorageError>) -> Option<T> {
        self.attempt(u32::MAX, attempt)?.ok()
    }

    /// Tries until it works or has failed `most` times for another reason than the disk; `None` when the store is
    /// stopping.
    fn attempt<T>(
        &self,
        most: u32,
        mut attempt: impl FnMut() -> Result<T, StorageError>,
    ) -> Option<Result<T, StorageError>> {
        let (mut pause, mut failures) = (FIRST_PAUSE, 0);
        loop {
            let error = match attempt() {
                Ok(value) => {
                    if self.shared.set_trouble("seal", None) {
                        tracing::info!("sealing works again");
                    }
                    return Some(Ok(value));
                }
                Err(error) => error,
            };
            self.report(&error);
            failures += u32::from(!matches!(error, StorageError::Io { .. }));
            if failures == most {
                return Some(Err(error));
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

/// Writes the segment of these entries and gives it its name. A panic on the way is an error like others.
pub fn seal_one(
    disk: &dyn Disk,
    (layout, options, store): (&Layout, &Options, &[u8; 16]),
    id: u64,
    entries: &[Entry],
) -> Result<Segment, StorageError> {
    let write = WriteOptions { block_size: options.block_size, codec: Codec::Lz4 };
    let into = SealInto { layout, store: *store, id, options: write };
    // What a seal shares with others it only reads.
    let sealed = catch_unwind(AssertUnwindSafe(|| seal(disk, entries, into)));
    sealed.unwrap_or_else(|panic| Err(StorageError::Refused(format!("sealing panicked: {}", words_of(&*panic)))))
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
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
