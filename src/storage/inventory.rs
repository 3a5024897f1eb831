//! What a directory holds: the manifest that counts, and what becomes of the files it does not name. Where no manifest
//! can be read, or the one that can is older than the store, the files themselves give one.

use crate::storage::disk::Disk;
use crate::storage::engine::live_file;
use crate::storage::error::StorageError;
use crate::storage::files::{Layout, above, segment_id, set_aside_id};
use crate::storage::manifest::copies::{Copy, choose, read_copies};
use crate::storage::manifest::{FileKind, Found, LiveFile, Manifest};
use crate::storage::owner::{Identity, Owners};
use crate::storage::segment::{self, Segment};
use crate::storage::set_aside;
use crate::storage::wal::replay::{Replay, examine};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// See the module.
pub struct Inventory {
    pub copies: [(PathBuf, Copy); 2],
    /// The one on disk; or the one that is to be, if `basis` says so.
    pub manifest: Manifest,
    pub basis: Basis,
    /// A sentence for each copy of the manifest that does not count and should.
    pub notes: Vec<String>,
    /// Every segment and every file of batches set aside that the manifest on disk does not name.
    pub unnamed: Vec<(Held, Fate)>,
}

/// Where an inventory's manifest comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// From disk, as it is.
    Read,
    /// From disk, with files added that it does not know of: it is older than the store.
    Older,
    /// From the files: why none could be read.
    Files(String),
}

/// A file that holds rows, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub kind: FileKind,
    /// Id in its name.
    pub id: u64,
    pub path: PathBuf,
    pub state: State,
}

/// What a file says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// What its name says, made of these segments; of none if it was sealed.
    Ours {
        file: LiveFile,
        inputs: Vec<u64>,
        sound: bool,
    },
    /// Something else: the file of this id of this store.
    Copy(u64),
    Foreign,
    /// Of another version, or nothing of it can be read.
    Unreadable(String),
}

/// What becomes of a file that no manifest on disk names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It holds rows that may be nowhere else: it is to be named.
    Adopt,
    /// All its rows are in the log or in other segments: it was never published.
    Unpublished,
    /// The manifest has given it up.
    GivenUp,
    /// It is not what its name says, or cannot be read.
    Stray,
}

impl Inventory {
    /// Looks at a directory; `None` where there is no store.
    ///
    /// Errors: a manifest was written by another version, or the log cannot be read at all.
    pub fn take(disk: &dyn Disk, layout: &Layout) -> Result<Option<Self>, StorageError> {
        let (copies, owners) = (read_copies(disk, layout), Owners::read(disk, layout));
        let (base, notes, why) = match choose(&copies, &owners)? {
            Found::Manifest(manifest, notes) => (Some(manifest), notes, String::new()),
            Found::Lost(why) => (None, Vec::new(), why),
            Found::Nothing if has_files(disk, layout) => {
                (None, Vec::new(), "manifest.a and manifest.b are gone".into())
            }
            Found::Nothing => return Ok(None),
        };
        let store = base.as_ref().map_or(owners.most(), |manifest| manifest.store);
        let named: BTreeSet<_> = base.iter().flat_map(|base| &base.files).map(|file| file.id).collect();
        let held = hold(disk, layout, &store, &named);
        let known = base.as_ref().map_or(0, |base| base.next_segment);
        // The log says something only about what the manifest cannot know of.
        let doubt = base.is_none() || held.iter().any(|held| held.id >= known);
        let position = base.as_ref().map_or(0, |base| base.position);
        let log = match doubt {
            true => examine(disk, layout, &store, position, &mut |_| {})?,
            false => Replay::default(),
        };
        let missing = base.iter().flat_map(|base| &base.files).filter(|file| !is_there(disk, layout, file));
        let missing = missing.map(|file| file.id).collect();
        let fates = fates(&held, base.as_ref(), &missing, &|lsns| log.holds(lsns));
        let unnamed: Vec<_> = held.into_iter().zip(fates).collect();
        let adopted = unnamed.iter().any(|(_, fate)| *fate == Fate::Adopt);
        let basis = match &base {
            None => Basis::Files(why),
            Some(_) if adopted => Basis::Older,
            Some(_) => Basis::Read,
        };
        let manifest = complete(base, store, &unnamed, &missing, &log);
        Ok(Some(Self { copies, manifest, basis, notes, unnamed }))
    }
}

impl Inventory {
    /// A new id for a segment.
    pub fn new_segment(&mut self) -> u64 {
        let id = self.manifest.next_segment;
        self.manifest.next_segment += 1;
        id
    }

    /// The segments beside the one of this id, as far as they can be read.
    pub fn other_segments(&self, disk: &dyn Disk, layout: &Layout, id: u64) -> impl Iterator<Item = Segment> {
        let live = self.manifest.files.iter().filter(move |file| file.kind != FileKind::SetAside && file.id != id);
        live.filter_map(move |file| {
            let (path, own) = (layout.segment(file.id), Identity { store: self.manifest.store, id: file.id });
            let open = Segment::open_as(disk, &path, &own.store, own.id);
            open.or_else(|error| Segment::open_damaged(disk, &path, own, &error.to_string())).ok()
        })
    }
}

/// Whether files lie where a store keeps its own.
pub fn has_files(disk: &dyn Disk, layout: &Layout) -> bool {
    let folders = [&layout.wal, &layout.segments, &layout.set_aside];
    folders.iter().any(|dir| disk.list(dir).is_ok_and(|names| !names.is_empty()))
}

fn is_there(disk: &dyn Disk, layout: &Layout, file: &LiveFile) -> bool {
    disk.open(&layout.live(file.kind, file.id)).is_ok()
}

/// The files that hold rows and that no manifest names.
fn hold(disk: &dyn Disk, layout: &Layout, store: &[u8; 16], named: &BTreeSet<u64>) -> Vec<Held> {
    let ids = |dir: &Path, id: fn(&str) -> Option<u64>| {
        let mut ids: Vec<_> = disk.list(dir).unwrap_or_default().iter().filter_map(|name| id(name)).collect();
        ids.sort_unstable();
        ids.retain(|id| !named.contains(id));
        ids
    };
    let segment = |id| {
        let path = layout.segment(id);
        Held { kind: FileKind::Segment, id, state: segment_state(disk, &path, Identity { store: *store, id }), path }
    };
    let set_aside = |id| {
        let path = layout.set_aside(id);
        Held {
            kind: FileKind::SetAside,
            id,
            state: set_aside_state(disk, layout, Identity { store: *store, id }),
            path,
        }
    };
    let segments = ids(&layout.segments, segment_id).into_iter().map(segment);
    segments.chain(ids(&layout.set_aside, set_aside_id).into_iter().map(set_aside)).collect()
}

fn segment_state(disk: &dyn Disk, path: &Path, own: Identity) -> State {
    if let Some(other) = other(segment::identify(disk, path), own) {
        return other;
    }
    let ours = |segment: Segment, sound| State::Ours {
        file: live_file(&segment),
        inputs: segment.footer().inputs.clone(),
        sound,
    };
    match Segment::open_as(disk, path, &own.store, own.id) {
        Ok(segment) => ours(segment, true),
        Err(error) => match Segment::open_damaged(disk, path, own, &error.to_string()) {
            Ok(segment) => ours(segment, false),
            Err(error) => State::Unreadable(error.to_string()),
        },
    }
}

fn set_aside_state(disk: &dyn Disk, layout: &Layout, own: Identity) -> State {
    if let Some(other) = other(set_aside::identify(disk, &layout.set_aside(own.id)), own) {
        return other;
    }
    let (found, damage) = set_aside::read(disk, layout, &own.store, own.id);
    match damage {
        Some(error) if found.entries.is_empty() => State::Unreadable(error.to_string()),
        damage => State::Ours { file: found.file, inputs: Vec::new(), sound: damage.is_none() },
    }
}

fn other(found: Option<Identity>, own: Identity) -> Option<State> {
    let found = found.filter(|found| *found != own)?;
    Some(if found.store == own.store { State::Copy(found.id) } else { State::Foreign })
}

/// What becomes of each of these files. `base`: the manifest on disk; `missing`: what it names and is not there; `in_log`: whether the log holds all of a range.
fn fates(
    held: &[Held],
    base: Option<&Manifest>,
    missing: &BTreeSet<u64>,
    in_log: &dyn Fn((u64, u64)) -> bool,
) -> Vec<Fate> {
    let whole = |held: &&Held| matches!(held.state, State::Ours { sound: true, .. });
    // What a merge was made of is there: named, or, with nothing that names anything, whole.
    let inputs_there: BTreeSet<_> = match base {
        Some(manifest) => manifest.files.iter().map(|file| file.id).filter(|id| !missing.contains(id)).collect(),
        None => held.iter().filter(whole).map(|held| held.id).collect(),
    };
    let known = base.map_or(0, |manifest| manifest.next_segment);
    let fate = |held: &Held| match &held.state {
        State::Ours { .. } if held.id < known => Fate::GivenUp,
        State::Ours { inputs, .. } if !inputs.is_empty() && inputs.iter().all(|input| inputs_there.contains(input)) => {
            Fate::Unpublished
        }
        State::Ours { file, inputs, .. } if base.is_some() && inputs.is_empty() && in_log(file.lsns) => {
            Fate::Unpublished
        }
        State::Ours { .. } => Fate::Adopt,
        _ => Fate::Stray,
    };
    held.iter().map(fate).collect()
}

/// The manifest with everything that is to be named.
fn complete(
    base: Option<Manifest>,
    store: [u8; 16],
    unnamed: &[(Held, Fate)],
    missing: &BTreeSet<u64>,
    log: &Replay,
) -> Manifest {
    let is_new = base.is_none();
    let mut manifest = base.unwrap_or_else(|| Manifest::new(store));
    let mut replaced = BTreeSet::new();
    let mut adopted = false;
    for (held, fate) in unnamed {
        manifest.next_segment = above(manifest.next_segment, held.id);
        let State::Ours { file, inputs, .. } = &held.state else { continue };
        manifest.next_segment = inputs.iter().fold(manifest.next_segment, |next, input| above(next, *input));
        if *fate == Fate::Adopt {
            adopted = true;
            replaced.extend(inputs.iter().copied());
            manifest.files.push(file.clone());
            manifest.clock = manifest.clock.max(file.received.1);
        }
    }
    if is_new || adopted {
        // An older manifest may name what a merge has taken the place of since, and what that merge has removed.
        manifest.files.retain(|file| !(replaced.contains(&file.id) && missing.contains(&file.id)));
        manifest.position = position(&manifest, log);
        manifest.clock = manifest.clock.max(log.latest);
        manifest.next_log = manifest.next_log.max(log.newest().map_or(1, |newest| newest.saturating_add(1)));
        // Above every epoch that the lost one can have had: a manifest is not written every nanosecond.
        manifest.epoch = manifest.epoch.max(manifest.clock);
    }
    manifest
}

/// Where replay is to begin: with the first batch of the log. What of it is in segments too collapses with it.
fn position(manifest: &Manifest, log: &Replay) -> u64 {
    let sealed = manifest.files.iter().map(|file| file.lsns.1.saturating_add(1)).max().unwrap_or(1);
    log.first_lsn.map_or(sealed, |first| first.max(1)).max(manifest.position)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: [u8; 16] = [1; 16];

    fn file(id: u64, lsns: (u64, u64)) -> LiveFile {
        let kind = FileKind::Segment;
        LiveFile { kind, id, bytes: 9, rows: 9, traces: 9, lsns, received: (5, 6), not_before: 0 }
    }

    fn held(id: u64, inputs: &[u64], sound: bool) -> Held {
        let state = State::Ours { file: file(id, (id * 10, id * 10 + 9)), inputs: inputs.to_vec(), sound };
        Held { kind: FileKind::Segment, id, path: PathBuf::new(), state }
    }

    fn base(named: &[u64], next_segment: u64) -> Manifest {
        let files = named.iter().map(|&id| file(id, (0, 0))).collect();
        Manifest { files, next_segment, ..Manifest::new(STORE) }
    }

    #[test]
    fn without_a_manifest_everything_lives_but_a_merge_whose_inputs_are_all_whole() {
        let fates = |all: &[Held]| fates(all, None, &BTreeSet::new(), &|_| true);
        let all = [held(1, &[], true), held(2, &[], true), held(3, &[1, 2], true)];
        assert_eq!(fates(&all), [Fate::Adopt, Fate::Adopt, Fate::Unpublished]);
        assert_eq!(fates(&all[1..]), [Fate::Adopt, Fate::Adopt], "an input is gone");
        let all = [held(1, &[], true), held(2, &[], false), held(3, &[1, 2], true)];
        assert_eq!(fates(&all), [Fate::Adopt; 3], "an input is damaged");
    }

    #[test]
    fn a_manifest_that_knows_of_a_file_decides_and_of_one_it_cannot_know_the_log_and_the_inputs_do() {
        let unnamed = [held(4, &[], true), held(6, &[], true), held(7, &[1, 2], true), held(8, &[3], true)];
        let fates = |in_log, missing: &[u64]| {
            fates(&unnamed, Some(&base(&[1, 2], 6)), &missing.iter().copied().collect(), &|_| in_log)
        };
        assert_eq!(fates(true, &[]), [Fate::GivenUp, Fate::Unpublished, Fate::Unpublished, Fate::Adopt]);
        assert_eq!(fates(false, &[]), [Fate::GivenUp, Fate::Adopt, Fate::Unpublished, Fate::Adopt]);
        assert_eq!(fates(true, &[2])[2], Fate::Adopt, "an input is gone");
    }

    #[test]
    fn a_manifest_made_of_files_is_above_all_of_them_and_replays_the_whole_log() {
        let unnamed = vec![(held(3, &[], true), Fate::Adopt), (held(9, &[3, 12], true), Fate::Unpublished)];
        let mut log = Replay::default();
        log.first_lsn = Some(33);
        let manifest = complete(None, STORE, &unnamed, &BTreeSet::new(), &log);
        assert_eq!((manifest.store, manifest.position, manifest.next_segment), (STORE, 33, 13));
        assert_eq!(manifest.files, [file(3, (30, 39))]);
        let manifest = complete(None, STORE, &unnamed, &BTreeSet::new(), &Replay::default());
        assert_eq!(manifest.position, 40, "no LSN of a segment is used again");
    }

    #[test]
    fn an_older_manifest_forgets_what_a_merge_took_the_place_of_and_removed() {
        let unnamed = vec![(held(8, &[1, 2], true), Fate::Adopt)];
        let manifest = complete(Some(base(&[1, 2, 3], 6)), STORE, &unnamed, &[1, 3].into(), &Replay::default());
        assert_eq!(manifest.files.iter().map(|file| file.id).collect::<Vec<_>>(), [2, 3, 8]);
    }
}
