//! OTLP/HTTP: routing, content types, answers, errors.

use crate::client::{Client, JSON, PROTOBUF, gzip, head, post, post_json, post_protobuf, request};
use crate::requests::{of_size, of_spans, span, spans};
use crate::server::Server;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use sluice::component::Rejection;
use std::net::Shutdown;
use std::time::Duration;

const MIB: usize = 1 << 20;
const IS_PROTOBUF: &str = "Content-Type: application/x-protobuf";
const IS_JSON: &str = "Content-Type: application/json";
const IS_GZIP: &str = "Content-Encoding: gzip";

/// Rule 1.
#[test]
fn the_traces_path_can_be_set_and_gains_a_slash() {
    let server = Server::with("protocols: {http: {endpoint: '127.0.0.1:0', traces_url_path: in/traces}}");
    assert_eq!(request(server.http(), "POST /in/traces", &[IS_JSON], b"{}").status, 200);
    assert_eq!(post_json(server.http(), "{}").status, 404);
}

/// Rules 2, 3.
#[test]
fn only_the_exact_path_is_served_whatever_the_query() {
    let server = Server::start();
    for path in ["/v1/traces/", "/v1/trace", "/", "/v1/TRACES", "/v1/metrics", "/v1/logs", "/v1development/profiles"] {
        let reply = request(server.http(), &format!("POST {path}"), &[IS_JSON], b"{}");
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.header("content-type").unwrap().starts_with("text/plain"));
    }
    assert_eq!(request(server.http(), "POST /v1/traces?a=b", &[IS_JSON], b"{}").status, 200);
}

/// Rule 4.
#[test]
fn any_other_method_is_told_that_post_is_wanted() {
    let server = Server::start();
    for method in ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let reply = request(server.http(), &format!("{method} /v1/traces"), &[], b"");
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{method}");
        assert!(reply.header("content-type").unwrap().starts_with("text/plain"));
        assert_eq!(reply.text(), "405 method not allowed, supported: [POST]");
    }
    let mut client = Client::connect(server.http());
    client.send(head("HEAD /v1/traces", &[], None));
    client.stream().shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut client.stream(), &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
}

/// Rule 5.
#[test]
fn the_method_is_judged_before_the_type_and_the_type_before_the_body() {
    let server = Server::start();
    assert_eq!(request(server.http(), "GET /v1/traces", &["Content-Type: text/json", IS_GZIP], b"x").status, 405);
    assert_eq!(post(server.http(), &["Content-Type: text/json", IS_GZIP], "x").status, 415);
}

/// Rule 8.
#[test]
fn the_media_type_counts_in_any_case_and_without_its_parameters() {
    let server = Server::start();
    let (json, protobuf) = (b"{}".to_vec(), Vec::new());
    for (name, body) in [
        ("application/json; charset=utf-8", &json),
        ("APPLICATION/JSON", &json),
        ("application/json;charset=\"utf-8\"", &json),
        ("application/x-protobuf; proto=x", &protobuf),
        ("Application/X-Protobuf ", &protobuf),
    ] {
        assert_eq!(post(server.http(), &[&format!("Content-Type: {name}")], body).status, 200, "{name}");
    }
}

/// Rule 9.
#[test]
fn any_other_media_type_is_told_what_is_supported() {
    let server = Server::start();
    let types = ["application/protobuf", "text/json", "application/grpc", "", "application", "application/jsonx", "é"];
    let named = types.map(|name| format!("Content-Type: {name}"));
    for headers in named.iter().map(|header| vec![header.as_str()]).chain([vec![]]) {
        let reply = post(server.http(), &headers, "{}");
        assert_eq!(reply.status, 415, "{headers:?}");
        assert!(reply.header("content-type").unwrap().starts_with("text/plain"));
        let text = "415 unsupported media type, supported: [application/json, application/x-protobuf]";
        assert_eq!(reply.text(), text);
    }
}

/// Rule 10.
#[test]
fn an_answer_has_the_media_type_of_its_request_without_parameters() {
    let server = Server::start();
    let json = "Content-Type: application/JSON; charset=utf-8";
    assert_eq!(post(server.http(), &[json], "{}").header("content-type"), Some(JSON));
    assert_eq!(post(server.http(), &[json], "x").header("content-type"), Some(JSON));
    assert_eq!(post_protobuf(server.http(), "").header("content-type"), Some(PROTOBUF));
    assert_eq!(post_protobuf(server.http(), "\u{7f}").header("content-type"), Some(PROTOBUF));
}

/// Rule 11.
#[test]
fn of_two_content_types_the_first_counts() {
    let server = Server::start();
    assert_eq!(post(server.http(), &[IS_JSON, IS_PROTOBUF], "{}").header("content-type"), Some(JSON));
    assert_eq!(post(server.http(), &[IS_PROTOBUF, IS_JSON], "{}").status, 400);
}

/// Rule 12.
#[test]
fn full_success_has_no_partial_success() {
    let server = Server::start();
    let reply = post_protobuf(server.http(), spans(3));
    assert_eq!((reply.status, &*reply.body), (200, &b""[..]));
    assert_eq!(server.stored(), 3);
    let reply = post_json(server.http(), sluice::model::json::encode(&spans(2)).unwrap());
    assert_eq!((reply.status, reply.text()), (200, "{}"));
    assert_eq!(server.stored(), 5);
}

/// Rule 13, and the vector `0a 00`.
#[test]
fn a_request_without_spans_succeeds_and_stays_out_of_the_pipeline() {
    let server = Server::start();
    for body in [&b""[..], &[0x0a, 0], &[0x0a, 2, 0x12, 0]] {
        assert_eq!(post_protobuf(server.http(), body).status, 200);
    }
    for body in
        ["{}", r#"{"resourceSpans":[]}"#, r#"{"resourceSpans":[{}]}"#, r#"{"resourceSpans":[{"scopeSpans":[{}]}]}"#]
    {
        assert_eq!(post_json(server.http(), body).text(), "{}", "{body}");
    }
    assert!(server.sink.batches().is_empty());
}

/// Rule 14.
#[test]
fn an_empty_body_is_no_json() {
    let server = Server::start();
    let reply = post_json(server.http(), "");
    assert_eq!((reply.status, reply.rpc_status().code), (400, 3));
}

/// Rules 15, 52.
#[test]
fn spans_with_bad_ids_are_refused_and_the_others_taken() {
    let server = Server::start();
    let bad = Span { trace_id: b"00000000000000000000000000000001".to_vec(), ..span(1) };
    let request = of_spans(vec![span(0), bad, Span { span_id: vec![], ..span(2) }, span(3)]).encode_to_vec();
    let reply = post_protobuf(server.http(), &request);
    let partial = ExportTraceServiceResponse::decode(&*reply.body).unwrap().partial_success.unwrap();
    assert_eq!((reply.status, partial.rejected_spans, server.stored()), (200, 2, 2));
    assert!(partial.error_message.contains("looks like hex text"), "{}", partial.error_message);

    let reply = post_json(server.http(), sluice::model::json::encode(&request).unwrap());
    assert_eq!(reply.json()["partialSuccess"]["rejectedSpans"], "2");
    assert!(!reply.json()["partialSuccess"]["errorMessage"].as_str().unwrap().is_empty());
}

/// Rule 15: a warning is a partial success that rejects nothing.
#[test]
fn what_was_mended_is_said_in_a_success() {
    let server = Server::start();
    let mut bytes = of_spans(vec![Span { name: "caf?".to_owned(), ..span(0) }]).encode_to_vec();
    let place = bytes.iter().rposition(|byte| *byte == b'?').unwrap();
    bytes[place] = 0xe9;
    let reply = post_protobuf(server.http(), &bytes);
    let partial = ExportTraceServiceResponse::decode(&*reply.body).unwrap().partial_success.unwrap();
    assert_eq!((partial.rejected_spans, server.stored()), (0, 1));
    assert!(partial.error_message.contains("UTF-8"), "{}", partial.error_message);
}

/// Rule 16.
#[test]
fn a_request_of_bad_spans_alone_is_a_success_that_rejects_all() {
    let server = Server::start();
    let bad = |n| Span { trace_id: vec![0; 16], ..span(n) };
    let reply = post_protobuf(server.http(), of_spans(vec![bad(1), bad(2)]).encode_to_vec());
    let partial = ExportTraceServiceResponse::decode(&*reply.body).unwrap().partial_success.unwrap();
    assert_eq!((reply.status, partial.rejected_spans), (200, 2));
    assert!(server.sink.batches().is_empty());
}

/// Rule 17.
#[test]
fn a_message_is_cut_between_characters_before_it_grows_large() {
    let server = Server::answering(Rejection::Invalid("é".repeat(1 << 20)));
    let message = post_protobuf(server.http(), spans(1)).rpc_status().message;
    assert_eq!(message, "é".repeat(512));
}

/// Rules 19, 23; the vector `ff`.
#[test]
fn undecodable_bytes_get_a_status_in_their_own_encoding_and_no_hint_to_retry() {
    let server = Server::start();
    for reply in [post_protobuf(server.http(), [0xff]), post_json(server.http(), "{")] {
        assert_eq!((reply.status, reply.rpc_status().code), (400, 3));
        assert!(!reply.rpc_status().message.is_empty());
        assert_eq!(reply.header("retry-after"), None);
    }
    assert!(server.sink.batches().is_empty());
}

/// Rule 24; the vector of 25 MiB.
#[test]
fn a_body_over_the_limit_is_413_and_the_connection_stays_usable() {
    let server = Server::start();
    let mut client = Client::connect(server.http());
    client.send(head("POST /v1/traces", &[IS_PROTOBUF], Some(25 * MIB)));
    client.send(vec![0; 25 * MIB]);
    let reply = client.reply().unwrap();
    assert_eq!((reply.status, reply.rpc_status().code, reply.header("retry-after")), (413, 8, None));
    client.send(head("POST /v1/traces", &[IS_PROTOBUF], Some(0)));
    assert_eq!(client.reply().unwrap().status, 200);
}

/// Rules 24, 36.
#[test]
fn the_limit_is_the_configured_one_and_counts_inflated_bytes_too() {
    let config = "protocols: {http: {endpoint: '127.0.0.1:0', max_request_body_size: 1000}}";
    let server = Server::with(config);
    assert_eq!(post_protobuf(server.http(), of_size(700)).status, 200);
    assert_eq!(post_protobuf(server.http(), of_size(1000)).status, 413);
    assert_eq!(post(server.http(), &[IS_PROTOBUF, IS_GZIP], gzip(&of_size(700))).status, 200);
    let reply = post(server.http(), &[IS_PROTOBUF, IS_GZIP], gzip(&of_size(1000)));
    assert_eq!((reply.status, reply.rpc_status().code), (413, 8));
    assert_eq!(server.stored(), 2);
}

/// Rules 24, 35: the limit does not depend on a length that the sender names.
#[test]
fn the_limit_holds_for_chunked_bodies() {
    let server = Server::with("protocols: {http: {endpoint: '127.0.0.1:0', max_request_body_size: 1000}}");
    let mut client = Client::connect(server.http());
    client.send(head("POST /v1/traces", &[IS_PROTOBUF, "Transfer-Encoding: chunked"], None));
    (0..15).for_each(|_| client.send(format!("64\r\n{}\r\n", "x".repeat(100))));
    client.send("0\r\n\r\n");
    assert_eq!(client.reply().unwrap().status, 413);
}

/// Rule 25.
#[test]
fn a_busy_pipeline_is_503_with_whole_seconds_to_wait() {
    for (delay, seconds) in [(0, "1"), (900, "1"), (1000, "1"), (1001, "2"), (30_000, "30")] {
        let retry_after = Duration::from_millis(delay);
        let server = Server::answering(Rejection::Busy { reason: "full".to_owned(), retry_after });
        let reply = post_protobuf(server.http(), spans(1));
        assert_eq!((reply.status, reply.header("retry-after")), (503, Some(seconds)), "{delay} ms");
        assert_eq!((reply.rpc_status().code, &*reply.rpc_status().message), (14, "full"));
    }
}

/// Rules 25, 26.
#[test]
fn the_same_request_succeeds_once_the_pipeline_recovers() {
    let server = Server::answering(Rejection::busy("full"));
    assert_eq!(post_protobuf(server.http(), spans(1)).status, 503);
    *server.sink.answer.lock().unwrap() = None;
    assert_eq!(post_protobuf(server.http(), spans(1)).status, 200);
    assert_eq!(server.stored(), 1);
}

/// Rule 26.
#[test]
fn a_closing_pipeline_is_503_so_that_the_sender_tries_again() {
    let server = Server::answering(Rejection::Closed);
    let reply = post_json(server.http(), sluice::model::json::encode(&spans(1)).unwrap());
    assert_eq!((reply.status, reply.rpc_status().code), (503, 14));
}

/// Rule 21.
#[test]
fn a_batch_that_the_pipeline_calls_invalid_is_never_to_be_sent_again() {
    let server = Server::answering(Rejection::Invalid("too old".to_owned()));
    let reply = post_protobuf(server.http(), spans(1));
    assert_eq!((reply.status, reply.rpc_status().code, reply.header("retry-after")), (400, 3, None));
}

/// Design, "Order": unknown is not refused.
#[test]
fn a_batch_of_unknown_fate_gets_no_answer_and_the_connection_is_closed() {
    let server = Server::answering(Rejection::Unknown("disk".to_owned()));
    let mut client = Client::connect(server.http());
    client.send(head("POST /v1/traces", &[IS_PROTOBUF], Some(spans(1).len())));
    client.send(spans(1));
    assert!(client.reply().is_none());
    *server.sink.answer.lock().unwrap() = None;
    assert_eq!(post_protobuf(server.http(), spans(1)).status, 200);
}

/// Rule 28.
#[test]
fn a_body_that_breaks_off_enters_nothing() {
    let server = Server::start();
    let body = spans(2);
    // Cut between the two halves of a concatenated request, so that what arrived would decode.
    let mut client = Client::connect(server.http());
    client.send(head("POST /v1/traces", &[IS_PROTOBUF], Some(2 * body.len())));
    client.send(&body);
    client.stream().shutdown(Shutdown::Write).unwrap();
    assert!(client.reply().is_none_or(|reply| reply.status != 200));
    assert!(server.sink.batches().is_empty());
}

/// Rule 35.
#[test]
fn a_chunked_body_needs_no_length() {
    let server = Server::start();
    let body = spans(2);
    let mut client = Client::connect(server.http());
    client.send(head("POST /v1/traces", &[IS_PROTOBUF, "Transfer-Encoding: chunked"], None));
    for chunk in body.chunks(7) {
        client.send(format!("{:x}\r\n", chunk.len()));
        client.send(chunk);
        client.send("\r\n");
    }
    client.send("0\r\n\r\n");
    assert_eq!(client.reply().unwrap().status, 200);
    assert_eq!(server.stored(), 2);
}

/// RFC 9110, 10.1.1: curl asks so before a large body.
#[test]
fn a_sender_that_waits_is_told_to_go_on() {
    let server = Server::start();
    let mut client = Client::connect(server.http());
    client.send(head("POST /v1/traces", &[IS_PROTOBUF, "Expect: 100-continue"], Some(spans(1).len())));
    assert_eq!(client.reply().unwrap().status, 100);
    client.send(spans(1));
    assert_eq!(client.reply().unwrap().status, 200);
    let mut client = Client::connect(server.http());
    client.send(head("POST /v1/traces", &[IS_PROTOBUF, "Expect: 100-continue"], Some(25 * MIB)));
    assert_eq!(client.reply().unwrap().status, 413, "without having sent it");
}

/// The connection is kept, and answers come in order.
#[test]
fn requests_follow_each_other_on_one_connection() {
    let server = Server::start();
    let mut client = Client::connect(server.http());
    for _ in 0..3 {
        client.send(head("POST /v1/traces", &[IS_PROTOBUF], Some(spans(1).len())));
        client.send(spans(1));
    }
    (0..3).for_each(|_| assert_eq!(client.reply().unwrap().status, 200));
    assert_eq!(server.stored(), 3);
}

/// Some small clients close their half as soon as they have asked.
#[test]
fn a_sender_that_closes_its_half_gets_its_answer() {
    let server = Server::start();
    server.sink.hold();
    let mut client = Client::connect(server.http());
    client.send(head("POST /v1/traces", &[IS_PROTOBUF], Some(spans(1).len())));
    client.send(spans(1));
    client.stream().shutdown(Shutdown::Write).unwrap();
    server.runtime.block_on(server.sink.wait_for(1));
    server.sink.open();
    assert_eq!(client.reply().unwrap().status, 200);
}
