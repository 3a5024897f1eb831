//! Laying one source over another.

use super::Node;
use super::node::Value;

/// Maps are merged key by key; anything else is replaced. A later `key:` without a value (null) wipes what was there,
/// a later `key: {}` adds nothing.
pub(super) fn merge(under: &mut Node, over: Node) {
    match (&mut under.value, over.value) {
        (Value::Map(under), Value::Map(over)) => {
            for (key, node) in over {
                match under.get_mut(&key) {
                    Some(old) => merge(old, node),
                    None => _ = under.insert(key, node),
                }
            }
        }
        (_, value) => under.value = value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(under: &str, over: &str) -> String {
        let mut node = Node::from_yaml(under).unwrap();
        merge(&mut node, Node::from_yaml(over).unwrap());
        format!("{node:?}")
    }

    #[test]
    fn maps_merge_deep_and_the_rest_is_replaced() {
        assert_eq!(merged("a: {b: 1, c: [1, 2]}", "a: {c: [3], d: x}"), r#"{"a":{"b":1,"c":[3],"d":"x"}}"#);
        assert_eq!(merged("a: {b: 1}", "a: text"), r#"{"a":"text"}"#);
        assert_eq!(merged("a: text", "a: {b: 1}"), r#"{"a":{"b":1}}"#);
    }

    #[test]
    fn a_later_null_wipes_and_an_empty_map_does_not() {
        assert_eq!(merged("a: {b: 1}", "a:"), r#"{"a":null}"#);
        assert_eq!(merged("a: {b: 1}", "a: {}"), r#"{"a":{"b":1}}"#);
    }
}
