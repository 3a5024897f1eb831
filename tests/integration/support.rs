//! Parts that note what happens to them, and batches to send through them.
//!
//! `source`, `pass`, `sink` and `side` are a receiver, a processor, an exporter and an extension. An id is
//! `sink/TEST.LABEL`; what happens to it is noted under TEST.

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde::Deserialize;
use sluice::component::factory::Build;
use sluice::component::{
    BatchSize, BoxFuture, Component, Consumer, Factory, Permit, Registry, Rejection, SendBatch, decode,
};
use sluice::config::{ComponentId, Config, Node, embedded, load};
use sluice::model::Batch;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// A deadline that only a hang exceeds.
pub const LONG: Duration = Duration::from_secs(20);

static NOTES: Mutex<BTreeMap<String, Vec<String>>> = Mutex::new(BTreeMap::new());
static SOURCES: Mutex<BTreeMap<String, Arc<dyn Consumer>>> = Mutex::new(BTreeMap::new());

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What happened in a test so far; the notes start anew.
pub fn notes(test: &str) -> Vec<String> {
    locked(&NOTES).remove(test).unwrap_or_default()
}

/// What the receiver `source/NAME` sends to.
pub fn source(name: &str) -> Arc<dyn Consumer> {
    locked(&SOURCES).get(name).unwrap().clone()
}

/// The parts of this module and nothing else.
pub fn registry() -> Registry {
    let factory = |name, build| Factory {
        name,
        check: |node| Node::decode::<Options>(node).err().unwrap_or_default(),
        stability: "test",
        build,
    };
    let source = Build::Receiver(|id, node, next, _| {
        locked(&SOURCES).insert(id.name().unwrap_or_default().into(), next.clone());
        Ok(Part::new(id, node, Some(next))?)
    });
    let pass = Build::Processor(|id, node, next, _| Ok(Part::new(id, node, Some(next))?));
    let sink = Build::Exporter(|id, node, _| Ok(Part::new(id, node, None)?));
    let side = Build::Extension(|id, node, _| Ok(Part::new(id, node, None)?));
    Registry {
        factories: vec![factory("source", source), factory("pass", pass), factory("sink", sink), factory("side", side)],
    }
}

/// A configuration checked against the types of `registry`.
pub fn configuration(yaml: &str, registry: &Registry) -> Config {
    load(&[embedded(yaml)], &[], registry).unwrap_or_else(|faults| panic!("{faults:?}\n{yaml}")).config
}

/// How a part misbehaves.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    fail_start: bool,
    hang_stop: bool,
    refuse: Option<Refuse>,
    /// Asks this address for its health at start and stop and notes the answer.
    probe: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Refuse {
    ReserveBusy,
    SendBusy,
    SendInvalid,
}

#[derive(Clone)]
struct Part {
    test: String,
    label: String,
    options: Options,
    next: Option<Arc<dyn Consumer>>,
}

impl Part {
    fn new(id: &ComponentId, node: &Node, next: Option<Arc<dyn Consumer>>) -> anyhow::Result<Arc<Self>> {
        let (test, label) = id.name().unwrap_or_default().split_once('.').unwrap_or_default();
        let label = format!("{} {label}", id.type_name());
        let part = Self { test: test.into(), label, options: decode(node)?, next };
        part.note("build");
        Ok(Arc::new(part))
    }

    fn note(&self, what: &str) {
        locked(&NOTES).entry(self.test.clone()).or_default().push(format!("{what} {}", self.label));
    }

    async fn probe(&self) {
        if let Some(address) = self.options.probe.clone() {
            let (status, _) = get(&address, "/").await;
            self.note(&format!("health {status} seen by"));
        }
    }
}

impl Component for Part {
    fn start(&self) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async {
            self.note("start");
            self.probe().await;
            anyhow::ensure!(!self.options.fail_start, "told to fail");
            Ok(())
        })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.note("stop");
            self.probe().await;
            if self.options.hang_stop {
                std::future::pending::<()>().await;
            }
        })
    }
}

impl Consumer for Part {
    fn reserve(&self, size: BatchSize) -> BoxFuture<'_, Result<Permit, Rejection>> {
        Box::pin(async move {
            self.note("reserve");
            if self.options.refuse == Some(Refuse::ReserveBusy) {
                return Err(Rejection::busy("told to be busy"));
            }
            let next = match &self.next {
                Some(next) => Some(next.reserve(size).await?),
                None => None,
            };
            Ok(Permit::new(Sending { part: self.clone(), next }))
        })
    }
}

struct Sending {
    part: Part,
    next: Option<Permit>,
}

impl SendBatch for Sending {
    fn send(self: Box<Self>, batch: Batch) -> BoxFuture<'static, Result<(), Rejection>> {
        Box::pin(async move {
            self.part.note("send");
            match (self.part.options.refuse, self.next) {
                (Some(Refuse::SendBusy), _) => Err(Rejection::busy("told to be busy")),
                (Some(Refuse::SendInvalid), _) => Err(Rejection::Invalid("told to refuse".into())),
                (_, Some(next)) => next.send(batch).await,
                (_, None) => Ok(()),
            }
        })
    }
}

/// A request of this many spans.
pub fn batch(spans: u8) -> Batch {
    let span =
        |n: u8| Span { trace_id: vec![7; 16], span_id: vec![n + 1; 8], name: format!("span {n}"), ..Span::default() };
    let scope = ScopeSpans { spans: (0..spans).map(span).collect(), ..ScopeSpans::default() };
    let resource = ResourceSpans { scope_spans: vec![scope], ..ResourceSpans::default() };
    let request = ExportTraceServiceRequest { resource_spans: vec![resource] };
    Batch::from_otlp(Bytes::from(request.encode_to_vec())).unwrap().batch
}

/// Sends a batch as a receiver does.
pub async fn send(to: &dyn Consumer, batch: Batch) -> Result<(), Rejection> {
    to.reserve(BatchSize::of(&batch)).await?.send(batch).await
}

/// An address nobody listens on at this moment.
pub fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Status code and body of a page.
pub async fn get(address: &str, path: &str) -> (u16, String) {
    request(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")).await
}

/// Status code and body of the answer to a post.
pub async fn post(address: &str, path: &str, content_type: &str, body: &str) -> (u16, String) {
    let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: {content_type}");
    request(address, format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())).await
}

async fn request(address: &str, request: String) -> (u16, String) {
    let address = address.to_owned();
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let answer = answer.await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}
