//! What a repair that was interrupted left behind.

use crate::storage::aside;
use crate::storage::disk::Disk;
use crate::storage::error::StorageError;
use crate::storage::files::Layout;
use crate::storage::manifest::{self, Found};

/// Puts back what was moved to `damaged/` while the manifest still names it. A repair moves a file before the manifest
/// gives it up; interrupted in between, it begins again with the file where it was.
pub fn put_back(disk: &dyn Disk, layout: &Layout) -> Result<(), StorageError> {
    let Ok(Found::Manifest(manifest, _)) = manifest::load(disk, layout) else { return Ok(()) };
    for file in &manifest.files {
        let path = layout.live(file.kind, file.id);
        let (Some(name), Some(dir)) = (path.file_name().and_then(|name| name.to_str()), path.parent()) else {
            continue;
        };
        if disk.open(&path).is_ok() {
            continue;
        }
        let holding =
            aside::folders(disk, layout).into_iter().rfind(|(_, names)| names.iter().any(|held| held == name));
        if let Some((folder, _)) = holding {
            let moved = || -> std::io::Result<()> {
                disk.rename(&folder.join(name), &path)?;
                disk.sync_dir(dir)?;
                disk.sync_dir(&folder)
            };
            moved().map_err(StorageError::io(&path, "putting back"))?;
        }
    }
    Ok(())
}
