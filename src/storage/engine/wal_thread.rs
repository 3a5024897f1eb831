//! The `wal` thread: it alone assigns LSNs, writes frames, syncs, inserts the group into the memtable in LSN order, makes it
//! readable, then wakes the callers. Under `durability: buffered` it syncs later, but always before a memtable is handed
//! over: no segment holds a row that the log may lose.

use super::sealing::{Frozen, Sealers};
use super::waiting::Waiting;
use super::{Done, Room, Shared};
use crate::model::Batch;
use crate::storage::error::AppendError;
use crate::storage::memtable::{Entry, Memtable};
use crate::storage::options::Durability;
use crate::storage::wal::{Frame, FrameKind, Log, LogError};
use crate::telemetry::{self, Laps, names};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Most payload bytes that one sync makes durable: beyond this a longer group only makes the first waiters wait longer.
const GROUP_BYTES: u64 = 16 << 20;

/// What the `wal` thread is asked to do.
pub enum Command {
    Append(Pending),
    /// Something is full: freeze what there is, so that a seal makes room.
    Relieve,
    /// Freeze, and say when all before this is in segments.
    Flush(mpsc::Sender<Result<(), String>>),
    /// Every row below this LSN is in a named segment.
    Sealed {
        position: u64,
        memtables: usize,
    },
    SealFailed(String),
    Stop,
}

/// A batch that waits for its commit.
pub struct Pending {
    pub batch: Batch,
    pub payload_crc: u32,
    pub room: Room,
    pub done: Done,
    /// When it was handed over.
    pub queued: Instant,
}

pub struct WalThread {
    shared: Arc<Shared>,
    log: Log,
    sealers: Option<Sealers>,
    inbox: mpsc::Receiver<Command>,
    next_lsn: u64,
    queue: VecDeque<Pending>,
    /// Senders that hear `Ok` when their rows are in a segment.
    waiting: Waiting,
    flushes: Vec<(u64, mpsc::Sender<Result<(), String>>)>,
    /// Memtables handed over and not yet published.
    sealing: usize,
    /// Number of the next freeze.
    next_freeze: u64,
    /// Why the log can no longer be written, once it cannot.
    broken: Option<String>,
    stopping: bool,
}

impl WalThread {
    /// `freezes`: how many memtables were frozen before, those that readers still see as frozen included.
    pub fn new(
        shared: Arc<Shared>,
        log: Log,
        sealers: Sealers,
        inbox: mpsc::Receiver<Command>,
        (next_lsn, freezes): (u64, u64),
    ) -> Self {
        shared.budget.set_log_room(log.room());
        let frozen = shared.catalog.view.get().frozen;
        let sealing = frozen.len();
        let next_freeze = freezes - sealing as u64;
        let mut thread = Self {
            shared,
            log,
            sealers: Some(sealers),
            inbox,
            next_lsn,
            queue: VecDeque::new(),
            waiting: Waiting::default(),
            flushes: Vec::new(),
            sealing: 0,
            next_freeze,
            broken: None,
            stopping: false,
        };
        frozen.into_iter().for_each(|memtable| thread.hand_over(memtable));
        thread
    }

    fn hand_over(&mut self, memtable: Arc<Memtable>) {
        let ahead_of_log = self.log.unsynced_since().is_some();
        let frozen = Frozen { memtable, freeze: self.next_freeze, ahead_of_log, laps: Laps::since(Instant::now()) };
        self.next_freeze += 1;
        self.sealing += 1;
        if let Some(sealers) = &self.sealers {
            sealers.seal(frozen);
        }
    }

    pub fn run(mut self) {
        while !self.stopping {
            match self.inbox.recv_timeout(self.until_due()) {
                Ok(command) => self.take(command),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            self.gather();
            self.commit_queue();
            self.do_what_is_due();
        }
        self.finish();
    }

    /// Takes what else is waiting, so that one sync serves it all.
    fn gather(&mut self) {
        let window = self.shared.options.wal.commit_window;
        if !self.queue.is_empty() && !window.is_zero() {
            std::thread::sleep(window);
        }
        while let Ok(command) = self.inbox.try_recv() {
            self.take(command);
        }
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Append(pending) if self.stopping => (pending.done)(Err(AppendError::Closed)),
            Command::Append(pending) => self.queue.push_back(pending),
            Command::Relieve => self.relieve(),
            Command::Flush(done) => {
                self.commit_queue();
                self.freeze();
                self.flushes.push((self.shared.readable.load(Ordering::Relaxed), done));
                self.answer_flushes(0);
            }
            Command::Sealed { position, memtables } => self.sealed(position, memtables),
            Command::SealFailed(why) => {
                self.flushes.drain(..).for_each(|(_, done)| drop(done.send(Err(why.clone()))));
                let gone = self.waiting.give_up();
                self.note_not_sealed(gone);
            }
            Command::Stop => self.stopping = true,
        }
    }

    fn sealed(&mut self, position: u64, memtables: usize) {
        self.sealing = self.sealing.saturating_sub(memtables);
        let released = self.log.release(position);
        if let Err(error) = released {
            tracing::error!(%error, "log files could not be set free for reuse; it is tried again after the next seal");
        }
        self.publish_log_room();
        self.answer_flushes(position);
        self.waiting.answer(position);
    }

    fn note_not_sealed(&self, senders: u64) {
        let exporter = self.shared.name();
        metrics::counter!(names::STORE_NOT_SEALED.name, "exporter" => exporter).increment(senders);
    }

    /// Answers those whose rows are all below `position`, or all if nothing is being sealed.
    fn answer_flushes(&mut self, position: u64) {
        let idle = self.sealing == 0;
        self.flushes.retain(|(last, done)| {
            let sealed = idle || *last < position;
            if sealed {
                // Whoever asked may have gone.
                let _ = done.send(Ok(()));
            }
            !sealed
        });
    }

    fn publish_log_room(&self) {
        self.shared.log_bytes.store(self.log.bytes(), Ordering::Relaxed);
        self.shared.catalog.set_next_log(self.log.next_file_id());
        let room = if self.broken.is_some() { 0 } else { self.log.room() };
        self.shared.budget.set_log_room(room);
    }

    fn commit_queue(&mut self) {
        while let Some(first) = self.queue.front() {
            let first_size = Log::frame_size(first.batch.bytes().len());
            if let Some(why) = self.broken.clone() {
                self.refuse_first("log_failed", AppendError::Full(why));
            } else if self.log.fits(first_size) {
                self.commit_group();
            } else {
                // A failed sync has begun a new file, or has broken the log: look again.
                self.sync();
                if self.broken.is_none() && !self.log.fits(first_size) {
                    self.rotate(first_size);
                }
            }
        }
    }

    fn rotate(&mut self, first_size: u64) {
        let begun = self.log.rotate(first_size, self.next_lsn);
        self.note_rotation(&begun);
        if let Err(error) = begun {
            self.refuse_first("log_full", AppendError::Full(error.to_string()));
            self.relieve();
        }
    }

    /// Makes durable what was answered. Where that fails the log has written it again elsewhere, or is broken.
    fn sync(&mut self) {
        if self.broken.is_some() || self.log.unsynced_since().is_none() {
            return;
        }
        let began = Instant::now();
        match self.log.sync() {
            Ok(()) => telemetry::record("buffered_sync", began.elapsed()),
            Err(error) => drop(self.note_failure(&error)),
        }
    }

    /// Says once that no log file can be made, and once that it works again. A log that is full is a usual state.
    fn note_rotation(&self, begun: &Result<(), LogError>) {
        match begun {
            Err(error @ LogError::NoFile(_)) => {
                if self.shared.set_trouble("wal", Some(error.to_string())) {
                    tracing::error!(%error, "batches are refused until a log file can be made");
                }
            }
            Err(_) => {}
            Ok(()) => {
                if self.shared.set_trouble("wal", None) {
                    tracing::info!("log files can be made again");
                }
            }
        }
    }

    fn refuse_first(&mut self, reason: &'static str, error: AppendError) {
        let Some(pending) = self.queue.pop_front() else { return };
        let exporter = self.shared.name();
        metrics::counter!(names::STORE_REFUSED.name, "exporter" => exporter, "reason" => reason).increment(1);
        drop(pending.room);
        (pending.done)(Err(error));
    }

    /// Commits as many of the queue as the current file and one group take: at least the first.
    fn commit_group(&mut self) {
        let mut group = Vec::new();
        let mut frames = Vec::new();
        let mut bytes = 0;
        while let Some(pending) = self.queue.front() {
            let size = Log::frame_size(pending.batch.bytes().len());
            if !self.log.fits(bytes + size) || (bytes > 0 && bytes + size > GROUP_BYTES) {
                break;
            }
            bytes += size;
            frames.push(self.frame(pending, frames.len() as u64));
            group.extend(self.queue.pop_front());
        }
        let mut laps = Laps::since(group.first().map_or_else(Instant::now, |pending| pending.queued));
        laps.end("append_queue");
        let outcome = match self.shared.options.durability {
            Durability::Buffered { .. } => self.log.write(&frames),
            Durability::Wal | Durability::Sealed { .. } => self.log.commit(&frames),
        };
        // LSNs are used up even where the commit failed: a frame that was refused must not share one with a later one.
        self.next_lsn += frames.len() as u64;
        match outcome {
            Ok(times) => {
                laps.end_at("append_write", times.written);
                if let Some(synced) = times.synced {
                    laps.end_at("append_sync", synced);
                }
                self.committed(group, &frames, laps);
            }
            Err(error) => self.failed(group, error),
        }
    }

    fn frame(&self, pending: &Pending, index: u64) -> (Frame, Bytes) {
        let payload = pending.batch.bytes().clone();
        let frame = Frame {
            kind: FrameKind::Batch,
            lsn: self.next_lsn + index,
            // Whole milliseconds: nobody needs more, and segments are smaller for it.
            received: self.shared.clock.now() / 1_000_000 * 1_000_000,
            durable: self.log.durable(),
            payload_len: payload.len() as u32,
            payload_crc: pending.payload_crc,
        };
        (frame, payload)
    }

    fn committed(&mut self, group: Vec<Pending>, frames: &[(Frame, Bytes)], mut laps: Laps) {
        let entries = group.iter().zip(frames).map(|(pending, (frame, _))| Entry {
            lsn: frame.lsn,
            received: frame.received,
            batch: pending.batch.clone(),
        });
        self.shared.catalog.view.active().extend(entries);
        self.shared.readable.store(self.next_lsn - 1, Ordering::Release);
        laps.end("append_insert");
        self.count(group.len() as u64);
        self.publish_log_room();
        for (Pending { batch, room, done, .. }, (frame, _)) in group.into_iter().zip(frames) {
            room.keep(&batch);
            match self.shared.options.durability {
                Durability::Sealed { .. } => self.waiting.add(frame.lsn, Instant::now(), done),
                Durability::Wal | Durability::Buffered { .. } => done(Ok(())),
            }
        }
        laps.end("append_answer");
        laps.whole("append");
        self.freeze_if_full();
    }

    fn count(&self, batches: u64) {
        metrics::counter!(names::STORE_COMMITS.name, "exporter" => self.shared.name()).increment(1);
        metrics::counter!(names::STORE_BATCHES.name, "exporter" => self.shared.name()).increment(batches);
    }

    fn failed(&mut self, group: Vec<Pending>, error: LogError) {
        let answer = self.note_failure(&error);
        let exporter = self.shared.name();
        let refused = group.len() as u64;
        metrics::counter!(names::STORE_REFUSED.name, "exporter" => exporter, "reason" => "log_failed")
            .increment(refused);
        self.publish_log_room();
        for Pending { room, done, .. } in group {
            drop(room);
            done(Err(answer.clone()));
        }
    }

    /// Says that the log failed; gives what is to be said to those whose batches were tried.
    fn note_failure(&mut self, error: &LogError) -> AppendError {
        tracing::error!(%error, "writing the log failed; a new log file has what was answered, or nothing more is taken");
        let text = error.to_string();
        let LogError::Broken { .. } = error else { return AppendError::Full(text) };
        let why = format!("{text}; the store takes nothing more until it is started again");
        self.shared.set_trouble("wal", Some(why.clone()));
        self.broken = Some(why);
        AppendError::Unknown(text)
    }

    fn relieve(&mut self) {
        if self.sealing == 0 {
            self.freeze();
        }
    }

    fn freeze(&mut self) {
        self.sync();
        if let Some(memtable) = self.shared.catalog.view.freeze() {
            self.hand_over(memtable);
        }
    }

    fn freeze_if_full(&mut self) {
        let active = self.shared.catalog.view.active();
        let max_spans = self.shared.options.seal.max_spans;
        let full = active.bytes() >= self.shared.options.freeze_at() || (max_spans > 0 && active.spans() >= max_spans);
        if full {
            self.freeze();
        }
    }

    /// What is done because time has passed, or because senders wait for it.
    fn do_what_is_due(&mut self) {
        if self.until_freeze().is_zero() || self.is_waited_for() {
            self.freeze();
        }
        match self.shared.options.durability {
            Durability::Buffered { .. } if self.until_sync().is_some_and(|rest| rest.is_zero()) => self.sync(),
            Durability::Sealed { timeout } => {
                let gone = self.waiting.time_out(timeout);
                self.note_not_sealed(gone);
            }
            Durability::Buffered { .. } | Durability::Wal => {}
        }
        if self.broken.is_some() {
            // What the log can no longer be trusted with is in a segment as soon as can be.
            self.freeze();
        }
    }

    /// Whether senders wait for rows to be sealed and a seal thread is free for them. With all of them at work a freeze
    /// would only make a smaller segment: the batches that come in meanwhile share the next one.
    fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty() && self.sealing < self.shared.options.seal.workers
    }

    /// How long until something is to be done unasked.
    fn until_due(&self) -> Duration {
        let due = match self.shared.options.durability {
            Durability::Wal => None,
            Durability::Buffered { .. } => self.until_sync(),
            Durability::Sealed { timeout } => self.waiting.until_timeout(timeout),
        };
        due.map_or(self.until_freeze(), |due| due.min(self.until_freeze()))
    }

    /// How long what was answered may still stay unsynced; `None` where there is nothing, or no way any more.
    fn until_sync(&self) -> Option<Duration> {
        let Durability::Buffered { sync } = self.shared.options.durability else { return None };
        let since = self.log.unsynced_since().filter(|_| self.broken.is_none())?;
        Some(sync.saturating_sub(since.elapsed()))
    }

    /// How long the active memtable may still stay unsealed.
    fn until_freeze(&self) -> Duration {
        let max_age = self.shared.options.seal.max_age;
        let Some(oldest) = self.shared.catalog.view.active().oldest() else { return max_age };
        let age = Duration::from_nanos(self.shared.clock.now().saturating_sub(oldest));
        max_age.saturating_sub(age)
    }

    /// Nothing is taken any more: seal what there is and close the log in good order.
    fn finish(mut self) {
        self.commit_queue();
        self.freeze();
        if let Some(sealers) = self.sealers.take() {
            sealers.finish();
        }
        while let Ok(command) = self.inbox.try_recv() {
            self.take(command);
        }
        let gone = self.waiting.give_up();
        self.note_not_sealed(gone);
        if self.broken.is_none()
            && let Err(error) = self.log.close(self.shared.clock.now())
        {
            tracing::error!(%error, "closing the log failed; nothing answered is lost");
        }
    }
}
