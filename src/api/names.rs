//! Span kinds and status codes by name. What OTLP has no name for goes by its number.

/// By their numbers.
const KINDS: [&str; 6] = ["unspecified", "internal", "server", "client", "producer", "consumer"];
const STATUSES: [&str; 3] = ["UNSET", "OK", "ERROR"];

/// OTLP status codes.
pub const UNSET: i32 = 0;
pub const ERROR: i32 = 2;

/// OTLP span kinds.
pub const UNSPECIFIED: i32 = 0;
pub const INTERNAL: i32 = 1;

/// The kind's name in lower case.
pub fn kind(number: i32) -> String {
    name(&KINDS, number)
}

/// The status code's name in upper case.
pub fn status(number: i32) -> String {
    name(&STATUSES, number)
}

/// The kind with this name, in any case, or number.
pub fn parse_kind(text: &str) -> Result<i32, String> {
    parse(&KINDS, text).ok_or_else(|| format!("\"{text}\" is no span kind: {} or a number", KINDS.join(", ")))
}

/// The status code with this name, in any case, or number.
pub fn parse_status(text: &str) -> Result<i32, String> {
    parse(&STATUSES, text).ok_or_else(|| format!("\"{text}\" is no status code: {} or a number", STATUSES.join(", ")))
}

fn name(names: &[&str], number: i32) -> String {
    let known = usize::try_from(number).ok().and_then(|place| names.get(place));
    known.map_or_else(|| number.to_string(), |name| (*name).to_owned())
}

fn parse(names: &[&str], text: &str) -> Option<i32> {
    let place = names.iter().position(|name| name.eq_ignore_ascii_case(text));
    place.and_then(|place| i32::try_from(place).ok()).or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_number_is_called_names_that_number() {
        for number in [i32::MIN, -1, 0, 1, 2, 3, 4, 5, 6, 99, i32::MAX] {
            assert_eq!(parse_kind(&kind(number)), Ok(number));
            assert_eq!(parse_status(&status(number)), Ok(number));
        }
        assert_eq!((kind(2).as_str(), status(2).as_str()), ("server", "ERROR"));
        assert_eq!((parse_kind("SERVER"), parse_status("error")), (Ok(2), Ok(ERROR)));
    }

    #[test]
    fn what_is_no_name_is_refused_with_those_there_are() {
        let (kind, status) = (parse_kind("sever").unwrap_err(), parse_status("").unwrap_err());
        assert!(kind.contains("\"sever\"") && kind.contains("server"), "{kind}");
        assert!(status.contains("UNSET, OK, ERROR"), "{status}");
    }
}
