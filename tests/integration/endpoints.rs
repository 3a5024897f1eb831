//! `/metrics` and health, served by a running app.

use crate::support::{LONG, configuration, free_address, get, notes, registry};
use sluice::app::App;
use sluice::component::Registry;
use sluice::{exporters, extensions};

/// The test parts and the real exporters and extensions.
fn all() -> Registry {
    let mut all = registry();
    all.factories.extend(exporters::factories().into_iter().chain(extensions::factories()));
    all
}

fn yaml(test: &str, health: &str, source: &str, readers: &str) -> String {
    format!(
        "
receivers: {{source/{test}.r: {source}}}
exporters: {{debug: }}
extensions: {{health_check: {{endpoint: '{health}'}}}}
service:
  extensions: [health_check]
  pipelines: {{traces: {{receivers: [source/{test}.r], exporters: [debug]}}}}
  telemetry: {{metrics: {{{readers}}}}}
"
    )
}

const ANY_PORT: &str = "readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: 0}}}}]";

#[tokio::test(flavor = "multi_thread")]
async fn health_is_good_only_between_the_end_of_the_start_and_the_beginning_of_the_stop() {
    let health = free_address();
    let config = configuration(&yaml("health", &health, &format!("{{probe: '{health}'}}"), ANY_PORT), &all());
    let app = App::build(&config, &all()).await.unwrap();
    app.start().await.unwrap();
    let (status, body) = get(&health, "/").await;
    assert_eq!(status, 200);
    assert!(body.contains("\"status\":\"Server available\"") && body.contains("upSince"), "{body}");
    assert_eq!(get(&health, "/other").await.0, 404);
    app.shutdown(LONG).await.unwrap();
    let seen: Vec<_> = notes("health").into_iter().filter(|note| note.starts_with("health")).collect();
    assert_eq!(seen, ["health 503 seen by source r", "health 503 seen by source r"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_have_their_bare_names_and_several_apps_share_a_process() {
    for test in ["first", "second"] {
        let config = configuration(&yaml(test, &free_address(), "", ANY_PORT), &all());
        let app = App::build(&config, &all()).await.unwrap();
        app.start().await.unwrap();
        crate::support::send(&*crate::support::source(&format!("{test}.r")), crate::support::batch(3)).await.unwrap();
        let address = app.metrics_addresses().await[0].to_string();
        let (status, page) = get(&address, "/metrics").await;
        assert_eq!(status, 200);
        assert!(page.contains("\notelcol_exporter_sent_spans{exporter=\"debug\"} "), "{page}");
        assert!(page.contains("\notelcol_process_uptime "), "{page}");
        app.shutdown(LONG).await.unwrap();
        assert!(std::net::TcpStream::connect(address).is_err(), "the endpoint is closed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn level_none_opens_no_metrics_endpoint() {
    let config = configuration(&yaml("none", &free_address(), "", "level: none"), &all());
    let app = App::build(&config, &all()).await.unwrap();
    assert!(app.metrics_addresses().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_address_is_a_start_error_that_names_the_part_and_closes_the_rest() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let health = taken.local_addr().unwrap().to_string();
    let config = configuration(&yaml("taken", &health, "", ANY_PORT), &all());
    let app = App::build(&config, &all()).await.unwrap();
    let error = format!("{:#}", app.start().await.unwrap_err());
    assert!(error.contains("extensions::health_check") && error.contains(&health), "{error}");
    assert!(app.metrics_addresses().await.is_empty());
}
