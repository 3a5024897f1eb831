//! One node, as serde sees it.

use super::Skipped;
use super::access::{Commas, Enum, List, Map};
use super::error::Error;
use crate::config::node::{Node, Number, Value};
use crate::config::remarks;
use crate::config::units::{DURATION, SECRET};
use serde::de::{self, Error as _, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use std::collections::BTreeMap;

pub(super) struct Deserializer<'a> {
    pub(super) node: &'a Node,
    pub(super) path: Vec<String>,
    skipped: &'a Skipped,
}

impl<'a> Deserializer<'a> {
    pub(super) fn new(node: &'a Node, skipped: &'a Skipped) -> Self {
        Self { node, path: Vec::new(), skipped }
    }

    pub(super) fn below(node: &'a Node, path: &[String], key: &str, skipped: &'a Skipped) -> Self {
        Self { node, path: path.iter().cloned().chain([key.to_owned()]).collect(), skipped }
    }

    /// The text where a string is wanted: the original one, if there is one.
    fn text(&self) -> Option<&'a str> {
        match (&self.node.original, &self.node.value) {
            (Some(original), _) => Some(original),
            (None, Value::String(text)) => Some(text),
            _ => None,
        }
    }

    fn mismatch<'de, V: Visitor<'de>>(&self, visitor: &V) -> Error {
        let unexpected = match &self.node.value {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(number) if number.is_f64() => Unexpected::Float(0.0),
            Value::Number(_) => Unexpected::Unsigned(0),
            Value::String(text) => Unexpected::Str(text),
            Value::List(_) => Unexpected::Seq,
            Value::Map(_) => Unexpected::Map,
        };
        Error::invalid_type(unexpected, visitor)
    }

    fn string<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.text() {
            Some(text) => visitor.visit_str(text),
            None => Err(self.mismatch(&visitor)),
        }
    }

    fn integer<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Number(number) if !number.is_f64() => visit_number(number, visitor),
            Value::String(text) => match underscored(text) {
                Some(number) => visit_number(&number, visitor),
                None => Err(self.mismatch(&visitor)),
            },
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn float<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Number(number) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn list<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::List(list) => visitor.visit_seq(List::new(list.iter(), &self.path, self.skipped)),
            Value::String(text) => visitor.visit_seq(Commas::new(text, &self.path)),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn map<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Map(map) => visitor.visit_map(Map::new(map.iter(), &self.path, self.skipped)),
            Value::Null => visitor.visit_map(Map::new(BTreeMap::new().iter(), &self.path, self.skipped)),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn variant(&self) -> Option<Enum<'a>> {
        if let Some(text) = self.text().filter(|_| !self.node.is_null()) {
            return Some(Enum { variant: text, content: None });
        }
        let Value::Map(map) = &self.node.value else { return None };
        let mut present = map.iter().map(|(key, node)| (key, Self::below(node, &self.path, key, self.skipped)));
        match (present.next(), present.next()) {
            (Some((key, content)), None) => Some(Enum { variant: key, content: Some(content) }),
            _ => None,
        }
    }

    /// A bare integer where a duration is wanted is legal and hardly ever meant.
    fn remark(&self, name: &str) {
        match (name, &self.node.value) {
            (SECRET, _) => remarks::secret(&self.path),
            (DURATION, Value::Number(number)) if number.as_i64() != Some(0) => {
                let advice =
                    format!("{number} without a unit is {number} nanoseconds: write the unit, as in {number}s");
                remarks::warn(self.path.join("::"), advice);
            }
            _ => {}
        }
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => visitor.visit_u64(number),
        (_, Some(number)) => visitor.visit_i64(number),
        _ => visitor.visit_f64(number.as_f64().unwrap_or_default()),
    }
}

/// `1_000`, which YAML 1.1 calls an integer and the parser a string.
fn underscored(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let groups =
        digits.contains('_') && digits.split('_').all(|g| !g.is_empty() && g.bytes().all(|b| b.is_ascii_digit()));
    let text = text.replace('_', "");
    groups.then(|| text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from)).ok())?
}

macro_rules! same_way {
    ($way:ident: $($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.$way(visitor)
        })*
    };
}

impl<'de> de::Deserializer<'de> for Deserializer<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => visit_number(number, visitor),
            Value::String(text) => visitor.visit_str(text),
            Value::List(_) => self.list(visitor),
            Value::Map(_) => self.map(visitor),
        }
    }

    same_way!(integer: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64);
    same_way!(integer: deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64);
    same_way!(float: deserialize_f32 deserialize_f64);
    same_way!(string: deserialize_str deserialize_string deserialize_char);
    same_way!(list: deserialize_seq);
    same_way!(map: deserialize_map);

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.remark(name);
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.list(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.list(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.variant() {
            Some(variant) => visitor.visit_enum(variant),
            None => Err(self.mismatch(&visitor)),
        }
    }

    forward_to_deserialize_any! { bool i128 u128 bytes byte_buf unit unit_struct identifier ignored_any }
}
