//! Values of parameters. An error says what is wrong with the value; whoever reads the parameter puts its name before it.

use crate::config::units::GoDuration;
use crate::model::time::{Nanos, parse_rfc3339};
use crate::model::{Order, TraceId};
use serde_json::{Map, Value};

/// Most traces that one answer holds.
pub const MOST_TRACES: usize = 1_500;

pub fn text(value: &str) -> Result<String, String> {
    Ok(value.to_owned())
}

pub fn boolean(value: &str) -> Result<bool, String> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(format!("\"{value}\" is neither true nor false")),
    }
}

pub fn trace_id(value: &str) -> Result<TraceId, String> {
    TraceId::parse(value).ok_or_else(|| format!("\"{value}\" is no trace id: 1 to 32 hex digits, not all 0"))
}

/// Microseconds since 1970.
pub fn microseconds(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("\"{value}\" is no time in microseconds since 1970"))
}

/// RFC 3339. A `+` that was not escaped arrives as a blank and is taken for one.
pub fn instant(value: &str) -> Result<Nanos, String> {
    let mended = match value.rsplit_once(' ') {
        Some((time, offset)) if time.contains(['T', 't']) => format!("{time}+{offset}"),
        _ => value.to_owned(),
    };
    let no_time = || format!("\"{value}\" is no time between 1970 and 2554 as in 2026-01-31T12:00:00.5Z");
    parse_rfc3339(&mended).ok_or_else(no_time)
}

/// In Go's notation.
pub fn duration(value: &str) -> Result<Nanos, String> {
    let parsed: GoDuration = value.parse()?;
    u64::try_from(parsed.nanoseconds()).map_err(|_| format!("\"{value}\" is less than nothing"))
}

/// A number of traces.
pub fn limit(value: &str) -> Result<usize, String> {
    let wanted = value.parse().ok().filter(|limit| (1..=MOST_TRACES).contains(limit));
    wanted.ok_or_else(|| format!("\"{value}\" is not between 1 and {MOST_TRACES}"))
}

pub fn order(value: &str) -> Result<Order, String> {
    match value {
        "newest" => Ok(Order::NewestFirst),
        "slowest" => Ok(Order::SlowestFirst),
        _ => Err(format!("\"{value}\" is neither newest nor slowest")),
    }
}

/// `key:value`; only the value may have a colon in it.
pub fn pair(value: &str) -> Result<(String, String), String> {
    let (key, value) = value.split_once(':').ok_or_else(|| format!("\"{value}\" is not key:value"))?;
    Ok((key.to_owned(), value.to_owned()))
}

/// A JSON object of texts. Numbers and booleans stand for their texts.
pub fn pairs(value: &str) -> Result<Vec<(String, String)>, String> {
    let map: Map<String, Value> = serde_json::from_str(value)
        .map_err(|error| format!("not a JSON object as in {{\"key\":\"value\"}}: {error}"))?;
    map.into_iter().map(|(key, value)| scalar(&key, value).map(|text| (key, text))).collect()
}

fn scalar(key: &str, value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(format!("the value of \"{key}\" is no text: {value}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, nanos) in [
            ("1.2ms", 1_200_000),
            ("1h30m", 5_400_000_000_000),
            ("7ns", 7),
            ("7us", 7_000),
            ("7µs", 7_000),
            ("7μs", 7_000),
            (".5s", 500_000_000),
            ("0", 0),
        ] {
            assert_eq!(duration(text), Ok(nanos), "{text}");
        }
        for text in ["", "5", "5d", "-1s", "ms", "1.5.5s", "9999999h", "1 s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_blank_before_the_offset_is_a_plus() {
        let noon = parse_rfc3339("2026-08-20T12:00:00.123456789Z");
        assert!(noon.is_some());
        for text in [
            "2026-08-20T14:00:00.123456789+02:00",
            "2026-08-20T14:00:00.123456789 02:00",
            "2026-08-20T12:00:00.123456789Z",
        ] {
            assert_eq!(instant(text).ok(), noon, "{text}");
        }
        for text in ["now", "2026-08-20", "1700000000", "2026-08-20T14:00:00 2:00", "1969-12-31T23:59:59Z"] {
            assert!(instant(text).unwrap_err().contains(text), "{text}");
        }
    }

    #[test]
    fn a_limit_has_two_ends() {
        assert_eq!((limit("1"), limit("1500")), (Ok(1), Ok(1_500)));
        for text in ["0", "1501", "-1", "ten", "99999999999999999999"] {
            assert!(limit(text).unwrap_err().contains("between 1 and 1500"), "{text}");
        }
    }

    #[test]
    fn pairs_are_read_and_what_is_no_text_is_refused_by_its_key() {
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(pair("http.url:http://a:80/"), Ok(("http.url".into(), "http://a:80/".into())));
        assert!(pair("error").unwrap_err().contains("\"error\" is not key:value"));
        let read = pairs(r#"{"a":"b:c","n":200,"ok":true,"":""}"#).unwrap();
        assert_eq!(read, owned(&[("", ""), ("a", "b:c"), ("n", "200"), ("ok", "true")]));
        for (text, named) in [("{\"a\":null}", "\"a\""), ("{\"a\":[1]}", "[1]"), ("a=b", "JSON"), ("[]", "JSON")] {
            assert!(pairs(text).unwrap_err().contains(named), "{text}");
        }
    }
}
