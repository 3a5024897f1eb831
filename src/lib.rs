//! sluice: a trace pipeline daemon with a durable store behind it.

pub mod api;
pub mod app;
pub mod cli;
pub mod component;
pub mod config;
pub mod exporters;
pub mod extensions;
pub mod graph;
pub mod merge;
pub mod model;
pub mod processors;
pub mod receivers;
pub mod storage;
pub mod telemetry;
