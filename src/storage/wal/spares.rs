//! Log files nothing lives in, kept to be written again.

use super::log::Closed;
use crate::storage::disk::{Disk, DiskFile};
use crate::storage::files::Layout;
use std::io;
use std::sync::Arc;

/// See the module.
pub struct Spares {
    disk: Arc<dyn Disk>,
    layout: Layout,
    files: Vec<Closed>,
    /// Some spare's new name is not durable yet.
    unsettled: bool,
}

impl Spares {
    pub fn new(disk: Arc<dyn Disk>, layout: Layout, files: Vec<Closed>) -> Self {
        Self { disk, layout, files, unsettled: false }
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// A spare of this size, or a new file; with the id in its name.
    pub fn take(&mut self, size: u64, id: u64) -> io::Result<(u64, Arc<dyn DiskFile>)> {
        self.settle()?;
        while let Some(spare) = self.files.pop() {
            let path = self.layout.spare(spare.id);
            match self.disk.open(&path) {
                Ok(file) if spare.size == size => return Ok((spare.id, file)),
                Ok(_) => self.disk.remove(&path)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok((id, self.disk.create(&self.layout.spare(id), size)?))
    }

    /// Takes back one that could not be used. It may have another name by now; then nobody will find it under this one.
    pub fn put_back(&mut self, id: u64, size: u64) {
        self.files.push(Closed { id, size, last_lsn: 0, damaged: false });
    }

    /// Makes a log file a spare.
    pub fn make(&mut self, file: Closed) -> io::Result<()> {
        self.unsettled = true;
        self.disk.rename(&self.layout.log(file.id), &self.layout.spare(file.id))?;
        self.files.push(file);
        Ok(())
    }

    /// Before a spare's header is written again, its old name must be gone for good.
    pub fn settle(&mut self) -> io::Result<()> {
        if self.unsettled {
            self.disk.sync_dir(&self.layout.wal)?;
            self.unsettled = false;
        }
        Ok(())
    }

    /// Removes spares beyond this many bytes.
    pub fn trim(&mut self, bytes: u64) -> io::Result<()> {
        while self.bytes() > bytes {
            let Some(spare) = self.files.pop() else { break };
            self.disk.remove(&self.layout.spare(spare.id))?;
        }
        Ok(())
    }
}
