//! OTLP/HTTP. Source: OTLP specification, "OTLP/HTTP"; where it is silent, the Collector's `otlpreceiver`.

use super::answer::{Encoding, Refusal};
use super::body::{self, Compression};
use super::config::HttpConfig;
use super::ingest::Ingest;
use super::serve::{Answered, Handler, Protocol};
use crate::component::Rejection;
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, ALLOW, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tonic::Code;

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// The HTTP server's way from a request to an answer.
pub struct HttpHandler {
    path: String,
    limit: usize,
    ingest: Ingest,
}

impl HttpHandler {
    pub fn new(config: &HttpConfig, ingest: Ingest) -> Self {
        Self { path: config.path(), limit: config.limit(), ingest }
    }
}

impl Handler for HttpHandler {
    const PROTOCOL: Protocol = Protocol::Http;

    async fn handle(&self, request: Request<Incoming>) -> Option<Answered> {
        if request.uri().path() != self.path {
            return Some(text(StatusCode::NOT_FOUND, "404 page not found"));
        }
        if request.method() != Method::POST {
            let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed, supported: [POST]");
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return Some(refused);
        }
        let Some(encoding) = encoding(request.headers()) else {
            let supported = "415 unsupported media type, supported: [application/json, application/x-protobuf]";
            return Some(text(StatusCode::UNSUPPORTED_MEDIA_TYPE, supported));
        };
        match self.export(request, encoding).await {
            Ok(message) => Some(answered(StatusCode::OK, media_type(encoding), message)),
            Err(refusal) => refused(&refusal, encoding),
        }
    }
}

impl HttpHandler {
    async fn export(&self, request: Request<Incoming>, encoding: Encoding) -> Result<Vec<u8>, Refusal> {
        let compression = compression(request.headers())?;
        if self.announces_too_much(&request) {
            return Err(Refusal::TooLarge { limit: self.limit });
        }
        let packed = body::read(request.into_body(), self.limit).await?;
        let body = compression.unpack(packed, self.limit).inspect_err(|refusal| self.ingest.count(refusal))?;
        let answer = self.ingest.take(body, encoding).await?;
        Ok(answer.encode(encoding))
    }

    /// A sender that waits for `100 Continue` is told at once; it has not sent anything yet.
    fn announces_too_much(&self, request: &Request<Incoming>) -> bool {
        request.headers().contains_key(EXPECT) && request.body().size_hint().lower() > self.limit as u64
    }
}

/// The encoding that the first `Content-Type` names: the media type alone, in any case (OTLP rules 8, 9, 11).
fn encoding(headers: &HeaderMap) -> Option<Encoding> {
    let value = headers.get(CONTENT_TYPE)?.as_bytes();
    let media_type = value.split(|byte| *byte == b';').next()?.trim_ascii();
    if media_type.eq_ignore_ascii_case(PROTOBUF.as_bytes()) {
        Some(Encoding::Protobuf)
    } else if media_type.eq_ignore_ascii_case(JSON.as_bytes()) {
        Some(Encoding::Json)
    } else {
        None
    }
}

fn media_type(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Protobuf => PROTOBUF,
        Encoding::Json => JSON,
    }
}

/// The one compression named in all `Content-Encoding` headers; a list of several is not supported.
fn compression(headers: &HeaderMap) -> Result<Compression, Refusal> {
    let names: Vec<_> = headers.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes).collect();
    match names[..] {
        [] | [_] => Compression::named(names.first().copied()),
        _ => Compression::named(Some(&names.join(&b", "[..]))),
    }
}

fn refused(refusal: &Refusal, encoding: Encoding) -> Option<Answered> {
    let mut response = answered(status(refusal)?, media_type(encoding), refusal.status(encoding));
    if let Some(delay) = refusal.retry_after() {
        // Whole seconds, rounded up, since 0 would mean "at once" (OTLP rule 25).
        let seconds = delay.as_secs().saturating_add((delay.subsec_nanos() > 0).into()).max(1);
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    if let Refusal::Compression(_) = refusal {
        response.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, identity"));
    }
    Some(response)
}

/// `None` where any answer would be a promise.
fn status(refusal: &Refusal) -> Option<StatusCode> {
    Some(match refusal {
        Refusal::Rejected(Rejection::Unknown(_)) => return None,
        Refusal::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Refusal::Compression(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Refusal::Incomplete => StatusCode::REQUEST_TIMEOUT,
        other if other.code() == Code::InvalidArgument => StatusCode::BAD_REQUEST,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    })
}

fn text(status: StatusCode, body: &'static str) -> Answered {
    answered(status, "text/plain; charset=utf-8", body)
}

fn answered(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Answered {
    let mut response = Response::new(Full::new(body.into()).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
