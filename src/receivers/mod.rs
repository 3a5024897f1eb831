//! What lets batches in: one folder a protocol.

pub mod otlp;
