//! A trace in short, with what each service has in it.

use super::model::{Service, Summary};
use crate::api::names;
use crate::model::wire::{fields::SPAN_NAME, read};
use crate::model::{StoredSpan, Trace};
use std::collections::{BTreeMap, HashSet};

/// All spans count, not only those that were asked for. The root is the parentless span with the earliest start.
pub fn of(trace: &Trace) -> Summary {
    let spans = &trace.spans;
    let start = spans.iter().map(|span| span.row.start).min().unwrap_or_default();
    let end = spans.iter().map(|span| span.row.end).max().unwrap_or_default();
    let parentless = spans.iter().filter(|span| !span.row.parent.is_valid());
    let root = parentless.min_by_key(|span| (span.row.start, span.row.span_id));
    Summary {
        trace_id: trace.id.to_string(),
        root_service_name: root.map(service).unwrap_or_default().to_owned(),
        root_operation_name: root.map(|root| read::text(&root.span, SPAN_NAME)).unwrap_or_default().to_owned(),
        min_start_time_unix_nano: start,
        // Viewers subtract: a trace that ends before it starts lasts 0.
        max_end_time_unix_nano: end.max(start),
        span_count: spans.len() as u64,
        error_span_count: spans.iter().map(errors).sum(),
        orphan_span_count: orphans(spans),
        services: services(spans),
    }
}

fn service(span: &StoredSpan) -> &str {
    read::service_name(&span.resource).unwrap_or_default()
}

/// What the span itself says; nothing is inherited.
fn errors(span: &StoredSpan) -> u64 {
    u64::from(span.row.status == names::ERROR)
}

fn orphans(spans: &[StoredSpan]) -> u64 {
    let ids: HashSet<_> = spans.iter().map(|span| span.row.span_id).collect();
    let parents = spans.iter().map(|span| span.row.parent).filter(|parent| parent.is_valid());
    parents.filter(|parent| !ids.contains(parent)).count() as u64
}

fn services(spans: &[StoredSpan]) -> Vec<Service> {
    let mut services: BTreeMap<&str, Service> = BTreeMap::new();
    for span in spans {
        let of_service = services.entry(service(span)).or_default();
        of_service.span_count += 1;
        of_service.error_span_count += errors(span);
    }
    services.into_iter().map(|(name, counts)| Service { name: name.to_owned(), ..counts }).collect()
}
