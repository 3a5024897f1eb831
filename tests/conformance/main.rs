//! What a sender of each protocol may rely on, asked of the real servers, and what the formats promise. A test is named
//! after its promise; rule numbers are those of the list of OTLP rules that the receiver was written to.

#[path = "../support/mod.rs"]
mod support;

mod client;
mod compression;
mod formats;
mod grpc;
mod http;
mod json;
mod licences;
mod lifecycle;
mod pages;
mod properties;
mod requests;
mod server;
mod silence;
mod validity;
