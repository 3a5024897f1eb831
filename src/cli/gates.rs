//! `--feature-gates a,-b,+c`.

/// A feature to switch on or off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    pub name: String,
    pub on: bool,
}

/// The features there are.
const KNOWN: &[&str] = &[];

/// Reads one gate. Errors: a name that is not known, since whoever switches it expects an effect.
pub fn parse(text: &str) -> Result<Gate, String> {
    let (on, name) = match text.strip_prefix('-') {
        Some(name) => (false, name),
        None => (true, text.strip_prefix('+').unwrap_or(text)),
    };
    if KNOWN.contains(&name) {
        return Ok(Gate { name: name.to_owned(), on });
    }
    Err(format!("there is no feature gate \"{name}\" (valid values: [{}])", KNOWN.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_gate_is_named_without_its_sign() {
        for text in ["x.y", "-x.y", "+x.y"] {
            assert!(parse(text).unwrap_err().contains("\"x.y\""), "{text}");
        }
    }
}
