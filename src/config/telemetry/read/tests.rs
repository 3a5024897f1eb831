use super::*;
use crate::config::remarks;
use crate::config::telemetry::{Encoding, Level};

fn read_yaml(yaml: &str) -> Result<Telemetry, Vec<String>> {
    read(&Node::from_yaml(yaml).unwrap()).map_err(|faults| faults.iter().map(Fault::to_string).collect())
}

fn fault(yaml: &str) -> String {
    let faults = read_yaml(yaml).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults[0].clone()
}

#[test]
fn by_default_metrics_are_at_localhost_8888_and_logs_on_stderr() {
    let telemetry = read_yaml("").unwrap();
    assert_eq!(telemetry, Telemetry::default());
    assert_eq!(telemetry.metrics.readers, [Prometheus { host: "localhost".to_owned(), port: 8888 }]);
    assert_eq!((telemetry.logs.level, telemetry.logs.output_paths), (Level::Info, vec!["stderr".to_owned()]));
}

#[test]
fn every_key_that_is_accepted_arrives() {
    let yaml = "
logs: {level: DEBUG, encoding: json, output_paths: [stdout, /tmp/x], initial_fields: {a: 1}}
metrics: {level: detailed, readers: [{pull: {exporter: {prometheus: {host: 0.0.0.0, port: 9}}}}]}
resource: {service.name: x, service.version: }";
    let telemetry = read_yaml(yaml).unwrap();
    assert_eq!((telemetry.logs.level, telemetry.logs.encoding), (Level::Debug, Encoding::Json));
    assert_eq!(telemetry.logs.output_paths, ["stdout", "/tmp/x"]);
    assert_eq!(telemetry.logs.initial_fields["a"], 1);
    assert_eq!(telemetry.metrics.level, MetricsLevel::Detailed);
    assert_eq!(telemetry.metrics.readers, [Prometheus { host: "0.0.0.0".to_owned(), port: 9 }]);
    assert_eq!(telemetry.resource["service.name"], Some("x".to_owned()));
    assert_eq!(telemetry.resource["service.version"], None);
}

#[test]
fn what_can_have_no_effect_yet_is_refused_by_name() {
    let cases = [
        ("traces: {level: none}", "traces: "),
        ("logs: {sampling: {enabled: false}}", "logs::sampling: "),
        ("logs: {disable_caller: true}", "logs::disable_caller: "),
        ("metrics: {views: []}", "metrics::views: "),
        ("metrics: {readers: [{periodic: {interval: 1}}]}", "metrics::readers::0::periodic: "),
        ("resource: {attributes: []}", "resource::attributes: "),
    ];
    for (yaml, start) in cases {
        let fault = fault(yaml);
        assert!(fault.starts_with(start) && fault.contains("not supported yet"), "{fault}");
    }
}

#[test]
fn unknown_keys_and_values_are_refused_with_their_path() {
    assert!(fault("log: {}").starts_with("has invalid keys: log"));
    assert!(fault("logs: {level: loud}").starts_with("logs::level: unknown value \"loud\""));
    assert!(fault("resource: {a: [1]}").starts_with("resource::a: expected a string"));
    assert!(fault("resource: [1]").starts_with("resource: expected a map"));
    assert!(fault("logs: {output_paths: []}").starts_with("logs::output_paths: "));
    let port = "metrics: {readers: [{pull: {exporter: {prometheus: {port: 70000}}}}]}";
    assert!(
        fault(port).starts_with("metrics::readers::0::pull::exporter::prometheus::port: expected an integer from 0")
    );
}

#[test]
fn metrics_need_a_reader_unless_they_are_off() {
    assert!(fault("metrics: {readers: []}").starts_with("metrics::readers: at least one reader"));
    assert!(read_yaml("metrics: {level: none, readers: []}").unwrap().metrics.readers.is_empty());
    assert!(read_yaml("metrics: {level: none}").unwrap().metrics.readers.is_empty());
}

#[test]
fn the_old_address_is_accepted_with_a_warning() {
    let (telemetry, remarks) = remarks::gather(|| read_yaml("metrics: {address: '[::1]:8889'}"));
    assert_eq!(telemetry.unwrap().metrics.readers, [Prometheus { host: "::1".to_owned(), port: 8889 }]);
    assert_eq!(remarks.warnings.len(), 1);
    assert!(fault("metrics: {address: nowhere}").starts_with("metrics::address: expected host:port"));
    assert!(fault("metrics: {address: 'a:1', readers: []}").starts_with("metrics: both"));
}

#[test]
fn switches_that_describe_what_is_done_anyway_are_accepted_and_their_opposites_refused() {
    let with = |value: &str| {
        format!("metrics: {{readers: [{{pull: {{exporter: {{prometheus: {{port: 1, without_units: {value}}}}}}}}}]}}")
    };
    assert!(read_yaml(&with("true")).is_ok());
    assert!(fault(&with("false")).starts_with("metrics::readers::0::pull::exporter::prometheus::without_units: only"));
}
