//! How much a snapshot holds.

use super::Traces;
use crate::model::time::Nanos;
use crate::storage::Snapshot;

/// Totals of a snapshot. Duplicates and fragments are counted as readers see them: once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    pub segments: u64,
    /// Segments with traces that have no verdict.
    pub unjudged_segments: u64,
    /// Deliveries not yet in a segment, duplicates included.
    pub memtable_spans: u64,
    /// Deliveries that cannot be in a segment, and the bytes of their files.
    pub set_aside_spans: u64,
    pub set_aside_bytes: u64,
    pub spans: u64,
    pub traces: u64,
    /// Bytes of the segments' files.
    pub segment_bytes: u64,
    /// Least start and greatest end; `None` where there are no spans.
    pub times: Option<(Nanos, Nanos)>,
    /// What could not be read and is not counted.
    pub warnings: Vec<String>,
}

/// Counts what a snapshot holds. Reads all directories, and the blocks of traces that have several fragments.
pub fn summarize(snapshot: &Snapshot) -> Summary {
    let mut summary = Summary {
        segments: snapshot.segments.len() as u64,
        unjudged_segments: snapshot.segments.iter().filter(|segment| segment.footer().unjudged > 0).count() as u64,
        memtable_spans: snapshot.memtable_spans(),
        set_aside_spans: snapshot.set_aside.iter().map(|set_aside| set_aside.file.rows).sum(),
        set_aside_bytes: snapshot.set_aside.iter().map(|set_aside| set_aside.file.bytes).sum(),
        segment_bytes: snapshot.segments.iter().map(|segment| segment.size()).sum(),
        ..Summary::default()
    };
    let mut traces = Traces::new(snapshot);
    while let Some(fragments) = traces.next_fragments() {
        let in_memory = fragments.memory.as_ref().is_some_and(|rows| !rows.is_empty());
        match (fragments.segments.as_slice(), in_memory) {
            ([(_, entry)], false) => summary.add(entry.facts.rows.into(), (entry.facts.min_start, entry.facts.max_end)),
            _ => {
                let trace = traces.assemble(&fragments);
                let start = trace.spans.iter().map(|span| span.row.start).min();
                let end = trace.spans.iter().map(|span| span.row.end).max();
                summary.add(trace.spans.len() as u64, (start.unwrap_or(Nanos::MAX), end.unwrap_or(0)));
                summary.warnings.extend(trace.warnings);
            }
        }
    }
    summary.warnings.append(&mut traces.warnings);
    summary
}

impl Summary {
    fn add(&mut self, spans: u64, times: (Nanos, Nanos)) {
        if spans == 0 {
            return;
        }
        let (start, end) = self.times.unwrap_or(times);
        self.times = Some((start.min(times.0), end.max(times.1)));
        self.spans += spans;
        self.traces += 1;
    }
}
