//! Why a value cannot be what a component wants.

use serde::de::{self, Expected, Unexpected};
use std::fmt;

/// A fault on its way out, and what the decoder does about it before it looks on.
#[derive(Debug)]
pub struct Error {
    pub(super) cause: Cause,
    pub(super) message: String,
    /// Set by the innermost place that knows it.
    pub(super) path: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cause {
    /// `key:` with nothing behind it where a value is wanted. In a map that is as good as no key at all.
    Null,
    /// A key nobody knows, inside the map at the path.
    UnknownKey(String),
    /// A key that is not there, inside the map at the path.
    Missing(&'static str),
    Other,
}

impl Error {
    pub(super) fn new(cause: Cause, message: String) -> Self {
        Self { cause, message, path: None }
    }

    pub(super) fn at(mut self, path: &[String]) -> Self {
        self.path.get_or_insert_with(|| path.to_vec());
        self
    }

    /// Makes the fault one of the whole value, whatever part of it was to blame.
    pub(super) fn whole(self) -> Self {
        Self { cause: Cause::Other, path: None, ..self }
    }

    /// An element of a list cannot be left out as a key can.
    pub(super) fn in_list(mut self) -> Self {
        if self.path.is_none() && self.cause == Cause::Null {
            self.cause = Cause::Other;
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Cause::Other, message.to_string())
    }

    /// Names types only: the value itself may be a secret.
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let cause = if unexpected == Unexpected::Unit { Cause::Null } else { Cause::Other };
        Self::new(cause, format!("expected {}, got {}", wanted(&expected.to_string()), word(&unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let value = match unexpected {
            Unexpected::Unsigned(n) => n.to_string(),
            Unexpected::Signed(n) => n.to_string(),
            other => word(&other).to_owned(),
        };
        Self::new(Cause::Other, format!("expected {}, got {value}", range(&expected.to_string())))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(Cause::Other, format!("unknown value \"{variant}\" (valid values: [{}])", expected.join(" ")))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let message = format!("has invalid keys: {field} (valid keys: [{}])", expected.join(" "));
        Self::new(Cause::UnknownKey(field.to_owned()), message)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Cause::Missing(field), format!("requires the key \"{field}\""))
    }
}

/// What serde expects, in the words of someone who writes YAML.
fn wanted(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => "an integer",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "a map",
        other if other.starts_with("enum ") => "a string",
        other => other,
    }
}

fn range(expected: &str) -> String {
    let (min, max) = match expected {
        "u8" => (0, u64::from(u8::MAX)),
        "u16" => (0, u64::from(u16::MAX)),
        "u32" => (0, u64::from(u32::MAX)),
        "u64" | "usize" => (0, u64::MAX),
        "i8" => (i64::from(i8::MIN), 127),
        "i16" => (i64::from(i16::MIN), 32_767),
        "i32" => (i64::from(i32::MIN), 2_147_483_647),
        "i64" | "isize" => (i64::MIN, 9_223_372_036_854_775_807),
        other => return wanted(other).to_owned(),
    };
    format!("an integer from {min} to {max}")
}

fn word(unexpected: &Unexpected<'_>) -> &'static str {
    match unexpected {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "an integer",
        Unexpected::Float(_) => "a number with a fraction",
        Unexpected::Char(_) | Unexpected::Str(_) => "a string",
        Unexpected::Seq => "a list",
        Unexpected::Map => "a map",
        Unexpected::Unit => "null",
        _ => "something else",
    }
}
