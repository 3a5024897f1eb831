//! Attributes as OTLP `KeyValue` fields: those that never change as bytes, the others as recipes.

use crate::cli::generate::random::Random;
use crate::cli::generate::shop::{Attribute, Value};
use crate::model::wire::fields::*;
use crate::model::wire::{put_bytes, put_fixed64, put_varint_field};

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

/// What holes are filled with.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub user: u32,
    pub order: u32,
    pub item: u32,
    /// How many links the span has.
    pub links: u32,
}

/// An attribute that differs from span to span.
pub struct Varying {
    /// The encoded key.
    key: Vec<u8>,
    recipe: Recipe,
}

enum Recipe {
    Text(Vec<Piece>),
    Count(u32),
    Amount(f64),
    Flag(f64),
    Links,
}

enum Piece {
    Fixed(String),
    User,
    Order,
    Item,
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
        let pieces = pieces(text);
        match &pieces[..] {
            [] | [Piece::Fixed(_)] => self.text(key, text),
            _ => self.vary(key, Recipe::Text(pieces)),
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
        let mut encoded = Vec::new();
        put_bytes(&mut encoded, KEY_VALUE_KEY, key.as_bytes());
        self.varying.push(Varying { key: encoded, recipe });
    }
}

const HOLES: [(&str, Piece); 3] = [("{user}", Piece::User), ("{order}", Piece::Order), ("{item}", Piece::Item)];

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((hole, piece)) = HOLES.into_iter().find(|(hole, _)| rest.starts_with(hole)) {
            pieces.push(piece);
            rest = rest.get(hole.len()..).unwrap_or_default();
            continue;
        }
        let next = HOLES.iter().filter_map(|(hole, _)| rest.find(hole)).min().unwrap_or(rest.len());
        let (fixed, after) = rest.split_at(next);
        pieces.push(Piece::Fixed(fixed.to_owned()));
        rest = after;
    }
    pieces
}

impl Varying {
    /// Appends the attribute to a span. `random` decides what the facts do not.
    pub fn put(&self, out: &mut Vec<u8>, facts: Facts, random: &mut Random, scratch: &mut Scratch) {
        let Scratch { pair, value, text } = scratch;
        value.clear();
        self.recipe.put(value, facts, random, text);
        pair.clear();
        pair.extend_from_slice(&self.key);
        put_bytes(pair, KEY_VALUE_VALUE, value);
        put_bytes(out, SPAN_ATTRIBUTES, pair);
    }
}

/// Buffers used again and again.
#[derive(Default)]
pub struct Scratch {
    pair: Vec<u8>,
    value: Vec<u8>,
    text: Vec<u8>,
}

impl Recipe {
    /// Appends the fields of an `AnyValue`.
    fn put(&self, value: &mut Vec<u8>, facts: Facts, random: &mut Random, text: &mut Vec<u8>) {
        match self {
            Self::Text(pieces) => {
                text.clear();
                pieces.iter().for_each(|piece| piece.put(text, facts));
                put_bytes(value, ANY_VALUE_STRING, text);
            }
            Self::Count(most) => put_varint_field(value, ANY_VALUE_INT, u64::from(random.below(*most)) + 1),
            Self::Amount(most) => {
                let cents = (random.unit() * most * 100.0).round() / 100.0;
                put_fixed64(value, ANY_VALUE_DOUBLE, cents.to_bits());
            }
            Self::Flag(chance) => put_varint_field(value, ANY_VALUE_BOOL, random.chance(*chance).into()),
            Self::Links => put_varint_field(value, ANY_VALUE_INT, facts.links.into()),
        }
    }
}

impl Piece {
    fn put(&self, text: &mut Vec<u8>, facts: Facts) {
        match self {
            Self::Fixed(fixed) => text.extend_from_slice(fixed.as_bytes()),
            Self::User => put_digits::<6>(text, b"u-", facts.user % 200_000),
            Self::Order => put_digits::<9>(text, b"o-", facts.order % 1_000_000_000),
            Self::Item => put_digits::<5>(text, b"p-", facts.item % 20_000),
        }
    }
}

/// A number with as many digits.
fn put_digits<const DIGITS: usize>(text: &mut Vec<u8>, before: &[u8], mut number: u32) {
    let mut digits = [b'0'; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    text.extend_from_slice(before);
    text.extend_from_slice(&digits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
    use prost::Message;

    const FACTS: Facts = Facts { user: 17, order: 4_000_000_017, item: 20_003, links: 3 };

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
            ("/a/{order}/{user}.webp", "/a/o-000000017/u-000017.webp"),
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
