//! What the sections say about each other, and what each component says about its own keys.

use super::{ComponentId, Config, Fault, Kind, Pipeline, PipelineId, Signal, Types, remarks};
use std::collections::BTreeSet;

/// Whether the sections the file must have are there.
pub(super) fn presence(config: &Config, faults: &mut Vec<Fault>) {
    if Kind::ALL.into_iter().all(|kind| config.section(kind).is_empty()) {
        return faults.push(Fault::new("", "empty configuration file: no component is defined"));
    }
    if config.receivers.is_empty() {
        faults.push(Fault::new("receivers", "no receiver configuration specified in config"));
    }
    if config.exporters.is_empty() {
        faults.push(Fault::new("exporters", "no exporter configuration specified in config"));
    }
    if config.service.pipelines.is_empty() {
        faults.push(Fault::new("service::pipelines", "service must have at least one pipeline"));
    }
}

/// Whether pipelines and the extension list name what is there.
pub(super) fn references(config: &Config, faults: &mut Vec<Fault>) {
    for id in config.service.extensions.iter().filter(|id| !config.extensions.contains_key(id)) {
        let message = format!("references extension \"{id}\" which is not configured");
        faults.push(Fault::new("service::extensions", message));
    }
    for (id, pipeline) in &config.service.pipelines {
        let mut refuse = |message: String| faults.push(Fault::new(format!("service::pipelines::{id}"), message));
        signal(id, &mut refuse);
        lengths(pipeline, &mut refuse);
        repeated(pipeline, &mut refuse);
        unknown(config, pipeline, &mut refuse);
    }
}

fn signal(id: &PipelineId, refuse: &mut dyn FnMut(String)) {
    if id.signal() != Signal::Traces {
        refuse(format!("{} pipelines are not yet supported: remove the pipeline \"{id}\"", id.signal()));
    }
}

fn lengths(pipeline: &Pipeline, refuse: &mut dyn FnMut(String)) {
    for (list, kind) in [(&pipeline.receivers, Kind::Receiver), (&pipeline.exporters, Kind::Exporter)] {
        if list.is_empty() {
            refuse(format!("must have at least one {kind}"));
        }
    }
}

fn repeated(pipeline: &Pipeline, refuse: &mut dyn FnMut(String)) {
    let mut seen = BTreeSet::new();
    let again: BTreeSet<_> = pipeline.processors.iter().filter(|id| !seen.insert(*id)).collect();
    for id in again {
        refuse(format!("references processor \"{id}\" multiple times"));
    }
}

/// A connector may stand where a receiver or an exporter may.
fn unknown(config: &Config, pipeline: &Pipeline, refuse: &mut dyn FnMut(String)) {
    let known = |kind: Kind, id: &ComponentId| {
        let joined = kind != Kind::Processor && config.connectors.contains_key(id);
        joined || config.section(kind).contains_key(id)
    };
    for (kind, list) in sides(pipeline) {
        for id in list.iter().filter(|id| !known(kind, id)) {
            refuse(format!("references {kind} \"{id}\" which is not configured"));
        }
    }
}

fn sides(pipeline: &Pipeline) -> [(Kind, &Vec<ComponentId>); 3] {
    [
        (Kind::Receiver, &pipeline.receivers),
        (Kind::Processor, &pipeline.processors),
        (Kind::Exporter, &pipeline.exporters),
    ]
}

/// Checks every component, used or not. Warnings and the places of secrets are left as remarks under full paths.
pub(super) fn components(config: &Config, types: &dyn Types, faults: &mut Vec<Fault>) {
    for kind in Kind::ALL {
        for (id, node) in config.section(kind) {
            let path = format!("{}::{id}", kind.section());
            match types.check(kind, id.type_name()) {
                Some(check) => {
                    let place = [kind.section().to_owned(), id.to_string()];
                    faults.extend(remarks::within(&place, || check(node)).into_iter().map(|fault| fault.under(&path)));
                }
                None => faults.push(Fault::new(path, missing(config, types, kind, id))),
            }
        }
    }
}

fn missing(config: &Config, types: &dyn Types, kind: Kind, id: &ComponentId) -> String {
    let name = id.type_name();
    if types.not_yet(kind, name) {
        return format!("the {kind} type \"{name}\" is not yet supported{}", blocked(config, kind, id));
    }
    if kind == Kind::Exporter && name == "logging" {
        return format!(
            "unknown type: \"logging\" for id: \"{id}\": the logging exporter is gone, use \"debug\" instead"
        );
    }
    format!("unknown type: \"{name}\" for id: \"{id}\" (valid values: [{}])", types.names(kind).join(" "))
}

/// Which pipelines cannot run without it.
fn blocked(config: &Config, kind: Kind, id: &ComponentId) -> String {
    let names = |pipeline: &Pipeline| {
        let same = |side: Kind| side == kind || (kind == Kind::Connector && side != Kind::Processor);
        sides(pipeline).into_iter().any(|(side, list)| same(side) && list.contains(id))
    };
    let pipelines = config.service.pipelines.iter().filter(|(_, pipeline)| names(pipeline));
    let blocked: Vec<String> = pipelines.map(|(id, _)| format!("service::pipelines::{id}")).collect();
    match (blocked.is_empty(), kind == Kind::Extension && config.service.extensions.contains(id)) {
        (false, _) => format!(" and blocks {}", blocked.join(", ")),
        (true, true) => " and blocks service::extensions".to_owned(),
        (true, false) => " and is used nowhere: remove it".to_owned(),
    }
}
