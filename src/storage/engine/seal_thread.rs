//! The `seal` thread: one frozen memtable after the other becomes a segment and is named by the manifest.
//!
//! A seal that fails is tried again, with growing pauses, while later ones wait: the rows are durable in the log and
//! readable in memory, so this is a state of the store and never an answer to a sender.

use super::{Directory, Shared};
use crate::storage::disk::Disk;
use crate::storage::error::StorageError;
use crate::storage::files::Layout;
use crate::storage::manifest::{self, FileKind, LiveFile, Manifest};
use crate::storage::memtable::Memtable;
use crate::storage::options::Options;
use crate::storage::seal::{SealInto, seal};
use crate::storage::segment::writer::WriteOptions;
use crate::storage::segment::{Codec, Segment};
use crate::telemetry::{self, names};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::wal_thread::Command;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The `wal` thread's end of the `seal` thread.
pub struct Sealer {
    frozen: mpsc::Sender<Arc<Memtable>>,
    /// Dropped at a stop: the thread tries once more and then gives up.
    patience: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Sealer {
    pub fn start(shared: Arc<Shared>, manifest: Manifest, commands: mpsc::Sender<Command>) -> std::io::Result<Self> {
        let (frozen, inbox) = mpsc::channel::<Arc<Memtable>>();
        let (patience, stop) = mpsc::channel();
        let mut worker = Worker { shared, manifest, commands, stop };
        let thread = std::thread::Builder::new().name("seal-1".into()).spawn(move || {
            while let Ok(memtable) = inbox.recv() {
                if !worker.seal_until_done(&memtable) {
                    break;
                }
            }
        })?;
        Ok(Self { frozen, patience, thread })
    }

    pub fn seal(&self, memtable: Arc<Memtable>) {
        // The thread is gone only after a panic, which was reported; the rows stay in the log.
        let _ = self.frozen.send(memtable);
    }

    /// Waits until everything handed over is sealed, or cannot be now.
    pub fn finish(self) {
        drop(self.patience);
        drop(self.frozen);
        let _ = self.thread.join();
    }
}

struct Worker {
    shared: Arc<Shared>,
    manifest: Manifest,
    commands: mpsc::Sender<Command>,
    stop: mpsc::Receiver<()>,
}

impl Worker {
    /// Seals and publishes; `false` when the store is stopping and it cannot be done.
    fn seal_until_done(&mut self, memtable: &Arc<Memtable>) -> bool {
        let started = Instant::now();
        let Some(segment) = self.retry(|worker| worker.seal(memtable)) else { return false };
        let segment = Arc::new(segment);
        if self.retry(|worker| worker.name(&segment, memtable)).is_none() {
            return false;
        }
        self.shared.view.publish(memtable, segment, &self.manifest);
        self.shared.budget.release_memory(memtable.bytes());
        telemetry::record("seal", started.elapsed());
        // A stopping `wal` thread releases log files by itself.
        let _ = self.commands.send(Command::Sealed { position: self.manifest.position });
        true
    }

    fn retry<T>(&mut self, mut attempt: impl FnMut(&mut Self) -> Result<T, StorageError>) -> Option<T> {
        let mut pause = FIRST_PAUSE;
        loop {
            match attempt(self) {
                Ok(value) => {
                    if self.shared.set_trouble("seal", None) {
                        tracing::info!("sealing works again");
                    }
                    return Some(value);
                }
                Err(error) => self.report(&error),
            }
            if !matches!(self.stop.recv_timeout(pause), Err(mpsc::RecvTimeoutError::Timeout)) {
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

    fn seal(&mut self, memtable: &Memtable) -> Result<Segment, StorageError> {
        let Shared { disk, layout, options, .. } = &*self.shared;
        begin(&**disk, layout, options, &mut self.manifest, memtable)
    }

    fn name(&mut self, segment: &Segment, memtable: &Memtable) -> Result<(), StorageError> {
        self.manifest.next_log = self.manifest.next_log.max(self.shared.next_log.load(Ordering::Relaxed));
        self.manifest.clock = self.shared.clock.now();
        commit(&*self.shared.disk, &self.shared.layout, &mut self.manifest, segment, memtable)
    }
}

fn begin(
    disk: &dyn Disk,
    layout: &Layout,
    options: &Options,
    manifest: &mut Manifest,
    memtable: &Memtable,
) -> Result<Segment, StorageError> {
    // An id is used up even where the attempt fails: a file that could not be removed must not be met again.
    let id = manifest.next_segment;
    manifest.next_segment += 1;
    let write = WriteOptions { block_size: options.block_size, codec: Codec::Lz4 };
    seal(disk, &memtable.entries(), SealInto { layout, store: manifest.store, id, options: write })
}

/// Writes the manifest that names the segment. On an error the old one is unchanged in memory, and the attempt's epoch
/// is used up, for it may be on disk.
fn commit(
    disk: &dyn Disk,
    layout: &Layout,
    manifest: &mut Manifest,
    segment: &Segment,
    memtable: &Memtable,
) -> Result<(), StorageError> {
    manifest.epoch += 1;
    let mut next = manifest.clone();
    next.position = memtable.last_lsn().map_or(next.position, |lsn| lsn + 1);
    next.files.push(live_file(segment));
    manifest::store(disk, layout, &next)?;
    *manifest = next;
    Ok(())
}

fn live_file(segment: &Segment) -> LiveFile {
    let footer = segment.footer();
    LiveFile {
        kind: FileKind::Segment,
        id: footer.id,
        bytes: segment.size(),
        rows: footer.rows,
        traces: footer.traces,
        lsns: footer.lsns,
        received: footer.received,
        not_before: 0,
    }
}

/// Seals a memtable while a store is being opened.
pub fn publish_sealed(
    disk: &dyn Disk,
    options: &Options,
    directory: &mut Directory,
    memtable: &Memtable,
) -> Result<(), StorageError> {
    let segment = begin(disk, &directory.layout, options, &mut directory.manifest, memtable)?;
    commit(disk, &directory.layout, &mut directory.manifest, &segment, memtable)?;
    directory.segments.push(Arc::new(segment));
    Ok(())
}
