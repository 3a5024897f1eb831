//! What a component offers to be built from a configuration, and the list of all of them.

use super::{BoxFuture, Consumer, TraceReader};
use crate::config::{ComponentId, Node};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A running part. `start` is called once; `shutdown` may be called at any time, any number of times,
/// and drains: intake closed, then flush, then wait.
pub trait Component: Send + Sync {
    fn start(&self) -> BoxFuture<'_, anyhow::Result<()>>;
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// An exporter: a component at the end of a pipeline.
pub trait Exporter: Component + Consumer {}
impl<T: Component + Consumer> Exporter for T {}

/// What a component may take from its surroundings while it is built.
#[derive(Default, Clone)]
pub struct BuildContext {
    /// Stores that can be read, by the id of the exporter that owns them. Exporters add, extensions look.
    pub readers: Arc<Mutex<BTreeMap<ComponentId, Arc<dyn TraceReader>>>>,
    /// `true` once receivers listen; `false` again as soon as the stop begins.
    pub ready: Arc<std::sync::atomic::AtomicBool>,
}

/// Builds a component of one kind from its checked configuration.
pub enum Build {
    Receiver(fn(&ComponentId, &Node, Arc<dyn Consumer>, &BuildContext) -> anyhow::Result<Arc<dyn Component>>),
    /// A processor is a component and a consumer with the next consumer behind it.
    Processor(fn(&ComponentId, &Node, Arc<dyn Consumer>, &BuildContext) -> anyhow::Result<Arc<dyn Exporter>>),
    Exporter(fn(&ComponentId, &Node, &BuildContext) -> anyhow::Result<Arc<dyn Exporter>>),
    Extension(fn(&ComponentId, &Node, &BuildContext) -> anyhow::Result<Arc<dyn Component>>),
}

/// One component type.
pub struct Factory {
    /// The type as written in the configuration: `otlp`, `storage`, …
    pub name: &'static str,
    /// Decodes and checks a configuration without building anything. Every fault found is reported, with its key's path.
    pub check: fn(&Node) -> Vec<crate::config::Fault>,
    /// Shown by `sluice components`: `stable`, `beta`, `alpha`, `development`.
    pub stability: &'static str,
    pub build: Build,
}

/// Every component type there is. One line a type registers it.
#[derive(Default)]
pub struct Registry {
    pub factories: Vec<Factory>,
}
