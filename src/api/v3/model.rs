//! The shapes of answers that are not OTLP. Jaeger's UI refuses a whole page for one entry of another shape.

use crate::api::names;
use serde::{Serialize, Serializer};

#[derive(Debug, Serialize)]
pub struct Services {
    pub services: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Operations {
    pub operations: Vec<Operation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    pub name: String,
    /// `internal` where it was not said.
    pub span_kind: String,
}

impl From<crate::model::Operation> for Operation {
    fn from(operation: crate::model::Operation) -> Self {
        Self { name: operation.name, span_kind: names::kind(shown_kind(operation.kind)) }
    }
}

/// A kind that was not said is taken for internal.
pub fn shown_kind(kind: i32) -> i32 {
    if kind == names::UNSPECIFIED { names::INTERNAL } else { kind }
}

#[derive(Debug, Serialize)]
pub struct Summaries {
    pub summaries: Vec<Summary>,
}

/// A trace in short. What is 0 or empty is left out, as proto3 JSON does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// 32 hex digits.
    pub trace_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub root_service_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub root_operation_name: String,
    #[serde(skip_serializing_if = "is_zero", serialize_with = "as_text")]
    pub min_start_time_unix_nano: u64,
    #[serde(skip_serializing_if = "is_zero", serialize_with = "as_text")]
    pub max_end_time_unix_nano: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub span_count: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub error_span_count: u64,
    /// Spans whose parent is not there.
    #[serde(skip_serializing_if = "is_zero")]
    pub orphan_span_count: u64,
    /// Sorted by name.
    pub services: Vec<Service>,
}

/// A service's part of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// There even where it is empty.
    pub name: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub span_count: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub error_span_count: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A number that JavaScript cannot hold.
fn as_text<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}
