//! What lets batches in: one folder a protocol.

pub mod otlp;

use crate::component::Factory;

/// Every receiver type.
pub fn factories() -> Vec<Factory> {
    vec![otlp::factory()]
}
