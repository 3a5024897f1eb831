//! Where a configuration comes from: `--config` and `--set`.

use super::Fault;
use super::expand::expand;
use super::merge::merge;
use super::node::{Node, Value};
use super::reference::{self, Env};
use std::collections::BTreeMap;

/// How many keys `a::b::c` may name.
const MAX_KEYS: usize = 64;

/// A configuration read, merged and expanded, its shape not yet looked at.
#[derive(Debug)]
pub struct Resolved {
    pub node: Node,
    /// For people to read; each names the key it is about.
    pub warnings: Vec<String>,
}

/// A source whose text is part of the program, for [`resolve`] and [`super::load`].
pub fn embedded(text: &str) -> String {
    format!("yaml:{text}")
}

/// Reads the sources, lays later ones over earlier ones, then the `sets`, then expands references.
///
/// A source is `file:PATH`, a plain path, `env:NAME` (a variable that holds YAML) or `yaml:TEXT`, where `a::b: 1` is
/// short for nested maps. A set is `a.b.c=value`, or `a::b=value` where keys hold dots; the value is YAML.
pub fn resolve(sources: &[String], sets: &[String]) -> Result<Resolved, Vec<Fault>> {
    resolve_with(sources, sets, &|name| std::env::var(name))
}

pub(super) fn resolve_with(sources: &[String], sets: &[String], env: Env<'_>) -> Result<Resolved, Vec<Fault>> {
    let mut merged = Node::null();
    let mut faults = Vec::new();
    let layers = sources.iter().map(|source| read(source, env)).chain(sets.iter().map(|set| assignment(set)));
    for layer in layers {
        match layer {
            Ok(node) if node.is_null() => {}
            Ok(node) => merge(&mut merged, node),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { expand(merged, env) } else { Err(faults) }
}

fn read(source: &str, env: Env<'_>) -> Result<Node, Fault> {
    let text = text(source, env).map_err(|message| Fault::new("", format!("--config {}: {message}", label(source))))?;
    let named = |fault: Fault| Fault { message: format!("{} (in {})", fault.message, label(source)), ..fault };
    let node = Node::from_yaml(&text).map_err(named)?;
    match node.value {
        Value::Null => Ok(node),
        Value::Map(map) => nest_all(map).map_err(named),
        _ => Err(named(Fault::new("", format!("expected a map at the top, got {}", node.type_word())))),
    }
}

fn text(source: &str, env: Env<'_>) -> Result<String, String> {
    match source.split_once(':') {
        Some(("yaml", text)) => Ok(text.to_owned()),
        Some(("file", path)) => reference::read(path),
        Some(("env", _)) => variable(source, env),
        Some((scheme, _)) if is_scheme(scheme) => Err(reference::unsupported(scheme)),
        _ => reference::read(source),
    }
}

fn variable(source: &str, env: Env<'_>) -> Result<String, String> {
    let retrieved = reference::retrieve(source, env)?;
    match retrieved.unset {
        Some(name) => Err(format!("environment variable \"{name}\" is not set")),
        None => Ok(retrieved.text),
    }
}

/// One letter before the colon is a drive.
fn is_scheme(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-');
    text.len() > 1 && text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(plain)
}

/// A source in messages: inline text may be long and hold secrets.
fn label(source: &str) -> &str {
    if source.starts_with("yaml:") { "yaml:…" } else { source }
}

fn assignment(set: &str) -> Result<Node, Fault> {
    let refused = |message: String| Fault::new("", message);
    let (key, value) = set.split_once('=').ok_or_else(|| refused(format!("--set {set}: write it as key=value")))?;
    let key = key.trim();
    let key = if key.contains("::") { key.to_owned() } else { key.replace('.', "::") };
    let value = Node::from_yaml(value)
        .map_err(|fault| Fault::new(&key, format!("{} (in --set; quote the value if it is text)", fault.message)))?;
    nest(&key, value)
}

fn nest_all(map: BTreeMap<String, Node>) -> Result<Node, Fault> {
    let mut all = Node::from(Value::Map(BTreeMap::new()));
    for (key, node) in map {
        merge(&mut all, nest(&key, node)?);
    }
    Ok(all)
}

/// `a::b::c` and a value as maps in maps.
fn nest(key: &str, value: Node) -> Result<Node, Fault> {
    let keys: Vec<&str> = key.split("::").collect();
    if keys.len() > MAX_KEYS || keys.iter().any(|key| key.trim().is_empty()) {
        return Err(Fault::new(key, format!("a key names 1 to {MAX_KEYS} parts, none of them empty")));
    }
    let wrap = |node: Node, key: &str| Value::Map(BTreeMap::from([(key.trim().to_owned(), node)])).into();
    Ok(keys.into_iter().rev().fold(value, wrap))
}

#[cfg(test)]
mod tests;
