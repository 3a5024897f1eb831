//! What happens to batches between receivers and exporters.

use crate::component::Factory;

/// Every processor type.
pub fn factories() -> Vec<Factory> {
    vec![]
}
