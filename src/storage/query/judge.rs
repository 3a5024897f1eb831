//! What a trace's facts say about a question, before any row of it is read.

use super::matching::within;
use crate::model::{TraceQuery, time::duration};
use crate::storage::segment::Facts;
use crate::storage::segment::facts::{END_BEFORE_START, ROOT_MISSING};

/// OTLP status code of an error.
const ERROR: i32 = 2;

/// What facts know of a fragment's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// None of them matches.
    No,
    /// One of them matches.
    Yes,
    /// It takes a look at them.
    Rows,
}

/// What the facts of a fragment say. *No* holds whatever else there is of the trace. *Yes* holds where this is all of it: a row
/// of another fragment can take the place of the one that matches.
pub fn judge(query: &TraceQuery, facts: &Facts) -> Verdict {
    if !may_match(query, facts) {
        Verdict::No
    } else if some_row_matches(query, facts) || root_matches(query, facts) {
        Verdict::Yes
    } else {
        Verdict::Rows
    }
}

fn may_match(query: &TraceQuery, facts: &Facts) -> bool {
    let status = match query.status {
        Some(ERROR) => facts.errors > 0,
        Some(_) => facts.errors < facts.rows,
        None => true,
    };
    let (from, to) = query.start;
    status
        && query.service.as_ref().is_none_or(|name| facts.services.contains(name))
        && to.is_none_or(|to| facts.min_start <= to)
        // A span that ends before it starts can start later than the latest end.
        && from.is_none_or(|from| facts.max_end >= from || ends_before_start(facts))
        // No span is longer than all of them together.
        && query.duration.0.is_none_or(|least| duration(facts.min_start, facts.max_end) >= least)
}

fn ends_before_start(facts: &Facts) -> bool {
    facts.flags & END_BEFORE_START != 0
}

/// Three conditions can be known to hold for all rows, or for one: if at most one of them holds for one row only, that row
/// meets them all.
fn some_row_matches(query: &TraceQuery, facts: &Facts) -> bool {
    let others = query.operation.is_none() && query.kind.is_none() && query.attributes.is_empty();
    if !others || query.duration != (None, None) {
        return false;
    }
    let service = query.service.is_none() || facts.services.len() == 1;
    let (start, first) = (starts_within(query, facts), within(facts.min_start, query.start));
    let (errors, error) = (errors_only(query, facts), query.status == Some(ERROR));
    let for_all = [service, start, errors].iter().filter(|all| **all).count();
    for_all == 3 || for_all == 2 && (!service || !start && first || !errors && error)
}

/// Whether every row starts within the time asked for.
fn starts_within(query: &TraceQuery, facts: &Facts) -> bool {
    let (from, to) = query.start;
    from.is_none_or(|from| from <= facts.min_start)
        && to.is_none_or(|to| facts.max_end <= to && !ends_before_start(facts))
}

/// Whether every row has the status asked for.
fn errors_only(query: &TraceQuery, facts: &Facts) -> bool {
    query.status.is_none() || query.status == Some(ERROR) && facts.errors == facts.rows
}

fn root_matches(query: &TraceQuery, facts: &Facts) -> bool {
    facts.flags & ROOT_MISSING == 0
        && query.kind.is_none()
        && query.attributes.is_empty()
        && query.service.as_ref().is_none_or(|name| facts.root_service == *name)
        && query.operation.as_ref().is_none_or(|name| facts.root_name == *name)
        && within(facts.root_duration, query.duration)
        && starts_within(query, facts)
        && errors_only(query, facts)
}
