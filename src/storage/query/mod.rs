//! Reading: one trace by its id, or all traces in id order, from a snapshot.
//!
//! Fragments from memory and segments are put together, duplicates collapsed, rows ordered: the answer does not depend
//! on where rows lie. What is damaged is left out and said.

mod find;
mod matching;
mod reading;
mod summary;
mod traces;

pub use find::{TimedOut, summary_of};
pub use matching::matches;
pub use reading::Reading;
pub use summary::{Summary, summarize};
pub use traces::{Fragments, Traces};

use super::Snapshot;
use crate::model::{Trace, TraceId};

impl Snapshot {
    /// All spans of a trace; no spans where nothing of it is stored.
    pub fn trace(&self, id: TraceId) -> Trace {
        let mut reading = Reading::new(self);
        let fragments = reading.find(id);
        reading.assemble(&fragments)
    }
}
