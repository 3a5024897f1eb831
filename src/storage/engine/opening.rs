//! Opening a store for writing: what the log holds goes into memtables, and from there into segments whenever one is full,
//! so that a long log needs no more memory than a running store. Where no segment can be written, on a full disk, the store
//! opens with what the memory may hold and reads on later.

use super::backlog::Backlog;
use super::catalog::{Catalog, Published, Sealed};
use super::keeper;
use super::recovery::{self, Directory};
use super::sealing::seal_one;
use super::view::{CurrentView, View};
use crate::storage::clock::StoreClock;
use crate::storage::disk::Disk;
use crate::storage::error::{StorageError, is_full};
use crate::storage::files::Layout;
use crate::storage::memtable::{Entry, Memtable, memory_of};
use crate::storage::options::Options;
use crate::storage::wal::{Log, Replay};
use crate::telemetry::Laps;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// What replaying collects before the threads exist.
pub struct Opening<'a> {
    options: &'a Options,
    disk: &'a Arc<dyn Disk>,
    layout: Layout,
    store: [u8; 16],
    pub catalog: Arc<Catalog>,
    pub memtable: Memtable,
    /// Memtables that could not be sealed yet, oldest first; the seal threads go on with them.
    pub frozen: VecDeque<Arc<Memtable>>,
    /// How many were frozen so far, those that are sealed included.
    pub freezes: u64,
    /// Batches taken over from the log.
    pub replayed: u64,
    /// What does not fit into memory.
    pub backlog: Option<Backlog>,
    /// While segments are there that the manifest cannot know of, nothing is written before they are understood.
    may_seal: bool,
}

impl<'a> Opening<'a> {
    /// Takes the segments out of `directory`, so that the files of those that expire meanwhile can go.
    pub fn new(options: &'a Options, disk: &'a Arc<dyn Disk>, directory: &mut Directory) -> Self {
        let view = CurrentView::new(View {
            epoch: directory.manifest.epoch,
            segments: Arc::new(std::mem::take(&mut directory.segments)),
            unreadable: Arc::new(directory.unreadable.clone()),
            set_aside: Arc::new(directory.set_aside.clone()),
            frozen: Vec::new(),
            active: Arc::default(),
            unread: 0,
        });
        let catalog = Catalog::new(disk.clone(), directory.layout.clone(), directory.manifest.clone(), view);
        Self {
            options,
            disk,
            layout: directory.layout.clone(),
            store: directory.manifest.store,
            catalog: Arc::new(catalog),
            memtable: Memtable::default(),
            frozen: VecDeque::new(),
            freezes: 0,
            replayed: 0,
            backlog: None,
            may_seal: directory.orphans.is_empty(),
        }
    }

    /// Gives up what retention does not keep, unless segments are there that are not understood yet.
    pub fn expire(&self, clock: &StoreClock) {
        if self.may_seal
            && let Err(error) = keeper::expire(&self.catalog, self.options, clock)
        {
            tracing::error!(%error, "segments could not be given up while opening the store; it is tried again");
        }
    }

    /// Reads the whole log, and takes as much of it as there is memory for.
    pub fn replay(&mut self, directory: &Directory) -> Result<Replay, StorageError> {
        let mut refused = None;
        let disk = self.disk.clone();
        let replay = recovery::read_log(&*disk, &directory.layout, &directory.manifest, &mut |entry| {
            let lsn = entry.lsn;
            if refused.is_none() && !self.take(entry) {
                refused = Some(lsn);
            }
        })?;
        self.backlog = refused.map(|next| Backlog::new(&replay.closed, directory.manifest.position, next));
        Ok(replay)
    }

    /// Takes a batch into memory; `false` where that is more than it may hold.
    fn take(&mut self, entry: Entry) -> bool {
        let size = memory_of(&entry.batch);
        if self.is_too_much(size) {
            self.freeze();
            if self.is_too_much(size) {
                return false;
            }
        }
        self.replayed += 1;
        self.memtable.extend([entry]);
        if self.options.fills(&self.memtable) {
            self.freeze();
        }
        true
    }

    /// Where there is nothing yet a batch is taken whatever its size: the bound may have been made smaller since.
    fn is_too_much(&self, size: usize) -> bool {
        let held = self.frozen.iter().map(|memtable| memtable.bytes()).sum::<usize>() + self.memtable.bytes();
        held > 0 && held.saturating_add(size) > self.options.memtable_max
    }

    /// Seals what there is on the spot, if it can be done: memtables are published in LSN order, so behind one that waits all
    /// wait.
    fn freeze(&mut self) {
        if self.memtable.is_empty() {
            return;
        }
        self.freezes += 1;
        let waited = !self.frozen.is_empty();
        self.frozen.push_back(Arc::new(std::mem::take(&mut self.memtable)));
        if !waited {
            self.seal_frozen();
        }
    }

    /// `false` where something is left that cannot be sealed now.
    fn seal_frozen(&mut self) -> bool {
        while self.may_seal
            && let Some(memtable) = self.frozen.front().cloned()
        {
            if let Err(error) = self.seal(memtable) {
                tracing::error!(%error, "sealing while opening the store failed; it is tried again");
                return false;
            }
            self.frozen.pop_front();
        }
        self.frozen.is_empty()
    }

    fn seal(&self, memtable: Arc<Memtable>) -> Result<(), StorageError> {
        let freeze = self.freezes - self.frozen.len() as u64;
        let into = (&self.layout, self.options, &self.store);
        let mut laps = Laps::since(Instant::now());
        let segment = seal_one(&**self.disk, into, self.catalog.new_segment(), &memtable.entries())?;
        laps.end("seal_build");
        let segments = vec![Arc::new(segment)];
        self.catalog.add_sealed(freeze, Sealed { memtable, segments, set_aside: None, laps });
        self.catalog.publish_sealed(0).map(Published::record)
    }

    /// Seals what was replayed where a hole may be a torn tail: to frames written from now on all before them is durable,
    /// so the next start would take that hole for damage.
    pub fn settle(&mut self, replay: &Replay) {
        if replay.holes.iter().any(|hole| !hole.durable) {
            self.freeze();
        }
    }

    /// Reads on, now that what the manifest could not know of is gone, for as long as segments can be written.
    pub fn read_on(&mut self, clock: &StoreClock) -> Result<(), StorageError> {
        self.may_seal = true;
        self.expire(clock);
        while let Some(mut backlog) = self.backlog.take() {
            let sealed = self.seal_frozen();
            if sealed {
                let disk = self.disk.clone();
                let (layout, store) = (self.layout.clone(), self.store);
                backlog.read((&*disk, &layout, &store), &mut |entry| self.take(entry))?;
            }
            self.backlog = Some(backlog).filter(|backlog| backlog.left() > 0);
            if !sealed {
                break;
            }
        }
        Ok(())
    }
}

/// Sets free what the log files found need no longer hold, then begins a new one. On a full disk where none of them can be
/// used again the log has no file at first.
pub fn begin_log(
    disk: &Arc<dyn Disk>,
    directory: &Directory,
    options: &Options,
    replay: &Replay,
    position: u64,
) -> Result<Log, StorageError> {
    let layout = directory.layout.clone();
    let failed = |what| StorageError::io(&directory.layout.wal, what);
    let store = directory.manifest.store;
    let mut log = Log::without_file(disk.clone(), layout, options.wal.clone(), store, replay.inherited());
    log.release(position).map_err(failed("reusing log files"))?;
    match log.begin(replay.next_lsn) {
        Err(error) if is_full(&error) => {}
        other => other.map_err(failed("beginning a log file"))?,
    }
    log.adopt(&replay.empty).map_err(failed("reusing log files"))?;
    log.release(position).map_err(failed("reusing log files"))?;
    Ok(log)
}
