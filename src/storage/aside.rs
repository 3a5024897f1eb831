//! Where damaged files go: nothing that could still tell something is deleted or written over.

use super::disk::Disk;
use super::files::Layout;
use std::io;
use std::path::{Path, PathBuf};

/// Moves files into a folder of `damaged/` that is new for each user of this.
pub struct Aside<'a> {
    disk: &'a dyn Disk,
    layout: &'a Layout,
    folder: Option<PathBuf>,
}

impl<'a> Aside<'a> {
    pub fn new(disk: &'a dyn Disk, layout: &'a Layout) -> Self {
        Self { disk, layout, folder: None }
    }

    /// Moves a file, durably, and says where it is now. Interrupted, it is at its old place or at the new one, or at both.
    pub fn take(&mut self, path: &Path) -> io::Result<PathBuf> {
        let folder = self.folder()?;
        let to = free_name(&folder, path, &self.disk.list(&folder)?);
        self.disk.rename(path, &to)?;
        // The new name first: a crash in between must not find neither.
        self.disk.sync_dir(&folder)?;
        self.disk.sync_dir(path.parent().unwrap_or(&self.layout.root))?;
        Ok(to)
    }

    fn folder(&mut self) -> io::Result<PathBuf> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let used = folders(self.disk, self.layout).len();
        let folder = self.layout.damaged.join(format!("{:04}", used + 1));
        self.disk.create_dir(&folder)?;
        self.disk.sync_dir(&self.layout.damaged)?;
        self.disk.sync_dir(&self.layout.root)?;
        self.folder = Some(folder.clone());
        Ok(folder)
    }
}

/// The folders of `damaged/` that hold something, with the names of their files.
pub fn folders(disk: &dyn Disk, layout: &Layout) -> Vec<(PathBuf, Vec<String>)> {
    let folder = |number| layout.damaged.join(format!("{number:04}"));
    let content =
        |folder: PathBuf| disk.list(&folder).ok().filter(|names| !names.is_empty()).map(|names| (folder, names));
    (1u32..).map_while(|number| content(folder(number))).collect()
}

/// A name in `folder` that nothing has.
fn free_name(folder: &Path, path: &Path, taken: &[String]) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbered = (2u32..).map(|number| format!("{name}.{number}"));
    let free = std::iter::once(name.to_string()).chain(numbered).find(|name| !taken.contains(name));
    folder.join(free.unwrap_or_default())
}
