//! `sluice generate`: traces of a made-up online shop, for a first look and for load.
//!
//! `shop` has the tables, `plan` makes them ready, `simulate` runs one trace, `encode` writes spans, `pods` makes requests of
//! them, `source` keeps the pace, `send` and `write` take the requests away, `run` holds it together.

mod answer;
mod arguments;
mod counts;
mod encode;
mod endpoint;
mod patience;
mod plan;
mod pods;
mod progress;
mod random;
mod run;
mod send;
mod shop;
mod simulate;
mod source;
mod summary;
mod write;

#[cfg(test)]
mod tests;

pub use arguments::Generate;

use super::{Failure, complain, print};
use arguments::Format;
use counts::Counts;
use encode::Encoder;
use plan::Plan;
use pods::Pods;
use random::Random;
use run::{Sink, run};
use simulate::Simulator;
use source::Source;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;
use summary::Summary;
use write::Output;

impl Generate {
    pub fn execute(&self) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| vec![format!("cannot start threads: {error}")])?;
        let (seed, counts) = (self.seed(), Arc::new(Counts::default()));
        let began = Instant::now();
        let ended = runtime.block_on(run(self.source(seed, counts.clone()), self.sink()));
        // A writer that nobody reads from would hold up the end.
        runtime.shutdown_background();
        let example = ended.map_err(|line| vec![line])?;
        let base = self.output().is_none().then_some(self.endpoint.base.as_str());
        self.report(&Summary::new(&counts, began.elapsed(), seed, example, base))?;
        verdict(&counts)
    }

    fn source(&self, seed: u64, counts: Arc<Counts>) -> Source {
        let simulator = Simulator { plan: Plan::new(self.services), seed, error_ratio: self.error_ratio };
        Source {
            encoder: Encoder::new(Random::unpredictable(), simulator.plan.copies.len()),
            pods: Pods::new(&simulator.plan, self.batch),
            simulator,
            end: self.end(),
            rate: self.rate,
            start: self.start_time,
            counts,
        }
    }

    fn sink(&self) -> Sink {
        match self.output() {
            Some(output) => Sink::File(output),
            None => Sink::Http(self.endpoint.clone(), self.connections()),
        }
    }

    /// On standard output, unless the traces went there.
    fn report(&self, summary: &Summary) -> Result<(), Failure> {
        let text = match self.format {
            Format::Table => summary.table(),
            Format::Json => serde_json::to_string(summary).map_err(|error| vec![error.to_string()])? + "\n",
        };
        if let Some(Output::Stdout) = self.output() {
            // Nobody may be listening.
            let _ = std::io::stderr().write_all(text.as_bytes());
            return Ok(());
        }
        print(&text)
    }
}

/// Errors: spans that were refused for good.
fn verdict(counts: &Counts) -> Result<(), Failure> {
    let words = counts.words.get().map_or("", String::as_str);
    match counts.rejected.get() {
        0 if words.is_empty() => Ok(()),
        0 => {
            complain("warning", &format!("the endpoint said: {words}"));
            Ok(())
        }
        spans => Err(vec![format!("the endpoint rejected {spans} spans: {words}")]),
    }
}
