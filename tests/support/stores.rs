//! Stores on a disk of the test's choice, with a clock that the test sets.

use sluice::merge::{self, MergeError, Report};
use sluice::model::{Batch, Trace};
use sluice::storage::clock::Clock;
use sluice::storage::disk::Disk;
use sluice::storage::files::Layout;
use sluice::storage::query::{Limits, Traces};
use sluice::storage::{Engine, Options, Snapshot, StorageError};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

pub const ROOT: &str = "/store";

/// Nanoseconds since the epoch; stands still until it is set.
#[derive(Clone)]
pub struct TestClock(Arc<AtomicU64>);

impl Default for TestClock {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(1_700_000_000_000_000_000)))
    }
}

impl TestClock {
    pub fn advance(&self, nanos: u64) {
        self.0.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn wall(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn boot(&self) -> u64 {
        self.wall()
    }
}

/// Small log files, and blocks of 4 KiB, so that little fills much.
pub fn small() -> Options {
    let mut options = Options::new(ROOT);
    options.wal.file_size = 1 << 20;
    options.wal.max_size = 64 << 20;
    options.block_size = 4 << 10;
    options
}

pub fn open(disk: impl Disk + 'static, options: Options, clock: &TestClock) -> Result<Engine, StorageError> {
    Engine::open(options, Arc::new(disk), Arc::new(clock.clone()))
}

/// Appends a batch and waits for its answer.
pub fn append(engine: &Engine, batch: Batch) {
    let room = engine.reserve(batch.bytes().len(), batch.spans().len()).unwrap();
    let (done, answer) = mpsc::channel();
    engine.append(batch, room, Box::new(move |outcome| done.send(outcome).unwrap()));
    answer.recv().unwrap().unwrap();
}

/// Merges these segments, or all that can be merged, whatever the policy would say.
pub fn merge(engine: &Engine, ids: Option<&[u64]>, options: &merge::Options) -> Result<Report, MergeError> {
    let mut segments = engine.mergeable();
    segments.retain(|segment| ids.is_none_or(|ids| ids.contains(&segment.footer().id)));
    let claim = engine.claim(segments).expect("nobody else merges");
    merge::merge(engine, &claim, options, &|| true)
}

/// Everything a reader sees, in order. Nothing may be missing.
pub fn read(snapshot: &Snapshot) -> Vec<Trace> {
    let mut traces = Traces::new(snapshot, Limits::NONE).unwrap();
    let all: Vec<_> = std::iter::from_fn(|| traces.next_trace().unwrap()).collect();
    assert_eq!(traces.warnings, Vec::<String>::new());
    all.iter().for_each(|trace| assert_eq!(trace.warnings, Vec::<String>::new(), "trace {}", trace.id));
    all
}

/// Ids of the live segments, in order.
pub fn ids(engine: &Engine) -> Vec<u64> {
    let mut ids: Vec<_> = engine.snapshot().segments.iter().map(|segment| segment.footer().id).collect();
    ids.sort_unstable();
    ids
}

/// Names of the files in the segments' folder, in order.
pub fn files(disk: &impl Disk) -> Vec<String> {
    let mut names = disk.list(&Layout::new(Path::new(ROOT)).segments).unwrap();
    names.sort_unstable();
    names
}

/// The names that segments with these ids have.
pub fn names(ids: &[u64]) -> Vec<String> {
    ids.iter().map(|id| format!("{id:016x}.seg")).collect()
}
