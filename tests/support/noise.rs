//! Batches that do not compress, so that a disk fills up with them, and a small generator to make them by.

use super::traces;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use sluice::model::Batch;

/// Repeats itself from a seed.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Text in which nothing repeats.
fn text(random: &mut Random, length: usize) -> String {
    let letter =
        |bits: u64| char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[bits as usize % 64]);
    let mut text = String::with_capacity(length + 10);
    while text.len() < length {
        let bits = random.next();
        text.extend((0..10).map(|place| letter(bits >> (place * 6))));
    }
    text.truncate(length);
    text
}

/// The request of this number: so many spans, each with so many bytes of noise. The same every time.
pub fn request(number: u64, spans: u64, noise: usize) -> ExportTraceServiceRequest {
    let mut random = Random(number);
    let mut request = traces::request(number, spans, 0);
    for span in &mut request.resource_spans[0].scope_spans[0].spans {
        span.attributes = vec![traces::attribute("noise", &text(&mut random, noise))];
    }
    request
}

/// The same as a batch.
pub fn batch(number: u64, spans: u64, noise: usize) -> Batch {
    Batch::from_otlp(request(number, spans, noise).encode_to_vec().into()).unwrap().batch
}
