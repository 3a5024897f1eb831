//! The recorder behind `metrics::counter!` and the `/metrics` page.

use super::names::{self, Kind};
use super::{Endpoint, process};
use axum::{Router, routing};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Instant;

/// The process's recorder, which the first page installs.
struct Recorder {
    handle: PrometheusHandle,
    since: Instant,
}

static INSTALLED: OnceLock<Recorder> = OnceLock::new();

/// Names stay as they are in [`names`]: no unit or type is added.
fn install() -> Recorder {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    if ::metrics::set_global_recorder(recorder).is_err() {
        tracing::warn!("this process has another metrics recorder already: /metrics shows process metrics only");
    }
    names::ALL.iter().for_each(describe);
    Recorder { handle, since: Instant::now() }
}

fn describe(metric: &names::Metric) {
    match metric.kind {
        Kind::Counter => ::metrics::describe_counter!(metric.name, metric.help),
        Kind::Gauge => ::metrics::describe_gauge!(metric.name, metric.help),
    }
}

/// What `/metrics` shows.
#[derive(Clone)]
pub struct Page {
    recorder: &'static Recorder,
    target_info: String,
}

impl Page {
    /// All metrics of the process, and `target_info` with these attributes. From the first page on, metrics are recorded.
    pub fn new(resource: &BTreeMap<String, String>) -> Self {
        Self { recorder: INSTALLED.get_or_init(install), target_info: target_info(resource) }
    }

    /// In Prometheus's text format.
    pub fn render(&self) -> String {
        self.recorder.handle.render() + &process::render(self.recorder.since) + &self.target_info
    }

    /// Serves the page as `/metrics` at `address` (host and port).
    ///
    /// Errors: the address cannot be bound.
    pub async fn serve(self, address: &str) -> anyhow::Result<Endpoint> {
        let answer = move || {
            let text = self.render();
            async { ([("content-type", "text/plain; version=0.0.4; charset=utf-8")], text) }
        };
        Endpoint::bind(address, Router::new().route("/metrics", routing::get(answer))).await
    }
}

/// Attribute names with `_` for what Prometheus does not allow in a label's name.
fn target_info(resource: &BTreeMap<String, String>) -> String {
    let name = |key: &str| key.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let labels: Vec<_> = resource.iter().map(|(key, value)| format!("{}=\"{}\"", name(key), escaped(value))).collect();
    format!("# HELP target_info Target metadata\n# TYPE target_info gauge\ntarget_info{{{}}} 1\n", labels.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_names_as_they_are_and_what_the_process_is() {
        let page = Page::new(&BTreeMap::from([("service.name".to_owned(), "a\"b".to_owned())]));
        ::metrics::counter!(names::FANOUT_PARTIAL.name).increment(1);
        crate::telemetry::record("test_stage", std::time::Duration::from_nanos(7));
        let text = page.render();
        assert!(text.contains("\nsluice_fanout_partial_total "), "{text}");
        assert!(text.contains("sluice_stage_nanoseconds_total{stage=\"test_stage\"} 7\n"), "{text}");
        assert!(text.contains("target_info{service_name=\"a\\\"b\"} 1\n"), "{text}");
        assert!(text.contains("# HELP sluice_fanout_partial_total"), "{text}");
    }
}
