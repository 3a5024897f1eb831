//! `storage`: makes batches durable before they are answered, and lets them be read.

mod config;
mod profile;
mod reader;
pub mod room;
mod stores;

pub use config::{Config, Durability, SamplingMode};
pub use profile::Profile;

use crate::component::factory::{Build, Exporter};
use crate::component::{
    BatchSize, BoxFuture, BuildContext, Component, Consumer, Factory, Permit, Rejection, SendBatch, decode,
};
use crate::config::{ComponentId, Fault, Node};
use crate::model::Batch;
use crate::storage::engine::Room;
use crate::storage::{AppendError, Engine};
use crate::telemetry::names;
use std::sync::Arc;
use stores::Store;
use tokio::sync::oneshot;

pub fn factory() -> Factory {
    Factory { name: "storage", check, stability: "alpha", build: Build::Exporter(build) }
}

fn check(node: &Node) -> Vec<Fault> {
    node.decode::<Config>().map_or_else(|faults| faults, |config| config.faults())
}

fn build(id: &ComponentId, node: &Node, context: &BuildContext) -> anyhow::Result<Arc<dyn Exporter>> {
    let config: Config = decode(node)?;
    let store = Arc::new(Store::new(config.options(&id.to_string()), config.merging()));
    let mut readers = context.readers.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    readers.insert(id.clone(), store.clone());
    Ok(Arc::new(Storage { id: id.to_string().into(), store }))
}

struct Storage {
    id: Arc<str>,
    store: Arc<Store>,
}

impl Component for Storage {
    fn start(&self) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async { self.store.open().await })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.store.close().await })
    }
}

impl Consumer for Storage {
    fn reserve(&self, size: BatchSize) -> BoxFuture<'_, Result<Permit, Rejection>> {
        Box::pin(async move {
            let engine = self.store.engine().ok_or(Rejection::Closed)?;
            match room::wait(&engine, size).await {
                Ok(room) => Ok(Permit::new(Append { id: self.id.clone(), engine, room })),
                Err(error) => {
                    count(names::EXPORTER_SEND_FAILED_SPANS.name, &self.id, size.spans);
                    count_refused(&self.id, &error);
                    Err(rejection(error))
                }
            }
        })
    }
}

fn count(metric: &'static str, id: &str, spans: usize) {
    metrics::counter!(metric, "exporter" => id.to_owned()).increment(spans as u64);
}

fn count_refused(id: &str, error: &AppendError) {
    if let AppendError::NoRoom(what) = error {
        let (exporter, reason) = (id.to_owned(), what.label());
        metrics::counter!(names::STORE_REFUSED.name, "exporter" => exporter, "reason" => reason).increment(1);
    }
}

struct Append {
    id: Arc<str>,
    engine: Arc<Engine>,
    room: Room,
}

impl SendBatch for Append {
    fn send(self: Box<Self>, batch: Batch) -> BoxFuture<'static, Result<(), Rejection>> {
        Box::pin(async move {
            let Self { id, engine, room } = *self;
            let spans = batch.spans().len();
            let (done, outcome) = oneshot::channel();
            // A sender that hung up does not stop what was begun.
            engine.append(batch, room, Box::new(move |outcome| drop(done.send(outcome))));
            let gone = || AppendError::Unknown("the store went away".into());
            let outcome = outcome.await.unwrap_or_else(|_| Err(gone()));
            let failed = outcome.is_err();
            let metric = if failed { names::EXPORTER_SEND_FAILED_SPANS } else { names::EXPORTER_SENT_SPANS };
            count(metric.name, &id, spans);
            outcome.map_err(rejection)
        })
    }
}

fn rejection(error: AppendError) -> Rejection {
    match error {
        AppendError::NoRoom(what) => Rejection::busy(what.to_string()),
        AppendError::Full(reason) => Rejection::busy(reason),
        error @ AppendError::NotSealed => Rejection::busy(error.to_string()),
        AppendError::TooLarge(reason) => Rejection::Invalid(reason),
        AppendError::Closed => Rejection::Closed,
        AppendError::Unknown(reason) => Rejection::Unknown(reason),
    }
}
