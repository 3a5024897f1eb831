//! The part of the log that a start could not take into memory: more than the memtables may hold, and no room on the disk
//! for segments. It is read on as seals make room.

use super::Shared;
use super::recovery::decode;
use crate::storage::disk::Disk;
use crate::storage::error::StorageError;
use crate::storage::files::Layout;
use crate::storage::memtable::{Entry, memory_of};
use crate::storage::wal::log::Closed;
use crate::storage::wal::replay::read_file_again;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

/// Batches of the log that are not in memory yet.
pub struct Backlog {
    /// The files that hold them, oldest first.
    files: VecDeque<Closed>,
    /// Its first LSN.
    next: u64,
    /// Its last LSN.
    last: u64,
    /// How many LSNs the log holds that the manifest's segments do not.
    total: u64,
}

impl Backlog {
    /// What is left of a log with these files when everything from `position` to below `next` was read.
    pub fn new(files: &[Closed], position: u64, next: u64) -> Self {
        let files: VecDeque<_> = files.iter().copied().filter(|file| file.last_lsn >= next).collect();
        let last = files.iter().map(|file| file.last_lsn).max().unwrap_or(0);
        Self { files, next, last, total: (last + 1).saturating_sub(position) }
    }

    /// LSN of the last batch that was read.
    pub fn reached(&self) -> u64 {
        self.next - 1
    }

    /// How many batches are left. LSNs that no frame has are counted too.
    pub fn left(&self) -> u64 {
        (self.last + 1).saturating_sub(self.next)
    }

    /// Gives batches to `take` until that refuses one, which is then the next. What cannot be a batch was reported when
    /// the log was read first.
    pub fn read(
        &mut self,
        (disk, layout, store): (&dyn Disk, &Layout, &[u8; 16]),
        take: &mut dyn FnMut(Entry) -> bool,
    ) -> Result<(), StorageError> {
        while let Some(file) = self.files.front().copied() {
            let lsns = self.next..=file.last_lsn;
            let mut refused = false;
            read_file_again(disk, layout, store, file.id, lsns, &mut |found| {
                let lsn = found.lsn;
                refused = decode(&found).is_ok_and(|entry| !take(entry));
                if refused {
                    return ControlFlow::Break(());
                }
                self.next = lsn + 1;
                ControlFlow::Continue(())
            })?;
            if refused {
                break;
            }
            self.next = file.last_lsn + 1;
            self.files.pop_front();
        }
        Ok(())
    }

    /// Reads on into the active memtable; `true` when that is full and should be frozen, so that there can be more. What is
    /// not in it then is not readable.
    pub fn fill_memtable(&mut self, shared: &Shared) -> bool {
        let active = shared.catalog.view.active();
        let read = self.read((&*shared.disk, &shared.layout, &shared.store), &mut |entry| {
            let (lsn, size) = (entry.lsn, memory_of(&entry.batch));
            let taken = !shared.options.fills(&active) && shared.budget.charge_within(size);
            if taken {
                active.extend([entry]);
                shared.readable.store(lsn, Ordering::Release);
            }
            taken
        });
        if shared.set_trouble("log", read.as_ref().err().map(ToString::to_string))
            && let Err(error) = read
        {
            tracing::error!(%error, "the rest of the log cannot be read; it is tried again");
        }
        self.show(shared);
        self.left() > 0 && shared.options.fills(&active)
    }

    /// Says how far it has come: to senders, to readers, and to people.
    pub fn show(&self, shared: &Shared) {
        let (left, total) = (self.left(), self.total);
        shared.catalog.view.set_unread(left);
        shared.budget.set_unread(left);
        let words = || format!("the log is being replayed: {left} of {total} batches are not readable yet");
        let news = shared.set_trouble("replay", (left > 0).then(words));
        match left {
            0 if news => tracing::info!("the log is replayed: everything in it is readable, and batches are taken"),
            0 => {}
            _ if news => tracing::warn!(
                left,
                total,
                "the log does not fit into memory: it is read on as seals make room, and until then batches are refused"
            ),
            _ => {}
        }
    }
}
