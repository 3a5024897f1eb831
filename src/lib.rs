//! sluice: a trace pipeline daemon with a durable store behind it.

pub mod component;
pub mod config;
pub mod model;
pub mod receivers;
pub mod telemetry;
