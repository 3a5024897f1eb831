//! The configuration: YAML sources, merged in order, references expanded, shape and references checked.
//!
//! The way of a value: [`source`] reads, [`merge`] lays later over earlier, [`expand`] puts in what `${…}` names,
//! [`shape`] finds components and pipelines, [`validate`] checks what they refer to. A component decodes its own
//! [`Node`]. Nothing here knows a component type: what the binary knows comes in through [`Types`].
//!
//! Every fault is gathered, none ends the search, and each says where it is: `receivers::otlp::protocols: …`.

mod de;
mod expand;
mod fault;
mod id;
mod load;
mod merge;
mod node;
mod print;
mod reference;
mod remarks;
mod shape;
mod source;
mod telemetry;
mod types;
pub mod units;
mod validate;

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod load_tests;

pub use fault::Fault;
pub use id::{ComponentId, PipelineId, Signal};
pub use load::{Loaded, load};
pub use node::Node;
pub use print::{Format, Mode, print};
pub use remarks::warn;
pub use shape::{Config, Pipeline, Service};
pub use source::{Resolved, embedded, resolve};
pub use telemetry::{Encoding, Level, Logs, Metrics, MetricsLevel, Prometheus, Telemetry};
pub use types::{Kind, Types};
