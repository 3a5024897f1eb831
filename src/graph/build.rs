//! From a checked configuration to parts that can be started.

use super::fanout::join;
use super::life::{Graph, Node};
use crate::component::factory::Exporter;
use crate::component::{BuildContext, Component, Consumer, Registry};
use crate::config::{ComponentId, Config, Pipeline, PipelineId};
use anyhow::Context;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Builds everything the pipelines and `service.extensions` name, and nothing else.
///
/// Errors: a part that cannot be built, with its name; references that lead nowhere.
pub fn build(config: &Config, registry: &Registry, context: &BuildContext) -> anyhow::Result<Graph> {
    let mut builder = Builder { config, registry, context, nodes: Vec::new() };
    let exporters = builder.exporters()?;
    let heads = builder.processors(&exporters)?;
    builder.receivers(&heads)?;
    let pipeline_nodes = std::mem::take(&mut builder.nodes);
    builder.extensions()?;
    builder.nodes.extend(pipeline_nodes);
    Ok(Graph { nodes: builder.nodes })
}

struct Builder<'a> {
    config: &'a Config,
    registry: &'a Registry,
    context: &'a BuildContext,
    nodes: Vec<Node>,
}

/// What the receivers of a pipeline send to.
type Heads<'a> = BTreeMap<&'a PipelineId, Arc<dyn Consumer>>;
type Exporters<'a> = BTreeMap<&'a ComponentId, Arc<dyn Consumer>>;

impl<'a> Builder<'a> {
    fn pipelines(&self) -> impl Iterator<Item = (&'a PipelineId, &'a Pipeline)> + use<'a> {
        self.config.service.pipelines.iter()
    }

    fn exporters(&mut self) -> anyhow::Result<Exporters<'a>> {
        let mut built = Exporters::new();
        for id in self.pipelines().flat_map(|(_, pipeline)| &pipeline.exporters) {
            if !built.contains_key(id) {
                built.insert(id, self.exporter(id)?);
            }
        }
        Ok(built)
    }

    fn exporter(&mut self, id: &ComponentId) -> anyhow::Result<Arc<dyn Consumer>> {
        let name = format!("exporters::{id}");
        let build = self.registry.exporter(id.type_name()).with_context(|| unknown(&name))?;
        let node = self.config.exporters.get(id).with_context(|| unknown(&name))?;
        let exporter = build(id, node, self.context).with_context(|| name.clone())?;
        Ok(self.keep(name, exporter))
    }

    fn processors(&mut self, exporters: &Exporters<'a>) -> anyhow::Result<Heads<'a>> {
        let mut heads = Heads::new();
        for (id, pipeline) in self.pipelines() {
            let mut next = join(of(&pipeline.exporters, exporters)?);
            for processor in pipeline.processors.iter().rev() {
                next = self.processor(id, processor, next)?;
            }
            heads.insert(id, next);
        }
        Ok(heads)
    }

    fn processor(
        &mut self,
        pipeline: &PipelineId,
        id: &ComponentId,
        next: Arc<dyn Consumer>,
    ) -> anyhow::Result<Arc<dyn Consumer>> {
        let name = format!("service::pipelines::{pipeline}: processors::{id}");
        let build = self.registry.processor(id.type_name()).with_context(|| unknown(&name))?;
        let node = self.config.processors.get(id).with_context(|| unknown(&name))?;
        let processor = build(id, node, next, self.context).with_context(|| name.clone())?;
        Ok(self.keep(name, processor))
    }

    fn receivers(&mut self, heads: &Heads<'a>) -> anyhow::Result<()> {
        let mut pipelines_of = BTreeMap::<&ComponentId, Vec<&PipelineId>>::new();
        for (pipeline, of) in self.pipelines() {
            let ids = of.receivers.iter();
            ids.for_each(|id| pipelines_of.entry(id).or_default().push(pipeline));
        }
        pipelines_of.into_iter().try_for_each(|(id, pipelines)| self.receiver(id, join(of(pipelines, heads)?)))
    }

    fn receiver(&mut self, id: &ComponentId, next: Arc<dyn Consumer>) -> anyhow::Result<()> {
        let name = format!("receivers::{id}");
        let build = self.registry.receiver(id.type_name()).with_context(|| unknown(&name))?;
        let node = self.config.receivers.get(id).with_context(|| unknown(&name))?;
        let component = build(id, node, next, self.context).with_context(|| name.clone())?;
        self.nodes.push(Node { name, component });
        Ok(())
    }

    /// Last, since extensions look at what exporters offer while they are built.
    fn extensions(&mut self) -> anyhow::Result<()> {
        for id in &self.config.service.extensions {
            let name = format!("extensions::{id}");
            let build = self.registry.extension(id.type_name()).with_context(|| unknown(&name))?;
            let node = self.config.extensions.get(id).with_context(|| unknown(&name))?;
            let component = build(id, node, self.context).with_context(|| name.clone())?;
            self.nodes.push(Node { name, component });
        }
        Ok(())
    }

    fn keep(&mut self, name: String, part: Arc<dyn Exporter>) -> Arc<dyn Consumer> {
        self.nodes.push(Node { name, component: part.clone() as Arc<dyn Component> });
        part
    }
}

fn unknown(name: &str) -> String {
    format!("{name}: referred to, but there is no such type or it is not configured")
}

/// The consumers behind these ids, each once.
fn of<'a, Id: Ord + std::fmt::Display + 'a>(
    ids: impl IntoIterator<Item = &'a Id>,
    consumers: &BTreeMap<&'a Id, Arc<dyn Consumer>>,
) -> anyhow::Result<Vec<Arc<dyn Consumer>>> {
    let mut seen = std::collections::BTreeSet::new();
    let once = ids.into_iter().filter(|id| seen.insert(*id));
    let found: anyhow::Result<Vec<_>> =
        once.map(|id| consumers.get(id).cloned().with_context(|| unknown(&id.to_string()))).collect();
    let found = found?;
    anyhow::ensure!(!found.is_empty(), "a pipeline without exporters would lose every batch; name at least one");
    Ok(found)
}
