//! Starting, stopping, counting.

use crate::client::{Client, JSON, PROTOBUF, gzip, head, post, post_json, post_protobuf};
use crate::requests::{of_spans, span, spans};
use crate::server::{FREE_PORTS, Server, Sink, receiver};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use opentelemetry_proto::tonic::trace::v1::{Span, span::Link};
use prost::Message;
use sluice::component::factory::Build;
use sluice::component::{BuildContext, Component, Rejection};
use sluice::config::{ComponentId, Node};
use sluice::receivers::otlp::{Protocol, factory};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use tokio::runtime::Runtime;

fn faults(config: &str) -> Vec<String> {
    (factory().check)(&Node::from_yaml(config).unwrap()).iter().map(ToString::to_string).collect()
}

/// The Collector's own words.
#[test]
fn at_least_one_protocol_is_needed() {
    for config in ["", "protocols:", "protocols: {}"] {
        let said = "must specify at least one protocol when using the OTLP receiver";
        assert!(faults(config).iter().any(|fault| fault.contains(said)), "{config:?}: {:?}", faults(config));
    }
    for config in ["protocols: {grpc: }", "protocols: {http: }", "protocols: {http: {max_request_body_size: -1}}"] {
        assert_eq!(faults(config), Vec::<String>::new());
    }
}

/// Rules 58, 59: a key that is accepted has an effect.
#[test]
fn keys_without_an_effect_yet_are_refused_by_name() {
    for key in ["tls", "cors", "auth", "include_metadata", "transport", "compression_algorithms", "idle_timeout"] {
        let faults = faults(&format!("protocols: {{http: {{{key}: x}}}}"));
        assert!(faults[0].contains(key) && faults[0].contains("not yet"), "{faults:?}");
    }
    for key in ["tls", "auth", "keepalive", "max_concurrent_streams", "read_buffer_size", "include_metadata"] {
        let faults = faults(&format!("protocols: {{grpc: {{{key}: x}}}}"));
        assert!(faults[0].contains(key) && faults[0].contains("not yet"), "{faults:?}");
    }
    assert!(faults("protocols: {http: {Endpoint: x}}")[0].contains("Endpoint"));
}

#[test]
fn an_endpoint_without_a_port_and_a_limit_over_1_gib_are_refused_with_their_key() {
    let found = faults(
        "protocols: {http: {endpoint: localhost, max_request_body_size: 1073741825}, grpc: {max_recv_msg_size_mib: 1025}}",
    );
    for key in ["http::endpoint", "http::max_request_body_size", "grpc::max_recv_msg_size_mib"] {
        assert!(found.iter().any(|fault| fault.contains(key)), "{key}: {found:?}");
    }
}

/// The way of the daemon: by the factory, from a node.
#[test]
fn the_factory_builds_what_it_has_checked() {
    let Build::Receiver(build) = factory().build else { panic!("no receiver") };
    let id = ComponentId::parse("otlp/in").unwrap();
    let build = |yaml| build(&id, &Node::from_yaml(yaml).unwrap(), Arc::new(Sink::default()), &BuildContext::default());
    let runtime = Runtime::new().unwrap();
    let receiver = build(FREE_PORTS).unwrap();
    runtime.block_on(receiver.start()).unwrap();
    runtime.block_on(receiver.shutdown());
    let error = build("protocols: {http: {endpoint: nowhere}}").err().unwrap().to_string();
    assert!(error.contains("otlp/in") && error.contains("protocols::http::endpoint"), "{error}");
    assert!(build("protocols: {http: {tls: {}}}").err().unwrap().to_string().contains("tls"));
}

/// Rule 75.
#[test]
fn a_port_in_use_names_receiver_key_and_address() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let receiver = receiver(&format!("protocols: {{http: {{endpoint: '{address}'}}}}"), Arc::new(Sink::default()));
    let error = Runtime::new().unwrap().block_on(receiver.start()).unwrap_err();
    let text = format!("{error:#}");
    for part in ["otlp", "protocols::http::endpoint", &address.to_string(), "in use"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Rule 76.
#[test]
fn a_failed_http_start_leaves_no_grpc_server_behind() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let config =
        format!("protocols: {{grpc: {{endpoint: '{free}'}}, http: {{endpoint: '{}'}}}}", taken.local_addr().unwrap());
    let receiver = receiver(&config, Arc::new(Sink::default()));
    let runtime = Runtime::new().unwrap();
    runtime.block_on(receiver.start()).unwrap_err();
    assert!(TcpStream::connect(free).is_err());
    runtime.block_on(receiver.shutdown());
}

#[test]
fn localhost_is_listened_on() {
    let server = Server::with("protocols: {http: {endpoint: 'localhost:0'}}");
    assert!(server.http().ip().is_loopback());
    assert_eq!(server.receiver.address(Protocol::Grpc), None);
    assert_eq!(post_json(server.http(), "{}").status, 200);
}

#[test]
fn no_host_is_every_interface() {
    let server = Server::with("protocols: {http: {endpoint: ':0'}}");
    assert!(server.http().ip().is_unspecified());
}

/// Rule 77.
#[test]
fn a_stop_lets_requests_in_flight_finish_and_takes_no_new_ones() {
    let server = Server::start();
    server.sink.hold();
    let mut client = Client::connect(server.http());
    client.send(head("POST /v1/traces", &["Content-Type: application/x-protobuf"], Some(spans(1).len())));
    client.send(spans(1));
    server.runtime.block_on(server.sink.wait_for(1));
    let stopping = server.receiver.clone();
    let stopped = server.runtime.spawn(async move { stopping.shutdown().await });
    while TcpStream::connect(server.http()).is_ok() {
        std::thread::yield_now();
    }
    assert!(!stopped.is_finished());
    server.sink.open();
    assert_eq!(client.reply().unwrap().status, 200);
    server.runtime.block_on(stopped).unwrap();
    assert_eq!(server.stored(), 1);
}

#[test]
fn a_stop_closes_connections_without_a_request() {
    let server = Server::start();
    let mut idle = Client::connect(server.http());
    idle.send(head("POST /v1/traces", &["Content-Type: application/json"], Some(2)));
    idle.send("{}");
    assert_eq!(idle.reply().unwrap().status, 200);
    let mut silent = Client::connect(server.grpc());
    server.runtime.block_on(server.receiver.shutdown());
    assert!(idle.reply().is_none() && silent.reply().is_none());
}

#[test]
fn a_stop_works_before_the_start_and_any_number_of_times() {
    let receiver = receiver(FREE_PORTS, Arc::new(Sink::default()));
    let runtime = Runtime::new().unwrap();
    runtime.block_on(receiver.shutdown());
    let server = Server::start();
    for _ in 0..3 {
        server.runtime.block_on(server.receiver.shutdown());
    }
}

/// Rule 28, and a sender that goes away while its batch is on its way: the batch is not cut off half way.
#[test]
fn a_batch_on_its_way_is_finished_and_counted_though_its_sender_is_gone() {
    let server = Server::start();
    server.sink.hold();
    let mut client = Client::connect(server.http());
    client.send(head("POST /v1/traces", &["Content-Type: application/x-protobuf"], Some(spans(1).len())));
    client.send(spans(1));
    server.runtime.block_on(server.sink.wait_for(1));
    drop(client);
    server.sink.open();
    server.runtime.block_on(server.receiver.shutdown());
    assert_eq!(server.stored(), 1);
}

/// A server whose counters can be read.
fn counted() -> (Server, PrometheusHandle) {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    (metrics::with_local_recorder(&recorder, Server::start), handle)
}

fn count(handle: &PrometheusHandle, name: &str) -> String {
    let text = handle.render();
    let found = text
        .lines()
        .find(|line| line.starts_with(name) && line.contains(r#"receiver="otlp""#) && line.contains("http"));
    found
        .and_then(|line| line.rsplit_once(' '))
        .map_or_else(|| format!("none in {text}"), |(_, value)| value.to_owned())
}

/// Rules 13, 23, 84: one accounting point for both protocols.
#[test]
fn accepted_refused_and_undecodable_are_counted() {
    let (server, handle) = counted();
    let bad = Span { span_id: vec![1], ..span(1) };
    post_protobuf(server.http(), of_spans(vec![span(0), span(2), bad]).encode_to_vec());
    post_protobuf(server.http(), "");
    post_json(server.http(), "{}");
    assert_eq!(count(&handle, "otelcol_receiver_accepted_spans"), "2");
    assert_eq!(count(&handle, "otelcol_receiver_refused_spans"), "1");
    *server.sink.answer.lock().unwrap() = Some(Rejection::busy("full"));
    post_protobuf(server.http(), spans(5));
    assert_eq!(count(&handle, "otelcol_receiver_refused_spans"), "6");
    post_protobuf(server.http(), [0xff]);
    post(server.http(), &[&format!("Content-Type: {JSON}"), "Content-Encoding: gzip"], "x");
    assert_eq!(count(&handle, "sluice_receiver_undecodable_requests_total"), "2");
    assert_eq!(count(&handle, "otelcol_receiver_accepted_spans"), "2");
}

/// Rules 50, 53.
#[test]
fn repaired_text_and_links_left_out_are_counted() {
    let (server, handle) = counted();
    let links = vec![Link { trace_id: vec![1], ..Link::default() }];
    let mut bytes = of_spans(vec![Span { name: "?".to_owned(), links, ..span(0) }]).encode_to_vec();
    let place = bytes.iter().position(|byte| *byte == b'?').unwrap();
    bytes[place] = 0xff;
    let headers = [&format!("Content-Type: {PROTOBUF}"), "Content-Encoding: gzip"];
    assert_eq!(post(server.http(), &headers, gzip(&bytes)).status, 200);
    assert_eq!(count(&handle, "sluice_receiver_repaired_strings_total"), "1");
    assert_eq!(count(&handle, "sluice_receiver_dropped_links_total"), "1");
    assert!(handle.render().contains("sluice_stage_nanoseconds_total{stage=\"decode\"}"));
    assert!(handle.render().contains("sluice_stage_runs_total{stage=\"decode\"} 1"));
}
