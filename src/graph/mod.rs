//! The pipelines as running parts.
//!
//! Built from the far end: exporters first, then the processors of each pipeline from last to first, then
//! receivers, so that every part is handed the consumer behind it. One instance of a receiver or exporter serves
//! all pipelines that name it; a processor has one instance a pipeline. Started in the same order with the
//! extensions in front, and stopped in the opposite one: receivers first, so that what is on its way drains into
//! parts that still run.

mod build;
mod fanout;
mod life;

pub use build::build;
pub use fanout::join;
pub use life::{Graph, Node, NotStopped, STOP_DEADLINE};
