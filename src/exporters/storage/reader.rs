//! Reading a store on behalf of APIs.

use super::stores::Store;
use crate::component::{BoxFuture, ReadError, TraceReader};
use crate::model::{Trace, TraceId};
use tokio::task::spawn_blocking;

impl TraceReader for Store {
    fn get_trace(&self, id: TraceId) -> BoxFuture<'_, Result<Option<Trace>, ReadError>> {
        Box::pin(async move {
            let engine = self.engine().ok_or(ReadError::NotOpen)?;
            let read = spawn_blocking(move || engine.snapshot().trace(id)).await;
            let trace = read.map_err(|error| ReadError::Failed(format!("reading trace {id} failed: {error}")))?;
            match (trace.spans.is_empty(), trace.warnings.first()) {
                (false, _) => Ok(Some(trace)),
                (true, None) => Ok(None),
                // Nothing was found, but not everything could be looked at: "not there" would be a guess.
                (true, Some(_)) => Err(ReadError::Damaged(trace.warnings.join("; "))),
            }
        })
    }
}
