//! The ends of the pipelines.

pub mod debug;

use crate::component::Factory;

/// Every exporter type.
pub fn factories() -> Vec<Factory> {
    vec![debug::factory()]
}
