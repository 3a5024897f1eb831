//! What can be read of a segment, trace by trace, with what the directory says of it beside it.
//!
//! Blocks and directory pages are gone through side by side, so that neither is held as a whole.

use super::Block;
use super::anatomy::Anatomy;
use super::block::{BlockRow, PIECE};
use super::directory::{DirectoryEntry, decode_page};
use super::footer::{Section, SectionKind};
use crate::model::TraceId;
use crate::storage::disk::DiskFile;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The rows of one trace, from all blocks that can be read.
#[derive(Debug)]
pub struct Run {
    pub id: TraceId,
    /// Ordinal of the first block it was found in, and of the last.
    pub first: u32,
    pub last: u32,
    pieces: Vec<(Arc<Block>, Range<usize>)>,
}

impl Run {
    pub fn rows(&self) -> impl Iterator<Item = (&Block, &BlockRow)> {
        self.pieces.iter().flat_map(|(block, rows)| {
            block.rows.get(rows.clone()).unwrap_or_default().iter().map(move |row| (&**block, row))
        })
    }
}

/// One trace: its rows, what the directory says of it, or both.
#[derive(Debug)]
pub struct Salvaged {
    pub id: TraceId,
    pub run: Option<Run>,
    pub entry: Option<DirectoryEntry>,
}

/// See the module.
pub struct Salvage<'a> {
    runs: Runs<'a>,
    run: Option<Run>,
    entries: Entries<'a>,
    entry: Option<DirectoryEntry>,
    /// Rows whose trace does not come behind the one before: they cannot be this segment's.
    pub out_of_order: u64,
    last: Option<TraceId>,
}

impl<'a> Salvage<'a> {
    pub fn new(file: &'a dyn DiskFile, anatomy: &'a Anatomy) -> Self {
        let mut runs = Runs { file, blocks: &anatomy.blocks, next: 0, found: VecDeque::new() };
        let mut entries = Entries { file, pages: anatomy.directory_pages(), found: VecDeque::new() };
        let (run, entry) = (runs.next(), entries.next());
        Self { runs, run, entries, entry, out_of_order: 0, last: None }
    }

    fn joined(&mut self) -> Option<Salvaged> {
        let (run, entry) = (self.run.as_ref().map(|run| run.id), self.entry.as_ref().map(|entry| entry.trace_id));
        let order = match (run, entry) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(run), Some(entry)) => run.cmp(&entry),
        };
        let (mut run, mut entry) = (None, None);
        if order != Ordering::Greater {
            run = std::mem::replace(&mut self.run, self.runs.next());
        }
        if order != Ordering::Less {
            entry = std::mem::replace(&mut self.entry, self.entries.next());
        }
        let id = run.as_ref().map(|run| run.id).or(entry.as_ref().map(|entry| entry.trace_id))?;
        Some(Salvaged { id, run, entry })
    }
}

impl Iterator for Salvage<'_> {
    type Item = Salvaged;

    fn next(&mut self) -> Option<Salvaged> {
        loop {
            let next = self.joined()?;
            if self.last.is_none_or(|last| next.id > last) {
                self.last = Some(next.id);
                return Some(next);
            }
            self.out_of_order += next.run.map_or(0, |run| run.rows().count() as u64);
        }
    }
}

/// Goes through the blocks that can be read.
struct Runs<'a> {
    file: &'a dyn DiskFile,
    blocks: &'a [(u64, u32)],
    next: usize,
    /// Of the block last read: its ordinal, and the rows of each run not yet given.
    found: VecDeque<(u32, Arc<Block>, TraceId, Range<usize>)>,
}

impl Runs<'_> {
    fn next(&mut self) -> Option<Run> {
        self.fill();
        let (first, block, id, rows) = self.found.pop_front()?;
        let mut run = Run { id, first, last: first, pieces: vec![(block, rows)] };
        while let Some((ordinal, block, rows)) = self.next_piece(&run) {
            run.last = ordinal;
            run.pieces.push((block, rows));
        }
        Some(run)
    }

    fn next_piece(&mut self, run: &Run) -> Option<(u32, Arc<Block>, Range<usize>)> {
        let is_piece = |block: &Block| block.flags & PIECE != 0;
        if !run.pieces.last().is_some_and(|(block, _)| is_piece(block)) {
            return None;
        }
        self.fill();
        let (ordinal, block, _, rows) =
            self.found.pop_front_if(|(_, block, id, _)| is_piece(block) && *id == run.id)?;
        Some((ordinal, block, rows))
    }

    fn fill(&mut self) {
        while self.found.is_empty()
            && let Some(&(offset, length)) = self.blocks.get(self.next)
        {
            let ordinal = self.next as u32;
            self.next += 1;
            let section = Section { kind: SectionKind::BLOCK, offset, length: length.into() };
            if let Some(block) = read(self.file, &section).and_then(|bytes| Block::decode(&bytes).ok()).map(Arc::new) {
                let runs = block.runs.iter().map(|run| (ordinal, block.clone(), run.trace_id, run.rows.clone()));
                self.found.extend(runs);
            }
        }
    }
}

/// Goes through the directory pages that can be read.
struct Entries<'a> {
    file: &'a dyn DiskFile,
    pages: VecDeque<Section>,
    found: VecDeque<DirectoryEntry>,
}

impl Entries<'_> {
    fn next(&mut self) -> Option<DirectoryEntry> {
        while self.found.is_empty() {
            let page = self.pages.pop_front()?;
            let entries = read(self.file, &page).and_then(|bytes| decode_page(&bytes).ok());
            self.found = entries.unwrap_or_default().into();
        }
        self.found.pop_front()
    }
}

/// The bytes of a part that an index names.
pub(super) fn read(file: &dyn DiskFile, part: &Section) -> Option<Vec<u8>> {
    // The length is only what is claimed.
    let end = part.offset.checked_add(part.length)?;
    let mut bytes = vec![0; (end <= file.len().ok()?).then_some(part.length as usize)?];
    file.read_at(&mut bytes, part.offset).ok()?;
    Some(bytes)
}
