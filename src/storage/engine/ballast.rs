//! Room that is kept on the disk so that something can be given up when it is full: a new manifest has to be written first,
//! and old files stay until it is.

use crate::storage::disk::Disk;
use crate::storage::files::{BALLAST, Layout};
use std::io;

/// Enough for a manifest of some ten thousand segments.
const SIZE: u64 = 1 << 20;

/// Takes the room, unless it is taken already.
pub fn keep(disk: &dyn Disk, layout: &Layout) -> io::Result<()> {
    let path = layout.root.join(BALLAST);
    match disk.open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => disk.create(&path, SIZE).map(drop),
        other => other.map(drop),
    }
}

/// Gives the room back to the file system; `false` where there was none.
pub fn give_up(disk: &dyn Disk, layout: &Layout) -> bool {
    let removed = disk.remove(&layout.root.join(BALLAST));
    // Some file systems give room back only with what makes the removal durable.
    removed.and_then(|()| disk.sync_dir(&layout.root)).is_ok()
}
