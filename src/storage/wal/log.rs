//! Writing the log: frames into the current file, new files when it is full or poisoned, reuse of files that are
//! wholly in segments.

use super::frame::{FRAME_HEADER, Frame, FrameKind, Seed};
use super::header::{COPY_AT, FileHeader, HEADER_PAGE, Previous};
use super::spares::Spares;
use crate::storage::aside::Aside;
use crate::storage::disk::{Disk, DiskFile, write_all_at};
use crate::storage::files::Layout;
use crate::storage::options::WalOptions;
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Instant;
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
    /// Writing or syncing failed; a new file says where the old one ends. What was tried will not come back, and what
    /// had been answered and was not synced is in the new file.
    #[error("writing the log failed: {0}")]
    Poisoned(io::Error),
    /// Writing or syncing failed, and no new file could say so: whether the frames come back is not known.
    #[error("writing the log failed ({cause}) and the failure could not be recorded: {error}")]
    Broken { cause: io::Error, error: io::Error },
}

/// When the parts of a commit ended.
#[derive(Debug, Clone, Copy)]
pub struct CommitTimes {
    pub written: Instant,
    /// `None` where nothing was synced.
    pub synced: Option<Instant>,
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
    spares: Spares,
    next_id: u64,
    /// Frames of the current file that were answered and are not synced, oldest first. Their payloads are the memtable's.
    unsynced: Vec<(Frame, Bytes)>,
    /// When the oldest of them was written.
    unsynced_since: Option<Instant>,
    /// The highest LSN that was synced.
    durable: u64,
}

struct Current {
    file: Arc<dyn DiskFile>,
    id: u64,
    seed: Seed,
    size: u64,
    /// Behind the last frame: where the next one goes.
    written: Mark,
    /// Behind the last frame that was synced.
    synced: Mark,
    /// A successor may have a name and say where this file ends: nothing is written behind that any more.
    succeeded: bool,
}

/// An offset in a file, and the LSN of the frame before it.
#[derive(Debug, Clone, Copy)]
struct Mark {
    end: u64,
    lsn: u64,
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
        let begin = Mark { end: 0, lsn: 0 };
        let nowhere = Current { file, id: 0, seed, size: 0, written: begin, synced: begin, succeeded: false };
        let closed = found.closed.into();
        let mut log = Self {
            spares: Spares::new(disk.clone(), layout.clone(), found.spares),
            disk,
            layout,
            options,
            store,
            current: nowhere,
            closed,
            next_id: found.next_id,
            unsynced: Vec::new(),
            unsynced_since: None,
            durable: found.next_lsn.saturating_sub(1),
        };
        let size = log.options.file_size;
        log.current = log.new_file(size, found.next_lsn, found.previous, &[])?;
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
        self.in_use() + self.spares.bytes()
    }

    fn in_use(&self) -> u64 {
        self.current.size + self.closed.iter().map(|file| file.size).sum::<u64>()
    }

    /// Bytes of frames that can still be written before the log is full.
    pub fn room(&self) -> u64 {
        let files = self.options.max_size.saturating_sub(self.in_use()) / self.options.file_size;
        let here = if self.current.succeeded { 0 } else { self.current.size - self.current.written.end };
        here + files * (self.options.file_size - HEADER_PAGE)
    }

    pub fn next_file_id(&self) -> u64 {
        self.next_id
    }

    /// Whether a frame of this size fits into the current file.
    pub fn fits(&self, frame_size: u64) -> bool {
        !self.current.succeeded && self.current.written.end + frame_size <= self.current.size
    }

    /// The highest LSN known to be synced.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// When the oldest frame was written that is answered and not synced.
    pub fn unsynced_since(&self) -> Option<Instant> {
        self.unsynced_since
    }

    /// Closes the current file, synced, and begins one in which a frame of `frame_size` fits.
    pub fn rotate(&mut self, frame_size: u64, first_lsn: u64) -> Result<(), LogError> {
        self.sync()?;
        let size = self.options.file_size.max((HEADER_PAGE + frame_size).next_multiple_of(COPY_AT as u64));
        if self.in_use() + size > self.options.max_size {
            return Err(LogError::Full);
        }
        self.begin_file(size, first_lsn, &[]).map_err(LogError::NoFile)
    }

    /// Writes frames that fit (see [`Log::fits`]) and makes them durable, all or none.
    pub fn commit(&mut self, frames: &[(Frame, Bytes)]) -> Result<CommitTimes, LogError> {
        self.put(frames)?;
        let written = Instant::now();
        self.sync_file().map_err(|cause| self.poison(cause, frames))?;
        Ok(CommitTimes { written, synced: Some(Instant::now()) })
    }

    /// Writes frames that fit, all or none. They survive a kill, but a power cut only after the next [`Log::sync`]. The
    /// caller may answer for them: where that sync fails they are written again elsewhere.
    pub fn write(&mut self, frames: &[(Frame, Bytes)]) -> Result<CommitTimes, LogError> {
        self.put(frames)?;
        let written = Instant::now();
        self.unsynced.extend_from_slice(frames);
        self.unsynced_since.get_or_insert(written);
        Ok(CommitTimes { written, synced: None })
    }

    /// Makes durable what was written.
    ///
    /// Errors: [`LogError::Poisoned`]: all of it is durable in a new file; [`LogError::Broken`]: it may not be.
    pub fn sync(&mut self) -> Result<(), LogError> {
        match self.unsynced.is_empty() {
            true => Ok(()),
            false => self.sync_file().map_err(|cause| self.poison(cause, &[])),
        }
    }

    fn put(&mut self, frames: &[(Frame, Bytes)]) -> Result<(), LogError> {
        let Current { file, seed, written, .. } = &self.current;
        let after = put_frames(&**file, *seed, *written, frames).map_err(|cause| self.poison(cause, frames))?;
        self.current.written = after;
        Ok(())
    }

    fn sync_file(&mut self) -> io::Result<()> {
        self.current.file.sync()?;
        self.current.synced = self.current.written;
        self.note_synced(self.current.synced.lsn);
        Ok(())
    }

    fn note_synced(&mut self, lsn: u64) {
        self.durable = self.durable.max(lsn);
        self.unsynced.clear();
        self.unsynced_since = None;
    }

    /// Never writes to the current file again: what a failed write or sync left in it is not known. The next file takes
    /// over what was answered and not synced; its header records where the good part ends, so that nothing that was
    /// refused comes back.
    fn poison(&mut self, cause: io::Error, tried: &[(Frame, Bytes)]) -> LogError {
        let carried = std::mem::take(&mut self.unsynced);
        let last_tried = tried.last().map_or(self.current.written.lsn, |(frame, _)| frame.lsn);
        let first_lsn = carried.first().map_or(last_tried + 1, |(frame, _)| frame.lsn);
        let size = HEADER_PAGE + carried.iter().map(|(frame, _)| frame.size()).sum::<u64>();
        let size = self.options.file_size.max(size.next_multiple_of(COPY_AT as u64));
        match self.begin_file(size, first_lsn, &carried) {
            Ok(()) => {
                self.note_synced(carried.last().map_or(0, |(frame, _)| frame.lsn));
                LogError::Poisoned(cause)
            }
            Err(error) => {
                self.unsynced = carried;
                LogError::Broken { cause, error }
            }
        }
    }

    /// Puts a new file in the place of the current one, which ends where it was last synced.
    fn begin_file(&mut self, size: u64, first_lsn: u64, carried: &[(Frame, Bytes)]) -> io::Result<()> {
        let Current { id, synced: Mark { end, lsn }, .. } = self.current;
        let new = self.new_file(size, first_lsn, Some(Previous { id, end, last_lsn: lsn }), carried)?;
        let old = std::mem::replace(&mut self.current, new);
        self.closed.push_back(Closed { id: old.id, size: old.size, last_lsn: lsn, damaged: false });
        Ok(())
    }

    /// Prepares a file under a spare's name: the frames it is to begin with, then its header; then gives it its own name.
    fn new_file(
        &mut self,
        size: u64,
        first_lsn: u64,
        previous: Option<Previous>,
        carried: &[(Frame, Bytes)],
    ) -> io::Result<Current> {
        let id = self.next_id;
        let (spare, file) = self.spares.take(size, id)?;
        let seed = Seed::new(&self.store, id);
        let begin = Mark { end: HEADER_PAGE, lsn: first_lsn.saturating_sub(1) };
        let header = FileHeader { store: self.store, id, size, first_lsn, previous };
        let prepared = self.carry(spare, id, &*file, begin, carried);
        let named = prepared.and_then(|(spare, end)| self.name_file(spare, &*file, &header).map(|()| end));
        let written = named.inspect_err(|_| self.spares.put_back(spare, size))?;
        self.next_id += 1;
        Ok(Current { file, id, seed, size, written, synced: written, succeeded: false })
    }

    /// Writes and syncs the frames that a new file begins with, before its header says anything. Gives the id in the
    /// spare's name, and where the frames end.
    fn carry(
        &self,
        spare: u64,
        id: u64,
        file: &dyn DiskFile,
        begin: Mark,
        frames: &[(Frame, Bytes)],
    ) -> io::Result<(u64, Mark)> {
        if frames.is_empty() {
            return Ok((spare, begin));
        }
        // The id goes into the name first: a start that finds only the spare must not give it to another file, in which
        // these frames would pass for its own.
        if spare != id {
            self.disk.rename(&self.layout.spare(spare), &self.layout.spare(id))?;
        }
        self.disk.sync_dir(&self.layout.wal)?;
        let end = put_frames(file, Seed::new(&self.store, id), begin, frames)?;
        file.sync()?;
        Ok((id, end))
    }

    fn name_file(&mut self, spare: u64, file: &dyn DiskFile, header: &FileHeader) -> io::Result<()> {
        write_all_at(file, &mut [IoSlice::new(&header.encode_pages())], 0)?;
        file.sync()?;
        // A rename that fails, or is not synced, may be found after a crash nevertheless.
        self.current.succeeded = true;
        self.disk.rename(&self.layout.spare(spare), &self.layout.log(header.id))?;
        self.disk.sync_dir(&self.layout.wal)
    }

    /// Takes files that were found to hold nothing as spares.
    pub fn adopt(&mut self, empty: &[u64]) -> io::Result<()> {
        for &id in empty {
            let size = self.disk.open(&self.layout.log(id))?.len()?;
            self.spares.make(Closed { id, size, last_lsn: 0, damaged: false })?;
        }
        self.spares.settle()
    }

    /// Sets free the files whose every row is in a segment: all LSNs below `position`. Damaged ones are put aside.
    pub fn release(&mut self, position: u64) -> io::Result<()> {
        while let Some(file) = self.closed.front().copied().filter(|file| file.last_lsn < position) {
            match file.damaged {
                true => self.put_aside(file.id)?,
                false => self.spares.make(file)?,
            }
            self.closed.pop_front();
        }
        self.spares.settle()?;
        // No more spares than the log may grow into.
        self.spares.trim(self.options.max_size.saturating_sub(self.in_use()))
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

    /// Marks the current file, which must be synced, as closed in good order.
    pub fn close(&mut self, received: u64) -> io::Result<()> {
        let Current { file, seed, written, synced, .. } = &self.current;
        let (lsn, durable) = (written.lsn, synced.lsn);
        let frame = Frame { kind: FrameKind::End, lsn, received, durable, payload_len: 0, payload_crc: 0 };
        if !self.fits(frame.size()) {
            return Ok(());
        }
        put_frames(&**file, *seed, *written, &[(frame, Bytes::new())])?;
        file.sync()
    }
}

/// Writes frames at a mark; gives the mark behind them.
fn put_frames(file: &dyn DiskFile, seed: Seed, at: Mark, frames: &[(Frame, Bytes)]) -> io::Result<Mark> {
    let headers: Vec<_> = frames.iter().map(|(frame, _)| frame.encode(seed)).collect();
    let mut parts = Vec::with_capacity(frames.len() * 3);
    for (header, (frame, payload)) in headers.iter().zip(frames) {
        parts.push(IoSlice::new(header));
        parts.push(IoSlice::new(payload));
        let padding = frame.size() as usize - FRAME_HEADER - payload.len();
        parts.push(IoSlice::new(PADDING.get(..padding).unwrap_or_default()));
    }
    write_all_at(file, &mut parts, at.end)?;
    let size = frames.iter().map(|(frame, _)| frame.size()).sum::<u64>();
    Ok(Mark { end: at.end + size, lsn: frames.last().map_or(at.lsn, |(frame, _)| frame.lsn) })
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
