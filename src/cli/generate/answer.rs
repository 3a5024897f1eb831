//! What an OTLP/HTTP endpoint's answer means. Source: OTLP specification, "OTLP/HTTP response" and "OTLP/HTTP throttling".

use crate::model::wire::read::{last_bytes, last_varint, text};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use std::time::Duration;

/// What is to be done with the request.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Done, but for this many spans; empty words where there is nothing to say.
    Taken { rejected: u64, words: String },
    /// To be sent again, after the time that the endpoint asked for.
    Again { after: Option<Duration>, words: String },
    /// It would be refused again.
    Refused(String),
}

const PARTIAL_SUCCESS: u32 = 1;
const REJECTED_SPANS: u32 = 1;
const ERROR_MESSAGE: u32 = 2;
const STATUS_MESSAGE: u32 = 2;
/// Characters of an answer that are shown.
const MOST_WORDS: usize = 1_000;

pub fn judge(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Verdict {
    match status.as_u16() {
        200..=299 => {
            let partial = last_bytes(body, PARTIAL_SUCCESS).unwrap_or_default();
            let rejected = last_varint(partial, REJECTED_SPANS).unwrap_or(0);
            Verdict::Taken { rejected, words: text(partial, ERROR_MESSAGE).to_owned() }
        }
        429 | 502 | 503 | 504 => Verdict::Again { after: retry_after(headers), words: words(status, headers, body) },
        _ => Verdict::Refused(words(status, headers, body)),
    }
}

/// Whole seconds. A date is read by nobody who is asked to wait for a moment.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// `400 Bad Request: what the server said`.
fn words(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> String {
    let is_protobuf = headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().ends_with(b"protobuf"));
    let said = if is_protobuf { text(body, STATUS_MESSAGE).into() } else { String::from_utf8_lossy(body) };
    let said: String = said.trim().chars().take(MOST_WORDS).collect();
    if said.is_empty() { status.to_string() } else { format!("{status}: {said}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use opentelemetry_proto::tonic::collector::trace::v1::{ExportTracePartialSuccess, ExportTraceServiceResponse};
    use prost::Message;

    fn headers(pairs: &[(http::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn success_may_be_partial() {
        let partial = ExportTracePartialSuccess { rejected_spans: 3, error_message: "bad ids".into() };
        let answer = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
        let taken = |rejected, words: &str| Verdict::Taken { rejected, words: words.into() };
        assert_eq!(judge(StatusCode::OK, &HeaderMap::new(), &answer), taken(3, "bad ids"));
        assert_eq!(judge(StatusCode::OK, &HeaderMap::new(), b""), taken(0, ""));
    }

    #[test]
    fn what_may_be_sent_again_says_when() {
        for status in [429, 502, 503, 504] {
            let status = StatusCode::from_u16(status).unwrap();
            let verdict = judge(status, &headers(&[(RETRY_AFTER, "7")]), b"busy");
            let words = format!("{status}: busy");
            assert_eq!(verdict, Verdict::Again { after: Some(Duration::from_secs(7)), words });
        }
        let date = headers(&[(RETRY_AFTER, "Wed, 21 Oct 2026 07:28:00 GMT")]);
        let verdict = judge(StatusCode::SERVICE_UNAVAILABLE, &date, b"");
        assert_eq!(verdict, Verdict::Again { after: None, words: "503 Service Unavailable".into() });
    }

    #[test]
    fn any_other_answer_is_final_and_has_the_servers_words() {
        let status = [&[0x08, 3, 0x12, 8][..], b"no spans"].concat();
        let protobuf = headers(&[(CONTENT_TYPE, "application/x-protobuf")]);
        let refused = judge(StatusCode::BAD_REQUEST, &protobuf, &status);
        assert_eq!(refused, Verdict::Refused("400 Bad Request: no spans".into()));
        let refused = judge(StatusCode::NOT_FOUND, &HeaderMap::new(), b"404 page not found\n");
        assert_eq!(refused, Verdict::Refused("404 Not Found: 404 page not found".into()));
        assert!(matches!(judge(StatusCode::FOUND, &HeaderMap::new(), b""), Verdict::Refused(_)));
    }
}
