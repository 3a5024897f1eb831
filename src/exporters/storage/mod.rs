//! `storage`: makes batches durable before they are answered, and lets them be read.

mod config;
mod profile;
mod reader;
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
use std::time::Duration;
use stores::Store;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// How long a sender is kept waiting for room before it is asked to come back: a refusal makes it send everything
/// again, which costs the core that the seal needs.
const DELAY: Duration = Duration::from_millis(200);

pub fn factory() -> Factory {
    Factory { name: "storage", check, stability: "alpha", build: Build::Exporter(build) }
}

fn check(node: &Node) -> Vec<Fault> {
    node.decode::<Config>().map_or_else(|faults| faults, |config| config.faults())
}

fn build(id: &ComponentId, node: &Node, context: &BuildContext) -> anyhow::Result<Arc<dyn Exporter>> {
    let config: Config = decode(node)?;
    let store = Arc::new(Store::new(config.options(&id.to_string())));
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
            match room(&engine, size).await {
                Ok(room) => Ok(Permit::new(Append { id: self.id.clone(), engine, room })),
                Err(error) => {
                    count(names::EXPORTER_SEND_FAILED_SPANS.name, &self.id, size.spans);
                    Err(rejection(error))
                }
            }
        })
    }
}

fn count(metric: &'static str, id: &str, spans: usize) {
    metrics::counter!(metric, "exporter" => id.to_owned()).increment(spans as u64);
}

/// Room for a batch, waited for as long as is worth it.
async fn room(engine: &Engine, size: BatchSize) -> Result<Room, AppendError> {
    let deadline = Instant::now() + DELAY;
    loop {
        let error = match engine.reserve(size.bytes, size.spans) {
            Err(error @ AppendError::Full(_)) => error,
            other => return other,
        };
        let (free, freed) = oneshot::channel::<()>();
        engine.on_room(Box::new(move || drop(free)));
        // Asked again after registering: room that became free in between is not missed.
        if let Ok(room) = engine.reserve(size.bytes, size.spans) {
            return Ok(room);
        }
        // `freed` ends when its other side is dropped, which is the call back.
        if timeout_at(deadline, freed).await.is_err() {
            return Err(error);
        }
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
        AppendError::Full(reason) => Rejection::busy(reason),
        error @ AppendError::NotSealed => Rejection::busy(error.to_string()),
        AppendError::TooLarge(reason) => Rejection::Invalid(reason),
        AppendError::Closed => Rejection::Closed,
        AppendError::Unknown(reason) => Rejection::Unknown(reason),
    }
}
