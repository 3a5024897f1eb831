//! A disk in memory that holds up, or fails, new files in one folder.

use super::fault_disk::FaultDisk;
use sluice::storage::disk::{Disk, DiskFile, LockMode, Locked};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Closed,
    Failing,
    Open,
}

/// See the module. Closed at first.
#[derive(Clone)]
pub struct GateDisk {
    inner: FaultDisk,
    folder: PathBuf,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

impl GateDisk {
    pub fn new(folder: &str) -> Self {
        let gate = Arc::new((Mutex::new(Gate::Closed), Condvar::new()));
        Self { inner: FaultDisk::default(), folder: folder.into(), gate }
    }

    /// The disk behind the gate.
    pub fn inner(&self) -> &FaultDisk {
        &self.inner
    }

    pub fn open_gate(&self) {
        self.set(Gate::Open);
    }

    pub fn fail_gate(&self) {
        self.set(Gate::Failing);
    }

    fn set(&self, gate: Gate) {
        *self.gate.0.lock().unwrap() = gate;
        self.gate.1.notify_all();
    }

    fn pass(&self) -> io::Result<()> {
        let gate = self.gate.0.lock().unwrap();
        match *self.gate.1.wait_while(gate, |gate| *gate == Gate::Closed).unwrap() {
            Gate::Open => Ok(()),
            _ => Err(io::Error::other("the gate says no")),
        }
    }
}

impl Drop for GateDisk {
    /// A test that fails must not leave an engine waiting for ever.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.open_gate();
        }
    }
}

impl Disk for GateDisk {
    fn create(&self, path: &Path, size: u64) -> io::Result<Arc<dyn DiskFile>> {
        if path.parent() == Some(&self.folder) {
            self.pass()?;
        }
        self.inner.create(path, size)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir(dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.inner.list(dir)
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.inner.open(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.sync_dir(dir)
    }
    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Locked> {
        self.inner.lock(path, mode)
    }
}
