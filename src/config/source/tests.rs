use super::*;
use std::env::VarError;

fn env(name: &str) -> Result<String, VarError> {
    match name {
        "WHOLE" => Ok("a: {from: env}".to_owned()),
        "BROKEN" => Ok("a: [".to_owned()),
        _ => Err(VarError::NotPresent),
    }
}

fn resolved(sources: &[&str], sets: &[&str]) -> Result<String, Vec<Fault>> {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    resolve_with(&owned(sources), &owned(sets), &env).map(|resolved| format!("{:?}", resolved.node))
}

fn ok(sources: &[&str], sets: &[&str]) -> String {
    resolved(sources, sets).unwrap()
}

fn fault(sources: &[&str], sets: &[&str]) -> String {
    resolved(sources, sets).unwrap_err()[0].to_string()
}

#[test]
fn sources_are_files_variables_and_inline_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.yaml");
    std::fs::write(&path, "a: {from: file}").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(ok(&[path], &[]), r#"{"a":{"from":"file"}}"#);
    assert_eq!(ok(&[&format!("file:{path}")], &[]), r#"{"a":{"from":"file"}}"#);
    assert_eq!(ok(&["env:WHOLE"], &[]), r#"{"a":{"from":"env"}}"#);
    assert_eq!(ok(&["yaml:a::from: inline"], &[]), r#"{"a":{"from":"inline"}}"#);
    assert_eq!(ok(&[&embedded("a:\n  from: program\n")], &[]), r#"{"a":{"from":"program"}}"#);
}

#[test]
fn later_sources_lie_over_earlier_ones_and_sets_over_all() {
    let sources = ["yaml:a: {x: 1, y: [1, 2]}", "yaml:a::y: [3]", "yaml:"];
    assert_eq!(ok(&sources, &["a.x=5"]), r#"{"a":{"x":5,"y":[3]}}"#);
    assert_eq!(ok(&["yaml:{a: {x: 1}}", "yaml:a:"], &[]), r#"{"a":null}"#);
}

#[test]
fn a_set_names_its_key_with_dots_or_double_colons() {
    assert_eq!(ok(&[], &["a.b = {c: 1}"]), r#"{"a":{"b":{"c":1}}}"#);
    assert_eq!(ok(&[], &["a::b.c=x=y"]), r#"{"a":{"b.c":"x=y"}}"#);
    assert_eq!(ok(&["yaml:a: {b: 1, c: 2}"], &["a.b="]), r#"{"a":{"b":null,"c":2}}"#);
}

#[test]
fn references_are_expanded_after_merging() {
    assert_eq!(ok(&["yaml:a: ${env:1BAD}", "yaml:a: ok"], &[]), r#"{"a":"ok"}"#);
    assert_eq!(ok(&[], &["a=${yaml:7}"]), r#"{"a":7}"#);
}

#[test]
fn a_source_that_cannot_be_read_is_named() {
    assert!(fault(&["/does/not/exist"], &[]).starts_with("--config /does/not/exist: unable to read the file"));
    assert!(fault(&["C:\\does\\not\\exist"], &[]).contains("unable to read the file C:\\does"));
    assert!(fault(&["env:NOT_SET"], &[]).contains("environment variable \"NOT_SET\" is not set"));
    assert!(fault(&["env:BROKEN"], &[]).ends_with("(in env:BROKEN)"));
    assert!(fault(&["https://x/y"], &[]).contains("scheme \"https\" is not supported yet"));
    assert!(fault(&["yaml:[1]"], &[]).contains("expected a map at the top, got a list"));
    assert!(fault(&[], &["a.b"]).contains("--set a.b: write it as key=value"));
    assert!(fault(&[], &["a..b=1"]).contains("none of them empty"));
    assert!(fault(&[], &["a.b=[::]:1"]).starts_with("a::b: "));
}

#[test]
fn every_bad_source_is_reported() {
    assert_eq!(resolved(&["/no/1", "/no/2"], &["x"]).unwrap_err().len(), 3);
}

#[test]
fn the_depth_of_a_key_is_bounded() {
    assert!(fault(&[], &[&format!("{}=1", vec!["a"; 100_000].join("."))]).contains("names 1 to 64 parts"));
}
