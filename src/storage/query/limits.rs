//! What a read may take.

use std::time::Instant;
use thiserror::Error;

/// Ends a read that takes too long or too much.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// When it ends.
    pub until: Option<Instant>,
    /// Most bytes of spans it holds at once.
    pub bytes: usize,
}

/// Why a read was ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Stopped {
    #[error("the time for this read is over")]
    TimedOut,
    #[error(
        "more than {0} bytes of spans would have to be held: query.max_size of the storage exporter is reached; ask for less at once, or raise it"
    )]
    TooLarge(usize),
}

impl Limits {
    /// As long as it takes, and as much: for commands, which nobody waits for in line.
    pub const NONE: Self = Self { until: None, bytes: usize::MAX };

    /// Every loop of a read asks this for each page, block or trace, so that a read and what it pins end soon after.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.until.is_some_and(|until| Instant::now() > until) { Err(Stopped::TimedOut) } else { Ok(()) }
    }
}
