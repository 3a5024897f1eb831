//! The wire view takes any bytes without a panic, and what it keeps needs no second mending.

use super::bytes::{request_of, span};
use super::real_requests;
use crate::support::traces;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use prost::Message;
use sluice::model::Batch;
use sluice::model::wire::{put_bytes, put_varint_field, rewrite, walk};

/// Bytes to set, as a share of the length, and what to.
fn damage() -> impl Strategy<Value = Vec<(u16, u8)>> {
    vec((any::<u16>(), any::<u8>()), 1..6)
}

fn damaged(request: &[u8], damage: &[(u16, u8)]) -> Vec<u8> {
    let mut request = request.to_vec();
    for &(place, byte) in damage {
        let at = request.len() * usize::from(place) / (1 << 16);
        request[at] = byte;
    }
    request
}

/// Walks; where that succeeds, what is written again walks clean, with the same spans.
fn check(request: &[u8]) {
    let Ok(found) = walk(request) else { return };
    let written = rewrite(request).unwrap();
    let again = walk(&written).unwrap();
    assert!(!again.needs_rewrite());
    let ids = |walk: &sluice::model::wire::Walk| {
        walk.spans.iter().map(|head| (head.trace_id, head.span_id)).collect::<Vec<_>>()
    };
    assert_eq!(ids(&again), ids(&found));
    let batch = Batch::from_otlp(request.to_vec().into()).unwrap().batch;
    assert_eq!(batch.spans().len(), found.spans.len());
}

proptest! {
    #[test]
    fn any_bytes_are_walked_without_a_panic(bytes in vec(any::<u8>(), 0..300)) {
        check(&bytes);
    }

    #[test]
    fn any_damaged_span_is_walked_and_mended_once(span in span(), damage in damage()) {
        check(&damaged(&request_of(&span), &damage));
    }
}

#[test]
fn damaged_requests_are_walked_and_mended_once() {
    let mut requests = vec![traces::request(1, 3, 20).encode_to_vec()];
    requests.extend(real_requests().into_iter().filter(|request| request.len() < 16 << 10).take(20));
    let pick = proptest::sample::select(requests);
    let mut runner = TestRunner::new(Config { cases: 2000, failure_persistence: None, ..Config::default() });
    runner
        .run(&(pick, damage()), |(request, damage)| {
            check(&damaged(&request, &damage));
            Ok(())
        })
        .unwrap();
}

/// Scopes and unknown fields by turns: each envelope lies in many pieces, inside another that does too.
#[test]
fn memory_of_a_walk_is_bounded_by_the_size_of_the_request() {
    let mut scope = Vec::new();
    put_varint_field(&mut scope, 100, 1);
    put_bytes(&mut scope, 2, &[]);
    put_varint_field(&mut scope, 100, 1);
    let mut resource = Vec::new();
    for _ in 0..5_000 {
        put_varint_field(&mut resource, 100, 1);
        put_bytes(&mut resource, 2, &scope);
    }
    let mut request = Vec::new();
    put_bytes(&mut request, 1, &resource);
    let walked = walk(&request).unwrap();
    assert!(walked.memory() < 16 * request.len(), "{} bytes for {}", walked.memory(), request.len());
}
