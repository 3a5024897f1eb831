//! What a span costs on its way in: the walk that ingest does, beside decoding into prost structs; and OTLP/JSON.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use sluice::model::{json, wire};
use std::hint::black_box;

#[path = "../tests/support/mod.rs"]
mod support;

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// About 410 bytes.
fn span(n: u64) -> Span {
    let text = |value: &str| Value::StringValue(value.to_owned());
    Span {
        trace_id: (u128::from(n / 10) << 64 | 1).to_be_bytes().to_vec(),
        span_id: (n + 1).to_be_bytes().to_vec(),
        parent_span_id: (n / 10 + 1).to_be_bytes().to_vec(),
        name: "GET /api/v1/products/{id}".to_owned(),
        kind: 2,
        start_time_unix_nano: 1_700_000_000_000_000_000 + n,
        end_time_unix_nano: 1_700_000_000_005_000_000 + n,
        attributes: vec![
            attribute("http.request.method", text("GET")),
            attribute("url.full", text("http://frontend-proxy:8080/api/v1/products/OLJCESPC7Z?currency=USD")),
            attribute("http.response.status_code", Value::IntValue(200)),
            attribute("server.address", text("frontend-proxy")),
            attribute("user_agent.original", text("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101")),
            attribute("network.peer.address", text("172.18.0.25")),
            attribute("app.user.premium", Value::BoolValue(false)),
        ],
        ..Span::default()
    }
}

fn made() -> Vec<u8> {
    let spans = (0..1000).map(span).collect();
    let resource = Resource {
        attributes: vec![attribute("service.name", Value::StringValue("frontend".to_owned()))],
        ..Resource::default()
    };
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    let resource_spans = vec![ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

/// Requests by name: one of our own, and those of the corpus where there is one.
fn inputs() -> Vec<(String, Vec<Vec<u8>>)> {
    let mut inputs = vec![("made".to_owned(), vec![made()])];
    for path in support::corpus_files("bulk", ".pb.gz") {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = support::read(&path);
        let requests = support::length_delimited(&content).iter().map(|request| request.to_vec()).collect();
        inputs.push((name, requests));
    }
    inputs
}

/// Throughput is in spans: its inverse is the time a span.
fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    for (name, requests) in inputs() {
        let spans: usize = requests.iter().map(|request| wire::walk(request).unwrap().spans.len()).sum();
        let bytes: usize = requests.iter().map(Vec::len).sum();
        println!("{name}: {} requests, {spans} spans, {} bytes a span", requests.len(), bytes / spans);
        group.throughput(Throughput::Elements(spans as u64)).sample_size(10);
        let texts: Vec<_> = requests.iter().map(|request| json::encode(request).unwrap()).collect();
        group.bench_function(BenchmarkId::new("walk", &name), |bencher| {
            bencher.iter(|| requests.iter().for_each(|request| drop(black_box(wire::walk(request)))));
        });
        group.bench_function(BenchmarkId::new("prost", &name), |bencher| {
            bencher.iter(|| requests.iter().for_each(|r| drop(black_box(ExportTraceServiceRequest::decode(&r[..])))));
        });
        group.bench_function(BenchmarkId::new("json to protobuf", &name), |bencher| {
            bencher.iter(|| texts.iter().for_each(|text| drop(black_box(json::decode(text)))));
        });
        group.bench_function(BenchmarkId::new("protobuf to json", &name), |bencher| {
            bencher.iter(|| requests.iter().for_each(|request| drop(black_box(json::encode(request)))));
        });
    }
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
