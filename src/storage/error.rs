//! What can go wrong in the store, and where.

use super::codec::Malformed;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A failure of the store as a whole or of one of its files.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StorageError {
    #[error("{}: {what}: {error}", path.display())]
    Io { path: PathBuf, what: &'static str, error: io::Error },
    /// Bytes that are not what was written. They are left as they are.
    #[error("{}: damaged at byte {offset}: {what}", path.display())]
    Damaged { path: PathBuf, offset: u64, what: String },
    #[error("{}: written by a newer version (format {found}, this one knows {known}); use that version", path.display())]
    NewerFormat { path: PathBuf, found: u32, known: u32 },
    #[error("{}: in use by {holder}; stop it first, or name another directory", path.display())]
    Locked { path: PathBuf, holder: String },
    #[error("{}: no store here", path.display())]
    Missing { path: PathBuf },
    #[error("{0}")]
    Refused(String),
}

impl StorageError {
    pub fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { path: path.to_owned(), what, error }
    }

    /// Whether there is no room on the disk.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Io { error, .. } if is_full(error))
    }

    pub fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), offset, what: what.into() }
    }

    /// For a part of a file, starting at `offset`, that passed its checksum and still cannot be read.
    pub fn malformed(path: &Path, offset: u64) -> impl FnOnce(Malformed) -> Self {
        move |Malformed(at)| Self::damaged(path, offset + at as u64, "malformed")
    }
}

/// Whether an operation failed because there is no room on the disk, or none for this user.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Why a batch was not taken, or is not known to be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AppendError {
    /// There is no room for it now; nothing of it is stored.
    #[error("{0}")]
    NoRoom(NoRoom),
    /// The log cannot take it now; nothing of it is stored.
    #[error("{0}")]
    Full(String),
    /// It can never fit; nothing of it is stored.
    #[error("{0}")]
    TooLarge(String),
    /// The store is closed or closing; nothing of it is stored.
    #[error("the store is closed")]
    Closed,
    /// It is durable in the log and readable, but not in a segment, which is what its sender was promised.
    #[error("in the log, not yet sealed; resending is harmless")]
    NotSealed,
    /// It may or may not be found after a start.
    #[error("{0}")]
    Unknown(String),
}

/// What there is no room in, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoRoom {
    #[error("the disk has {} free, and disk.reserve keeps {} of it for seals", Mib(*free), Mib(*reserve))]
    Disk { free: u64, reserve: u64 },
    #[error("the log is being replayed: {left} batches are still to be read, as seals make room")]
    Replaying { left: u64 },
    #[error("wal.max_size ({}) is reached; waiting for a seal", Mib(*max))]
    Log { max: u64 },
    #[error("no log file can be made, most likely because the disk is full; it is tried again")]
    LogFile,
    #[error("memtable.max_total ({}) is reached; waiting for a seal", Mib(*max))]
    Memory { max: u64 },
}

impl NoRoom {
    /// What metrics call it.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Disk { .. } => "disk_reserve",
            Self::Replaying { .. } => "replaying",
            Self::Log { .. } => "log_full",
            Self::LogFile => "no_log_file",
            Self::Memory { .. } => "memory_full",
        }
    }
}

/// Bytes as people read them in a message.
pub struct Mib(pub u64);

impl std::fmt::Display for Mib {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            bytes @ 0..1_048_576 => write!(f, "{bytes} bytes"),
            bytes => write!(f, "{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
        }
    }
}
