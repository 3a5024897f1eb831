//! A disk in memory that keeps what is durable apart from what is not, and fails or dies at a chosen operation.
//!
//! A name is durable once its directory was synced, bytes once their file was. A failed sync loses what was waiting
//! for it for good, as Linux does: later syncs succeed without it. Where the disk is forgetful, reads no longer see it either.

use sluice::storage::disk::{Disk, DiskFile, LockGuard, LockMode, Locked};
use sluice::storage::files::log_id;
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// What happens at the chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The machine is gone: this and every later operation fails.
    Crash,
    /// This operation fails once; a write has written half by then, a sync has lost what it was asked to save.
    Fail,
    /// The same, because the disk is full.
    Full,
    /// A write writes half and says so; other operations succeed.
    Short,
}

impl Fault {
    /// What a failing operation says (EIO, ENOSPC).
    fn error(self) -> Option<io::Error> {
        let code = match self {
            Self::Fail => 5,
            Self::Full => 28,
            Self::Crash | Self::Short => return None,
        };
        Some(io::Error::from_raw_os_error(code))
    }
}

/// What of the unsynced a crash leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Only what was synced.
    Synced,
    /// Everything.
    All,
    /// Synced names, but all bytes.
    AllBytes,
    /// Everything but one write, counted from the latest.
    AllButWrite(usize),
}

#[derive(Clone, Default)]
struct Inode {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Not yet synced: offset and bytes, in order, numbered over the whole disk.
    unsynced: Vec<(u64, u64, Vec<u8>)>,
}

#[derive(Default)]
struct State {
    inodes: Vec<Inode>,
    live: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    operations: usize,
    writes: u64,
    faults: Vec<(usize, Fault)>,
    crashed: bool,
    forgetful: bool,
    log_syncs: u64,
    /// What the faulted operation was, for messages.
    hit: Option<String>,
}

/// See the module.
#[derive(Clone, Default)]
pub struct FaultDisk(Arc<Mutex<State>>);

impl FaultDisk {
    /// A disk that does this at its operation number `at`.
    pub fn with_fault(self, at: usize, fault: Fault) -> Self {
        let mut state = self.state();
        state.operations = 0;
        state.faults = vec![(at, fault)];
        drop(state);
        self
    }

    /// And this at another operation, counted as the first one was.
    pub fn and_fault(self, at: usize, fault: Fault) -> Self {
        self.state().faults.push((at, fault));
        self
    }

    /// A disk on which what a failed sync has lost is gone at once, not only when the power is.
    pub fn forgetful(self) -> Self {
        self.state().forgetful = true;
        self
    }

    /// How often what was in the log became durable: a log file was synced, or got its name for good.
    pub fn log_syncs(&self) -> u64 {
        self.state().log_syncs
    }

    pub fn crashed(&self) -> bool {
        self.state().crashed
    }

    /// The operation that was hit; `None` if the disk never came so far.
    pub fn hit(&self) -> Option<String> {
        self.state().hit.clone()
    }

    /// How many writes a crash now could lose.
    pub fn unsynced_writes(&self) -> usize {
        self.state().inodes.iter().map(|inode| inode.unsynced.len()).sum()
    }

    /// The disk after the process was killed and the machine went on: nothing is lost, nothing more is durable.
    pub fn after_kill(&self) -> Self {
        let state = self.state();
        let (inodes, live, durable) = (state.inodes.clone(), state.live.clone(), state.durable.clone());
        Self(Arc::new(Mutex::new(State { inodes, live, durable, writes: state.writes, ..State::default() })))
    }

    /// The disk that the next start finds.
    pub fn after_crash(&self, left: Left) -> Self {
        let state = self.state();
        let names = if matches!(left, Left::Synced | Left::AllBytes) { &state.durable } else { &state.live };
        let mut numbers: Vec<_> =
            state.inodes.iter().flat_map(|inode| inode.unsynced.iter().map(|write| write.0)).collect();
        numbers.sort_unstable();
        let lost = match left {
            Left::AllButWrite(back) => numbers.iter().rev().nth(back).copied(),
            _ => None,
        };
        let mut inodes = Vec::new();
        let mut found = BTreeMap::new();
        for (path, &inode) in names {
            let content = state.inodes[inode].after_crash(left, lost);
            found.insert(path.clone(), inodes.len());
            inodes.push(Inode { live: content.clone(), durable: content, unsynced: Vec::new() });
        }
        Self(Arc::new(Mutex::new(State { inodes, live: found.clone(), durable: found, ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Counts an operation. `Ok(Some(fault))`: it is to do something odd; `Err`: it fails outright.
    fn operation(&self, what: &str, path: &Path) -> io::Result<(MutexGuard<'_, State>, Option<Fault>)> {
        let mut state = self.state();
        let number = state.operations;
        state.operations += 1;
        let fault = state.faults.iter().find(|(at, _)| *at == number).map(|(_, fault)| *fault);
        if fault.is_some() {
            let before = state.hit.take().map_or(String::new(), |hit| hit + ", then ");
            state.hit = Some(format!("{before}{what} {}", path.display()));
        }
        state.crashed |= fault == Some(Fault::Crash);
        if state.crashed {
            return Err(io::Error::other("the machine is gone"));
        }
        Ok((state, fault))
    }

    /// An operation that either happens as a whole or fails.
    fn whole(&self, what: &str, path: &Path) -> io::Result<MutexGuard<'_, State>> {
        let (state, fault) = self.operation(what, path)?;
        fault.and_then(Fault::error).map_or(Ok(state), Err)
    }
}

impl Inode {
    fn after_crash(&self, left: Left, lost: Option<u64>) -> Vec<u8> {
        match left {
            Left::Synced => self.durable.clone(),
            Left::All | Left::AllBytes => self.live.clone(),
            Left::AllButWrite(_) if self.unsynced.iter().any(|write| Some(write.0) == lost) => {
                let mut content = self.durable.clone();
                content.resize(self.live.len(), 0);
                let kept = self.unsynced.iter().filter(|write| Some(write.0) != lost);
                kept.for_each(|(_, offset, bytes)| put(&mut content, *offset, bytes));
                content
            }
            Left::AllButWrite(_) => self.live.clone(),
        }
    }
}

fn put(content: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let (from, to) = (offset as usize, offset as usize + bytes.len());
    if content.len() < to {
        content.resize(to, 0);
    }
    content[from..to].copy_from_slice(bytes);
}

/// Whether this is a log file in use and not a spare one.
fn is_log(path: &Path) -> bool {
    path.file_name().and_then(|name| log_id(name.to_str()?)).is_some()
}

struct FaultFile {
    disk: FaultDisk,
    inode: usize,
    path: PathBuf,
}

impl Disk for FaultDisk {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.whole("create_dir", dir).map(drop)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        let names = state.live.keys().filter(|path| path.parent() == Some(dir));
        Ok(names.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect())
    }

    fn create(&self, path: &Path, size: u64) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.whole("create", path)?;
        let inode = state.inodes.len();
        state.inodes.push(Inode { live: vec![0; size as usize], ..Inode::default() });
        state.live.insert(path.to_owned(), inode);
        Ok(Arc::new(FaultFile { disk: self.clone(), inode, path: path.to_owned() }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let state = self.state();
        let inode = *state.live.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(FaultFile { disk: self.clone(), inode, path: path.to_owned() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.whole("rename", to)?;
        let inode = state.live.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.live.insert(to.to_owned(), inode);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.whole("remove", path)?;
        state.live.remove(path).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.whole("sync_dir", dir)?;
        let State { live, durable, log_syncs, .. } = &mut *state;
        let new = |path: &PathBuf| path.parent() == Some(dir) && is_log(path) && !durable.contains_key(path);
        *log_syncs += u64::from(live.keys().any(new));
        durable.retain(|path, _| path.parent() != Some(dir));
        durable.extend(
            live.iter().filter(|(path, _)| path.parent() == Some(dir)).map(|(path, inode)| (path.clone(), *inode)),
        );
        Ok(())
    }

    fn lock(&self, _: &Path, _: LockMode) -> io::Result<Locked> {
        Ok(Locked::Taken(LockGuard(Box::new(()))))
    }
}

impl DiskFile for FaultFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().inodes[self.inode].live.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.disk.state();
        let live = &state.inodes[self.inode].live;
        let bytes = live.get(offset as usize..offset as usize + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let (mut state, fault) = self.disk.operation("write", &self.path)?;
        if fault.is_some() && bytes.len() > 1 {
            bytes.truncate(bytes.len() / 2);
        }
        state.writes += 1;
        let number = state.writes;
        let inode = &mut state.inodes[self.inode];
        put(&mut inode.live, offset, &bytes);
        let written = bytes.len();
        inode.unsynced.push((number, offset, bytes));
        fault.and_then(Fault::error).map_or(Ok(written), Err)
    }

    fn sync(&self) -> io::Result<()> {
        let (mut state, fault) = self.disk.operation("sync", &self.path)?;
        let inode = &mut state.inodes[self.inode];
        let (writes, size) = (std::mem::take(&mut inode.unsynced), inode.live.len());
        if let Some(error) = fault.and_then(Fault::error) {
            if state.forgetful {
                let inode = &mut state.inodes[self.inode];
                inode.live = inode.durable.clone();
                inode.live.resize(size, 0);
            }
            return Err(error);
        }
        if inode.durable.len() < inode.live.len() {
            inode.durable.resize(inode.live.len(), 0);
        }
        writes.iter().for_each(|(_, offset, bytes)| put(&mut inode.durable, *offset, bytes));
        let named = state.live.iter().any(|(path, inode)| *inode == self.inode && is_log(path));
        state.log_syncs += u64::from(named);
        Ok(())
    }
}
