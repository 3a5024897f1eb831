//! OTLP/gRPC: the one unary method, framed here so that both protocols share limits and decompression. tonic's own
//! decoder reads only the first gzip member, reserves what the sender's length says, and answers a message over the
//! limit with OUT_OF_RANGE, which OTLP calls worth a retry.
//!
//! Sources: OTLP specification, "OTLP/gRPC"; gRPC over HTTP/2; OTLP rules 64 to 69.

use super::answer::{Answer, Encoding, Refusal};
use super::body::{self, Compression, unframed};
use super::config::GrpcConfig;
use super::ingest::Ingest;
use super::serve::{Answered, Handler, Protocol};
use crate::component::Rejection;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use std::future::ready;
use tonic::Status;

const METHOD: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const GRPC: &str = "application/grpc";
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPTED: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// A frame's head: one byte of flag and four of length.
const HEAD: usize = 5;

/// The gRPC server's way from a call to an answer.
pub struct GrpcHandler {
    limit: usize,
    ingest: Ingest,
}

impl GrpcHandler {
    pub fn new(config: &GrpcConfig, ingest: Ingest) -> Self {
        Self { limit: config.limit(), ingest }
    }
}

impl Handler for GrpcHandler {
    const PROTOCOL: Protocol = Protocol::Grpc;

    async fn handle(&self, request: Request<Incoming>) -> Option<Answered> {
        if !is_grpc(request.headers()) {
            let mut response = Response::new(Empty::new().boxed());
            *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Some(response);
        }
        if request.uri().path() != METHOD {
            return Some(failed(Status::unimplemented(format!("not served here: {}", request.uri().path()))));
        }
        match self.export(request).await {
            Ok(answer) => Some(succeeded(&answer)),
            Err(Refusal::Rejected(Rejection::Unknown(_))) => None,
            Err(refusal) => Some(refused(&refusal)),
        }
    }
}

impl GrpcHandler {
    async fn export(&self, request: Request<Incoming>) -> Result<Answer, Refusal> {
        let compression = Compression::named(request.headers().get(ENCODING).map(HeaderValue::as_bytes))?;
        let body = body::read(request.into_body(), self.limit.saturating_add(HEAD)).await;
        let message = body.map_err(|refusal| self.of_message(refusal))?;
        let message = self.message(message, compression).inspect_err(|refusal| self.ingest.count(refusal))?;
        self.ingest.take(message, Encoding::Protobuf).await
    }

    fn message(&self, body: Bytes, compression: Compression) -> Result<Bytes, Refusal> {
        let (compressed, message) = unframed(body)?;
        if compressed { compression.unpack(message, self.limit) } else { Ok(message) }
    }

    /// The limit that a sender is told is the message's, without the frame's head.
    fn of_message(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::TooLarge { .. } => Refusal::TooLarge { limit: self.limit },
            other => other,
        }
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(GRPC.as_bytes()))
}

fn succeeded(answer: &Answer) -> Answered {
    let message = answer.encode(Encoding::Protobuf);
    let mut frame = Vec::with_capacity(HEAD + message.len());
    frame.push(0);
    frame.extend_from_slice(&(message.len() as u32).to_be_bytes());
    frame.extend_from_slice(&message);
    let trailers = HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))]);
    let mut response = Response::new(Full::from(frame).with_trailers(ready(Some(Ok(trailers)))).boxed());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(GRPC));
    response
}

fn refused(refusal: &Refusal) -> Answered {
    let mut response = failed(Status::with_details(refusal.code(), refusal.message(), refusal.details().into()));
    if let Refusal::Compression(_) = refusal {
        response.headers_mut().insert(ACCEPTED, HeaderValue::from_static("gzip,identity"));
    }
    response
}

fn failed(status: Status) -> Answered {
    status.into_http::<Empty<Bytes>>().map(BodyExt::boxed)
}
