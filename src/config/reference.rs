//! What stands between `${` and `}`: finding it, and fetching what it names.

use super::Node;
use super::node::Value;
use std::env::VarError;
use std::fs::File;
use std::io::Read;
use std::ops::Range;

/// How environment variables are looked up: [`std::env::var`], or a table in tests.
pub(super) type Env<'a> = &'a dyn Fn(&str) -> Result<String, VarError>;

/// The largest file that is read as configuration.
const MAX_FILE: u64 = 16 << 20;

/// What a reference stands for.
#[derive(Debug, Clone)]
pub(super) struct Retrieved {
    pub text: String,
    pub value: Node,
    /// The variable that is not set and has no default.
    pub unset: Option<String>,
}

impl Retrieved {
    /// YAML where the text is YAML; otherwise the text itself, quotes included where it has any.
    pub(super) fn new(text: String) -> Self {
        let value = match Node::from_yaml(&text) {
            Ok(node) if !matches!(node.value, Value::String(_)) && !ends_like_an_address(&text) => node,
            _ => Value::String(text.clone()).into(),
        };
        Self { text, value, unset: None }
    }
}

/// `1111::` is an IPv6 address and, to YAML, a map.
fn ends_like_an_address(text: &str) -> bool {
    text.ends_with(':') && !text.contains(char::is_whitespace) && !text.starts_with(['{', '['])
}

/// The next reference to expand: the innermost one around the first closing brace.
///
/// An odd number of `$` before `${` escapes it, and leaves what follows in the text alone too, as the Collector does.
pub(super) fn find(text: &str) -> Option<Range<usize>> {
    let mut start = 0;
    loop {
        let rest = text.get(start..)?;
        let close = rest.find('}')?;
        if let Some(open) = rest.get(..close)?.rfind("${") {
            let dollars = rest.get(..open)?.bytes().rev().take_while(|byte| *byte == b'$').count();
            return (dollars % 2 == 0).then_some(start + open..start + close + 1);
        }
        start += close + 1;
    }
}

/// Fetches what a reference (without its braces) names. A name without a scheme is an environment variable's.
pub(super) fn retrieve(reference: &str, env: Env<'_>) -> Result<Retrieved, String> {
    match reference.split_once(':') {
        None => variable(reference, env),
        Some(("env", name)) => variable(name, env),
        Some(("file", path)) => file(path).map(Retrieved::new),
        Some(("yaml", text)) => Ok(Retrieved::new(text.to_owned())),
        Some((_, rest)) if rest.starts_with('-') => variable(reference, env),
        Some((scheme, _)) => Err(unsupported(scheme)),
    }
}

pub(super) fn unsupported(scheme: &str) -> String {
    let not_yet = if matches!(scheme, "http" | "https") { " yet" } else { "" };
    format!("scheme \"{scheme}\" is not supported{not_yet} (valid values: [env file yaml])")
}

/// `NAME` or `NAME:-default`; the default counts only where the variable is not set at all.
fn variable(text: &str, env: Env<'_>) -> Result<Retrieved, String> {
    let (name, default) = text.split_once(":-").map_or((text, None), |(name, default)| (name, Some(default)));
    if !is_name(name) {
        return Err(format!("environment variable \"{name}\" has invalid name: must match ^[a-zA-Z_][a-zA-Z0-9_]*$"));
    }
    match (env(name), default) {
        (Ok(text), _) => Ok(Retrieved::new(text)),
        (Err(VarError::NotPresent), Some(default)) => Ok(Retrieved::new(default.to_owned())),
        (Err(VarError::NotPresent), None) => {
            Ok(Retrieved { unset: Some(name.to_owned()), ..Retrieved::new(String::new()) })
        }
        (Err(VarError::NotUnicode(_)), _) => Err(format!("environment variable \"{name}\" is not valid UTF-8")),
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A file's text, without the line break at its end, which no token or password in a file is meant to have.
fn file(path: &str) -> Result<String, String> {
    let mut text = read(path)?;
    if text.ends_with('\n') {
        text.pop();
    }
    if text.ends_with('\r') {
        text.pop();
    }
    Ok(text)
}

/// A whole file; one that is too large or no UTF-8 is refused.
pub(super) fn read(path: &str) -> Result<String, String> {
    let failed = |e: std::io::Error| format!("unable to read the file {path}: {e}");
    let mut text = String::new();
    let size = File::open(path).map_err(failed)?.take(MAX_FILE + 1).read_to_string(&mut text).map_err(failed)?;
    if size as u64 > MAX_FILE {
        return Err(format!(
            "the file {path} is larger than {} MiB, the most a configuration may have",
            MAX_FILE >> 20
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<&str> {
        find(text).map(|range| &text[range])
    }

    #[test]
    fn the_innermost_reference_comes_first() {
        assert_eq!(found("a ${env:A_${env:B}} c"), Some("${env:B}"));
        assert_eq!(found("} ${X}"), Some("${X}"));
        assert_eq!(found("é${X}é"), Some("${X}"));
    }

    #[test]
    fn what_is_no_reference_is_left_alone() {
        for text in ["", "$X", "${X", "X}", "$", "$$", "{}", "${"] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn a_doubled_dollar_escapes_and_a_tripled_one_does_not() {
        assert_eq!(found("$${X}"), None);
        assert_eq!(found("$$${X}"), Some("${X}"));
        assert_eq!(found("$${A}-${env:B}"), None);
    }

    #[test]
    fn a_bad_reference_is_refused_with_a_reason() {
        let none = |_: &str| Err(VarError::NotPresent);
        let cases = [
            ("env:1X", "has invalid name"),
            ("", "has invalid name"),
            ("env:", "has invalid name"),
            ("s3:x", "scheme \"s3\" is not supported (valid"),
            ("https://x", "scheme \"https\" is not supported yet"),
            ("file:/does/not/exist", "unable to read the file /does/not/exist"),
        ];
        for (reference, message) in cases {
            let error = retrieve(reference, &none).unwrap_err();
            assert!(error.contains(message), "{reference:?} gave {error:?}");
        }
    }

    #[test]
    fn an_endless_file_is_not_read_to_its_end() {
        if std::path::Path::new("/dev/zero").exists() {
            assert!(read("/dev/zero").unwrap_err().contains("larger than 16 MiB"));
        }
    }
}
