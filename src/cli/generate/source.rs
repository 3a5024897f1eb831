//! Makes traces at the wanted pace until the end is reached.

use super::counts::Counts;
use super::encode::Encoder;
use super::pods::{Pods, Request};
use super::simulate::{Simulator, Trace};
use crate::model::TraceId;
use crate::model::time::{Nanos, wall_now};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// When enough was made. Traces are always whole.
#[derive(Debug, Clone, Copy)]
pub enum End {
    Traces(u64),
    /// With the trace that reaches it.
    Spans(u64),
    Duration(Duration),
}

/// When traces happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartTime {
    /// Each ends at the moment it is made.
    Now,
    /// The first begins then, the others follow at the pace at which they are made.
    At(Nanos),
}

/// See the module.
pub struct Source {
    pub simulator: Simulator,
    pub encoder: Encoder,
    pub pods: Pods,
    pub end: End,
    /// Spans a second.
    pub rate: Option<f64>,
    pub start: StartTime,
    pub counts: Arc<Counts>,
}

impl End {
    /// How much of it was reached, 1 at the end.
    pub fn fraction(self, traces: u64, spans: u64, elapsed: Duration) -> f64 {
        let (part, whole) = match self {
            Self::Traces(whole) => (traces as f64, whole as f64),
            Self::Spans(whole) => (spans as f64, whole as f64),
            Self::Duration(whole) => (elapsed.as_secs_f64(), whole.as_secs_f64()),
        };
        (part / whole).min(1.0)
    }
}

impl StartTime {
    fn of(self, trace: &Trace, elapsed: Duration) -> Nanos {
        match self {
            Self::Now => wall_now().saturating_sub(trace.length()),
            Self::At(first) => first.saturating_add(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)),
        }
    }
}

impl Source {
    /// Hands over requests until the end is reached, `stop` is called, or nobody takes them; what was begun is handed
    /// over whole. The id of a trace to look at: the first with an error, else the first.
    pub async fn run(mut self, to: mpsc::Sender<Request>, stop: CancellationToken) -> Option<TraceId> {
        let began = Instant::now();
        let (mut first, mut with_error) = (None, None);
        let mut full = Vec::new();
        while !self.enough(began) && self.wait(began, &to, &stop).await {
            let trace = self.simulator.trace(self.counts.traces_made.get());
            let id = self.add(&trace, began, &mut full);
            first = first.or(Some(id));
            with_error = with_error.or(trace.failed().then_some(id));
            if !hand_over(&mut full, &to).await {
                break;
            }
        }
        self.pods.flush(&self.simulator.plan, &mut full);
        hand_over(&mut full, &to).await;
        with_error.or(first)
    }

    fn add(&mut self, trace: &Trace, began: Instant, full: &mut Vec<Request>) -> TraceId {
        let dated = self.encoder.date(trace, self.start.of(trace, began.elapsed()));
        self.pods.add(&self.simulator.plan, &mut self.encoder, &dated, full);
        self.counts.traces_made.add(1);
        self.counts.spans_made.add(trace.spans.len() as u64);
        dated.id
    }

    fn enough(&self, began: Instant) -> bool {
        self.end.fraction(self.counts.traces_made.get(), self.counts.spans_made.get(), began.elapsed()) >= 1.0
    }

    /// Until the next trace is due; what gets old meanwhile is sent. False: stopped, or nobody takes anything.
    async fn wait(&mut self, began: Instant, to: &mpsc::Sender<Request>, stop: &CancellationToken) -> bool {
        let due = self.due(began);
        loop {
            let (now, old) = (Instant::now(), self.pods.due());
            if old.is_some_and(|old| old <= now) {
                let mut all = Vec::new();
                self.pods.flush(&self.simulator.plan, &mut all);
                if !hand_over(&mut all, to).await {
                    return false;
                }
            } else if due <= now || stop.is_cancelled() {
                return !stop.is_cancelled();
            } else {
                let next = old.map_or(due, |old| old.min(due));
                tokio::select! {
                    () = tokio::time::sleep_until(next.into()) => {}
                    () = stop.cancelled() => {}
                }
            }
        }
    }

    /// The schedule does not move when the endpoint is slow: what it did not take in time is made up for.
    fn due(&self, began: Instant) -> Instant {
        let seconds = self.rate.map_or(0.0, |rate| self.counts.spans_made.get() as f64 / rate);
        let offset = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        // A moment that no clock can tell is never.
        began.checked_add(offset).unwrap_or_else(|| began + Duration::from_secs(u32::MAX.into()))
    }
}

/// False: nobody takes them any more.
async fn hand_over(requests: &mut Vec<Request>, to: &mpsc::Sender<Request>) -> bool {
    for request in requests.drain(..) {
        if to.send(request).await.is_err() {
            return false;
        }
    }
    true
}
