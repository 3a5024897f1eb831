//! The shapes of Jaeger's JSON. Empty lists are written as `[]`; only warnings are `null` where there are none.

use crate::api::names;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trace {
    #[serde(rename = "traceID")]
    pub trace_id: String,
    pub spans: Vec<Span>,
    /// By the `processID` of spans: `p1`, `p2`, …
    pub processes: BTreeMap<String, Process>,
    /// What of the trace could not be read.
    pub warnings: Option<Vec<String>>,
}

/// What sent the spans: one resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    pub service_name: String,
    pub tags: Vec<KeyValue>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    #[serde(rename = "traceID")]
    pub trace_id: String,
    #[serde(rename = "spanID")]
    pub span_id: String,
    /// 1 for a span that was sampled; left out where its sender did not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<u32>,
    pub operation_name: String,
    pub references: Vec<Reference>,
    /// Microseconds since 1970.
    pub start_time: u64,
    /// Microseconds.
    pub duration: u64,
    pub tags: Vec<KeyValue>,
    pub logs: Vec<Log>,
    #[serde(rename = "processID")]
    pub process_id: String,
    pub warnings: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// `CHILD_OF` or `FOLLOWS_FROM`.
    pub ref_type: &'static str,
    #[serde(rename = "traceID")]
    pub trace_id: String,
    #[serde(rename = "spanID")]
    pub span_id: String,
}

/// One event of a span.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Log {
    /// Microseconds since 1970.
    pub timestamp: u64,
    pub fields: Vec<KeyValue>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyValue {
    pub key: String,
    /// `string`, `bool`, `int64`, `float64` or `binary`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub value: Value,
}

/// What spans of a service are called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    pub name: String,
    /// Empty where it was not said.
    pub span_kind: String,
}

impl From<crate::model::Operation> for Operation {
    fn from(operation: crate::model::Operation) -> Self {
        let kind = Some(operation.kind).filter(|kind| *kind != names::UNSPECIFIED);
        Self { name: operation.name, span_kind: kind.map(names::kind).unwrap_or_default() }
    }
}
