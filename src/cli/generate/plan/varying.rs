//! Attributes that differ from span to span.

use crate::cli::generate::random::Random;
use crate::model::wire::fields::*;
use crate::model::wire::{put_bytes, put_fixed64, put_varint_field};

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

/// How a value is come by.
pub enum Recipe {
    Text(Vec<Piece>),
    Count(u32),
    Amount(f64),
    Flag(f64),
    Links,
}

/// Of a text.
pub enum Piece {
    Fixed(String),
    User,
    Order,
    Item,
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
    pub fn new(key: &str, recipe: Recipe) -> Self {
        let mut encoded = Vec::new();
        put_bytes(&mut encoded, KEY_VALUE_KEY, key.as_bytes());
        Self { key: encoded, recipe }
    }

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
    /// For a text with holes; `None` where it has none.
    pub fn filled(text: &str) -> Option<Self> {
        let pieces = pieces(text);
        let varies = pieces.iter().any(|piece| !matches!(piece, Piece::Fixed(_)));
        varies.then_some(Self::Text(pieces))
    }

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
