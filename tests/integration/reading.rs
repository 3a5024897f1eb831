//! From a POST to the answer that shows the trace, with the built-in configuration on ports and a directory of its own.

use crate::support::{LONG, free_address, get, post};
use sluice::app::{self, App};
use sluice::config::{Config, embedded, load};
use std::path::Path;

const ID: &str = "008efff798038103d269b633813fc703";

struct Place {
    http: String,
    query: String,
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { http: free_address(), query: free_address(), directory: tempfile::tempdir().unwrap() }
    }

    fn config(&self) -> Config {
        let sets = [
            "receivers::otlp::protocols::grpc::endpoint=127.0.0.1:0".to_owned(),
            format!("receivers::otlp::protocols::http::endpoint={}", self.http),
            format!("extensions::query::endpoint={}", self.query),
            "extensions::health_check::endpoint=127.0.0.1:0".to_owned(),
            format!("exporters::storage::directory={}", self.directory.path().display()),
            "service::telemetry::metrics::level=none".to_owned(),
        ];
        load(&[embedded(app::DEFAULT_CONFIG)], &sets, &app::registry()).unwrap().config
    }

    async fn start(&self) -> App {
        app::start(&self.config()).await.unwrap()
    }

    async fn send(&self, id: &str) {
        let body = format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"shop"}}}}]}},
            "scopeSpans":[{{"spans":[{{"traceId":"{id}","spanId":"eee19b7ec3c1b174","name":"first","kind":2,
            "startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000020000000"}}]}}]}}]}}"#
        );
        assert_eq!(post(&self.http, "/v1/traces", "application/json", &body).await, (200, "{}".to_owned()));
    }

    async fn read(&self, id: &str) -> (u16, String) {
        get(&self.query, &format!("/api/traces/{id}")).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_shown_at_once_and_in_the_same_bytes_after_a_restart() {
    let place = Place::new();
    let app = place.start().await;
    place.send(ID).await;
    let (status, before) = place.read(ID).await;
    assert_eq!(status, 200, "{before}");
    for expected in
        [r#""operationName":"first""#, r#""serviceName":"shop""#, r#""startTime":1700000000000000,"duration":20000"#]
    {
        assert!(before.contains(expected), "{expected} is not in {before}");
    }
    app.shutdown(LONG).await.unwrap();
    let app = place.start().await;
    assert_eq!(place.read(ID).await, (200, before));
    app.shutdown(LONG).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_found_however_it_is_written() {
    let place = Place::new();
    let app = place.start().await;
    place.send(&ID.to_uppercase()).await;
    let full = place.read(ID).await;
    assert!(full.0 == 200 && full.1.contains(&format!("\"traceID\":\"{ID}\"")), "{full:?}");
    assert_eq!(place.read(ID.trim_start_matches('0')).await, full);
    assert_eq!(place.read(&ID.to_uppercase()).await, full);
    let absent = r#"{"data":null,"total":0,"limit":0,"offset":0,"errors":[{"code":404,"msg":"trace not found"}]}"#;
    assert_eq!(place.read("abc").await, (404, absent.to_owned()));
    app.shutdown(LONG).await.unwrap();
}

/// Two stores in these directories, and a query extension with these options.
fn two_stores(a: &Path, b: &Path, query: &str) -> Config {
    let yaml = format!(
        "
receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:0'}}}}}}}}
exporters: {{storage/a: {{directory: '{}'}}, storage/b: {{directory: '{}'}}}}
extensions: {{query: {{endpoint: '127.0.0.1:0', {query}}}}}
service:
  extensions: [query]
  pipelines: {{traces: {{receivers: [otlp], exporters: [storage/a, storage/b]}}}}
  telemetry: {{metrics: {{level: none}}}}
",
        a.display(),
        b.display()
    );
    load(&[embedded(&yaml)], &[], &app::registry()).unwrap().config
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_stores_the_one_to_read_must_be_named() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let error = format!("{:#}", app::check(&two_stores(a.path(), b.path(), "")).unwrap_err());
    assert!(error.contains("extensions::query: storage: ") && error.contains("storage/a, storage/b"), "{error}");
    let app = app::start(&two_stores(a.path(), b.path(), "storage: storage/b")).await.unwrap();
    app.shutdown(LONG).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_on_one_directory_are_refused_with_the_reason() {
    let one = tempfile::tempdir().unwrap();
    let started = app::start(&two_stores(one.path(), one.path(), "storage: storage/a")).await;
    let error = format!("{:#}", started.err().expect("one of them cannot have it"));
    assert!(error.contains("exporters::storage/b") && error.contains("another storage exporter"), "{error}");
    assert!(error.contains(one.path().to_str().unwrap()), "{error}");
}

#[test]
fn query_without_a_store_is_refused() {
    let yaml = "{receivers: {otlp: {protocols: {http: }}}, exporters: {debug: }, extensions: {query: },
        service: {extensions: [query], pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}}";
    let config = load(&[embedded(yaml)], &[], &app::registry()).unwrap().config;
    let error = format!("{:#}", app::check(&config).unwrap_err());
    assert_eq!(error, "extensions::query: query needs a storage exporter in a pipeline");
}
