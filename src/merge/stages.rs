//! Where a merge's time goes: one clock reading ends a stage and begins the next, so that together they are the whole.

use std::time::{Duration, Instant};

/// What a merge does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading and unpacking inputs.
    Read,
    /// Putting traces together and cutting them into columns.
    Assemble,
    /// Packing blocks and pages and writing them.
    Write,
    Sync,
    /// Naming outputs in the place of inputs.
    Publish,
}

/// All stages in order, as the `stage` label of `sluice_stage_nanoseconds_total` has them.
pub const STAGES: [(Stage, &str); 5] = [
    (Stage::Read, "merge_read"),
    (Stage::Assemble, "merge_assemble"),
    (Stage::Write, "merge_write"),
    (Stage::Sync, "merge_sync"),
    (Stage::Publish, "merge_publish"),
];

/// The time of each stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stages([Duration; STAGES.len()]);

impl Stages {
    pub fn of(&self, stage: Stage) -> Duration {
        self.0.get(stage as usize).copied().unwrap_or_default()
    }

    /// The whole.
    pub fn sum(&self) -> Duration {
        self.0.iter().sum()
    }
}

/// Runs from the beginning of a merge to its end, always in one stage.
pub struct Stopwatch {
    began: Instant,
    since: Instant,
    stage: Stage,
    stages: Stages,
}

impl Stopwatch {
    pub fn start(stage: Stage) -> Self {
        let began = Instant::now();
        Self { began, since: began, stage, stages: Stages::default() }
    }

    /// Begins a stage, and says which one that ended.
    pub fn enter(&mut self, stage: Stage) -> Stage {
        let now = Instant::now();
        if let Some(total) = self.stages.0.get_mut(self.stage as usize) {
            *total += now - self.since;
        }
        self.since = now;
        std::mem::replace(&mut self.stage, stage)
    }

    /// The time of each stage, and from the first reading to the last.
    pub fn stop(mut self) -> (Stages, Duration) {
        self.enter(self.stage);
        (self.stages, self.since - self.began)
    }
}
