//! One export request on its way through the graph.

use super::wire::{self, ScopeHead, SpanHead, Walk, WireError};
use bytes::Bytes;
use std::sync::Arc;

/// The largest batch there can be: offsets inside it are 32 bits wide.
pub const MAX_BATCH_BYTES: usize = 1 << 30;

/// OTLP bytes as received (several requests one after the other at the top level are legal) with the heads of
/// their spans, found in one pass. Immutable; a clone is a pointer. Every span in it is valid.
#[derive(Clone)]
pub struct Batch(Arc<Inner>);

struct Inner {
    bytes: Bytes,
    walk: Walk,
    metadata: Metadata,
}

/// What came with the request besides its body. Lower-case names; a name may occur several times.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    pub headers: Vec<(String, String)>,
}

/// What of a request was not taken, and what was mended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Spans left out because of their ids.
    pub spans: u32,
    /// A sentence for the sender about the first refused span.
    pub reason: String,
    /// Links left out because of their ids; their spans live.
    pub links: u32,
    /// Strings that were not UTF-8 and now have U+FFFD where they were wrong.
    pub repaired_strings: u32,
}

/// A request after its one walk.
pub struct Ingested {
    pub batch: Batch,
    pub refusals: Refusals,
}

impl Batch {
    /// Walks an OTLP request once. Spans with bad ids are cut out, links with bad ids too, text that is not
    /// UTF-8 is repaired; only then are the bytes written again.
    ///
    /// Errors: bytes that are no `ExportTraceServiceRequest`, with the offset.
    pub fn from_otlp(bytes: Bytes) -> Result<Ingested, WireError> {
        let walk = wire::walk(&bytes)?;
        if !walk.needs_rewrite() {
            return Ok(Ingested { batch: Self::new(bytes, walk), refusals: Refusals::default() });
        }
        let refusals = walk.refusals();
        let bytes = Bytes::from(wire::rewrite(&bytes)?);
        let walk = wire::walk(&bytes)?;
        Ok(Ingested { batch: Self::new(bytes, walk), refusals })
    }

    fn new(bytes: Bytes, walk: Walk) -> Self {
        Self(Arc::new(Inner { bytes, walk, metadata: Metadata::default() }))
    }

    /// The same batch with this metadata.
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => Self(Arc::new(Inner { metadata, ..inner })),
            Err(shared) => Self(Arc::new(Inner { bytes: shared.bytes.clone(), walk: shared.walk.clone(), metadata })),
        }
    }

    /// The whole request, OTLP protobuf.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    pub fn metadata(&self) -> &Metadata {
        &self.0.metadata
    }

    /// Heads of all spans, in the order of the request. A span's index here is its *place*.
    pub fn spans(&self) -> &[SpanHead] {
        &self.0.walk.spans
    }

    /// The `Span` message of a head of this batch; empty for a head of another.
    pub fn span_bytes(&self, head: &SpanHead) -> &[u8] {
        let start = head.at as usize;
        self.0.bytes.get(start..start.saturating_add(head.len as usize)).unwrap_or_default()
    }

    /// The `ResourceSpans` message without its scopes (see [`wire::Envelope`]).
    pub fn resource(&self, index: u32) -> &[u8] {
        let envelope = self.0.walk.resources.get(index as usize);
        envelope.map_or(&[], |envelope| self.0.walk.envelope(&self.0.bytes, envelope))
    }

    /// The `ScopeSpans` message without its spans.
    pub fn scope(&self, index: u32) -> &[u8] {
        let head = self.0.walk.scopes.get(index as usize);
        head.map_or(&[], |head: &ScopeHead| self.0.walk.envelope(&self.0.bytes, &head.envelope))
    }

    /// How many resources and scopes the heads refer to.
    pub fn table_sizes(&self) -> (usize, usize) {
        (self.0.walk.resources.len(), self.0.walk.scopes.len())
    }

    /// Bytes that this batch keeps in memory.
    pub fn memory(&self) -> usize {
        self.0.bytes.len() + self.0.walk.memory()
    }
}
