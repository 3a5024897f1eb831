//! Searching a snapshot.

use super::Traces;
use super::matching::matches;
use crate::model::wire::{fields::SPAN_NAME, read};
use crate::model::{Answer, Operation, Order, Trace, TraceQuery, TraceSummary};
use crate::storage::Snapshot;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Instant;

/// The time for a read is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedOut;

impl Snapshot {
    /// The traces that match, in the order asked for.
    pub fn find(&self, query: &TraceQuery, until: Instant) -> Result<Answer<Vec<Trace>>, TimedOut> {
        let mut answer = self.select(until, |trace| trace.spans.iter().any(|span| matches(query, span)))?;
        let key = |trace: &Trace| {
            let TraceSummary { start, end, .. } = summary_of(trace);
            match query.order {
                Order::NewestFirst => Reverse(start),
                Order::SlowestFirst => Reverse(end.saturating_sub(start)),
            }
        };
        answer.found.sort_by_cached_key(|trace| (key(trace), trace.id));
        answer.found.truncate(query.limit);
        Ok(answer)
    }

    /// Every service that has spans, sorted.
    pub fn services(&self, until: Instant) -> Result<Answer<Vec<String>>, TimedOut> {
        let Answer { found, warnings } = self.select(until, |_| true)?;
        let services: BTreeSet<_> = found.iter().flat_map(|trace| summary_of(trace).services).collect();
        Ok(Answer { found: services.into_iter().collect(), warnings })
    }

    /// What the spans of a service are called, sorted.
    pub fn operations(&self, service: &str, until: Instant) -> Result<Answer<Vec<Operation>>, TimedOut> {
        let Answer { found, warnings } = self.select(until, |_| true)?;
        let spans = found.iter().flat_map(|trace| &trace.spans);
        let of_service = spans.filter(|span| read::service_name(&span.resource).unwrap_or_default() == service);
        let operation = of_service
            .map(|span| Operation { name: read::text(&span.span, SPAN_NAME).to_owned(), kind: span.row.kind });
        let operations: BTreeSet<_> = operation.collect();
        Ok(Answer { found: operations.into_iter().collect(), warnings })
    }

    fn select(&self, until: Instant, wanted: impl Fn(&Trace) -> bool) -> Result<Answer<Vec<Trace>>, TimedOut> {
        let mut traces = Traces::new(self);
        let mut answer: Answer<Vec<Trace>> = Answer::default();
        while let Some(mut trace) = traces.next_trace() {
            if Instant::now() > until {
                return Err(TimedOut);
            }
            answer.warnings.append(&mut trace.warnings);
            if wanted(&trace) {
                answer.found.push(trace);
            }
        }
        answer.warnings.append(&mut traces.warnings);
        Ok(answer)
    }
}

/// A trace in short.
pub fn summary_of(trace: &Trace) -> TraceSummary {
    let spans = &trace.spans;
    let mut summary = TraceSummary { id: trace.id, spans: spans.len() as u64, ..TraceSummary::default() };
    summary.start = spans.iter().map(|span| span.row.start).min().unwrap_or_default();
    summary.end = spans.iter().map(|span| span.row.end).max().unwrap_or_default();
    summary.errors = spans.iter().filter(|span| span.row.status == 2).count() as u64;
    let service = |resource| read::service_name(resource).unwrap_or_default().to_owned();
    let services: BTreeSet<_> = spans.iter().map(|span| service(&span.resource)).collect();
    summary.services = services.into_iter().collect();
    let parentless = spans.iter().filter(|span| !span.row.parent.is_valid());
    if let Some(root) = parentless.min_by_key(|span| (span.row.start, span.row.span_id)) {
        summary.root_service = service(&root.resource);
        summary.root_name = read::text(&root.span, SPAN_NAME).to_owned();
    }
    summary
}
