//! Puts a trace together from its fragments.

use super::traces::Fragments;
use crate::model::wire::read;
use crate::model::{StoredSpan, Trace, TraceId};
use crate::storage::Snapshot;
use crate::storage::collapse::collapse;
use crate::storage::error::StorageError;
use crate::storage::memtable::{rows_of, stored};
use crate::storage::segment::block::{Block, BlockRow};
use crate::storage::segment::table::Table;
use crate::storage::segment::{DirectoryEntry, Segment};
use std::collections::HashMap;
use std::sync::Arc;

/// Reads from one snapshot. Remembers the tables and the last block of each segment, for neighbours are asked for next.
pub struct Reading<'a> {
    pub(super) snapshot: &'a Snapshot,
    tables: HashMap<usize, Arc<(Table, Table)>>,
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
            match segment.find(id) {
                Ok(entry) => fragments.segments.extend(entry.map(|entry| (index, entry))),
                Err(error) => fragments.warnings.push(error.to_string()),
            }
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
            let piece = self.block(index, &segment, block).and_then(|block| {
                let tables = self.tables(index, &segment)?;
                stored_rows(&segment, &block, &tables, entry.trace_id)
            });
            match piece {
                Ok(rows) => spans.extend(rows),
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

    fn tables(&mut self, index: usize, segment: &Segment) -> Result<Arc<(Table, Table)>, StorageError> {
        if let Some(known) = self.tables.get(&index) {
            return Ok(known.clone());
        }
        // What of them is damaged is noticed where a row needs it.
        let read = Arc::new((segment.resources().0, segment.scopes().0));
        self.tables.insert(index, read.clone());
        Ok(read)
    }
}

fn stored_rows(
    segment: &Segment,
    block: &Block,
    (resources, scopes): &(Table, Table),
    id: TraceId,
) -> Result<Vec<StoredSpan>, StorageError> {
    let missing = |what: &str| StorageError::damaged(segment.path(), 0, format!("{what} of trace {id} is missing"));
    let run = block.run(id).ok_or_else(|| missing("a run"))?;
    let rows = block.rows.get(run.rows.clone()).unwrap_or_default();
    let span = |row: &BlockRow| {
        let resource = block.resources.get(row.resource as usize).and_then(|hash| resources.get(hash));
        let scope = block.scopes.get(row.scope as usize).and_then(|hash| scopes.get(hash));
        Ok(StoredSpan {
            row: row.row,
            resource: resource.ok_or_else(|| missing("a resource"))?.clone(),
            scope: scope.ok_or_else(|| missing("a scope"))?.clone(),
            span: block.span(id, row).into(),
        })
    };
    rows.iter().map(span).collect()
}
