//! From text to a configuration that may run, with a handful of made-up component types.

use super::load::check;
use super::source::resolve_with;
use super::units::{GoDuration, Secret};
use super::*;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Any {
    size: u8,
    wait: GoDuration,
    cookie: Option<Secret>,
    env: String,
}

fn examine(node: &Node) -> Vec<Fault> {
    node.decode::<Any>().err().unwrap_or_default()
}

struct Made;

impl Types for Made {
    fn check(&self, _: Kind, type_name: &str) -> Option<fn(&Node) -> Vec<Fault>> {
        ["a", "b"].contains(&type_name).then_some(examine as fn(&Node) -> Vec<Fault>)
    }

    fn names(&self, _: Kind) -> Vec<&'static str> {
        vec!["a", "b"]
    }

    fn not_yet(&self, _: Kind, type_name: &str) -> bool {
        type_name == "kafka"
    }
}

fn load_yaml(yaml: &str) -> Result<Loaded, Vec<String>> {
    let resolved = resolve_with(&[embedded(yaml)], &[], &|_| Err(std::env::VarError::NotPresent));
    let loaded = resolved.and_then(|resolved| check(resolved, &Made));
    loaded.map_err(|faults| faults.iter().map(Fault::to_string).collect())
}

/// A good configuration with one more line of sections laid over it.
fn over(yaml: &str) -> Result<Loaded, Vec<String>> {
    let sources = [embedded(GOOD), embedded(yaml)];
    let resolved = resolve_with(&sources, &[], &|_| Err(std::env::VarError::NotPresent));
    let loaded = resolved.and_then(|resolved| check(resolved, &Made));
    loaded.map_err(|faults| faults.iter().map(Fault::to_string).collect())
}

fn faults(yaml: &str) -> Vec<String> {
    over(yaml).unwrap_err()
}

const GOOD: &str = "
receivers: {a: }
processors: {a/one: , ' b / two ': {size: 1}}
exporters: {a: , b/unused: {size: 7}}
extensions: {b: }
service:
  extensions: [b]
  pipelines: {traces/x: {receivers: [a], processors: [a/one, b/two], exporters: [a]}}";

#[test]
fn a_good_configuration_arrives_whole() {
    let config = load_yaml(GOOD).unwrap().config;
    let id = |text: &str| ComponentId::parse(text).unwrap();
    let pipeline = &config.service.pipelines[&PipelineId::parse("traces/x").unwrap()];
    assert_eq!(pipeline.processors, [id("a/one"), id("b/two")]);
    assert_eq!((&pipeline.receivers, &pipeline.exporters), (&vec![id("a")], &vec![id("a")]));
    assert_eq!(config.service.extensions, [id("b")]);
    assert!(config.exporters[&id("b/unused")].decode::<BTreeMap<String, u8>>().unwrap()["size"] == 7);
    assert!(config.processors.contains_key(&id("b/two")));
}

#[test]
fn an_empty_file_is_called_empty_and_nothing_else() {
    for yaml in ["", "service: {}", "receivers:"] {
        assert_eq!(load_yaml(yaml).unwrap_err(), ["empty configuration file: no component is defined"], "{yaml}");
    }
}

#[test]
fn the_sections_a_file_must_have_are_asked_for_together() {
    let expected = [
        "receivers: no receiver configuration specified in config",
        "exporters: no exporter configuration specified in config",
        "service::pipelines: service must have at least one pipeline",
    ];
    assert_eq!(load_yaml("processors: {a: }").unwrap_err(), expected);
}

#[test]
fn a_section_nobody_knows_is_refused() {
    assert!(faults("Receivers: {a: }")[0].starts_with("has invalid keys: Receivers (valid keys: [receivers"));
    assert!(faults("service: {pipeline: {}}")[0].starts_with("service: has invalid keys: pipeline"));
    assert!(
        faults("service: {pipelines: {traces: {receiver: [a]}}}")[0].starts_with("service::pipelines::traces: has inv")
    );
    assert_eq!(faults("receivers: [a]")[0], "receivers: expected a map, got a list");
}

#[test]
fn a_pipeline_needs_both_ends() {
    let expected = [
        "service::pipelines::traces: must have at least one receiver",
        "service::pipelines::traces: must have at least one exporter",
    ];
    assert_eq!(faults("service: {pipelines: {traces: }}"), expected);
}

#[test]
fn what_is_referred_to_must_be_there() {
    let found =
        faults("service: {extensions: [e], pipelines: {traces: {receivers: [b], processors: [p], exporters: [x]}}}");
    let expected = [
        "service::extensions: references extension \"e\" which is not configured",
        "service::pipelines::traces: references receiver \"b\" which is not configured",
        "service::pipelines::traces: references processor \"p\" which is not configured",
        "service::pipelines::traces: references exporter \"x\" which is not configured",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_processor_stands_in_a_pipeline_once() {
    let found = faults("service::pipelines::traces/x::processors: [a/one, b/two, a/one, a/one]");
    assert_eq!(found, ["service::pipelines::traces/x: references processor \"a/one\" multiple times"]);
}

#[test]
fn an_exporter_named_twice_gets_everything_once() {
    let config = over("service::pipelines::traces/x::exporters: [a, b/unused, a]").unwrap().config;
    let pipeline = config.service.pipelines.values().next().unwrap();
    assert_eq!(pipeline.exporters.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a", "b/unused"]);
}

#[test]
fn a_connector_stands_where_receivers_and_exporters_may() {
    let yaml = "
connectors: {a/c: }
service::pipelines: {traces/x: {exporters: [a/c]}, traces/y: {receivers: [a/c], exporters: [a]}}";
    assert!(over(yaml).is_ok());
    assert!(
        faults("{connectors: {a/c: }, service::pipelines::traces/x::processors: [a/c]}")[0].contains("not configured")
    );
}

#[test]
fn signals_that_cannot_be_carried_yet_are_refused_by_pipeline() {
    for signal in ["metrics", "logs", "profiles"] {
        let found = faults(&format!("service: {{pipelines: {{{signal}/m: {{receivers: [a], exporters: [a]}}}}}}"));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with(&format!("service::pipelines::{signal}/m: {signal} pipelines are not yet supported"))
        );
    }
    assert!(faults("service: {pipelines: {spans: {}}}")[0].contains("unknown signal \"spans\""));
}

#[test]
fn a_known_type_that_is_missing_is_refused_with_what_it_blocks() {
    let found = faults("{exporters: {kafka/k: , kafka: }, service::pipelines::traces/x::exporters: [a, kafka/k]}");
    let expected = [
        "exporters::kafka: the exporter type \"kafka\" is not yet supported and is used nowhere: remove it",
        "exporters::kafka/k: the exporter type \"kafka\" is not yet supported and blocks service::pipelines::traces/x",
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_unknown_type_is_refused_with_the_valid_ones() {
    let found = faults("{receivers: {zip/x: }, exporters: {logging: }}");
    assert_eq!(found[0], "receivers::zip/x: unknown type: \"zip\" for id: \"zip/x\" (valid values: [a b])");
    assert!(found[1].contains("logging") && found[1].contains("use \"debug\" instead"));
}

#[test]
fn a_bad_id_and_two_that_are_one_are_refused() {
    assert_eq!(faults("receivers: {x/: }"), ["receivers: in \"x/\" id: the part after / should not be empty"]);
    assert_eq!(faults("receivers: {'a ': }"), ["receivers: duplicate name \"a\" after trimming blanks"]);
    let found = faults("service: {pipelines: {traces: {receivers: [a, /], exporters: [a]}}}");
    assert!(found[0].starts_with("service::pipelines::traces::receivers::1: in \"/\" id: "), "{found:?}");
}

#[test]
fn unused_components_are_checked_too_and_every_fault_is_gathered() {
    let yaml =
        "{exporters: {b/unused: {size: x}, a: {nope: 1}}, service: {telemetry: {logs: {level: x}}, extensions: [zz]}}";
    let found = faults(yaml);
    let starts = [
        "service::telemetry::logs::level: ",
        "service::extensions: references",
        "exporters::a: has invalid keys: nope",
        "exporters::b/unused::size: expected an integer",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for start in starts {
        assert!(found.iter().any(|fault| fault.starts_with(start)), "{start} is not in {found:#?}");
    }
}

#[test]
fn warnings_say_where() {
    let loaded =
        over("{exporters: {a: {wait: 10, env: '${NOT_SET}'}}, service::telemetry::metrics::address: 'a:1'}").unwrap();
    let starts = ["exporters::a::env: ", "exporters::a::wait: 10 without", "service::telemetry::metrics::address: "];
    assert_eq!(loaded.warnings.len(), starts.len(), "{:?}", loaded.warnings);
    for (warning, start) in loaded.warnings.iter().zip(starts) {
        assert!(warning.starts_with(start), "{warning}");
    }
}

#[test]
fn what_a_component_calls_a_secret_is_printed_redacted() {
    let loaded = over("exporters: {' b / trimmed': {cookie: crumbs, env: shown}}").unwrap();
    let redacted = print(&loaded.node, Mode::Redacted, Format::Yaml);
    assert!(redacted.contains("cookie: '[REDACTED]'") && redacted.contains("env: shown"), "{redacted}");
    assert!(print(&loaded.node, Mode::Unredacted, Format::Yaml).contains("cookie: crumbs"));
    assert!(!format!("{loaded:?}").contains("crumbs"));
}
