//! Where the time goes: wall time and runs of each stage of the pipeline.

use super::names;
use std::time::{Duration, Instant};

/// A stage that is running; its time is counted when this is dropped.
#[must_use = "a stage ends when this is dropped"]
pub struct Stage {
    name: &'static str,
    began: Instant,
}

/// Begins a stage. Its name becomes a label, so it is one of a few.
pub fn stage(name: &'static str) -> Stage {
    Stage { name, began: Instant::now() }
}

/// Counts one run of a stage that was timed elsewhere.
pub fn record(name: &'static str, took: Duration) {
    let nanos = took.as_nanos().try_into().unwrap_or(u64::MAX);
    metrics::counter!(names::STAGE_NANOS.name, "stage" => name).increment(nanos);
    metrics::counter!(names::STAGE_RUNS.name, "stage" => name).increment(1);
}

impl Drop for Stage {
    fn drop(&mut self) {
        record(self.name, self.began.elapsed());
    }
}
