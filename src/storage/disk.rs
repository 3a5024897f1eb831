//! The few file operations the store relies on, so that a test can fail each of them.

use std::fs;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A file system. A name is durable only after `sync_dir` of its directory, bytes only after `DiskFile::sync`.
pub trait Disk: Send + Sync {
    /// Creates a directory and those above it; no error where it exists.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Names of the plain files in a directory, in no order.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// A new file of `size` bytes that read as zero and whose room on disk is taken; what had the name before is gone.
    fn create(&self, path: &Path, size: u64) -> io::Result<Arc<dyn DiskFile>>;
    /// An existing file, for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;
    /// Gives a file another name, replacing what had it, in one step.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes the lock that the file at `path` stands for, until the guard is dropped.
    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Locked>;
}

/// One open file. Callers keep track of offsets themselves.
pub trait DiskFile: Send + Sync {
    fn len(&self) -> io::Result<u64>;
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Fills `buffer` from `offset`; an end of file before that is an error.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes a prefix of `parts`, one after the other, and says how many bytes it was.
    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize>;
    /// Makes every byte written so far durable. After an error nothing is known about any of them.
    fn sync(&self) -> io::Result<()>;
}

/// Who may share a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// One writer and nobody else.
    Exclusive,
    /// Any number of readers.
    Shared,
}

/// What asking for a lock gave.
pub enum Locked {
    Taken(LockGuard),
    /// Another process has it; the text is what it said of itself.
    Held(String),
}

/// Holds a lock until dropped.
pub struct LockGuard(pub Box<dyn std::any::Any + Send + Sync>);

/// Writes all of `parts` at `offset`, going on after short writes.
pub fn write_all_at(file: &dyn DiskFile, mut parts: &mut [IoSlice<'_>], mut offset: u64) -> io::Result<()> {
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        match file.write_at(parts, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                offset += written as u64;
                IoSlice::advance_slices(&mut parts, written);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Replaces the file at `dir/name` by `bytes`: written aside, synced, renamed, directory synced, in this order.
pub fn replace_file(disk: &dyn Disk, dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let aside = dir.join(format!("{name}{}", super::files::UNFINISHED));
    let file = disk.create(&aside, 0)?;
    write_all_at(&*file, &mut [IoSlice::new(bytes)], 0)?;
    file.sync()?;
    disk.rename(&aside, &dir.join(name))?;
    disk.sync_dir(dir)
}

/// Reads a whole file.
pub fn read_file(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let file = disk.open(path)?;
    let mut bytes = vec![0; usize::try_from(file.len()?).map_err(io::Error::other)?];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// A file of which bytes that cannot be read are zeros, so that a bad place of the disk costs what lies in it and no more.
pub struct Tolerant(pub Arc<dyn DiskFile>);

impl Tolerant {
    /// What a disk fails to read as a unit.
    const UNIT: usize = 4096;
}

impl DiskFile for Tolerant {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self.0.read_at(buffer, offset) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {}
            other => return other,
        }
        // In units of the file, not of what was asked for.
        let first = Self::UNIT - offset as usize % Self::UNIT;
        let (head, rest) = buffer.split_at_mut(first.min(buffer.len()));
        let mut at = offset;
        for unit in std::iter::once(head).chain(rest.chunks_mut(Self::UNIT)) {
            if self.0.read_at(unit, at).is_err() {
                unit.fill(0);
            }
            at += unit.len() as u64;
        }
        Ok(())
    }

    fn write_at(&self, _: &[IoSlice<'_>], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Reads a whole file; bytes that cannot be read are zeros.
pub fn read_file_tolerant(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let file = Tolerant(disk.open(path)?);
    let mut bytes = vec![0; usize::try_from(file.len()?).map_err(io::Error::other)?];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// The operating system's files.
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    fn create(&self, path: &Path, size: u64) -> io::Result<Arc<dyn DiskFile>> {
        let file = fs::File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        if size > 0 {
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size)?;
        }
        Ok(Arc::new(SystemFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = match fs::File::options().read(true).write(true).open(path) {
            // A directory that may only be read can still be looked into.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => fs::File::open(path)?,
            other => other?,
        };
        Ok(Arc::new(SystemFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Locked> {
        let file = match mode {
            LockMode::Exclusive => {
                fs::File::options().read(true).write(true).create(true).truncate(false).open(path)?
            }
            LockMode::Shared => fs::File::open(path)?,
        };
        let taken = match mode {
            LockMode::Exclusive => file.try_lock(),
            LockMode::Shared => file.try_lock_shared(),
        };
        match taken {
            Ok(()) => {
                if mode == LockMode::Exclusive {
                    say_who(&file)?;
                }
                Ok(Locked::Taken(LockGuard(Box::new(file))))
            }
            Err(fs::TryLockError::WouldBlock) => Ok(Locked::Held(fs::read_to_string(path)?)),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Writes into a lock's file who holds it. The lock is the kernel's and goes with the process; this is for people.
fn say_who(file: &fs::File) -> io::Result<()> {
    let who = format!("process {}", std::process::id());
    file.set_len(0)?;
    file.write_all_at(who.as_bytes(), 0)
}

struct SystemFile(fs::File);

impl DiskFile for SystemFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&self, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        // More parts than one call takes are a short write.
        let parts = parts.get(..parts.len().min(1024)).unwrap_or_default();
        Ok(rustix::io::pwritev(&self.0, parts, offset)?)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
