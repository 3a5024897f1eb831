//! OTLP/JSON through the HTTP server, and real files through the codec.

use crate::client::{Reply, post_json};
use crate::requests::{of_spans, span};
use crate::server::Server;
use crate::support::{corpus_files, length_delimited, read};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use sluice::model::json::{decode, encode};
use sluice::model::{Batch, wire};

const IDS: &str = r#""traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174""#;

/// A request with one valid span and these fields in it.
fn with(fields: &str) -> String {
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{IDS}{fields}}}]}}]}}]}}"#)
}

fn send(fields: &str) -> Reply {
    post_json(Server::start().http(), with(fields))
}

/// The one span that such a request becomes in the pipeline.
fn arrived(fields: &str) -> Span {
    let server = Server::start();
    let reply = post_json(server.http(), with(fields));
    assert_eq!((reply.status, reply.text()), (200, "{}"), "{fields}");
    let request = ExportTraceServiceRequest::decode(server.sink.batches()[0].bytes().clone()).unwrap();
    request.resource_spans[0].scope_spans[0].spans[0].clone()
}

/// The value of a span's one attribute.
fn value(json: &str) -> Option<Value> {
    let span = arrived(&format!(r#","attributes":[{{"key":"k","value":{json}}}]"#));
    assert_eq!((span.attributes.len(), &*span.attributes[0].key), (1, "k"));
    span.attributes[0].value.clone().and_then(|value| value.value)
}

fn refused(fields: &str) -> String {
    let reply = send(fields);
    assert_eq!((reply.status, reply.rpc_status().code), (400, 3), "{fields}");
    reply.rpc_status().message
}

/// The vector of one span: all that senders do differently at once, equal to its protobuf twin.
#[test]
fn a_span_in_every_senders_manner_equals_its_protobuf_twin() {
    let found = arrived(
        r#","kind":"SPAN_KIND_SERVER","name":"n","later":{"a":[1,{"b":null}]},"links":null,"startTimeUnixNano":"1","end_time_unix_nano":2,
           "attributes":[{"key":"a","value":{"intValue":42}},{"key":"b","value":{"intValue":"42"}}]"#,
    );
    let attribute = |key| crate::requests::attribute(key, Some(Value::IntValue(42)));
    let twin = Span {
        trace_id: 0x5B8EFFF798038103D269B633813FC60C_u128.to_be_bytes().to_vec(),
        span_id: 0xEEE19B7EC3C1B174_u64.to_be_bytes().to_vec(),
        name: "n".to_owned(),
        kind: 2,
        start_time_unix_nano: 1,
        end_time_unix_nano: 2,
        attributes: vec![attribute("a"), attribute("b")],
        ..Span::default()
    };
    assert_eq!(found, twin);
}

/// Rule 37 and the decision about ids; case A1.
#[test]
fn ids_that_are_not_hex_make_the_request_undecodable() {
    let server = Server::start();
    for id in ["cgXI6uihz643E6Zqq7Nl4w==", "zz", "5B8EFFF798038103D269B633813FC60G"] {
        let reply = post_json(server.http(), with("").replace("5B8EFFF798038103D269B633813FC60C", id));
        assert_eq!(reply.status, 400, "{id}");
        assert!(reply.rpc_status().message.contains("hex expected"), "{}", reply.rpc_status().message);
    }
}

/// Decision about ids.
#[test]
fn hex_ids_of_a_wrong_length_cost_their_span_only() {
    let server = Server::start();
    for id in
        ["", "00000000000000000000000000000000", "5b8efff798038103d269b633813fc6", &"1".repeat(31), &"1".repeat(33)]
    {
        let reply = post_json(server.http(), with("").replace("5B8EFFF798038103D269B633813FC60C", id));
        assert_eq!((reply.status, &reply.json()["partialSuccess"]["rejectedSpans"]), (200, &"1".into()), "{id}");
    }
    for fields in
        [r#","parentSpanId":"11""#, r#","spanId":"1""#, r#","spanId":null"#, r#","span_id":"111111111111111""#]
    {
        let reply = post_json(server.http(), with(fields));
        assert_eq!((reply.status, &reply.json()["partialSuccess"]["rejectedSpans"]), (200, &"1".into()), "{fields}");
    }
    assert_eq!(arrived(r#","parentSpanId":"00000000000000AA""#).parent_span_id, [0, 0, 0, 0, 0, 0, 0, 0xaa]);
}

/// Rule 38.
#[test]
fn bytes_are_base64_in_all_four_forms() {
    for text in ["+/8=", "+/8", "-_8=", "-_8"] {
        assert_eq!(value(&format!(r#"{{"bytesValue":"{text}"}}"#)), Some(Value::BytesValue(vec![0xfb, 0xff])));
    }
    refused(r#","attributes":[{"key":"k","value":{"bytesValue":"*"}}]"#);
}

/// Rule 39.
#[test]
fn integers_are_text_or_numbers_and_exact() {
    for (json, number) in [
        ("9007199254740993", 9_007_199_254_740_993),
        ("\"9007199254740993\"", 9_007_199_254_740_993),
        ("-9223372036854775808", i64::MIN),
        ("\"9223372036854775807\"", i64::MAX),
        ("1e3", 1000),
        ("1.0", 1),
        ("0", 0),
    ] {
        assert_eq!(value(&format!(r#"{{"intValue":{json}}}"#)), Some(Value::IntValue(number)), "{json}");
    }
    assert_eq!(arrived(r#","startTimeUnixNano":18446744073709551615"#).start_time_unix_nano, u64::MAX);
    assert_eq!(arrived(r#","endTimeUnixNano":"18446744073709551615""#).end_time_unix_nano, u64::MAX);
    for bad in ["\"1e3\"", "\"1.0\"", "\"\"", "9223372036854775808", "0.5", "1e19", "true", "{}", "[1]"] {
        refused(&format!(r#","attributes":[{{"key":"k","value":{{"intValue":{bad}}}}}]"#));
    }
    for bad in ["-1", "18446744073709551616", "\" 1\""] {
        refused(&format!(r#","startTimeUnixNano":{bad}"#));
    }
}

/// Rule 40.
#[test]
fn small_unsigned_integers_are_numbers_or_text_and_not_negative() {
    let span = arrived(r#","flags":4294967295,"droppedAttributesCount":"7","dropped_links_count":2.0"#);
    assert_eq!((span.flags, span.dropped_attributes_count, span.dropped_links_count), (u32::MAX, 7, 2));
    refused(r#","flags":-1"#);
    refused(r#","droppedEventsCount":4294967296"#);
}

/// Rule 41.
#[test]
fn enums_are_numbers_or_names_and_unknown_numbers_stay() {
    for (json, kind) in [("3", 3), ("\"SPAN_KIND_CONSUMER\"", 5), ("99", 99), ("-1", -1)] {
        assert_eq!(arrived(&format!(r#","kind":{json}"#)).kind, kind);
    }
    assert_eq!(arrived(r#","status":{"code":"STATUS_CODE_ERROR"}"#).status.unwrap().code, 2);
    for bad in ["\"SERVER\"", "\"2\"", "4294967296", "1.5"] {
        refused(&format!(r#","kind":{bad}"#));
    }
}

/// Rule 42.
#[test]
fn unknown_keys_are_skipped_whatever_they_hold() {
    let server = Server::start();
    for held in ["1", "null", "\"x\"", "[1,[2]]", r#"{"a":{"resourceSpans":1}}"#, "-1.5e-9", "true"] {
        let inside = with(&format!(r#","later":{held},"instrumentationLibrarySpans":{held}"#));
        let outside = inside.replacen('{', &format!(r#"{{"later":{held},"#), 1);
        assert_eq!(post_json(server.http(), &outside).text(), "{}", "{held}");
    }
    assert_eq!(server.stored(), 7);
}

/// Rule 43.
#[test]
fn keys_are_camel_case_or_snake_case_and_the_last_one_wins() {
    let server = Server::start();
    let snake = with("").replace("resourceSpans", "resource_spans").replace("scopeSpans", "scope_spans");
    let snake = snake.replace("traceId", "trace_id").replace("spanId", "span_id");
    assert_eq!(post_json(server.http(), &snake).text(), "{}");
    assert_eq!(server.stored(), 1);

    let span = arrived(r#","startTimeUnixNano":1,"name":"a","start_time_unix_nano":2,"name":"b""#);
    assert_eq!((span.start_time_unix_nano, &*span.name), (2, "b"));
    let span = arrived(
        r#","name":"a","attributes":[{"key":"x"},{"key":"y"}],"name":"bb","attributes":[{"key":"z"}],"name":null"#,
    );
    assert_eq!((&*span.name, span.attributes.len(), &*span.attributes[0].key), ("", 1, "z"));
    let span = arrived(r#","status":{"code":2,"message":"m"},"status":{"message":"n"}"#);
    assert_eq!(
        span.status.map(|status| (status.code, status.message)),
        Some((0, "n".to_owned())),
        "replaced, not merged"
    );
}

/// Rule 44.
#[test]
fn null_is_the_default_of_everything() {
    let all = r#","parentSpanId":null,"name":null,"kind":null,"startTimeUnixNano":null,"attributes":null,"events":null,
        "links":null,"status":null,"flags":null,"droppedAttributesCount":null,"traceState":null"#;
    let plain = arrived("");
    assert_eq!(arrived(all), plain);
    let server = Server::start();
    for request in [
        r#"{"resourceSpans":null}"#,
        r#"{"resourceSpans":[null]}"#,
        r#"{"resourceSpans":[{"resource":null,"scopeSpans":[null]}]}"#,
    ] {
        assert_eq!(post_json(server.http(), request).text(), "{}", "{request}");
    }
    for null in [r#"{"intValue":null}"#, r#"{"boolValue":null}"#, r#"{"doubleValue":null}"#, r#"{"arrayValue":null}"#] {
        assert_eq!(value(null), None, "{null}");
    }
}

/// Rule 45.
#[test]
fn doubles_are_numbers_or_text_and_may_be_special() {
    for (json, number) in [
        ("1.5", 1.5),
        ("\"1.5\"", 1.5),
        ("7", 7.0),
        ("\"Infinity\"", f64::INFINITY),
        ("\"-Infinity\"", f64::NEG_INFINITY),
        ("0.1", 0.1),
        ("2.2250738585072014e-308", f64::MIN_POSITIVE),
        ("0", 0.0),
    ] {
        assert_eq!(value(&format!(r#"{{"doubleValue":{json}}}"#)), Some(Value::DoubleValue(number)), "{json}");
    }
    let Some(Value::DoubleValue(nan)) = value(r#"{"doubleValue":"NaN"}"#) else { panic!("no double") };
    assert!(nan.is_nan());
    for bad in ["NaN", "Infinity", "\"x\"", "1e999", "\"\"", "true"] {
        refused(&format!(r#","attributes":[{{"key":"k","value":{{"doubleValue":{bad}}}}}]"#));
    }
}

/// Rule 46.
#[test]
fn empty_values_are_kept_and_of_two_the_last_wins() {
    assert_eq!(value("{}"), None);
    assert_eq!(value("null"), None);
    assert_eq!(value(r#"{"stringValue":""}"#), Some(Value::StringValue(String::new())));
    assert_eq!(value(r#"{"boolValue":false}"#), Some(Value::BoolValue(false)));
    assert_eq!(value(r#"{"stringValue":"a","intValue":1}"#), Some(Value::IntValue(1)));
    assert_eq!(value(r#"{"intValue":1,"boolValue":true,"stringValue":"a"}"#), Some(Value::StringValue("a".to_owned())));
    assert_eq!(value(r#"{"stringValue":"a","stringValueStrindex":3}"#), Some(Value::StringValue("a".to_owned())));
    let Some(Value::ArrayValue(array)) =
        value(r#"{"arrayValue":{"values":[{"intValue":1},null,{},{"kvlistValue":{"values":[{"key":"x"}]}}]}}"#)
    else {
        panic!("no array")
    };
    assert_eq!((array.values.len(), &array.values[1].value, &array.values[2].value), (4, &None, &None));
}

/// Rule 46: what lost is not left in the bytes, where a reader of fields could find it.
#[test]
fn of_two_values_only_the_last_is_written() {
    let bytes = decode(br#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a","intValue":1}}]}}]}"#).unwrap();
    let resource_spans = wire::read::last_bytes(&bytes, 1).unwrap();
    assert_eq!(wire::read::service_name(resource_spans), None);
}

/// Rule 48.
#[test]
fn the_top_level_is_one_object_and_nothing_after_it() {
    let server = Server::start();
    for text in [
        "1234",
        "[]",
        "\"x\"",
        "null",
        "true",
        "{}{}",
        "{} x",
        "{",
        "{}]",
        "{\"resourceSpans\":{}}",
        "{\"resourceSpans\":1}",
    ] {
        assert_eq!(post_json(server.http(), text).status, 400, "{text}");
    }
    assert_eq!(post_json(server.http(), " \r\n\t{} \n").status, 200);
}

/// Rule 49.
#[test]
fn a_depth_bomb_is_400_and_costs_no_stack() {
    let arrays = |depth| [r#"{"arrayValue":{"values":["#.repeat(depth), "]}}".repeat(depth)].concat();
    let lists = |depth| [r#"{"kvlistValue":{"values":[{"value":"#.repeat(depth), "}]}}".repeat(depth)].concat();
    let attribute = |value: &str| format!(r#","attributes":[{{"key":"k","value":{value}}}]"#);
    for deep in [arrays(10_000), lists(10_000), r#"{"arrayValue":{"values":["#.repeat(10_000), arrays(60)] {
        refused(&attribute(&deep));
    }
    for bare in ["[".repeat(10_000), r#"{"a":"#.repeat(10_000)] {
        refused(&attribute(&bare));
        refused(&format!(r#","name":{bare}"#));
    }
    assert!(value(&arrays(40)).is_some());
}

/// Rules 42, 49: what is skipped is not refused for its depth.
#[test]
fn a_deep_unknown_key_is_skipped_without_stack() {
    let held = ["[".repeat(10_000), "]".repeat(10_000)].concat();
    let objects = [r#"{"a":"#.repeat(10_000), "1".to_owned(), "}".repeat(10_000)].concat();
    arrived(&format!(r#","later":{held},"more":{objects}"#));
    refused(&format!(r#","later":{}"#, "[".repeat(10_000)));
}

/// Rule 51: refused, so that what is stored is what was sent.
#[test]
fn a_byte_order_mark_is_400() {
    assert_eq!(post_json(Server::start().http(), "\u{feff}{}").status, 400);
}

/// Rule 50: a sender that cuts UTF-16 in the middle of a character must not lose the batch.
#[test]
fn broken_text_is_repaired() {
    let server = Server::start();
    let reply = post_json(server.http(), with(r#","name":"cut \ud83d""#));
    assert!(reply.json()["partialSuccess"]["errorMessage"].as_str().unwrap().contains("UTF-8"));
    let request = ExportTraceServiceRequest::decode(server.sink.batches()[0].bytes().clone()).unwrap();
    assert!(request.resource_spans[0].scope_spans[0].spans[0].name.starts_with("cut \u{fffd}"));
}

/// Real files of other projects.
#[test]
fn real_json_files_are_taken_and_come_back_equal() {
    for path in corpus_files("small/otlp", ".json") {
        let name = path.display().to_string();
        let decoded = decode(&read(&path)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let ingested = Batch::from_otlp(decoded.clone().into()).unwrap_or_else(|error| panic!("{name}: {error}"));
        println!("{name}: {} spans, {:?}", ingested.batch.spans().len(), ingested.refusals);
        assert_round_trip(&decoded, &name);
    }
    for path in corpus_files("small/otlp", ".jsonl.gz") {
        let content = read(&path);
        for line in content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            assert_round_trip(&decode(line).unwrap(), &path.display().to_string());
        }
    }
}

/// Real captures: every request to JSON and back is equal, field for field.
#[test]
fn real_requests_come_back_from_json_equal() {
    for path in corpus_files("bulk", ".pb.gz") {
        let content = read(&path);
        let requests = length_delimited(&content);
        println!("{}: {} requests", path.display(), requests.len());
        requests.iter().for_each(|request| assert_round_trip(request, &path.display().to_string()));
    }
}

fn assert_round_trip(request: &[u8], name: &str) {
    let json = encode(request).unwrap();
    let again = decode(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
    let [before, after] = [request, &again].map(|bytes| ExportTraceServiceRequest::decode(bytes).unwrap());
    assert!(before == after, "{name}: {}", String::from_utf8_lossy(&json));
}

/// Where there is no corpus, this much is always checked.
#[test]
fn a_plain_request_comes_back_equal() {
    assert_round_trip(&of_spans((0..10).map(span).collect()).encode_to_vec(), "ten spans");
}
