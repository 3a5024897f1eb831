//! What a component offers to be built from a configuration, and the list of all of them.

use super::{BoxFuture, Consumer, TraceReader};
use crate::config::{ComponentId, Kind, Node};
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

pub type BuildReceiver =
    fn(&ComponentId, &Node, Arc<dyn Consumer>, &BuildContext) -> anyhow::Result<Arc<dyn Component>>;
pub type BuildProcessor =
    fn(&ComponentId, &Node, Arc<dyn Consumer>, &BuildContext) -> anyhow::Result<Arc<dyn Exporter>>;
pub type BuildExporter = fn(&ComponentId, &Node, &BuildContext) -> anyhow::Result<Arc<dyn Exporter>>;
pub type BuildExtension = fn(&ComponentId, &Node, &BuildContext) -> anyhow::Result<Arc<dyn Component>>;

/// Builds a component of one kind from its checked configuration.
#[derive(Clone, Copy)]
pub enum Build {
    Receiver(BuildReceiver),
    /// A processor is a component and a consumer with the next consumer behind it.
    Processor(BuildProcessor),
    Exporter(BuildExporter),
    Extension(BuildExtension),
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

impl Registry {
    /// The factory of this kind and type, if there is one. A type name may stand for several kinds.
    pub fn find(&self, kind: Kind, name: &str) -> Option<&Factory> {
        self.factories.iter().find(|factory| factory.kind() == kind && factory.name == name)
    }

    pub fn receiver(&self, name: &str) -> Option<BuildReceiver> {
        match self.find(Kind::Receiver, name)?.build {
            Build::Receiver(build) => Some(build),
            _ => None,
        }
    }

    pub fn processor(&self, name: &str) -> Option<BuildProcessor> {
        match self.find(Kind::Processor, name)?.build {
            Build::Processor(build) => Some(build),
            _ => None,
        }
    }

    pub fn exporter(&self, name: &str) -> Option<BuildExporter> {
        match self.find(Kind::Exporter, name)?.build {
            Build::Exporter(build) => Some(build),
            _ => None,
        }
    }

    pub fn extension(&self, name: &str) -> Option<BuildExtension> {
        match self.find(Kind::Extension, name)?.build {
            Build::Extension(build) => Some(build),
            _ => None,
        }
    }
}

impl Factory {
    pub fn kind(&self) -> Kind {
        match self.build {
            Build::Receiver(_) => Kind::Receiver,
            Build::Processor(_) => Kind::Processor,
            Build::Exporter(_) => Kind::Exporter,
            Build::Extension(_) => Kind::Extension,
        }
    }
}

/// A component's configuration as its struct, for use in a build: the check has seen it before.
///
/// Errors: every fault the check would have found.
pub fn decode<T: serde::de::DeserializeOwned>(node: &Node) -> anyhow::Result<T> {
    node.decode().map_err(|faults| {
        let lines: Vec<_> = faults.iter().map(ToString::to_string).collect();
        anyhow::anyhow!(lines.join("; "))
    })
}
