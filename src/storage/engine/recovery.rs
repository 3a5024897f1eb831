//! Opening a directory: lock, manifest, segments, log.

use super::unnamed::{Rows, rows_of};
use super::view::Unreadable;
use crate::model::Batch;
use crate::model::time::Nanos;
use crate::storage::disk::{Disk, LockGuard, LockMode, Locked};
use crate::storage::error::StorageError;
use crate::storage::files::{LOCK, Layout, UNFINISHED, log_id, segment_id, set_aside_id};
use crate::storage::manifest::{self, FileKind, Found, LiveFile, Manifest};
use crate::storage::memtable::Entry;
use crate::storage::segment::Segment;
use crate::storage::set_aside::{self, SetAside};
use crate::storage::wal::replay::{Hole, Replay, Replayed, replay};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory that is locked and whose manifest and segments are read; its log is not.
pub struct Directory {
    pub layout: Layout,
    /// `None` where a copy of a store has no lock to take.
    pub lock: Option<LockGuard>,
    pub manifest: Manifest,
    /// What is wrong with the manifest's copies, though one of them does.
    pub notes: Vec<String>,
    pub segments: Vec<Arc<Segment>>,
    pub unreadable: Vec<Unreadable>,
    /// Batches that could not be sealed.
    pub set_aside: Vec<Arc<SetAside>>,
    /// Unnamed files whose rows should be in the log.
    pub orphans: Vec<Orphan>,
    /// Unnamed files whose rows are in named ones or given up.
    given_up: Vec<PathBuf>,
}

/// A file that the manifest cannot know of.
#[derive(Debug, Clone, Copy)]
pub enum Orphan {
    Segment(u64),
    SetAside(u64),
}

impl Directory {
    fn new(
        disk: &dyn Disk,
        layout: Layout,
        lock: Option<LockGuard>,
        (manifest, notes): (Manifest, Vec<String>),
    ) -> Self {
        let (segments, mut unreadable) = open_segments(disk, &layout, &manifest);
        let set_aside = read_set_aside(disk, &layout, &manifest, &mut unreadable);
        let (orphans, given_up) = (Vec::new(), Vec::new());
        Self { layout, lock, manifest, notes, segments, unreadable, set_aside, orphans, given_up }
    }
}

/// Makes a directory a store if it is none, and opens it for writing.
pub fn open_for_writing(disk: &dyn Disk, layout: Layout) -> Result<Directory, StorageError> {
    for dir in [&layout.root, &layout.wal, &layout.segments] {
        disk.create_dir(dir).map_err(StorageError::io(dir, "creating"))?;
    }
    disk.sync_dir(&layout.root).map_err(StorageError::io(&layout.root, "syncing"))?;
    let lock = take_lock(disk, &layout.root, LockMode::Exclusive)?;
    let (mut manifest, notes) = match manifest::load(disk, &layout)? {
        Found::Manifest(manifest, notes) => (manifest, notes),
        Found::Nothing => (create(disk, &layout)?, Vec::new()),
    };
    let known = manifest.next_segment;
    let unnamed = sweep(disk, &layout, &mut manifest)?;
    let mut directory = Directory::new(disk, layout, Some(lock), (manifest, notes));
    directory.sort_unnamed(disk, unnamed, known)?;
    Ok(directory)
}

/// Opens a store that nobody writes to, changing nothing. A copy of a store may be without its lock.
pub fn open_for_reading(disk: &dyn Disk, layout: Layout) -> Result<Directory, StorageError> {
    let missing = || StorageError::Missing { path: layout.root.clone() };
    let names = disk.list(&layout.root).map_err(|_| missing())?;
    let lock = match names.iter().any(|name| name == LOCK) {
        true => Some(take_lock(disk, &layout.root, LockMode::Shared)?),
        false => None,
    };
    let Found::Manifest(manifest, notes) = manifest::load(disk, &layout)? else {
        refuse_lost_manifest(disk, &layout)?;
        return Err(missing());
    };
    Ok(Directory::new(disk, layout, lock, (manifest, notes)))
}

fn take_lock(disk: &dyn Disk, root: &Path, mode: LockMode) -> Result<LockGuard, StorageError> {
    let path = root.join(LOCK);
    match disk.lock(&path, mode).map_err(StorageError::io(&path, "locking"))? {
        Locked::Taken(guard) => Ok(guard),
        Locked::Held(holder) => Err(StorageError::Locked { path: root.to_owned(), holder }),
    }
}

/// The first manifest goes to disk before anything else, so that files without one are a loss and not a beginning.
fn create(disk: &dyn Disk, layout: &Layout) -> Result<Manifest, StorageError> {
    refuse_lost_manifest(disk, layout)?;
    let manifest = Manifest::new(new_store_id());
    manifest::store(disk, layout, &manifest)?;
    Ok(manifest)
}

fn refuse_lost_manifest(disk: &dyn Disk, layout: &Layout) -> Result<(), StorageError> {
    for dir in [&layout.wal, &layout.segments, &layout.set_aside] {
        if disk.list(dir).is_ok_and(|names| !names.is_empty()) {
            let root = layout.root.display();
            return Err(StorageError::Refused(format!(
                "{root}: manifest.a and manifest.b are gone, but log files or segments are there; put back the newest copy of either"
            )));
        }
    }
    Ok(())
}

/// Sixteen bytes that no other store has.
fn new_store_id() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    let mut id = [0; 16];
    for half in id.as_chunks_mut::<8>().0 {
        *half = RandomState::new().hash_one(crate::model::time::wall_now()).to_le_bytes();
    }
    id
}

/// Removes what was never finished, and gives the files that the manifest does not name. Its next id is above all of them
/// from now on.
fn sweep(disk: &dyn Disk, layout: &Layout, manifest: &mut Manifest) -> Result<Vec<Orphan>, StorageError> {
    let live: BTreeSet<_> = manifest.files.iter().map(|file| file.id).collect();
    let mut unnamed = Vec::new();
    for dir in [&layout.root, &layout.segments, &layout.set_aside] {
        for name in list(disk, dir)? {
            let id = segment_id(&name).or(set_aside_id(&name));
            manifest.next_segment = manifest.next_segment.max(id.map_or(0, |id| id.saturating_add(1)));
            match id {
                Some(id) if live.contains(&id) => {}
                Some(id) if dir == &layout.set_aside => unnamed.push(Orphan::SetAside(id)),
                Some(id) => unnamed.push(Orphan::Segment(id)),
                None if name.ends_with(UNFINISHED) => remove(disk, &dir.join(&name))?,
                None => {}
            }
        }
    }
    Ok(unnamed)
}

impl Directory {
    /// Sorts the files that the manifest does not name. `known` is above the ids given out when it was written.
    fn sort_unnamed(&mut self, disk: &dyn Disk, unnamed: Vec<Orphan>, known: u64) -> Result<(), StorageError> {
        let readable = |id| self.segments.iter().any(|segment| segment.footer().id == id);
        for orphan in unnamed {
            let id = match orphan {
                Orphan::Segment(id) => id,
                Orphan::SetAside(id) if id >= known => {
                    self.orphans.push(orphan);
                    continue;
                }
                Orphan::SetAside(id) => {
                    self.given_up.push(self.layout.set_aside(id));
                    continue;
                }
            };
            let path = self.layout.segment(id);
            let rows = Segment::open_as(disk, &path, &self.manifest.store, id)
                .map(|segment| rows_of(segment.footer(), &self.manifest, known, readable));
            match rows {
                Ok(Rows::Nowhere) => {
                    return Err(out_of_date(&path, "the segments that it was merged from are not there"));
                }
                Ok(Rows::Log) => self.orphans.push(orphan),
                Ok(Rows::Named) | Err(_) => self.given_up.push(path),
            }
        }
        Ok(())
    }
}

fn out_of_date(segment: &Path, sign: &str) -> StorageError {
    StorageError::Refused(format!(
        "{}: the manifest does not name this segment, and {sign}: manifest.a and manifest.b are older than the store. \
         Put back the newest copy of either, or move the segment away to go on without it",
        segment.display()
    ))
}

/// The files in a directory; none where it was never made.
fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<String>, StorageError> {
    match disk.list(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(StorageError::io(dir, "listing")),
    }
}

fn remove(disk: &dyn Disk, path: &Path) -> Result<(), StorageError> {
    disk.remove(path).map_err(StorageError::io(path, "removing"))
}

/// Removes the files that the manifest does not name. Those of a seal that did not come to its end have all their rows in the
/// log still. Where they have not, it is the manifest that is out of date, and nothing may be removed.
pub fn remove_unnamed(disk: &dyn Disk, directory: &Directory, log: &Replay) -> Result<(), StorageError> {
    let mut paths = Vec::new();
    for &orphan in &directory.orphans {
        let (path, lsns) = look_into(disk, directory, orphan);
        if !lsns.iter().all(|&lsns| log.holds(lsns)) {
            return Err(out_of_date(&path, "the log does not hold its rows"));
        }
        paths.push(path);
    }
    for path in paths.iter().chain(&directory.given_up) {
        tracing::info!(file = %path.display(), "removing a file that is not named; its rows are elsewhere or given up");
        remove(disk, path)?;
    }
    Ok(())
}

/// Where an orphan is, and the ranges of LSNs it holds; none where it cannot be read.
fn look_into(disk: &dyn Disk, directory: &Directory, orphan: Orphan) -> (PathBuf, Vec<(u64, u64)>) {
    let Directory { layout, manifest, .. } = directory;
    match orphan {
        Orphan::Segment(id) => {
            let path = layout.segment(id);
            let segment = Segment::open_as(disk, &path, &manifest.store, id).ok();
            (path, segment.iter().map(|segment| segment.footer().lsns).collect())
        }
        Orphan::SetAside(id) => {
            let (set_aside, _) = set_aside::read(disk, layout, &manifest.store, id);
            (layout.set_aside(id), set_aside.memtable.entries().iter().map(|entry| (entry.lsn, entry.lsn)).collect())
        }
    }
}

/// Loads what is set aside. A file of which not all can be read is named among the unreadable ones.
fn read_set_aside(
    disk: &dyn Disk,
    layout: &Layout,
    manifest: &Manifest,
    unreadable: &mut Vec<Unreadable>,
) -> Vec<Arc<SetAside>> {
    let named = manifest.files.iter().filter(|file| file.kind == FileKind::SetAside);
    let load = |file: &LiveFile| {
        let (set_aside, damage) = set_aside::read(disk, layout, &manifest.store, file.id);
        unreadable.extend(damage.map(|error| Unreadable { file: file.clone(), why: error.to_string() }));
        Arc::new(set_aside)
    };
    let mut files: Vec<_> = named.map(load).collect();
    files.sort_by_key(|set_aside| set_aside.file.lsns);
    files
}

fn open_segments(disk: &dyn Disk, layout: &Layout, manifest: &Manifest) -> (Vec<Arc<Segment>>, Vec<Unreadable>) {
    let (mut segments, mut unreadable) = (Vec::new(), Vec::new());
    for file in manifest.files.iter().filter(|file| matches!(file.kind, FileKind::Segment | FileKind::Remainder)) {
        match Segment::open_as(disk, &layout.segment(file.id), &manifest.store, file.id) {
            Ok(segment) => segments.push(Arc::new(segment)),
            Err(error) => unreadable.push(Unreadable { file: file.clone(), why: error.to_string() }),
        }
    }
    (segments, unreadable)
}

/// Makes durable what is in the log. A kill may have left frames that the system has and the disk has not: they become
/// readable and are sealed now, and a power cut must take back neither what was read nor what a segment was made of.
pub fn sync_log(disk: &dyn Disk, layout: &Layout) -> Result<(), StorageError> {
    for name in list(disk, &layout.wal)?.iter().filter(|name| log_id(name).is_some()) {
        let path = layout.wal.join(name);
        disk.open(&path).and_then(|file| file.sync()).map_err(StorageError::io(&path, "syncing"))?;
    }
    Ok(())
}

/// The batches of the log, given to `sink` in LSN order, and what the log is like.
pub fn read_log(
    disk: &dyn Disk,
    layout: &Layout,
    manifest: &Manifest,
    sink: &mut dyn FnMut(Entry),
) -> Result<Replay, StorageError> {
    let mut lost = Vec::new();
    let mut replayed = replay(disk, layout, &manifest.store, manifest.position, &mut |found| match decode(&found) {
        Ok(entry) => sink(entry),
        Err(hole) => lost.push(hole),
    })?;
    replayed.holes.append(&mut lost);
    replayed.note_missing_newest(layout, manifest.next_log);
    replayed.next_id = replayed.next_id.max(manifest.next_log);
    replayed.next_lsn = replayed.next_lsn.max(manifest.position);
    Ok(replayed)
}

/// Frames hold batches that were walked before they were written; one that cannot be walked now is damage.
pub fn decode(found: &Replayed) -> Result<Entry, Hole> {
    let hole = || Hole {
        path: found.path.clone(),
        from: found.offset,
        to: found.offset + found.payload.len() as u64,
        first_lost: found.lsn,
        lost: 1,
        durable: true,
    };
    let ingested = Batch::from_otlp(found.payload.clone()).map_err(|_| hole())?;
    Ok(Entry { lsn: found.lsn, received: found.received, batch: ingested.batch })
}

/// The latest store time that a directory knows; `in_log` is that of its log, 0 where that is not read yet.
pub fn last_known_time(manifest: &Manifest, in_log: Nanos) -> Nanos {
    let in_files = manifest.files.iter().map(|file| file.received.1).max().unwrap_or(0);
    manifest.clock.max(in_files).max(in_log)
}
