//! What goes in comes out: real traffic into the real daemon, read out again with `sluice store export`.
//!
//! Scenario: each file is sent over HTTP as protobuf, over HTTP as JSON, and over gRPC; the daemon is stopped; its
//! store is exported in both formats. Guarantees: every valid span once, field for field, duplicates collapsed by
//! identity with the latest delivery kept.

use crate::shared::daemon::Daemon;
use crate::shared::grpc::GrpcSender;
use crate::shared::http::{JSON, PROTOBUF, Sender};
use crate::shared::spans::Spans;
use crate::shared::{corpus, corpus_files, json_requests, length_delimited, read, small_files};
use bytes::Bytes;
use sluice::model::{json, wire};
use std::path::Path;
use std::process::Command;

/// How requests travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    HttpProtobuf,
    HttpJson,
    Grpc,
}

const WAYS: [Way; 3] = [Way::HttpProtobuf, Way::HttpJson, Way::Grpc];

/// Sends every request until it is taken.
fn send(daemon: &Daemon, way: Way, requests: &[&[u8]]) {
    if way == Way::Grpc {
        return tokio::runtime::Runtime::new().unwrap().block_on(send_grpc(daemon, requests));
    }
    let mut sender = Sender::connect(daemon.http).unwrap();
    for request in requests {
        let (media_type, body) = match way {
            Way::HttpJson => (JSON, json::encode(request).unwrap()),
            _ => (PROTOBUF, request.to_vec()),
        };
        post(&mut sender, media_type, &body);
    }
}

async fn send_grpc(daemon: &Daemon, requests: &[&[u8]]) {
    let mut sender = GrpcSender::connect(daemon.grpc).await;
    for request in requests {
        let request = Bytes::copy_from_slice(request);
        while let Err(status) = sender.send(request.clone()).await {
            assert_eq!(status.code(), tonic::Code::Unavailable, "{status}");
        }
    }
}

fn post(sender: &mut Sender, media_type: &str, body: &[u8]) {
    loop {
        match sender.post(media_type, body).unwrap() {
            (200, _) => return,
            (503, _) => {}
            (code, body) => panic!("{code}: {}", String::from_utf8_lossy(&body)),
        }
    }
}

fn export(directory: &Path, format: &str) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    let output = command.args(["store", "export", "--format", format]).arg(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Everything in a store, which both formats must agree on.
fn exported(directory: &Path) -> Spans {
    let mut protobuf = Spans::default();
    length_delimited(&export(directory, "otlp-proto")).into_iter().for_each(|request| protobuf.add(request));
    let mut json = Spans::default();
    for line in export(directory, "otlp-json").split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        json.add(&json::decode(line).unwrap());
    }
    assert_eq!(json, protobuf, "both formats say the same");
    protobuf
}

fn assert_equal(found: &Spans, sent: &Spans, what: &str) {
    assert_eq!(found.deliveries, found.by_identity.len(), "{what}: a span is exported twice");
    assert_eq!(found.by_identity.len(), sent.by_identity.len(), "{what}");
    let changed = sent.by_identity.iter().filter(|(identity, print)| found.by_identity.get(*identity) != Some(print));
    assert_eq!(changed.count(), 0, "{what}: spans are missing or changed");
}

/// Sends requests each way into a store of its own and compares what comes out.
fn round_trip(requests: &[&[u8]], what: &str) {
    let mut sent = Spans::default();
    requests.iter().for_each(|request| sent.add(request));
    for way in WAYS {
        let directory = tempfile::tempdir().unwrap();
        let mut daemon = Daemon::start(directory.path(), "wal: {max_size: 256MiB}");
        send(&daemon, way, requests);
        daemon.stop();
        assert_equal(&exported(directory.path()), &sent, &format!("{what} over {way:?}"));
    }
    println!("{what}: {} deliveries, {} spans, three ways", sent.deliveries, sent.by_identity.len());
}

#[test]
fn real_traffic_comes_out_as_it_went_in() {
    for path in corpus_files("bulk", ".pb.gz") {
        let content = read(&path);
        round_trip(&length_delimited(&content), &path.file_name().unwrap().to_string_lossy());
    }
}

#[test]
fn every_valid_small_file_comes_out_as_it_went_in() {
    let (mut sent_files, mut not_otlp) = (0, Vec::new());
    let directory = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::start(directory.path(), "");
    let mut sender = Sender::connect(daemon.http).unwrap();
    let mut sent = Spans::default();
    for path in small_files() {
        let before = sent.deliveries;
        for text in json_requests(&path) {
            match json::decode(&text) {
                Ok(request) => {
                    post(&mut sender, JSON, &text);
                    sent.add(&request);
                }
                Err(_) => assert_eq!(sender.post(JSON, &text).unwrap().0, 400, "{}", path.display()),
            }
        }
        if sent.deliveries > before { sent_files += 1 } else { not_otlp.push(path) }
    }
    daemon.stop();
    assert_equal(&exported(directory.path()), &sent, "small files");
    println!("{sent_files} files, {} deliveries; {} files without a valid span", sent.deliveries, not_otlp.len());
    assert!(sent_files > 30 || corpus().is_none());
}

/// Appends unknown fields to a message: one that holds `marker`, and a group.
fn with_unknown(mut message: Vec<u8>, marker: &str) -> Vec<u8> {
    wire::put_bytes(&mut message, 999, marker.as_bytes());
    // Field 998 as a group with one number inside: 0xf33e begins it, 0xf43e ends it.
    message.extend_from_slice(&[0xf3, 0x3e, 0x08, 0x07, 0xf4, 0x3e]);
    message
}

/// A message around others, each in its field.
fn message(fields: &[(u32, &[u8])]) -> Vec<u8> {
    let mut message = Vec::new();
    fields.iter().for_each(|(field, value)| wire::put_bytes(&mut message, *field, value));
    message
}

/// A request with unknown fields in every message there is, each with the name of its message.
fn request_with_unknown_fields() -> Vec<u8> {
    let value = with_unknown(message(&[(1, b"text")]), "in AnyValue");
    let attribute = with_unknown(message(&[(1, b"key"), (2, &value)]), "in KeyValue");
    let event = with_unknown(message(&[(2, b"event"), (3, &attribute)]), "in Event");
    let link = with_unknown(message(&[(1, &[7; 16]), (2, &[8; 8])]), "in Link");
    let status = with_unknown(message(&[(2, b"broken")]), "in Status");
    let fields: [(u32, &[u8]); 6] =
        [(1, &[1; 16]), (2, &[2; 8]), (5, b"name"), (11, &event), (13, &link), (15, &status)];
    let span = with_unknown(message(&fields), "in Span");
    let scope = with_unknown(message(&[(1, b"scope")]), "in Scope");
    let scope_spans = with_unknown(message(&[(1, &scope), (2, &span)]), "in ScopeSpans");
    let resource = with_unknown(message(&[(1, &attribute)]), "in Resource");
    let resource_spans = with_unknown(message(&[(1, &resource), (2, &scope_spans)]), "in ResourceSpans");
    message(&[(1, &resource_spans)])
}

#[test]
fn unknown_fields_of_every_message_come_out_as_they_went_in_over_protobuf() {
    let request = request_with_unknown_fields();
    for way in [Way::HttpProtobuf, Way::Grpc] {
        let directory = tempfile::tempdir().unwrap();
        let mut daemon = Daemon::start(directory.path(), "");
        send(&daemon, way, &[&request]);
        daemon.stop();
        let exported = export(directory.path(), "otlp-proto");
        let count = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).filter(|window| *window == part).count();
        for name in [
            "AnyValue",
            "KeyValue",
            "Event",
            "Link",
            "Status",
            "Span",
            "Scope",
            "ScopeSpans",
            "Resource",
            "ResourceSpans",
        ] {
            let unknown = with_unknown(Vec::new(), &format!("in {name}"));
            let (before, after) = (count(&request, &unknown), count(&exported, &unknown));
            assert!(
                before > 0 && before == after,
                "{way:?}: unknown fields in {name}: {before} sent, {after} exported"
            );
        }
    }
}
