//! Sizes in bytes.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error, de::Visitor};
use std::fmt;
use std::str::FromStr;

const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

/// A number of bytes: a plain integer, or an integer with a unit (`128KiB`, `64 MiB`, `20MB`); units as written here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    pub const fn kib(count: u64) -> Self {
        Self(count << 10)
    }

    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    pub const fn gib(count: u64) -> Self {
        Self(count << 30)
    }

    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, factor) = UNITS
            .iter()
            .find_map(|(unit, factor)| text.strip_suffix(unit).map(|digits| (digits.trim_end(), *factor)))
            .unwrap_or((text, 1));
        let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(factor));
        match bytes {
            Some(bytes) if whole => Ok(Self(bytes)),
            None if whole => Err(format!("size \"{text}\" is too large: below 16 EiB is possible")),
            _ => Err(format!(
                "\"{text}\" is not a size: write whole bytes or a whole number with B, KiB, MiB, GiB, TiB, KB, MB, GB or TB"
            )),
        }
    }
}

/// In the largest binary unit that needs no fraction.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = UNITS.iter().take(4).rev().find(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor));
        match binary {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Size)
    }
}

struct Size;

impl Visitor<'_> for Size {
    type Value = ByteSize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as 67108864 or 64MiB")
    }

    fn visit_u64<E: Error>(self, bytes: u64) -> Result<ByteSize, E> {
        Ok(ByteSize(bytes))
    }

    fn visit_i64<E: Error>(self, bytes: i64) -> Result<ByteSize, E> {
        u64::try_from(bytes).map(ByteSize).map_err(|_| E::custom("a size must not be negative"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ByteSize, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Node;

    fn decode(text: &str) -> Result<u64, String> {
        let size = Node::from_yaml(text).unwrap().decode::<ByteSize>();
        size.map(ByteSize::bytes).map_err(|faults| faults[0].to_string())
    }

    #[test]
    fn sizes_are_bytes_or_carry_their_unit() {
        let cases =
            [("7", 7), ("64MiB", 64 << 20), ("1GiB", 1 << 30), ("128 KiB", 128 << 10), ("20MB", 20_000_000), ("3B", 3)];
        for (text, bytes) in cases {
            assert_eq!(decode(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["-1", "1.5GiB", "GiB", "1 gib", "1m", "+1KiB", "99999999TiB", "[1]"] {
            assert!(decode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_prints_as_it_would_be_written() {
        let cases = [(0, "0"), (1000, "1000"), (1 << 20, "1MiB"), (1536, "1536"), (3 << 30, "3GiB")];
        for (bytes, text) in cases {
            assert_eq!(ByteSize(bytes).to_string(), text);
        }
    }
}
