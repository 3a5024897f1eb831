//! What holds for every component type, run through by each one that is registered.

use crate::support::{LONG, batch, send};
use sluice::app;
use sluice::component::factory::{Build, Exporter};
use sluice::component::{
    BatchSize, BoxFuture, BuildContext, Component, Consumer, Factory, Permit, ReadError, Rejection, SendBatch,
    TraceReader,
};
use sluice::config::{ComponentId, Kind, Node};
use sluice::model::{Batch, Trace, TraceId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Configurations to run with where the default needs a fixed port or a place on disk; `DIR` is a fresh directory.
const CONFIGURATIONS: &[(Kind, &str, &str)] = &[
    (Kind::Receiver, "otlp", "{protocols: {grpc: {endpoint: '127.0.0.1:0'}, http: {endpoint: '127.0.0.1:0'}}}"),
    (Kind::Exporter, "storage", "{directory: DIR}"),
    (Kind::Extension, "health_check", "{endpoint: '127.0.0.1:0'}"),
    (Kind::Extension, "query", "{endpoint: '127.0.0.1:0'}"),
];

/// Types that cannot do without configuration, and must say so.
const NEED_CONFIGURATION: &[(Kind, &str)] = &[(Kind::Receiver, "otlp")];

#[tokio::test(flavor = "multi_thread")]
async fn every_component_keeps_the_contract() {
    for factory in app::registry().factories {
        let name = format!("{} {}", factory.kind(), factory.name);
        let kept = tokio::time::timeout(LONG, keeps_the_contract(&factory));
        kept.await.unwrap_or_else(|_| panic!("{name}: hangs"));
    }
}

async fn keeps_the_contract(factory: &Factory) {
    let name = format!("{} {}", factory.kind(), factory.name);
    checks(factory, &name);

    let early = Subject::build(factory);
    early.component.shutdown().await;
    early.component.shutdown().await;
    drop(early);

    let subject = Subject::build(factory);
    subject.component.start().await.unwrap_or_else(|error| panic!("{name}: {error:#}"));
    let sent = subject.takes_a_batch(&name).await;
    subject.component.shutdown().await;
    subject.component.shutdown().await;
    if factory.kind() == Kind::Processor {
        let arrived = subject.arrived.load(Ordering::Acquire);
        assert_eq!(arrived, sent, "{name}: of what was answered Ok, everything reaches the next consumer");
    }
    subject.refuses(&name).await;
}

/// The default is good or says what it lacks, and an unknown key is refused by name.
fn checks(factory: &Factory, name: &str) {
    let default = (factory.check)(&Node::null());
    let lacking = NEED_CONFIGURATION.contains(&(factory.kind(), factory.name));
    assert_eq!(default.is_empty(), !lacking, "{name}: {default:?}");
    let unknown = (factory.check)(&Node::from_yaml("no_such_key: 1").unwrap());
    assert!(unknown.iter().any(|fault| fault.message.contains("no_such_key")), "{name}: {unknown:?}");
}

/// A component and what is around it.
struct Subject {
    component: Arc<dyn Component>,
    /// For those that take batches.
    consumer: Option<Arc<dyn Consumer>>,
    /// Spans that reached the next consumer.
    arrived: Arc<AtomicU64>,
    _directory: tempfile::TempDir,
}

impl Subject {
    fn build(factory: &Factory) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let found = CONFIGURATIONS.iter().find(|(kind, name, _)| (*kind, *name) == (factory.kind(), factory.name));
        let yaml = found.map_or("", |(_, _, yaml)| yaml).replace("DIR", directory.path().to_str().unwrap());
        let node = Node::from_yaml(&yaml).unwrap();
        assert_eq!((factory.check)(&node), [], "{}", factory.name);
        let arrived = Arc::new(AtomicU64::new(0));
        let next = Arc::new(Count(arrived.clone()));
        let (component, consumer) = parts(factory, &node, next);
        Self { component, consumer, arrived, _directory: directory }
    }

    /// Sends a batch to those that take one; how many spans it had.
    async fn takes_a_batch(&self, name: &str) -> u64 {
        let Some(consumer) = &self.consumer else { return 0 };
        send(&**consumer, batch(5)).await.unwrap_or_else(|refused| panic!("{name}: {refused}"));
        5
    }

    /// After a shutdown there is no more room, and nobody is told to try a little later.
    async fn refuses(&self, name: &str) {
        let Some(consumer) = &self.consumer else { return };
        let answer = consumer.reserve(BatchSize::of(&batch(1))).await.map(|_| "a permit");
        assert_eq!(answer, Err(Rejection::Closed), "{name}");
    }
}

type Parts = (Arc<dyn Component>, Option<Arc<dyn Consumer>>);

fn parts(factory: &Factory, node: &Node, next: Arc<dyn Consumer>) -> Parts {
    let id = ComponentId::parse(&format!("{}/contract", factory.name)).unwrap();
    let context = BuildContext::default();
    context.readers.lock().unwrap().insert(ComponentId::parse("store").unwrap(), Arc::new(Nothing));
    let both = |part: Arc<dyn Exporter>| (part.clone() as Arc<dyn Component>, Some(part as Arc<dyn Consumer>));
    match factory.build {
        Build::Receiver(build) => (build(&id, node, next, &context).unwrap(), None),
        Build::Processor(build) => both(build(&id, node, next, &context).unwrap()),
        Build::Exporter(build) => both(build(&id, node, &context).unwrap()),
        Build::Extension(build) => (build(&id, node, &context).unwrap(), None),
    }
}

/// A store without traces, for those that read.
struct Nothing;

impl TraceReader for Nothing {
    fn get_trace(&self, _: TraceId, _: std::time::Instant) -> BoxFuture<'_, Result<Option<Trace>, ReadError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// The next consumer.
struct Count(Arc<AtomicU64>);

impl Consumer for Count {
    fn reserve(&self, _: BatchSize) -> BoxFuture<'_, Result<Permit, Rejection>> {
        let permit = Permit::new(Arrive(self.0.clone()));
        Box::pin(std::future::ready(Ok(permit)))
    }
}

struct Arrive(Arc<AtomicU64>);

impl SendBatch for Arrive {
    fn send(self: Box<Self>, batch: Batch) -> BoxFuture<'static, Result<(), Rejection>> {
        self.0.fetch_add(batch.spans().len() as u64, Ordering::AcqRel);
        Box::pin(std::future::ready(Ok(())))
    }
}
