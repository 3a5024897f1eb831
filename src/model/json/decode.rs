//! JSON text to protobuf bytes, in one pass.

use super::MAX_DEPTH;
use super::scalar::Scalar;
use super::schema::{Field, Kind, MAX_FIELDS, Message, REQUEST};
use crate::model::wire::{put_bytes, put_message};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Range;
use thiserror::Error;

/// Text that is no OTLP/JSON trace request: what is wrong, with line and column.
#[derive(Debug, Error)]
#[error("not an OTLP/JSON trace request: {0}")]
pub struct JsonError(#[from] serde_json::Error);

/// The request as OTLP protobuf. Ids are not checked beyond being hex, and text may not be UTF-8:
/// [`Batch::from_otlp`](crate::model::Batch::from_otlp) sees to both.
pub fn decode(text: &[u8]) -> Result<Vec<u8>, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // Messages count their depth themselves.
    deserializer.disable_recursion_limit();
    let mut out = Vec::with_capacity(text.len() / 2);
    Fields { message: &REQUEST, out: &mut out, depth: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(out)
}

/// An object, its fields appended to `out`.
struct Fields<'o> {
    message: &'static Message,
    out: &'o mut Vec<u8>,
    depth: u32,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        if self.depth > MAX_DEPTH {
            return Err(D::Error::custom("values nested deeper than 100"));
        }
        value.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self { message, out, depth } = self;
        let mut written = Written::new(message, out.len());
        while let Some(key) = object.next_key_seed(Key(message))? {
            let Some((index, field)) = key else {
                object.next_value::<IgnoredAny>()?;
                continue;
            };
            written.forget(index, out);
            let from = out.len();
            object.next_value_seed(Value { field, out, depth, keep_default: message.one_of })?;
            written.note(index, from, out);
        }
        Ok(())
    }
}

/// Where the fields of an object lie in the output, so that the last of two wins. Ranges, since looking for a field in
/// the output would cost its length again for every repeated key.
struct Written {
    one_of: bool,
    begin: usize,
    ranges: [Range<usize>; MAX_FIELDS],
}

impl Written {
    fn new(message: &Message, begin: usize) -> Self {
        Self { one_of: message.one_of, begin, ranges: [const { 0..0 }; MAX_FIELDS] }
    }

    /// Takes what was written of a field out again.
    fn forget(&mut self, index: usize, out: &mut Vec<u8>) {
        let Some(gone) = self.ranges.get_mut(index).map(std::mem::take).filter(|range| !range.is_empty()) else {
            return;
        };
        for range in self.ranges.iter_mut().filter(|range| range.start >= gone.end) {
            *range = range.start - gone.len()..range.end - gone.len();
        }
        out.drain(gone);
    }

    /// Notes that a field reaches from `from` to the end. Where only one may be set, it replaces the others.
    fn note(&mut self, index: usize, from: usize, out: &mut Vec<u8>) {
        let mut range = from..out.len();
        if self.one_of && !range.is_empty() {
            out.drain(self.begin..from);
            range = self.begin..out.len();
            self.ranges.fill(0..0);
        }
        self.ranges.get_mut(index).into_iter().for_each(|slot| *slot = range.clone());
    }
}

/// A key: the field it names, if any.
struct Key(&'static Message);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<(usize, &'static Field)>;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<Self::Value, D::Error> {
        key.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<(usize, &'static Field)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.named(key))
    }
}

/// What stands behind a key. `null` writes nothing.
struct Value<'o> {
    field: &'static Field,
    out: &'o mut Vec<u8>,
    depth: u32,
    keep_default: bool,
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array for {}", self.field.name)
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        if self.field.repeated { value.deserialize_seq(self) } else { self.one(value) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Self { field, out, depth, .. } = self;
        while elements.next_element_seed(Element { field, out, depth })?.is_some() {}
        Ok(())
    }
}

impl Value<'_> {
    fn one<'de, D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        let Self { field, out, depth, keep_default } = self;
        match field.kind {
            Kind::Message(message) => {
                put_message(out, field.number, |out| Fields { message, out, depth: depth + 1 }.deserialize(value))
            }
            Kind::Text => value.deserialize_bytes(Text { field, out, keep_default }),
            kind => {
                let json = <&RawValue as serde::Deserialize>::deserialize(value)?.get();
                let scalar = Scalar::parse(json).ok_or("single value expected");
                let put = scalar.and_then(|scalar| scalar.put(kind, field.number, keep_default, out));
                put.map_err(|problem| D::Error::custom(format_args!("{}: {problem}", field.name)))
            }
        }
    }
}

/// An element of an array: always written, `null` as the default.
struct Element<'o> {
    field: &'static Field,
    out: &'o mut Vec<u8>,
    depth: u32,
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an element of {}", self.field.name)
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        put_bytes(self.out, self.field.number, &[]);
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        let Self { field, out, depth } = self;
        Value { field, out, depth, keep_default: true }.one(value)
    }
}

/// Text, taken as bytes: half a surrogate pair, as a sender that cuts UTF-16 leaves it, is repaired later and does not
/// cost the request.
struct Text<'o> {
    field: &'static Field,
    out: &'o mut Vec<u8>,
    keep_default: bool,
}

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "text for {}", self.field.name)
    }

    fn visit_bytes<E: Error>(self, text: &[u8]) -> Result<(), E> {
        if self.keep_default || !text.is_empty() {
            put_bytes(self.out, self.field.number, text);
        }
        Ok(())
    }
}
