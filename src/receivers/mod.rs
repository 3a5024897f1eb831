//! The beginnings of the pipelines.

use crate::component::Factory;

/// Every receiver type.
pub fn factories() -> Vec<Factory> {
    vec![]
}
