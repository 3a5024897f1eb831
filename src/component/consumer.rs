//! The edge between two nodes.

use super::{BoxFuture, Rejection};
use crate::model::Batch;

/// What a consumer needs to know to keep room for a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSize {
    /// OTLP bytes.
    pub bytes: usize,
    pub spans: usize,
}

impl BatchSize {
    pub fn of(batch: &Batch) -> Self {
        Self { bytes: batch.bytes().len(), spans: batch.spans().len() }
    }
}

/// A node that takes batches.
pub trait Consumer: Send + Sync {
    /// Keeps room for a batch of this size, waiting a little where that helps. Dropping the permit gives the room back.
    fn reserve(&self, size: BatchSize) -> BoxFuture<'_, Result<Permit, Rejection>>;
}

/// Room for one batch, kept until it is sent or dropped.
pub struct Permit(Box<dyn SendBatch>);

/// What stands behind a permit.
pub trait SendBatch: Send {
    /// Takes the batch. After `Ok` nothing of it is lost but what a component's documented policy drops and counts.
    fn send(self: Box<Self>, batch: Batch) -> BoxFuture<'static, Result<(), Rejection>>;
}

impl Permit {
    pub fn new(sender: impl SendBatch + 'static) -> Self {
        Self(Box::new(sender))
    }

    /// See [`SendBatch::send`].
    pub fn send(self, batch: Batch) -> BoxFuture<'static, Result<(), Rejection>> {
        self.0.send(batch)
    }
}
