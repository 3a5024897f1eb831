//! `service::telemetry`: the daemon's own logs and metrics.
//!
//! A key that is accepted has an effect. What the Collector knows and this daemon cannot do is refused by name.

mod read;

pub(super) use read::read;

use serde::Deserialize;
use std::collections::BTreeMap;

/// The daemon's own logs and metrics.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Telemetry {
    pub logs: Logs,
    pub metrics: Metrics,
    /// Attributes that describe this process; `None` takes a default one away.
    pub resource: BTreeMap<String, Option<String>>,
}

/// How the daemon logs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Logs {
    pub level: Level,
    pub encoding: Encoding,
    /// `stderr`, `stdout` or the path of a file to append to; one at least.
    pub output_paths: Vec<String>,
    /// Put into every line.
    pub initial_fields: BTreeMap<String, serde_json::Value>,
}

impl Default for Logs {
    fn default() -> Self {
        Self {
            level: Level::Info,
            encoding: Encoding::Console,
            output_paths: vec!["stderr".to_owned()],
            initial_fields: BTreeMap::new(),
        }
    }
}

/// The least serious line that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// The Collector's logger takes lower and upper case, and nothing for `info`.
impl TryFrom<String> for Level {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "debug" | "DEBUG" => Ok(Self::Debug),
            "info" | "INFO" | "" => Ok(Self::Info),
            "warn" | "WARN" => Ok(Self::Warn),
            "error" | "ERROR" => Ok(Self::Error),
            _ => Err(format!("unknown value \"{text}\" (valid values: [debug info warn error])")),
        }
    }
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    Console,
    Json,
}

/// Which of its own metrics the daemon offers, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metrics {
    pub level: MetricsLevel,
    /// Prometheus endpoints; empty only where the level is `none`.
    pub readers: Vec<Prometheus>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { level: MetricsLevel::Normal, readers: vec![Prometheus::default()] }
    }
}

/// How much is measured, least first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricsLevel {
    None,
    Basic,
    #[default]
    Normal,
    Detailed,
}

/// One address metrics can be scraped from, at `/metrics`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prometheus {
    pub host: String,
    pub port: u16,
}

impl Default for Prometheus {
    fn default() -> Self {
        Self { host: "localhost".to_owned(), port: 8888 }
    }
}
