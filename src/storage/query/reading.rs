//! Puts a trace together from its fragments.

use super::traces::Fragments;
use crate::model::wire::read;
use crate::model::{StoredSpan, Trace, TraceId};
use crate::storage::Snapshot;
use crate::storage::collapse::collapse;
use crate::storage::error::StorageError;
use crate::storage::memtable::{rows_of, stored};
use crate::storage::segment::block::{Block, BlockRow};
use crate::storage::segment::table::{ContentHash, Table};
use crate::storage::segment::{DirectoryEntry, Segment};
use std::collections::HashMap;
use std::sync::Arc;

/// Reads from one snapshot. Remembers the tables and the last block of each segment, for neighbours are asked for next.
pub struct Reading<'a> {
    pub(super) snapshot: &'a Snapshot,
    tables: HashMap<usize, Arc<Tables>>,
    blocks: HashMap<usize, (u32, Arc<Block>)>,
}

impl<'a> Reading<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, tables: HashMap::new(), blocks: HashMap::new() }
    }

    /// Where the parts of a trace are.
    pub fn find(&self, id: TraceId) -> Fragments {
        let mut fragments = Fragments::new(id);
        for (index, segment) in self.snapshot.segments.iter().enumerate() {
            let found = segment.look_up(id);
            fragments.segments.extend(found.entries.into_iter().map(|entry| (index, entry)));
            fragments.warnings.extend(found.errors.iter().map(ToString::to_string));
        }
        let unreadable = self.snapshot.unreadable.iter().map(|file| file.why.clone());
        fragments.warnings.extend(unreadable);
        fragments
    }

    /// The trace whose fragments these are: every span once, ordered by start time and span id.
    pub fn assemble(&mut self, fragments: &Fragments) -> Trace {
        let mut warnings = fragments.warnings.clone();
        let mut spans = match &fragments.memory {
            Some(places) => places.iter().filter_map(|&(entry, place)| self.in_memory(entry, place)).collect(),
            None => self.snapshot.entries.iter().flat_map(|entry| rows_of(entry, fragments.id)).collect::<Vec<_>>(),
        };
        for (segment, entry) in &fragments.segments {
            self.add_run(*segment, entry, &mut spans, &mut warnings);
        }
        collapse(&mut spans, |span| &span.row, |span| read::scope_name(&span.scope));
        Trace { id: fragments.id, spans, warnings }
    }

    fn in_memory(&self, entry: u32, place: u32) -> Option<StoredSpan> {
        let entry = self.snapshot.entries.get(entry as usize)?;
        Some(stored(entry, place, entry.batch.spans().get(place as usize)?))
    }

    fn add_run(
        &mut self,
        index: usize,
        entry: &DirectoryEntry,
        spans: &mut Vec<StoredSpan>,
        warnings: &mut Vec<String>,
    ) {
        let Some(segment) = self.snapshot.segments.get(index).cloned() else { return };
        for block in entry.block..entry.block.saturating_add(entry.blocks) {
            match self.block(index, &segment, block) {
                Ok(block) => {
                    let tables = self.tables_for(index, &segment, &block);
                    add_rows((&segment, &block, &tables), entry.trace_id, spans, warnings);
                }
                Err(error) => warnings.push(error.to_string()),
            }
        }
    }

    fn block(&mut self, index: usize, segment: &Segment, block: u32) -> Result<Arc<Block>, StorageError> {
        if let Some((_, known)) = self.blocks.get(&index).filter(|(known, _)| *known == block) {
            return Ok(known.clone());
        }
        let read = Arc::new(segment.block(block)?);
        self.blocks.insert(index, (block, read.clone()));
        Ok(read)
    }

    /// The tables of a segment; what is damaged of them and other segments have too is taken from there.
    fn tables_for(&mut self, index: usize, segment: &Segment, block: &Block) -> Arc<Tables> {
        let tables = self.tables(index, segment);
        if tables.have_all(block) {
            return tables;
        }
        let mut tables = Tables::clone(&tables);
        for (other, segment) in self.snapshot.segments.iter().enumerate().filter(|(other, _)| *other != index) {
            let from = self.tables(other, segment);
            tables.take(block, &from);
        }
        let tables = Arc::new(tables);
        self.tables.insert(index, tables.clone());
        tables
    }

    fn tables(&mut self, index: usize, segment: &Segment) -> Arc<Tables> {
        let read = || {
            let ((resources, mut errors), (scopes, more)) = (segment.resources(), segment.scopes());
            errors.extend(more);
            let errors = errors.iter().map(ToString::to_string).collect();
            Arc::new(Tables { resources, scopes, errors })
        };
        self.tables.entry(index).or_insert_with(read).clone()
    }
}

/// The resources and scopes of a segment, and what of them cannot be read.
#[derive(Clone)]
struct Tables {
    resources: Table,
    scopes: Table,
    errors: Vec<String>,
}

impl Tables {
    fn have_all(&self, block: &Block) -> bool {
        let have = |table: &Table, names: &[ContentHash]| names.iter().all(|name| table.get(name).is_some());
        have(&self.resources, &block.resources) && have(&self.scopes, &block.scopes)
    }

    fn take(&mut self, block: &Block, other: &Self) {
        self.resources.take(&block.resources, &other.resources);
        self.scopes.take(&block.scopes, &other.scopes);
    }
}

/// Adds the rows that a block has of a trace. A row whose resource or scope is missing is left out and said.
fn add_rows(
    (segment, block, tables): (&Segment, &Block, &Tables),
    id: TraceId,
    spans: &mut Vec<StoredSpan>,
    warnings: &mut Vec<String>,
) {
    let path = segment.path().display();
    let Some(run) = block.run(id) else { return warnings.push(format!("{path}: a run of trace {id} is missing")) };
    let rows = block.rows.get(run.rows.clone()).unwrap_or_default();
    let whole = rows.iter().filter_map(|row| stored_row(block, tables, id, row));
    let before = spans.len();
    spans.extend(whole);
    if spans.len() < before + rows.len() {
        warnings.extend(tables.errors.iter().cloned());
        warnings.push(format!("{path}: resources or scopes of trace {id} are missing"));
    }
}

fn stored_row(block: &Block, tables: &Tables, id: TraceId, row: &BlockRow) -> Option<StoredSpan> {
    Some(StoredSpan {
        row: row.row,
        resource: tables.resources.get(block.resources.get(row.resource as usize)?)?.clone(),
        scope: tables.scopes.get(block.scopes.get(row.scope as usize)?)?.clone(),
        span: block.span(id, row).into(),
    })
}
