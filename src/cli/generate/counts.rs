//! What was made and what became of it, counted while it happens.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Written by the source and the connections, read by the progress bar.
#[derive(Debug, Default)]
pub struct Counts {
    pub traces_made: Count,
    pub spans_made: Count,
    /// Spans that were answered with success.
    pub spans: Count,
    pub requests: Count,
    /// Bytes of these requests.
    pub bytes: Count,
    /// Answers that asked to send the same request again.
    pub refused: Count,
    /// Spans that were refused for good by answers to requests otherwise taken.
    pub rejected: Count,
    /// The first words of such an answer, or of one that had something else to say.
    pub words: OnceLock<String>,
}

#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
