//! Durations in Go's notation: `300ms`, `1.5h`, `1m30s`, `0`. A unit is required; there is none above the hour.
//!
//! Use `#[serde(with = "crate::config::units::duration")]` on a [`std::time::Duration`] field: negative values are
//! refused there. [`GoDuration`] is for where a negative value has a meaning, and for `Option` and lists.

use super::DURATION;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error, de::Visitor};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Largest first, so that printing can go through them in order.
const UNITS: [(&str, i64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// A signed duration in nanoseconds, as Go has it: up to 292 years either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(pub i64);

impl GoDuration {
    pub fn nanoseconds(self) -> i64 {
        self.0
    }

    /// `None` for a negative duration.
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
}

/// What lies beyond 292 years saturates.
impl From<Duration> for GoDuration {
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl FromStr for GoDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let sum =
            if rest == "0" { 0 } else { parts(rest).map_err(|why| format!("\"{text}\" is not a duration: {why}"))? };
        Ok(Self(if negative { -sum } else { sum }))
    }
}

fn parts(mut rest: &str) -> Result<i64, String> {
    if rest.is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut sum = 0_i64;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        sum = sum.checked_add(nanoseconds(number, factor(unit)?)?).ok_or("it is longer than 292 years")?;
        rest = tail;
    }
    Ok(sum)
}

fn factor(unit: &str) -> Result<i64, String> {
    let unit = if matches!(unit, "µs" | "μs") { "us" } else { unit };
    match UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => Ok(*factor),
        None if unit.is_empty() => Err("the unit is missing (ns, us, ms, s, m or h)".to_owned()),
        None => Err(format!("unknown unit \"{unit}\" (use ns, us, ms, s, m or h)")),
    }
}

/// Digits of a fraction beyond the unit's nanoseconds are cut off.
fn nanoseconds(number: &str, factor: i64) -> Result<i64, String> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err("a number is missing before the unit".to_owned());
    }
    let whole = if whole.is_empty() { Some(0) } else { whole.parse::<i64>().ok() };
    let mut nanos = whole.and_then(|n| n.checked_mul(factor)).ok_or("it is longer than 292 years")?;
    let mut place = factor;
    for digit in fraction.bytes() {
        place /= 10;
        nanos = nanos.saturating_add(i64::from(digit - b'0') * place);
    }
    Ok(nanos)
}

/// As it would be written: `1m30s`, `300ms`, `0s`.
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let mut rest = self.0.unsigned_abs();
        for (unit, factor) in UNITS {
            let count = rest / factor.unsigned_abs();
            rest %= factor.unsigned_abs();
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(DURATION, Text)
    }
}

/// For `#[serde(with = …)]`.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    GoDuration::from(*duration).serialize(serializer)
}

/// For `#[serde(with = …)]`: refuses negative durations.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let duration = GoDuration::deserialize(deserializer)?;
    duration.to_std().ok_or_else(|| D::Error::custom(format!("duration {duration} must not be negative")))
}

struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = GoDuration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as 300ms, 10s or 1m30s")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<GoDuration, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_i64<E: Error>(self, nanos: i64) -> Result<GoDuration, E> {
        Ok(GoDuration(nanos))
    }

    fn visit_u64<E: Error>(self, nanos: u64) -> Result<GoDuration, E> {
        i64::try_from(nanos).map(GoDuration).map_err(|_| E::custom("a duration must be below 292 years"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<GoDuration, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Node;

    fn nanos(text: &str) -> Result<i64, String> {
        text.parse::<GoDuration>().map(GoDuration::nanoseconds)
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let cases = [
            ("300ms", 300_000_000),
            ("1.5h", 5_400_000_000_000),
            ("1m30s", 90_000_000_000),
            ("2h45m", 9_900_000_000_000),
            ("-1s", -1_000_000_000),
            ("+.5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("0", 0),
            ("-0", 0),
            ("3µs", 3_000),
            ("3μs", 3_000),
            ("0.1234567899ms", 123_456),
        ];
        for (text, expected) in cases {
            assert_eq!(nanos(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in ["", "-", "1d", "1w", "10", "s", ".s", "1..s", "1 s", "1s ", "1S", "9999999999h", "2562048h", "é"]
        {
            assert!(nanos(text).is_err(), "{text:?}");
        }
        assert!(nanos("1d").unwrap_err().contains("unknown unit \"d\""));
        assert!(nanos("10").unwrap_err().contains("unit is missing"));
    }

    #[test]
    fn a_duration_prints_as_it_would_be_written() {
        let cases = [("90s", "1m30s"), ("0", "0s"), ("1500us", "1ms500us"), ("-2h", "-2h"), ("168h", "168h")];
        for (text, printed) in cases {
            assert_eq!(text.parse::<GoDuration>().unwrap().to_string(), printed);
        }
        assert!(GoDuration(i64::MIN).to_string().starts_with("-2562047h"));
    }

    #[derive(Debug, Deserialize)]
    struct Holder {
        #[serde(with = "super")]
        timeout: Duration,
    }

    fn holder(text: &str) -> Result<Duration, String> {
        let holder = Node::from_yaml(&format!("timeout: {text}")).unwrap().decode::<Holder>();
        holder.map(|h| h.timeout).map_err(|faults| faults[0].to_string())
    }

    #[test]
    fn negative_is_refused_where_a_plain_duration_is_wanted() {
        assert_eq!(holder("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(holder("-10s"), Err("timeout: duration -10s must not be negative".to_owned()));
    }

    #[test]
    fn a_bare_integer_is_nanoseconds_with_a_warning() {
        let (duration, remarks) = crate::config::remarks::gather(|| holder("10"));
        assert_eq!(duration, Ok(Duration::from_nanos(10)));
        let warning = remarks.warnings.first().unwrap().to_string();
        assert!(warning.starts_with("timeout: 10 without a unit is 10 nanoseconds"), "{warning}");
        let (duration, remarks) = crate::config::remarks::gather(|| holder("0"));
        assert_eq!((duration, remarks.warnings.len()), (Ok(Duration::ZERO), 0));
    }
}
