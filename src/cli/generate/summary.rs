//! What was sent, at the end.

use super::counts::Counts;
use super::endpoint;
use crate::model::TraceId;
use indicatif::HumanCount;
use serde::Serialize;
use std::time::Duration;

/// Where the built-in configuration is asked for traces.
const LOOK: &str = "http://127.0.0.1:16686/api/traces";

/// Names here are an interface.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub traces: u64,
    /// Spans that were taken.
    pub spans: u64,
    pub requests: u64,
    /// Answers that asked to send a request again.
    pub refused: u64,
    /// Spans that were refused for good.
    pub rejected_spans: u64,
    /// Of requests that were taken.
    pub bytes: u64,
    pub seconds: f64,
    pub spans_per_second: f64,
    pub seed: u64,
    pub example_trace: Option<String>,
    /// Where to look at it; null where that is not known.
    pub example_url: Option<String>,
}

impl Summary {
    /// `base`: where it was sent; `None` for a file.
    pub fn new(counts: &Counts, took: Duration, seed: u64, example: Option<TraceId>, base: Option<&str>) -> Self {
        let seconds = took.as_secs_f64();
        let known = example.filter(|_| base == Some(endpoint::DEFAULT));
        Self {
            traces: counts.traces_made.get(),
            spans: counts.spans.get(),
            requests: counts.requests.get(),
            refused: counts.refused.get(),
            rejected_spans: counts.rejected.get(),
            bytes: counts.bytes.get(),
            seconds,
            spans_per_second: (counts.spans.get() as f64 / seconds.max(0.001)).round(),
            seed,
            example_trace: example.map(|id| id.to_string()),
            example_url: known.map(|id| format!("{LOOK}/{id}")),
        }
    }

    pub fn table(&self) -> String {
        let count = |number: u64| HumanCount(number).to_string();
        let mut rows = vec![
            ("traces", count(self.traces)),
            ("spans", count(self.spans)),
            ("requests", count(self.requests)),
            ("refused", format!("{} (sent again)", count(self.refused))),
            ("rejected spans", count(self.rejected_spans)),
            ("bytes", count(self.bytes)),
            ("seconds", format!("{:.1}", self.seconds)),
            ("spans/s", count(self.spans_per_second as u64)),
            ("seed", self.seed.to_string()),
        ];
        rows.extend(self.example_trace.clone().map(|id| ("example trace", id)));
        rows.extend(self.example_url.clone().map(|url| ("look at it", format!("curl '{url}?prettyPrint=true'"))));
        rows.iter().map(|(name, value)| format!("{name:<16} {value}\n")).collect()
    }
}
