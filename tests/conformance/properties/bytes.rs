//! Spans and requests as arbitrary fields rather than arbitrary structs: unknown, repeated and odd ones too.

use proptest::collection::vec;
use proptest::prelude::*;
use sluice::model::wire::{fields::*, put_bytes, put_fixed32, put_fixed64, put_varint, put_varint_field};

/// The bytes of one field.
type FieldBytes = Vec<u8>;

fn made(put: impl FnOnce(&mut Vec<u8>)) -> FieldBytes {
    let mut out = Vec::new();
    put(&mut out);
    out
}

fn text(field: u32, value: &str) -> FieldBytes {
    made(|out| put_bytes(out, field, value.as_bytes()))
}

fn unknown_field() -> impl Strategy<Value = FieldBytes> {
    (100u32..5000, 0..5u8, any::<u64>(), vec(any::<u8>(), 0..9)).prop_map(|(field, wire_type, number, bytes)| {
        made(|out| match wire_type {
            0 => put_varint_field(out, field, number),
            1 => put_fixed64(out, field, number),
            2 => put_bytes(out, field, &bytes),
            3 => put_fixed32(out, field, number as u32),
            _ => {
                // A group around a number.
                put_varint(out, u64::from(field) << 3 | 3);
                put_varint_field(out, 1, number);
                put_varint(out, u64::from(field) << 3 | 4);
            }
        })
    })
}

fn status() -> impl Strategy<Value = FieldBytes> {
    let code = prop_oneof![Just(0), Just(1), Just(2), Just(127), Just(128), any::<u64>()];
    (proptest::option::of(code), proptest::option::of("[a-z]{0,3}")).prop_map(|(code, message)| {
        let status = made(|out| {
            message.iter().for_each(|message| put_bytes(out, 2, message.as_bytes()));
            code.iter().for_each(|code| put_varint_field(out, STATUS_CODE, *code));
        });
        made(|out| put_bytes(out, SPAN_STATUS, &status))
    })
}

fn key_field() -> impl Strategy<Value = FieldBytes> {
    let id = |field, length| vec(any::<u8>(), length).prop_map(move |id| made(|out| put_bytes(out, field, &id)));
    let time =
        |field| prop_oneof![Just(0), any::<u64>()].prop_map(move |time| made(|out| put_fixed64(out, field, time)));
    let zero = Just(made(|out| put_bytes(out, SPAN_PARENT, &[0; 8])));
    let kind = prop_oneof![0..7u64, any::<u64>()].prop_map(|kind| made(|out| put_varint_field(out, SPAN_KIND, kind)));
    let none = Just(made(|out| put_bytes(out, SPAN_PARENT, &[])));
    prop_oneof![
        id(SPAN_TRACE_ID, 16..17),
        id(SPAN_SPAN_ID, 8..9),
        id(SPAN_PARENT, 8..9),
        zero,
        none,
        kind,
        time(SPAN_START),
        time(SPAN_END),
        status(),
    ]
}

fn other_field() -> impl Strategy<Value = FieldBytes> {
    let attribute = ("[a-z]{0,4}", any::<i64>()).prop_map(|(key, number)| {
        let value = made(|out| put_varint_field(out, 3, number as u64));
        let pair = [text(KEY_VALUE_KEY, &key), made(|out| put_bytes(out, KEY_VALUE_VALUE, &value))].concat();
        made(|out| put_bytes(out, SPAN_ATTRIBUTES, &pair))
    });
    let name = "[a-zA-Zé/ ]{0,12}".prop_map(|name| text(SPAN_NAME, &name));
    let flags = any::<u32>().prop_map(|flags| made(|out| put_fixed32(out, 16, flags)));
    prop_oneof![attribute, name, flags, unknown_field()]
}

/// A `Span` message with valid ids and any other fields, in any order, any of them repeated.
pub fn span() -> impl Strategy<Value = Vec<u8>> {
    let ids = [made(|out| put_bytes(out, SPAN_TRACE_ID, &[7; 16])), made(|out| put_bytes(out, SPAN_SPAN_ID, &[9; 8]))];
    let more = vec(prop_oneof![key_field(), other_field()], 0..14);
    more.prop_flat_map(move |mut fields| {
        fields.extend(ids.clone());
        Just(fields).prop_shuffle()
    })
    .prop_map(|fields| fields.concat())
}

/// Fields of a span that no key is made of, any number of them.
pub fn extra_fields() -> impl Strategy<Value = Vec<u8>> {
    vec(other_field(), 0..4).prop_map(|fields| fields.concat())
}

/// A request of one span.
pub fn request_of(span: &[u8]) -> Vec<u8> {
    request_in(span, &[], &[])
}

/// A request of one span whose resource and scope have these fields.
pub fn request_in(span: &[u8], resource: &[u8], scope: &[u8]) -> Vec<u8> {
    let spans = made(|out| put_bytes(out, SCOPE_SPANS_SPANS, span));
    let scopes = made(|out| put_bytes(out, RESOURCE_SPANS_SCOPE_SPANS, &[scope, &spans].concat()));
    made(|out| put_bytes(out, REQUEST_RESOURCE_SPANS, &[resource, &scopes].concat()))
}

/// The `resource` field of a `ResourceSpans` with this service.
pub fn resource_named(service: &str) -> Vec<u8> {
    let value = text(ANY_VALUE_STRING, service);
    let pair = [text(KEY_VALUE_KEY, "service.name"), made(|out| put_bytes(out, KEY_VALUE_VALUE, &value))].concat();
    let resource = made(|out| put_bytes(out, RESOURCE_ATTRIBUTES, &pair));
    made(|out| put_bytes(out, RESOURCE_SPANS_RESOURCE, &resource))
}

/// The `scope` field of a `ScopeSpans` with this name, and a version.
pub fn scope_named(name: &str, version: &str) -> Vec<u8> {
    let scope = [text(SCOPE_NAME, name), text(2, version)].concat();
    made(|out| put_bytes(out, SCOPE_SPANS_SCOPE, &scope))
}
