//! Reading: one trace by its id, all traces in id order, or those that match, from a snapshot.
//!
//! Fragments from memory and segments are put together, duplicates collapsed, rows ordered: the answer does not depend
//! on where rows lie. What is damaged is left out and said.

mod find;
mod fragments;
mod heads;
mod judge;
mod limits;
mod matching;
mod names;
mod pages;
mod parts;
mod reading;
mod source;
mod summary;
mod top;
mod totals;
mod traces;
mod walk;

pub use fragments::{Fragments, InMemory};
pub use limits::{Limits, Stopped};
pub use matching::{SpanRef, matches};
pub use reading::Reading;
pub use summary::summary_of;
pub use totals::{Summary, summarize};
pub use traces::Traces;

use super::Snapshot;
use crate::model::{Trace, TraceId};

impl Snapshot {
    /// All spans of a trace; no spans where nothing of it is stored.
    pub fn trace(&self, id: TraceId, limits: Limits) -> Result<Trace, Stopped> {
        let mut reading = Reading::new(self, limits);
        let mut fragments = reading.find(id)?;
        fragments.warnings.extend(self.missing());
        reading.assemble(&fragments)
    }
}
