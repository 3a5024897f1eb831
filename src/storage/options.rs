//! What a store is opened with.

use std::path::PathBuf;
use std::time::Duration;

/// Plain values; the exporter's configuration gives them names, units and defaults.
#[derive(Debug, Clone)]
pub struct Options {
    pub directory: PathBuf,
    /// What metrics call this store: the exporter's id.
    pub name: String,
    pub durability: Durability,
    pub wal: WalOptions,
    /// Most bytes of answered batches not yet in a segment, with their heads.
    pub memtable_max: usize,
    pub seal: SealOptions,
    /// Bytes of a block before compression; a block is closed at the first run that reaches it.
    pub block_size: usize,
}

/// What a batch must be before its sender hears `Ok`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Synced to the log.
    Wal,
    /// Written to the log, which is synced at least this often: survives a kill, and a power cut after the sync.
    Buffered { sync: Duration },
    /// In a named segment. A sender that has waited this long hears that its batch is in the log only.
    Sealed { timeout: Duration },
}

#[derive(Debug, Clone)]
pub struct WalOptions {
    /// Most bytes of all log files together.
    pub max_size: u64,
    /// Bytes of one log file.
    pub file_size: u64,
    /// How long a commit waits for company.
    pub commit_window: Duration,
}

#[derive(Debug, Clone)]
pub struct SealOptions {
    /// Threads that seal, at least one.
    pub workers: usize,
    /// Bytes of batches that fill a memtable.
    pub max_size: usize,
    /// Spans that fill a memtable; 0 for no such limit.
    pub max_spans: usize,
    /// How old a batch may get in an unsealed memtable.
    pub max_age: Duration,
}

impl Options {
    /// The defaults of the configuration, for this directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            name: "storage".into(),
            durability: Durability::Wal,
            wal: WalOptions { max_size: 1 << 30, file_size: 64 << 20, commit_window: Duration::ZERO },
            memtable_max: 128 << 20,
            seal: SealOptions { workers: 2, max_size: 32 << 20, max_spans: 0, max_age: Duration::from_secs(30) },
            block_size: 128 << 10,
        }
    }

    /// Bytes at which a memtable is frozen: what was asked for, but early enough that neither the log nor the
    /// memory is full while it is being sealed.
    pub fn freeze_at(&self) -> usize {
        let of_log = usize::try_from(self.wal.max_size / 4).unwrap_or(usize::MAX);
        self.seal.max_size.min(of_log).min(self.memtable_max / 4)
    }
}
