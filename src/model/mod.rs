//! What travels and what is kept: ids, times, batches, and the OTLP wire format.
//!
//! Nothing here knows a protocol server, a file or a configuration. `wire` reads and writes OTLP
//! protobuf without decoding it into structs; `Batch` is one export request with the heads of its spans.

pub mod batch;
pub mod id;
pub mod json;
pub mod search;
pub mod time;
pub mod trace;
pub mod wire;

pub use batch::{Batch, Ingested, Metadata, Refusals};
pub use id::{SpanId, TraceId};
pub use search::{Answer, Operation, Order, TraceQuery, TraceSummary};
pub use trace::{Row, StoredSpan, Trace};
