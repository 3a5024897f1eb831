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
    #[error("{}: written by an older version (format {found}, this one knows {known}); use that version", path.display())]
    OlderFormat { path: PathBuf, found: u32, known: u32 },
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

    /// For a file of another version than the one this program reads and writes.
    pub fn format(path: PathBuf, found: u32, known: u32) -> Self {
        if found > known { Self::NewerFormat { path, found, known } } else { Self::OlderFormat { path, found, known } }
    }

    pub fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), offset, what: what.into() }
    }

    /// For a part of a file, starting at `offset`, that passed its checksum and still cannot be read.
    pub fn malformed(path: &Path, offset: u64) -> impl FnOnce(Malformed) -> Self {
        move |Malformed(at)| Self::damaged(path, offset + at as u64, "malformed")
    }
}

/// Why a batch was not taken, or is not known to be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AppendError {
    /// Not now; nothing of it is stored.
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
