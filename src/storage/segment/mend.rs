//! Reading on where a segment is damaged: directory entries made again from the blocks.
//!
//! For readers only. A merge or a seal never sees what is made here: of the judged marks nothing is known, and traces may
//! be missing.

use super::anatomy::{Anatomy, other_version};
use super::directory::{DirectoryEntry, PageRef};
use super::facts::{FactRow, Facts, Mark};
use super::footer::{Footer, SectionKind};
use super::identity::Header;
use super::table::{ContentHash, Table};
use super::writer::row_checksum;
use super::{Block, Segment, VERSION};
use crate::model::TraceId;
use crate::model::wire::read;
use crate::storage::disk::Disk;
use crate::storage::error::StorageError;
use crate::storage::owner::Identity;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Entries made from blocks, and the blocks that could not be read.
#[derive(Debug, Default)]
pub struct Mended {
    pub entries: Vec<DirectoryEntry>,
    pub errors: Vec<StorageError>,
}

impl Mended {
    fn whole(entries: Vec<DirectoryEntry>) -> Self {
        Self { entries, errors: Vec::new() }
    }

    fn because(mut self, error: StorageError) -> Self {
        self.errors.insert(0, error);
        self
    }
}

impl Segment {
    /// Opens the segment of this id, whatever of it is damaged. `error`: why it cannot be opened otherwise.
    ///
    /// Errors: it is another segment, of another version, or none of its parts is whole.
    pub fn open_damaged(disk: &dyn Disk, path: &Path, own: Identity, error: &str) -> Result<Self, StorageError> {
        let file = disk.open(path).map_err(StorageError::io(path, "opening"))?;
        let anatomy = Anatomy::read(&*file, &mut |_| {}).map_err(StorageError::io(path, "reading"))?;
        if let Some(found) = other_version(&anatomy.footer, anatomy.header) {
            return Err(StorageError::format(path.to_owned(), found, VERSION));
        }
        let footer = anatomy.footer.as_ref().ok().map(|footer| Identity { store: footer.store, id: footer.id });
        let header = if let Header::Of(identity) = anatomy.header { Some(identity) } else { None };
        if header.or(footer).is_some_and(|identity| identity != own) {
            return Err(StorageError::damaged(path, 0, "this is the segment of another store, or another one of this"));
        }
        if anatomy.parts.is_empty() {
            return Err(StorageError::damaged(path, 0, error));
        }
        let footer = Footer { id: own.id, store: own.store, ..Footer::default() };
        let mut segment = Self::of_parts(path, file, anatomy.size, footer);
        segment.blocks = anatomy.blocks.clone();
        segment.footer.sections = anatomy.sections();
        // Their ordinals are places in a directory that is not used.
        segment
            .footer
            .sections
            .retain(|part| !matches!(part.kind, SectionKind::LATENCY_INDEX | SectionKind::START_TIME_INDEX));
        segment.count();
        segment.damage = Some(error.to_owned());
        Ok(segment)
    }

    /// Why this segment could not be opened as it is, where it could not: every row that can be read is served, and which
    /// are missing is not known.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Goes through the blocks: what the footer would say, and what would be pages of the directory, one a block.
    fn count(&mut self) {
        let none = (u64::MAX, 0);
        let sections = std::mem::take(&mut self.footer.sections);
        let Footer { id, store, .. } = self.footer;
        let mut footer = Footer { id, store, sections, lsns: none, received: none, times: none, ..Footer::default() };
        let (mut pages, mut last) = (Vec::new(), None);
        for (index, &(offset, length)) in (0u32..).zip(&self.blocks) {
            let Ok(block) = self.block(index) else { continue };
            let Some(first) = block.runs.first().map(|run| run.trace_id) else { continue };
            // Pieces of a run that began before belong to where it began.
            if last != Some(first) {
                pages.push(PageRef { first, offset, length, entries: block.runs.len() as u32 });
                footer.traces += block.runs.len() as u64;
            }
            last = block.runs.last().map(|run| run.trace_id);
            add_block(&mut footer, &block);
        }
        if let (Some(first), Some(last)) = (pages.first(), last) {
            footer.trace_ids = (first.first, last);
        }
        footer.unjudged = footer.traces;
        (self.footer, self.pages) = (footer, pages);
    }

    /// The entries of a page of the directory, made from the blocks where the page cannot be read.
    pub fn readable_page(&self, index: usize) -> Mended {
        self.page(index).map_or_else(|error| self.mended_page(index).because(error), Mended::whole)
    }

    /// The directory entry of a trace, if it is there, made from the blocks where the directory cannot be read.
    pub fn look_up(&self, id: TraceId) -> Mended {
        let found = self.find(id).map(|entry| entry.into_iter().collect());
        found.map_or_else(|error| self.mended_find(id).because(error), Mended::whole)
    }

    fn mended_page(&self, index: usize) -> Mended {
        let Some(page) = self.pages.get(index) else { return Mended::default() };
        if self.damage.is_some() {
            let block = self.blocks.partition_point(|(offset, _)| *offset < page.offset) as u32;
            return self.entries_of(block..block + 1, page.first..=TraceId([0xff; 16]));
        }
        let before = index.checked_sub(1).and_then(|before| self.page(before).ok()?.pop());
        let next = self.pages.get(index + 1).map(|page| page.first);
        let behind = self.page(index + 1).ok().and_then(|entries| Some(entries.first()?.block));
        let from = before.map_or(0, |entry| entry.block);
        let to = behind.map_or(self.block_count(), |block| block + 1);
        let mut mended = self.entries_of(from..to, page.first..=TraceId([0xff; 16]));
        mended.entries.retain(|entry| next.is_none_or(|next| entry.trace_id < next));
        mended
    }

    fn mended_find(&self, id: TraceId) -> Mended {
        let after = self.pages.partition_point(|page| page.first <= id);
        let mut mended = after.checked_sub(1).map_or(Mended::default(), |page| self.mended_page(page));
        mended.entries.retain(|entry| entry.trace_id == id);
        mended
    }

    /// The entries of the runs that begin in these blocks and are of these ids.
    fn entries_of(&self, blocks: Range<u32>, ids: std::ops::RangeInclusive<TraceId>) -> Mended {
        let (resources, _) = self.resources();
        let mut mended = Mended::default();
        let mut next = blocks.start;
        while next < blocks.end.min(self.block_count()) {
            let begin = next;
            next += 1;
            match self.block(begin) {
                Err(error) => mended.errors.push(error),
                Ok(block) => {
                    for run in block.runs.iter().filter(|run| ids.contains(&run.trace_id)) {
                        let known = mended.entries.last().is_some_and(|entry| entry.trace_id == run.trace_id);
                        if !known {
                            let pieces = self.pieces(begin, &block, run.trace_id);
                            mended.entries.push(entry(run.trace_id, begin, &pieces, &resources));
                        }
                    }
                }
            }
        }
        mended
    }

    /// The blocks that hold a run which begins in block `begin`: itself, and the pieces behind it.
    fn pieces(&self, begin: u32, block: &Block, id: TraceId) -> Vec<Option<Arc<Block>>> {
        let mut pieces = vec![self.block(begin).ok().map(Arc::new)];
        if block.flags & super::block::PIECE == 0 {
            return pieces;
        }
        let mut end = pieces.len();
        for index in begin + 1..self.block_count() {
            match self.block(index) {
                Ok(block) if block.run(id).is_some() => {
                    pieces.push(Some(Arc::new(block)));
                    end = pieces.len();
                }
                Ok(_) => break,
                Err(_) => pieces.push(None),
            }
        }
        pieces.truncate(end);
        pieces
    }
}

fn add_block(footer: &mut Footer, block: &Block) {
    footer.blocks += 1;
    footer.rows += block.rows.len() as u64;
    for run in &block.runs {
        for row in block.rows.get(run.rows.clone()).unwrap_or_default() {
            let (keys, body) = (&row.row, block.body(row));
            footer.lsns = (footer.lsns.0.min(keys.lsn), footer.lsns.1.max(keys.lsn));
            footer.received = (footer.received.0.min(keys.received), footer.received.1.max(keys.received));
            footer.times = (footer.times.0.min(keys.start), footer.times.1.max(keys.end));
            footer.body_bytes += body.len() as u64;
            footer.checksum = footer.checksum.wrapping_add(row_checksum(run.trace_id, keys, body));
        }
    }
}

fn entry(id: TraceId, block: u32, pieces: &[Option<Arc<Block>>], resources: &Table) -> DirectoryEntry {
    let mut rows = Vec::new();
    for block in pieces.iter().flatten() {
        let run = block.run(id).map_or(0..0, |run| run.rows.clone());
        for row in block.rows.get(run).unwrap_or_default() {
            let service = service(block.resources.get(row.resource as usize), resources);
            rows.push(FactRow { row: &row.row, body: block.body(row), service });
        }
    }
    let facts = Facts::of(id, &rows);
    DirectoryEntry { trace_id: id, block, blocks: pieces.len() as u32, facts, mark: Mark::default() }
}

fn service<'a>(hash: Option<&ContentHash>, resources: &'a Table) -> &'a str {
    let envelope = hash.and_then(|hash| resources.get(hash));
    envelope.and_then(|envelope| read::service_name(envelope)).unwrap_or_default()
}
