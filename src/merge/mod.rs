//! Merging: several segments become one, or a few, that hold every row a reader would have been shown.
//!
//! ```text
//! policy: which ─► claim ─► assemble: inputs, trace by trace ─► outputs ─► ledger ─► sync, names ─► manifest
//! ```
//!
//! Heads are rewritten and bodies copied unparsed. Nothing is published that the ledger does not prove, and until it is
//! published nothing has changed: a merge that fails, stops or dies leaves its inputs as they were.

mod assemble;
mod error;
mod input;
mod ledger;
mod next;
mod output;
pub mod policy;
mod report;
mod rows;
pub mod stages;
mod workers;

pub use error::MergeError;
pub use next::merge_next;
pub use report::Report;
pub use workers::Mergers;

use crate::model::time::Nanos;
use crate::storage::engine::{Claim, Engine, ReplaceError};
use crate::storage::segment::writer::WriteOptions;
use crate::storage::segment::{Codec, Names, Segment};
use input::Input;
use output::{Named, Outputs, Written};
use policy::Policy;
use stages::{Stage, Stopwatch};
use std::sync::Arc;
use std::time::Duration;

/// How a store is merged.
#[derive(Debug, Clone)]
pub struct Options {
    /// Threads that merge; 0: nothing is merged.
    pub workers: usize,
    /// Most segments of one merge, at least 2.
    pub max_inputs: usize,
    /// Rows that make a segment full: the next trace begins another one.
    pub max_rows: u64,
    pub codec: Codec,
    /// A trace is mature when nothing of it was received for this long.
    pub grace: Duration,
    /// How long rows are kept; `None`: for ever.
    pub max_age: Option<Duration>,
}

impl Default for Options {
    /// The defaults of the configuration.
    fn default() -> Self {
        let grace = Duration::from_secs(2 * 3_600);
        Self { workers: 1, max_inputs: 15, max_rows: 4_000_000, codec: Codec::Zstd, grace, max_age: None }
    }
}

impl Options {
    /// What to merge by. `settle`: nothing more will come, so that every bucket counts as closed.
    pub fn policy(&self, settle: bool) -> Policy {
        Policy {
            grace: Nanos::try_from(self.grace.as_nanos()).unwrap_or(Nanos::MAX),
            bucket_width: policy::bucket_width(self.max_age),
            max_inputs: self.max_inputs,
            max_rows: self.max_rows,
            judging: false,
            settle,
        }
    }
}

/// Merges what was claimed and puts it in the place of its inputs. `go_on` is asked at every trace.
///
/// Errors: see [`MergeError`]; the inputs are live as before, and what was written is removed, at the latest at a start.
pub fn merge(
    engine: &Engine,
    claim: &Claim,
    options: &Options,
    go_on: &dyn Fn() -> bool,
) -> Result<Report, MergeError> {
    let mut watch = Stopwatch::start(Stage::Read);
    let go_on = || go_on() && !claim.is_cancelled();
    let (written, collapsed) = write(engine, claim, options, &mut watch, &go_on)?;
    ledger::check(claim.segments().iter().map(|segment| segment.footer()), written.footers(), collapsed)
        .map_err(MergeError::Ledger)?;
    watch.enter(Stage::Sync);
    let named = written.sync()?;
    watch.enter(Stage::Publish);
    let outputs = publish(engine, claim, named)?;
    let (stages, wall) = watch.stop();
    Ok(Report::of(claim.segments(), &outputs, collapsed.rows, (stages, wall)))
}

fn write<'a>(
    engine: &'a Engine,
    claim: &Claim,
    options: &Options,
    watch: &mut Stopwatch,
    go_on: &dyn Fn() -> bool,
) -> Result<(Written<'a>, ledger::Collapsed), MergeError> {
    let (mut inputs, mut ids, mut names) = (Vec::new(), Vec::new(), Names::default());
    for segment in claim.segments() {
        let input = Input::open(segment.clone(), watch)?;
        names.unite(&*input.names()?);
        ids.push(segment.footer().id);
        inputs.push(input);
    }
    watch.enter(Stage::Assemble);
    let write = WriteOptions { block_size: engine.options().block_size, codec: options.codec };
    let mut out = Outputs::new(engine, ids, names, write, options.max_rows);
    let collapsed = assemble::assemble(&mut inputs, &mut out, watch, go_on)?;
    Ok((out.finish(watch)?, collapsed))
}

fn publish(engine: &Engine, claim: &Claim, named: Named<'_>) -> Result<Vec<Arc<Segment>>, MergeError> {
    match engine.replace(claim, &named.segments) {
        Ok(()) => Ok(named.keep()),
        Err(ReplaceError::Cancelled) => Err(MergeError::Stopped),
        Err(ReplaceError::Failed(error)) => {
            // The catalog gives them up once it is certain that no manifest names them.
            named.keep();
            Err(error.into())
        }
    }
}
