//! Reading the log at a start: which frames are there, where each file ends, what is missing.
//!
//! A file that has a successor ends where the successor's header says. The newest file ends behind its last readable
//! frame. Bytes that are no frame, with readable frames behind them, are a *hole*. A hole at or below the highest LSN
//! that any frame knows to be durable is damage. One above it may be damage or the remains of a commit that never
//! finished; the frames behind it are kept either way, since none of them was refused.

use super::frame::{FrameKind, Seed};
use super::header::{BadHeader, FileHeader, FoundHeader, HEADER_PAGE, Previous, VERSION};
use super::hole::{Hole, HolePart, Odd, Oddity};
use super::log::{Closed, Inherited};
use super::scan::Scan;
use crate::model::time::Nanos;
use crate::storage::disk::{Disk, DiskFile, Tolerant, read_file_tolerant};
use crate::storage::error::StorageError;
use crate::storage::files::{Layout, above, log_id, log_name, spare_id};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A batch found in the log.
#[derive(Debug, Clone)]
pub struct Replayed {
    pub lsn: u64,
    pub received: Nanos,
    pub payload: Bytes,
    pub path: PathBuf,
    pub offset: u64,
}

/// What a log holds.
#[derive(Debug, Default)]
pub struct Replay {
    /// Every file that was read, oldest first, with the highest LSN in it; 0 where there is none.
    pub files: Vec<(PathBuf, u64)>,
    /// Files that hold frames, oldest first.
    pub closed: Vec<Closed>,
    /// Files that hold none.
    pub empty: Vec<u64>,
    pub spares: Vec<Closed>,
    pub previous: Option<Previous>,
    pub holes: Vec<Hole>,
    pub odd: Vec<Odd>,
    /// Above every id and LSN that any log file names.
    pub next_id: u64,
    pub next_lsn: u64,
    /// Receive time of the newest frame; 0 where there is none.
    pub latest: Nanos,
    /// Bytes of all log files, spares included.
    pub bytes: u64,
    /// The first LSN that the log may hold; `None` where it has no files.
    pub first_lsn: Option<u64>,
    /// Lowest and highest LSN of the batches given to the sink.
    pub given: Option<(u64, u64)>,
    durable: u64,
    position: u64,
    newest: Option<u64>,
}

/// Reads all log files and gives every batch at or above `position` to `sink`, in LSN order.
///
/// Errors: a file was written by another version; nothing was given then.
pub fn replay(
    disk: &dyn Disk,
    layout: &Layout,
    store: &[u8; 16],
    position: u64,
    sink: &mut dyn FnMut(Replayed),
) -> Result<Replay, StorageError> {
    let mut replay = Replay { next_id: 1, next_lsn: position, position, ..Replay::default() };
    let files = replay.find_files(disk, layout, store)?;
    for odd in &replay.odd {
        if let Oddity::Version(found) = odd.what {
            return Err(StorageError::format(odd.path.clone(), found, VERSION));
        }
    }
    replay.read_files(disk, layout, store, &files, sink)?;
    Ok(replay)
}

/// The same, leaving out files of other versions.
pub fn examine(
    disk: &dyn Disk,
    layout: &Layout,
    store: &[u8; 16],
    position: u64,
    sink: &mut dyn FnMut(Replayed),
) -> Result<Replay, StorageError> {
    let mut replay = Replay { next_id: 1, next_lsn: position, position, ..Replay::default() };
    let files = replay.find_files(disk, layout, store)?;
    replay.read_files(disk, layout, store, &files, sink)?;
    Ok(replay)
}

/// A log file of this store. Its header is `None` where neither copy can be read.
struct Found {
    path: PathBuf,
    size: u64,
    found: Option<FoundHeader>,
}

impl Replay {
    fn find_files(
        &mut self,
        disk: &dyn Disk,
        layout: &Layout,
        store: &[u8; 16],
    ) -> Result<BTreeMap<u64, Found>, StorageError> {
        let mut files = BTreeMap::new();
        let names = match disk.list(&layout.wal) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            other => other.map_err(StorageError::io(&layout.wal, "listing"))?,
        };
        for name in names {
            let path = layout.wal.join(&name);
            if let Some(id) = log_id(&name) {
                self.next_id = above(self.next_id, id);
                match Found::open(disk, path, id, store)? {
                    Ok(file) => {
                        self.bytes += file.size;
                        files.insert(id, file);
                    }
                    Err(odd) => self.odd.push(odd),
                }
            } else if let Some(id) = spare_id(&name) {
                self.next_id = above(self.next_id, id);
                let size = disk.open(&path).and_then(|file| file.len()).map_err(StorageError::io(&path, "opening"))?;
                self.bytes += size;
                self.spares.push(Closed { id, size, last_lsn: 0, damaged: false });
            }
        }
        Ok(files)
    }

    fn read_files(
        &mut self,
        disk: &dyn Disk,
        layout: &Layout,
        store: &[u8; 16],
        files: &BTreeMap<u64, Found>,
        sink: &mut dyn FnMut(Replayed),
    ) -> Result<(), StorageError> {
        self.newest = files.keys().next_back().copied();
        for (&id, file) in files {
            let previous = |other: &Found| other.header()?.previous.filter(|previous| previous.id == id);
            let successor = files.values().find_map(previous);
            let bytes = read_file_tolerant(disk, &file.path).map_err(StorageError::io(&file.path, "reading"))?;
            let end = successor.map_or(bytes.len(), |previous| bytes.len().min(previous.end as usize));
            let bytes = bytes.get(..end).unwrap_or_default();
            let scan = Scan::new(bytes, Seed::new(store, id), HEADER_PAGE as usize);
            self.read(file, id, scan, successor, sink);
        }
        self.note_missing_files(layout, files);
        let durable = self.durable;
        self.holes.iter_mut().for_each(|hole| hole.durable |= hole.first_lost <= durable);
        Ok(())
    }

    fn read(
        &mut self,
        file: &Found,
        id: u64,
        mut scan: Scan<'_>,
        successor: Option<Previous>,
        sink: &mut dyn FnMut(Replayed),
    ) {
        let mut expected = file.header().map(|header| header.first_lsn);
        self.note_first(expected);
        let mut last = None;
        let mut ended = successor.is_some_and(|end| scan.len() >= end.end);
        while let Some((skipped, frame)) = scan.next_frame() {
            // An end mark has the LSN of the last frame.
            let here = frame.lsn.saturating_add(u64::from(frame.kind == FrameKind::End));
            let first = expected.unwrap_or(here);
            self.note_hole(file, skipped, scan.at, first, here.saturating_sub(first));
            self.next_lsn = self.next_lsn.max(frame.lsn.saturating_add(1));
            self.durable = self.durable.max(frame.durable);
            self.latest = self.latest.max(frame.received);
            let at = scan.at;
            scan.pass(&frame);
            if frame.kind == FrameKind::End {
                ended = true;
                break;
            }
            self.note_first(Some(frame.lsn));
            (last, expected) = (Some(frame.lsn), Some(frame.lsn.saturating_add(1)));
            if frame.lsn >= self.position {
                let (first, _) = self.given.unwrap_or((frame.lsn, frame.lsn));
                self.given = Some((first, frame.lsn));
                let payload = Bytes::copy_from_slice(scan.payload(at, &frame));
                let (path, offset) = (file.path.clone(), at as u64);
                sink(Replayed { lsn: frame.lsn, received: frame.received, payload, path, offset });
            }
        }
        if let Some(end) = successor {
            // A successor is begun only behind what was synced.
            self.durable = self.durable.max(end.last_lsn);
            let first = expected.unwrap_or(end.last_lsn);
            self.note_hole(file, scan.at, end.end as usize, first, (end.last_lsn + 1).saturating_sub(first));
            self.next_lsn = self.next_lsn.max(end.last_lsn.saturating_add(1));
        }
        self.note_header(file, ended);
        self.note_file(file, id, last, scan.at as u64, successor);
    }

    fn note_first(&mut self, lsn: Option<u64>) {
        self.first_lsn = [self.first_lsn, lsn].into_iter().flatten().min();
    }

    /// Id of the newest log file.
    pub fn newest(&self) -> Option<u64> {
        self.newest
    }

    fn note_file(&mut self, file: &Found, id: u64, last: Option<u64>, end: u64, successor: Option<Previous>) {
        let first_lsn = file.header().map_or(0, |header| header.first_lsn);
        self.next_lsn = self.next_lsn.max(first_lsn);
        let hole = self.holes.iter().any(|hole| hole.path == file.path);
        let damaged = hole || self.odd.iter().any(|odd| odd.path == file.path);
        let last_lsn = last.or(successor.map(|end| end.last_lsn));
        self.files.push((file.path.clone(), last_lsn.unwrap_or(0)));
        match (last_lsn, file.header()) {
            (Some(last_lsn), _) => self.previous = Some(Previous { id, end, last_lsn }),
            // Nothing was ever written to it; what stands before it is what its own header says.
            (None, Some(header)) => {
                self.previous = header.previous.or(self.previous);
                if !damaged {
                    return self.empty.push(id);
                }
            }
            (None, None) => {}
        }
        self.closed.push(Closed { id, size: file.size, last_lsn: last_lsn.unwrap_or(0), damaged });
    }

    /// A file has its full size from its first day, and its header is synced before it has its name: a shorter one, or
    /// one with another header, is damaged, whatever it still holds. `ended`: all its frames are known to be there.
    fn note_header(&mut self, file: &Found, ended: bool) {
        let path = file.path.clone();
        let lack =
            |part, (from, to)| Hole { path: path.clone(), part, from, to, first_lost: 0, lost: 0, durable: true };
        let Some(FoundHeader { header, damaged_copy }) = file.found else {
            let cut = file.size < HEADER_PAGE;
            let hole = if cut {
                lack(HolePart::End, (file.size, HEADER_PAGE))
            } else {
                lack(HolePart::Header, (0, HEADER_PAGE))
            };
            return self.holes.push(hole);
        };
        if let Some(at) = damaged_copy {
            self.odd.push(Odd { path: path.clone(), what: Oddity::HeaderCopy(at) });
        }
        let (size, made) = (file.size, header.size);
        if size < made && ended {
            self.odd.push(Odd { path, what: Oddity::Short { size, made } });
        } else if size < made {
            self.holes.push(lack(HolePart::End, (size, made)));
        }
    }

    /// Of the files that a manifest knows, the newest is never given up before it has a successor.
    pub fn note_missing_newest(&mut self, layout: &Layout, next_log: u64) {
        if next_log > 1 && self.newest.is_none_or(|newest| newest + 1 < next_log) {
            let path = layout.log(next_log - 1);
            let part = HolePart::File;
            self.holes.push(Hole { path, part, from: 0, to: 0, first_lost: 0, lost: 0, durable: true });
        }
    }

    fn note_hole(&mut self, file: &Found, from: usize, to: usize, first_lost: u64, lost: u64) {
        if from < to && lost > 0 {
            let (path, from, to) = (file.path.clone(), from as u64, to as u64);
            let part = HolePart::Frames;
            self.holes.extend(Hole { path, part, from, to, first_lost, lost, durable: false }.above(self.position));
        }
    }

    /// A file that a successor names, that is gone, and that held rows of no segment.
    fn note_missing_files(&mut self, layout: &Layout, files: &BTreeMap<u64, Found>) {
        for previous in files.values().filter_map(|file| file.header()?.previous) {
            if files.contains_key(&previous.id) {
                continue;
            }
            let before = self.closed.iter().filter(|file| file.id < previous.id).map(|file| file.last_lsn).max();
            let first_lost = before.map_or(self.position, |last| last.saturating_add(1));
            let lost = previous.last_lsn.saturating_add(1).saturating_sub(first_lost);
            let path = layout.log(previous.id);
            let (part, to) = (HolePart::File, previous.end);
            let hole = Hole { path, part, from: 0, to, first_lost, lost, durable: true };
            if lost > 0 {
                self.holes.extend(hole.above(self.position));
            }
        }
    }

    /// Says that a frame of this file cannot be used, though its checksums fit.
    pub fn add_damage(&mut self, hole: Hole) {
        self.closed
            .iter_mut()
            .filter(|file| hole.path.ends_with(log_name(file.id)))
            .for_each(|file| file.damaged = true);
        self.holes.push(hole);
    }

    /// Whether every batch between these LSNs was given to the sink.
    pub fn holds(&self, (first, last): (u64, u64)) -> bool {
        let within = self.given.is_some_and(|(lowest, highest)| lowest <= first && last <= highest);
        let hole = |hole: &Hole| hole.lost == 0 || (hole.first_lost <= last && first < hole.first_lost + hole.lost);
        within && !self.holes.iter().any(hole)
    }

    /// What a new log takes over. Empty files become spares once it has begun.
    pub fn inherited(&self) -> Inherited {
        Inherited {
            closed: self.closed.clone(),
            spares: self.spares.clone(),
            previous: self.previous,
            next_id: self.next_id,
            next_lsn: self.next_lsn,
        }
    }
}

impl Found {
    /// The inner error: a file that is not part of this log and is left alone.
    fn open(disk: &dyn Disk, path: PathBuf, id: u64, store: &[u8; 16]) -> Result<Result<Self, Odd>, StorageError> {
        let file = disk.open(&path).map_err(StorageError::io(&path, "opening"))?;
        let size = file.len().map_err(StorageError::io(&path, "opening"))?;
        let mut pages = vec![0; size.min(HEADER_PAGE) as usize];
        Tolerant(file).read_at(&mut pages, 0).map_err(StorageError::io(&path, "reading"))?;
        let found = match FoundHeader::read(&pages, id) {
            Ok(FoundHeader { header, .. }) if header.store != *store => {
                return Ok(Err(Odd { path, what: Oddity::OtherStore }));
            }
            Ok(FoundHeader { header, .. }) if header.id != id => {
                return Ok(Err(Odd { path, what: Oddity::CopyOf(header.id) }));
            }
            Ok(found) => Some(found),
            Err(BadHeader::Version(found)) => return Ok(Err(Odd { path, what: Oddity::Version(found) })),
            Err(BadHeader::Damaged) => None,
        };
        Ok(Ok(Self { path, size, found }))
    }

    fn header(&self) -> Option<FileHeader> {
        self.found.map(|found| found.header)
    }
}
