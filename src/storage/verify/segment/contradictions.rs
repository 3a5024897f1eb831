//! Where the parts of a segment, each of them whole, contradict each other.

use super::content::Content;
use crate::storage::disk::DiskFile;
use crate::storage::manifest::LiveFile;
use crate::storage::segment::index::{self, IndexEntry};
use crate::storage::segment::{Anatomy, Footer, Names, SectionKind, filter};

impl Content {
    /// Whatever contradicts itself in a segment of which every part is whole.
    pub fn contradictions(&self, file: &dyn DiskFile, anatomy: &Anatomy, live: &LiveFile) -> Vec<String> {
        let mut wrong = self.wrong.clone();
        let Ok(footer) = &anatomy.footer else { return wrong };
        let trace_ids = (self.ids.first().copied().unwrap_or_default(), self.ids.last().copied().unwrap_or_default());
        let (id, store, inputs, sections) = (footer.id, footer.store, footer.inputs.clone(), footer.sections.clone());
        if (Footer { id, store, inputs, sections, trace_ids, ..self.footer.clone() }) != *footer {
            wrong.push("the footer does not say what the rows say".into());
        }
        let said = (live.rows, live.traces, live.lsns, live.received);
        if (footer.rows, footer.traces, footer.lsns, footer.received) != said {
            wrong.push("the manifest says something else than the footer".into());
        }
        wrong.extend(self.check_filter(file, anatomy));
        wrong.extend(self.check_names(file, anatomy));
        wrong.extend(self.check_index(file, anatomy, SectionKind::LATENCY_INDEX, &self.latencies));
        wrong.extend(self.check_index(file, anatomy, SectionKind::START_TIME_INDEX, &self.start_times));
        wrong
    }

    fn check_filter(&self, file: &dyn DiskFile, anatomy: &Anatomy) -> Option<String> {
        let filter = raw_of(file, anatomy, SectionKind::FILTER).concat();
        let denied = self.ids.iter().find(|id| !filter::may_hold(&filter, **id));
        denied.map(|id| format!("the filter denies trace {id}"))
    }

    /// A merge may have left the names of rows that are no more.
    fn check_names(&self, file: &dyn DiskFile, anatomy: &Anatomy) -> Option<String> {
        let raw = raw_of(file, anatomy, SectionKind::NAMES).concat();
        let Ok(names) = Names::decode(&raw) else { return Some("the names cannot be read".into()) };
        let known =
            |(key, types): (&String, &u8)| names.attributes.get(key).is_some_and(|known| known & types == *types);
        let whole = self.names.operations.is_subset(&names.operations) && self.names.attributes.iter().all(known);
        (!names.cut && !whole).then(|| "a name of a row is not among the names".into())
    }

    fn check_index(
        &self,
        file: &dyn DiskFile,
        anatomy: &Anatomy,
        kind: SectionKind,
        entries: &[IndexEntry],
    ) -> Option<String> {
        let mut expected = entries.to_vec();
        index::sort(&mut expected);
        let mut found = Vec::new();
        for raw in raw_of(file, anatomy, kind) {
            found.extend(index::decode(&raw, self.footer.traces).ok()?);
        }
        (found != expected).then(|| format!("index {} does not say what the directory says", kind.0))
    }
}

/// The raw bytes of all parts of a kind.
fn raw_of(file: &dyn DiskFile, anatomy: &Anatomy, kind: SectionKind) -> Vec<Vec<u8>> {
    let parts = anatomy.sections().into_iter().filter(|part| part.kind == kind && anatomy.is_there(part));
    parts.filter_map(|part| anatomy.raw(file, &part).ok().flatten()).collect()
}
