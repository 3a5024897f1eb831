//! Reading traces back, without knowing how they are stored.

use super::BoxFuture;
use crate::model::{Trace, TraceId};
use thiserror::Error;

/// Why a read gave no answer.
#[derive(Debug, Clone, Error)]
pub enum ReadError {
    /// Not before the store is open, and no longer once it is closed.
    #[error("the store is not open: it is starting or stopping")]
    NotOpen,
    /// Part of what was asked for cannot be read; the text names file and offset.
    #[error("{0}")]
    Damaged(String),
    #[error("{0}")]
    Failed(String),
}

/// Reads from one consistent snapshot a call.
pub trait TraceReader: Send + Sync {
    /// Every span of a trace, duplicates collapsed, ordered by start time and span id; `None` where nothing of it is stored.
    fn get_trace(&self, id: TraceId) -> BoxFuture<'_, Result<Option<Trace>, ReadError>>;
}
