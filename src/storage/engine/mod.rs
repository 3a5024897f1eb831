//! The engine: the only writer of its directory.

mod catalog;
mod open_store;
mod pieces;
mod recovery;
mod room;
mod sealing;
mod sweep;
mod view;
mod waiting;
mod wal_thread;

pub(in crate::storage) use catalog::live_file;
pub use catalog::{Claim, ReplaceError};
pub use open_store::OpenStore;
pub use recovery::Directory;
pub(in crate::storage) use recovery::take_lock;
pub use room::Room;
pub use view::{Snapshot, Unreadable};

use crate::model::{Batch, time::Nanos};
use crate::storage::clock::{Clock, StoreClock};
use crate::storage::codec::crc;
use crate::storage::disk::{Disk, LockGuard};
use crate::storage::error::{AppendError, StorageError};
use crate::storage::files::Layout;
use crate::storage::memtable::Memtable;
use crate::storage::options::Options;
use crate::storage::segment::Segment;
use crate::storage::wal::{Hole, Log, Replay};
use crate::telemetry::Laps;
use catalog::{Catalog, Published, Sealed};
use room::Budget;
use sealing::{Sealers, seal_one};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;
use view::{CurrentView, View};
use wal_thread::{Command, Pending, WalThread};

/// Called once with the outcome of an append, on the `wal` thread: it must be quick and must not block.
pub type Done = Box<dyn FnOnce(Result<(), AppendError>) + Send>;

/// A store that is open for writing.
pub struct Engine {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
    found: Found,
    /// Held until the engine is gone.
    lock: Option<LockGuard>,
}

/// What opening the store came upon.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Places in the log where frames are missing.
    pub holes: Vec<Hole>,
    /// What else is not as it should be and costs nothing, a sentence each.
    pub notes: Vec<String>,
    /// Live files that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// Batches taken over from the log.
    pub replayed_batches: u64,
    /// Batches that could not be sealed. They are readable.
    pub set_aside: u64,
}

impl Found {
    fn of(directory: &Directory, log: &Replay, replayed_batches: u64) -> Self {
        let notes = directory.notes.iter().cloned().chain(log.odd.iter().map(ToString::to_string)).collect();
        let (holes, unreadable) = (log.holes.clone(), directory.unreadable.clone());
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
    /// begins a new log file and starts the threads.
    ///
    /// Errors: the directory is in use, its manifest cannot be read, it was written by a newer version, or the disk fails.
    pub fn open(options: Options, disk: Arc<dyn Disk>, clock: Arc<dyn Clock>) -> Result<Self, StorageError> {
        Self::open_with(options, disk, clock, None)
    }

    /// The same for whoever has the lock already.
    pub(in crate::storage) fn open_with(
        options: Options,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        lock: Option<LockGuard>,
    ) -> Result<Self, StorageError> {
        let mut directory = recovery::open_for_writing(&*disk, Layout::new(&options.directory), lock)?;
        recovery::sync_log(&*disk, &directory.layout)?;
        let mut opening = Opening::new(&options, &disk, &directory);
        let replay = opening.replay(&directory)?;
        sweep::remove_orphans(&*disk, &mut directory, &replay)?;
        opening.settle(&directory, &replay);
        let last_known = recovery::last_known_time(&directory, &replay);
        let clock = StoreClock::start(clock, last_known);
        let position = opening.catalog.manifest().position;
        let log = begin_log(&disk, &directory, &options, &replay, position)?;
        let found = Found::of(&directory, &replay, opening.replayed);
        let Opening { catalog, memtable, frozen, freezes, .. } = opening;
        let budget = Arc::new(Budget::new(&options));
        let set_aside = directory.set_aside.iter().map(|file| file.memory());
        let memtables = frozen.iter().map(|memtable| memtable.bytes()).chain([memtable.bytes()]);
        set_aside.chain(memtables).for_each(|size| budget.charge(size));
        catalog.view.begin(frozen, memtable);
        let shared = Arc::new(Shared {
            layout: directory.layout,
            store: directory.manifest.store,
            clock,
            catalog,
            budget,
            readable: AtomicU64::new(replay.next_lsn - 1),
            log_bytes: AtomicU64::new(log.bytes()),
            set_aside: AtomicU64::new(0),
            troubles: Mutex::default(),
            options,
            disk,
        });
        shared.note_set_aside(found.set_aside);
        Self::start(shared, log, (replay.next_lsn, freezes), found, directory.lock)
    }

    fn start(
        shared: Arc<Shared>,
        log: Log,
        next: (u64, u64),
        found: Found,
        lock: Option<LockGuard>,
    ) -> Result<Self, StorageError> {
        let (commands, inbox) = mpsc::channel();
        let failed = |what| StorageError::io(&shared.layout.root, what);
        let sealers = Sealers::start(&shared, &commands).map_err(failed("starting the seal threads"))?;
        let wal = WalThread::new(shared.clone(), log, sealers, inbox, next);
        let thread = std::thread::Builder::new().name("wal".into()).spawn(move || wal.run());
        let thread = thread.map_err(failed("starting the wal thread"))?;
        Ok(Self { shared, commands, thread: Mutex::new(Some(thread)), found, lock })
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
        if matches!(room, Err(AppendError::Full(_))) {
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
        let troubles = self.shared.troubles.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        troubles.iter().map(|(part, what)| format!("{part}: {what}")).collect()
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
        self.shared.catalog.replace(self.now(), claim, outputs)
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

    /// Shuts down and gives the lock back.
    pub(in crate::storage) fn close(mut self) -> Option<LockGuard> {
        self.shutdown();
        self.lock.take()
    }

    /// Takes no more batches, seals what there is, closes the log and waits for all of it. Any number of times.
    pub fn shutdown(&self) {
        let _ = self.commands.send(Command::Stop);
        let thread = self.thread.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(thread) = thread {
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

/// What replaying collects before the threads exist.
struct Opening<'a> {
    options: &'a Options,
    disk: &'a Arc<dyn Disk>,
    catalog: Arc<Catalog>,
    memtable: Memtable,
    /// Full memtables that could not be sealed yet; the seal threads go on with them.
    frozen: Vec<Arc<Memtable>>,
    freezes: u64,
    replayed: u64,
}

impl<'a> Opening<'a> {
    fn new(options: &'a Options, disk: &'a Arc<dyn Disk>, directory: &Directory) -> Self {
        let view = CurrentView::new(View {
            epoch: directory.manifest.epoch,
            segments: Arc::new(directory.segments.clone()),
            unreadable: Arc::new(directory.unreadable.clone()),
            set_aside: Arc::new(directory.set_aside.clone()),
            frozen: Vec::new(),
            active: Arc::default(),
        });
        let catalog = Catalog::new(disk.clone(), directory.layout.clone(), directory.manifest.clone(), view);
        let (memtable, frozen) = (Memtable::default(), Vec::new());
        Self { options, disk, catalog: Arc::new(catalog), memtable, frozen, freezes: 0, replayed: 0 }
    }

    /// Reads the log into the memtable. Whenever that is full it is sealed on the spot, so that a long log does not
    /// need more memory than a running store.
    fn replay(&mut self, directory: &Directory) -> Result<Replay, StorageError> {
        recovery::read_log(&**self.disk, &directory.layout, &directory.manifest, &mut |entry| {
            self.replayed += 1;
            self.memtable.extend([entry]);
            if self.memtable.bytes() >= self.options.freeze_at() {
                self.seal_full(directory);
            }
        })
    }

    /// Seals what was replayed where a hole may be a torn tail: to frames written from now on all before them is durable,
    /// so the next start would take that hole for damage.
    fn settle(&mut self, directory: &Directory, replay: &Replay) {
        if replay.holes.iter().any(|hole| !hole.durable) && !self.memtable.is_empty() {
            self.seal_full(directory);
        }
    }

    fn seal_full(&mut self, directory: &Directory) {
        let memtable = Arc::new(std::mem::take(&mut self.memtable));
        let freeze = self.freezes;
        self.freezes += 1;
        // Memtables are published in LSN order: behind one that waits, all wait. With segments that the manifest cannot
        // know of, nothing is written before they are understood.
        if self.frozen.is_empty() && directory.unnamed.orphans.is_empty() {
            match self.seal(directory, &memtable, freeze) {
                Ok(()) => return,
                Err(error) => tracing::error!(%error, "sealing while opening the store failed; it is tried again"),
            }
        }
        self.frozen.push(memtable);
    }

    fn seal(&self, directory: &Directory, memtable: &Arc<Memtable>, freeze: u64) -> Result<(), StorageError> {
        let into = (&directory.layout, self.options, &directory.manifest.store);
        let mut laps = Laps::since(Instant::now());
        let segment = seal_one(&**self.disk, into, self.catalog.new_segment(), &memtable.entries())?;
        laps.end("seal_build");
        let segments = vec![Arc::new(segment)];
        self.catalog.add_sealed(freeze, Sealed { memtable: memtable.clone(), segments, set_aside: None, laps });
        self.catalog.publish_sealed(0).map(Published::record)
    }
}

/// Begins the new log file, then sets free what the old ones no longer need to hold.
fn begin_log(
    disk: &Arc<dyn Disk>,
    directory: &Directory,
    options: &Options,
    replay: &Replay,
    position: u64,
) -> Result<Log, StorageError> {
    let layout = directory.layout.clone();
    let failed = |what| StorageError::io(&directory.layout.wal, what);
    let store = directory.manifest.store;
    let log = Log::start(disk.clone(), layout, options.wal.clone(), store, replay.inherited());
    let mut log = log.map_err(failed("beginning a log file"))?;
    log.adopt(&replay.empty).map_err(failed("reusing log files"))?;
    log.release(position).map_err(failed("reusing log files"))?;
    Ok(log)
}
