//! A store opened by a test: appending to it, waiting for it, and what is in it.

use super::traces;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use sluice::model::Batch;
use sluice::storage::query::Traces;
use sluice::storage::{AppendError, Engine, Snapshot};
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Generous: only what never comes meets it.
const DEADLINE: Duration = Duration::from_secs(60);

/// Hands a batch over and waits for its answer.
pub fn append(engine: &Engine, batch: &Batch) -> Result<(), AppendError> {
    let room = engine.reserve(batch.bytes().len(), batch.spans().len())?;
    let (done, answer) = mpsc::channel();
    engine.append(batch.clone(), room, Box::new(move |outcome| done.send(outcome).unwrap()));
    answer.recv().unwrap()
}

/// Waits for what another thread brings about.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// The requests that a snapshot holds, by the number of their trace. Panics where something cannot be read.
pub fn requests(snapshot: &Snapshot) -> BTreeMap<u64, ExportTraceServiceRequest> {
    let mut traces = Traces::new(snapshot);
    let mut found = BTreeMap::new();
    while let Some(trace) = traces.next_trace() {
        assert_eq!(trace.warnings, Vec::<String>::new());
        let number = u64::from_be_bytes(trace.id.0[8..].try_into().unwrap()) - 1;
        assert_eq!(trace.id, traces::trace_id(number));
        found.insert(number, ExportTraceServiceRequest::decode(&*trace.to_otlp()).unwrap());
    }
    assert_eq!(traces.warnings, Vec::<String>::new());
    found
}
