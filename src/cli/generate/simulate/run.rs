//! One trace on its way through the shop.

use super::{Links, Outcome, Span, Trace};
use crate::cli::generate::plan::{OperationPlan, Plan, StepPlan};
use crate::cli::generate::random::Random;
use crate::cli::generate::shop::{Latency, Part, What};

/// How long someone waits in vain.
const TIMEOUT: Latency = Latency { median: 2_000_000, spread: 0.02 };
/// The share of all latencies that is out of the ordinary, and how many times longer these are, at least and at most.
const SLOW: f64 = 0.004;
const SLOWER: (f64, f64) = (4.0, 40.0);
const NETWORK: Latency = Latency { median: 250, spread: 0.5 };
const SENDING: Latency = Latency { median: 900, spread: 0.6 };
const LAG: Latency = Latency { median: 70_000, spread: 1.1 };
const BACKOFF: Latency = Latency { median: 60_000, spread: 0.3 };
const REDELIVERY: Latency = Latency { median: 1_000_000, spread: 0.1 };
/// A call to a service that sends no spans.
const UNSEEN: Latency = Latency { median: 6_000, spread: 0.7 };
/// Calls at once leave one after the other.
const STAGGER: u64 = 40_000;
/// The chance that another attempt fails too.
const FAILS_AGAIN: f64 = 0.4;
const MOST_MESSAGES: u32 = 16;
/// As many as every part has.
const CAUSES: u32 = 3;

pub struct Run<'a> {
    plan: &'a Plan,
    pub random: Random,
    spans: Vec<Span>,
    /// Places passed where something could fail.
    pub chances: u32,
    /// The next of these places at which it does.
    pub fails_at: Option<u32>,
}

/// When something ended, and the cause if it ended badly.
#[derive(Clone, Copy)]
struct Ended {
    at: u64,
    failed: Option<usize>,
}

impl Ended {
    fn well(at: u64) -> Self {
        Self { at, failed: None }
    }
}

/// Who takes a step: the span of the operation, and its pod.
#[derive(Clone, Copy)]
struct Caller {
    span: usize,
    pod: u32,
}

impl<'a> Run<'a> {
    pub fn new(plan: &'a Plan, random: Random) -> Self {
        Self { plan, random, spans: Vec::new(), chances: 0, fails_at: None }
    }

    /// To be called once.
    pub fn trace(&mut self) -> Trace {
        let (user, order) = (self.random.number() as u32, self.random.number() as u32);
        let copy = self.random.below(self.plan.copies.len() as u32) as usize;
        if let Some(roots) = self.plan.copies.get(copy)
            && let Some(operation) = roots.at(self.random.below(roots.tickets()))
        {
            self.operation(operation, None, 0, 0);
        }
        Trace { copy, user, order, spans: std::mem::take(&mut self.spans) }
    }

    /// One operation with all its steps.
    fn operation(&mut self, index: usize, parent: Option<usize>, start: u64, resent: u32) -> Ended {
        let plan = self.plan;
        let Some(operation) = plan.operations.get(index) else { return Ended::well(start) };
        let pods = plan.services.get(operation.service).map_or(1, |service| service.resources.len());
        let pod = self.random.below(pods as u32);
        let span = self.begin(operation.template, parent, pod, start, resent);
        self.link(span, operation, parent);
        let work = self.time(operation.work) / (operation.steps.len() as u64 + 1);
        let mut ended = Ended::well(start + work);
        for step in &operation.steps {
            let done = self.step(step, Caller { span, pod }, ended.at);
            ended = Ended { at: done.at + work, ..done };
            if done.failed.is_some() {
                return self.end(span, ended);
            }
        }
        if self.fails() { self.fail(span, ended.at) } else { self.end(span, ended) }
    }

    /// All rounds of a step; the operation goes on at the end of the longest.
    fn step(&mut self, plan: &StepPlan, caller: Caller, start: u64) -> Ended {
        if !self.random.chance(plan.step.chance) {
            return Ended::well(start);
        }
        let (mut begin, mut latest) = (start, start);
        for _ in 0..self.rounds(plan) {
            let round = self.attempts(plan, caller, begin);
            latest = latest.max(round.at);
            begin = if plan.step.together { begin + STAGGER } else { round.at };
            if round.failed.is_some() && !plan.step.optional {
                return Ended { at: latest, ..round };
            }
        }
        Ended::well(latest)
    }

    fn rounds(&mut self, plan: &StepPlan) -> u32 {
        let step = plan.step;
        if step.more == 0.0 {
            return step.least;
        }
        let more = -(1.0 - self.random.unit()).ln() * step.more;
        step.least.saturating_add(more as u32).min(step.most)
    }

    fn attempts(&mut self, plan: &StepPlan, caller: Caller, mut start: u64) -> Ended {
        let mut resent = 0;
        loop {
            let span = self.begin(plan.template, Some(caller.span), caller.pod, start, resent);
            let ended = self.attempt(plan, span, start);
            if ended.failed.is_none() || resent == plan.step.retries {
                return ended;
            }
            resent += 1;
            start = ended.at + self.time(BACKOFF);
            if self.random.chance(FAILS_AGAIN) {
                self.fails_at = Some(self.chances);
            }
        }
    }

    fn attempt(&mut self, plan: &StepPlan, span: usize, start: u64) -> Ended {
        if self.fails() {
            return self.fail(span, start);
        }
        let took = match (plan.step.what, &plan.targets[..]) {
            (What::Work(_, latency, _) | What::Outside(_, _, _, latency), _) => self.time(latency),
            (What::Query(query), _) => self.time(query.latency),
            (What::Call(..), [target, ..]) => return self.call(*target, span, start),
            (What::Call(..), []) => self.time(UNSEEN),
            (What::Send(_), targets) => return self.send(targets, span, start),
        };
        self.end(span, Ended::well(start + took))
    }

    fn call(&mut self, target: usize, span: usize, start: u64) -> Ended {
        let (there, back) = (self.time(NETWORK), self.time(NETWORK));
        let answered = self.operation(target, Some(span), start + there, 0);
        self.end(span, Ended { at: answered.at + back, ..answered })
    }

    /// The sender does not wait for those who listen, nor learn of their errors.
    fn send(&mut self, targets: &[usize], span: usize, start: u64) -> Ended {
        let sent = Ended::well(start + self.time(SENDING));
        for target in targets {
            let lag = self.time(LAG);
            let done = self.operation(*target, Some(span), sent.at + lag, 0);
            if done.failed.is_some() {
                let pause = self.time(REDELIVERY);
                self.operation(*target, Some(span), done.at + pause, 1);
            }
        }
        self.end(span, sent)
    }

    fn begin(&mut self, template: usize, parent: Option<usize>, pod: u32, start: u64, resent: u32) -> usize {
        let item = self.random.number() as u32;
        let (outcome, links) = (Outcome::Good, Links::None);
        self.spans.push(Span { template, parent, pod, start, end: start, outcome, links, item, resent });
        self.spans.len() - 1
    }

    fn link(&mut self, span: usize, operation: &OperationPlan, parent: Option<usize>) {
        let links = match parent {
            None if operation.links => Links::Others(1 + self.random.below(MOST_MESSAGES)),
            Some(_) if self.is_message(operation) => Links::Parent,
            _ => Links::None,
        };
        if let Some(span) = self.spans.get_mut(span) {
            span.links = links;
        }
    }

    fn is_message(&self, operation: &OperationPlan) -> bool {
        let template = self.plan.templates.get(operation.template);
        template.is_some_and(|template| template.part == Part::Messaging)
    }

    fn end(&mut self, span: usize, ended: Ended) -> Ended {
        let outcome = ended.failed.map_or(Outcome::Good, |cause| Outcome::Failed { cause, own: false });
        self.close(span, ended.at, outcome);
        ended
    }

    /// Ends a span in an error of its own.
    fn fail(&mut self, span: usize, start: u64) -> Ended {
        let cause = self.random.below(CAUSES) as usize;
        // The first cause of every part is a time-out.
        let at = start + self.time(if cause == 0 { TIMEOUT } else { NETWORK });
        self.close(span, at, Outcome::Failed { cause, own: true });
        Ended { at, failed: Some(cause) }
    }

    fn close(&mut self, span: usize, end: u64, outcome: Outcome) {
        if let Some(span) = self.spans.get_mut(span) {
            (span.end, span.outcome) = (end, outcome);
        }
    }

    /// Whether something goes wrong here. To be asked once at every place where it could.
    fn fails(&mut self) -> bool {
        let fails = self.fails_at == Some(self.chances);
        self.chances += 1;
        fails
    }

    /// Nanoseconds of a latency, at least one microsecond.
    fn time(&mut self, latency: Latency) -> u64 {
        let usual = f64::from(latency.median) * 1_000.0 * (latency.spread * self.random.normal()).exp();
        let (least, most) = SLOWER;
        let slower = if self.random.chance(SLOW) { least + self.random.unit() * (most - least) } else { 1.0 };
        ((usual * slower) as u64).max(1_000)
    }
}
