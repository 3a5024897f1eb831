//! A real file system of a limited size, mounted for one test.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Mounted until dropped.
pub struct SmallFs {
    /// Where it is mounted.
    pub root: PathBuf,
    /// What it is: a file system in a file, or in memory.
    pub kind: &'static str,
    _scratch: TempDir,
}

impl SmallFs {
    /// `None`, with a word about it, where nothing can be mounted.
    pub fn new(mib: u64) -> Option<Self> {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("mounted");
        fs::create_dir(&root).unwrap();
        let image = scratch.path().join("image");
        File::create(&image).unwrap().set_len(mib << 20).unwrap();
        let [image, at] = [&image, &root].map(|path| path.to_str().unwrap());
        // Nothing is set aside for root: the daemon may be root.
        let kind = if run("mkfs.ext4", &["-q", "-F", "-m", "0", image]) && run("mount", &["-o", "loop", image, at]) {
            "ext4 in a file"
        } else if run("mount", &["-t", "tmpfs", "-o", &format!("size={mib}m"), "none", at]) {
            "tmpfs"
        } else {
            eprintln!("skipped: a file system of {mib} MiB cannot be mounted here, which takes root");
            return None;
        };
        Some(Self { root, kind, _scratch: scratch })
    }

    /// Bytes that can still be written.
    pub fn free(&self) -> u64 {
        let stat = rustix::fs::statvfs(&self.root).unwrap();
        stat.f_bavail * stat.f_frsize
    }

    /// Writes a file of another program that leaves so many bytes free, to the last byte for 0.
    pub fn fill(&self, leave: u64) -> PathBuf {
        let path = self.root.join("foreign");
        let file = File::create(&path).unwrap();
        let size = self.free().saturating_sub(leave);
        // What the daemon writes meanwhile may make it too much.
        let _ = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size.max(1));
        if leave == 0 {
            let mut end = File::options().append(true).open(&path).unwrap();
            while end.write_all(&[0; 4096]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallFs {
    fn drop(&mut self) {
        // Lazily, for a daemon that a failed test has left may still be in it.
        run("umount", &["-l", self.root.to_str().unwrap()]);
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    let command = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    command.is_ok_and(|status| status.success())
}
