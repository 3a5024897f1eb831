//! From the file's `telemetry` to [`Telemetry`].

use super::{Logs, Metrics, MetricsLevel, Prometheus, Telemetry};
use crate::config::node::{Node, Value};
use crate::config::{Fault, warn};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What the Collector knows and this daemon cannot do.
const REFUSED: [&[&str]; 9] = [
    &["traces"],
    &["logs", "sampling"],
    &["logs", "disable_caller"],
    &["logs", "disable_stacktrace"],
    &["logs", "development"],
    &["logs", "error_output_paths"],
    &["logs", "processors"],
    &["metrics", "views"],
    &["resource", "attributes"],
];

/// Names of a Prometheus reader's switches that describe what is done anyway: `true` is accepted, `false` refused.
const ALWAYS: [&str; 3] = ["without_scope_info", "without_type_suffix", "without_units"];

/// Decodes `service::telemetry`; paths are relative to it.
pub(in crate::config) fn read(node: &Node) -> Result<Telemetry, Vec<Fault>> {
    let mut node = node.clone();
    let mut faults = Vec::new();
    for path in REFUSED {
        if take(&mut node, path).is_some() {
            faults.push(refused(&path.join("::"), "is not supported yet"));
        }
    }
    strip_readers(&mut node, &mut faults);
    let resource = resource(take(&mut node, &["resource"]), &mut faults);
    let raw = node.decode::<Raw>().map_err(|found| faults.extend(found)).unwrap_or_default();
    let metrics = metrics(raw.metrics, &mut faults);
    check_logs(&raw.logs, &mut faults);
    if faults.is_empty() { Ok(Telemetry { logs: raw.logs, metrics, resource }) } else { Err(faults) }
}

fn refused(path: &str, why: &str) -> Fault {
    Fault::new(path, format!("{why}: remove the key, it would have no effect"))
}

/// Takes the value at the path out of the node.
fn take(node: &mut Node, path: &[&str]) -> Option<Node> {
    let (key, rest) = path.split_first()?;
    let Value::Map(map) = &mut node.value else { return None };
    if rest.is_empty() { map.remove(*key) } else { take(map.get_mut(*key)?, rest) }
}

fn strip_readers(node: &mut Node, faults: &mut Vec<Fault>) {
    let Value::Map(root) = &mut node.value else { return };
    let Some(Value::Map(metrics)) = root.get_mut("metrics").map(|node| &mut node.value) else { return };
    let Some(Value::List(readers)) = metrics.get_mut("readers").map(|node| &mut node.value) else { return };
    let mut index = 0;
    readers.retain_mut(|reader| {
        let path = format!("metrics::readers::{index}");
        index += 1;
        strip_prometheus(reader, &path, faults);
        let periodic = take(reader, &["periodic"]).is_some();
        if periodic {
            faults.push(refused(&format!("{path}::periodic"), "is not supported yet"));
        }
        !periodic
    });
}

fn strip_prometheus(reader: &mut Node, path: &str, faults: &mut Vec<Fault>) {
    if take(reader, &["pull", "exporter", "prometheus", "with_resource_constant_labels"]).is_some() {
        let path = format!("{path}::pull::exporter::prometheus::with_resource_constant_labels");
        faults.push(refused(&path, "is not supported yet"));
    }
    for key in ALWAYS {
        let given = take(reader, &["pull", "exporter", "prometheus", key]);
        if given.is_some_and(|node| node.value != Value::Bool(true)) {
            let path = format!("{path}::pull::exporter::prometheus::{key}");
            faults.push(Fault::new(path, "only true is supported, and what is done without this key"));
        }
    }
}

fn resource(node: Option<Node>, faults: &mut Vec<Fault>) -> BTreeMap<String, Option<String>> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return BTreeMap::new() };
    let word = node.type_word();
    let Value::Map(map) = node.value else {
        faults.push(Fault::new("resource", format!("expected a map, got {word}")));
        return BTreeMap::new();
    };
    let mut attribute = |(key, node): (String, Node)| {
        let text = if node.is_null() && node.original.is_none() { Ok(None) } else { node.decode().map(Some) };
        let text =
            text.map_err(|found| faults.extend(found.into_iter().map(|f| f.under(&key)).map(|f| f.under("resource"))));
        (key, text.unwrap_or_default())
    };
    map.into_iter().map(&mut attribute).collect()
}

fn check_logs(logs: &Logs, faults: &mut Vec<Fault>) {
    if logs.output_paths.is_empty() {
        faults.push(Fault::new("logs::output_paths", "must name at least one output: stderr, stdout or a file"));
    }
    if logs.output_paths.iter().any(String::is_empty) {
        faults.push(Fault::new("logs::output_paths", "an output must not be empty: use stderr, stdout or a file"));
    }
}

fn metrics(raw: RawMetrics, faults: &mut Vec<Fault>) -> Metrics {
    let readers = match (raw.address, raw.readers) {
        (Some(_), Some(_)) => {
            faults.push(Fault::new("metrics", "both address and readers are given: remove address"));
            Vec::new()
        }
        (Some(address), None) => old_address(&address, faults).into_iter().collect(),
        (None, Some(readers)) => readers.into_iter().map(|reader| reader.pull.exporter.prometheus).collect(),
        (None, None) => vec![Prometheus::default()],
    };
    if raw.level == MetricsLevel::None {
        return Metrics { level: raw.level, readers: Vec::new() };
    }
    if readers.is_empty() && faults.is_empty() {
        faults.push(Fault::new("metrics::readers", "at least one reader is required unless the level is none"));
    }
    Metrics { level: raw.level, readers }
}

fn old_address(address: &str, faults: &mut Vec<Fault>) -> Option<Prometheus> {
    warn("metrics::address", "is the old spelling: use readers with a pull exporter, prometheus, host and port");
    let parsed = address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    if parsed.is_none() {
        faults.push(Fault::new("metrics::address", "expected host:port, as in localhost:8888"));
    }
    let (host, port) = parsed?;
    Some(Prometheus { host: host.trim_matches(['[', ']']).to_owned(), port })
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Raw {
    logs: Logs,
    metrics: RawMetrics,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct RawMetrics {
    level: MetricsLevel,
    address: Option<String>,
    readers: Option<Vec<Reader>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reader {
    pull: Pull,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pull {
    exporter: Exporter,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exporter {
    prometheus: Prometheus,
}

#[cfg(test)]
mod tests;
