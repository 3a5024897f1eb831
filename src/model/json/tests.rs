//! Properties of the codec: nothing is lost between the two forms, and nothing from outside breaks it.

use super::{decode, encode};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, EntityRef, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use prost::Message;

fn any_value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        Just(None),
        any::<String>().prop_map(|text| Some(Value::StringValue(text))),
        any::<bool>().prop_map(|value| Some(Value::BoolValue(value))),
        any::<i64>().prop_map(|number| Some(Value::IntValue(number))),
        any::<f64>().prop_map(|number| Some(Value::DoubleValue(number))),
        prop_oneof![Just(-0.0), Just(f64::INFINITY), Just(f64::NEG_INFINITY)].prop_map(|n| Some(Value::DoubleValue(n))),
        vec(any::<u8>(), 0..5).prop_map(|bytes| Some(Value::BytesValue(bytes))),
    ];
    leaf.prop_map(|value| AnyValue { value }).prop_recursive(4, 16, 3, |inner| {
        let array = vec(inner.clone(), 0..3).prop_map(|values| Value::ArrayValue(ArrayValue { values }));
        let list = vec(pair(inner), 0..3).prop_map(|values| Value::KvlistValue(KeyValueList { values }));
        prop_oneof![array, list].prop_map(|value| AnyValue { value: Some(value) })
    })
}

fn pair(value: impl Strategy<Value = AnyValue>) -> impl Strategy<Value = KeyValue> {
    (any::<String>(), option::of(value)).prop_map(|(key, value)| KeyValue { key, value, ..KeyValue::default() })
}

fn attributes() -> impl Strategy<Value = Vec<KeyValue>> {
    vec(pair(any_value()), 0..3)
}

fn id(length: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => vec(any::<u8>(), length), 1 => vec(any::<u8>(), 0..40)]
}

prop_compose! {
    fn event()(time_unix_nano: u64, name: String, attributes in attributes(), dropped_attributes_count: u32) -> Event {
        Event { time_unix_nano, name, attributes, dropped_attributes_count }
    }
}

prop_compose! {
    fn link()(ids in (id(16), id(8)), trace_state: String, attributes in attributes(), counts: (u32, u32)) -> Link {
        let ((trace_id, span_id), (dropped_attributes_count, flags)) = (ids, counts);
        Link { trace_id, span_id, trace_state, attributes, dropped_attributes_count, flags }
    }
}

prop_compose! {
    fn span()(
        ids in (id(16), id(8), id(8)),
        texts: (String, String),
        numbers: (i32, u64, u64, u32),
        dropped: (u32, u32, u32),
        attributes in attributes(),
        events in vec(event(), 0..2),
        links in vec(link(), 0..2),
        status in option::of((any::<String>(), any::<i32>())),
    ) -> Span {
        let (trace_id, span_id, parent_span_id) = ids;
        let (name, trace_state) = texts;
        let (kind, start_time_unix_nano, end_time_unix_nano, flags) = numbers;
        let (dropped_attributes_count, dropped_events_count, dropped_links_count) = dropped;
        let status = status.map(|(message, code)| Status { message, code });
        Span {
            trace_id, span_id, trace_state, parent_span_id, flags, name, kind, start_time_unix_nano, end_time_unix_nano,
            attributes, dropped_attributes_count, events, dropped_events_count, links, dropped_links_count, status,
        }
    }
}

prop_compose! {
    fn scope_spans()(
        scope in option::of((any::<String>(), any::<String>(), attributes(), any::<u32>())),
        spans in vec(span(), 0..3),
        schema_url: String,
    ) -> ScopeSpans {
        let scope = scope.map(|(name, version, attributes, dropped_attributes_count)| {
            InstrumentationScope { name, version, attributes, dropped_attributes_count }
        });
        ScopeSpans { scope, spans, schema_url }
    }
}

prop_compose! {
    fn entity()(texts: (String, String), id_keys: Vec<String>, description_keys in vec(any::<String>(), 0..2)) -> EntityRef {
        EntityRef { schema_url: texts.0, r#type: texts.1, id_keys, description_keys }
    }
}

prop_compose! {
    fn resource_spans()(
        resource in option::of((attributes(), any::<u32>(), vec(entity(), 0..2))),
        scope_spans in vec(scope_spans(), 0..3),
        schema_url: String,
    ) -> ResourceSpans {
        let resource = resource.map(|(attributes, dropped_attributes_count, entity_refs)| {
            Resource { attributes, dropped_attributes_count, entity_refs }
        });
        ResourceSpans { resource, scope_spans, schema_url }
    }
}

fn request() -> impl Strategy<Value = ExportTraceServiceRequest> {
    vec(resource_spans(), 0..3).prop_map(|resource_spans| ExportTraceServiceRequest { resource_spans })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_request_comes_back_field_for_field_and_its_text_is_stable(request in request()) {
        let json = encode(&request.encode_to_vec()).unwrap();
        let bytes = decode(&json).unwrap();
        prop_assert_eq!(ExportTraceServiceRequest::decode(&*bytes).unwrap(), request);
        prop_assert_eq!(encode(&bytes).unwrap(), json);
    }

    #[test]
    fn the_text_is_json(request in request()) {
        let json = encode(&request.encode_to_vec()).unwrap();
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
    }

    #[test]
    fn no_bytes_break_the_codec(bytes: Vec<u8>) {
        let _ = (encode(&bytes), decode(&bytes));
    }

    #[test]
    fn damaged_text_is_an_error_or_a_request(request in request(), place: prop::sample::Index, byte: u8) {
        let mut json = encode(&request.encode_to_vec()).unwrap();
        let place = place.index(json.len());
        json[place] = byte;
        if let Ok(bytes) = decode(&json) {
            prop_assert!(crate::model::wire::walk(&bytes).is_ok());
        }
    }
}

#[test]
fn the_text_has_one_form() {
    let written = br#"{"resource_spans":[{"schemaUrl":"u","scopeSpans":[{"spans":[{"name":"\u00e9\n","spanId":"EEE19B7EC3C1B174",
        "traceId":"5B8EFFF798038103D269B633813FC60C","flags":1,"kind":"SPAN_KIND_CLIENT","startTimeUnixNano":7,"parentSpanId":"",
        "attributes":[{"value":{"doubleValue":"NaN"},"key":"a"},{"key":"b","value":{"bytesValue":"-_8"}},
        {"key":"c","value":{}},{"key":"d","value":{"intValue":0}}],"status":{"code":2},"events":[]}]}]}]}"#;
    let expected = concat!(
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","#,
        r#""flags":1,"name":"é\n","kind":3,"startTimeUnixNano":"7","attributes":[{"key":"a","value":{"doubleValue":"NaN"}},"#,
        r#"{"key":"b","value":{"bytesValue":"+/8="}},{"key":"c","value":{}},{"key":"d","value":{"intValue":"0"}}],"#,
        r#""status":{"code":2}}]}],"schemaUrl":"u"}]}"#
    );
    let json = encode(&decode(written).unwrap()).unwrap();
    assert_eq!(String::from_utf8(json).unwrap(), expected);
}

#[test]
fn several_requests_become_one_and_split_messages_are_joined() {
    let twice = decode(br#"{"resourceSpans":[{"schemaUrl":"a"}]}"#).unwrap().repeat(2);
    assert_eq!(encode(&twice).unwrap(), br#"{"resourceSpans":[{"schemaUrl":"a"},{"schemaUrl":"a"}]}"#);
    // One ResourceSpans with its resource in two pieces, which protobuf merges: dropped count 1, then 2.
    let split = [0x0a, 8, 0x0a, 2, 0x10, 1, 0x0a, 2, 0x10, 2];
    let joined = br#"{"resourceSpans":[{"resource":{"droppedAttributesCount":2}}]}"#;
    assert_eq!(encode(&split).unwrap(), joined);
}

#[test]
fn bytes_that_are_no_request_are_an_error_and_never_deep() {
    assert!(encode(&[0x08, 1]).is_err());
    assert!(encode(&[0x0a, 9]).is_err());
    let mut deep = Vec::new();
    for _ in 0..300 {
        let mut outer = Vec::new();
        // AnyValue.array_value { values }, over and over.
        crate::model::wire::put_bytes(&mut outer, 1, &deep);
        deep.clear();
        crate::model::wire::put_bytes(&mut deep, 5, &outer);
    }
    for field in [2, 1, 1, 1] {
        let inner = std::mem::take(&mut deep);
        crate::model::wire::put_bytes(&mut deep, field, &inner);
    }
    assert_eq!(encode(&deep).unwrap_err().what, "values nested deeper than 100");
}
