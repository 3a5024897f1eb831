//! What a sender is told, before a protocol puts it into its own words.

use crate::component::Rejection;
use crate::model::Refusals;
use crate::model::wire::{put_bytes, put_varint_field};
use serde_json::json;
use std::time::Duration;
use tonic::Code;

/// Messages longer than this are cut, so that an answer stays small (OTLP rule 17).
const MAX_MESSAGE: usize = 1024;

/// The two forms of OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Protobuf,
    Json,
}

/// The answer to a request that was taken, at least in part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub rejected_spans: u32,
    /// Empty where nothing is to be said.
    pub message: String,
}

/// Why nothing of a request was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The bytes are no request, or not in the compression they claim.
    Undecodable(String),
    /// Larger than the limit in bytes, on the wire or inflated.
    TooLarge { limit: usize },
    /// A compression that is not supported.
    Compression(String),
    /// The body ended or stalled before it was complete.
    Incomplete,
    /// The pipeline said no.
    Rejected(Rejection),
}

impl Answer {
    /// Says what was refused and what was mended (OTLP rules 15, 50).
    pub fn of(refusals: &Refusals) -> Self {
        let mut said = Vec::new();
        if refusals.spans > 0 {
            said.push(format!("{} span(s) refused: {}", refusals.spans, refusals.reason));
        }
        if refusals.links > 0 {
            said.push(format!("{} link(s) with a bad id left out", refusals.links));
        }
        if refusals.repaired_strings > 0 {
            said.push(format!("{} string(s) that were not UTF-8 repaired", refusals.repaired_strings));
        }
        Self { rejected_spans: refusals.spans, message: shortened(said.join("; ")) }
    }

    /// `ExportTraceServiceResponse`; `partial_success` is unset on full success (OTLP rule 12).
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Protobuf => self.protobuf(),
            Encoding::Json => self.json().to_string().into_bytes(),
        }
    }

    fn is_full_success(&self) -> bool {
        self.rejected_spans == 0 && self.message.is_empty()
    }

    fn protobuf(&self) -> Vec<u8> {
        let (mut partial, mut response) = (Vec::new(), Vec::new());
        if self.rejected_spans > 0 {
            put_varint_field(&mut partial, 1, self.rejected_spans.into());
        }
        put_bytes(&mut partial, 2, self.message.as_bytes());
        if !self.is_full_success() {
            put_bytes(&mut response, 1, &partial);
        }
        response
    }

    fn json(&self) -> serde_json::Value {
        if self.is_full_success() {
            return json!({});
        }
        // int64 is text in proto3 JSON.
        json!({"partialSuccess": {"rejectedSpans": self.rejected_spans.to_string(), "errorMessage": self.message}})
    }
}

impl Refusal {
    /// The code of `google.rpc.Status` and of gRPC (OTLP rules 20, 23, 24, 66).
    pub fn code(&self) -> Code {
        match self {
            Self::Undecodable(_) | Self::Rejected(Rejection::Invalid(_)) => Code::InvalidArgument,
            Self::TooLarge { .. } => Code::ResourceExhausted,
            Self::Compression(_) => Code::Unimplemented,
            Self::Incomplete => Code::Cancelled,
            Self::Rejected(_) => Code::Unavailable,
        }
    }

    pub fn message(&self) -> String {
        shortened(match self {
            Self::Undecodable(reason) => reason.clone(),
            Self::TooLarge { limit } => format!("request larger than the limit of {limit} bytes: send smaller batches"),
            Self::Compression(name) => format!("unsupported compression `{name}`, supported: gzip, identity"),
            Self::Incomplete => "the request ended or stalled before it was complete".to_owned(),
            Self::Rejected(rejection) => rejection.to_string(),
        })
    }

    /// How long the sender is asked to wait before it tries again, where that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Rejected(Rejection::Busy { retry_after, .. }) => Some(*retry_after),
            _ => None,
        }
    }

    /// `google.rpc.Status` without details (OTLP rule 19).
    pub fn status(&self, encoding: Encoding) -> Vec<u8> {
        let (code, message) = (self.code() as i32, self.message());
        match encoding {
            Encoding::Protobuf => status_bytes(code, &message),
            Encoding::Json => json!({"code": code, "message": message}).to_string().into_bytes(),
        }
    }

    /// `google.rpc.Status` with `RetryInfo`, for `grpc-status-details-bin`; empty where no delay is known (OTLP rule
    /// 67).
    pub fn details(&self) -> Vec<u8> {
        let Some(delay) = self.retry_after() else { return Vec::new() };
        let (mut duration, mut info, mut any) = (Vec::new(), Vec::new(), Vec::new());
        put_varint_field(&mut duration, 1, delay.as_secs());
        put_varint_field(&mut duration, 2, delay.subsec_nanos().into());
        put_bytes(&mut info, 1, &duration);
        put_bytes(&mut any, 1, b"type.googleapis.com/google.rpc.RetryInfo");
        put_bytes(&mut any, 2, &info);
        let mut status = status_bytes(self.code() as i32, &self.message());
        put_bytes(&mut status, 3, &any);
        status
    }
}

fn status_bytes(code: i32, message: &str) -> Vec<u8> {
    let mut status = Vec::new();
    put_varint_field(&mut status, 1, i64::from(code) as u64);
    put_bytes(&mut status, 2, message.as_bytes());
    status
}

fn shortened(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(MAX_MESSAGE));
    message
}
