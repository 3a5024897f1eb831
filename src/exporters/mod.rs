//! The ends of the pipelines.

pub mod debug;
pub mod storage;

use crate::component::Factory;

/// Every exporter type.
pub fn factories() -> Vec<Factory> {
    vec![debug::factory(), storage::factory()]
}
