//! What sluice says about itself: every metric in one table, logs, and the Prometheus endpoint.
//!
//! Installing twice in one process is allowed: recorder and log subscriber are the process's, the first wins.

mod endpoint;
mod line;
pub mod logs;
pub mod metrics;
pub mod names;
mod process;
mod stage;

pub use endpoint::Endpoint;
pub use stage::{Laps, Meter, Stage, record, stage};
