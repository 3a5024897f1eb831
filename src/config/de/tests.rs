use crate::config::node::Value;
use crate::config::remarks;
use crate::config::units::{ByteSize, GoDuration, Secret};
use crate::config::{Fault, Node};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Component {
    endpoint: String,
    count: u16,
    ratio: f64,
    enabled: bool,
    mode: Option<Mode>,
    tags: Vec<String>,
    limits: Vec<u8>,
    labels: BTreeMap<String, String>,
    tls: Option<Block>,
    inner: Inner,
    timeout: GoDuration,
    size: ByteSize,
    ca: Option<String>,
    any: serde_json::Value,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Block {
    insecure: bool,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Inner {
    value: u8,
    block: Block,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Fast,
    Slow { steps: u8 },
    Named(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    #[expect(dead_code, reason = "only its decoding is of interest")]
    name: String,
}

fn decode<T: DeserializeOwned>(yaml: &str) -> Result<T, Vec<String>> {
    let decoded = Node::from_yaml(yaml).unwrap().decode();
    decoded.map_err(|faults: Vec<Fault>| faults.iter().map(Fault::to_string).collect())
}

fn ok(yaml: &str) -> Component {
    decode(yaml).unwrap()
}

fn faults(yaml: &str) -> Vec<String> {
    decode::<Component>(yaml).unwrap_err()
}

#[test]
fn a_component_without_a_body_is_all_defaults() {
    assert_eq!(Node::null().decode::<Component>().unwrap(), Component::default());
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_valid_ones() {
    let found = faults("{Endpoint: x, inner: {vlaue: 1}}");
    assert_eq!(found.len(), 2);
    assert!(found[0].starts_with("has invalid keys: Endpoint (valid keys: [endpoint count"), "{found:?}");
    assert_eq!(found[1], "inner: has invalid keys: vlaue (valid keys: [value block])");
}

#[test]
fn every_fault_is_found_at_once() {
    let found = faults("{count: x, enabled: 1, limits: [1, 300, y], inner: {value: -1}, tls: {insecure: z}, nope: 1}");
    let paths: Vec<_> = found.iter().map(|f| f.split(": ").next().unwrap()).collect();
    let expected = ["count", "enabled", "inner::value", "limits::1", "limits::2", "tls::insecure"];
    for path in expected {
        assert!(paths.contains(&path), "{path} is not in {found:#?}");
    }
    assert_eq!(found.len(), expected.len() + 1);
}

#[test]
fn there_is_no_weak_typing() {
    assert_eq!(faults("count: \"10\""), ["count: expected an integer, got a string"]);
    assert_eq!(faults("count: 1.0"), ["count: expected an integer, got a number with a fraction"]);
    assert_eq!(faults("endpoint: 4317"), ["endpoint: expected a string, got an integer"]);
    assert_eq!(faults("enabled: \"true\""), ["enabled: expected a boolean, got a string"]);
    assert_eq!(faults("inner: [1]"), ["inner: expected a map, got a list"]);
    assert_eq!(faults("tags: {a: b}"), ["tags: expected a list, got a map"]);
    assert_eq!(faults("ratio: \"1\""), ["ratio: expected a number, got a string"]);
}

#[test]
fn a_number_out_of_range_is_refused_with_the_range() {
    assert_eq!(faults("count: 70000"), ["count: expected an integer from 0 to 65535, got 70000"]);
    assert_eq!(faults("count: -1"), ["count: expected an integer from 0 to 65535, got -1"]);
}

#[test]
fn an_integer_may_have_underscores_and_a_number_no_fraction() {
    assert_eq!(ok("{count: 1_000, ratio: 2}"), Component { count: 1000, ratio: 2.0, ..Default::default() });
    for text in ["_1", "1_", "1__0", "1_x", "_"] {
        assert_eq!(faults(&format!("count: {text}")), ["count: expected an integer, got a string"]);
    }
}

#[test]
fn commas_separate_the_strings_of_a_list() {
    assert_eq!(ok("tags: a,b").tags, ["a", "b"]);
    assert_eq!(ok("tags: one").tags, ["one"]);
    assert!(ok("tags: ''").tags.is_empty());
    assert_eq!(faults("limits: 1,2"), ["limits: expected an integer, got a string"]);
}

#[test]
fn null_turns_a_block_on_and_leaves_a_value_at_its_default() {
    let component = ok("{tls: , inner: , endpoint: , count: , tags: , labels: , timeout: , size: , mode: , ca: }");
    assert_eq!(component, Component { tls: Some(Block::default()), ..Default::default() });
    assert_eq!(ok("{}").tls, None);
}

#[test]
fn null_in_a_list_is_no_value() {
    assert_eq!(faults("tags: [a, ~]"), ["tags::1: expected a string, got null"]);
}

#[test]
fn a_required_key_is_asked_for_once() {
    assert_eq!(decode::<Strict>("{}").unwrap_err(), ["requires the key \"name\""]);
    assert_eq!(decode::<Strict>("name:").unwrap_err(), ["requires the key \"name\""]);
    assert_eq!(decode::<Strict>("name: 1").unwrap_err(), ["name: expected a string, got an integer"]);
    assert_eq!(decode::<Vec<Strict>>("[{name: a}, {}]").unwrap_err(), ["1: requires the key \"name\""]);
    assert_eq!(decode::<u8>("~").unwrap_err(), ["expected an integer, got null"]);
}

#[test]
fn a_choice_is_a_name_or_a_map_with_one_key() {
    assert_eq!(ok("mode: fast").mode, Some(Mode::Fast));
    assert_eq!(ok("mode: {slow: {steps: 3}}").mode, Some(Mode::Slow { steps: 3 }));
    assert_eq!(ok("mode: {named: x}").mode, Some(Mode::Named("x".to_owned())));
    assert_eq!(faults("mode: Fast"), ["mode: unknown value \"Fast\" (valid values: [fast slow named])"]);
    assert_eq!(faults("mode: {slow: {steps: x}}"), ["mode::slow::steps: expected an integer, got a string"]);
    assert_eq!(faults("mode: {named: 1}"), ["mode::named: expected a string, got an integer"]);
    assert_eq!(faults("mode: {slow: 1, fast: 2}").len(), 1);
    assert_eq!(faults("mode: 1").len(), 1);
}

#[test]
fn a_choice_whose_variable_is_empty_stays_at_its_default() {
    let node = Node { original: Some(String::new()), ..Node::null() };
    let component: Component = Node::from(Value::Map(BTreeMap::from([("mode".to_owned(), node)]))).decode().unwrap();
    assert_eq!(component.mode, None);
}

#[test]
fn a_value_without_a_type_keeps_its_own() {
    assert_eq!(ok("any: {a: [1, -2, 1.5, x, true, ~]}").any, serde_json::json!({"a": [1, -2, 1.5, "x", true, null]}));
}

#[test]
fn what_a_component_reads_as_a_secret_is_remembered() {
    #[derive(Deserialize)]
    struct Holder {
        #[expect(dead_code, reason = "only its decoding is of interest")]
        all: Vec<BTreeMap<String, Secret>>,
    }
    let (_, remarks) = remarks::gather(|| decode::<Holder>("all: [{}, {x: y}]").is_ok());
    assert_eq!(remarks.secrets.into_iter().collect::<Vec<_>>(), [["all", "1", "x"]]);
}

#[test]
fn decoding_ends_however_many_faults_there_are() {
    let keys: String = (0..3000).map(|i| format!("k{i}: x\n")).collect();
    let found = decode::<BTreeMap<String, u8>>(&keys).unwrap_err();
    assert_eq!(found.len(), 1001);
    assert!(found[1000].contains("more than 1000 faults"));
}
