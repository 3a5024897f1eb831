//! All traces of a snapshot, in id order.

use super::fragments::{Fragments, InMemory};
use super::limits::{Limits, Stopped};
use super::pages::Pages;
use super::reading::Reading;
use super::source::{self, Place};
use super::walk::{Met, Walk};
use crate::model::Trace;
use crate::storage::Snapshot;

/// Goes through all traces of a snapshot once.
pub struct Traces<'a> {
    snapshot: &'a Snapshot,
    walk: Walk<'a>,
    pages: Pages,
    reading: Reading<'a>,
    /// What could not be read, and so belongs to no trace that was given.
    pub warnings: Vec<String>,
}

impl<'a> Traces<'a> {
    pub fn new(snapshot: &'a Snapshot, limits: Limits) -> Result<Self, Stopped> {
        let walk = Walk::new(snapshot, &source::all(snapshot), limits)?;
        let warnings = snapshot.missing().collect();
        Ok(Self { snapshot, walk, pages: Pages::default(), reading: Reading::new(snapshot, limits), warnings })
    }

    /// Where the parts of the next trace are.
    pub fn next_fragments(&mut self) -> Result<Option<Fragments>, Stopped> {
        let met = self.walk.next()?;
        self.warnings.append(&mut self.walk.warnings);
        Ok(met.map(|met| self.fragments(&met)))
    }

    fn fragments(&mut self, met: &Met) -> Fragments {
        let mut fragments = Fragments::new(met.id);
        for &place in &met.places {
            match place {
                Place::Memtable { memtable, id } => {
                    let rows = self.snapshot.memory.get(memtable).map_or_else(Vec::new, |view| view.rows(id));
                    fragments.memory.push(InMemory { memtable, rows });
                }
                Place::Segment { segment, ordinal } => match self.pages.entry(self.snapshot, segment, ordinal) {
                    Ok(entry) => fragments.segments.extend(entry.map(|entry| (segment, entry))),
                    Err(error) => fragments.warnings.push(error.to_string()),
                },
            }
        }
        fragments
    }

    /// The next trace with all its spans. It is the caller's to hold: only one trace counts against the limits.
    pub fn next_trace(&mut self) -> Result<Option<Trace>, Stopped> {
        let Some(fragments) = self.next_fragments()? else { return Ok(None) };
        self.assemble(&fragments).map(Some)
    }

    pub fn assemble(&mut self, fragments: &Fragments) -> Result<Trace, Stopped> {
        self.reading.let_go();
        self.reading.assemble(fragments)
    }
}
