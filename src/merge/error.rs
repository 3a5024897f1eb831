//! Why a merge came to nothing. Its inputs are live as before, whatever it was.

use crate::storage::StorageError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum MergeError {
    /// An input cannot be read. It is left out of merges from now on.
    #[error("segment {id} cannot be merged: {error}")]
    Damaged { id: u64, error: StorageError },
    /// Outputs or the manifest could not be written. It can be tried again.
    #[error("{0}")]
    Failed(#[from] StorageError),
    /// What was written is not what was read. Trying again would do the same.
    #[error("the ledger does not add up: {0}")]
    Ledger(String),
    /// No planned merge has as much free disk space as its inputs take.
    #[error("the next merge needs {0} bytes of free disk space beyond the reserve")]
    NoRoom(u64),
    /// The store is closing, or an input expired.
    #[error("stopped before its end")]
    Stopped,
}
