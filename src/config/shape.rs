//! The sections of the file: components by id, pipelines, extensions, telemetry.

use super::fault::join;
use super::node::{Node, Value};
use super::{ComponentId, Fault, Kind, PipelineId, Telemetry, remarks, telemetry};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A configuration whose sections are what they must be. Each component's own keys are still undecoded.
#[derive(Debug, Clone, Default)]
pub struct Config {
    pub receivers: BTreeMap<ComponentId, Node>,
    pub processors: BTreeMap<ComponentId, Node>,
    pub exporters: BTreeMap<ComponentId, Node>,
    pub connectors: BTreeMap<ComponentId, Node>,
    pub extensions: BTreeMap<ComponentId, Node>,
    pub service: Service,
}

impl Config {
    /// The components of one kind.
    pub fn section(&self, kind: Kind) -> &BTreeMap<ComponentId, Node> {
        match kind {
            Kind::Receiver => &self.receivers,
            Kind::Processor => &self.processors,
            Kind::Exporter => &self.exporters,
            Kind::Connector => &self.connectors,
            Kind::Extension => &self.extensions,
        }
    }

    /// Marks the value at a full path (section, id, keys) as a secret.
    pub(super) fn mark_secret(&mut self, path: &[String]) {
        let [section, id, keys @ ..] = path else { return };
        let sections = [
            (Kind::Receiver, &mut self.receivers),
            (Kind::Processor, &mut self.processors),
            (Kind::Exporter, &mut self.exporters),
            (Kind::Connector, &mut self.connectors),
            (Kind::Extension, &mut self.extensions),
        ];
        for (_, components) in sections.into_iter().filter(|(kind, _)| kind.section() == section) {
            components.iter_mut().filter(|(other, _)| other.to_string() == *id).for_each(|(_, n)| n.mark_secret(keys));
        }
    }

    /// Puts the components, their ids trimmed and their secrets marked, in place of the sections of `node`.
    pub(super) fn replace_sections(&self, node: &mut Node) {
        let Value::Map(root) = &mut node.value else { return };
        for kind in Kind::ALL.into_iter().filter(|kind| !self.section(*kind).is_empty()) {
            let components = self.section(kind).iter().map(|(id, node)| (id.to_string(), node.clone())).collect();
            root.insert(kind.section().to_owned(), Value::Map(components).into());
        }
    }
}

/// What runs, of all that is defined.
#[derive(Debug, Clone, Default)]
pub struct Service {
    /// In the order they are started in.
    pub extensions: Vec<ComponentId>,
    pub pipelines: BTreeMap<PipelineId, Pipeline>,
    pub telemetry: Telemetry,
}

/// One pipeline; processors in the order data passes them. No id stands in a list twice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pipeline {
    pub receivers: Vec<ComponentId>,
    pub processors: Vec<ComponentId>,
    pub exporters: Vec<ComponentId>,
}

impl Pipeline {
    /// A receiver or exporter named twice is still one receiver or exporter: the Collector's graph has one node an id.
    pub(super) fn once(&mut self) {
        for list in [&mut self.receivers, &mut self.exporters] {
            let mut seen = BTreeSet::new();
            list.retain(|id| seen.insert(id.clone()));
        }
    }
}

/// Finds the sections. Faults are gathered; what has one is left out of the result.
pub(super) fn read(node: &Node, faults: &mut Vec<Fault>) -> Config {
    let keys = ["receivers", "processors", "exporters", "connectors", "extensions", "service"];
    let root = fields(node, "", &keys, faults);
    let mut section = |kind: Kind| match root.get(kind.section()) {
        Some(node) => entries(node, kind.section(), ComponentId::parse, faults),
        None => BTreeMap::new(),
    };
    Config {
        receivers: section(Kind::Receiver),
        processors: section(Kind::Processor),
        exporters: section(Kind::Exporter),
        connectors: section(Kind::Connector),
        extensions: section(Kind::Extension),
        service: root.get("service").map(|node| service(node, faults)).unwrap_or_default(),
    }
}

fn service(node: &Node, faults: &mut Vec<Fault>) -> Service {
    let keys = fields(node, "service", &["extensions", "pipelines", "telemetry"], faults);
    let at = |key: &str| keys.get(key).copied().cloned().unwrap_or_else(Node::null);
    let mut pipelines = BTreeMap::new();
    for (id, node) in entries(&at("pipelines"), "service::pipelines", PipelineId::parse, faults) {
        let path = format!("service::pipelines::{id}");
        pipelines.insert(id, decoded(node.decode(), &path, faults));
    }
    let extensions = if at("extensions").is_null() { Ok(Vec::new()) } else { at("extensions").decode() };
    Service {
        extensions: decoded(extensions, "service::extensions", faults),
        pipelines,
        telemetry: decoded(read_telemetry(&at("telemetry")), "service::telemetry", faults),
    }
}

fn read_telemetry(node: &Node) -> Result<Telemetry, Vec<Fault>> {
    let place = ["service", "telemetry"].map(str::to_owned);
    remarks::within(&place, || telemetry::read(node))
}

fn decoded<T: Default>(result: Result<T, Vec<Fault>>, path: &str, faults: &mut Vec<Fault>) -> T {
    result.unwrap_or_else(|found| {
        faults.extend(found.into_iter().map(|fault| fault.under(path)));
        T::default()
    })
}

/// A map with these keys and no others; null is an empty one.
fn fields<'a>(node: &'a Node, path: &str, known: &[&str], faults: &mut Vec<Fault>) -> BTreeMap<&'a str, &'a Node> {
    let (known_keys, unknown): (BTreeMap<_, _>, BTreeMap<_, _>) =
        map(node, path, faults).partition(|(key, _)| known.contains(key));
    let refuse = |key| Fault::new(path, format!("has invalid keys: {key} (valid keys: [{}])", known.join(" ")));
    faults.extend(unknown.into_keys().map(refuse));
    known_keys
}

/// A map whose keys are ids.
fn entries<I: Ord>(
    node: &Node,
    path: &str,
    parse: fn(&str) -> Result<I, String>,
    faults: &mut Vec<Fault>,
) -> BTreeMap<I, Node> {
    let mut entries = BTreeMap::new();
    let found: Vec<_> = map(node, path, faults).collect();
    for (key, node) in found {
        match parse(key) {
            Ok(id) if entries.contains_key(&id) => {
                faults.push(Fault::new(path, format!("duplicate name \"{}\" after trimming blanks", key.trim())));
            }
            Ok(id) => _ = entries.insert(id, node.clone()),
            Err(message) => faults.push(Fault::new(path, message)),
        }
    }
    entries
}

fn map<'a>(node: &'a Node, path: &str, faults: &mut Vec<Fault>) -> impl Iterator<Item = (&'a str, &'a Node)> {
    let map = match &node.value {
        Value::Map(map) => Some(map),
        Value::Null => None,
        _ => {
            faults.push(Fault::new(join(path, ""), format!("expected a map, got {}", node.type_word())));
            None
        }
    };
    map.into_iter().flatten().map(|(key, node)| (key.as_str(), node))
}
