//! Why a batch was not taken, and who should act.

use std::time::Duration;
use thiserror::Error;

/// The one error between nodes. Receivers turn it into their protocol's words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Rejection {
    /// The same batch will get the same answer: never retry.
    #[error("{0}")]
    Invalid(String),
    /// Not now: retry after the delay. Nothing of the batch was stored, unless the reason says that it was and that a
    /// retry is harmless.
    #[error("{reason}")]
    Busy { reason: String, retry_after: Duration },
    /// The pipeline is shutting down: retry elsewhere or later. Nothing of the batch was stored.
    #[error("shutting down")]
    Closed,
    /// Whether the batch is stored cannot be said. A receiver must give no answer and close the connection:
    /// any answer would be a promise (design, "Order").
    #[error("outcome unknown: {0}")]
    Unknown(String),
}

impl Rejection {
    /// `Busy` with the delay a sender is asked to wait when nothing better is known.
    pub fn busy(reason: impl Into<String>) -> Self {
        Self::Busy { reason: reason.into(), retry_after: Duration::from_secs(1) }
    }
}
