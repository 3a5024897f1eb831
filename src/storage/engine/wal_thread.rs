//! The `wal` thread: it alone assigns LSNs, writes frames, syncs, inserts the synced group into the memtable in LSN
//! order, makes it readable, then wakes the callers.

use super::backlog::Backlog;
use super::sealing::{Frozen, Sealers};
use super::{Done, Room, Shared};
use crate::model::Batch;
use crate::storage::error::AppendError;
use crate::storage::memtable::{Entry, Memtable};
use crate::storage::wal::log::CommitTimes;
use crate::storage::wal::{Frame, FrameKind, Log, LogError};
use crate::telemetry::{self, names};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

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
    /// Look again for what could not be done for want of room. Seals miss so many bytes of disk.
    Tend {
        short: u64,
    },
    Stop,
}

/// A batch that waits for its commit.
pub struct Pending {
    pub batch: Batch,
    pub payload_crc: u32,
    pub room: Room,
    pub done: Done,
}

pub struct WalThread {
    shared: Arc<Shared>,
    log: Log,
    /// What of the log is still to be read.
    backlog: Option<Backlog>,
    sealers: Option<Sealers>,
    inbox: mpsc::Receiver<Command>,
    next_lsn: u64,
    durable: u64,
    queue: VecDeque<Pending>,
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
        (log, backlog): (Log, Option<Backlog>),
        sealers: Sealers,
        inbox: mpsc::Receiver<Command>,
        (next_lsn, freezes): (u64, u64),
    ) -> Self {
        let frozen = shared.catalog.view.get().frozen;
        let sealing = frozen.len();
        let next_freeze = freezes - sealing as u64;
        let mut thread = Self {
            shared,
            log,
            backlog,
            sealers: Some(sealers),
            inbox,
            next_lsn,
            durable: next_lsn - 1,
            queue: VecDeque::new(),
            flushes: Vec::new(),
            sealing: 0,
            next_freeze,
            broken: None,
            stopping: false,
        };
        frozen.into_iter().for_each(|memtable| thread.hand_over(memtable));
        thread.backlog.iter().for_each(|backlog| backlog.show(&thread.shared));
        thread.publish_log_room();
        thread
    }

    fn hand_over(&mut self, memtable: Arc<Memtable>) {
        let (freeze, segment) = (self.next_freeze, self.shared.catalog.new_segment());
        self.next_freeze += 1;
        self.sealing += 1;
        if let Some(sealers) = &self.sealers {
            sealers.seal(Frozen { memtable, freeze, segment });
        }
    }

    pub fn run(mut self) {
        while !self.stopping {
            match self.inbox.recv_timeout(self.until_freeze()) {
                Ok(command) => self.take(command),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            self.gather();
            self.commit_queue();
            self.freeze_if_due();
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
                self.flushes.push((self.durable, done));
                self.answer_flushes(0);
            }
            Command::Sealed { position, memtables } => self.sealed(position, memtables),
            Command::SealFailed(why) => self.flushes.drain(..).for_each(|(_, done)| drop(done.send(Err(why.clone())))),
            Command::Tend { short } => self.tend(short),
            Command::Stop => self.stopping = true,
        }
    }

    fn tend(&mut self, short: u64) {
        if self.stopping {
            return;
        }
        if let Err(error) = self.log.give_back(short) {
            tracing::warn!(%error, "spare log files could not be removed to make room for seals");
        }
        if self.log.is_stuck() && self.broken.is_none() {
            let begun = self.log.rotate(0, self.next_lsn);
            self.note_rotation(&begun);
        }
        self.read_on();
        self.publish_log_room();
    }

    /// Takes as much of the rest of the log into memory as there is room for.
    fn read_on(&mut self) {
        let Some(mut backlog) = self.backlog.take_if(|_| !self.stopping) else { return };
        while backlog.fill_memtable(&self.shared) {
            self.freeze();
        }
        if backlog.left() > 0 {
            self.backlog = Some(backlog);
            self.relieve();
        }
    }

    fn sealed(&mut self, position: u64, memtables: usize) {
        self.sealing = self.sealing.saturating_sub(memtables);
        let released = self.log.release(position);
        if let Err(error) = released {
            tracing::error!(%error, "log files could not be set free for reuse; it is tried again after the next seal");
        }
        self.read_on();
        self.publish_log_room();
        self.answer_flushes(position);
    }

    /// Answers those whose rows are all below `position`, or all if nothing is being sealed.
    fn answer_flushes(&mut self, position: u64) {
        let idle = self.sealing == 0 && self.backlog.is_none();
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
        self.shared.spare_bytes.store(self.log.spare_bytes(), Ordering::Relaxed);
        self.shared.log_files_waiting.store(self.log.waiting(), Ordering::Relaxed);
        self.shared.catalog.set_next_log(self.log.next_file_id());
        let room = if self.broken.is_some() { 0 } else { self.log.room() };
        self.shared.budget.set_log_room(room, self.log.is_stuck());
    }

    fn commit_queue(&mut self) {
        while let Some(first) = self.queue.front() {
            let first_size = Log::frame_size(first.batch.bytes().len());
            if let Some(why) = self.broken.clone() {
                self.refuse_first("log_failed", AppendError::Full(why));
            } else if self.log.fits(first_size) {
                self.commit_group();
            } else {
                let begun = self.log.rotate(first_size, self.next_lsn);
                self.note_rotation(&begun);
                if let Err(error) = begun {
                    let reason = if matches!(error, LogError::NoFile(_)) { "no_log_file" } else { "log_full" };
                    self.refuse_first(reason, AppendError::Full(error.to_string()));
                    self.relieve();
                }
            }
        }
    }

    /// Says once that no log file can be made, and once that it works again. A log that is full is a usual state.
    fn note_rotation(&self, begun: &Result<(), LogError>) {
        match begun {
            Err(error @ LogError::NoFile(_)) => {
                if self.shared.set_trouble("wal", Some(error.to_string())) {
                    tracing::error!(%error, "batches are refused until a log file can be made");
                    self.shared.bell.ring();
                }
                self.publish_log_room();
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
        let outcome = self.log.commit(&frames);
        // LSNs are used up even where the commit failed: a frame that was refused must not share one with a later one.
        self.next_lsn += frames.len() as u64;
        match outcome {
            Ok(times) => self.committed(group, &frames, times),
            Err(error) => self.failed(group, error),
        }
    }

    fn frame(&self, pending: &Pending, index: u64) -> (Frame, Bytes) {
        let payload = pending.batch.bytes().clone();
        let frame = Frame {
            kind: FrameKind::Batch,
            lsn: self.next_lsn + index,
            received: self.shared.clock.now(),
            durable: self.durable,
            payload_len: payload.len() as u32,
            payload_crc: pending.payload_crc,
        };
        (frame, payload)
    }

    fn committed(&mut self, group: Vec<Pending>, frames: &[(Frame, Bytes)], times: CommitTimes) {
        let entries = group.iter().zip(frames).map(|(pending, (frame, _))| Entry {
            lsn: frame.lsn,
            received: frame.received,
            batch: pending.batch.clone(),
        });
        self.shared.catalog.view.active().extend(entries);
        self.durable = self.next_lsn - 1;
        self.shared.readable.store(self.durable, Ordering::Release);
        self.record(group.len() as u64, times);
        self.publish_log_room();
        for Pending { batch, room, done, .. } in group {
            room.keep(&batch);
            done(Ok(()));
        }
        self.freeze_if_full();
    }

    fn record(&self, batches: u64, times: CommitTimes) {
        telemetry::record("wal_append", times.write);
        telemetry::record("wal_sync", times.sync);
        metrics::counter!(names::STORE_COMMITS.name, "exporter" => self.shared.name()).increment(1);
        metrics::counter!(names::STORE_BATCHES.name, "exporter" => self.shared.name()).increment(batches);
    }

    fn failed(&mut self, group: Vec<Pending>, error: LogError) {
        tracing::error!(%error, "a commit failed");
        let text = error.to_string();
        let answer = match error {
            LogError::Broken { .. } => {
                let why = format!("{text}; the store takes nothing more until it is started again");
                self.shared.set_trouble("wal", Some(why.clone()));
                self.broken = Some(why);
                AppendError::Unknown(text)
            }
            _ => AppendError::Full(text),
        };
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

    fn relieve(&mut self) {
        if self.sealing == 0 {
            self.freeze();
        }
    }

    fn freeze(&mut self) {
        if let Some(memtable) = self.shared.catalog.view.freeze() {
            self.hand_over(memtable);
        }
    }

    fn freeze_if_full(&mut self) {
        if self.shared.options.fills(&self.shared.catalog.view.active()) {
            self.freeze();
        }
    }

    fn freeze_if_due(&mut self) {
        if self.until_freeze().is_zero() {
            self.freeze();
        }
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
        if self.broken.is_none()
            && let Err(error) = self.log.close(self.shared.clock.now())
        {
            tracing::error!(%error, "closing the log failed; nothing answered is lost");
        }
    }
}
