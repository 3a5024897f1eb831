//! Whose files lie in a directory, as their headers say.

use super::disk::Disk;
use super::files::{Layout, log_id, segment_id, set_aside_id};
use super::wal::HEADER_PAGE;
use super::wal::header::FoundHeader;
use super::{segment, set_aside};
use std::collections::BTreeMap;
use std::path::Path;

/// What the header of a file says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub store: [u8; 16],
    pub id: u64,
}

/// The stores that the files of a directory belong to, and how many files each has. Those whose header is damaged do not count.
#[derive(Debug, Clone, Default)]
pub struct Owners(BTreeMap<[u8; 16], usize>);

impl Owners {
    pub fn read(disk: &dyn Disk, layout: &Layout) -> Self {
        let mut owners = Vec::new();
        let mut look = |dir: &Path, of: &dyn Fn(&Path, &str) -> Option<Identity>| {
            for name in disk.list(dir).unwrap_or_default() {
                owners.extend(of(&dir.join(&name), &name).map(|file| file.store));
            }
        };
        look(&layout.wal, &|path, name| of_log(disk, path, log_id(name)?));
        look(&layout.segments, &|path, name| segment_id(name).and_then(|_| segment::identify(disk, path)));
        look(&layout.set_aside, &|path, name| set_aside_id(name).and_then(|_| set_aside::identify(disk, path)));
        owners.into_iter().collect()
    }

    /// Whether some file is of this store, or no file says of which it is.
    pub fn include(&self, store: &[u8; 16]) -> bool {
        self.0.is_empty() || self.0.contains_key(store)
    }

    /// The store that most files are of; zeros where none says so.
    pub fn most(&self) -> [u8; 16] {
        self.0.iter().max_by_key(|(_, files)| **files).map_or([0; 16], |(store, _)| *store)
    }
}

impl FromIterator<[u8; 16]> for Owners {
    fn from_iter<T: IntoIterator<Item = [u8; 16]>>(stores: T) -> Self {
        let mut owners = Self::default();
        stores.into_iter().for_each(|store| *owners.0.entry(store).or_default() += 1);
        owners
    }
}

fn of_log(disk: &dyn Disk, path: &Path, id: u64) -> Option<Identity> {
    let file = disk.open(path).ok()?;
    let mut pages = vec![0; file.len().ok()?.min(HEADER_PAGE) as usize];
    file.read_at(&mut pages, 0).ok()?;
    let header = FoundHeader::read(&pages, id).ok()?.header;
    Some(Identity { store: header.store, id: header.id })
}
