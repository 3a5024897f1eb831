//! Which services and operations there are.
//!
//! Names come from where they are written down: of every row that is stored, one that a later delivery in another place
//! has taken the place of among them. To leave that one out, all traces would have to be put together.

use super::limits::{Limits, Stopped};
use super::reading::Reading;
use crate::model::wire::{fields::SPAN_NAME, read};
use crate::model::{Answer, Operation};
use crate::storage::Snapshot;
use crate::storage::memtable::MemtableView;
use crate::storage::segment::{DirectoryEntry, Names, Segment};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Snapshot {
    /// Every service that has spans, sorted.
    pub fn services(&self, limits: Limits) -> Result<Answer<Vec<String>>, Stopped> {
        let mut collected = Collected::new(self, limits);
        for segment in &*self.segments {
            limits.check()?;
            match all_names(segment) {
                Some(names) => collected.names.extend(names.operations.iter().map(|(service, ..)| service.clone())),
                None => collected.each_entry(segment, |collected, entry| {
                    collected.names.extend(entry.facts.services.iter().cloned());
                    Ok(())
                })?,
            }
        }
        for view in &self.memory {
            view.indexed(|index| collected.names.extend(index.services(view.len()).map(str::to_owned)));
        }
        Ok(collected.finish())
    }

    /// What the spans of a service are called, sorted.
    pub fn operations(&self, service: &str, limits: Limits) -> Result<Answer<Vec<Operation>>, Stopped> {
        let mut collected = Collected::new(self, limits);
        let mut reading = Reading::new(self, limits);
        for (number, segment) in self.segments.iter().enumerate() {
            limits.check()?;
            match all_names(segment) {
                Some(names) => {
                    let of_service = names.operations.iter().filter(|(of, ..)| of == service);
                    let operation = of_service.map(|(_, name, kind)| Operation { name: name.clone(), kind: *kind });
                    collected.names.extend(operation);
                }
                None => collected.each_entry(segment, |collected, entry| {
                    if entry.facts.services.iter().any(|known| known == service) {
                        collected.add_operations(&mut reading, number, entry, service)?;
                    }
                    Ok(())
                })?,
            }
        }
        for view in &self.memory {
            collected.add_operations_in_memory(view, service)?;
        }
        Ok(collected.finish())
    }
}

/// The names of a segment where they can be read and none was left out.
fn all_names(segment: &Segment) -> Option<Arc<Names>> {
    segment.names().ok().filter(|names| !names.cut)
}

struct Collected<T> {
    names: BTreeSet<T>,
    warnings: BTreeSet<String>,
    limits: Limits,
}

impl<T: Ord> Collected<T> {
    fn new(snapshot: &Snapshot, limits: Limits) -> Self {
        let warnings = snapshot.missing().collect();
        Self { names: BTreeSet::new(), warnings, limits }
    }

    fn finish(self) -> Answer<Vec<T>> {
        Answer { found: self.names.into_iter().collect(), warnings: self.warnings.into_iter().collect() }
    }

    /// Goes through the directory of a segment.
    fn each_entry(
        &mut self,
        segment: &Segment,
        mut each: impl FnMut(&mut Self, &DirectoryEntry) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        for page in 0..segment.page_count() {
            self.limits.check()?;
            match segment.page(page) {
                Ok(entries) => entries.iter().try_for_each(|entry| each(self, entry))?,
                Err(error) => drop(self.warnings.insert(error.to_string())),
            }
        }
        Ok(())
    }
}

impl Collected<Operation> {
    fn add_operations(
        &mut self,
        reading: &mut Reading<'_>,
        segment: usize,
        entry: &DirectoryEntry,
        service: &str,
    ) -> Result<(), Stopped> {
        let mut warnings = Vec::new();
        reading.some_row(segment, entry, &mut warnings, |span| {
            if span.service() == service {
                self.names.insert(Operation { name: span.name().to_owned(), kind: span.row.kind });
            }
            false
        })?;
        self.warnings.extend(warnings);
        Ok(())
    }

    fn add_operations_in_memory(&mut self, view: &MemtableView, service: &str) -> Result<(), Stopped> {
        let Some(wanted) = view.indexed(|index| index.service(service)) else { return Ok(()) };
        for (number, entry) in view.entries().enumerate() {
            self.limits.check()?;
            let resources = 0..entry.batch.table_sizes().0 as u32;
            let of_service: Vec<_> = view.indexed(|index| {
                resources.map(|resource| index.service_of(number as u32, resource) == Some(wanted)).collect()
            });
            let heads = entry.batch.spans().iter();
            for head in heads.filter(|head| of_service.get(head.resource as usize) == Some(&true)) {
                let name = read::text(entry.batch.span_bytes(head), SPAN_NAME);
                self.names.insert(Operation { name: name.to_owned(), kind: head.kind });
            }
        }
        Ok(())
    }
}
