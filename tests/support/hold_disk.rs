//! A disk in memory on which a merge can be held up, or fail, where it makes a file or names one; others are not.

use super::fault_disk::FaultDisk;
use sluice::storage::disk::{Disk, DiskFile, LockMode, Locked};
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Only a hang exceeds it.
const LONG: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Open,
    /// Whoever comes waits.
    Closed,
    /// Whoever comes gets an error.
    Failing,
}

struct State {
    create: Gate,
    rename: Gate,
    /// How often a merge came to a gate that was not open.
    met: u64,
}

/// See the module. Merges are told by the name of their thread, which begins with `merge`.
#[derive(Clone)]
pub struct HoldDisk {
    pub inner: FaultDisk,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl HoldDisk {
    pub fn new(create: Gate, rename: Gate) -> Self {
        let state = Mutex::new(State { create, rename, met: 0 });
        Self { inner: FaultDisk::default(), state: Arc::new((state, Condvar::new())) }
    }

    pub fn set(&self, create: Gate, rename: Gate) {
        let mut state = self.state.0.lock().unwrap();
        (state.create, state.rename) = (create, rename);
        self.state.1.notify_all();
    }

    /// Waits until a merge has come to a gate that is not open, this often.
    pub fn wait_until_met(&self, times: u64) {
        let state = self.state.0.lock().unwrap();
        let (state, _) = self.state.1.wait_timeout_while(state, LONG, |state| state.met < times).unwrap();
        assert!(state.met >= times, "no merge came");
    }

    fn pass(&self, gate: fn(&State) -> Gate) -> io::Result<()> {
        if !std::thread::current().name().is_some_and(|name| name.starts_with("merge")) {
            return Ok(());
        }
        let mut state = self.state.0.lock().unwrap();
        state.met += u64::from(gate(&state) != Gate::Open);
        self.state.1.notify_all();
        let state = self.state.1.wait_while(state, |state| gate(state) == Gate::Closed).unwrap();
        if gate(&state) == Gate::Failing { Err(io::Error::other("the gate says no")) } else { Ok(()) }
    }
}

impl Disk for HoldDisk {
    fn free(&self, dir: &Path) -> io::Result<u64> {
        self.inner.free(dir)
    }

    fn create(&self, path: &Path, size: u64) -> io::Result<Arc<dyn DiskFile>> {
        self.pass(|state| state.create)?;
        self.inner.create(path, size)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass(|state| state.rename)?;
        self.inner.rename(from, to)
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
