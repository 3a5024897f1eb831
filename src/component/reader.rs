//! Reading traces back, without knowing how they are stored.

use super::BoxFuture;
use crate::model::{Answer, Operation, Trace, TraceId, TraceQuery, TraceSummary};
use std::time::Instant;
use thiserror::Error;

/// Why a read gave no answer.
#[derive(Debug, Clone, Error)]
pub enum ReadError {
    /// Not before the store is open, and no longer once it is closed.
    #[error("the store is not open: it is starting or stopping")]
    NotOpen,
    /// The time that was given is over; nothing of the read goes on.
    #[error("the time for this read is over")]
    TimedOut,
    /// Part of what was asked for cannot be read yet; the text says why.
    #[error("{0}")]
    NotYet(String),
    /// Part of what was asked for cannot be read; the text names file and offset.
    #[error("{0}")]
    Damaged(String),
    #[error("{0}")]
    Failed(String),
}

/// What a read will give.
pub type Read<'a, T> = BoxFuture<'a, Result<T, ReadError>>;

fn unsearchable<'a, T: Send + 'a>() -> Read<'a, T> {
    Box::pin(std::future::ready(Err(ReadError::Failed("this store cannot be searched".into()))))
}

/// Reads from one consistent snapshot a call, and ends by itself soon after `until`. Where part of what is stored cannot
/// be read, the rest is the answer and its warnings say what is missing.
/// A store that can only be read by id leaves the rest as it is here.
pub trait TraceReader: Send + Sync {
    /// Every span of a trace, duplicates collapsed, ordered by start time and span id; `None` where nothing of it is stored.
    fn get_trace(&self, id: TraceId, until: Instant) -> Read<'_, Option<Trace>>;

    /// The traces that match, in short, in the order asked for.
    fn find(&self, _: TraceQuery, _: Instant) -> Read<'_, Answer<Vec<TraceSummary>>> {
        unsearchable()
    }

    /// The same traces with all their spans.
    fn find_traces(&self, _: TraceQuery, _: Instant) -> Read<'_, Answer<Vec<Trace>>> {
        unsearchable()
    }

    /// Every service that has spans, sorted, each once.
    fn services(&self, _: Instant) -> Read<'_, Answer<Vec<String>>> {
        unsearchable()
    }

    /// What the spans of a service are called, sorted, each once.
    fn operations(&self, _: String, _: Instant) -> Read<'_, Answer<Vec<Operation>>> {
        unsearchable()
    }
}
