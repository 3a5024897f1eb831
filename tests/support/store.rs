//! A store opened by a test: appending to it, waiting for it, and what is in it.

use super::traces;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use sluice::model::Batch;
use sluice::storage::clock::SystemClock;
use sluice::storage::disk::Disk;
use sluice::storage::query::{Limits, Traces};
use sluice::storage::{AppendError, Engine, Options, Snapshot};
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
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
    let mut traces = Traces::new(snapshot, Limits::NONE).unwrap();
    let mut found = BTreeMap::new();
    while let Some(trace) = traces.next_trace().unwrap() {
        assert_eq!(trace.warnings, Vec::<String>::new());
        let number = u64::from_be_bytes(trace.id.0[8..].try_into().unwrap()) - 1;
        assert_eq!(trace.id, traces::trace_id(number));
        found.insert(number, ExportTraceServiceRequest::decode(&*trace.to_otlp()).unwrap());
    }
    assert_eq!(traces.warnings, Vec::<String>::new());
    found
}

/// An engine that no daemon is around.
pub fn open(options: Options, disk: Arc<dyn Disk>) -> Engine {
    Engine::open(options, disk, Arc::new(SystemClock)).unwrap()
}

/// Puts requests in, in this order, and waits until all can be read. Waits for room where there is none.
pub fn append_all<'a>(engine: &Engine, requests: impl IntoIterator<Item = &'a [u8]>) {
    let (done, outcomes) = mpsc::channel();
    for request in requests {
        let batch = Batch::from_otlp(request.to_vec().into()).unwrap().batch;
        let mut room = None;
        wait_until("there is room", || {
            room = engine.reserve(batch.bytes().len(), batch.spans().len()).ok();
            room.is_some()
        });
        let done = done.clone();
        engine.append(batch, room.unwrap(), Box::new(move |outcome| done.send(outcome).unwrap()));
    }
    drop(done);
    outcomes.into_iter().for_each(|outcome| outcome.unwrap());
}
