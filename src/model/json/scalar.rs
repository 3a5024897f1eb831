//! Single values: from JSON text to what protobuf holds.

use super::schema::Kind;
use crate::model::wire::{put_bytes, put_fixed32, put_fixed64, put_varint_field};
use base64::Engine;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::borrow::Cow;

/// A JSON value that is neither an object nor an array. Numbers stay text: 64-bit integers do not fit an `f64`.
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    Text(Cow<'a, str>),
}

impl<'a> Scalar<'a> {
    /// The scalar in this piece of valid JSON; `None` for an object, an array, or text with half a surrogate pair.
    pub fn parse(json: &'a str) -> Option<Self> {
        match json.as_bytes().first()? {
            b'n' => Some(Self::Null),
            b't' | b'f' => Some(Self::Bool(json == "true")),
            b'"' => unquoted(json).map(Self::Text),
            b'{' | b'[' => None,
            _ => Some(Self::Number(json)),
        }
    }

    /// Appends the field. Without `keep_default`, a default value is left out, as proto3 does.
    ///
    /// Errors: what was expected, where the value does not fit the kind.
    pub fn put(&self, kind: Kind, number: u32, keep_default: bool, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let before = out.len();
        let is_default = match kind {
            Kind::Id => self.bytes(out, number, id)?,
            Kind::Bytes => self.bytes(out, number, from_base64)?,
            Kind::Bool => varint(out, number, self.bool()?.into()),
            Kind::Int64 => varint(out, number, self.integer::<i64>()? as u64),
            Kind::Uint32 => varint(out, number, self.integer::<u32>()?.into()),
            Kind::Enum(names) => varint(out, number, i64::from(self.named(names)?) as u64),
            Kind::Fixed64 => fixed64(out, number, self.integer()?),
            Kind::Double => fixed64(out, number, self.double()?.to_bits()),
            Kind::Fixed32 => fixed32(out, number, self.integer()?),
            Kind::Text | Kind::Message(_) => return Err("no scalar"),
        };
        if is_default && !keep_default {
            out.truncate(before);
        }
        Ok(())
    }

    fn bytes(&self, out: &mut Vec<u8>, number: u32, decode: fn(&str) -> Decoded) -> Result<bool, &'static str> {
        let bytes = match self {
            Self::Null => Vec::new(),
            Self::Text(text) => decode(text)?,
            _ => return Err("text expected"),
        };
        put_bytes(out, number, &bytes);
        Ok(bytes.is_empty())
    }

    fn bool(&self) -> Result<bool, &'static str> {
        match self {
            Self::Null => Ok(false),
            Self::Bool(value) => Ok(*value),
            _ => Err("true or false expected"),
        }
    }

    fn integer<T: TryFrom<i128> + Default>(&self) -> Result<T, &'static str> {
        let value = match self {
            Self::Null => return Ok(T::default()),
            Self::Number(text) => whole(text),
            Self::Text(text) => text.parse().ok(),
            Self::Bool(_) => None,
        };
        value.and_then(|value| T::try_from(value).ok()).ok_or("integer in range expected")
    }

    /// An enum's number, given as such or by name. Numbers without a name are kept.
    fn named(&self, names: &[&str]) -> Result<i32, &'static str> {
        match self {
            Self::Text(name) => {
                let number = names.iter().position(|known| known == name).and_then(|place| i32::try_from(place).ok());
                number.ok_or("known enum name or integer expected")
            }
            other => other.integer(),
        }
    }

    fn double(&self) -> Result<f64, &'static str> {
        let finite = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite());
        let value = match self {
            Self::Null => Some(0.0),
            Self::Number(text) => finite(text),
            Self::Text(text) => match &**text {
                "NaN" => Some(f64::NAN),
                "Infinity" => Some(f64::INFINITY),
                "-Infinity" => Some(f64::NEG_INFINITY),
                text => finite(text),
            },
            Self::Bool(_) => None,
        };
        value.ok_or("number in range expected")
    }
}

fn unquoted(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(json).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

fn varint(out: &mut Vec<u8>, number: u32, value: u64) -> bool {
    put_varint_field(out, number, value);
    value == 0
}

/// Minus zero is not the default: its bits are.
fn fixed64(out: &mut Vec<u8>, number: u32, value: u64) -> bool {
    put_fixed64(out, number, value);
    value == 0
}

fn fixed32(out: &mut Vec<u8>, number: u32, value: u32) -> bool {
    put_fixed32(out, number, value);
    value == 0
}

type Decoded = Result<Vec<u8>, &'static str>;

/// The bytes of an id. An odd number of digits makes no bytes: the digits themselves are passed on, of which no number
/// is the length of an id, so that the walk refuses their span and not the request.
fn id(text: &str) -> Decoded {
    let digit = |digit: u8| (digit as char).to_digit(16).ok_or("hex expected");
    if text.len() % 2 == 1 {
        return text.bytes().map(|byte| digit(byte).map(|_| byte)).collect();
    }
    let (pairs, _) = text.as_bytes().as_chunks::<2>();
    pairs.iter().map(|[high, low]| Ok((digit(*high)? << 4 | digit(*low)?) as u8)).collect()
}

/// Base64 of either alphabet, padded or not.
fn from_base64(text: &str) -> Decoded {
    let engine = if text.contains(['-', '_']) { engine(&URL_SAFE) } else { engine(&STANDARD) };
    engine.decode(text).map_err(|_| "base64 expected")
}

fn engine(alphabet: &Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config)
}

/// The value of a JSON number if it is whole: `7`, `7.0`, `0.7e1`. Exact: nothing passes through an `f64`.
fn whole(number: &str) -> Option<i128> {
    number.parse().ok().or_else(|| {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{integer}{fraction}");
        let significant = digits.trim_end_matches('0');
        if matches!(significant, "" | "-") {
            return Some(0);
        }
        let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
        let shift = exponent.parse::<i32>().map(i64::from).ok()? + zeros - i64::try_from(fraction.len()).ok()?;
        significant.parse::<i128>().ok()?.checked_mul(10i128.checked_pow(u32::try_from(shift).ok()?)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_whole_whatever_its_form_and_exact() {
        for (text, value) in
            [("7", 7), ("-7.0", -7), ("0.7e1", 7), ("1E3", 1000), ("1200e-2", 12), ("0e99", 0), ("-0.0", 0)]
        {
            assert_eq!(whole(text), Some(value), "{text}");
        }
        assert_eq!(whole("9007199254740993"), Some(9_007_199_254_740_993));
        assert_eq!(whole("9007199254740993.0"), Some(9_007_199_254_740_993));
        assert_eq!(whole("1.58266276796031e+18"), Some(1_582_662_767_960_310_000));
    }

    #[test]
    fn a_number_with_a_fraction_or_beyond_all_bounds_is_refused() {
        for text in ["0.5", "1e-1", "1e99999999999", "1e40", "-1.00000000000000000000000000000000000000001"] {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn an_id_that_is_hex_never_gains_the_right_length() {
        assert_eq!(id("aBcD"), Ok(vec![0xab, 0xcd]));
        assert_eq!(id(""), Ok(vec![]));
        for digits in [1, 15, 17, 31, 33] {
            assert_eq!(id(&"1".repeat(digits)).unwrap().len(), digits);
        }
        assert_eq!(id("zz"), Err("hex expected"));
        assert_eq!(id("z"), Err("hex expected"));
        assert_eq!(id("é"), Err("hex expected"));
    }

    #[test]
    fn base64_is_read_in_all_four_forms() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            assert_eq!(from_base64(text), Ok(vec![0xfb, 0xff]), "{text}");
        }
        for text in ["+_8=", "*", "a"] {
            assert_eq!(from_base64(text), Err("base64 expected"), "{text}");
        }
    }
}
