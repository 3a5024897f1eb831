//! Where the time goes: wall time and runs of each stage of the pipeline.

use super::names;
use metrics::{Counter, counter};
use std::time::{Duration, Instant};

/// The counters of one stage, looked up once.
#[derive(Clone)]
pub struct Meter {
    nanos: Counter,
    runs: Counter,
}

impl Meter {
    /// The name becomes a label, so it is one of a few.
    pub fn new(stage: &'static str) -> Self {
        let nanos = counter!(names::STAGE_NANOS.name, "stage" => stage);
        Self { nanos, runs: counter!(names::STAGE_RUNS.name, "stage" => stage) }
    }

    /// Counts one run that was timed elsewhere.
    pub fn record(&self, took: Duration) {
        self.nanos.increment(took.as_nanos().try_into().unwrap_or(u64::MAX));
        self.runs.increment(1);
    }

    /// Begins a run.
    pub fn start(&self) -> Stage {
        Stage { meter: self.clone(), began: Instant::now() }
    }
}

/// A stage that is running; its time is counted when this is dropped.
#[must_use = "a stage ends when this is dropped"]
pub struct Stage {
    meter: Meter,
    began: Instant,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.meter.record(self.began.elapsed());
    }
}

/// Begins a stage that does not run often enough to keep a [`Meter`].
pub fn stage(name: &'static str) -> Stage {
    Meter::new(name).start()
}

/// Counts one run of a stage that was timed elsewhere.
pub fn record(name: &'static str, took: Duration) {
    Meter::new(name).record(took);
}
