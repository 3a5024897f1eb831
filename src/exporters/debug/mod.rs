//! `debug`: writes what arrives to the log, for the first look at a pipeline.

mod text;
mod value;

use crate::component::factory::{Build, Exporter};
use crate::component::{
    BatchSize, BoxFuture, BuildContext, Component, Consumer, Factory, NotYet, Permit, Rejection, SendBatch,
};
use crate::config::{ComponentId, Fault, Node};
use crate::model::Batch;
use crate::telemetry::names;
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub verbosity: Verbosity,
    sampling_initial: NotYet,
    sampling_thereafter: NotYet,
    use_internal_logger: NotYet,
    output_paths: NotYet,
    sending_queue: NotYet,
}

/// How much of a batch is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verbosity {
    /// One line with the number of spans.
    #[default]
    Basic,
    /// That line, then one line a span.
    Normal,
    /// That line, then every field.
    Detailed,
}

pub fn factory() -> Factory {
    Factory { name: "debug", check, stability: "beta", build: Build::Exporter(build) }
}

fn check(node: &Node) -> Vec<Fault> {
    node.decode::<Config>().err().unwrap_or_default()
}

fn build(id: &ComponentId, node: &Node, _: &BuildContext) -> anyhow::Result<Arc<dyn Exporter>> {
    let Config { verbosity, .. } = crate::component::decode(node)?;
    Ok(Arc::new(Debug { log: Log { id: id.to_string().into(), verbosity }, closed: AtomicBool::new(false) }))
}

struct Debug {
    log: Log,
    closed: AtomicBool,
}

impl Component for Debug {
    fn start(&self) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.closed.store(true, Ordering::Release) })
    }
}

impl Consumer for Debug {
    fn reserve(&self, _: BatchSize) -> BoxFuture<'_, Result<Permit, Rejection>> {
        let closed = self.closed.load(Ordering::Acquire);
        let answer = if closed { Err(Rejection::Closed) } else { Ok(Permit::new(self.log.clone())) };
        Box::pin(std::future::ready(answer))
    }
}

#[derive(Clone)]
struct Log {
    id: Arc<str>,
    verbosity: Verbosity,
}

impl SendBatch for Log {
    fn send(self: Box<Self>, batch: Batch) -> BoxFuture<'static, Result<(), Rejection>> {
        Box::pin(async move {
            let answer = self.write(&batch);
            let count = if answer.is_ok() { names::EXPORTER_SENT_SPANS } else { names::EXPORTER_SEND_FAILED_SPANS };
            let spans = batch.spans().len() as u64;
            metrics::counter!(count.name, "exporter" => self.id.to_string()).increment(spans);
            answer
        })
    }
}

impl Log {
    fn write(&self, batch: &Batch) -> Result<(), Rejection> {
        let (spans, resources) = (batch.spans().len(), batch.table_sizes().0);
        let text = text::render(self.verbosity, batch).map_err(|error| Rejection::Invalid(error.to_string()))?;
        tracing::info!(
            "otelcol.component.id" = &*self.id,
            "resource spans" = resources,
            "spans" = spans,
            "Traces{text}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbosity_is_read_and_other_keys_are_refused_by_name() {
        let config: Config = Node::from_yaml("verbosity: detailed").unwrap().decode().unwrap();
        assert_eq!(config.verbosity, Verbosity::Detailed);
        assert_eq!(Node::null().decode::<Config>().unwrap(), Config::default());
        for key in ["sampling_initial: 2", "use_internal_logger: false", "output_paths: [stdout]"] {
            let faults = check(&Node::from_yaml(key).unwrap());
            assert!(faults[0].message.contains("not yet"), "{faults:?}");
        }
        assert_eq!(check(&Node::from_yaml("verbosty: basic").unwrap()).len(), 1);
    }
}
