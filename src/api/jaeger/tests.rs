//! One trace with everything odd in it against a golden file.

use super::encode;
use crate::api::tests as fixture;
use serde_json::Value;

/// What `tests/fixtures/jaeger_trace.json` holds was written by hand from the rules in `docs/components/query.md`.
const GOLDEN: &str = include_str!("../../../tests/fixtures/jaeger_trace.json");

#[test]
fn a_trace_with_everything_odd_in_it_is_shown_as_the_golden_file_has_it() {
    let shown = serde_json::to_value(encode(&fixture::trace(), false)).unwrap();
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    for (place, span) in golden["spans"].as_array().unwrap().iter().enumerate() {
        assert_eq!(&shown["spans"][place], span, "span {place}: {:#}", shown["spans"][place]);
    }
    assert_eq!(shown, golden, "{shown:#}");
}

#[test]
fn the_keys_stand_in_jaegers_order() {
    let text = serde_json::to_string(&encode(&fixture::trace(), false)).unwrap();
    let keys = ["{\"traceID\"", "\"spans\":[{\"traceID\"", "\"spanID\"", "\"operationName\"", "\"references\":[]"];
    let rest = ["\"startTime\"", "\"duration\"", "\"tags\"", "\"logs\"", "\"processID\"", "\"warnings\":null"];
    let mut from = 0;
    for key in keys.into_iter().chain(rest) {
        from += text[from..].find(key).unwrap_or_else(|| panic!("{key} is not behind byte {from} of {text}"));
    }
}

#[test]
fn raw_shows_a_key_as_often_as_it_was_sent() {
    let count = |raw| {
        let tags = &encode(&fixture::trace(), raw).spans[0].tags;
        tags.iter().filter(|tag| tag.key == "twice").map(|tag| tag.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(count(false), ["second"]);
    assert_eq!(count(true), ["first", "second"]);
}

#[test]
fn bytes_that_cannot_be_decoded_cost_no_more_than_what_they_hold() {
    let mut trace = fixture::trace();
    trace.spans[1].span = vec![0xff].into();
    trace.spans[1].resource = vec![0xff].into();
    let shown = encode(&trace, false);
    let span = &shown.spans[1];
    assert_eq!((span.span_id.as_str(), span.operation_name.as_str()), ("00000000000000b2", ""));
    assert!(span.warnings.as_ref().unwrap()[0].starts_with("the span cannot be decoded"));
    assert!(shown.warnings.unwrap().iter().any(|warning| warning.starts_with("the resource cannot be decoded")));
    assert_eq!(shown.spans[0], encode(&fixture::trace(), false).spans[0]);
}
