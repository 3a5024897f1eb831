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
    /// A new file of `size` bytes that read as zero and whose room on disk is taken; what had the name before is gone. Where
    /// there is no such room nothing is left behind.
    fn create(&self, path: &Path, size: u64) -> io::Result<Arc<dyn DiskFile>>;
    /// An existing file, for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;
    /// Gives a file another name, replacing what had it, in one step.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Bytes that can still be written to files in this directory.
    fn free(&self, dir: &Path) -> io::Result<u64>;
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
        if size > 0
            && let Err(error) = self.allocate(&file, path, size)
        {
            // Most often it is there and empty; otherwise there is nothing to remove.
            let _ = fs::remove_file(path);
            return Err(error);
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

    fn free(&self, dir: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(dir)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
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
                    // A full disk may have no room for the words. The lock is held without them.
                    let _ = say_who(&file);
                }
                Ok(Locked::Taken(LockGuard(Box::new(file))))
            }
            Err(fs::TryLockError::WouldBlock) => Ok(Locked::Held(who(path)?)),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

impl SystemDisk {
    /// Takes room for a file. Looks first: an allocation that fails may have taken all that was left, for a moment in which a
    /// seal needs it.
    fn allocate(&self, file: &fs::File, path: &Path, size: u64) -> io::Result<()> {
        if self.free(path.parent().unwrap_or(path))? < size {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, size)?)
    }
}

/// What the holder of a lock said of itself.
fn who(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    Ok(if text.is_empty() { "another process".into() } else { text })
}

/// Writes into a lock's file who holds it. The lock is the kernel's and goes with the process; this is for people.
fn say_who(file: &fs::File) -> io::Result<()> {
    let who = format!("process {}", std::process::id());
    // In this order: bytes that are there already need no room.
    file.write_all_at(who.as_bytes(), 0)?;
    file.set_len(who.len() as u64)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_there_is_no_room_for_is_an_error_and_leaves_nothing_behind() {
        let scratch = tempfile::tempdir().unwrap();
        let free = SystemDisk.free(scratch.path()).unwrap();
        assert!(free > 0);
        let path = scratch.path().join("large");
        let Err(error) = SystemDisk.create(&path, free * 2) else { panic!("a file larger than the disk") };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(!path.exists());
    }

    #[test]
    fn a_lock_says_who_holds_it_whoever_held_it_before() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("LOCK");
        fs::write(&path, "process 4294967295 or so").unwrap();
        let Ok(Locked::Taken(_guard)) = SystemDisk.lock(&path, LockMode::Exclusive) else { panic!("not taken") };
        let Ok(Locked::Held(holder)) = SystemDisk.lock(&path, LockMode::Exclusive) else { panic!("taken twice") };
        assert_eq!(holder, format!("process {}", std::process::id()));
    }
}
