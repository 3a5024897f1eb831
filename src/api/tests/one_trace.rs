//! One trace as Jaeger JSON.

use super::fixture::ID;
use super::{Fake, Got, get, refusal, trace};
use serde_json::Value;
use std::sync::Arc;

fn reader() -> Arc<Fake> {
    Arc::new(Fake::with(vec![trace()]))
}

#[tokio::test]
async fn a_trace_is_found_by_its_full_trimmed_and_upper_case_id() {
    let reader = reader();
    let full = get(&reader, &format!("/api/traces/{ID}")).await;
    assert_eq!(full.status, 200);
    assert!(full.body.starts_with(&format!("{{\"data\":[{{\"traceID\":\"{ID}\"")), "{}", full.body);
    assert!(full.body.ends_with("],\"total\":1,\"limit\":0,\"offset\":0,\"errors\":null}"), "{}", full.body);
    for id in [ID.trim_start_matches('0'), &ID.to_uppercase()] {
        assert_eq!(get(&reader, &format!("/api/traces/{id}")).await, full, "{id}");
    }
    assert_eq!(get(&reader, &format!("/api/traces/{ID}?start=1&end=2")).await, full, "times are hints");
}

#[tokio::test]
async fn what_of_a_trace_could_not_be_read_is_said_in_it_and_in_the_header() {
    let got = get(&reader(), &format!("/api/traces/{ID}")).await;
    let damage = "segments/1: damaged at byte 4096: checksum";
    assert!(got.json()["data"][0]["warnings"].as_array().unwrap().contains(&damage.into()), "{}", got.body);
    assert_eq!(got.warning.as_deref(), Some(damage));
}

#[tokio::test]
async fn pretty_print_changes_the_form_and_nothing_else() {
    let reader = reader();
    let plain = get(&reader, &format!("/api/traces/{ID}")).await;
    let pretty = get(&reader, &format!("/api/traces/{ID}?prettyPrint=true")).await;
    assert!(!plain.body.contains('\n') && pretty.body.lines().count() > 100);
    assert_eq!(plain.json(), pretty.json());
    let refused = get(&reader, "/api/traces/a?prettyPrint=1").await;
    assert!(refused.status == 404 && refused.body.contains('\n'), "{refused:?}");
}

#[tokio::test]
async fn raw_shows_attributes_as_they_were_sent() {
    let count = |got: Got| got.json()["data"][0]["spans"][0]["tags"].as_array().map_or(0, Vec::len);
    let shown = count(get(&reader(), &format!("/api/traces/{ID}")).await);
    assert_eq!(count(get(&reader(), &format!("/api/traces/{ID}?raw=true")).await), shown + 1, "a key is there twice");
}

#[tokio::test]
async fn what_is_not_there_is_404_in_the_envelope() {
    assert_eq!(get(&reader(), "/api/traces/abc").await, refusal("/api", 404, "trace not found"));
}

#[tokio::test]
async fn what_makes_no_sense_is_400_and_says_why() {
    for (path, named) in [
        ("/api/traces/xyz", "xyz"),
        ("/api/traces/0", "not all 0"),
        ("/api/traces/a?limit=2", "known: prettyPrint, raw, start, end"),
        ("/api/traces/a?raw=maybe", "raw: "),
        ("/api/traces/a?start=yesterday", "start: "),
        ("/api/traces/a?prettyPrint=maybe", "prettyPrint: "),
    ] {
        let got = get(&reader(), path).await;
        assert_eq!(got.status, 400, "{path}: {got:?}");
        let body: Value = got.json();
        assert!(body["data"].is_null() && body["errors"][0]["msg"].as_str().unwrap().contains(named), "{path}: {body}");
    }
}
