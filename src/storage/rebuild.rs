//! The manifest as the files of a store give it, where none can be read or the one that can is older than the store.

use super::disk::Disk;
use super::error::StorageError;
use super::files::{Layout, above, segment_id};
use super::manifest::{FileKind, LiveFile, Manifest};
use super::owner::Owners;
use super::segment::{Segment, identify};
use super::wal::Replay;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A file with a segment's name.
#[derive(Debug, Clone)]
pub struct Held {
    /// Id in its name.
    pub id: u64,
    pub path: PathBuf,
    pub state: State,
}

/// What header and footer say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The segment that its name says, made of these segments; of none if it was sealed.
    Ours { file: LiveFile, inputs: Vec<u64>, sound: bool },
    /// The segment of this id of this store.
    Copy(u64),
    Foreign,
    OtherVersion(u32),
    Unreadable(String),
}

/// What becomes of a segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The manifest names it.
    Named,
    /// It holds rows that are nowhere else, and is to be named.
    Adopt,
    /// All its rows are in the log or in other segments: it was never published.
    Unpublished,
    /// The manifest has given it up.
    GivenUp,
    /// It is not what its name says.
    Stray,
}

/// Looks at the header and the footer of every segment of a directory.
pub fn held(disk: &dyn Disk, layout: &Layout, store: &[u8; 16]) -> Vec<Held> {
    let mut ids: Vec<_> = disk.list(&layout.segments).unwrap_or_default().iter().filter_map(|name| segment_id(name)).collect();
    ids.sort_unstable();
    let look = |id| {
        let path = layout.segment(id);
        let state = look(disk, &path, id, store);
        Held { id, path, state }
    };
    ids.into_iter().map(look).collect()
}

/// What becomes of each of these files. `base`: the manifest there is; `in_log`: whether the log holds all of a range.
pub fn fates(held: &[Held], base: Option<&Manifest>, in_log: &dyn Fn((u64, u64)) -> bool) -> Vec<Fate> {
    let named: BTreeSet<_> = base.iter().flat_map(|manifest| &manifest.files).map(|file| file.id).collect();
    let sound = |held: &&Held| matches!(held.state, State::Ours { sound: true, .. });
    let present: BTreeSet<_> = held.iter().filter(sound).map(|held| held.id).collect();
    let known = base.map_or(0, |manifest| manifest.next_segment);
    let fate = |held: &Held| match &held.state {
        _ if named.contains(&held.id) => Fate::Named,
        State::Ours { .. } if held.id < known => Fate::GivenUp,
        State::Ours { file, inputs, .. } => {
            let all_in = |ids: &BTreeSet<u64>| !inputs.is_empty() && inputs.iter().all(|input| ids.contains(input));
            let elsewhere = match base {
                Some(_) => all_in(&named) || (inputs.is_empty() && in_log(file.lsns)),
                None => all_in(&present),
            };
            if elsewhere { Fate::Unpublished } else { Fate::Adopt }
        }
        _ => Fate::Stray,
    };
    held.iter().map(fate).collect()
}
