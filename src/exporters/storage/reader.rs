//! Reading a store on behalf of APIs.

use super::stores::Store;
use crate::component::reader::Read;
use crate::component::{ReadError, TraceReader};
use crate::model::{Answer, Operation, Trace, TraceId, TraceQuery, TraceSummary};
use crate::storage::Snapshot;
use crate::storage::query::{Limits, Stopped};
use std::time::Instant;
use tokio::task::spawn_blocking;

impl TraceReader for Store {
    fn get_trace(&self, id: TraceId, until: Instant) -> Read<'_, Option<Trace>> {
        Box::pin(async move {
            let read = move |snapshot: &Snapshot, limits| Ok((snapshot.trace(id, limits)?, snapshot.unread));
            let (trace, unread) = self.read(until, read).await?;
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
        Box::pin(self.read(until, move |snapshot, limits| snapshot.find(&query, limits)))
    }

    fn find_traces(&self, query: TraceQuery, until: Instant) -> Read<'_, Answer<Vec<Trace>>> {
        Box::pin(self.read(until, move |snapshot, limits| snapshot.find_traces(&query, limits)))
    }

    fn services(&self, until: Instant) -> Read<'_, Answer<Vec<String>>> {
        Box::pin(self.read(until, move |snapshot, limits| snapshot.services(limits)))
    }

    fn operations(&self, service: String, until: Instant) -> Read<'_, Answer<Vec<Operation>>> {
        Box::pin(self.read(until, move |snapshot, limits| snapshot.operations(&service, limits)))
    }
}

impl Store {
    /// Reads on a thread that may block. The snapshot is taken there and let go of there, so that what it pins does not outlive
    /// the read, and the read ends by itself soon after `until`.
    async fn read<T: Send + 'static>(
        &self,
        until: Instant,
        read: impl FnOnce(&Snapshot, Limits) -> Result<T, Stopped> + Send + 'static,
    ) -> Result<T, ReadError> {
        let engine = self.engine().ok_or(ReadError::NotOpen)?;
        let limits = Limits { until: Some(until), bytes: engine.options().query_max };
        let outcome = spawn_blocking(move || read(&engine.snapshot(), limits)).await;
        let outcome = outcome.map_err(|error| ReadError::Failed(format!("reading failed: {error}")))?;
        outcome.map_err(|stopped| match stopped {
            Stopped::TimedOut => ReadError::TimedOut,
            Stopped::TooLarge(_) => ReadError::Failed(stopped.to_string()),
        })
    }
}
