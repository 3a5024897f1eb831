//! What sluice says about itself: every metric in one table, logs, and the Prometheus endpoint.

pub mod names;
