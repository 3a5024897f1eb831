//! The `keeper` thread: gives up what retention does not keep, then says how much room the disk has, in this order, so that
//! nothing is refused for want of room that retention gives back. It looks once a second, and after every change of the
//! live segments.

use super::catalog::Catalog;
use super::wal_thread::Command;
use super::{Shared, ballast};
use crate::storage::clock::StoreClock;
use crate::storage::error::{Mib, NoRoom, StorageError};
use crate::storage::options::Options;
use crate::storage::retention;
use crate::telemetry::names;
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);

/// A disk on the edge of its reserve goes to and fro as log files are used again: that is said this often at most.
const QUIET: Duration = Duration::from_secs(60);

pub struct Keeper {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    /// When a want of room was last said, and whether its end is still to be.
    said: Option<Instant>,
    open_end: bool,
}

impl Keeper {
    pub fn new(shared: Arc<Shared>, commands: mpsc::Sender<Command>) -> Self {
        Self { shared, commands, said: None, open_end: false }
    }

    pub fn run(mut self) {
        while self.shared.bell.wait(INTERVAL) {
            self.round();
        }
    }

    /// Looks once.
    pub fn round(&mut self) {
        self.note_doubt();
        self.expire();
        match measure(&self.shared) {
            Ok(available) => self.measured(available),
            Err(error) => self.note("disk", Some(error.to_string()), "how much room the disk has cannot be found out"),
        }
    }

    fn note_doubt(&self) {
        let doubt = self.shared.clock.doubted_until();
        let hours = self.shared.clock.closed_for() / 3_600_000_000_000;
        let words = doubt.map(|_| {
            format!(
                "{hours} hours have passed since this store was last written to, or the wall clock is wrong: nothing \
                 expires in the first ten minutes"
            )
        });
        if self.shared.set_trouble("clock", words.clone()) {
            match words {
                Some(words) => tracing::warn!("{words}"),
                None => tracing::info!("segments expire again"),
            }
        }
    }

    fn expire(&self) {
        let Shared { catalog, options, clock, .. } = &*self.shared;
        let outcome = expire(catalog, options, clock);
        self.note(
            "expiry",
            outcome.err().map(|error| error.to_string()),
            "segments cannot be given up; it is tried again",
        );
    }

    fn measured(&mut self, available: u64) {
        self.note("disk", None, "how much room the disk has cannot be found out");
        let (free, reserve) = self.shared.budget.disk();
        self.note_room(free, reserve);
        let Shared { disk, layout, options, .. } = &*self.shared;
        if free >= reserve && available > options.room_for_seals() {
            // Not now, then later: it is for days on which this cannot be done.
            let _ = ballast::keep(&**disk, layout);
        }
        let short = options.room_for_seals().saturating_sub(available);
        // A `wal` thread that is gone needs nothing.
        let _ = self.commands.send(Command::Tend { short });
    }

    fn note_room(&mut self, free: u64, reserve: u64) {
        let is_low = free < reserve;
        let words =
            is_low.then(|| format!("{}: batches are refused until more is free", NoRoom::Disk { free, reserve }));
        let (free, reserve) = (Mib(free), Mib(reserve));
        if !self.shared.set_trouble("room", words) {
            return;
        }
        if is_low && self.said.is_none_or(|said| said.elapsed() >= QUIET) {
            (self.said, self.open_end) = (Some(Instant::now()), true);
            tracing::warn!(%free, %reserve, "the disk has less room than disk.reserve keeps for seals: batches are refused until more is free");
        } else if !is_low && std::mem::take(&mut self.open_end) {
            tracing::info!(%free, %reserve, "the disk has room again: batches are taken");
        }
    }

    /// Says once that something fails, and once that it works again.
    fn note(&self, part: &'static str, error: Option<String>, what: &'static str) {
        let news = self.shared.set_trouble(part, error.as_ref().map(|error| format!("{what}: {error}")));
        match error {
            Some(error) if news => tracing::error!(error, "{what}"),
            None if news => tracing::info!("over: {what}"),
            _ => {}
        }
    }
}

/// Measures the room for files and for seals; gives the former, in bytes. What spare log files take counts as room for seals:
/// nothing lives in them, and they are given back when seals need it.
pub fn measure(shared: &Shared) -> io::Result<u64> {
    let available = shared.disk.free(&shared.layout.root)?;
    shared.budget.set_disk_free(available.saturating_add(shared.spare_bytes.load(Ordering::Relaxed)));
    Ok(available)
}

/// Gives up the segments that retention does not keep; none while the store's time is doubted.
pub fn expire(catalog: &Catalog, options: &Options, clock: &StoreClock) -> Result<(), StorageError> {
    if clock.doubted_until().is_some() {
        return Ok(());
    }
    let now = clock.now();
    let files = catalog.live_files();
    let expired = retention::expired(&files, now, &options.retention);
    if expired.is_empty() {
        return Ok(());
    }
    catalog.expire(now, &expired)?;
    let gone: BTreeSet<_> = expired.into_iter().collect();
    let gone: Vec<_> = files.iter().filter(|file| gone.contains(&file.id)).collect();
    let (bytes, spans) = gone.iter().fold((0, 0), |(bytes, spans), file| (bytes + file.bytes, spans + file.rows));
    let exporter = || options.name.clone();
    metrics::counter!(names::STORE_EXPIRED_SEGMENTS.name, "exporter" => exporter()).increment(gone.len() as u64);
    metrics::counter!(names::STORE_EXPIRED_BYTES.name, "exporter" => exporter()).increment(bytes);
    metrics::counter!(names::STORE_EXPIRED_SPANS.name, "exporter" => exporter()).increment(spans);
    tracing::debug!(segments = gone.len(), bytes, spans, "segments expired");
    Ok(())
}

/// Wakes the keeper before its time, or ends it.
#[derive(Default)]
pub struct Bell {
    state: Mutex<Rung>,
    heard: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Rung {
    #[default]
    No,
    Yes,
    ForTheEnd,
}

impl Bell {
    /// The live segments are others than before.
    pub fn ring(&self) {
        self.set(Rung::Yes);
    }

    pub fn end(&self) {
        self.set(Rung::ForTheEnd);
    }

    fn set(&self, rung: Rung) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state != Rung::ForTheEnd {
            *state = rung;
        }
        self.heard.notify_all();
    }

    /// Waits for a ring, or for this long; `false` at the end.
    fn wait(&self, pause: Duration) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.heard.wait_timeout_while(state, pause, |rung| *rung == Rung::No);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *state == Rung::Yes {
            *state = Rung::No;
        }
        *state != Rung::ForTheEnd
    }
}
