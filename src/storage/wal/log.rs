//! Writing the log: frames into the current file, new files when it is full or poisoned, reuse of files that are
//! wholly in segments.

use super::frame::{FRAME_HEADER, Frame, FrameKind, Seed};
use super::header::{COPY_AT, FileHeader, HEADER_PAGE, Previous};
use crate::storage::aside::Aside;
use crate::storage::disk::{Disk, DiskFile, write_all_at};
use crate::storage::files::Layout;
use crate::storage::options::WalOptions;
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;

const PADDING: [u8; 8] = [0; 8];

/// Why frames were not written.
#[derive(Debug, Error)]
pub enum LogError {
    /// The log has all the bytes it may have. Nothing was written.
    #[error("the log is full")]
    Full,
    /// No new file could be made. Nothing was written; the file in use is as it was, though it may take nothing more.
    #[error("cannot make a log file: {0}")]
    NoFile(io::Error),
    /// Writing or syncing failed; a new file says where the old one ends. What was tried will not come back.
    #[error("writing the log failed: {0}")]
    Poisoned(io::Error),
    /// Writing or syncing failed, and no new file could say so: whether the frames come back is not known.
    #[error("writing the log failed ({cause}) and the failure could not be recorded: {error}")]
    Broken { cause: io::Error, error: io::Error },
}

/// How long the last commit took.
#[derive(Debug, Clone, Copy, Default)]
pub struct CommitTimes {
    pub write: Duration,
    pub sync: Duration,
}

/// The writing side of a store's log. One thread owns it.
pub struct Log {
    disk: Arc<dyn Disk>,
    layout: Layout,
    options: WalOptions,
    store: [u8; 16],
    current: Current,
    /// Closed files that may hold rows not yet in a segment, oldest first.
    closed: VecDeque<Closed>,
    /// Files nothing lives in: id in the name, size.
    spares: Vec<Closed>,
    /// Some spare's new name is not durable yet.
    unsettled: bool,
    next_id: u64,
}

struct Current {
    file: Arc<dyn DiskFile>,
    id: u64,
    seed: Seed,
    size: u64,
    /// Where the next frame goes; all before it is durable.
    end: u64,
    last_lsn: u64,
    /// A successor may have a name and say where this file ends: nothing is written behind that any more.
    succeeded: bool,
}

/// A log file that is not written to.
#[derive(Debug, Clone, Copy)]
pub struct Closed {
    pub id: u64,
    pub size: u64,
    pub last_lsn: u64,
    /// Bytes of it could not be read: it is kept, and not used again.
    pub damaged: bool,
}

/// What a log takes over at its start.
pub struct Inherited {
    pub closed: Vec<Closed>,
    pub spares: Vec<Closed>,
    /// The newest file found that holds anything.
    pub previous: Option<Previous>,
    pub next_id: u64,
    pub next_lsn: u64,
}

impl Log {
    /// Begins a new file behind those found.
    pub fn start(
        disk: Arc<dyn Disk>,
        layout: Layout,
        options: WalOptions,
        store: [u8; 16],
        found: Inherited,
    ) -> io::Result<Self> {
        let seed = Seed::new(&store, 0);
        let file = Arc::new(Nowhere);
        let nowhere = Current { file, id: 0, seed, size: 0, end: 0, last_lsn: 0, succeeded: false };
        let closed = found.closed.into();
        let mut log = Self {
            disk,
            layout,
            options,
            store,
            current: nowhere,
            closed,
            spares: found.spares,
            unsettled: false,
            next_id: found.next_id,
        };
        let size = log.options.file_size;
        log.current = log.new_file(size, found.next_lsn, found.previous)?;
        Ok(log)
    }

    /// Bytes a frame with such a payload takes.
    pub fn frame_size(payload: usize) -> u64 {
        (FRAME_HEADER as u64 + payload as u64).next_multiple_of(8)
    }

    /// Whether such a frame could be written to an empty log.
    pub fn can_ever_hold(options: &WalOptions, payload: usize) -> bool {
        HEADER_PAGE + Self::frame_size(payload) <= options.max_size.saturating_sub(options.file_size)
    }

    /// Bytes of all log files, spares included.
    pub fn bytes(&self) -> u64 {
        self.in_use() + self.spares.iter().map(|file| file.size).sum::<u64>()
    }

    fn in_use(&self) -> u64 {
        self.current.size + self.closed.iter().map(|file| file.size).sum::<u64>()
    }

    /// Bytes of frames that can still be written before the log is full.
    pub fn room(&self) -> u64 {
        let files = self.options.max_size.saturating_sub(self.in_use()) / self.options.file_size;
        let here = if self.current.succeeded { 0 } else { self.current.size - self.current.end };
        here + files * (self.options.file_size - HEADER_PAGE)
    }

    pub fn next_file_id(&self) -> u64 {
        self.next_id
    }

    /// Whether a frame of this size fits into the current file.
    pub fn fits(&self, frame_size: u64) -> bool {
        !self.current.succeeded && self.current.end + frame_size <= self.current.size
    }

    /// Closes the current file and begins one in which a frame of `frame_size` fits.
    pub fn rotate(&mut self, frame_size: u64, first_lsn: u64) -> Result<(), LogError> {
        let size = self.options.file_size.max((HEADER_PAGE + frame_size).next_multiple_of(COPY_AT as u64));
        if self.in_use() + size > self.options.max_size {
            return Err(LogError::Full);
        }
        self.begin_file(size, first_lsn).map_err(LogError::NoFile)
    }

    /// Writes frames that fit (see [`Log::fits`]) and makes them durable, all or none.
    pub fn commit(&mut self, frames: &[(Frame, Bytes)]) -> Result<CommitTimes, LogError> {
        let started = Instant::now();
        let headers: Vec<_> = frames.iter().map(|(frame, _)| frame.encode(self.current.seed)).collect();
        let mut parts = Vec::with_capacity(frames.len() * 3);
        for (header, (frame, payload)) in headers.iter().zip(frames) {
            parts.push(IoSlice::new(header));
            parts.push(IoSlice::new(payload));
            let padding = frame.size() as usize - FRAME_HEADER - payload.len();
            parts.push(IoSlice::new(PADDING.get(..padding).unwrap_or_default()));
        }
        let written = write_all_at(&*self.current.file, &mut parts, self.current.end);
        let write = started.elapsed();
        let synced = written.and_then(|()| self.current.file.sync());
        if let Err(cause) = synced {
            return Err(self.poison(cause, frames));
        }
        self.current.end += frames.iter().map(|(frame, _)| frame.size()).sum::<u64>();
        self.current.last_lsn = frames.last().map_or(self.current.last_lsn, |(frame, _)| frame.lsn);
        Ok(CommitTimes { write, sync: started.elapsed() - write })
    }

    /// Never writes to the current file again: what a failed write or sync left in it is not known. The next file's
    /// header records where the good part ends, so that nothing that was refused comes back.
    fn poison(&mut self, cause: io::Error, frames: &[(Frame, Bytes)]) -> LogError {
        let next_lsn = frames.last().map_or(self.current.last_lsn, |(frame, _)| frame.lsn) + 1;
        match self.begin_file(self.options.file_size, next_lsn) {
            Ok(()) => LogError::Poisoned(cause),
            Err(error) => LogError::Broken { cause, error },
        }
    }

    fn begin_file(&mut self, size: u64, first_lsn: u64) -> io::Result<()> {
        let Current { id, end, last_lsn, .. } = self.current;
        let previous = Some(Previous { id, end, last_lsn });
        let new = self.new_file(size, first_lsn, previous)?;
        let old = std::mem::replace(&mut self.current, new);
        self.closed.push_back(Closed { id: old.id, size: old.size, last_lsn: old.last_lsn, damaged: false });
        Ok(())
    }

    /// Prepares a file under a spare's name, then gives it its own: header, sync, rename, directory.
    fn new_file(&mut self, size: u64, first_lsn: u64, previous: Option<Previous>) -> io::Result<Current> {
        let id = self.next_id;
        let (spare, file) = self.take_spare(size, id)?;
        let header = FileHeader { store: self.store, id, size, first_lsn, previous };
        if let Err(error) = self.name_file(spare, &*file, &header) {
            // Where it has its new name already, the next attempt takes that name from it.
            self.spares.push(Closed { id: spare, size, last_lsn: 0, damaged: false });
            return Err(error);
        }
        self.next_id += 1;
        let seed = Seed::new(&self.store, id);
        let last_lsn = first_lsn.saturating_sub(1);
        Ok(Current { file, id, seed, size, end: HEADER_PAGE, last_lsn, succeeded: false })
    }

    fn name_file(&mut self, spare: u64, file: &dyn DiskFile, header: &FileHeader) -> io::Result<()> {
        write_all_at(file, &mut [IoSlice::new(&header.encode_pages())], 0)?;
        file.sync()?;
        // A rename that fails, or is not synced, may be found after a crash nevertheless.
        self.current.succeeded = true;
        self.disk.rename(&self.layout.spare(spare), &self.layout.log(header.id))?;
        self.disk.sync_dir(&self.layout.wal)
    }

    /// A spare of this size, or a new file; with the id in its name.
    fn take_spare(&mut self, size: u64, id: u64) -> io::Result<(u64, Arc<dyn DiskFile>)> {
        self.settle_names()?;
        while let Some(spare) = self.spares.pop() {
            let path = self.layout.spare(spare.id);
            match self.disk.open(&path) {
                Ok(file) if spare.size == size => return Ok((spare.id, file)),
                Ok(_) => self.disk.remove(&path)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok((id, self.disk.create(&self.layout.spare(id), size)?))
    }

    /// Before a spare's header is written again, its old name must be gone for good.
    fn settle_names(&mut self) -> io::Result<()> {
        if self.unsettled {
            self.disk.sync_dir(&self.layout.wal)?;
            self.unsettled = false;
        }
        Ok(())
    }

    /// Takes files that were found to hold nothing as spares.
    pub fn adopt(&mut self, empty: &[u64]) -> io::Result<()> {
        for &id in empty {
            let size = self.disk.open(&self.layout.log(id))?.len()?;
            self.make_spare(Closed { id, size, last_lsn: 0, damaged: false })?;
        }
        self.settle_names()
    }

    fn make_spare(&mut self, file: Closed) -> io::Result<()> {
        self.unsettled = true;
        self.disk.rename(&self.layout.log(file.id), &self.layout.spare(file.id))?;
        self.spares.push(file);
        Ok(())
    }

    /// Sets free the files whose every row is in a segment: all LSNs below `position`. Damaged ones are put aside.
    pub fn release(&mut self, position: u64) -> io::Result<()> {
        while let Some(file) = self.closed.front().copied().filter(|file| file.last_lsn < position) {
            match file.damaged {
                true => self.put_aside(file.id)?,
                false => self.make_spare(file)?,
            }
            self.closed.pop_front();
        }
        self.settle_names()?;
        self.trim_spares()
    }

    fn put_aside(&self, id: u64) -> io::Result<()> {
        let from = self.layout.log(id);
        match Aside::new(&*self.disk, &self.layout).take(&from) {
            Ok(to) => {
                let (from, to) = (from.display(), to.display());
                tracing::warn!(%from, %to, "a damaged log file was moved; what could be read of it is in segments");
                Ok(())
            }
            // An attempt that failed at its end has moved it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Keeps no more spares than the log may grow into.
    fn trim_spares(&mut self) -> io::Result<()> {
        while self.bytes() > self.options.max_size {
            let Some(spare) = self.spares.pop() else { break };
            self.disk.remove(&self.layout.spare(spare.id))?;
        }
        Ok(())
    }

    /// Marks the current file as closed in good order.
    pub fn close(&mut self, received: u64) -> io::Result<()> {
        let lsn = self.current.last_lsn;
        let frame = Frame { kind: FrameKind::End, lsn, received, durable: lsn, payload_len: 0, payload_crc: 0 };
        if !self.fits(frame.size()) {
            return Ok(());
        }
        let header = frame.encode(self.current.seed);
        write_all_at(&*self.current.file, &mut [IoSlice::new(&header)], self.current.end)?;
        self.current.file.sync()
    }
}

/// Stands for the file before the first one.
struct Nowhere;

impl DiskFile for Nowhere {
    fn len(&self) -> io::Result<u64> {
        Ok(0)
    }
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
    fn write_at(&self, _: &[IoSlice<'_>], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
