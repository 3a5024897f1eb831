//! What someone sees who starts sluice without a configuration.

use crate::config::{ComponentId, Config, Node};
use crate::model::time::wall_now;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

/// What runs when no configuration is given.
pub const DEFAULT_CONFIG: &str = include_str!("../../config/default.yaml");

/// The id of the example trace.
const TRACE: &str = "5b8efff798038103d269b633813fc60c";

/// Prints it to standard output, where nobody may be listening.
pub fn print(config: &Config) {
    let _ = std::io::stdout().write_all(text(&Places::of(config)).as_bytes());
}

/// Where everything is; `None` where the configuration has no such part.
struct Places {
    grpc: Option<String>,
    http: Option<String>,
    query: Option<String>,
    health: Option<String>,
    metrics: Option<String>,
    data: Option<String>,
}

impl Places {
    fn of(config: &Config) -> Self {
        Self {
            grpc: value(&config.receivers, "otlp", "/protocols/grpc/endpoint"),
            http: value(&config.receivers, "otlp", "/protocols/http/endpoint"),
            query: value(&config.extensions, "query", "/endpoint"),
            health: value(&config.extensions, "health_check", "/endpoint"),
            metrics: super::telemetry::addresses(&config.service.telemetry).into_iter().next(),
            data: value(&config.exporters, "storage", "/directory"),
        }
    }
}

/// A string of the first component of this type.
fn value(components: &BTreeMap<ComponentId, Node>, type_name: &str, pointer: &str) -> Option<String> {
    let (_, node) = components.iter().find(|(id, _)| id.type_name() == type_name)?;
    let value: Value = node.decode().ok()?;
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

fn text(places: &Places) -> String {
    let lines = [
        line("send spans", "OTLP/gRPC ", &places.grpc, ""),
        line("", "OTLP/HTTP http://", &places.http, "/v1/traces"),
        line("look", "http://", &places.query, "/api/traces/<trace id>"),
        line("metrics", "http://", &places.metrics, "/metrics"),
        line("health", "http://", &places.health, "/"),
        line("data", "", &places.data, ""),
    ];
    let mut text = "\nsluice runs with its built-in configuration (sluice print-config shows it).\n\n".to_owned();
    text.extend(lines.into_iter().flatten());
    text.extend(first_trace(places));
    text + "\nCtrl-C drains and stops.\n\n"
}

fn line(what: &str, before: &str, place: &Option<String>, after: &str) -> Option<String> {
    place.as_ref().map(|place| format!("  {what:<12}{before}{place}{after}\n"))
}

fn first_trace(places: &Places) -> Option<String> {
    let http = places.http.as_ref()?;
    let send = format!(
        "\nA first trace, sent and read back:\n\n  curl http://{http}/v1/traces -H 'content-type: application/json' -d '{}'\n",
        request(wall_now())
    );
    let look = places.query.as_ref().map(|query| format!("  curl http://{query}/api/traces/{TRACE}\n"));
    Some(send + look.as_deref().unwrap_or_default())
}

/// One span that ends now, as an OTLP JSON request without a single quote in it.
fn request(now: u64) -> Value {
    let start = now.saturating_sub(20_000_000);
    json!({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "hello"}}]},
        "scopeSpans": [{"spans": [{
            "traceId": TRACE, "spanId": "eee19b7ec3c1b174", "name": "first", "kind": 2,
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": now.to_string(),
        }]}],
    }]})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn only_what_the_configuration_has_is_shown() {
        let http = Some("127.0.0.1:4318".to_owned());
        let places = Places { http, grpc: None, query: None, health: None, metrics: None, data: None };
        let text = text(&places);
        assert!(text.contains("curl http://127.0.0.1:4318/v1/traces"), "{text}");
        assert!(!text.contains("gRPC") && !text.contains("/api/traces"), "{text}");
    }

    #[test]
    fn everything_the_built_in_configuration_opens_is_named() {
        let loaded = config::load(&[config::embedded(DEFAULT_CONFIG)], &[], &crate::app::registry()).unwrap();
        let text = text(&Places::of(&loaded.config));
        for expected in [
            "127.0.0.1:4317",
            "curl http://127.0.0.1:4318/v1/traces",
            "curl http://127.0.0.1:16686/api/traces/5b8efff798038103d269b633813fc60c",
            "http://127.0.0.1:8888/metrics",
            "http://127.0.0.1:13133/",
            "./sluice-data",
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
    }

    #[test]
    fn the_first_trace_survives_a_shell_and_is_valid() {
        let request = request(1_700_000_000_000_000_000);
        assert!(!request.to_string().contains('\''));
        let span = request.pointer("/resourceSpans/0/scopeSpans/0/spans/0").unwrap();
        assert!(crate::model::TraceId::parse(span["traceId"].as_str().unwrap()).is_some());
        assert_eq!(span["startTimeUnixNano"], "1699999999980000000");
    }
}
