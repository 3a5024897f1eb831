//! `service::telemetry` put to work.

use crate::config::{Encoding, Level, Logs, MetricsLevel, Telemetry};
use crate::telemetry::{Endpoint, logs, metrics};
use std::collections::BTreeMap;
use tracing::level_filters::LevelFilter;

/// Logs first, then the recorder and an endpoint for every reader.
///
/// Errors: a log file that cannot be opened, an address that cannot be bound.
pub async fn install(telemetry: &Telemetry) -> anyhow::Result<Vec<Endpoint>> {
    logs::install(log_options(&telemetry.logs))?;
    let mut endpoints = Vec::new();
    if telemetry.metrics.level == MetricsLevel::None {
        return Ok(endpoints);
    }
    let page = metrics::Page::new(&resource(&telemetry.resource));
    for address in addresses(telemetry) {
        endpoints.push(page.clone().serve(&address).await?);
    }
    Ok(endpoints)
}

/// Where `/metrics` is to be served: host and port.
pub fn addresses(telemetry: &Telemetry) -> Vec<String> {
    let metrics = &telemetry.metrics;
    let readers = metrics.readers.iter().filter(|_| metrics.level != MetricsLevel::None);
    readers.map(|reader| host_port(&reader.host, reader.port)).collect()
}

fn host_port(host: &str, port: u16) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn log_options(logs: &Logs) -> logs::Options {
    logs::Options {
        level: match logs.level {
            Level::Debug => LevelFilter::DEBUG,
            Level::Info => LevelFilter::INFO,
            Level::Warn => LevelFilter::WARN,
            Level::Error => LevelFilter::ERROR,
        },
        encoding: match logs.encoding {
            Encoding::Console => logs::Encoding::Console,
            Encoding::Json => logs::Encoding::Json,
        },
        outputs: logs.output_paths.clone(),
        initial_fields: logs.initial_fields.clone().into_iter().collect(),
    }
}

/// What describes this process: the defaults, then what is configured; a configured null takes a default away.
fn resource(configured: &BTreeMap<String, Option<String>>) -> BTreeMap<String, String> {
    let default = |(key, value): (&str, &str)| (key.to_owned(), Some(value.trim().to_owned()));
    // The kernel's generator; where there is none, the id is left out.
    let instance = std::fs::read_to_string("/proc/sys/kernel/random/uuid").ok();
    let mut all = BTreeMap::from(
        [("service.name", env!("CARGO_PKG_NAME")), ("service.version", env!("CARGO_PKG_VERSION"))].map(default),
    );
    all.extend(instance.iter().map(|id| default(("service.instance.id", id))));
    all.extend(configured.clone());
    all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_attribute_replaces_a_default_and_null_takes_it_away() {
        let configured = [("service.name", Some("edge")), ("service.version", None), ("zone", Some("a"))];
        let configured = configured.map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
        let resource = resource(&configured.into());
        assert_eq!(resource.get("service.name").map(String::as_str), Some("edge"));
        assert_eq!(resource.get("zone").map(String::as_str), Some("a"));
        assert!(!resource.contains_key("service.version"));
    }

    #[test]
    fn an_address_of_colons_gets_brackets() {
        assert_eq!(host_port("::1", 8888), "[::1]:8888");
        assert_eq!(host_port("localhost", 8888), "localhost:8888");
    }
}
