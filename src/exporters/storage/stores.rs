//! The store of one exporter, open or not, and the gauges that show it.

use crate::storage::clock::SystemClock;
use crate::storage::disk::SystemDisk;
use crate::storage::{Engine, Options, StorageError};
use crate::telemetry::names;
use anyhow::anyhow;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::{AbortHandle, spawn_blocking};

/// How often the gauges are brought up to date.
const GAUGE_INTERVAL: Duration = Duration::from_secs(1);

/// A directory and, while the exporter runs, its engine.
pub struct Store {
    options: Options,
    open: Mutex<Option<Open>>,
}

struct Open {
    engine: Arc<Engine>,
    gauges: AbortHandle,
}

impl Store {
    pub fn new(options: Options) -> Self {
        Self { options, open: Mutex::default() }
    }

    /// The engine, while it is open.
    pub fn engine(&self) -> Option<Arc<Engine>> {
        self.slot().as_ref().map(|open| open.engine.clone())
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Opens the directory and says what it came upon.
    pub async fn open(&self) -> anyhow::Result<()> {
        let options = self.options.clone();
        let opening = move || Engine::open(options, Arc::new(SystemDisk), Arc::new(SystemClock));
        let engine = Arc::new(spawn_blocking(opening).await?.map_err(twice)?);
        report(&engine);
        let gauges = tokio::spawn(show(engine.clone())).abort_handle();
        *self.slot() = Some(Open { engine, gauges });
        Ok(())
    }

    /// Seals what there is and closes the directory.
    pub async fn close(&self) {
        let Some(open) = self.slot().take() else { return };
        open.gauges.abort();
        let engine = open.engine.clone();
        // A panic inside was reported where it happened.
        let _ = spawn_blocking(move || engine.shutdown()).await;
        set_gauges(&open.engine);
    }
}

/// Says so where the directory is held by this very process, which "stop it first" would not help with.
fn twice(error: StorageError) -> anyhow::Error {
    match error {
        StorageError::Locked { path, holder } if holder == format!("process {}", std::process::id()) => {
            anyhow!("directory: {} is already used by another storage exporter; name one of its own", path.display())
        }
        other => other.into(),
    }
}

fn report(engine: &Engine) {
    let (found, options) = (engine.found(), engine.options());
    let directory = options.directory.display();
    tracing::info!(%directory, replayed_batches = found.replayed_batches, "store is open");
    for hole in &found.holes {
        let (file, from, to, lost) = (hole.path.display(), hole.from, hole.to, hole.lost);
        if hole.durable {
            tracing::error!(%file, from, to, lost, "damage in the log: batches that were answered may be among those lost");
        } else {
            tracing::warn!(%file, from, to, lost, "a hole in the log: batches there were never synced");
        }
    }
    found.notes.iter().for_each(|note| tracing::warn!("{note}"));
    for file in &found.unreadable {
        tracing::error!("a file cannot be read, or not all of it; that is left out of answers: {}", file.why);
    }
    if found.set_aside > 0 {
        let batches = found.set_aside;
        tracing::warn!(%directory, batches, "batches that could not be sealed are read from set-aside; sluice store export has them too");
    }
    let damaged = found.holes.iter().filter(|hole| hole.durable).count() + found.unreadable.len();
    metrics::gauge!(names::STORE_DAMAGE.name, "exporter" => options.name.clone()).set(damaged as f64);
}

async fn show(engine: Arc<Engine>) {
    let mut interval = tokio::time::interval(GAUGE_INTERVAL);
    loop {
        interval.tick().await;
        set_gauges(&engine);
    }
}

fn set_gauges(engine: &Engine) {
    let name = || engine.options().name.clone();
    let (log, segments) = engine.disk_bytes();
    metrics::gauge!(names::STORE_BYTES.name, "exporter" => name(), "kind" => "wal").set(log as f64);
    metrics::gauge!(names::STORE_BYTES.name, "exporter" => name(), "kind" => "segments").set(segments as f64);
    metrics::gauge!(names::STORE_SET_ASIDE.name, "exporter" => name()).set(engine.set_aside() as f64);
    metrics::gauge!(names::STORE_SEGMENTS.name, "exporter" => name()).set(engine.segment_count() as f64);
    metrics::gauge!(names::STORE_MEMTABLE_BYTES.name, "exporter" => name()).set(engine.memory() as f64);
}
