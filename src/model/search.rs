//! Searching: what is asked for and what is found, in words that APIs and stores share.

use super::TraceId;
use super::time::Nanos;

/// Which traces are wanted. A trace matches when *one* of its spans meets every condition that is set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceQuery {
    /// `service.name` of the span's resource, exactly.
    pub service: Option<String>,
    /// The span's name, exactly.
    pub operation: Option<String>,
    /// OTLP span kind.
    pub kind: Option<i32>,
    /// OTLP status code; 2 is an error.
    pub status: Option<i32>,
    /// Least and greatest time at which the span starts, both inclusive.
    pub start: (Option<Nanos>, Option<Nanos>),
    /// Least and greatest duration of the span, both inclusive; one that ends before it starts has none (0).
    pub duration: (Option<Nanos>, Option<Nanos>),
    /// All of these attributes, each on the span, its resource, its scope or one of its events. Values are compared as
    /// text: `200` finds the number 200 and the string "200", `true` the boolean.
    pub attributes: Vec<(String, String)>,
    pub order: Order,
    /// Most traces that are wanted.
    pub limit: usize,
}

/// Which of the traces that match come first. Ties are ordered by trace id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By the earliest start of all the trace's spans, latest first.
    #[default]
    NewestFirst,
    /// By the time from the earliest start to the latest end, longest first.
    SlowestFirst,
}

/// A trace that was found, in short. All of its spans count, not only those that matched; duplicates count once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceSummary {
    pub id: TraceId,
    /// Of the parentless span with the earliest start; empty where there is none.
    pub root_service: String,
    pub root_name: String,
    /// Earliest start and latest end.
    pub start: Nanos,
    pub end: Nanos,
    pub spans: u64,
    /// Spans with status code 2.
    pub errors: u64,
    /// Sorted, each once.
    pub services: Vec<String>,
}

/// A name that spans of a service have, with their kind. Ordered by name, then kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Operation {
    pub name: String,
    /// OTLP span kind.
    pub kind: i32,
}

/// An answer and what could not be looked at for it: a sentence each, with file and offset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer<T> {
    pub found: T,
    pub warnings: Vec<String>,
}
