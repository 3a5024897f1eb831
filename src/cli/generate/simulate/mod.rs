//! From a request to the shop to the spans it leaves behind: who called whom, when, and what failed.
//!
//! A trace depends on the seed and its number alone. One that is to fail is run once to count where it could, and again
//! to fail at one of these places; from there the error goes up until someone tries again or does without.

mod run;

use super::plan::Plan;
use super::random::Random;
use run::Run;

/// The spans of one trace, each behind its parent. Times are nanoseconds since the trace began.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Which copy of the shop.
    pub copy: usize,
    pub user: u32,
    pub order: u32,
    pub spans: Vec<Span>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub template: usize,
    pub parent: Option<usize>,
    pub pod: u32,
    pub start: u64,
    pub end: u64,
    pub outcome: Outcome,
    pub links: Links,
    /// What the holes and values of this span are drawn from.
    pub item: u32,
    /// How often it had been tried before.
    pub resent: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Good,
    /// With the number of the cause. An error of its own has an exception; one that came from below has not.
    Failed {
        cause: usize,
        own: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    None,
    /// To the parent, who sent the message.
    Parent,
    /// To at most so many producers of other traces.
    Others(u32),
}

impl Trace {
    /// How long it takes until its last span has ended.
    pub fn length(&self) -> u64 {
        self.spans.iter().map(|span| span.end).max().unwrap_or(0)
    }

    pub fn failed(&self) -> bool {
        self.spans.iter().any(|span| span.outcome != Outcome::Good)
    }
}

/// Makes trace after trace.
pub struct Simulator {
    pub plan: Plan,
    pub seed: u64,
    /// The share of traces in which something fails.
    pub error_ratio: f64,
}

impl Simulator {
    /// Trace `number` of this seed.
    pub fn trace(&self, number: u64) -> Trace {
        let mut random = Random::of(self.seed, number);
        let fails = random.chance(self.error_ratio);
        let mut run = Run::new(&self.plan, random.clone());
        let trace = run.trace();
        if !fails {
            return trace;
        }
        let mut again = Run::new(&self.plan, random);
        again.fails_at = Some(run.random.below(run.chances));
        again.trace()
    }
}
