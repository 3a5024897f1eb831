//! Reading the log at a start: which frames are there, where each file ends, what is missing.
//!
//! A file that has a successor ends where the successor's header says. The newest file ends behind its last readable
//! frame. Bytes that are no frame, with readable frames behind them, are a *hole*. A hole at or below the highest LSN
//! that any frame knows to be durable is damage. One above it may be damage or the remains of a commit that never
//! finished; the frames behind it are kept either way, since none of them was refused.

use super::frame::{FrameKind, Seed};
use super::header::{BadHeader, FileHeader, HEADER_PAGE, Previous, VERSION};
use super::log::{Closed, Inherited};
use super::scan::Scan;
use crate::model::time::Nanos;
use crate::storage::disk::{Disk, read_file};
use crate::storage::error::StorageError;
use crate::storage::files::{Layout, log_id, spare_id};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::{ControlFlow, RangeInclusive};
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

/// Bytes of a log file that should be frames and are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    pub path: PathBuf,
    pub from: u64,
    pub to: u64,
    /// The first LSN that is missing.
    pub first_lost: u64,
    /// How many LSNs are missing.
    pub lost: u64,
    /// Whether rows that were answered are surely among them.
    pub durable: bool,
}

impl std::fmt::Display for Hole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, from, to, lost, durable, .. } = self;
        let what = if *durable { "damaged or gone" } else { "a hole, damaged or never finished" };
        write!(f, "{}: bytes {from} to {to} are {what}: ", path.display())?;
        match lost {
            0 => write!(f, "how many batches are missing cannot be said"),
            lost => write!(f, "{lost} batches are missing"),
        }
    }
}

/// What a log holds.
#[derive(Debug, Default)]
pub struct Replay {
    /// Files that hold frames, oldest first.
    pub closed: Vec<Closed>,
    /// Files that hold none.
    pub empty: Vec<u64>,
    pub spares: Vec<Closed>,
    pub previous: Option<Previous>,
    pub holes: Vec<Hole>,
    /// Above every id and LSN that any log file names.
    pub next_id: u64,
    pub next_lsn: u64,
    /// Receive time of the newest frame; 0 where there is none.
    pub latest: Nanos,
    /// Bytes of all log files, spares included.
    pub bytes: u64,
    /// Lowest and highest LSN of the batches given to the sink.
    pub given: Option<(u64, u64)>,
    durable: u64,
    position: u64,
    newest: Option<u64>,
}

/// Reads all log files and gives every batch at or above `position` to `sink`, in LSN order.
pub fn replay(
    disk: &dyn Disk,
    layout: &Layout,
    store: &[u8; 16],
    position: u64,
    sink: &mut dyn FnMut(Replayed),
) -> Result<Replay, StorageError> {
    let mut replay = Replay { next_id: 1, next_lsn: position, position, ..Replay::default() };
    let files = replay.find_files(disk, layout, store)?;
    replay.newest = files.keys().next_back().copied();
    for (&id, file) in &files {
        let successor = files.values().find_map(|other| other.header?.previous.filter(|previous| previous.id == id));
        let bytes = read_file(disk, &file.path).map_err(StorageError::io(&file.path, "reading"))?;
        let end = successor.map_or(bytes.len(), |previous| bytes.len().min(previous.end as usize));
        let scan = Scan::new(bytes.get(..end).unwrap_or_default(), Seed::new(store, id), HEADER_PAGE as usize);
        replay.read(file, id, scan, position, successor, sink);
    }
    replay.note_missing_files(layout, &files, position);
    let durable = replay.durable;
    replay.holes.iter_mut().for_each(|hole| hole.durable |= hole.first_lost <= durable);
    Ok(replay)
}

/// Reads one log file again and gives its batches with these LSNs to `sink`, in order, until that has enough. The last LSN
/// must not be above that of the file's last good frame.
pub fn read_file_again(
    disk: &dyn Disk,
    layout: &Layout,
    store: &[u8; 16],
    id: u64,
    lsns: RangeInclusive<u64>,
    sink: &mut dyn FnMut(Replayed) -> ControlFlow<()>,
) -> Result<(), StorageError> {
    let path = layout.log(id);
    let bytes = read_file(disk, &path).map_err(StorageError::io(&path, "reading"))?;
    let mut scan = Scan::new(&bytes, Seed::new(store, id), HEADER_PAGE as usize);
    while let Some((_, frame)) = scan.next_frame() {
        let at = scan.at;
        scan.pass(&frame);
        if frame.kind == FrameKind::End || frame.lsn > *lsns.end() {
            break;
        }
        if frame.lsn >= *lsns.start() {
            let payload = Bytes::copy_from_slice(scan.payload(at, &frame));
            let (path, offset) = (path.clone(), at as u64);
            let batch = Replayed { lsn: frame.lsn, received: frame.received, payload, path, offset };
            if sink(batch).is_break() {
                break;
            }
        }
    }
    Ok(())
}

/// A log file that was found. Its header is `None` where it is damaged.
struct Found {
    path: PathBuf,
    size: u64,
    header: Option<FileHeader>,
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
                self.next_id = self.next_id.max(id.saturating_add(1));
                let file = Found::open(disk, path, id, store)?;
                self.bytes += file.size;
                files.insert(id, file);
            } else if let Some(id) = spare_id(&name) {
                self.next_id = self.next_id.max(id.saturating_add(1));
                let size = disk.open(&path).and_then(|file| file.len()).map_err(StorageError::io(&path, "opening"))?;
                self.bytes += size;
                self.spares.push(Closed { id, size, last_lsn: 0 });
            }
        }
        Ok(files)
    }

    fn read(
        &mut self,
        file: &Found,
        id: u64,
        mut scan: Scan<'_>,
        position: u64,
        successor: Option<Previous>,
        sink: &mut dyn FnMut(Replayed),
    ) {
        self.note_header(file);
        let mut expected = file.header.map(|header| header.first_lsn);
        let mut last = None;
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
                break;
            }
            (last, expected) = (Some(frame.lsn), Some(frame.lsn.saturating_add(1)));
            if frame.lsn >= position {
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
        self.note_file(file, id, last, scan.at as u64, successor);
    }

    fn note_file(&mut self, file: &Found, id: u64, last: Option<u64>, end: u64, successor: Option<Previous>) {
        let first_lsn = file.header.map_or(0, |header| header.first_lsn);
        self.next_lsn = self.next_lsn.max(first_lsn);
        let Some(last_lsn) = last.or(successor.map(|end| end.last_lsn)) else {
            // Nothing was ever written to it; what stands before it is what its own header says. One whose header is
            // damaged may have held something: it is left as it is.
            if let Some(header) = file.header {
                self.previous = header.previous.or(self.previous);
                self.empty.push(id);
            }
            return;
        };
        self.closed.push(Closed { id, size: file.size, last_lsn });
        self.previous = Some(Previous { id, end, last_lsn });
    }

    /// A file has its full size from its first day, and its header is synced before it has its name: a shorter one, or
    /// one with another header, is damaged, whatever it still holds.
    fn note_header(&mut self, file: &Found) {
        let (from, to) = match file.header {
            Some(header) if header.size > file.size => (file.size, header.size),
            Some(_) => return,
            None => (0, HEADER_PAGE),
        };
        self.holes.push(Hole { path: file.path.clone(), from, to, first_lost: 0, lost: 0, durable: true });
    }

    /// Of the files that a manifest knows, the newest is never given up before it has a successor.
    pub fn note_missing_newest(&mut self, layout: &Layout, next_log: u64) {
        if next_log > 1 && self.newest.is_none_or(|newest| newest + 1 < next_log) {
            let path = layout.log(next_log - 1);
            self.holes.push(Hole { path, from: 0, to: 0, first_lost: 0, lost: 0, durable: true });
        }
    }

    fn note_hole(&mut self, file: &Found, from: usize, to: usize, first_lost: u64, lost: u64) {
        // What is in a segment is not lost, whatever becomes of its frame.
        let end = first_lost.saturating_add(lost);
        let first_lost = first_lost.max(self.position);
        let lost = end.saturating_sub(first_lost);
        if from < to && lost > 0 {
            let (from, to) = (from as u64, to as u64);
            self.holes.push(Hole { path: file.path.clone(), from, to, first_lost, lost, durable: false });
        }
    }

    /// A file that a successor names, that is gone, and that held rows of no segment.
    fn note_missing_files(&mut self, layout: &Layout, files: &BTreeMap<u64, Found>, position: u64) {
        for previous in files.values().filter_map(|file| file.header?.previous) {
            if previous.last_lsn >= position && !files.contains_key(&previous.id) {
                let lost = previous.last_lsn + 1 - position;
                let path = layout.log(previous.id);
                self.holes.push(Hole { path, from: 0, to: previous.end, first_lost: position, lost, durable: true });
            }
        }
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
    fn open(disk: &dyn Disk, path: PathBuf, id: u64, store: &[u8; 16]) -> Result<Self, StorageError> {
        let file = disk.open(&path).map_err(StorageError::io(&path, "opening"))?;
        let size = file.len().map_err(StorageError::io(&path, "opening"))?;
        let mut page = vec![0; size.min(HEADER_PAGE) as usize];
        file.read_at(&mut page, 0).map_err(StorageError::io(&path, "reading"))?;
        let header = match FileHeader::decode(&page) {
            Ok(header) if header.store != *store => {
                return Err(StorageError::Refused(format!(
                    "{}: belongs to another store; move it away",
                    path.display()
                )));
            }
            Ok(header) => (header.id == id).then_some(header),
            Err(BadHeader::Version(found)) => return Err(StorageError::NewerFormat { path, found, known: VERSION }),
            Err(BadHeader::Damaged) => None,
        };
        Ok(Self { path, size, header })
    }
}
