//! The two copies of a manifest on disk: reading them, choosing one, writing both.

use super::{BadManifest, Manifest, VERSION};
use crate::storage::disk::{Disk, read_file, replace_file};
use crate::storage::error::StorageError;
use crate::storage::files::{Layout, MANIFESTS};
use crate::storage::owner::Owners;
use std::io::ErrorKind;
use std::path::PathBuf;

/// One copy, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Copy {
    Gone,
    /// Why it cannot be read.
    Damaged(String),
    Version(u32),
    Good(Box<Manifest>),
}

/// Which manifest counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// There is no copy.
    Nothing,
    /// A sentence for each copy that does not count and should.
    Manifest(Manifest, Vec<String>),
    /// There are copies and none can be used: why.
    Lost(String),
}

/// Reads both copies. What cannot be read at all counts as damaged.
pub fn read_copies(disk: &dyn Disk, layout: &Layout) -> [(PathBuf, Copy); 2] {
    MANIFESTS.map(|name| {
        let path = layout.root.join(name);
        let copy = match read_file(disk, &path).as_deref().map(Manifest::decode) {
            Err(error) if error.kind() == ErrorKind::NotFound => Copy::Gone,
            Err(error) => Copy::Damaged(format!("cannot be read: {error}")),
            Ok(Ok(manifest)) => Copy::Good(Box::new(manifest)),
            Ok(Err(BadManifest::Version(found))) => Copy::Version(found),
            Ok(Err(BadManifest::Damaged)) => Copy::Damaged("damaged".into()),
        };
        (path, copy)
    })
}

/// The newest copy that can be read and that is of the store whose files lie beside it.
///
/// Errors: a copy was written by another version.
pub fn choose(copies: &[(PathBuf, Copy)], owners: &Owners) -> Result<Found, StorageError> {
    let mut best: Option<&Manifest> = None;
    let mut notes = Vec::new();
    for (path, copy) in copies {
        let why = match copy {
            Copy::Version(found) => return Err(StorageError::format(path.clone(), *found, VERSION)),
            Copy::Good(manifest) if owners.include(&manifest.store) => {
                best = best.filter(|best| best.epoch >= manifest.epoch).or(Some(manifest));
                continue;
            }
            Copy::Good(_) => "belongs to another store than the files beside it",
            Copy::Gone => "gone",
            Copy::Damaged(why) => why,
        };
        notes.push(format!("{}: {why}", path.display()));
    }
    Ok(match best {
        Some(manifest) => {
            let used = "; the other copy of the manifest is used, and the next seal writes both";
            notes.iter_mut().for_each(|note| note.push_str(used));
            Found::Manifest(manifest.clone(), notes)
        }
        None if copies.iter().all(|(_, copy)| *copy == Copy::Gone) => Found::Nothing,
        None => Found::Lost(notes.join(", ")),
    })
}

/// The manifest of a directory.
pub fn load(disk: &dyn Disk, layout: &Layout) -> Result<Found, StorageError> {
    choose(&read_copies(disk, layout), &Owners::read(disk, layout))
}

/// Writes both copies. With the first one durable the new state holds; an error before that leaves the old one.
pub fn store(disk: &dyn Disk, layout: &Layout, manifest: &Manifest) -> Result<(), StorageError> {
    let bytes = manifest.encode();
    for name in MANIFESTS {
        replace_file(disk, &layout.root, name, &bytes).map_err(StorageError::io(&layout.root.join(name), "writing"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: [u8; 16] = [1; 16];
    const OTHER: [u8; 16] = [2; 16];

    fn good(store: [u8; 16], epoch: u64) -> Copy {
        Copy::Good(Box::new(Manifest { epoch, ..Manifest::new(store) }))
    }

    /// Epoch of what is chosen and how much is said, or why nothing can be.
    fn chosen(a: Copy, b: Copy) -> Result<(u64, usize), String> {
        let owners = [OURS].into_iter().collect();
        match choose(&[("a".into(), a), ("b".into(), b)], &owners) {
            Ok(Found::Manifest(manifest, notes)) => Ok((manifest.epoch, notes.len())),
            Ok(Found::Lost(why)) => Err(why),
            Ok(Found::Nothing) => Err("nothing".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_newest_readable_copy_of_this_store_counts() {
        let damaged = || Copy::Damaged("damaged".into());
        assert_eq!(chosen(good(OURS, 4), good(OURS, 5)), Ok((5, 0)));
        assert_eq!(chosen(good(OURS, 5), good(OURS, 4)), Ok((5, 0)));
        assert_eq!(chosen(damaged(), good(OURS, 4)), Ok((4, 1)));
        assert_eq!(chosen(good(OURS, 4), Copy::Gone), Ok((4, 1)));
        assert_eq!(chosen(good(OURS, 4), good(OTHER, 9)), Ok((4, 1)), "another store's is no newer one");
        assert_eq!(chosen(Copy::Gone, Copy::Gone), Err("nothing".into()));
        assert_eq!(chosen(damaged(), Copy::Gone), Err("a: damaged, b: gone".into()));
        assert!(chosen(good(OTHER, 9), good(OTHER, 9)).unwrap_err().contains("another store"));
        assert!(chosen(good(OURS, 4), Copy::Version(9)).unwrap_err().contains("newer version"));
        assert!(chosen(Copy::Version(0), damaged()).unwrap_err().contains("older version"));
    }
}
