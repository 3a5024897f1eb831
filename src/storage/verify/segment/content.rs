//! What a segment holds, row by row: what is missing of it, and where its parts contradict each other.

use crate::model::wire::read;
use crate::model::{Row, TraceId};
use crate::storage::disk::DiskFile;
use crate::storage::segment::facts::{Facts, Mark, OF_ROWS};
use crate::storage::segment::index::{IndexEntry, IndexKind};
use crate::storage::segment::salvage::{Run, Salvage, Salvaged};
use crate::storage::segment::writer::row_checksum;
use crate::storage::segment::{Anatomy, DirectoryEntry, Envelopes, Footer, Names, Section, SectionKind};
use std::collections::BTreeMap;

/// What was counted on the way through a segment.
#[derive(Default)]
pub struct Content {
    /// What the footer should say, of the rows that can be read.
    pub(super) footer: Footer,
    /// Rows of which everything can be read.
    served: u64,
    /// Rows that are missing, by the ordinal of the block they were in.
    pub(super) lost: BTreeMap<u32, Lost>,
    /// Rows whose resource or scope is missing.
    pub(super) nameless: Lost,
    /// Wrong at once, a sentence each.
    pub(super) wrong: Vec<String>,
    pub(super) names: Names,
    pub(super) latencies: Vec<IndexEntry>,
    pub(super) start_times: Vec<IndexEntry>,
    pub(super) ids: Vec<TraceId>,
}

/// Rows that are missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lost {
    pub rows: u64,
    pub traces: Option<(TraceId, TraceId)>,
}

impl Lost {
    fn add(&mut self, id: TraceId, rows: u64) {
        if rows > 0 {
            self.rows += rows;
            let (first, last) = self.traces.unwrap_or((id, id));
            self.traces = Some((first.min(id), last.max(id)));
        }
    }
}

impl Content {
    pub fn read(file: &dyn DiskFile, anatomy: &Anatomy, envelopes: &Envelopes) -> Self {
        let none = (u64::MAX, 0);
        let footer = Footer { lsns: none, received: none, times: none, ..Footer::default() };
        let mut content = Self { footer, ..Self::default() };
        let wrong =
            envelopes.wrong.iter().map(|part| format!("at byte {}: an entry is not what its name says", part.offset));
        content.wrong.extend(wrong);
        for (_, resource) in envelopes.resources.iter() {
            content.names.add_resource(resource);
        }
        for (_, scope) in envelopes.scopes.iter() {
            content.names.add_scope(scope);
        }
        let mut salvage = Salvage::new(file, anatomy);
        for trace in &mut salvage {
            content.add(&trace, envelopes, anatomy);
        }
        if salvage.out_of_order > 0 {
            content.wrong.push(format!("{} rows of traces that are out of order", salvage.out_of_order));
        }
        content.footer.blocks = anatomy.blocks.len() as u64;
        content
    }

    /// Rows that a reader is shown.
    pub fn rows_served(&self) -> u64 {
        self.served
    }

    fn add(&mut self, trace: &Salvaged, envelopes: &Envelopes, anatomy: &Anatomy) {
        let Salvaged { id, run, entry } = trace;
        let found = run.as_ref().map_or(0, |run| run.rows().count() as u64);
        if let Some(entry) = entry {
            let missing = u64::from(entry.facts.rows).saturating_sub(found);
            let block =
                (entry.block..entry.block.saturating_add(entry.blocks)).find(|block| is_damaged(anatomy, *block));
            self.lost.entry(block.unwrap_or(entry.block)).or_default().add(*id, missing);
        }
        if let Some(run) = run {
            self.add_run(run, envelopes);
        }
        match (run, entry) {
            (Some(run), Some(entry)) => self.compare(run, entry, envelopes, anatomy),
            (Some(_), None) => self.wrong.push(format!("trace {id} is not in the directory")),
            (None, Some(_)) => self.wrong.push(format!("trace {id} has no rows")),
            (None, None) => {}
        }
        if let Some(entry) = entry {
            let ordinal = self.footer.traces as u32;
            self.latencies.push(IndexEntry { key: IndexKind::Latency.key(entry), ordinal });
            self.start_times.push(IndexEntry { key: IndexKind::StartTime.key(entry), ordinal });
            self.footer.unjudged += u64::from(matches!(entry.mark, Mark::Unjudged { .. }));
        }
        self.ids.push(*id);
        self.footer.traces += 1;
    }

    fn add_run(&mut self, run: &Run, envelopes: &Envelopes) {
        for (block, row) in run.rows() {
            let (keys, body) = (&row.row, block.body(row));
            let around = envelopes.of(block, row);
            self.served += u64::from(around.is_some());
            self.nameless.add(run.id, u64::from(around.is_none()));
            if let Some((resource, _)) = around {
                self.names.add_span(read::service_name(resource).unwrap_or_default(), keys.kind, body);
            }
            self.add_row(run.id, keys, body);
        }
    }

    fn add_row(&mut self, id: TraceId, row: &Row, body: &[u8]) {
        let footer = &mut self.footer;
        footer.rows += 1;
        footer.body_bytes += body.len() as u64;
        footer.lsns = (footer.lsns.0.min(row.lsn), footer.lsns.1.max(row.lsn));
        footer.received = (footer.received.0.min(row.received), footer.received.1.max(row.received));
        footer.times = (footer.times.0.min(row.start), footer.times.1.max(row.end));
        footer.checksum = footer.checksum.wrapping_add(row_checksum(id, row, body));
    }

    fn compare(&mut self, run: &Run, entry: &DirectoryEntry, envelopes: &Envelopes, anatomy: &Anatomy) {
        let blocks = (entry.block, entry.block.saturating_add(entry.blocks.saturating_sub(1)));
        if anatomy.blocks_known && blocks != (run.first, run.last) {
            self.wrong.push(format!("trace {} is not in the blocks that the directory names", run.id));
        }
        let rows: Vec<_> = run.rows().map(|(block, row)| envelopes.fact_row(block, row)).collect();
        let facts = Facts::of(run.id, &rows);
        let said = Facts { flags: entry.facts.flags & OF_ROWS, ..entry.facts.clone() };
        if facts != said {
            self.wrong.push(format!("the facts of trace {} are not those of its rows", run.id));
        }
    }
}

fn is_damaged(anatomy: &Anatomy, block: u32) -> bool {
    let part = |&(offset, length): &(u64, u32)| Section { kind: SectionKind::BLOCK, offset, length: length.into() };
    anatomy.blocks.get(block as usize).is_some_and(|block| !anatomy.is_there(&part(block)))
}
