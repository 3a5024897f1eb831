//! One value of the configuration.

use super::Fault;
use super::fault::join;
use std::collections::BTreeMap;
use std::fmt;

pub(super) type Number = serde_yaml::Number;

/// One expanded YAML value.
///
/// A value that came from a whole-value reference (`key: ${env:X}`) remembers the text it was read from: where the
/// configuration wants a string, it gets that text, so `0123` or `true` in a variable stays what it is.
#[derive(Clone, PartialEq)]
pub struct Node {
    pub(super) value: Value,
    pub(super) original: Option<String>,
    /// A component reads this as a secret: printing hides it.
    pub(super) secret: bool,
}

#[derive(Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<Node>),
    Map(BTreeMap<String, Node>),
}

impl Node {
    /// A component without a body: all defaults.
    pub fn null() -> Self {
        Value::Null.into()
    }

    /// Reads one YAML document; `<<` merges are applied, duplicate keys and unknown tags refused. References are *not*
    /// expanded: that is [`super::resolve`]'s part.
    pub fn from_yaml(text: &str) -> Result<Self, Fault> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut value: serde_yaml::Value = serde_yaml::from_str(text).map_err(|e| Fault::new("", e.to_string()))?;
        value.apply_merge().map_err(|e| Fault::new("", e.to_string()))?;
        convert(value, "")
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The value's type in plain words, for messages.
    pub(super) fn type_word(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(number) if number.is_f64() => "a number with a fraction",
            Value::Number(_) => "an integer",
            Value::String(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// Hides the value at `path` when printed redacted. Where there is none, there is nothing to hide.
    pub(super) fn mark_secret(&mut self, path: &[String]) {
        let mut node = self;
        for key in path {
            let next = match &mut node.value {
                Value::Map(map) => map.get_mut(key),
                Value::List(list) => key.parse::<usize>().ok().and_then(|index| list.get_mut(index)),
                _ => None,
            };
            let Some(next) = next else { return };
            node = next;
        }
        node.secret = true;
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self { value, original: None, secret: false }
    }
}

/// Secrets do not get into logs by `{:?}`.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(super::print(self, super::Mode::Redacted, super::Format::Json).trim_end())
    }
}

/// Its depth is bounded by the YAML parser's (128).
fn convert(value: serde_yaml::Value, path: &str) -> Result<Node, Fault> {
    use serde_yaml::Value as Yaml;
    let value = match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => Value::Bool(value),
        Yaml::Number(value) => Value::Number(value),
        Yaml::String(value) => Value::String(value),
        Yaml::Sequence(list) => Value::List(convert_list(list, path)?),
        Yaml::Mapping(map) => Value::Map(convert_map(map, path)?),
        Yaml::Tagged(tagged) => {
            return Err(Fault::new(path, format!("YAML tag {} has no meaning here: remove it", tagged.tag)));
        }
    };
    Ok(value.into())
}

fn convert_list(list: Vec<serde_yaml::Value>, path: &str) -> Result<Vec<Node>, Fault> {
    list.into_iter().enumerate().map(|(index, value)| convert(value, &join(path, &index.to_string()))).collect()
}

fn convert_map(map: serde_yaml::Mapping, path: &str) -> Result<BTreeMap<String, Node>, Fault> {
    let mut nodes = BTreeMap::new();
    for (key, value) in map {
        let key = key_text(key).ok_or_else(|| Fault::new(path, "a key must be a string, a number or a boolean"))?;
        let node = convert(value, &join(path, &key))?;
        if nodes.insert(key.clone(), node).is_some() {
            return Err(Fault::new(path, format!("duplicate key \"{key}\"")));
        }
    }
    Ok(nodes)
}

fn key_text(key: serde_yaml::Value) -> Option<String> {
    match key {
        serde_yaml::Value::String(text) => Some(text),
        serde_yaml::Value::Number(number) => Some(number.to_string()),
        serde_yaml::Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Node::from_yaml(text).unwrap_err().to_string()
    }

    #[test]
    fn a_document_without_a_value_is_null() {
        for text in ["", "# nothing", "~", "---\n", "\u{feff}"] {
            assert!(Node::from_yaml(text).unwrap().is_null(), "{text:?}");
        }
    }

    #[test]
    fn duplicate_keys_are_refused() {
        assert!(error("a: 1\na: 2").contains("duplicate"));
        assert!(error("x: {1: a, '1': b}").contains("x: duplicate key \"1\""));
    }

    #[test]
    fn tags_and_keys_that_are_no_scalars_are_refused_with_their_path() {
        assert!(error("a: {b: !secret x}").starts_with("a::b: YAML tag !secret"));
        assert!(error("a: {[1]: x}").starts_with("a: a key must be"));
    }

    #[test]
    fn merge_keys_are_applied() {
        let node = Node::from_yaml("base: &b {x: 1}\nother: {<<: *b, y: 2}").unwrap();
        assert_eq!(format!("{node:?}"), r#"{"base":{"x":1},"other":{"x":1,"y":2}}"#);
    }

    #[test]
    fn nesting_is_bounded() {
        assert!(Node::from_yaml(&"[".repeat(100_000)).is_err());
        assert!(Node::from_yaml(&("[".repeat(1000) + &"]".repeat(1000))).is_err());
    }
}
