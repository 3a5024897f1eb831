//! The names of components and pipelines: `type` or `type/name`, `traces` or `traces/name`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;

const MAX_TYPE: usize = 63;
const MAX_NAME: usize = 1024;

/// `type` or `type/name`. Blanks around the parts do not count; the name may hold further slashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentId {
    type_name: String,
    name: Option<String>,
}

impl ComponentId {
    /// Reads an id; the error texts are the Collector's.
    ///
    /// A type is an ASCII letter, then letters, digits or `_`, 63 at most. A name is 1 to 1024 characters, none of
    /// them blank, control character or symbol.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (type_name, name) = split(text)?;
        if !is_type(type_name) {
            return Err(format!("in \"{text}\" id: invalid character(s) in type \"{type_name}\""));
        }
        Ok(Self { type_name: type_name.to_owned(), name: name.map(str::to_owned) })
    }

    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl fmt::Display for ComponentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, &self.type_name, self.name())
    }
}

impl<'de> Deserialize<'de> for ComponentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for ComponentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a pipeline carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    Traces,
    Metrics,
    Logs,
    Profiles,
}

impl Signal {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
            Self::Logs => "logs",
            Self::Profiles => "profiles",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Traces, Self::Metrics, Self::Logs, Self::Profiles].into_iter().find(|signal| signal.as_str() == text)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A signal, and a name where there are several pipelines of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipelineId {
    signal: Signal,
    name: Option<String>,
}

impl PipelineId {
    /// Reads an id. Signals that cannot be carried yet are read too, so that the refusal can name them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (signal, name) = split(text)?;
        let signal = Signal::parse(signal).ok_or_else(|| {
            format!("in \"{text}\" id: unknown signal \"{signal}\" (valid values: [traces metrics logs profiles])")
        })?;
        Ok(Self { signal, name: name.map(str::to_owned) })
    }

    pub fn signal(&self) -> Signal {
        self.signal
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl fmt::Display for PipelineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, self.signal.as_str(), self.name())
    }
}

fn write_id(f: &mut fmt::Formatter<'_>, first: &str, name: Option<&str>) -> fmt::Result {
    match name {
        None => f.write_str(first),
        Some(name) => write!(f, "{first}/{name}"),
    }
}

fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    let (first, name) = match text.split_once('/') {
        None => (text.trim(), None),
        Some((first, name)) => (first.trim(), Some(name.trim())),
    };
    match (first, name) {
        ("", None) => Err("id must not be empty".to_owned()),
        ("", _) => Err(format!("in \"{text}\" id: the part before / should not be empty")),
        (_, Some("")) => Err(format!("in \"{text}\" id: the part after / should not be empty")),
        (_, Some(name)) if !is_name(name) => Err(format!("in \"{text}\" id: invalid character(s) in name \"{name}\"")),
        parts => Ok(parts),
    }
}

fn is_type(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= MAX_TYPE
}

fn is_name(text: &str) -> bool {
    text.chars().count() <= MAX_NAME && !text.chars().any(|c| c.is_whitespace() || c.is_control() || is_symbol(c))
}

/// The symbols (Unicode class S) of ASCII and Latin-1, the arrows, mathematical and technical signs, and the pictographs.
fn is_symbol(c: char) -> bool {
    matches!(c, '$' | '+' | '<'..='>' | '^' | '`' | '|' | '~' | '¢'..='¦' | '¨' | '©' | '¬' | '®'..='±' | '´' | '¸' | '×' | '÷')
        || matches!(c, '\u{20A0}'..='\u{20CF}' | '\u{2100}'..='\u{214F}' | '\u{2190}'..='\u{23FF}')
        || matches!(c, '\u{2500}'..='\u{27BF}' | '\u{1F300}'..='\u{1FAFF}')
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{FEFF}' | '\u{E000}'..='\u{F8FF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_type_and_perhaps_a_name() {
        let id = ComponentId::parse(" otlp / a/b ").unwrap();
        assert_eq!((id.type_name(), id.name()), ("otlp", Some("a/b")));
        assert_eq!(id.to_string(), "otlp/a/b");
        assert_eq!(ComponentId::parse("otlp").unwrap().name(), None);
    }

    #[test]
    fn a_bad_id_is_refused_in_the_collectors_words() {
        let cases = [
            ("", "id must not be empty"),
            ("  ", "id must not be empty"),
            ("x/", "in \"x/\" id: the part after / should not be empty"),
            ("/x", "in \"/x\" id: the part before / should not be empty"),
            ("/", "in \"/\" id: the part before / should not be empty"),
            ("9x", "invalid character(s) in type \"9x\""),
            ("o-tlp", "invalid character(s) in type \"o-tlp\""),
            ("otlp/a b", "invalid character(s) in name \"a b\""),
            ("otlp/a=b", "invalid character(s) in name \"a=b\""),
        ];
        for (text, message) in cases {
            let error = ComponentId::parse(text).unwrap_err();
            assert!(error.contains(message), "{text:?} gave {error:?}");
        }
    }

    #[test]
    fn the_lengths_of_an_id_are_bounded() {
        assert!(ComponentId::parse(&"a".repeat(63)).is_ok());
        assert!(ComponentId::parse(&"a".repeat(64)).is_err());
        assert!(ComponentId::parse(&format!("a/{}", "é".repeat(1024))).is_ok());
        assert!(ComponentId::parse(&format!("a/{}", "é".repeat(1025))).is_err());
    }

    #[test]
    fn a_pipeline_is_named_by_its_signal() {
        let id = PipelineId::parse("traces/x").unwrap();
        assert_eq!((id.signal(), id.name(), id.to_string().as_str()), (Signal::Traces, Some("x"), "traces/x"));
        assert_eq!(PipelineId::parse("metrics").unwrap().signal(), Signal::Metrics);
        assert!(PipelineId::parse("spans").unwrap_err().contains("unknown signal \"spans\""));
        assert!(PipelineId::parse("Traces").is_err());
    }
}
