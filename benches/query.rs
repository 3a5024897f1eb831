//! What reads cost: `cargo bench --bench query [-- SPANS]`, one million spans by default, of a made-up shop with 30 services.
//!
//! Each service sends batches of its own, so that traces are spread over batches and some over two segments. A table is printed;
//! times are those of single reads, one after the other.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest as Request;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;
use sluice::model::{Order, TraceId, TraceQuery};
use sluice::storage::disk::SystemDisk;
use sluice::storage::query::Limits;
use sluice::storage::{Engine, Options, Snapshot};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::questions::Random;
use support::{store, traces::attribute};

#[path = "../tests/support/mod.rs"]
mod support;

const SERVICES: usize = 30;
const OPERATIONS: usize = 12;
/// Spans of one service that make a request.
const BATCH: usize = 100;
const SEGMENTS: usize = 10;
const BEGIN: u64 = 1_700_000_000_000_000_000;
/// Between two traces.
const PACE: u64 = 1_000_000;

fn main() {
    let spans = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1_000_000);
    println!("{:<44} {:>12} {:>12}", "", "p50", "p99");
    in_memory(700_000.min(spans));
    in_segments(spans);
}

/// A memtable of 128 MiB: small spans in small batches, nothing sealed.
fn in_memory(spans: usize) {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::new(directory.path());
    (options.memtable_max, options.seal.max_size, options.wal.max_size) = (1 << 30, 256 << 20, 2 << 30);
    options.seal.max_age = Duration::from_secs(3600);
    let mut made = Made::new(10, false);
    let mut requests = Vec::new();
    while made.spans < spans {
        requests.append(&mut made.trace());
    }
    let batches = |requests: &[Vec<u8>]| requests.len();
    println!("in memory: {} spans, {} traces, {} batches", made.spans, made.traces, batches(&requests));
    let engine = store::open(options, Arc::new(SystemDisk));
    store::append_all(&engine, requests.iter().map(|request| &**request));
    println!("  {} MiB, of them {} sealed segments", engine.memory() >> 20, engine.segment_count());
    let first = Instant::now();
    engine.snapshot().trace(made.id(1), Limits::NONE).unwrap();
    println!("{:<44} {:>12}", "  first look-up, which builds the index", format!("{:.1?}", first.elapsed()));
    reads(&engine, &made);
}

fn in_segments(spans: usize) {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::new(directory.path());
    (options.memtable_max, options.seal.max_size, options.wal.max_size) = (2 << 30, 512 << 20, 2 << 30);
    options.seal.max_age = Duration::from_secs(3600);
    let engine = store::open(options, Arc::new(SystemDisk));
    let mut made = Made::new(BATCH, true);
    for segment in 1..=SEGMENTS {
        while made.spans < spans * segment / SEGMENTS {
            let requests = made.trace();
            store::append_all(&engine, requests.iter().map(|request| &**request));
        }
        if segment == SEGMENTS {
            let rest = made.rest();
            store::append_all(&engine, rest.iter().map(|request| &**request));
        }
        engine.flush().unwrap();
    }
    println!("sealed: {} spans, {} traces, {} segments", made.spans, made.traces, engine.segment_count());
    reads(&engine, &made);
}

fn reads(engine: &Engine, made: &Made) {
    let mut random = Random(7);
    let traces = made.traces;
    row("get trace, there", 1_000, || {
        let id = made.id(random.next() % traces);
        assert!(!engine.snapshot().trace(id, Limits::NONE).unwrap().spans.is_empty());
    });
    let mut random = Random(8);
    row("get trace, not there", 1_000, || {
        let id = made.id(traces + 1 + random.next() % (1 << 40));
        assert!(engine.snapshot().trace(id, Limits::NONE).unwrap().spans.is_empty());
    });
    row("services", 50, || assert_eq!(engine.snapshot().services(Limits::NONE).unwrap().found.len(), SERVICES));
    row("operations of a service", 50, || {
        let operations = engine.snapshot().operations(&service(3), Limits::NONE).unwrap().found;
        assert_eq!(operations.len(), OPERATIONS * 5);
    });
    let asked = |change: fn(&mut TraceQuery)| {
        let mut query = TraceQuery { limit: 20, ..TraceQuery::default() };
        change(&mut query);
        query
    };
    let questions = [
        ("any", asked(|_| {})),
        ("service", asked(|query| query.service = Some(service(3)))),
        ("service, last tenth of the time", asked(|query| query.service = Some(service(3)))),
        ("service, an hour long gone", asked(|query| query.service = Some(service(3)))),
        (
            "service and operation",
            asked(|query| {
                (query.service, query.operation) = (Some(service(3)), Some(operation(3, 5)));
            }),
        ),
        ("errors of a service", asked(|query| (query.service, query.status) = (Some(service(3)), Some(2)))),
        ("duration over 2 s", asked(|query| query.duration.0 = Some(2_000_000_000))),
        ("attribute, one span in 30", asked(|query| query.attributes = vec![("user".into(), "17".into())])),
        ("attribute, one span of all", asked(|query| query.attributes = vec![("order".into(), "4711".into())])),
        ("attribute value that is nowhere", asked(|query| query.attributes = vec![("user".into(), "nobody".into())])),
        ("attribute key that is nowhere", asked(|query| query.attributes = vec![("nokey".into(), "1".into())])),
        ("service that is nowhere", asked(|query| query.service = Some("nobody".into()))),
    ];
    for (name, query) in questions {
        for order in [Order::NewestFirst, Order::SlowestFirst] {
            let mut query = TraceQuery { order, ..query.clone() };
            let (from, to) = (BEGIN, BEGIN + traces * PACE);
            match name {
                "service, last tenth of the time" => query.start = (Some(to - (to - from) / 10), Some(to)),
                "service, an hour long gone" => {
                    query.start = (Some(from + (to - from) / 10), Some(from + (to - from) / 8))
                }
                _ => {}
            }
            let name = format!("find: {name}, {}", if order == Order::NewestFirst { "newest" } else { "slowest" });
            let snapshot: Snapshot = engine.snapshot();
            let found = snapshot.find(&query, Limits::NONE).unwrap().found.len();
            let name = format!("{name} ({found})");
            row(&name, 30, || assert_eq!(engine.snapshot().find(&query, Limits::NONE).unwrap().found.len(), found));
        }
    }
}

fn row(name: &str, times: usize, mut read: impl FnMut()) {
    read();
    let begun = Instant::now();
    let mut taken = Vec::new();
    // What takes seconds is not taken as often.
    while taken.len() < times && (begun.elapsed() < Duration::from_secs(6) || taken.len() < 3) {
        let begun = Instant::now();
        read();
        taken.push(begun.elapsed());
    }
    taken.sort();
    let at = |part: f64| format!("{:.1?}", taken[((taken.len() - 1) as f64 * part) as usize]);
    println!("{:<44} {:>12} {:>12}", format!("  {name}"), at(0.5), at(0.99));
}

fn service(number: usize) -> String {
    format!("service-{number}")
}

fn operation(service: usize, number: usize) -> String {
    format!("/api/{service}/operation/{number}")
}

/// Makes traces, one after the other in time.
struct Made {
    random: Random,
    batch: usize,
    large: bool,
    pending: Vec<Vec<Span>>,
    spans: usize,
    traces: u64,
}

impl Made {
    fn new(batch: usize, large: bool) -> Self {
        Self { random: Random(1), batch, large, pending: vec![Vec::new(); SERVICES], spans: 0, traces: 0 }
    }

    fn id(&self, number: u64) -> TraceId {
        support::traces::trace_id(number)
    }

    /// The requests that the next trace fills.
    fn trace(&mut self) -> Vec<Vec<u8>> {
        let number = self.traces;
        self.traces += 1;
        let start = BEGIN + number * PACE;
        // Most take milliseconds, some seconds.
        let duration = 1_000_000u64 << self.random.below(10) << if self.random.one_in(100) { 4 } else { 0 };
        let count = 2 + self.random.below(17);
        let mut full = Vec::new();
        for place in 0..count {
            let service = self.random.below(SERVICES);
            let share = duration / (place as u64 + 1);
            let span = self.span(number, place as u64, service, (start + (duration - share) / 2, share));
            self.pending[service].push(span);
            self.spans += 1;
            if self.pending[service].len() >= self.batch {
                full.extend(self.request(service));
            }
        }
        full
    }

    fn span(&mut self, trace: u64, place: u64, of: usize, (start, duration): (u64, u64)) -> Span {
        let id = (trace * 1_000 + place + 1).to_be_bytes().to_vec();
        let mut attributes = Vec::new();
        if self.large {
            attributes.push(attribute("http.request.method", "GET"));
            attributes
                .push(attribute("url.full", &format!("http://shop.example/api/{of}/{}", self.random.below(10_000))));
            attributes.push(number_attribute("http.response.status_code", 200));
            attributes.push(attribute("user", &self.random.below(30).to_string()));
            attributes.push(attribute("server.address", &service(of)));
        }
        if trace == 400 && place == 1 {
            attributes.push(number_attribute("order", 4711));
        }
        Span {
            trace_id: self.id(trace).0.to_vec(),
            span_id: id,
            parent_span_id: if place == 0 { Vec::new() } else { (trace * 1_000 + 1).to_be_bytes().to_vec() },
            name: operation(of, self.random.below(OPERATIONS)),
            kind: 1 + (place % 5) as i32,
            start_time_unix_nano: start,
            end_time_unix_nano: start + duration,
            attributes,
            status: self.random.one_in(200).then(|| Status { code: 2, message: "broken".into() }),
            ..Span::default()
        }
    }

    fn request(&mut self, of: usize) -> Option<Vec<u8>> {
        let spans = std::mem::take(&mut self.pending[of]);
        if spans.is_empty() {
            return None;
        }
        let resource = Resource { attributes: vec![attribute("service.name", &service(of))], ..Resource::default() };
        let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
        let of_resource = ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() };
        Some(Request { resource_spans: vec![of_resource] }.encode_to_vec())
    }

    /// What has not filled a request.
    fn rest(&mut self) -> Vec<Vec<u8>> {
        (0..SERVICES).filter_map(|service| self.request(service)).collect()
    }
}

fn number_attribute(key: &str, value: i64) -> KeyValue {
    let value = AnyValue { value: Some(Value::IntValue(value)) };
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}
