//! Random histories on a store in memory, compared step by step with a map that does the same.
//!
//! Scenario: batches of new and old traces, exact resends, changed resends, seals, kills, good stops, damage-free
//! starts, in random order; memtables are frozen all the time by tiny limits, so that reads meet every layout.
//! Guarantees: rules 1, 6, 11 and 14: what was answered is readable at once, each span once with its latest delivery, and
//! the answer is the same from memory, from segments and after a start. The seed is in every message.

use crate::support::fault_disk::{FaultDisk, Left};
use crate::support::traces;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest as Request;
use proptest::prelude::*;
use proptest::test_runner::Config;
use prost::Message;
use sluice::model::Batch;
use sluice::storage::clock::SystemClock;
use sluice::storage::query::{Traces, summarize};
use sluice::storage::{Engine, Options};
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};

#[derive(Debug, Clone)]
enum Step {
    /// Spans `from..from + count` of a trace, named after the step, so that a resend differs.
    Send {
        trace: u64,
        from: u64,
        count: u64,
        padding: usize,
    },
    /// Exactly what was sent last.
    Resend,
    Seal,
    Stop,
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let send = (0..6u64, 0..4u64, 1..5u64, 0..3000usize).prop_map(|(trace, from, count, padding)| Step::Send {
        trace,
        from,
        count,
        padding,
    });
    let step = prop_oneof![8 => send, 2 => Just(Step::Resend), 2 => Just(Step::Seal), 1 => Just(Step::Stop), 1 => Just(Step::Kill)];
    prop::collection::vec(step, 1..60)
}

/// Names of the spans that a reader should see, by trace and span.
type Model = BTreeMap<u64, BTreeMap<u64, String>>;

struct World {
    disk: FaultDisk,
    engine: Option<Engine>,
    model: Model,
    last: Option<Sent>,
}

/// A batch, its trace, and the names of its spans.
type Sent = (Batch, u64, Vec<(u64, String)>);

impl World {
    fn new() -> Self {
        let disk = FaultDisk::default();
        let engine = Some(open(&disk));
        Self { disk, engine, model: Model::new(), last: None }
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn take(&mut self, number: usize, step: &Step) {
        match step {
            Step::Send { trace, from, count, padding } => self.send(number, *trace, *from..from + count, *padding),
            Step::Resend => self.resend(),
            Step::Seal => self.engine().flush().unwrap(),
            Step::Stop => self.restart(Left::Synced, true),
            Step::Kill => self.restart(Left::All, false),
        }
    }

    fn send(&mut self, number: usize, trace: u64, places: std::ops::Range<u64>, padding: usize) {
        let mut request = traces::request(trace, places.end, padding);
        let spans = &mut request.resource_spans[0].scope_spans[0].spans;
        spans.drain(..places.start as usize);
        let named: Vec<_> = places.map(|place| (place, format!("step {number} span {place}"))).collect();
        spans.iter_mut().zip(&named).for_each(|(span, (_, name))| span.name = name.clone());
        let batch = Batch::from_otlp(request.encode_to_vec().into()).unwrap().batch;
        self.append(batch, trace, named);
    }

    fn resend(&mut self) {
        if let Some((batch, trace, named)) = self.last.clone() {
            self.append(batch, trace, named);
        }
    }

    fn append(&mut self, batch: Batch, trace: u64, named: Vec<(u64, String)>) {
        let (done, answer) = mpsc::channel();
        // Full now is not full for ever: seals go on beside this.
        let room = loop {
            if let Ok(room) = self.engine().reserve(batch.bytes().len(), batch.spans().len()) {
                break room;
            }
            self.engine().flush().unwrap();
        };
        self.engine().append(batch.clone(), room, Box::new(move |outcome| done.send(outcome).unwrap()));
        answer.recv().unwrap().unwrap();
        self.model.entry(trace).or_default().extend(named.iter().cloned());
        self.last = Some((batch, trace, named));
    }

    /// Ends the engine, in good order or not, and opens what is left.
    fn restart(&mut self, left: Left, in_good_order: bool) {
        let after = if in_good_order { None } else { Some(self.disk.after_crash(left)) };
        self.engine = None;
        self.disk = after.unwrap_or_else(|| self.disk.after_crash(left));
        self.engine = Some(open(&self.disk));
    }

    fn check(&self) {
        let snapshot = self.engine().snapshot();
        if let Some(newest) = snapshot.readable_lsn() {
            assert_eq!(self.engine().readable_lsn(), newest, "what is readable is what a snapshot shows");
        }
        let mut found = Model::new();
        let mut traces = Traces::new(&snapshot);
        while let Some(trace) = traces.next_trace() {
            assert_eq!(snapshot.trace(trace.id), trace, "by id and in order");
            let number = u64::from_be_bytes(trace.id.0[8..].try_into().unwrap()) - 1;
            let names = names(&trace.to_otlp(), number);
            assert_eq!(names.len(), trace.spans.len(), "a span is shown twice");
            found.insert(number, names);
        }
        assert_eq!(found, self.model);
        let spans = self.model.values().map(|spans| spans.len() as u64).sum::<u64>();
        let summary = summarize(&snapshot);
        assert_eq!((summary.traces, summary.spans), (self.model.len() as u64, spans));
    }
}

fn names(otlp: &[u8], trace: u64) -> BTreeMap<u64, String> {
    let request = Request::decode(otlp).unwrap();
    let scopes = request.resource_spans.into_iter().flat_map(|of| of.scope_spans);
    let id = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap()) - trace * 1_000 - 1;
    scopes.flat_map(|scope| scope.spans).map(|span| (id(&span.span_id), span.name)).collect()
}

fn open(disk: &FaultDisk) -> Engine {
    let mut options = Options::new("/store");
    options.wal.file_size = 20 << 10;
    options.wal.max_size = 128 << 10;
    options.seal.max_size = 6 << 10;
    options.block_size = 4 << 10;
    Engine::open(options, Arc::new(disk.clone()), Arc::new(SystemClock)).unwrap()
}

proptest! {
    #![proptest_config(Config { cases: 40, failure_persistence: None, ..Config::default() })]

    #[test]
    fn every_history_reads_as_the_map_that_does_the_same(steps in steps()) {
        let mut world = World::new();
        for (number, step) in steps.iter().enumerate() {
            world.take(number, step);
            world.check();
        }
    }
}
