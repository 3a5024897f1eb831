//! What a request holds, span by span, in a form that two requests can be compared by.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest as Request;
use prost::Message;
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_128;

/// Trace id, span id, kind, scope name: what makes two deliveries the same span.
pub type Identity = (Vec<u8>, Vec<u8>, i32, String);

/// A fingerprint of every field of each span, its resource and its scope. A later delivery takes an earlier one's place.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Spans {
    pub by_identity: HashMap<Identity, u128>,
    /// Valid deliveries, duplicates included.
    pub deliveries: usize,
}

impl Spans {
    pub fn add(&mut self, request: &[u8]) {
        for mut of_resource in Request::decode(request).unwrap().resource_spans {
            for mut of_scope in std::mem::take(&mut of_resource.scope_spans) {
                let spans = std::mem::take(&mut of_scope.spans);
                let around = [of_resource.encode_to_vec(), of_scope.encode_to_vec()].concat();
                let scope = of_scope.scope.map_or_else(String::new, |scope| scope.name);
                for span in spans.into_iter().filter(is_valid) {
                    let fingerprint = xxh3_128(&[&*around, &span.encode_to_vec()].concat());
                    let identity = (span.trace_id, span.span_id, span.kind, scope.clone());
                    self.by_identity.insert(identity, fingerprint);
                    self.deliveries += 1;
                }
            }
        }
    }
}

fn is_valid(span: &opentelemetry_proto::tonic::trace::v1::Span) -> bool {
    let id = |bytes: &[u8], length| bytes.len() == length && bytes.iter().any(|byte| *byte != 0);
    id(&span.trace_id, 16) && id(&span.span_id, 8) && matches!(span.parent_span_id.len(), 0 | 8)
}
