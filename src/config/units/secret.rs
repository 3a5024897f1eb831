//! Text that must not be shown.

use super::SECRET;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Visitor};
use std::fmt;

const REDACTED: &str = "[REDACTED]";

/// A password, token, key or header value: printed, logged and serialized as `[REDACTED]`.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that must have it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(REDACTED)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(SECRET, Text)
    }
}

struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Node;

    #[test]
    fn a_secret_is_read_and_never_shown() {
        let secret: Secret = Node::from_yaml("hunter2").unwrap().decode().unwrap();
        assert_eq!(secret.expose(), "hunter2");
        assert_eq!(format!("{secret} {secret:?}"), "[REDACTED] [REDACTED]");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"[REDACTED]\"");
    }

    #[test]
    fn a_refused_secret_is_not_in_the_message() {
        let faults = Node::from_yaml("12345").unwrap().decode::<Secret>().unwrap_err();
        assert_eq!(faults[0].to_string(), "expected a string, got an integer");
    }
}
