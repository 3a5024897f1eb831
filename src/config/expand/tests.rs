use super::*;
use serde::Deserialize;
use std::env::VarError;

const VARIABLES: [(&str, &str); 25] = [
    ("TEXT", "hello"),
    ("EMPTY", ""),
    ("INT", "42"),
    ("OCTAL", "0123"),
    ("TRUE", "true"),
    ("FLOAT", "1.50"),
    ("LIST", "[a, b]"),
    ("MAP", "{a: 1, b: '${env:INT}'}"),
    ("IP6", "1111::"),
    ("BRACED", "{abc}"),
    ("QUOTED", "\"10\""),
    ("BROKEN", "[a"),
    ("NAME", "INT"),
    ("A_INT", "nested"),
    ("TO_INT", "${env:INT}"),
    ("LOOP", "${env:LOOP}"),
    ("GROW", "x${env:GROW}"),
    ("DEEP", "{a: '${env:DEEP}'}"),
    ("BOMB0", "['${env:BOMB1}', '${env:BOMB1}', '${env:BOMB1}', '${env:BOMB1}', '${env:BOMB1}', '${env:BOMB1}']"),
    ("BOMB1", "['${env:BOMB2}', '${env:BOMB2}', '${env:BOMB2}', '${env:BOMB2}', '${env:BOMB2}', '${env:BOMB2}']"),
    ("BOMB2", "['${env:BOMB0}', '${env:BOMB0}', '${env:BOMB0}', '${env:BOMB0}', '${env:BOMB0}', '${env:BOMB0}']"),
    ("DOLLARS", "a$$b"),
    ("SPACED", "host: 1"),
    ("COMMAS", "a,b"),
    ("TIME", "1m30s"),
];

fn env(name: &str) -> Result<String, VarError> {
    let found = VARIABLES.iter().find(|(key, _)| *key == name);
    found.map(|(_, text)| (*text).to_owned()).ok_or(VarError::NotPresent)
}

fn resolved(yaml: &str) -> Result<Resolved, Vec<Fault>> {
    expand(Node::from_yaml(yaml).unwrap(), &env)
}

/// The value as a configuration without types would have it, as JSON.
fn value(text: &str) -> String {
    let node = resolved(&format!("v: '{text}'")).unwrap().node;
    let whole = format!("{node:?}");
    whole.strip_prefix("{\"v\":").and_then(|w| w.strip_suffix('}')).unwrap().to_owned()
}

fn decoded<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Vec<Fault>> {
    #[derive(Deserialize)]
    struct Holder<T> {
        v: T,
    }
    resolved(&format!("v: '{text}'"))?.node.decode::<Holder<T>>().map(|holder| holder.v)
}

fn string(text: &str) -> String {
    decoded(text).unwrap()
}

fn fault(text: &str) -> String {
    let faults = resolved(&format!("v: '{text}'")).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults[0].to_string()
}

#[test]
fn a_whole_value_reference_is_read_as_yaml() {
    assert_eq!(value("${env:INT}"), "42");
    assert_eq!(value("${INT}"), "42");
    assert_eq!(value("${env:TRUE}"), "true");
    assert_eq!(value("${env:LIST}"), r#"["a","b"]"#);
    assert_eq!(value("${env:MAP}"), r#"{"a":1,"b":42}"#);
    assert_eq!(value("${env:TO_INT}"), "42");
    assert_eq!(value("${yaml:[1, x]}"), r#"[1,"x"]"#);
}

#[test]
fn where_a_string_is_wanted_the_original_text_is_used() {
    let cases = [("OCTAL", "0123"), ("TRUE", "true"), ("FLOAT", "1.50"), ("INT", "42"), ("BRACED", "{abc}")];
    for (name, text) in cases {
        assert_eq!(string(&format!("${{env:{name}}}")), text);
    }
    assert_eq!(string("${env:QUOTED}"), "\"10\"");
    assert_eq!(string("${env:BROKEN}"), "[a");
    assert_eq!(string("${env:TO_INT}"), "42");
    assert_eq!(decoded::<Option<String>>("${env:INT}").unwrap().as_deref(), Some("42"));
}

#[test]
fn a_reference_gives_no_weak_typing_either() {
    assert!(decoded::<u64>("${env:QUOTED}").is_err());
    assert!(decoded::<u64>("x${env:INT}").is_err());
    assert!(decoded::<u64>("${env:INT}${env:INT}").is_err());
    assert_eq!(decoded::<u64>("${env:INT}").unwrap(), 42);
    assert_eq!(decoded::<Vec<String>>("${env:COMMAS}").unwrap(), ["a", "b"]);
    assert_eq!(decoded::<crate::config::units::GoDuration>("${env:TIME}").unwrap().nanoseconds(), 90_000_000_000);
}

#[test]
fn inside_a_longer_string_the_raw_text_is_put() {
    assert_eq!(string("a-${env:OCTAL}-${env:TRUE}"), "a-0123-true");
    assert_eq!(string("[${env:IP6}]:9411"), "[1111::]:9411");
    assert_eq!(string("${env:IP6}"), "1111::");
    assert_eq!(string("é${env:TEXT}é"), "éhelloé");
}

#[test]
fn a_list_or_map_inside_a_longer_string_is_refused_without_showing_it() {
    for name in ["LIST", "BRACED", "SPACED"] {
        let message = fault(&format!("x ${{env:{name}}}"));
        assert!(message.starts_with(&format!("v: ${{env:{name}}}: retrieved value does not have unambiguous string")));
        assert!(!message.contains("abc") && !message.contains("host"));
    }
}

#[test]
fn references_nest_inside_out() {
    assert_eq!(string("${env:A_${env:NAME}}"), "nested");
    assert_eq!(value("${env:${env:NAME}}"), "42");
    assert_eq!(value("${env:NOT_SET:-${env:INT}}"), "42");
}

#[test]
fn a_default_counts_only_where_the_variable_is_not_set() {
    assert_eq!(string("${env:NOT_SET:-x}"), "x");
    assert_eq!(string("${NOT_SET:-x}"), "x");
    assert_eq!(string("${env:NOT_SET:-a:-b}"), "a:-b");
    assert_eq!(string("${env:EMPTY:-x}"), "");
    assert_eq!(string("${env:NOT_SET:-}"), "");
}

#[test]
fn an_unset_variable_is_empty_with_a_warning_that_names_it() {
    let resolved = resolved("a: ${env:NOT_SET}\nb: x${NOT_SET}\nc: ${env:NOT_SET:-}\nd: ${env:EMPTY}").unwrap();
    assert_eq!(format!("{:?}", resolved.node), r#"{"a":null,"b":"x","c":null,"d":null}"#);
    assert_eq!(resolved.warnings.len(), 2);
    assert!(resolved.warnings[0].starts_with("a: environment variable \"NOT_SET\" is not set"));
    assert_eq!(string("${env:NOT_SET}"), "");
}

#[test]
fn a_doubled_dollar_is_one_dollar() {
    let cases = [
        ("$$", "$"),
        ("^a$$", "^a$"),
        ("$TEXT", "$TEXT"),
        ("$${TEXT}", "${TEXT}"),
        ("$$${TEXT}", "$hello"),
        ("$$$${TEXT}", "$${TEXT}"),
        ("${env:DOLLARS}", "a$b"),
        ("x${env:DOLLARS}", "xa$b"),
        ("${TEXT} $${TEXT}", "hello ${TEXT}"),
        ("$${TEXT}-${TEXT}", "${TEXT}-${TEXT}"),
    ];
    for (text, expected) in cases {
        assert_eq!(string(text), expected, "{text}");
    }
}

#[test]
fn endless_references_end() {
    assert!(fault("${env:LOOP}").contains("too many recursive expansions"));
    assert!(fault("${env:GROW}").contains("too many recursive expansions"));
    assert!(fault("${env:DEEP}").contains("nest deeper than 200"));
    let faults = resolved("v: ${env:BOMB0}").unwrap_err();
    assert!(faults.iter().any(|fault| fault.message.contains("more than 100000 references")));
}

#[test]
fn every_bad_reference_is_reported_with_its_path() {
    let faults = resolved("a: {b: ['${env:1}']}\nc: ${what:x}").unwrap_err();
    let paths: Vec<_> = faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["a::b::0", "c"]);
}

#[test]
fn a_file_is_read_as_yaml_and_loses_its_last_line_break() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("value");
    std::fs::write(&path, "0123\n").unwrap();
    assert_eq!(string(&format!("${{file:{}}}", path.display())), "0123");
    std::fs::write(&path, "a: [1]\n").unwrap();
    assert_eq!(value(&format!("${{file:{}}}", path.display())), r#"{"a":[1]}"#);
}
