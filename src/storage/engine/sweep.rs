//! Files that the manifest does not name: what a start may remove, and what it must leave alone.
//!
//! A file is removed only if its header says that it is this store's file of this name, and only if nothing speaks for
//! the manifest being older than the store.

use super::recovery::{Directory, list};
use crate::storage::disk::Disk;
use crate::storage::error::StorageError;
use crate::storage::files::{Layout, UNFINISHED, above, segment_id, set_aside_id};
use crate::storage::manifest::Manifest;
use crate::storage::owner::Identity;
use crate::storage::segment::{self, Segment};
use crate::storage::set_aside;
use crate::storage::wal::Replay;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files that the manifest does not name.
#[derive(Debug, Default)]
pub struct Unnamed {
    /// Files that were begun after the manifest was written.
    pub orphans: Vec<Orphan>,
    /// What the manifest has given up, and what was never finished.
    pub given_up: Vec<PathBuf>,
    /// Files that are not what their name says: a sentence each.
    pub notes: Vec<String>,
}

/// A file that the manifest cannot know of.
#[derive(Debug, Clone, Copy)]
pub enum Orphan {
    Segment(u64),
    SetAside(u64),
}

/// Finds the files that the manifest does not name, and puts its next id above all of theirs.
pub fn find_unnamed(disk: &dyn Disk, layout: &Layout, manifest: &mut Manifest) -> Result<Unnamed, StorageError> {
    let live: BTreeSet<_> = manifest.files.iter().map(|file| file.id).collect();
    let known = manifest.next_segment;
    let mut unnamed = Unnamed::default();
    for dir in [&layout.root, &layout.segments, &layout.set_aside] {
        for name in list(disk, dir)? {
            let (path, orphan) = (dir.join(&name), Orphan::named(&name));
            if let Some(orphan) = orphan {
                manifest.next_segment = above(manifest.next_segment, orphan.id());
                if !live.contains(&orphan.id()) {
                    unnamed.add(disk, path, orphan, &manifest.store, known);
                }
            } else if name.ends_with(UNFINISHED) {
                unnamed.given_up.push(path);
            }
        }
    }
    Ok(unnamed)
}

impl Orphan {
    fn named(name: &str) -> Option<Self> {
        segment_id(name).map(Self::Segment).or(set_aside_id(name).map(Self::SetAside))
    }

    fn id(self) -> u64 {
        match self {
            Self::Segment(id) | Self::SetAside(id) => id,
        }
    }

    fn identify(self, disk: &dyn Disk, path: &Path) -> Option<Identity> {
        match self {
            Self::Segment(_) => segment::identify(disk, path),
            Self::SetAside(_) => set_aside::identify(disk, path),
        }
    }
}

impl Unnamed {
    fn add(&mut self, disk: &dyn Disk, path: PathBuf, orphan: Orphan, store: &[u8; 16], known: u64) {
        let id = orphan.id();
        match orphan.identify(disk, &path) {
            Some(file) if file == (Identity { store: *store, id }) => match id >= known {
                true => self.orphans.push(orphan),
                false => self.given_up.push(path),
            },
            Some(_) => self.notes.push(format!("{}: not read: another file under this name", path.display())),
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

/// Removes the files that the manifest cannot know of. That is right after a seal or a merge that did not come to its
/// end: the rows are in the log or in the merge's inputs still. Where they are not, it is the manifest that is out of
/// date, and nothing may be removed.
pub fn remove_orphans(disk: &dyn Disk, directory: &mut Directory, log: &Replay) -> Result<(), StorageError> {
    for orphan in std::mem::take(&mut directory.unnamed.orphans) {
        let (path, held) = look_into(disk, directory, orphan);
        match held {
            Err(error) => directory.notes.push(format!("{error}; the manifest does not name this file")),
            Ok(rows) if rows.are_elsewhere(disk, directory, log) => {
                tracing::info!(file = %path.display(), "removing what was cut short; its rows are elsewhere");
                remove(disk, &path)?;
            }
            Ok(_) => return Err(out_of_date(&directory.layout.root, &path)),
        }
    }
    directory.unnamed.remove_given_up(disk)
}

/// Where the rows of an orphan come from.
struct Rows {
    lsns: Vec<(u64, u64)>,
    /// Ids of the segments that a merge or a repair made it of.
    inputs: Vec<u64>,
}

impl Rows {
    fn are_elsewhere(&self, disk: &dyn Disk, directory: &Directory, log: &Replay) -> bool {
        let named = |id: &u64| directory.manifest.files.iter().any(|file| file.id == *id);
        let there = |id: &u64| disk.open(&directory.layout.segment(*id)).is_ok();
        match self.inputs.is_empty() {
            true => self.lsns.iter().all(|&lsns| log.holds(lsns)),
            false => self.inputs.iter().all(|id| named(id) && there(id)),
        }
    }
}

/// Where an orphan is, and what it holds.
fn look_into(disk: &dyn Disk, directory: &Directory, orphan: Orphan) -> (PathBuf, Result<Rows, StorageError>) {
    let Directory { layout, manifest, .. } = directory;
    match orphan {
        Orphan::Segment(id) => {
            let path = layout.segment(id);
            let segment = Segment::open_as(disk, &path, &manifest.store, id);
            let rows = segment.map(|segment| {
                let footer = segment.footer();
                Rows { lsns: vec![footer.lsns], inputs: footer.inputs.clone() }
            });
            (path, rows)
        }
        Orphan::SetAside(id) => {
            let (set_aside, damage) = set_aside::read(disk, layout, &manifest.store, id);
            let lsns = set_aside.entries.iter().map(|entry| (entry.lsn, entry.lsn)).collect();
            (layout.set_aside(id), damage.map_or(Ok(Rows { lsns, inputs: Vec::new() }), Err))
        }
    }
}

fn out_of_date(root: &Path, path: &Path) -> StorageError {
    let (root, path) = (root.display(), path.display());
    StorageError::Refused(format!(
        "{path}: the manifest does not name this file, and the log does not hold its rows: manifest.a and manifest.b are \
         older than the store. Put back the newest copy of either, or let `sluice store repair {root}` name what is there"
    ))
}

fn remove(disk: &dyn Disk, path: &Path) -> Result<(), StorageError> {
    disk.remove(path).map_err(StorageError::io(path, "removing"))
}
