//! What data is taken, and as what: ids, times, unknown fields.

use crate::client::{post_json, post_protobuf};
use crate::requests::{attribute, of_spans, span, spans, text_attribute};
use crate::server::Server;
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue};
use opentelemetry_proto::tonic::trace::v1::{Span, span::Link};
use prost::Message;
use sluice::model::wire::put_bytes;

/// The spans that reached the pipeline.
fn arrived(server: &Server) -> Vec<Span> {
    let batches = server.sink.batches();
    let requests = batches.iter().map(|batch| ExportTraceServiceRequest::decode(batch.bytes().clone()).unwrap());
    let resources = requests.flat_map(|request| request.resource_spans);
    resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
}

fn sent(span: Span) -> Span {
    let server = Server::start();
    assert_eq!(post_protobuf(server.http(), of_spans(vec![span]).encode_to_vec()).status, 200);
    arrived(&server).remove(0)
}

/// Rules 52, 53.
#[test]
fn each_bad_id_costs_its_span_and_no_other() {
    let server = Server::start();
    let ids = [vec![], vec![0; 16], vec![1; 15], vec![1; 17], vec![1; 32]];
    let mut all: Vec<_> = ids.iter().map(|id| Span { trace_id: id.clone(), ..span(1) }).collect();
    all.extend([vec![], vec![0; 8], vec![1; 7], vec![1; 16]].map(|id| Span { span_id: id, ..span(2) }));
    all.push(Span { parent_span_id: vec![1; 7], ..span(3) });
    all.push(span(4));
    let reply = post_protobuf(server.http(), of_spans(all).encode_to_vec());
    let partial = ExportTraceServiceResponse::decode(&*reply.body).unwrap().partial_success.unwrap();
    assert_eq!((partial.rejected_spans, arrived(&server)), (10, vec![span(4)]));
}

/// Rule 52.
#[test]
fn no_parent_and_an_all_zero_parent_are_roots() {
    for parent in [vec![], vec![0; 8]] {
        let root = Span { parent_span_id: parent, ..span(0) };
        assert_eq!(sent(root.clone()), root);
    }
}

/// Rule 53.
#[test]
fn a_link_with_a_bad_id_is_left_out_and_its_span_lives() {
    let good = Link { trace_id: vec![1; 16], span_id: vec![1; 8], ..Link::default() };
    let bad = Link { span_id: vec![], ..good.clone() };
    let arrived = sent(Span { links: vec![bad, good.clone()], ..span(0) });
    assert_eq!(arrived.links, [good]);
}

/// Rule 54.
#[test]
fn any_times_are_taken() {
    for (start, end) in [(5, 1), (0, 0), (0, u64::MAX), (u64::MAX, 0), (7_258_118_400_000_000_000, 1)] {
        let odd = Span { start_time_unix_nano: start, end_time_unix_nano: end, ..span(0) };
        assert_eq!(sent(odd.clone()), odd);
    }
}

/// Rules 41, 55.
#[test]
fn flags_trace_state_and_unknown_kinds_stay_as_they_are() {
    let odd = Span { flags: u32::MAX, trace_state: "not a=valid,,state".to_owned(), kind: 99, ..span(0) };
    assert_eq!(sent(odd.clone()), odd);
    let negative = Span { kind: -1, ..span(0) };
    assert_eq!(sent(negative.clone()), negative);
}

/// Rule 47.
#[test]
fn duplicate_attribute_keys_are_taken() {
    let odd = Span { attributes: vec![text_attribute("a", "1"), text_attribute("a", "2")], ..span(0) };
    assert_eq!(sent(odd.clone()), odd);
}

/// Rule 57: unknown fields of every wire type, groups in groups included, are skipped and kept.
#[test]
fn unknown_fields_are_kept() {
    let server = Server::start();
    // Fields 1000 as a group that holds a group and a number, 1001 fixed64, 1002 fixed32, 1003 bytes.
    let group = [0xc3, 0x3e, 0x0b, 0x08, 0x01, 0x0c, 0xc4, 0x3e];
    let unknown = [&group[..], &[0xc9, 0x3e, 1, 2, 3, 4, 5, 6, 7, 8], &[0xd5, 0x3e, 1, 2, 3, 4], &[0xda, 0x3e, 1, 9]];
    let body = [spans(1), unknown.concat()].concat();
    assert_eq!(post_protobuf(server.http(), &body).status, 200);
    assert_eq!(server.sink.batches()[0].bytes(), &body);
}

/// Rule 57.
#[test]
fn a_known_field_of_the_wrong_wire_type_is_400() {
    let server = Server::start();
    // A `Span` whose kind is a fixed32, in its scope, in its resource.
    let kind_as_fixed32 = vec![0x30 | 5, 2, 0, 0, 0];
    let in_span = [2, 2, 1].into_iter().fold(kind_as_fixed32, |inner, field| {
        let mut outer = Vec::new();
        put_bytes(&mut outer, field, &inner);
        outer
    });
    for body in [&[0x08, 1][..], &in_span] {
        assert_eq!(post_protobuf(server.http(), body).status, 400);
    }
}

/// Case A4: a length beyond the end of its message.
#[test]
fn a_length_that_lies_is_400() {
    let server = Server::start();
    let body = spans(1);
    for place in 0..body.len() {
        let mut bent = body.clone();
        bent[place] = 0x7f;
        assert!(matches!(post_protobuf(server.http(), &bent).status, 200 | 400));
    }
    assert_eq!(post_protobuf(server.http(), [0x0a, 0x05, 0x0a, 0x7f, 0x61]).status, 400);
}

/// Rule 49.
#[test]
fn a_depth_bomb_is_400_in_protobuf() {
    let server = Server::start();
    let mut value = AnyValue::default();
    for _ in 0..200 {
        value = AnyValue { value: Some(Value::ArrayValue(ArrayValue { values: vec![value] })) };
    }
    let deep = Span { attributes: vec![attribute("deep", value.value)], ..span(0) };
    assert_eq!(post_protobuf(server.http(), of_spans(vec![deep]).encode_to_vec()).status, 400);
    let groups = [0x0b; 10_000];
    assert_eq!(post_protobuf(server.http(), groups).status, 400);
}

/// Rule 56: the pipeline sees both; who stores them collapses them.
#[test]
fn the_same_request_twice_is_two_successes() {
    let server = Server::start();
    let body = sluice::model::json::encode(&spans(1)).unwrap();
    assert_eq!([post_json(server.http(), &body).status, post_json(server.http(), &body).status], [200, 200]);
}
