//! Keys cut out of a span come back: equal field for field.

use super::bytes::{request_of, span};
use super::real_requests;
use proptest::prelude::*;
use sluice::model::{Batch, Row};

use sluice::model::wire::keys::{cut, join};
use sluice::model::wire::{Field, Reader, SpanHead, fields::*};

/// A span as protobuf means it: of each key the last value, defaults as if absent; all other fields as they are.
#[derive(Debug, Default, PartialEq)]
struct Canonical {
    ids: [Vec<u8>; 3],
    kind: i32,
    times: [u64; 2],
    statuses: Vec<Vec<u8>>,
    others: Vec<Vec<u8>>,
}

impl Canonical {
    fn of(span: &[u8]) -> Self {
        let mut canonical = Self::default();
        let mut reader = Reader::new(span);
        let mut from = 0;
        while let Some((field, value)) = reader.next_field().unwrap() {
            match (field, value) {
                (SPAN_TRACE_ID, Field::Bytes(id)) => canonical.ids[0] = id.to_vec(),
                (SPAN_SPAN_ID, Field::Bytes(id)) => canonical.ids[1] = id.to_vec(),
                (SPAN_PARENT, Field::Bytes(id)) => canonical.ids[2] = id.to_vec(),
                (SPAN_KIND, Field::Varint(kind)) => canonical.kind = kind as i32,
                (SPAN_START, Field::Fixed64(time)) => canonical.times[0] = time,
                (SPAN_END, Field::Fixed64(time)) => canonical.times[1] = time,
                (SPAN_STATUS, Field::Bytes(status)) => canonical.statuses.push(status.to_vec()),
                _ => canonical.others.push(span[from..reader.position()].to_vec()),
            }
            from = reader.position();
        }
        canonical
    }
}

/// Cuts and joins; gives body and joined span.
fn cut_and_joined(span: &[u8], head: &SpanHead) -> (Vec<u8>, Vec<u8>) {
    let SpanHead { span_id, parent, start, end, kind, status, .. } = *head;
    let row = Row { span_id, parent, start, end, kind, status, ..Row::default() };
    let (mut body, mut joined) = (Vec::new(), Vec::new());
    let shape = cut(span, head, &mut body);
    join(head.trace_id, &row, shape, &body, &mut joined);
    (body, joined)
}

proptest! {
    #[test]
    fn any_span_comes_back_field_for_field(span in span()) {
        let ingested = Batch::from_otlp(request_of(&span).into()).unwrap();
        let head = ingested.batch.spans()[0];
        let (body, joined) = cut_and_joined(&span, &head);
        prop_assert_eq!(Canonical::of(&joined), Canonical::of(&span));
        let kept = Canonical::of(&body);
        prop_assert_eq!((kept.ids[0].len(), kept.ids[1].len(), kept.kind, kept.times), (0, 0, 0, [0, 0]), "nothing is stored twice");
        let again = Batch::from_otlp(request_of(&joined).into()).unwrap();
        let heads = |head: &SpanHead| SpanHead { at: 0, len: 0, tail: 0, status_at: 0, ..*head };
        prop_assert_eq!(heads(&again.batch.spans()[0]), heads(&head));
    }
}

#[test]
fn real_spans_come_back_field_for_field() {
    for request in real_requests() {
        let batch = Batch::from_otlp(request.into()).unwrap().batch;
        for head in batch.spans() {
            let span = batch.span_bytes(head);
            let (body, joined) = cut_and_joined(span, head);
            assert_eq!(Canonical::of(&joined), Canonical::of(span));
            assert!(body.len() < span.len());
        }
    }
}
