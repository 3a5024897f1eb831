//! Segments that the manifest does not name: what a start may remove, and what it must leave alone.
//!
//! A file is removed only if its header says that it is this store's segment of this name, and only if nothing speaks
//! for the manifest being older than the store.

use super::recovery::Directory;
use crate::storage::disk::Disk;
use crate::storage::error::StorageError;
use crate::storage::files::{Layout, UNFINISHED, above, segment_id};
use crate::storage::manifest::Manifest;
use crate::storage::segment::{Segment, identify};
use crate::storage::wal::Replay;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files that the manifest does not name.
#[derive(Debug, Default)]
pub struct Unnamed {
    /// Ids of segments that were begun after the manifest was written.
    pub orphans: Vec<u64>,
    /// What the manifest has given up, and what was never finished.
    pub given_up: Vec<PathBuf>,
    /// Files that are not what their name says: a sentence each.
    pub notes: Vec<String>,
}

/// Finds the files that the manifest does not name, and puts its next id above all of theirs.
pub fn find_unnamed(disk: &dyn Disk, layout: &Layout, manifest: &mut Manifest) -> Result<Unnamed, StorageError> {
    let live: BTreeSet<_> = manifest.files.iter().map(|file| file.id).collect();
    let known = manifest.next_segment;
    let mut unnamed = Unnamed::default();
    for dir in [&layout.root, &layout.segments] {
        for name in disk.list(dir).map_err(StorageError::io(dir, "listing"))? {
            let path = dir.join(&name);
            match segment_id(&name) {
                Some(id) => {
                    manifest.next_segment = above(manifest.next_segment, id);
                    if !live.contains(&id) {
                        unnamed.add(disk, path, id, &manifest.store, known);
                    }
                }
                None if name.ends_with(UNFINISHED) => unnamed.given_up.push(path),
                None => {}
            }
        }
    }
    Ok(unnamed)
}

impl Unnamed {
    fn add(&mut self, disk: &dyn Disk, path: PathBuf, id: u64, store: &[u8; 16], known: u64) {
        match identify(disk, &path) {
            Some(segment) if segment.store == *store && segment.id == id => match id >= known {
                true => self.orphans.push(id),
                false => self.given_up.push(path),
            },
            Some(_) => self.notes.push(format!("{}: not read: another segment under this name", path.display())),
            None => self.notes.push(format!("{}: not read and not named: its header is damaged", path.display())),
        }
    }

    /// Removes what is not needed. While there are orphans nothing is known for sure, and all stays.
    pub fn remove_given_up(&mut self, disk: &dyn Disk) -> Result<(), StorageError> {
        if !self.orphans.is_empty() {
            return Ok(());
        }
        self.given_up.drain(..).try_for_each(|path| remove(disk, &path))
    }
}

/// Removes the segments that the manifest cannot know of. That is right after a seal or a merge that did not come to its
/// end: the rows are in the log or in the merge's inputs still. Where they are not, it is the manifest that is out of
/// date, and nothing may be removed.
pub fn remove_orphans(disk: &dyn Disk, directory: &mut Directory, log: &Replay) -> Result<(), StorageError> {
    for id in std::mem::take(&mut directory.unnamed.orphans) {
        let path = directory.layout.segment(id);
        match Segment::open_as(disk, &path, &directory.manifest.store, id) {
            Err(error) => directory.notes.push(format!("{error}; the manifest does not name this segment")),
            Ok(segment) if is_elsewhere(&segment, &directory.manifest, log) => {
                tracing::info!(segment = %path.display(), "removing what was cut short; its rows are elsewhere");
                remove(disk, &path)?;
            }
            Ok(_) => return Err(out_of_date(&directory.layout.root, &path)),
        }
    }
    directory.unnamed.remove_given_up(disk)
}

/// Whether all rows of an unnamed segment are in the log or in named segments.
fn is_elsewhere(segment: &Segment, _manifest: &Manifest, log: &Replay) -> bool {
    log.holds(segment.footer().lsns)
}

fn out_of_date(root: &Path, path: &Path) -> StorageError {
    let (root, path) = (root.display(), path.display());
    StorageError::Refused(format!(
        "{path}: the manifest does not name this segment, and the log does not hold its rows: manifest.a and manifest.b \
         are older than the store. Put back the newest copy of either, or let `sluice store repair {root}` name what is there"
    ))
}

fn remove(disk: &dyn Disk, path: &Path) -> Result<(), StorageError> {
    disk.remove(path).map_err(StorageError::io(path, "removing"))
}
