//! What the spans of a segment are called and which attribute keys they have: bounded, and marked where something was
//! left out.

use crate::model::wire::{Field, Reader, fields::*, put_varint, read};
use crate::storage::codec::{Decoder, Malformed, put_prefixed};
use std::collections::{BTreeMap, BTreeSet};

/// Most operations of a segment that are written down.
pub const MOST_OPERATIONS: usize = 4096;
/// Most attribute keys of a segment that are written down.
pub const MOST_KEYS: usize = 1024;
/// Most bytes of one name.
pub const LONGEST_NAME: usize = 1024;

/// Service, span name and OTLP kind.
pub type ServiceOperation = (String, String, i32);

/// What a segment's spans are called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    pub operations: BTreeSet<ServiceOperation>,
    /// Attribute keys of spans, resources, scopes and events, each with the types of its values: bit n for field n of
    /// OTLP's `AnyValue`, bit 0 for none.
    pub attributes: BTreeMap<String, u8>,
    /// Operations or keys were left out: what is not here may be there all the same.
    pub cut: bool,
}

impl Names {
    pub fn add_operation(&mut self, service: &str, name: &str, kind: i32) {
        let full = self.operations.len() >= MOST_OPERATIONS;
        if full || service.len() > LONGEST_NAME || name.len() > LONGEST_NAME {
            self.cut |= !self.operations.contains(&(service.to_owned(), name.to_owned(), kind));
            return;
        }
        self.operations.insert((service.to_owned(), name.to_owned(), kind));
    }

    pub fn add_key(&mut self, key: &str, types: u8) {
        if let Some(known) = self.attributes.get_mut(key) {
            *known |= types;
        } else if self.attributes.len() < MOST_KEYS && key.len() <= LONGEST_NAME {
            self.attributes.insert(key.to_owned(), types);
        } else {
            self.cut = true;
        }
    }

    /// Takes over the names of another segment.
    pub fn unite(&mut self, other: &Self) {
        self.cut |= other.cut;
        other.operations.iter().for_each(|(service, name, kind)| self.add_operation(service, name, *kind));
        other.attributes.iter().for_each(|(key, types)| self.add_key(key, *types));
    }

    /// Takes over the name and the attribute keys of a span: its bytes, or what the keys leave of them.
    pub fn add_span(&mut self, service: &str, kind: i32, body: &[u8]) {
        let mut reader = Reader::new(body);
        let mut name = "";
        while let Ok(Some((field, value))) = reader.next_field() {
            let Field::Bytes(bytes) = value else { continue };
            match field {
                SPAN_NAME => name = std::str::from_utf8(bytes).unwrap_or_default(),
                SPAN_ATTRIBUTES => key_of(bytes, &mut |key, types| self.add_raw_key(key, types)),
                SPAN_EVENTS => keys_of(bytes, EVENT_ATTRIBUTES, &mut |key, types| self.add_raw_key(key, types)),
                _ => {}
            }
        }
        self.add_operation(service, name, kind);
    }

    /// Takes over the attribute keys of a resource.
    pub fn add_resource(&mut self, envelope: &[u8]) {
        self.add_envelope(envelope, RESOURCE_SPANS_RESOURCE, RESOURCE_ATTRIBUTES);
    }

    /// Takes over the attribute keys of a scope.
    pub fn add_scope(&mut self, envelope: &[u8]) {
        self.add_envelope(envelope, SCOPE_SPANS_SCOPE, SCOPE_ATTRIBUTES);
    }

    fn add_envelope(&mut self, envelope: &[u8], message: u32, attributes: u32) {
        let inner = read::last_bytes(envelope, message).unwrap_or_default();
        keys_of(inner, attributes, &mut |key, types| self.add_raw_key(key, types));
    }

    fn add_raw_key(&mut self, key: &[u8], types: u8) {
        if let Ok(key) = std::str::from_utf8(key) {
            self.add_key(key, types);
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.cut)];
        put_varint(&mut out, self.operations.len() as u64);
        for (service, name, kind) in &self.operations {
            put_prefixed(&mut out, service.as_bytes());
            put_prefixed(&mut out, name.as_bytes());
            put_varint(&mut out, u64::from(*kind as u32));
        }
        put_varint(&mut out, self.attributes.len() as u64);
        for (key, types) in &self.attributes {
            put_prefixed(&mut out, key.as_bytes());
            out.push(*types);
        }
        out
    }

    pub fn decode(raw: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Decoder::new(raw);
        let mut names = Self { cut: fields.u8()? != 0, ..Self::default() };
        for _ in 0..fields.small::<usize>()? {
            let (service, name) = (fields.text()?.to_owned(), fields.text()?.to_owned());
            names.operations.insert((service, name, fields.small::<u32>()? as i32));
        }
        for _ in 0..fields.small::<usize>()? {
            let key = fields.text()?.to_owned();
            names.attributes.insert(key, fields.u8()?);
        }
        Ok(names)
    }
}

/// Gives every `KeyValue` in `field` of a message to `found`: its key and the bit of its value's type.
pub fn keys_of<'a>(message: &'a [u8], field: u32, found: &mut impl FnMut(&'a [u8], u8)) {
    let mut reader = Reader::new(message);
    while let Ok(Some((number, value))) = reader.next_field() {
        if let (true, Field::Bytes(pair)) = (number == field, value) {
            key_of(pair, found);
        }
    }
}

/// Gives the key of a `KeyValue` and the bit of its value's type to `found`.
pub fn key_of<'a>(pair: &'a [u8], found: &mut impl FnMut(&'a [u8], u8)) {
    let (mut key, mut types) = (&[][..], 1);
    let mut reader = Reader::new(pair);
    while let Ok(Some((number, value))) = reader.next_field() {
        match (number, value) {
            (KEY_VALUE_KEY, Field::Bytes(bytes)) => key = bytes,
            (KEY_VALUE_VALUE, Field::Bytes(any)) => types = type_of(any),
            _ => {}
        }
    }
    found(key, types);
}

/// The bit of an `AnyValue`'s field: its tag has the field's number above three bits.
fn type_of(any: &[u8]) -> u8 {
    any.first().and_then(|tag| 1u8.checked_shl(u32::from(tag >> 3))).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_say_when_they_were_cut() {
        let mut names = Names::default();
        (0..MOST_KEYS).for_each(|key| names.add_key(&format!("key {key}"), 2));
        names.add_operation("shop", "GET /", 2);
        names.add_key("key 1", 4);
        assert!(!names.cut);
        assert_eq!(names.attributes.get("key 1"), Some(&6));
        assert_eq!(Names::decode(&names.encode()), Ok(names.clone()));
        names.add_key("one too many", 2);
        assert!(names.cut && Names::decode(&names.encode()) == Ok(names));
    }
}
