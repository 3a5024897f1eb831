//! Senders that stop in the middle (rule 58). Time stands still and jumps to the next deadline when nothing else is to
//! do, so these take no time.

use crate::client::head;
use crate::requests::spans;
use crate::server::{FREE_PORTS, Sink, receiver};
use sluice::component::Component;
use sluice::receivers::otlp::Protocol;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::time::{Instant, timeout};

/// What a server sends until it closes the connection, after how long, and how many batches entered.
fn answer(protocol: Protocol, sent: &[u8]) -> (String, Duration, usize) {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let sink = Arc::new(Sink::default());
    let receiver = receiver(FREE_PORTS, sink.clone());
    runtime.block_on(async {
        receiver.start().await.unwrap();
        let mut stream = TcpStream::connect(receiver.address(protocol).unwrap()).await.unwrap();
        stream.write_all(sent).await.unwrap();
        let (begin, mut answer) = (Instant::now(), Vec::new());
        timeout(Duration::from_secs(600), stream.read_to_end(&mut answer)).await.expect("a closed connection").unwrap();
        (String::from_utf8_lossy(&answer).into_owned(), begin.elapsed(), sink.batches().len())
    })
}

#[test]
fn a_connection_on_which_nothing_comes_is_closed() {
    for protocol in [Protocol::Http, Protocol::Grpc] {
        let (answer, after, _) = answer(protocol, b"");
        assert!(answer.is_empty() && after >= Duration::from_secs(60), "{answer} after {after:?}");
    }
}

#[test]
fn a_head_that_stops_half_way_is_given_up() {
    let (answer, after, _) = answer(Protocol::Http, b"POST /v1/traces HTTP/1.1\r\nHost:");
    assert!(!answer.contains(" 200 ") && after >= Duration::from_secs(60), "{answer} after {after:?}");
}

#[test]
fn a_connection_kept_after_an_answer_is_closed_in_the_end() {
    let request = head("POST /v1/traces", &["Content-Type: application/x-protobuf"], Some(0));
    let (answer, after, _) = answer(Protocol::Http, request.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 200 ") && after >= Duration::from_secs(60), "{answer} after {after:?}");
}

#[test]
fn a_body_that_stops_half_way_is_408_and_enters_nothing() {
    let head = head("POST /v1/traces", &["Content-Type: application/x-protobuf"], Some(2 * spans(1).len()));
    let (answer, after, batches) = answer(Protocol::Http, &[head.into_bytes(), spans(1)].concat());
    assert!(answer.starts_with("HTTP/1.1 408 ") && after >= Duration::from_secs(30), "{answer} after {after:?}");
    assert_eq!(batches, 0);
}

/// How long a stop takes while a sender has sent this and goes on to say nothing.
fn stop_takes(protocol: Protocol, sent: &[u8]) -> Duration {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let receiver = receiver(FREE_PORTS, Arc::new(Sink::default()));
    runtime.block_on(async {
        receiver.start().await.unwrap();
        let mut stream = TcpStream::connect(receiver.address(protocol).unwrap()).await.unwrap();
        stream.write_all(sent).await.unwrap();
        // The connection has been taken and read from before the stop begins.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let begin = Instant::now();
        receiver.shutdown().await;
        begin.elapsed()
    })
}

/// Rule 77: a stop waits for requests in hand, not for senders that are silent.
#[test]
fn a_silent_sender_does_not_hold_up_a_stop() {
    let half_a_body = head("POST /v1/traces", &["Content-Type: application/x-protobuf"], Some(100));
    let cases = [
        (Protocol::Http, "POST /v1/traces HTTP/1.1\r\nHost:", 2),
        (Protocol::Http, &*half_a_body, 12),
        (Protocol::Grpc, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 2),
    ];
    for (protocol, sent, seconds) in cases {
        let took = stop_takes(protocol, sent.as_bytes());
        assert!(took < Duration::from_secs(seconds), "{took:?} after {sent:?}");
    }
}
