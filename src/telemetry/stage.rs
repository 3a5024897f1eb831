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

/// A stretch of time cut into stages: each begins at the clock reading that ended the one before, so that together they
/// are the whole, exactly.
#[derive(Clone)]
pub struct Laps {
    began: Instant,
    last: Instant,
}

impl Laps {
    /// A stretch that began then.
    pub fn since(began: Instant) -> Self {
        Self { began, last: began }
    }

    /// Ends a stage now.
    pub fn end(&mut self, stage: &'static str) {
        self.end_at(stage, Instant::now());
    }

    /// Ends a stage at a reading taken elsewhere; one before the last is taken for that.
    pub fn end_at(&mut self, stage: &'static str, at: Instant) {
        let at = at.max(self.last);
        record(stage, at - self.last);
        self.last = at;
    }

    /// Ends the stretch where its last stage ended, and counts it as a stage of its own.
    pub fn whole(self, stage: &'static str) {
        record(stage, self.last - self.began);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics_exporter_prometheus::PrometheusBuilder;

    #[test]
    fn the_stages_of_a_stretch_add_up_to_it_exactly() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        let began = Instant::now();
        metrics::with_local_recorder(&recorder, || {
            let mut laps = Laps::since(began);
            laps.end("first");
            laps.end_at("second", began + Duration::from_secs(5));
            // A reading from before the last one, as another thread may take it.
            laps.end_at("third", began);
            laps.end("fourth");
            laps.whole("all");
        });
        let page = handle.render();
        let nanos = |stage: &str| {
            let line = page.lines().find(|line| line.starts_with(names::STAGE_NANOS.name) && line.contains(stage));
            line.and_then(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).unwrap()
        };
        assert_eq!(["first", "second", "third", "fourth"].map(nanos).iter().sum::<u64>(), nanos("\"all\""));
        assert!(nanos("\"all\"") >= 5_000_000_000);
    }
}
