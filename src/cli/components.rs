//! `sluice components`: what is in this binary.

use crate::component::{Factory, Registry};
use crate::config::Kind;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Components {
    buildinfo: BuildInfo,
    receivers: Vec<Entry>,
    processors: Vec<Entry>,
    exporters: Vec<Entry>,
    connectors: Vec<Entry>,
    extensions: Vec<Entry>,
    providers: Vec<Provider>,
}

#[derive(Serialize)]
struct BuildInfo {
    command: &'static str,
    description: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    /// By signal; an extension has one for itself.
    stability: BTreeMap<&'static str, &'static str>,
}

#[derive(Serialize)]
struct Provider {
    scheme: &'static str,
}

/// The list as a YAML document.
pub fn yaml(registry: &Registry) -> String {
    let all = Components {
        buildinfo: BuildInfo {
            command: env!("CARGO_PKG_NAME"),
            description: env!("CARGO_PKG_DESCRIPTION"),
            version: env!("CARGO_PKG_VERSION"),
        },
        receivers: entries(registry, Kind::Receiver),
        processors: entries(registry, Kind::Processor),
        exporters: entries(registry, Kind::Exporter),
        connectors: entries(registry, Kind::Connector),
        extensions: entries(registry, Kind::Extension),
        providers: ["env", "file", "yaml"].map(|scheme| Provider { scheme }).into(),
    };
    // Strings and lists always have a YAML form.
    serde_yaml::to_string(&all).unwrap_or_default()
}

fn entries(registry: &Registry, kind: Kind) -> Vec<Entry> {
    let mut entries: Vec<_> = registry.factories.iter().filter(|of| of.kind() == kind).map(entry).collect();
    entries.sort_by_key(|entry| entry.name);
    entries
}

fn entry(factory: &Factory) -> Entry {
    let of = if factory.kind() == Kind::Extension { "extension" } else { "traces" };
    Entry { name: factory.name, stability: BTreeMap::from([(of, factory.stability)]) }
}
