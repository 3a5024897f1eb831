//! A trace in short.

use super::matching::SpanRef;
use crate::model::{Trace, TraceId, TraceSummary};
use crate::storage::segment::Facts;
use std::collections::BTreeSet;

/// OTLP status code of an error.
const ERROR: i32 = 2;

/// What the spans of a trace come to.
pub fn summary_of(trace: &Trace) -> TraceSummary {
    summary_of_rows(trace.id, trace.spans.iter().map(SpanRef::from))
}

/// The same of the rows of a trace, collapsed and in order.
pub fn summary_of_rows<'a>(id: TraceId, rows: impl Iterator<Item = SpanRef<'a>>) -> TraceSummary {
    let mut summary = TraceSummary { id, start: u64::MAX, ..TraceSummary::default() };
    let (mut services, mut root): (_, Option<SpanRef<'_>>) = (BTreeSet::new(), None);
    for span in rows {
        let row = span.row;
        (summary.start, summary.end) = (summary.start.min(row.start), summary.end.max(row.end));
        summary.spans += 1;
        summary.errors += u64::from(row.status == ERROR);
        services.insert(span.service());
        if !row.parent.is_valid() && root.is_none() {
            root = Some(span);
        }
    }
    summary.start = if summary.spans == 0 { 0 } else { summary.start };
    summary.services = services.into_iter().map(str::to_owned).collect();
    summary.root_service = root.map_or_else(String::new, |root| root.service().to_owned());
    summary.root_name = root.map_or_else(String::new, |root| root.name().to_owned());
    summary
}

/// The same of a trace that is in one segment alone, from its directory.
pub fn summary_of_facts(id: TraceId, facts: &Facts) -> TraceSummary {
    TraceSummary {
        id,
        root_service: facts.root_service.clone(),
        root_name: facts.root_name.clone(),
        start: facts.min_start,
        end: facts.max_end,
        spans: facts.rows.into(),
        errors: facts.errors.into(),
        services: facts.services.clone(),
    }
}
