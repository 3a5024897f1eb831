//! Putting in what `${…}` names, inside out.

use super::fault::join;
use super::node::{Node, Value};
use super::reference::{Env, Retrieved, find, retrieve};
use super::{Fault, Resolved};
use std::collections::BTreeMap;

/// References that may be expanded in one string before it is called endless.
const MAX_ROUNDS: usize = 1000;
/// References that may be expanded in one configuration: lists of references to lists grow by powers.
const MAX_REFERENCES: usize = 100_000;
/// How deep values may nest, what references bring in included. A document alone nests 128 deep at most.
const MAX_DEPTH: usize = 200;

/// Expands every reference; afterwards `$$` is `$`. Every fault is gathered.
pub(super) fn expand(node: Node, env: Env<'_>) -> Result<Resolved, Vec<Fault>> {
    let mut expansion = Expansion { env, references: 0, faults: Vec::new(), warnings: Vec::new() };
    let node = expansion.node(node, "", MAX_DEPTH);
    let Expansion { faults, warnings, .. } = expansion;
    if faults.is_empty() { Ok(Resolved { node, warnings }) } else { Err(faults) }
}

struct Expansion<'a> {
    env: Env<'a>,
    references: usize,
    faults: Vec<Fault>,
    warnings: Vec<String>,
}

impl Expansion<'_> {
    fn node(&mut self, node: Node, path: &str, depth: usize) -> Node {
        if depth == 0 {
            return self.refuse(path, format!("values nest deeper than {MAX_DEPTH}"));
        }
        let value = match node.value {
            Value::String(text) => return self.text(text, node.original.is_some(), path, depth),
            Value::List(list) => Value::List(self.list(list, path, depth)),
            Value::Map(map) => Value::Map(self.map(map, path, depth)),
            scalar => scalar,
        };
        Node { value, ..node }
    }

    fn list(&mut self, list: Vec<Node>, path: &str, depth: usize) -> Vec<Node> {
        let each = |(index, node): (usize, Node)| self.node(node, &join(path, &index.to_string()), depth - 1);
        list.into_iter().enumerate().map(each).collect()
    }

    fn map(&mut self, map: BTreeMap<String, Node>, path: &str, depth: usize) -> BTreeMap<String, Node> {
        let each = |(key, node): (String, Node)| {
            let node = self.node(node, &join(path, &key), depth - 1);
            (key, node)
        };
        map.into_iter().map(each).collect()
    }

    /// `referred`: the text came from a whole-value reference.
    fn text(&mut self, mut text: String, mut referred: bool, path: &str, depth: usize) -> Node {
        for _ in 0..MAX_ROUNDS {
            let Some(range) = find(&text) else { return finished(&text, referred) };
            let whole = range == (0..text.len());
            let retrieved = match self.retrieve(text.get(range.clone()).unwrap_or_default(), path) {
                Ok(retrieved) => retrieved,
                Err(message) => return self.refuse(path, message),
            };
            match retrieved.value.value {
                Value::List(_) | Value::Map(_) if !whole => return self.refuse(path, ambiguous(&text, range)),
                Value::String(_) if whole => (text, referred) = (retrieved.text, true),
                _ if whole => return self.whole(retrieved, path, depth),
                _ => text.replace_range(range, &retrieved.text),
            }
        }
        self.refuse(path, "too many recursive expansions: a reference leads back to itself".to_owned())
    }

    /// A value of another type than string; a list's or map's text is kept only if it says the same as the value.
    fn whole(&mut self, retrieved: Retrieved, path: &str, depth: usize) -> Node {
        let original = (!retrieved.text.contains("${")).then(|| unescaped(&retrieved.text));
        let node = self.node(retrieved.value, path, depth - 1);
        Node { original, ..node }
    }

    fn retrieve(&mut self, reference: &str, path: &str) -> Result<Retrieved, String> {
        self.references += 1;
        if self.references > MAX_REFERENCES {
            return Err(format!("more than {MAX_REFERENCES} references in one configuration"));
        }
        let inner = reference.strip_prefix("${").and_then(|r| r.strip_suffix('}')).unwrap_or(reference);
        let retrieved = retrieve(inner, self.env)?;
        if let Some(name) = &retrieved.unset {
            let advice = format!("environment variable \"{name}\" is not set, the value is empty");
            let advice = format!("{advice}: set it, or give a default with ${{env:{name}:-default}}");
            self.warnings.push(Fault::new(path, advice).to_string());
        }
        Ok(retrieved)
    }

    fn refuse(&mut self, path: &str, message: String) -> Node {
        self.faults.push(Fault::new(path, message));
        Node::null()
    }
}

fn finished(text: &str, referred: bool) -> Node {
    let text = unescaped(text);
    Node { original: referred.then(|| text.clone()), ..Value::String(text).into() }
}

fn unescaped(text: &str) -> String {
    text.replace("$$", "$")
}

/// The reference is named, what it holds is not: it may be a secret.
fn ambiguous(text: &str, range: std::ops::Range<usize>) -> String {
    let reference = text.get(range).unwrap_or_default();
    format!(
        "{reference}: retrieved value does not have unambiguous string representation: it is a list or a map, which \
         cannot stand inside a longer string"
    )
}

#[cfg(test)]
mod tests;
