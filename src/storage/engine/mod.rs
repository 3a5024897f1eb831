//! The engine: the only writer of its directory.

mod backlog;
mod ballast;
mod catalog;
mod keeper;
mod open_store;
mod opening;
mod pieces;
mod recovery;
mod room;
mod sealing;
mod unnamed;
mod view;
mod waiting;
mod wal_thread;

pub use catalog::{Claim, ReplaceError};
pub use open_store::OpenStore;
pub use recovery::Directory;
pub use room::Room;
pub use view::{Snapshot, Unreadable};

use crate::model::{Batch, time::Nanos};
use crate::storage::clock::{Clock, StoreClock};
use crate::storage::codec::crc;
use crate::storage::disk::{Disk, LockGuard};
use crate::storage::error::{AppendError, StorageError};
use crate::storage::files::Layout;
use crate::storage::options::Options;
use crate::storage::segment::Segment;
use crate::storage::wal::{Hole, Log};
use backlog::Backlog;
use catalog::Catalog;
use keeper::{Bell, Keeper};
use opening::Opening;
use room::Budget;
use sealing::Sealers;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;
use wal_thread::{Command, Pending, WalThread};

/// Called once with the outcome of an append, on the `wal` thread: it must be quick and must not block.
pub type Done = Box<dyn FnOnce(Result<(), AppendError>) + Send>;

/// A store that is open for writing.
pub struct Engine {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    /// The keeper and the `wal` thread.
    threads: Mutex<Vec<JoinHandle<()>>>,
    found: Found,
    _lock: Option<LockGuard>,
}

/// What opening the store came upon.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Places in the log where frames are missing.
    pub holes: Vec<Hole>,
    /// Copies of the manifest that cannot be read, a sentence each.
    pub notes: Vec<String>,
    /// Live files that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Batches taken over from the log.
    pub replayed_batches: u64,
    /// Batches that could not be sealed. They are readable.
    pub set_aside: u64,
}

impl Found {
    fn of(directory: &Directory, holes: Vec<Hole>, replayed_batches: u64) -> Self {
        let (notes, unreadable) = (directory.notes.clone(), directory.unreadable.clone());
        let set_aside = directory.set_aside.iter().map(|file| file.batches()).sum();
        Self { holes, notes, unreadable, replayed_batches, set_aside }
    }
}

/// What the threads of a store have in common.
pub(super) struct Shared {
    pub options: Options,
    pub layout: Layout,
    pub disk: Arc<dyn Disk>,
    /// Id of the store.
    pub store: [u8; 16],
    pub clock: StoreClock,
    pub catalog: Arc<Catalog>,
    pub budget: Arc<Budget>,
    pub readable: AtomicU64,
    pub log_bytes: AtomicU64,
    /// Bytes of log files nothing lives in.
    pub spare_bytes: AtomicU64,
    /// Closed log files with rows that are in no segment yet.
    pub log_files_waiting: AtomicUsize,
    /// Rings when the live segments have changed.
    pub bell: Bell,
    /// Batches that could not be sealed.
    set_aside: AtomicU64,
    /// What is wrong now, by the part it is wrong with.
    troubles: Mutex<BTreeMap<&'static str, String>>,
}

impl Shared {
    /// Says what is wrong with a part, or that nothing is any more. `true` where that is news.
    pub fn set_trouble(&self, part: &'static str, trouble: Option<String>) -> bool {
        let mut troubles = self.troubles.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match trouble {
            Some(text) => troubles.insert(part, text).is_none(),
            None => troubles.remove(part).is_some(),
        }
    }

    /// Counts batches that could not be sealed, and says so.
    pub fn note_set_aside(&self, batches: u64) {
        let all = self.set_aside.fetch_add(batches, Ordering::Relaxed) + batches;
        if all > 0 {
            let place = self.layout.set_aside.display();
            let words =
                format!("{all} batches could not be sealed; they are readable, durable in {place}, and stay in memory");
            self.set_trouble("set-aside", Some(words));
        }
    }

    /// Label value of this store's metrics.
    pub fn name(&self) -> String {
        self.options.name.clone()
    }
}

impl Engine {
    /// Opens a directory, making it a store if it is none: replays the log, seals what fills a memtable on the way,
    /// begins a new log file and starts the threads. On a full disk it opens with as much of the log as the memory may hold,
    /// reads on when segments can be written again, and takes no batches before that.
    ///
    /// Errors: the directory is in use, its manifest cannot be read, it was written by a newer version, or the disk fails.
    pub fn open(options: Options, disk: Arc<dyn Disk>, clock: Arc<dyn Clock>) -> Result<Self, StorageError> {
        let mut directory = recovery::open_for_writing(&*disk, Layout::new(&options.directory))?;
        recovery::sync_log(&*disk, &directory.layout)?;
        let mut opening = Opening::new(&options, &disk, &mut directory);
        let last_known = |in_log| recovery::last_known_time(&directory.manifest, in_log);
        opening.expire(&StoreClock::start(clock.clone(), last_known(0)));
        let replay = opening.replay(&directory)?;
        recovery::remove_unnamed(&*disk, &directory, &replay)?;
        let clock = StoreClock::start(clock, last_known(replay.latest));
        opening.read_on(&clock)?;
        opening.settle(&replay);
        let position = opening.catalog.manifest().position;
        let log = opening::begin_log(&disk, &directory, &options, &replay, position)?;
        let found = Found::of(&directory, replay.holes, opening.replayed);
        let Opening { catalog, memtable, frozen, freezes, backlog, .. } = opening;
        let budget = Arc::new(Budget::new(&options));
        let set_aside = directory.set_aside.iter().map(|file| file.memory());
        let memtables = frozen.iter().map(|memtable| memtable.bytes()).chain([memtable.bytes()]);
        set_aside.chain(memtables).for_each(|size| budget.charge(size));
        catalog.view.begin(frozen.into(), memtable);
        let readable = backlog.as_ref().map_or(replay.next_lsn - 1, |backlog| backlog.reached());
        let shared = Arc::new(Shared {
            layout: directory.layout,
            store: directory.manifest.store,
            clock,
            catalog,
            budget,
            readable: AtomicU64::new(readable),
            log_bytes: AtomicU64::new(0),
            spare_bytes: AtomicU64::new(0),
            log_files_waiting: AtomicUsize::new(0),
            bell: Bell::default(),
            set_aside: AtomicU64::new(0),
            troubles: Mutex::default(),
            options,
            disk,
        });
        shared.note_set_aside(found.set_aside);
        Self::start(shared, (log, backlog), (replay.next_lsn, freezes), found, directory.lock)
    }

    fn start(
        shared: Arc<Shared>,
        log: (Log, Option<Backlog>),
        next: (u64, u64),
        found: Found,
        lock: Option<LockGuard>,
    ) -> Result<Self, StorageError> {
        let (commands, inbox) = mpsc::channel();
        let failed = |what| StorageError::io(&shared.layout.root, what);
        let sealers = Sealers::start(&shared, &commands).map_err(failed("starting the seal threads"))?;
        let wal = WalThread::new(shared.clone(), log, sealers, inbox, next);
        let mut keeper = Keeper::new(shared.clone(), commands.clone());
        keeper.round();
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        let wal = thread("wal").spawn(move || wal.run()).map_err(failed("starting the wal thread"))?;
        let keeper = thread("keeper").spawn(move || keeper.run()).map_err(failed("starting the keeper thread"))?;
        Ok(Self { shared, commands, threads: Mutex::new(vec![keeper, wal]), found, _lock: lock })
    }

    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Takes room for a batch, or says what is full. Never waits; see [`Engine::on_room`].
    pub fn reserve(&self, bytes: usize, spans: usize) -> Result<Room, AppendError> {
        let room = self.shared.budget.reserve(&self.shared.options, bytes, spans);
        if matches!(room, Err(AppendError::NoRoom(_))) {
            // A closed engine has nothing to relieve.
            let _ = self.commands.send(Command::Relieve);
        }
        room
    }

    /// Calls back once when room may have become free. Ask again after registering.
    pub fn on_room(&self, waiter: Box<dyn FnOnce() + Send>) {
        self.shared.budget.on_room(waiter);
    }

    /// Hands a batch to the `wal` thread. `done` hears `Ok` once the batch is as durable as the options promise and readable.
    pub fn append(&self, batch: Batch, room: Room, done: Done) {
        let payload_crc = crc(&[batch.bytes()]);
        let pending = Pending { batch, payload_crc, room, done, queued: Instant::now() };
        if let Err(mpsc::SendError(Command::Append(pending))) = self.commands.send(Command::Append(pending)) {
            (pending.done)(Err(AppendError::Closed));
        }
    }

    /// Seals everything appended before this call and waits for it.
    ///
    /// Errors: what keeps the seal from succeeding; it goes on being tried.
    pub fn flush(&self) -> Result<(), String> {
        let (done, outcome) = mpsc::channel();
        let closed = || "the store is closed".to_owned();
        self.commands.send(Command::Flush(done)).map_err(|_| closed())?;
        outcome.recv().map_err(|_| closed())?
    }

    /// A consistent moment to read from.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.catalog.view.snapshot()
    }

    /// The highest LSN that readers may see.
    pub fn readable_lsn(&self) -> u64 {
        self.shared.readable.load(Ordering::Acquire)
    }

    /// Bytes on disk: log files, segments.
    pub fn disk_bytes(&self) -> (u64, u64) {
        let segments = self.shared.catalog.view.get().segments.iter().map(|segment| segment.size()).sum();
        (self.shared.log_bytes.load(Ordering::Relaxed), segments)
    }

    /// Log files that are full and hold rows in no segment yet.
    pub fn log_files_waiting(&self) -> usize {
        self.shared.log_files_waiting.load(Ordering::Relaxed)
    }

    /// Bytes of disk that files can still take, as the keeper last measured, and how many of them are kept for seals. Below
    /// that batches are refused. Spare log files count as free: seals get their room when they need it.
    pub fn disk_room(&self) -> (u64, u64) {
        self.shared.budget.disk()
    }

    /// Whether a merge can write this many bytes and leave the seals what is kept for them. Measures now.
    pub fn room_for_merge(&self, bytes: u64) -> bool {
        let measured = keeper::measure(&self.shared);
        let (free, reserve) = self.shared.budget.disk();
        measured.is_ok() && free >= reserve.saturating_add(bytes)
    }

    /// Batches of the log that are not in memory yet, so neither readable nor in a segment; none are taken before they are.
    pub fn unread(&self) -> u64 {
        self.shared.budget.unread()
    }

    /// Until when, in store time, nothing is given up for its age, because the start found the clock to have moved on by
    /// more than 24 h; `None` where it is not so, or not any more.
    pub fn expiry_paused_until(&self) -> Option<Nanos> {
        self.shared.clock.doubted_until()
    }

    /// How far the store's time is ahead of the wall clock, in nanoseconds; negative when it is behind.
    pub fn clock_offset(&self) -> i64 {
        self.shared.clock.offset()
    }

    /// Live segments that can be read.
    pub fn segment_count(&self) -> usize {
        self.shared.catalog.view.get().segments.len()
    }

    /// Batches that could not be sealed.
    pub fn set_aside(&self) -> u64 {
        self.shared.set_aside.load(Ordering::Relaxed)
    }

    /// Bytes of memory taken by batches not in a segment, reservations included.
    pub fn memory(&self) -> usize {
        self.shared.budget.memory()
    }

    /// What is wrong now: a sentence a part, none when all is well.
    pub fn troubles(&self) -> Vec<String> {
        let troubles = self.shared.troubles.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let damaged = self.damaged();
        let damaged = damaged.iter().map(|(id, what)| format!("segment {id} is left out of merges: {what}"));
        troubles.iter().map(|(part, what)| format!("{part}: {what}")).chain(damaged).collect()
    }

    /// Says what is wrong with a part, or that nothing is any more. `true` where that is news.
    pub fn set_trouble(&self, part: &'static str, trouble: Option<String>) -> bool {
        self.shared.set_trouble(part, trouble)
    }

    /// The disk and the names of the files in it, for those who write segments of their own.
    pub fn place(&self) -> (&Arc<dyn Disk>, &Layout) {
        (&self.shared.disk, &self.shared.layout)
    }

    /// Id of the store, which every segment carries.
    pub fn store_id(&self) -> [u8; 16] {
        self.shared.store
    }

    /// An id that no segment has or had.
    pub fn new_segment(&self) -> u64 {
        self.shared.catalog.new_segment()
    }

    /// Calls this after every change of the live segments, on the thread that made it: it must be quick and must not
    /// block. Only the first one asked for is called.
    pub fn on_publication(&self, listener: Box<dyn Fn() + Send + Sync>) {
        self.shared.catalog.view.listen(listener);
    }

    /// The live segments that could be merged now: readable, not known as damaged, in no merge.
    pub fn mergeable(&self) -> Vec<Arc<Segment>> {
        self.shared.catalog.mergeable()
    }

    /// Leaves a live segment out of merges until the next start, and says so among the troubles. It is read as before.
    pub fn note_damaged(&self, id: u64, what: String) {
        self.shared.catalog.note_damaged(id, what);
    }

    /// Ids of the segments that merges leave out, and what is wrong with each.
    pub fn damaged(&self) -> BTreeMap<u64, String> {
        self.shared.catalog.damaged()
    }

    /// Takes these segments for a merge: all, or none if one is not live or taken already.
    pub fn claim(&self, segments: Vec<Arc<Segment>>) -> Option<Claim> {
        self.shared.catalog.claim(segments)
    }

    /// Whether a merge works on the segment of this id.
    pub fn is_claimed(&self, id: u64) -> bool {
        self.shared.catalog.is_claimed(id)
    }

    /// Puts `outputs`, which are durable under their names, in the place of what was claimed; see [`ReplaceError`].
    pub fn replace(&self, claim: &Claim, outputs: &[Arc<Segment>]) -> Result<(), ReplaceError> {
        let replaced = self.shared.catalog.replace(self.now(), claim, outputs);
        self.shared.bell.ring();
        replaced
    }

    /// Ends the doubt that a failed [`Engine::replace`] left, so that its outputs can go. Nothing to do without one.
    ///
    /// Errors: the manifest still cannot be written.
    pub fn end_doubt(&self) -> Result<(), StorageError> {
        self.shared.catalog.end_doubt(self.now())
    }

    /// Gives up the segments with these ids: no reader that begins now sees them. A file goes when the last reader does.
    ///
    /// Errors: the manifest cannot be written; nothing is given up.
    pub fn expire(&self, ids: &[u64]) -> Result<(), StorageError> {
        self.shared.catalog.expire(self.now(), ids)
    }

    /// Store time now.
    pub fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    /// Takes no more batches, seals what there is, closes the log and waits for all of it. Any number of times.
    pub fn shutdown(&self) {
        self.shared.bell.end();
        let _ = self.commands.send(Command::Stop);
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shutdown();
    }
}
