//! What a merge did.

use super::stages::{STAGES, Stages};
use crate::storage::segment::Segment;
use crate::telemetry::{self, names};
use std::sync::Arc;
use std::time::Duration;

/// Counts of one merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Ids.
    pub inputs: Vec<u64>,
    pub outputs: Vec<u64>,
    /// Rows and traces written.
    pub rows: u64,
    pub traces: u64,
    /// Rows left out as an earlier delivery of one that is there.
    pub collapsed: u64,
    /// Bytes of the files.
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub stages: Stages,
    pub wall: Duration,
}

impl Report {
    pub(super) fn of(
        inputs: &[Arc<Segment>],
        outputs: &[Arc<Segment>],
        collapsed: u64,
        (stages, wall): (Stages, Duration),
    ) -> Self {
        let ids = |segments: &[Arc<Segment>]| segments.iter().map(|segment| segment.footer().id).collect();
        let bytes = |segments: &[Arc<Segment>]| segments.iter().map(|segment| segment.size()).sum();
        Self {
            inputs: ids(inputs),
            outputs: ids(outputs),
            rows: outputs.iter().map(|segment| segment.footer().rows).sum(),
            traces: outputs.iter().map(|segment| segment.footer().traces).sum(),
            collapsed,
            bytes_in: bytes(inputs),
            bytes_out: bytes(outputs),
            stages,
            wall,
        }
    }

    /// Counts it in the metrics of this store.
    pub(super) fn record(&self, exporter: &str) {
        let name = || exporter.to_owned();
        metrics::counter!(names::STORE_MERGES.name, "exporter" => name()).increment(1);
        for (kind, rows) in [("written", self.rows), ("collapsed", self.collapsed)] {
            metrics::counter!(names::STORE_MERGED_ROWS.name, "exporter" => name(), "kind" => kind).increment(rows);
        }
        for (kind, bytes) in [("read", self.bytes_in), ("written", self.bytes_out)] {
            metrics::counter!(names::STORE_MERGED_BYTES.name, "exporter" => name(), "kind" => kind).increment(bytes);
        }
        STAGES.iter().for_each(|(stage, label)| telemetry::record(label, self.stages.of(*stage)));
        telemetry::record("merge", self.wall);
    }
}
