//! The contracts between the nodes of a pipeline, and what a component must offer to be one.
//!
//! A node passes a batch on in two steps: `reserve`, which may wait a little and may refuse, then
//! `Permit::send`, which after `Ok` loses nothing. A fan-out can so hold every permit before it sends to any.

pub mod consumer;
pub mod factory;
mod not_yet;
pub mod reader;
pub mod rejection;

pub use consumer::{BatchSize, Consumer, Permit, SendBatch};
pub use factory::{BuildContext, Component, Factory, Registry, decode};
pub use not_yet::NotYet;
pub use reader::{ReadError, TraceReader};
pub use rejection::Rejection;

/// A boxed future, so that the contracts stay usable as trait objects.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
