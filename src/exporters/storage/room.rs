//! Waiting for room in a store.

use crate::component::BatchSize;
use crate::storage::engine::Room;
use crate::storage::{AppendError, Engine};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// How long a sender is kept waiting for room before it is asked to come back: a refusal makes it send everything
/// again, which costs the core that the seal needs.
pub const DELAY: Duration = Duration::from_millis(200);

/// Room for a batch, waited for as long as is worth it.
pub async fn wait(engine: &Engine, size: BatchSize) -> Result<Room, AppendError> {
    let deadline = Instant::now() + DELAY;
    loop {
        let error = match engine.reserve(size.bytes, size.spans) {
            Err(error @ AppendError::NoRoom(_)) => error,
            other => return other,
        };
        let (free, freed) = oneshot::channel::<()>();
        engine.on_room(Box::new(move || drop(free)));
        // Asked again after registering: room that became free in between is not missed.
        if let Ok(room) = engine.reserve(size.bytes, size.spans) {
            return Ok(room);
        }
        // `freed` ends when its other side is dropped, which is the call back.
        if timeout_at(deadline, freed).await.is_err() {
            return Err(error);
        }
    }
}
