//! Whose files lie in a directory, as their headers say.

use super::disk::Disk;
use super::files::{Layout, log_id, segment_id};
use super::segment;
use super::wal::HEADER_PAGE;
use super::wal::header::FoundHeader;
use std::collections::BTreeSet;
use std::path::Path;

/// Ids of the stores that the segments and log files of a directory belong to. Those whose header is damaged do not count.
#[derive(Debug, Clone, Default)]
pub struct Owners(BTreeSet<[u8; 16]>);

impl Owners {
    pub fn read(disk: &dyn Disk, layout: &Layout) -> Self {
        let names = |dir: &Path| disk.list(dir).unwrap_or_default();
        let logs =
            names(&layout.wal).into_iter().filter_map(|name| log_store(disk, &layout.wal.join(&name), log_id(&name)?));
        let segments = names(&layout.segments).into_iter().filter(|name| segment_id(name).is_some());
        let segments = segments.filter_map(|name| segment::identify(disk, &layout.segments.join(name)));
        logs.chain(segments.map(|segment| segment.store)).collect()
    }

    /// Whether some file is of this store, or no file says of which it is.
    pub fn include(&self, store: &[u8; 16]) -> bool {
        self.0.is_empty() || self.0.contains(store)
    }
}

impl FromIterator<[u8; 16]> for Owners {
    fn from_iter<T: IntoIterator<Item = [u8; 16]>>(stores: T) -> Self {
        Self(stores.into_iter().collect())
    }
}

fn log_store(disk: &dyn Disk, path: &Path, id: u64) -> Option<[u8; 16]> {
    let file = disk.open(path).ok()?;
    let mut pages = vec![0; file.len().ok()?.min(HEADER_PAGE) as usize];
    file.read_at(&mut pages, 0).ok()?;
    FoundHeader::read(&pages, id).ok().map(|found| found.header.store)
}
