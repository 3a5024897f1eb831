//! Room for batches on their way in: memory, log and disk, all bounded by configuration.

use crate::model::Batch;
use crate::storage::error::{AppendError, NoRoom};
use crate::storage::memtable::{memory_for, memory_of};
use crate::storage::options::Options;
use crate::storage::wal::Log;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

type Waiter = Box<dyn FnOnce() + Send>;

/// What is taken and what there is.
pub struct Budget {
    memory_max: usize,
    memory: AtomicU64,
    reserve: u64,
    /// Bytes of disk that seals could take, as the keeper last measured.
    disk_free: AtomicU64,
    /// Batches of the log that are not in memory yet. Nothing is taken before they are: rows go in in LSN order.
    unread: AtomicU64,
    /// Bytes of frames the log could still take, as the `wal` thread last said.
    log_room: AtomicU64,
    /// Whether that is all because no log file can be made.
    log_stuck: AtomicBool,
    log_reserved: AtomicU64,
    log_max: u64,
    waiters: Mutex<Vec<Waiter>>,
}

/// Room for one batch. Dropped unused, it is given back.
pub struct Room {
    budget: Arc<Budget>,
    memory: usize,
    frame: u64,
}

impl Budget {
    pub fn new(options: &Options) -> Self {
        Self {
            memory_max: options.memtable_max,
            memory: AtomicU64::new(0),
            reserve: options.reserve(),
            disk_free: AtomicU64::new(0),
            unread: AtomicU64::new(0),
            log_room: AtomicU64::new(0),
            log_stuck: AtomicBool::new(false),
            log_reserved: AtomicU64::new(0),
            log_max: options.wal.max_size,
            waiters: Mutex::default(),
        }
    }

    /// Bytes of memory taken or reserved.
    pub fn memory(&self) -> usize {
        self.memory.load(Ordering::Relaxed) as usize
    }

    /// Takes room for a batch of this size, or says what is full.
    pub fn reserve(self: &Arc<Self>, options: &Options, bytes: usize, spans: usize) -> Result<Room, AppendError> {
        let (memory, frame) = (memory_for(bytes, spans), Log::frame_size(bytes));
        if memory > self.memory_max {
            let max = self.memory_max;
            return Err(AppendError::TooLarge(format!(
                "a batch of {memory} bytes in memory exceeds memtable.max_total ({max})"
            )));
        }
        if !Log::can_ever_hold(&options.wal, bytes) {
            let max = options.wal.max_size;
            return Err(AppendError::TooLarge(format!(
                "a batch of {bytes} bytes does not fit into wal.max_size ({max})"
            )));
        }
        self.take(memory as u64, frame).map_err(AppendError::NoRoom)?;
        Ok(Room { budget: self.clone(), memory, frame })
    }

    fn take(&self, memory: u64, frame: u64) -> Result<(), NoRoom> {
        let (free, left) = (self.disk_free.load(Ordering::Relaxed), self.unread.load(Ordering::Relaxed));
        if left > 0 {
            return Err(NoRoom::Replaying { left });
        }
        if free < self.reserve {
            return Err(NoRoom::Disk { free, reserve: self.reserve });
        }
        if !take(&self.log_reserved, frame, self.log_room.load(Ordering::Relaxed)) {
            let stuck = self.log_stuck.load(Ordering::Relaxed);
            return Err(if stuck { NoRoom::LogFile } else { NoRoom::Log { max: self.log_max } });
        }
        if !take(&self.memory, memory, self.memory_max as u64) {
            // Not a `Room` that is dropped: nothing became free, so nobody is to be woken.
            self.log_reserved.fetch_sub(frame, Ordering::Relaxed);
            return Err(NoRoom::Memory { max: self.memory_max as u64 });
        }
        Ok(())
    }

    /// Calls back once when room may have become free. Ask for room again after registering: it may just have.
    pub fn on_room(&self, waiter: Waiter) {
        self.waiters().push(waiter);
    }

    /// `stuck`: there is no more because no log file can be made.
    pub fn set_log_room(&self, bytes: u64, stuck: bool) {
        self.log_stuck.store(stuck, Ordering::Relaxed);
        self.log_room.store(bytes, Ordering::Relaxed);
        self.wake();
    }

    pub fn set_disk_free(&self, bytes: u64) {
        let before = self.disk_free.swap(bytes, Ordering::Relaxed);
        if before < self.reserve && bytes >= self.reserve {
            self.wake();
        }
    }

    /// Bytes of disk that seals could take, and how many of them are kept for that.
    pub fn disk(&self) -> (u64, u64) {
        (self.disk_free.load(Ordering::Relaxed), self.reserve)
    }

    /// Says how many batches of the log are not in memory yet.
    pub fn set_unread(&self, batches: u64) {
        self.unread.store(batches, Ordering::Relaxed);
        if batches == 0 {
            self.wake();
        }
    }

    pub fn unread(&self) -> u64 {
        self.unread.load(Ordering::Relaxed)
    }

    /// Charges for batches that come from the log and not from a sender.
    pub fn charge(&self, memory: usize) {
        self.memory.fetch_add(memory as u64, Ordering::Relaxed);
    }

    /// The same, unless that is more than there is room for. Where nothing is charged yet there always is: one batch may be
    /// larger than the bound was made since.
    pub fn charge_within(&self, memory: usize) -> bool {
        if self.memory() == 0 {
            self.charge(memory);
            return true;
        }
        take(&self.memory, memory as u64, self.memory_max as u64)
    }

    /// Gives back the memory of batches that are in a segment now.
    pub fn release_memory(&self, memory: usize) {
        self.memory.fetch_sub(memory as u64, Ordering::Relaxed);
        self.wake();
    }

    fn wake(&self) {
        let waiters = std::mem::take(&mut *self.waiters());
        waiters.into_iter().for_each(|waiter| waiter());
    }

    fn waiters(&self) -> std::sync::MutexGuard<'_, Vec<Waiter>> {
        self.waiters.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Adds to a counter unless that takes it over `max`.
fn take(counter: &AtomicU64, amount: u64, max: u64) -> bool {
    let fits = |used: u64| used.checked_add(amount).filter(|&sum| sum <= max);
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
}

impl Room {
    /// The batch is in the memtable: its memory stays charged until it is sealed.
    pub fn keep(mut self, batch: &Batch) {
        let actual = memory_of(batch);
        self.budget.memory.fetch_add(actual as u64, Ordering::Relaxed);
        self.give_back();
        self.memory = 0;
    }

    fn give_back(&mut self) {
        self.budget.memory.fetch_sub(std::mem::take(&mut self.memory) as u64, Ordering::Relaxed);
        self.budget.log_reserved.fetch_sub(std::mem::take(&mut self.frame), Ordering::Relaxed);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.memory > 0 {
            self.give_back();
            self.budget.wake();
        }
    }
}
