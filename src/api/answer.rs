//! The Jaeger envelope around data and errors.

use crate::component::ReadError;
use axum::http::{StatusCode, header::CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// `{"data":…,"total":n,"limit":0,"offset":0,"errors":null}`. `total` is the length of `data`: nothing is paged.
#[derive(Debug, Serialize)]
struct Envelope<T> {
    data: Option<Vec<T>>,
    total: usize,
    limit: usize,
    offset: usize,
    errors: Option<Vec<Fault>>,
}

#[derive(Debug, Serialize)]
struct Fault {
    code: u16,
    msg: String,
}

/// Why there is no data, with the status that says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    status: StatusCode,
    message: String,
    /// With line breaks.
    pretty: bool,
}

impl Refusal {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), pretty: false }
    }

    /// The request makes no sense.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// In the form that was asked for.
    pub fn pretty(self, pretty: bool) -> Self {
        Self { pretty, ..self }
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        let status = match error {
            ReadError::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            ReadError::NotOpen | ReadError::NotYet(_) => StatusCode::SERVICE_UNAVAILABLE,
            ReadError::Damaged(_) | ReadError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let errors = Some(vec![Fault { code: self.status.as_u16(), msg: self.message }]);
        let envelope = Envelope::<()> { data: None, total: 0, limit: 0, offset: 0, errors };
        // Numbers and texts always have a JSON form.
        (self.status, json(text(&envelope, self.pretty).unwrap_or_default())).into_response()
    }
}

/// The text of an answer with this data.
///
/// Errors: data that has no JSON form.
pub fn body(data: Vec<impl Serialize>, pretty: bool) -> Result<Vec<u8>, Refusal> {
    let envelope = Envelope { total: data.len(), data: Some(data), limit: 0, offset: 0, errors: None };
    let failed = |error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot be put into JSON: {error}"));
    text(&envelope, pretty).map_err(failed)
}

/// A JSON text as an answer.
pub fn json(text: Vec<u8>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], text)
}

fn text(value: &impl Serialize, pretty: bool) -> serde_json::Result<Vec<u8>> {
    if pretty { serde_json::to_vec_pretty(value) } else { serde_json::to_vec(value) }
}
