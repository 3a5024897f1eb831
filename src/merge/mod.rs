//! Merging.
pub mod policy;
