//! Reading a store on behalf of APIs.

use super::stores::Store;
use crate::component::reader::Read;
use crate::component::{ReadError, TraceReader};
use crate::model::{Answer, Operation, Trace, TraceId, TraceQuery, TraceSummary};
use crate::storage::Snapshot;
use crate::storage::query::{TimedOut, summary_of};
use std::time::Instant;
use tokio::task::spawn_blocking;

impl TraceReader for Store {
    fn get_trace(&self, id: TraceId, _until: Instant) -> Read<'_, Option<Trace>> {
        Box::pin(async move {
            let (trace, unread) = self.read(move |snapshot| Ok((snapshot.trace(id), snapshot.unread))).await?;
            match (trace.spans.is_empty(), trace.warnings.first()) {
                (false, _) => Ok(Some(trace)),
                (true, None) => Ok(None),
                (true, Some(_)) if unread > 0 => Err(ReadError::NotYet(trace.warnings.join("; "))),
                // Nothing was found, but not everything could be looked at: "not there" would be a guess.
                (true, Some(_)) => Err(ReadError::Damaged(trace.warnings.join("; "))),
            }
        })
    }

    fn find(&self, query: TraceQuery, until: Instant) -> Read<'_, Answer<Vec<TraceSummary>>> {
        Box::pin(async move {
            let Answer { found, warnings } = self.read(move |snapshot| snapshot.find(&query, until)).await?;
            Ok(Answer { found: found.iter().map(summary_of).collect(), warnings })
        })
    }

    fn find_traces(&self, query: TraceQuery, until: Instant) -> Read<'_, Answer<Vec<Trace>>> {
        Box::pin(self.read(move |snapshot| snapshot.find(&query, until)))
    }

    fn services(&self, until: Instant) -> Read<'_, Answer<Vec<String>>> {
        Box::pin(self.read(move |snapshot| snapshot.services(until)))
    }

    fn operations(&self, service: String, until: Instant) -> Read<'_, Answer<Vec<Operation>>> {
        Box::pin(self.read(move |snapshot| snapshot.operations(&service, until)))
    }
}

impl Store {
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Snapshot) -> Result<T, TimedOut> + Send + 'static,
    ) -> Result<T, ReadError> {
        let engine = self.engine().ok_or(ReadError::NotOpen)?;
        let outcome = spawn_blocking(move || read(&engine.snapshot())).await;
        let outcome = outcome.map_err(|error| ReadError::Failed(format!("reading failed: {error}")))?;
        outcome.map_err(|TimedOut| ReadError::TimedOut)
    }
}
