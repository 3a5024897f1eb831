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
use crate::storage::wal::replay::{Hole, Replay, Replayed, replay};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A directory that is locked and whose manifest and segments are read; its log is not.
pub struct Directory {
    pub layout: Layout,
    pub lock: LockGuard,
    pub manifest: Manifest,
    pub segments: Vec<Arc<Segment>>,
    pub unreadable: Vec<Unreadable>,
}

/// Makes a directory a store if it is none, and opens it for writing. Files that no manifest names are removed: their
/// rows are in the log still.
pub fn open_for_writing(disk: &dyn Disk, layout: Layout) -> Result<Directory, StorageError> {
    for dir in [&layout.root, &layout.wal, &layout.segments] {
        disk.create_dir(dir).map_err(StorageError::io(dir, "creating"))?;
    }
    disk.sync_dir(&layout.root).map_err(StorageError::io(&layout.root, "syncing"))?;
    let lock = take_lock(disk, &layout.root, LockMode::Exclusive)?;
    let mut manifest = match manifest::load(disk, &layout)? {
        Found::Manifest(manifest) => manifest,
        Found::Nothing => create(disk, &layout)?,
    };
    sweep(disk, &layout, &mut manifest)?;
    let (segments, unreadable) = open_segments(disk, &layout, &manifest);
    Ok(Directory { layout, lock, manifest, segments, unreadable })
}

/// Opens a store that nobody writes to, changing nothing.
pub fn open_for_reading(disk: &dyn Disk, layout: Layout) -> Result<Directory, StorageError> {
    let missing = || StorageError::Missing { path: layout.root.clone() };
    if !disk.list(&layout.root).is_ok_and(|names| names.iter().any(|name| name == LOCK)) {
        return Err(missing());
    }
    let lock = take_lock(disk, &layout.root, LockMode::Shared)?;
    let Found::Manifest(manifest) = manifest::load(disk, &layout)? else {
        return Err(missing());
    };
    let (segments, unreadable) = open_segments(disk, &layout, &manifest);
    Ok(Directory { layout, lock, manifest, segments, unreadable })
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
    for dir in [&layout.wal, &layout.segments] {
        let names = disk.list(dir).map_err(StorageError::io(dir, "listing"))?;
        if !names.is_empty() {
            let what = "the manifest is gone, but log files or segments are there; restore manifest.a or manifest.b";
            return Err(StorageError::damaged(&layout.root, 0, what));
        }
    }
    let manifest = Manifest::new(new_store_id());
    manifest::store(disk, layout, &manifest)?;
    Ok(manifest)
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

fn sweep(disk: &dyn Disk, layout: &Layout, manifest: &mut Manifest) -> Result<(), StorageError> {
    let live: BTreeSet<_> = manifest.files.iter().map(|file| file.id).collect();
    for dir in [&layout.root, &layout.segments] {
        for name in disk.list(dir).map_err(StorageError::io(dir, "listing"))? {
            let id = segment_id(&name);
            manifest.next_segment = manifest.next_segment.max(id.map_or(0, |id| id.saturating_add(1)));
            let orphan = id.is_some_and(|id| !live.contains(&id));
            if orphan || name.ends_with(UNFINISHED) {
                let path = dir.join(&name);
                disk.remove(&path).map_err(StorageError::io(&path, "removing"))?;
            }
        }
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
    let mut lost = Vec::new();
    let mut replayed = replay(disk, layout, &manifest.store, manifest.position, &mut |found| match decode(&found) {
        Ok(entry) => sink(entry),
        Err(hole) => lost.push(hole),
    })?;
    replayed.holes.append(&mut lost);
    replayed.next_id = replayed.next_id.max(manifest.next_log);
    replayed.next_lsn = replayed.next_lsn.max(manifest.position);
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
