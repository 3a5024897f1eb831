//! Opening a directory: lock, manifest, segments, log.

use super::view::Unreadable;
use crate::model::Batch;
use crate::model::time::Nanos;
use crate::storage::disk::{Disk, LockGuard, LockMode, Locked};
use crate::storage::error::StorageError;
use crate::storage::files::{LOCK, Layout, UNFINISHED, segment_id};
use crate::storage::manifest::{self, FileKind, Found, Manifest};
use crate::storage::memtable::Entry;
use crate::storage::segment::Segment;
use crate::storage::wal::Hole;
use crate::storage::wal::replay::{Replay, Replayed, replay};
use std::collections::BTreeSet;
use std::path::Path;
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
    /// Ids of segments that were begun after the manifest was written.
    pub orphans: Vec<u64>,
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
    let orphans = sweep(disk, &layout, &mut manifest)?;
    let (segments, unreadable) = open_segments(disk, &layout, &manifest);
    Ok(Directory { layout, lock: Some(lock), manifest, notes, segments, unreadable, orphans })
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
    let (segments, unreadable) = open_segments(disk, &layout, &manifest);
    Ok(Directory { layout, lock, manifest, notes, segments, unreadable, orphans: Vec::new() })
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
    for dir in [&layout.wal, &layout.segments] {
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

/// Removes what was never finished and what the manifest has given up, and finds the segments it cannot know of.
fn sweep(disk: &dyn Disk, layout: &Layout, manifest: &mut Manifest) -> Result<Vec<u64>, StorageError> {
    let live: BTreeSet<_> = manifest.files.iter().map(|file| file.id).collect();
    let mut orphans = Vec::new();
    let known = manifest.next_segment;
    for dir in [&layout.root, &layout.segments] {
        for name in disk.list(dir).map_err(StorageError::io(dir, "listing"))? {
            let id = segment_id(&name);
            manifest.next_segment = manifest.next_segment.max(id.map_or(0, |id| id.saturating_add(1)));
            match id {
                Some(id) if live.contains(&id) => {}
                // Begun after this manifest was written.
                Some(id) if id >= known => orphans.push(id),
                Some(_) => remove(disk, &dir.join(&name))?,
                None if name.ends_with(UNFINISHED) => remove(disk, &dir.join(&name))?,
                None => {}
            }
        }
    }
    Ok(orphans)
}

fn remove(disk: &dyn Disk, path: &Path) -> Result<(), StorageError> {
    disk.remove(path).map_err(StorageError::io(path, "removing"))
}

/// Removes the segments that the manifest cannot know of. That is right after a seal that did not come to its end: all their rows
/// are in the log still. Where they are not, it is the manifest that is out of date, and nothing may be removed.
pub fn remove_orphans(disk: &dyn Disk, directory: &Directory, log: &Replay) -> Result<(), StorageError> {
    for &id in &directory.orphans {
        let path = directory.layout.segment(id);
        if let Ok(segment) = Segment::open_as(disk, &path, &directory.manifest.store, id)
            && !log.holds(segment.footer().lsns)
        {
            return Err(StorageError::Refused(format!(
                "{}: the manifest does not name this segment, and the log does not hold its rows: manifest.a and manifest.b \
                 are older than the store. Put back the newest copy of either, or move the segment away to go on without it",
                path.display()
            )));
        }
        tracing::info!(segment = %path.display(), "removing what a seal that was cut short left behind; its rows are in the log");
        remove(disk, &path)?;
    }
    Ok(())
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

/// The batches of the log, given to `sink` in LSN order, and what the log is like.
pub fn read_log(
    disk: &dyn Disk,
    layout: &Layout,
    manifest: &Manifest,
    sink: &mut dyn FnMut(Entry),
) -> Result<Replay, StorageError> {
    let mut lost: Vec<Hole> = Vec::new();
    let mut replayed = replay(disk, layout, &manifest.store, manifest.position, &mut |found| match decode(&found) {
        Ok(entry) => sink(entry),
        Err(hole) => lost.push(hole),
    })?;
    lost.into_iter().for_each(|hole| replayed.add_damage(hole));
    replayed.note_missing_newest(layout, manifest.next_log);
    replayed.next_id = replayed.next_id.max(manifest.next_log);
    // Also above what is in segments: a log that was lost or cut short knows less than they do.
    let sealed = manifest.files.iter().map(|file| file.lsns.1.saturating_add(1)).max().unwrap_or(0);
    replayed.next_lsn = replayed.next_lsn.max(manifest.position).max(sealed);
    Ok(replayed)
}

/// Frames hold batches that were walked before they were written; one that cannot be walked now is damage.
fn decode(found: &Replayed) -> Result<Entry, Hole> {
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

/// The latest store time that a directory knows.
pub fn last_known_time(directory: &Directory, log: &Replay) -> Nanos {
    let sealed = directory.segments.iter().map(|segment| segment.footer().received.1).max().unwrap_or(0);
    directory.manifest.clock.max(log.latest).max(sealed)
}
