//! How serde walks through maps, lists and enums.

use super::Skipped;
use super::error::Error;
use super::value::Deserializer;
use crate::config::units::SECRET;
use crate::config::{Node, remarks};
use serde::de::{self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::collections::btree_map;
use std::iter::Enumerate;
use std::slice;

pub(super) struct Map<'a> {
    entries: btree_map::Iter<'a, String, Node>,
    value: Option<Deserializer<'a>>,
    path: &'a [String],
    skipped: &'a Skipped,
}

impl<'a> Map<'a> {
    pub(super) fn new(entries: btree_map::Iter<'a, String, Node>, path: &'a [String], skipped: &'a Skipped) -> Self {
        Self { entries, value: None, path, skipped }
    }
}

impl<'de> MapAccess<'de> for Map<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        for (key, node) in self.entries.by_ref() {
            let value = Deserializer::below(node, self.path, key, self.skipped);
            if !self.skipped.contains_key(&value.path) {
                self.value = Some(value);
                return seed
                    .deserialize(key.as_str().into_deserializer())
                    .map(Some)
                    .map_err(|e: Error| e.at(self.path));
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = self.value.take().ok_or_else(|| de::Error::custom("a value was asked for before its key"))?;
        let path = value.path.clone();
        seed.deserialize(value).map_err(|e| e.at(&path))
    }
}

pub(super) struct List<'a> {
    elements: Enumerate<slice::Iter<'a, Node>>,
    path: &'a [String],
    skipped: &'a Skipped,
}

impl<'a> List<'a> {
    pub(super) fn new(elements: slice::Iter<'a, Node>, path: &'a [String], skipped: &'a Skipped) -> Self {
        Self { elements: elements.enumerate(), path, skipped }
    }
}

impl<'de> SeqAccess<'de> for List<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        for (index, node) in self.elements.by_ref() {
            let value = Deserializer::below(node, self.path, &index.to_string(), self.skipped);
            if !self.skipped.contains_key(&value.path) {
                let path = value.path.clone();
                return seed.deserialize(value).map(Some).map_err(|e| e.in_list().at(&path));
            }
        }
        Ok(None)
    }
}

/// `variant` or `{variant: content}`.
pub(super) struct Enum<'a> {
    pub(super) variant: &'a str,
    pub(super) content: Option<Deserializer<'a>>,
}

impl<'a, 'de> EnumAccess<'de> for Enum<'a> {
    type Error = Error;
    type Variant = Content<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'a>), Error> {
        let variant = seed.deserialize(IntoDeserializer::<Error>::into_deserializer(self.variant))?;
        Ok((variant, Content(self.content)))
    }
}

/// What stands behind a variant.
pub(super) struct Content<'a>(Option<Deserializer<'a>>);

impl<'a> Content<'a> {
    fn within<T>(self, read: impl FnOnce(Deserializer<'a>) -> Result<T, Error>) -> Result<T, Error> {
        let none = || de::Error::custom("expected a map with one key, got a string");
        let content = self.0.ok_or_else(none)?;
        let path = content.path.clone();
        read(content).map_err(|e| e.at(&path))
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.0 {
            Some(content) if !content.node.is_null() => Err(de::Error::custom("expected nothing behind this value")),
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        self.within(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.within(|content| de::Deserializer::deserialize_seq(content, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.within(|content| de::Deserializer::deserialize_map(content, visitor))
    }
}

/// The parts of `a,b`, where a list of strings is wanted.
pub(super) struct Commas<'a> {
    parts: std::str::Split<'a, char>,
    path: &'a [String],
}

impl<'a> Commas<'a> {
    pub(super) fn new(text: &'a str, path: &'a [String]) -> Self {
        let mut parts = text.split(',');
        if text.is_empty() {
            parts.next();
        }
        Self { parts, path }
    }
}

impl<'de> SeqAccess<'de> for Commas<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.parts.next().map(|part| seed.deserialize(Part(part, self.path))).transpose().map_err(Error::whole)
    }
}

/// One part: a string and nothing else.
struct Part<'a>(&'a str, &'a [String]);

impl<'de> de::Deserializer<'de> for Part<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name == SECRET {
            remarks::secret(self.1);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(Enum { variant: self.0, content: None })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
