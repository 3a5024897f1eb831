//! Opening a directory: lock, manifest, segments, log.

use super::sweep::{Unnamed, find_unnamed};
use super::view::Unreadable;
use crate::model::Batch;
use crate::model::time::Nanos;
use crate::storage::disk::{Disk, LockGuard, LockMode, Locked};
use crate::storage::error::StorageError;
use crate::storage::files::{LOCK, Layout, log_id};
use crate::storage::inventory::{Basis, Inventory, has_files};
use crate::storage::manifest::{self, FileKind, Found, LiveFile, Manifest};
use crate::storage::memtable::Entry;
use crate::storage::owner::Identity;
use crate::storage::segment::Segment;
use crate::storage::set_aside::{self, SetAside};
use crate::storage::wal::replay::{Replay, Replayed, replay};
use crate::storage::wal::{Hole, HolePart};
use std::io::ErrorKind;
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
    /// Batches that could not be sealed.
    pub set_aside: Vec<Arc<SetAside>>,
    pub unnamed: Unnamed,
}

impl Directory {
    fn new(
        disk: &dyn Disk,
        layout: Layout,
        lock: Option<LockGuard>,
        (manifest, notes): (Manifest, Vec<String>),
        unnamed: Unnamed,
    ) -> Self {
        let (segments, mut unreadable) = open_segments(disk, &layout, &manifest);
        let set_aside = read_set_aside(disk, &layout, &manifest, &mut unreadable);
        Self { layout, lock, manifest, notes, segments, unreadable, set_aside, unnamed }
    }
}

/// Makes a directory a store if it is none, and opens it for writing. `held`: its lock, if it is taken already.
pub fn open_for_writing(disk: &dyn Disk, layout: Layout, held: Option<LockGuard>) -> Result<Directory, StorageError> {
    for dir in [&layout.root, &layout.wal, &layout.segments] {
        disk.create_dir(dir).map_err(StorageError::io(dir, "creating"))?;
    }
    disk.sync_dir(&layout.root).map_err(StorageError::io(&layout.root, "syncing"))?;
    let lock = held.map_or_else(|| take_lock(disk, &layout.root, LockMode::Exclusive), Ok)?;
    let (mut manifest, mut notes) = match manifest::load(disk, &layout)? {
        Found::Manifest(manifest, notes) => (manifest, notes),
        Found::Nothing if !has_files(disk, &layout) => (create(disk, &layout)?, Vec::new()),
        Found::Nothing => return Err(lost_manifest(&layout, "manifest.a and manifest.b are gone")),
        Found::Lost(why) => return Err(lost_manifest(&layout, &why)),
    };
    let mut unnamed = find_unnamed(disk, &layout, &mut manifest)?;
    unnamed.remove_given_up(disk)?;
    notes.append(&mut unnamed.notes);
    Ok(Directory::new(disk, layout, Some(lock), (manifest, notes), unnamed))
}

/// Opens a store that nobody writes to, changing nothing. A copy of a store may be without its lock.
pub fn open_for_reading(disk: &dyn Disk, layout: Layout) -> Result<Directory, StorageError> {
    let missing = || StorageError::Missing { path: layout.root.clone() };
    let names = disk.list(&layout.root).map_err(|_| missing())?;
    let lock = match names.iter().any(|name| name == LOCK) {
        true => Some(take_lock(disk, &layout.root, LockMode::Shared)?),
        false => None,
    };
    let inventory = Inventory::take(disk, &layout)?.ok_or_else(missing)?;
    let notes = inventory.notes.iter().cloned().chain(made_of_files(&layout, &inventory.basis)).collect();
    let manifest = inventory.manifest;
    Ok(Directory::new(disk, layout, lock, (manifest, notes), Unnamed::default()))
}

pub fn take_lock(disk: &dyn Disk, root: &Path, mode: LockMode) -> Result<LockGuard, StorageError> {
    let path = root.join(LOCK);
    match disk.lock(&path, mode).map_err(StorageError::io(&path, "locking"))? {
        Locked::Taken(guard) => Ok(guard),
        Locked::Held(holder) => Err(StorageError::Locked { path: root.to_owned(), holder }),
    }
}

/// The first manifest goes to disk before anything else, so that files without one are a loss and not a beginning.
fn create(disk: &dyn Disk, layout: &Layout) -> Result<Manifest, StorageError> {
    let manifest = Manifest::new(new_store_id());
    manifest::store(disk, layout, &manifest)?;
    Ok(manifest)
}

/// Says so where what is shown is what the files give.
fn made_of_files(layout: &Layout, basis: &Basis) -> Option<String> {
    let root = layout.root.display();
    let why = match basis {
        Basis::Read => return None,
        Basis::Older => "manifest.a and manifest.b are older than the store".to_owned(),
        Basis::Files(why) => format!("no manifest can be used ({why})"),
    };
    Some(format!(
        "{root}: {why}; shown is what the files say, which may be more than the store held. `sluice store repair {root}` \
         makes a manifest from them"
    ))
}

fn lost_manifest(layout: &Layout, why: &str) -> StorageError {
    let root = layout.root.display();
    StorageError::Refused(format!(
        "{root}: no manifest can be used ({why}), but log files or segments are there; nothing was changed. Put back the \
         newest copy of manifest.a or manifest.b, or let `sluice store repair {root}` make it from the files"
    ))
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

/// The files in a directory; none where it was never made.
pub fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<String>, StorageError> {
    match disk.list(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(StorageError::io(dir, "listing")),
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
            Err(error) => match open_damaged(disk, layout, manifest, file, &error) {
                Some(segment) => segments.push(Arc::new(segment)),
                None => unreadable.push(Unreadable { file: file.clone(), why: error.to_string() }),
            },
        }
    }
    (segments, unreadable)
}

/// A segment of which not all is whole, if something of it is.
fn open_damaged(
    disk: &dyn Disk,
    layout: &Layout,
    manifest: &Manifest,
    file: &LiveFile,
    error: &StorageError,
) -> Option<Segment> {
    let own = Identity { store: manifest.store, id: file.id };
    let damaged = matches!(error, StorageError::Damaged { .. });
    let why = format!("{error}; what of this segment is whole is read without it");
    damaged.then(|| Segment::open_damaged(disk, &layout.segment(file.id), own, &why).ok()).flatten()
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
        part: HolePart::Frames,
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
