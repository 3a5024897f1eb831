//! What is wrong with a configuration, and where.

use std::fmt;

/// One fault: the path of the key it concerns, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Keys from the outside in, joined by `::`; list elements by their index. Empty where no key is concerned.
    pub path: String,
    pub message: String,
}

impl Fault {
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// The same fault, seen from further outside.
    pub fn under(self, prefix: &str) -> Self {
        Self { path: join(prefix, &self.path), message: self.message }
    }
}

/// Two parts of a key path as one; an empty part adds nothing.
pub(super) fn join(outer: &str, inner: &str) -> String {
    match (outer.is_empty(), inner.is_empty()) {
        (true, _) => inner.to_owned(),
        (_, true) => outer.to_owned(),
        _ => format!("{outer}::{inner}"),
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_shows_its_path_from_the_outside_in() {
        let fault = Fault::new("protocols", "wrong").under("otlp").under("receivers");
        assert_eq!(fault.to_string(), "receivers::otlp::protocols: wrong");
    }

    #[test]
    fn a_fault_without_a_path_is_its_message_alone() {
        assert_eq!(Fault::new("", "wrong").to_string(), "wrong");
        assert_eq!(Fault::new("", "wrong").under("a").to_string(), "a: wrong");
    }
}
