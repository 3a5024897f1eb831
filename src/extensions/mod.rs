//! What runs beside the pipelines.

pub mod health_check;
pub mod query;

use crate::component::Factory;

/// Every extension type.
pub fn factories() -> Vec<Factory> {
    vec![health_check::factory(), query::factory()]
}
