//! What a request asks for.

use crate::api::answer::Refusal;
use crate::model::TraceId;

/// One trace, and how it is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub id: TraceId,
    /// Attributes as sent, repeated keys included.
    pub raw: bool,
    /// With line breaks.
    pub pretty: bool,
}

impl Asked {
    /// Reads the path's id and the parameters. A parameter that is not known is refused, since whoever sends it
    /// expects an effect.
    pub fn read(id: &str, parameters: &[(String, String)]) -> Result<Self, Refusal> {
        let parsed = TraceId::parse(id);
        let id =
            parsed.ok_or_else(|| Refusal::bad(format!("\"{id}\" is no trace id: 1 to 32 hex digits, not all 0")))?;
        let mut asked = Self { id, raw: false, pretty: false };
        for (name, value) in parameters {
            match name.as_str() {
                "raw" => asked.raw = boolean(name, value)?,
                "prettyPrint" => asked.pretty = boolean(name, value)?,
                "start" | "end" => microseconds(name, value)?,
                _ => return Err(unknown(name)),
            }
        }
        Ok(asked)
    }
}

fn unknown(name: &str) -> Refusal {
    Refusal::bad(format!("there is no parameter \"{name}\" here (known: raw, prettyPrint, start, end)"))
}

fn boolean(name: &str, value: &str) -> Result<bool, Refusal> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Refusal::bad(format!("{name}: \"{value}\" is neither true nor false"))),
    }
}

/// A hint only: a trace is found by its id alone.
fn microseconds(name: &str, value: &str) -> Result<(), Refusal> {
    let parsed = value.parse::<i64>().map(drop);
    parsed.map_err(|_| Refusal::bad(format!("{name}: \"{value}\" is no time in microseconds since 1970")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(id: &str, parameters: &[(&str, &str)]) -> Result<Asked, Refusal> {
        let owned: Vec<_> = parameters.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Asked::read(id, &owned)
    }

    #[test]
    fn known_parameters_are_read() {
        let asked = read("AB", &[("raw", "1"), ("prettyPrint", "true"), ("start", "17"), ("end", "18")]).unwrap();
        assert_eq!((asked.id, asked.raw, asked.pretty), (TraceId::parse("ab").unwrap(), true, true));
        assert!(!read("ab", &[("raw", "false")]).unwrap().raw);
    }

    #[test]
    fn what_has_no_meaning_is_refused_by_name() {
        for (id, parameters, named) in [
            ("xyz", vec![], "xyz"),
            ("0", vec![], "not all 0"),
            ("ab", vec![("limit", "5")], "\"limit\""),
            ("ab", vec![("raw", "perhaps")], "raw: \"perhaps\""),
            ("ab", vec![("start", "yesterday")], "start: \"yesterday\""),
        ] {
            let refusal = format!("{:?}", read(id, &parameters).unwrap_err().clone());
            assert!(refusal.replace('\\', "").contains(named), "{refusal}");
        }
    }
}
