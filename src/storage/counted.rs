//! A disk that counts what is asked of it.

use super::disk::{Disk, DiskFile, LockMode, Locked};
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a disk was asked so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes written, whatever became of them.
    pub bytes: u64,
    pub writes: u64,
    /// Syncs of files and of directories.
    pub syncs: u64,
}

impl Counts {
    /// What was asked since.
    pub fn since(self, before: Self) -> Self {
        let Self { bytes, writes, syncs } = before;
        Self { bytes: self.bytes - bytes, writes: self.writes - writes, syncs: self.syncs - syncs }
    }
}

#[derive(Default)]
struct Counters {
    bytes: AtomicU64,
    writes: AtomicU64,
    syncs: AtomicU64,
}

/// See the module. Clones count together.
#[derive(Clone)]
pub struct CountedDisk {
    disk: Arc<dyn Disk>,
    counters: Arc<Counters>,
}

impl CountedDisk {
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, counters: Arc::default() }
    }

    pub fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { bytes, writes, syncs } = &*self.counters;
        Counts { bytes: of(bytes), writes: of(writes), syncs: of(syncs) }
    }

    fn counted(&self, file: io::Result<Arc<dyn DiskFile>>) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(CountedFile { file: file?, counters: self.counters.clone() }))
    }
}

impl Disk for CountedDisk {
    fn free(&self, dir: &Path) -> io::Result<u64> {
        self.disk.free(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }

    fn create(&self, path: &Path, size: u64) -> io::Result<Arc<dyn DiskFile>> {
        self.counted(self.disk.create(path, size))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.counted(self.disk.open(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        self.disk.sync_dir(dir)
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Locked> {
        self.disk.lock(path, mode)
    }
}

struct CountedFile {
    file: Arc<dyn DiskFile>,
    counters: Arc<Counters>,
}

impl DiskFile for CountedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let written = self.file.write_at(parts, offset)?;
        self.counters.bytes.fetch_add(written as u64, Ordering::Relaxed);
        self.counters.writes.fetch_add(1, Ordering::Relaxed);
        Ok(written)
    }

    fn sync(&self) -> io::Result<()> {
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        self.file.sync()
    }
}
