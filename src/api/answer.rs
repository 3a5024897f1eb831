//! Answers and refusals before they take the shape of one API.

use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::task::spawn_blocking;

/// Says that an answer is partial: the first thing that could not be read, and how many there are.
pub const WARNING: HeaderName = HeaderName::from_static("sluice-warning");
/// Enough for a sentence with a path in it.
const MAX_WARNING: usize = 1_000;

/// Why there is no data, with the status that says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    pub message: String,
    /// What could not be read, where the refusal might be another without that.
    pub warning: Option<String>,
}

impl Refusal {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), warning: None }
    }

    /// The request makes no sense.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The request makes sense and sluice fails.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// As an answer, the message in this body.
    pub fn with_body(&self, body: &impl Serialize, pretty: bool) -> Response {
        // Numbers and texts always have a JSON form.
        let json = json(body, pretty).unwrap_or_default();
        let shown = Shown { json, warning: self.warning.clone() };
        (self.status, shown).into_response()
    }
}

/// A JSON text as an answer.
#[derive(Debug)]
pub struct Shown {
    pub json: Vec<u8>,
    /// What could not be read of it.
    pub warning: Option<String>,
}

impl Shown {
    /// This value, of which that could not be read.
    ///
    /// Errors: a value that has no JSON form.
    pub fn new(value: &impl Serialize, warnings: &[String], pretty: bool) -> Result<Self, Refusal> {
        let json = json(value, pretty).map_err(|error| Refusal::failed(format!("cannot be put into JSON: {error}")))?;
        Ok(Self { json, warning: in_short(warnings) })
    }
}

impl IntoResponse for Shown {
    fn into_response(self) -> Response {
        let mut response = ([(CONTENT_TYPE, "application/json")], self.json).into_response();
        if let Some(warning) = self.warning.as_deref().and_then(header) {
            response.headers_mut().insert(WARNING, warning);
        }
        response
    }
}

/// What a header can hold of a text: printable ASCII. Paths may have anything in them.
fn header(text: &str) -> Option<HeaderValue> {
    let printable = |c: char| if matches!(c, ' '..='~') { c } else { '?' };
    HeaderValue::try_from(text.chars().take(MAX_WARNING).map(printable).collect::<String>()).ok()
}

/// One sentence for all that could not be read: the first, and how many more there are.
pub fn in_short(warnings: &[String]) -> Option<String> {
    let (first, rest) = warnings.split_first()?;
    Some(if rest.is_empty() { first.clone() } else { format!("{first} (and {} more)", rest.len()) })
}

/// Runs `encode` elsewhere than where connections are served: what was found may be large.
pub async fn encoded(encode: impl FnOnce() -> Result<Shown, Refusal> + Send + 'static) -> Result<Shown, Refusal> {
    spawn_blocking(encode).await.map_err(|error| Refusal::failed(error.to_string()))?
}

fn json(value: &impl Serialize, pretty: bool) -> serde_json::Result<Vec<u8>> {
    if pretty { serde_json::to_vec_pretty(value) } else { serde_json::to_vec(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_tells_of_all_warnings() {
        let warnings = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(in_short(&[]), None);
        assert_eq!(in_short(&warnings[..1]).as_deref(), Some("a"));
        assert_eq!(in_short(&warnings).as_deref(), Some("a (and 2 more)"));
    }

    #[test]
    fn a_warning_of_any_text_fits_into_a_header() {
        let shown = |text: &str| {
            let response = Shown { json: Vec::new(), warning: Some(text.to_owned()) }.into_response();
            response.headers().get(WARNING).unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(shown("dätä/1: damaged\r\nat \u{7f}byte 7"), "d?t?/1: damaged??at ?byte 7");
        assert_eq!(shown(&"x".repeat(5_000)).len(), MAX_WARNING);
    }
}
