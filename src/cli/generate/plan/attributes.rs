//! Attributes as OTLP `KeyValue` fields: those that never change as bytes, the others as recipes.

use super::varying::{Recipe, Varying};
use crate::cli::generate::shop::{Attribute, Value};
use crate::model::wire::fields::*;
use crate::model::wire::{put_bytes, put_varint_field};

/// Appends an attribute to `field` of a message.
fn put(out: &mut Vec<u8>, field: u32, key: &str, value: &[u8]) {
    let mut pair = Vec::new();
    put_bytes(&mut pair, KEY_VALUE_KEY, key.as_bytes());
    put_bytes(&mut pair, KEY_VALUE_VALUE, value);
    put_bytes(out, field, &pair);
}

pub fn put_text(out: &mut Vec<u8>, field: u32, key: &str, text: &str) {
    let mut value = Vec::new();
    put_bytes(&mut value, ANY_VALUE_STRING, text.as_bytes());
    put(out, field, key, &value);
}

pub fn put_int(out: &mut Vec<u8>, field: u32, key: &str, number: i64) {
    let mut value = Vec::new();
    put_varint_field(&mut value, ANY_VALUE_INT, number as u64);
    put(out, field, key, &value);
}

/// Attributes of a template on their way into the two kinds.
#[derive(Default)]
pub struct Attributes {
    /// Encoded fields of a span.
    pub fixed: Vec<u8>,
    pub varying: Vec<Varying>,
}

impl Attributes {
    pub fn text(&mut self, key: &str, text: &str) {
        put_text(&mut self.fixed, SPAN_ATTRIBUTES, key, text);
    }

    pub fn int(&mut self, key: &str, number: i64) {
        put_int(&mut self.fixed, SPAN_ATTRIBUTES, key, number);
    }

    /// The number of links.
    pub fn links(&mut self, key: &str) {
        self.vary(key, Recipe::Links);
    }

    /// A text that may have holes.
    pub fn filled(&mut self, key: &str, text: &str) {
        match Recipe::filled(text) {
            Some(recipe) => self.vary(key, recipe),
            None => self.text(key, text),
        }
    }

    pub fn add(&mut self, (key, value): Attribute) {
        match value {
            Value::Text(text) => self.filled(key, text),
            Value::Int(number) => self.int(key, number),
            Value::Count(most) => self.vary(key, Recipe::Count(most)),
            Value::Amount(most) => self.vary(key, Recipe::Amount(most)),
            Value::Flag(chance) => self.vary(key, Recipe::Flag(chance)),
        }
    }

    fn vary(&mut self, key: &str, recipe: Recipe) {
        self.varying.push(Varying::new(key, recipe));
    }
}

#[cfg(test)]
mod tests {
    use super::super::varying::{Facts, Scratch};
    use super::*;
    use crate::cli::generate::random::Random;
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
    use prost::Message;

    const FACTS: Facts = Facts { user: 17, order: 1_234_567_890, item: 20_003, links: 3 };

    fn value(attributes: &Attributes) -> (String, Any) {
        let mut span = attributes.fixed.clone();
        let (mut random, mut scratch) = (Random::new(1), Scratch::default());
        attributes.varying.iter().for_each(|varying| varying.put(&mut span, FACTS, &mut random, &mut scratch));
        let span = opentelemetry_proto::tonic::trace::v1::Span::decode(&span[..]).unwrap();
        assert_eq!(span.attributes.len(), 1);
        (span.attributes[0].key.clone(), span.attributes[0].value.clone().unwrap().value.unwrap())
    }

    #[test]
    fn holes_are_filled_and_other_braces_left_alone() {
        let texts = [
            ("plain", "plain"),
            ("/product/{id}", "/product/{id}"),
            ("{item}", "p-00003"),
            ("/a/{order}/{user}.webp", "/a/o-234567890/u-000017.webp"),
        ];
        for (text, expected) in texts {
            let mut attributes = Attributes::default();
            attributes.add(("k", Value::Text(text)));
            assert_eq!(attributes.varying.is_empty(), text == expected);
            assert_eq!(value(&attributes), ("k".to_owned(), Any::StringValue(expected.to_owned())));
        }
    }

    #[test]
    fn values_have_their_types_and_bounds() {
        let of = |value: Value| {
            let mut attributes = Attributes::default();
            attributes.add(("k", value));
            self::value(&attributes).1
        };
        assert_eq!(of(Value::Int(-3)), Any::IntValue(-3));
        assert!(matches!(of(Value::Count(4)), Any::IntValue(1..=4)));
        assert!(matches!(of(Value::Amount(2.0)), Any::DoubleValue(amount) if (0.0..=2.0).contains(&amount)));
        assert_eq!(of(Value::Flag(1.0)), Any::BoolValue(true));
        let mut links = Attributes::default();
        links.links("k");
        assert_eq!(value(&links).1, Any::IntValue(3));
    }
}
