//! The store that lives a history, and its model.

use super::model::{Key, Model, Seen, State};
use super::random::Random;
use super::step::Step;
use crate::support::fault_disk::{FaultDisk, Left};
use crate::support::traces;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest as Request;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use sluice::model::{Batch, Order, Trace, TraceId, TraceQuery};
use sluice::storage::clock::Clock;
use sluice::storage::query::{Traces, matches, summarize, summary_of};
use sluice::storage::segment::Segment;
use sluice::storage::{AppendError, Engine, Options, Snapshot};
use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;
/// Most snapshots that are held at once.
const HELD: usize = 3;
/// Starts on a disk that fails a start are tried again this often: the fault is over by then.
const STARTS: usize = 3;

/// Clocks that a test sets.
struct Clocks {
    wall: AtomicU64,
    boot: AtomicU64,
}

impl Clock for Clocks {
    fn wall(&self) -> u64 {
        self.wall.load(Ordering::Relaxed)
    }

    fn boot(&self) -> u64 {
        self.boot.load(Ordering::Relaxed)
    }
}

/// A snapshot and what it showed when it was taken.
struct Held {
    snapshot: Snapshot,
    shown: Vec<(TraceId, Vec<u8>)>,
}

/// What happened in a history: without these, "nothing failed" says little.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub answered: u64,
    pub refused: u64,
    pub unknown: u64,
    pub faults: u64,
    pub starts: u64,
    pub expired: u64,
    pub merges: u64,
    pub questions: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.answered += other.answered;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.faults += other.faults;
        self.starts += other.starts;
        self.expired += other.expired;
        self.merges += other.merges;
        self.questions += other.questions;
    }
}

/// A batch and the names of its spans.
type Sent = (Batch, Vec<(Key, String)>);

pub struct World {
    disk: FaultDisk,
    clocks: Arc<Clocks>,
    options: Options,
    engine: Option<Engine>,
    model: Model,
    last: Option<Sent>,
    held: Vec<Held>,
    tally: Tally,
}

impl World {
    pub fn new(random: &mut Random) -> Self {
        let clocks = Arc::new(Clocks { wall: AtomicU64::new(START), boot: AtomicU64::new(SECOND) });
        let options = options(random);
        let (disk, model) = (FaultDisk::default(), Model::default());
        let (held, tally) = (Vec::new(), Tally::default());
        let mut world = Self { disk, clocks, options, engine: None, model, last: None, held, tally };
        world.start();
        world
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("an engine between steps")
    }

    pub fn take(&mut self, number: u64, step: Step, random: &mut Random) {
        match step {
            Step::Append { trace, from, count, padding, second } => {
                let traces = [Some(trace), second].into_iter().flatten();
                let spans: Vec<_> =
                    traces.flat_map(|trace| (from..from + count).map(move |span| (trace, span))).collect();
                self.append(new_batch(number, &spans, padding));
            }
            Step::Resend => {
                if let Some(sent) = self.last.clone() {
                    self.append(sent);
                }
            }
            // What keeps it from succeeding is a state of the store.
            Step::Seal => drop(self.engine().flush()),
            Step::Merge { all } => self.merge(all, random),
            Step::Expire => self.expire(random),
            Step::Hold => self.hold(),
            Step::Query => self.query(random),
            Step::Clock { seconds, step } => self.advance(seconds, step),
            Step::Fault { at, fault } => drop(self.disk.clone().with_fault(at, fault)),
            Step::Reopen => self.restart(Left::All, true),
            Step::Crash(left) => self.restart(left, false),
        }
        if self.disk.crashed() {
            self.restart(Left::Synced, false);
        }
    }

    pub fn finish(mut self) -> Tally {
        self.restart(Left::All, true);
        self.restart(Left::Synced, false);
        self.tally
    }

    fn append(&mut self, (batch, names): Sent) {
        let Some(room) = self.room(&batch) else {
            self.tally.refused += 1;
            // Nothing was handed over: nothing of it may ever be seen.
            return self.model.deliver(&names, State::Gone);
        };
        let (done, answer) = mpsc::channel();
        let heard = self.disk.clone();
        let outcome_heard = move |outcome| {
            let state = match outcome {
                Ok(()) => State::There,
                // A refusal by a machine that is already gone never reaches anyone.
                Err(_) if heard.crashed() => State::Perhaps,
                Err(AppendError::Unknown(_)) => State::Perhaps,
                Err(_) => State::Gone,
            };
            done.send(state).expect("somebody waits");
        };
        self.engine().append(batch.clone(), room, Box::new(outcome_heard));
        let state = answer.recv_timeout(Duration::from_secs(60)).expect("an answer");
        match state {
            State::There => self.tally.answered += 1,
            State::Perhaps => self.tally.unknown += 1,
            State::Gone => self.tally.refused += 1,
        }
        self.model.deliver(&names, state);
        self.last = Some((batch, names));
        if state == State::Perhaps {
            self.restart(Left::Synced, false);
        }
    }

    fn room(&self, batch: &Batch) -> Option<sluice::storage::engine::Room> {
        for _ in 0..3 {
            if let Ok(room) = self.engine().reserve(batch.bytes().len(), batch.spans().len()) {
                return Some(room);
            }
            let _ = self.engine().flush();
        }
        None
    }

    fn merge(&mut self, _all: bool, _random: &mut Random) {}

    fn expire(&mut self, random: &mut Random) {
        let snapshot = self.engine().snapshot();
        let Some(segment) = random.pick(&snapshot.segments) else { return };
        let rows = rows_of(segment);
        let state = if self.engine().expire(&[segment.footer().id]).is_ok() { State::Gone } else { State::Perhaps };
        self.tally.expired += 1;
        self.model.give_up(&rows, state);
    }

    fn hold(&mut self) {
        let snapshot = self.engine().snapshot();
        let shown = image(&snapshot);
        self.held.push(Held { snapshot, shown });
        if self.held.len() > HELD {
            self.held.remove(0);
        }
    }

    fn query(&mut self, random: &mut Random) {
        let snapshot = self.engine().snapshot();
        let traces = all(&snapshot);
        self.model.check(&seen(&traces));
        for trace in &traces {
            assert_eq!(snapshot.trace(trace.id), *trace, "by id and in order");
        }
        let spans = traces.iter().map(|trace| trace.spans.len() as u64).sum();
        let summary = summarize(&snapshot);
        assert_eq!((summary.traces, summary.spans), (traces.len() as u64, spans), "the summary");
        for held in &self.held {
            assert!(image(&held.snapshot) == held.shown, "a held snapshot changed");
        }
        self.tally.questions += 1;
        let query = question(random);
        let found = snapshot.find(&query, Instant::now() + Duration::from_secs(60)).expect("time enough").found;
        assert_eq!(ids(&found), ids(&expected(&traces, &query)), "{query:?}");
    }

    fn advance(&self, seconds: u64, step: i64) {
        self.clocks.boot.fetch_add(seconds * SECOND, Ordering::Relaxed);
        let wall = self.clocks.wall() as i64 + (seconds as i64 + step) * SECOND as i64;
        self.clocks.wall.store(wall as u64, Ordering::Relaxed);
    }

    /// Ends the engine, in good order or not, and starts on what is left.
    fn restart(&mut self, left: Left, in_good_order: bool) {
        self.held.clear();
        self.tally.starts += 1;
        self.tally.faults += u64::from(self.disk.hit().is_some());
        let before = (!in_good_order).then(|| self.disk.after_crash(left));
        self.engine = None;
        self.disk = before.unwrap_or_else(|| self.disk.after_crash(left));
        self.start();
        let seen = seen(&all(&self.engine().snapshot()));
        self.model.check(&seen);
        self.model.settle(&seen);
    }

    fn start(&mut self) {
        for _ in 0..STARTS {
            let engine = Engine::open(self.options.clone(), Arc::new(self.disk.clone()), self.clocks.clone());
            match engine {
                Ok(engine) => {
                    let found = engine.found();
                    assert!(found.unreadable.is_empty(), "false damage: {:?}", found.unreadable);
                    assert!(!found.holes.iter().any(|hole| hole.durable), "false damage: {:?}", found.holes);
                    self.engine = Some(engine);
                    return;
                }
                Err(error) => assert!(self.disk.hit().is_some(), "a start failed without a fault: {error}"),
            }
            self.disk = self.disk.after_crash(Left::Synced);
        }
        panic!("the store does not start any more");
    }
}

/// Tiny limits, different in each history.
fn options(random: &mut Random) -> Options {
    let mut options = Options::new("/store");
    options.wal.file_size = 20 << 10;
    options.wal.max_size = (64 + 16 * random.below(5)) << 10;
    options.seal.max_size = (3 + random.below(8) as usize) << 10;
    options.seal.workers = 1 + random.below(3) as usize;
    options.block_size = 4 << 10;
    options
}

fn new_batch(number: u64, keys: &[Key], padding: usize) -> Sent {
    let mut request = Request::default();
    let mut names = Vec::new();
    for &(trace, span) in keys {
        let mut of_one = traces::request(trace, span + 1, padding);
        let name = format!("step {number} span {span}");
        let spans = &mut of_one.resource_spans[0].scope_spans[0].spans;
        spans.drain(..span as usize);
        spans[0].name = name.clone();
        names.push(((trace, span), name));
        request.resource_spans.append(&mut of_one.resource_spans);
    }
    (Batch::from_otlp(request.encode_to_vec().into()).expect("a good request").batch, names)
}

fn key_of(trace: TraceId, span: &[u8]) -> Key {
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("8 bytes"));
    let trace = number(&trace.0[8..]) - 1;
    (trace, number(span) - trace * 1_000 - 1)
}

/// Every row of a segment, read block by block.
fn rows_of(segment: &Segment) -> Vec<(Key, String)> {
    let mut rows = Vec::new();
    for index in 0..segment.footer().blocks {
        let block = segment.block(index as u32).expect("a sound block");
        for run in &block.runs {
            for row in &block.rows[run.rows.clone()] {
                let span = Span::decode(&*block.span(run.trace_id, row)).expect("a span");
                rows.push((key_of(run.trace_id, &row.row.span_id.0), span.name));
            }
        }
    }
    rows
}

fn all(snapshot: &Snapshot) -> Vec<Trace> {
    let mut traces = Traces::new(snapshot);
    let all = std::iter::from_fn(|| traces.next_trace()).collect();
    assert!(traces.warnings.is_empty(), "{:?}", traces.warnings);
    all
}

fn image(snapshot: &Snapshot) -> Vec<(TraceId, Vec<u8>)> {
    all(snapshot).iter().map(|trace| (trace.id, trace.to_otlp())).collect()
}

fn seen(traces: &[Trace]) -> Seen {
    let mut seen = Seen::new();
    for trace in traces {
        assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
        for stored in &trace.spans {
            let span = Span::decode(&*stored.span).expect("a span");
            let twice = seen.insert(key_of(trace.id, &span.span_id), span.name);
            assert!(twice.is_none(), "{twice:?} is shown twice");
        }
    }
    seen
}

/// A question about what histories are made of.
fn question(random: &mut Random) -> TraceQuery {
    let time = |random: &mut Random| random.chance(3).then(|| START + random.below(8) * 1_000_000 + random.below(4000));
    TraceQuery {
        service: random.chance(3).then(|| ["shop", "nobody"][random.below(2) as usize].into()),
        operation: random.chance(4).then(|| format!("step {} span {}", random.below(200), random.below(8))),
        kind: random.chance(4).then(|| random.below(6) as i32),
        status: random.chance(4).then(|| random.below(3) as i32),
        start: (time(random), time(random)),
        duration: (random.chance(4).then(|| 498 + random.below(12)), random.chance(4).then(|| 498 + random.below(12))),
        attributes: if random.chance(6) { vec![("service.name".into(), "shop".into())] } else { Vec::new() },
        order: if random.chance(2) { Order::NewestFirst } else { Order::SlowestFirst },
        limit: 1 + random.below(9) as usize,
    }
}

/// What searching must find, by looking at everything.
fn expected(traces: &[Trace], query: &TraceQuery) -> Vec<Trace> {
    let matching = traces.iter().filter(|trace| trace.spans.iter().any(|span| matches(query, span)));
    let mut found: Vec<_> = matching.cloned().collect();
    found.sort_by_key(|trace| {
        let summary = summary_of(trace);
        let key = match query.order {
            Order::NewestFirst => summary.start,
            Order::SlowestFirst => summary.end.saturating_sub(summary.start),
        };
        (Reverse(key), trace.id)
    });
    found.truncate(query.limit);
    found
}

fn ids(traces: &[Trace]) -> Vec<TraceId> {
    traces.iter().map(|trace| trace.id).collect()
}
