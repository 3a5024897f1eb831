//! The files under `config/`: all load, and `sluice.yaml` shows every key with its default.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sluice::app;
use sluice::config::{Config, Fault, Node, Telemetry, embedded, load};
use sluice::exporters::{debug, storage};
use sluice::extensions::{health_check, query};
use sluice::receivers::otlp;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config")
}

fn full() -> Config {
    let source = folder().join("sluice.yaml").to_str().unwrap().to_owned();
    load(&[source], &[], &app::registry()).unwrap().config
}

#[test]
fn every_file_loads_without_a_warning() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path().to_str().unwrap().to_owned();
        let loaded = load(std::slice::from_ref(&path), &[], &app::registry())
            .unwrap_or_else(|faults| panic!("{path}: {faults:?}"));
        assert!(loaded.warnings.is_empty(), "{path}: {:?}", loaded.warnings);
        app::check(&loaded.config).unwrap_or_else(|error| panic!("{path}: {error:#}"));
    }
}

/// Decodes a section of the file and the default, which is what `base` decodes to.
fn same<T: DeserializeOwned + Debug>(node: &Node, base: &str) -> (String, String) {
    let decode = |node: &Node| format!("{:?}", node.decode::<T>().unwrap());
    (decode(node), decode(&Node::from_yaml(base).unwrap()))
}

#[test]
fn what_the_full_file_says_is_the_default() {
    let config = full();
    assert_eq!(config.service.telemetry, Telemetry::default());
    for (id, node) in
        [&config.receivers, &config.processors, &config.exporters, &config.extensions].into_iter().flatten()
    {
        let (written, default) = match id.type_name() {
            "otlp" => same::<otlp::Config>(node, "protocols: {grpc: , http: }"),
            "debug" => same::<debug::Config>(node, ""),
            "storage" => same::<storage::Config>(node, ""),
            "query" => same::<query::Config>(node, ""),
            "health_check" => same::<health_check::Config>(node, ""),
            other => panic!("{other}: add a line here that compares it with its default"),
        };
        assert_eq!(written, default, "{id}");
    }
}

/// Older ways to write what has a newer one; accepted with a warning.
const OLDER: [&str; 1] = ["/service/telemetry/metrics/address"];

#[test]
fn the_full_file_has_every_type_and_every_key_there_is() {
    let document: Value =
        Node::from_yaml(&std::fs::read_to_string(folder().join("sluice.yaml")).unwrap()).unwrap().decode().unwrap();
    for factory in app::registry().factories {
        let section = &document[factory.kind().section()];
        assert!(section.get(factory.name).is_some(), "no {} in {}", factory.name, factory.kind().section());
    }
    let mut missing = Vec::new();
    for place in maps(&document, "") {
        let here = document.pointer(&place).unwrap().as_object().unwrap();
        let absent = valid_keys(&document, &place).into_iter().filter(|key| !here.contains_key(key));
        let absent = absent.filter(|key| !OLDER.contains(&format!("{place}/{key}").as_str()));
        missing.extend(absent.filter(|key| accepted(&document, &place, key)).map(|key| format!("{place}/{key}")));
    }
    assert!(missing.is_empty(), "keys that are accepted and not in config/sluice.yaml: {missing:?}");
}

/// JSON pointers of all maps in `value`.
fn maps(value: &Value, place: &str) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    let below = children.iter().flat_map(|(key, value)| maps(value, &format!("{place}/{key}")));
    below.chain(value.is_object().then(|| place.to_owned())).collect()
}

/// The faults of the document with one more key.
fn faults_with(document: &Value, place: &str, key: &str) -> Vec<Fault> {
    let mut changed = document.clone();
    let map: &mut Map<String, Value> = changed.pointer_mut(place).unwrap().as_object_mut().unwrap();
    map.insert(key.to_owned(), json!(1));
    load(&[embedded(&changed.to_string())], &[], &app::registry()).err().unwrap_or_default()
}

/// What a map may hold, as its refusal of an unknown key lists it.
fn valid_keys(document: &Value, place: &str) -> Vec<String> {
    let faults = faults_with(document, place, "no_such_key");
    let lists = faults.iter().filter_map(|fault| fault.message.split_once("(valid keys: ["));
    lists.flat_map(|(_, list)| list.trim_end_matches("])").split_whitespace().map(str::to_owned)).collect()
}

fn accepted(document: &Value, place: &str, key: &str) -> bool {
    !faults_with(document, place, key).iter().any(|fault| fault.message.contains("not yet"))
}

#[test]
fn the_page_of_a_type_names_every_key_of_its_section() {
    let document: Value =
        Node::from_yaml(&std::fs::read_to_string(folder().join("sluice.yaml")).unwrap()).unwrap().decode().unwrap();
    for factory in app::registry().factories {
        let page = folder().join(format!("../docs/components/{}.md", factory.name));
        let text = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        for key in leaves(&document[factory.kind().section()][factory.name], "") {
            assert!(text.contains(&format!("| `{key}` | ")), "{} has no row for {key}", page.display());
        }
    }
}

/// Paths of all values that are not maps, as faults write them.
fn leaves(value: &Value, path: &str) -> Vec<String> {
    let Some(map) = value.as_object() else { return vec![path.to_owned()] };
    let below = |key: &String| if path.is_empty() { key.clone() } else { format!("{path}::{key}") };
    map.iter().flat_map(|(key, value)| leaves(value, &below(key))).collect()
}
