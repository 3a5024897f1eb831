//! Showing a configuration, with or without its secrets.

use super::node::{Node, Value};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// Whether secrets are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `[REDACTED]` instead of: what a component reads as a secret (known after [`super::load`]), and the values of
    /// keys whose names say so: maps of headers, passwords, tokens, secrets, keys to an API, PEM texts.
    Redacted,
    Unredacted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Yaml,
    Json,
}

/// The value as YAML or JSON text, keys in alphabetical order.
pub fn print(node: &Node, mode: Mode, format: Format) -> String {
    let shown = Shown { node, mode, hide: false };
    let text = match format {
        Format::Yaml => serde_yaml::to_string(&shown).map_err(|e| e.to_string()),
        Format::Json => serde_json::to_string(&shown).map(|text| text + "\n").map_err(|e| e.to_string()),
    };
    text.unwrap_or_else(|error| format!("# this configuration cannot be printed: {error}\n"))
}

struct Shown<'a> {
    node: &'a Node,
    mode: Mode,
    /// Something around this value is a secret as a whole.
    hide: bool,
}

impl Shown<'_> {
    fn below<'a>(&self, node: &'a Node, hide: bool) -> Shown<'a> {
        Shown { node, mode: self.mode, hide: hide || self.hide || self.node.secret }
    }

    fn redacted(&self) -> bool {
        self.mode == Mode::Redacted && (self.hide || self.node.secret)
    }
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.node.value {
            Value::Null => serializer.serialize_unit(),
            Value::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|node| seq.serialize_element(&self.below(node, false)))?;
                seq.end()
            }
            Value::Map(map) => {
                let mut entries = serializer.serialize_map(Some(map.len()))?;
                for (key, node) in map {
                    entries.serialize_entry(key, &self.below(node, is_secret(key, node)))?;
                }
                entries.end()
            }
            _ if self.redacted() => serializer.serialize_str("[REDACTED]"),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(number) => number.serialize(serializer),
            Value::String(text) => serializer.serialize_str(text),
        }
    }
}

const SECRET_ENDINGS: [&str; 10] = [
    "password",
    "passphrase",
    "token",
    "secret",
    "authorization",
    "_pem",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
];

/// A list of header *names*, as CORS has it, hides nothing; a list of name and value pairs does.
fn is_secret(key: &str, node: &Node) -> bool {
    let key = key.to_lowercase();
    let names_only = |list: &Vec<Node>| list.iter().all(|node| matches!(node.value, Value::String(_)));
    match &node.value {
        Value::Map(_) if key.ends_with("headers") => true,
        Value::List(list) if key == "headers" => !names_only(list),
        _ => SECRET_ENDINGS.iter().any(|ending| key.ends_with(ending)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(yaml: &str) -> String {
        print(&Node::from_yaml(yaml).unwrap(), Mode::Redacted, Format::Json).trim_end().to_owned()
    }

    #[test]
    fn keys_that_name_a_secret_are_redacted() {
        for key in ["password", "bearer_token", "client_secret", "key_pem", "API_KEY", "secret_access_key"] {
            assert_eq!(redacted(&format!("{key}: x")), format!(r#"{{"{key}":"[REDACTED]"}}"#));
        }
    }

    #[test]
    fn header_values_are_redacted_and_header_names_are_not() {
        assert_eq!(redacted("headers: {a: x, b: 1}"), r#"{"headers":{"a":"[REDACTED]","b":"[REDACTED]"}}"#);
        assert_eq!(redacted("headers: [{name: a, value: x}]").matches("[REDACTED]").count(), 2);
        assert_eq!(redacted("cors: {allowed_headers: [a]}"), r#"{"cors":{"allowed_headers":["a"]}}"#);
    }

    #[test]
    fn everything_inside_a_secret_is_redacted_and_nothing_beside_it() {
        assert_eq!(redacted("{a: {token: {x: [1, y]}}, b: 2}").matches("[REDACTED]").count(), 2);
        let mut node = Node::from_yaml("a: [{b: x}, {b: y}]").unwrap();
        node.mark_secret(&["a".to_owned(), "1".to_owned(), "b".to_owned()]);
        assert_eq!(format!("{node:?}"), r#"{"a":[{"b":"x"},{"b":"[REDACTED]"}]}"#);
    }

    #[test]
    fn unredacted_yaml_reads_back_as_the_same_value() {
        let node =
            Node::from_yaml("{password: x, n: 1.5, big: 18446744073709551615, t: '0123', l: [true, ~]}").unwrap();
        let text = print(&node, Mode::Unredacted, Format::Yaml);
        assert!(Node::from_yaml(&text).unwrap() == node, "{text}");
    }
}
