//! A disk on which no segment with a certain mark in it can be made, for a reason that waiting does not mend.

use super::traces;
use prost::Message;
use sluice::model::Batch;
use sluice::storage::disk::{Disk, DiskFile, LockMode, Locked};
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;

/// No four bytes of it occur elsewhere, so that it is still itself in a compressed block.
const MARK: &[u8] = b"Zq7#kP2!xW9@vL4&";

/// What becomes of a segment with the mark in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poison {
    /// Writing it panics.
    Panic,
    /// It reads back damaged.
    Damage,
}

/// See the module.
#[derive(Clone)]
pub struct PoisonDisk {
    inner: Arc<dyn Disk>,
    poison: Poison,
}

impl PoisonDisk {
    pub fn new(inner: impl Disk + 'static, poison: Poison) -> Self {
        Self { inner: Arc::new(inner), poison }
    }

    fn wrap(&self, path: &Path, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        let segment = path.parent().is_some_and(|folder| folder.ends_with("segments"));
        if segment { Arc::new(PoisonFile { inner: file, poison: self.poison }) } else { file }
    }
}

/// The batch of a trace; marked, if it is poisoned.
pub fn batch(number: u64, poisoned: bool) -> Batch {
    let mut request = traces::request(number, 2, 100);
    if poisoned {
        request.resource_spans[0].scope_spans[0].spans[1].name = String::from_utf8(MARK.to_vec()).unwrap();
    }
    Batch::from_otlp(request.encode_to_vec().into()).unwrap().batch
}

struct PoisonFile {
    inner: Arc<dyn DiskFile>,
    poison: Poison,
}

fn is_marked(bytes: &[u8]) -> bool {
    bytes.windows(MARK.len()).any(|window| window == MARK)
}

impl Disk for PoisonDisk {
    fn create(&self, path: &Path, size: u64) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(path, self.inner.create(path, size)?))
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(path, self.inner.open(path)?))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir(dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.inner.list(dir)
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

impl DiskFile for PoisonFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(buffer, offset)?;
        let mut whole = vec![0; self.len()? as usize];
        self.inner.read_at(&mut whole, 0)?;
        if self.poison == Poison::Damage && is_marked(&whole) {
            buffer.iter_mut().for_each(|byte| *byte ^= 0x55);
        }
        Ok(())
    }

    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        assert!(self.poison != Poison::Panic || !is_marked(&bytes), "a poisoned batch");
        self.inner.write_at(parts, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
}
