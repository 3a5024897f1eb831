//! OTLP/gRPC: the call, compression, limits, errors, many calls at once.

use crate::client::{Status as RpcStatus, gzip};
use crate::requests::{of_size, of_spans, span, spans};
use crate::server::Server;
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::handshake;
use hyper_util::rt::{TokioExecutor, TokioIo};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use sluice::component::Rejection;
use sluice::model::wire::read::{last_bytes, last_varint};
use std::time::Duration;
use tokio::net::TcpStream;
use tonic::codec::CompressionEncoding;
use tonic::transport::Channel;
use tonic::{Code, Status};

const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

async fn client(server: &Server) -> TraceServiceClient<Channel> {
    TraceServiceClient::connect(format!("http://{}", server.grpc())).await.unwrap()
}

/// One call by a usual client.
fn export(server: &Server, request: &[u8]) -> Result<ExportTraceServiceResponse, Status> {
    let request = ExportTraceServiceRequest::decode(request).unwrap();
    server.runtime.block_on(async { client(server).await.export(request).await.map(tonic::Response::into_inner) })
}

/// What a raw call was answered with: headers and trailers together.
struct Raw {
    http: u16,
    fields: HeaderMap,
}

impl Raw {
    fn code(&self) -> i32 {
        self.text("grpc-status").parse().unwrap()
    }

    fn text(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// One call with a body exactly as given. `None` where the connection ended without an answer.
fn raw(server: &Server, path: &str, headers: &[(&'static str, &str)], body: Vec<u8>) -> Option<Raw> {
    server.runtime.block_on(async {
        let stream = TcpStream::connect(server.grpc()).await.unwrap();
        let (mut sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let uri = format!("http://{}{path}", server.grpc());
        let mut request = Request::post(uri).header("te", "trailers");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let Ok(response) = sender.send_request(request.body(Full::new(Bytes::from(body))).unwrap()).await else {
            assert!(sender.ready().await.is_err(), "the connection lives on");
            return None;
        };
        let (head, body) = response.into_parts();
        let trailers = body.collect().await.ok()?.trailers().cloned().unwrap_or_default();
        let mut fields = head.headers;
        fields.extend(trailers);
        Some(Raw { http: head.status.as_u16(), fields })
    })
}

const GRPC: (&str, &str) = ("content-type", "application/grpc");

fn frame(flag: u8, message: &[u8]) -> Vec<u8> {
    [&[flag][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

/// Rule 64.
#[test]
fn export_takes_spans_and_answers_full_success_without_partial_success() {
    let server = Server::start();
    assert_eq!(export(&server, &spans(3)).unwrap(), ExportTraceServiceResponse { partial_success: None });
    assert_eq!(server.stored(), 3);
    assert_eq!(server.sink.batches()[0].bytes(), &spans(3));
    assert_eq!(export(&server, &[]).unwrap().partial_success, None);
    assert_eq!(server.sink.batches().len(), 1);
}

/// Rules 3, 64.
#[test]
fn services_of_other_signals_are_unimplemented() {
    let server = Server::start();
    for path in [
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        "/opentelemetry.proto.collector.trace.v1.TraceService/Other",
        "/grpc.health.v1.Health/Check",
    ] {
        let answer = raw(&server, path, &[GRPC], frame(0, &[])).unwrap();
        assert_eq!((answer.http, answer.code()), (200, 12), "{path}");
    }
}

/// gRPC over HTTP/2: a request that is no gRPC is told so in HTTP.
#[test]
fn another_content_type_is_415() {
    let server = Server::start();
    assert_eq!(raw(&server, EXPORT, &[("content-type", "application/json")], vec![]).unwrap().http, 415);
    let with_suffix = raw(&server, EXPORT, &[("content-type", "application/grpc+proto")], frame(0, &[])).unwrap();
    assert_eq!((with_suffix.http, with_suffix.code()), (200, 0));
}

/// Rules 15, 16.
#[test]
fn spans_with_bad_ids_are_refused_in_a_partial_success() {
    let server = Server::start();
    let bad = Span { span_id: vec![0; 8], ..span(1) };
    let partial = export(&server, &of_spans(vec![span(0), bad]).encode_to_vec()).unwrap().partial_success.unwrap();
    assert_eq!((partial.rejected_spans, server.stored()), (1, 1));
    assert!(partial.error_message.contains("all zero"), "{}", partial.error_message);
}

/// Rule 65.
#[test]
fn gzip_and_identity_are_understood() {
    let server = Server::start();
    server.runtime.block_on(async {
        let mut client = client(&server).await.send_compressed(CompressionEncoding::Gzip);
        client.export(of_spans(vec![span(0)])).await.unwrap();
    });
    let identity = raw(&server, EXPORT, &[GRPC, ("grpc-encoding", "identity")], frame(0, &spans(1))).unwrap();
    let flag_unset = raw(&server, EXPORT, &[GRPC, ("grpc-encoding", "gzip")], frame(0, &spans(1))).unwrap();
    assert_eq!((identity.code(), flag_unset.code(), server.stored()), (0, 0, 3));
}

/// Rule 34, over gRPC: what follows the first member is part of the message and must not be lost.
#[test]
fn every_gzip_member_of_a_message_is_read() {
    let server = Server::start();
    let message = [gzip(&spans(1)), gzip(&spans(2))].concat();
    let answer = raw(&server, EXPORT, &[GRPC, ("grpc-encoding", "gzip")], frame(1, &message)).unwrap();
    assert_eq!((answer.code(), server.stored()), (0, 3));
    let garbage = [&message[..], b"garbage"].concat();
    assert_eq!(raw(&server, EXPORT, &[GRPC, ("grpc-encoding", "gzip")], frame(1, &garbage)).unwrap().code(), 3);
}

/// Rule 65.
#[test]
fn any_other_compression_is_unimplemented_with_what_is_supported() {
    let server = Server::start();
    for name in ["br", "zstd", "snappy"] {
        let answer = raw(&server, EXPORT, &[GRPC, ("grpc-encoding", name)], frame(1, &spans(1))).unwrap();
        assert_eq!((answer.code(), answer.text("grpc-accept-encoding")), (12, "gzip,identity"), "{name}");
        assert!(answer.text("grpc-message").contains(name));
    }
}

/// Rule 66; the vector of 25 MiB: never OUT_OF_RANGE, which would be sent again for ever.
#[test]
fn a_message_over_the_limit_is_resource_exhausted_without_a_delay() {
    let server = Server::start();
    let status = export(&server, &of_size(25 << 20)).unwrap_err();
    assert_eq!((status.code(), status.details()), (Code::ResourceExhausted, &b""[..]));
    assert!(status.message().contains("20971520"), "{}", status.message());
    assert!(server.sink.batches().is_empty());
}

/// Case A20: five MiB are a usual batch.
#[test]
fn five_mib_are_within_the_limit() {
    let server = Server::start();
    export(&server, &of_size(5 << 20)).unwrap();
    assert_eq!(server.stored(), 1);
}

/// Rules 32, 66.
#[test]
fn the_limit_counts_inflated_bytes_too() {
    let server = Server::with("protocols: {grpc: {endpoint: '127.0.0.1:0', max_recv_msg_size_mib: 1}}");
    for (size, code) in [((1 << 20) - 1000, 0), (1 << 20, 8), (1 << 28, 8)] {
        let message = gzip(&of_size(size));
        let answer = raw(&server, EXPORT, &[GRPC, ("grpc-encoding", "gzip")], frame(1, &message)).unwrap();
        assert_eq!((answer.code(), answer.text("grpc-status-details-bin")), (code, ""), "{size} bytes");
    }
    let mib = raw(&server, EXPORT, &[GRPC], frame(0, &of_size(1 << 20))).unwrap();
    assert_eq!(mib.code(), 8);
}

/// Rule 67.
#[test]
fn a_busy_pipeline_is_unavailable_with_a_delay() {
    let retry_after = Duration::from_millis(2500);
    let server = Server::answering(Rejection::Busy { reason: "full".to_owned(), retry_after });
    let status = export(&server, &spans(1)).unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "full"));
    assert_eq!(RpcStatus::decode(status.details()).unwrap(), RpcStatus { code: 14, message: "full".to_owned() });
    let any = last_bytes(status.details(), 3).unwrap();
    assert_eq!(last_bytes(any, 1).unwrap(), b"type.googleapis.com/google.rpc.RetryInfo");
    let delay = last_bytes(last_bytes(any, 2).unwrap(), 1).unwrap();
    assert_eq!((last_varint(delay, 1), last_varint(delay, 2)), (Some(2), Some(500_000_000)));
}

/// Rules 26, 68.
#[test]
fn a_closing_pipeline_is_unavailable_and_an_invalid_batch_is_invalid() {
    let server = Server::answering(Rejection::Closed);
    assert_eq!(export(&server, &spans(1)).unwrap_err().code(), Code::Unavailable);
    let server = Server::answering(Rejection::Invalid("too old".to_owned()));
    let status = export(&server, &spans(1)).unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "too old"));
}

/// Design, "Order": unknown is not refused.
#[test]
fn a_batch_of_unknown_fate_gets_no_answer_and_the_connection_is_closed() {
    let server = Server::answering(Rejection::Unknown("disk".to_owned()));
    assert!(raw(&server, EXPORT, &[GRPC], frame(0, &spans(1))).is_none());
    *server.sink.answer.lock().unwrap() = None;
    assert_eq!(raw(&server, EXPORT, &[GRPC], frame(0, &spans(1))).unwrap().code(), 0);
}

/// Rule 69.
#[test]
fn undecodable_messages_are_invalid() {
    let server = Server::start();
    let body = spans(1);
    let short = frame(0, &body)[..body.len()].to_vec();
    for broken in [frame(0, &[0xff]), short, frame(2, &body), vec![0, 0], [frame(0, &body), frame(0, &body)].concat()] {
        assert_eq!(raw(&server, EXPORT, &[GRPC], broken).unwrap().code(), 3);
    }
    for broken in [&body[..], b""] {
        assert_eq!(raw(&server, EXPORT, &[GRPC, ("grpc-encoding", "gzip")], frame(1, broken)).unwrap().code(), 3);
    }
    assert!(server.sink.batches().is_empty());
}

/// Rule 73.
#[test]
fn a_slow_call_does_not_stall_others_on_its_connection() {
    let server = Server::start();
    server.runtime.block_on(async {
        let client = client(&server).await;
        server.sink.hold();
        let mut slow = client.clone();
        let slow = tokio::spawn(async move { slow.export(of_spans(vec![span(0)])).await });
        server.sink.wait_for(1).await;
        // Calls without spans do not reach the held pipeline.
        let calls = (0..50).map(|_| {
            let mut client = client.clone();
            tokio::spawn(async move { client.export(of_spans(vec![])).await.unwrap() })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
        assert!(!slow.is_finished());
        server.sink.open();
        slow.await.unwrap().unwrap();
    });
}

/// Rule 73.
#[test]
fn many_calls_at_once_all_arrive() {
    let server = Server::start();
    server.runtime.block_on(async {
        let client = client(&server).await;
        let calls = (0..200).map(|n| {
            let mut client = client.clone();
            tokio::spawn(async move { client.export(of_spans(vec![span(n)])).await.unwrap() })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
    });
    assert_eq!(server.stored(), 200);
}

/// Rule 77.
#[test]
fn a_stop_lets_calls_in_flight_finish() {
    let server = Server::start();
    server.runtime.block_on(async {
        let mut client = client(&server).await;
        server.sink.hold();
        let call = tokio::spawn(async move { client.export(of_spans(vec![span(0)])).await });
        server.sink.wait_for(1).await;
        let receiver = server.receiver.clone();
        let stopped = tokio::spawn(async move { sluice::component::Component::shutdown(&*receiver).await });
        while TcpStream::connect(server.grpc()).await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert!(!stopped.is_finished());
        server.sink.open();
        call.await.unwrap().unwrap();
        stopped.await.unwrap();
    });
    assert_eq!(server.stored(), 1);
}
