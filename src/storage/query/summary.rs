//! A trace in short.

use super::matching::SpanRef;
use crate::model::{Trace, TraceId, TraceSummary};
use crate::storage::segment::Facts;
use std::collections::BTreeSet;

/// What the spans of a trace come to.
pub fn summary_of(trace: &Trace) -> TraceSummary {
    let spans = || trace.spans.iter().map(SpanRef::from);
    let services: BTreeSet<_> = spans().map(|span| span.service()).collect();
    let mut summary = TraceSummary {
        id: trace.id,
        start: spans().map(|span| span.row.start).min().unwrap_or_default(),
        end: spans().map(|span| span.row.end).max().unwrap_or_default(),
        spans: trace.spans.len() as u64,
        errors: spans().filter(|span| span.row.status == 2).count() as u64,
        services: services.into_iter().map(str::to_owned).collect(),
        ..TraceSummary::default()
    };
    let parentless = spans().filter(|span| !span.row.parent.is_valid());
    if let Some(root) = parentless.min_by_key(|span| (span.row.start, span.row.span_id)) {
        summary.root_service = root.service().to_owned();
        summary.root_name = root.name().to_owned();
    }
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
