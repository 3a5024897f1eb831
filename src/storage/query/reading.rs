//! Reads the rows of traces, where they lie or put together.

use super::fragments::{Fragments, InMemory};
use super::limits::{Limits, Stopped};
use super::matching::SpanRef;
use crate::model::wire::read;
use crate::model::{Row, StoredSpan, Trace, TraceId};
use crate::storage::Snapshot;
use crate::storage::collapse::collapse;
use crate::storage::error::StorageError;
use crate::storage::memtable::Entry;
use crate::storage::segment::block::{Block, BlockRow};
use crate::storage::segment::table::Table;
use crate::storage::segment::{DirectoryEntry, Segment};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

/// What a span is counted as beside its bytes.
const OVERHEAD: usize = size_of::<StoredSpan>() + 96;

/// Reads from one snapshot. Remembers the tables and the last block of each segment, for neighbours are asked for next.
pub struct Reading<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) limits: Limits,
    tables: HashMap<usize, Arc<(Table, Table)>>,
    blocks: HashMap<usize, (u32, Arc<Block>)>,
    /// How many blocks were read so far.
    pub blocks_read: u64,
    /// Bytes of spans that those who asked still hold.
    held: usize,
}

impl<'a> Reading<'a> {
    pub fn new(snapshot: &'a Snapshot, limits: Limits) -> Self {
        Self { snapshot, limits, tables: HashMap::new(), blocks: HashMap::new(), blocks_read: 0, held: 0 }
    }

    /// Where the parts of a trace are.
    pub fn find(&mut self, id: TraceId) -> Result<Fragments, Stopped> {
        Fragments::find(self.snapshot, id, Vec::new(), &self.limits)
    }

    /// Spans given so far are no longer held.
    pub fn let_go(&mut self) {
        self.held = 0;
    }

    fn hold(&mut self, bytes: usize) -> Result<(), Stopped> {
        self.held = self.held.saturating_add(bytes);
        if self.held > self.limits.bytes { Err(Stopped::TooLarge(self.limits.bytes)) } else { Ok(()) }
    }

    /// The trace whose fragments these are: every span once, ordered by start time and span id.
    pub fn assemble(&mut self, fragments: &Fragments) -> Result<Trace, Stopped> {
        let mut trace = Trace { id: fragments.id, spans: Vec::new(), warnings: fragments.warnings.clone() };
        for memory in &fragments.memory {
            self.add_rows(memory, &mut trace.spans)?;
        }
        for (segment, entry) in &fragments.segments {
            self.add_run(*segment, entry, &mut trace)?;
        }
        collapse(&mut trace.spans, |span| &span.row, |span| read::scope_name(&span.scope));
        Ok(trace)
    }

    fn add_rows(&mut self, memory: &InMemory, spans: &mut Vec<StoredSpan>) -> Result<(), Stopped> {
        // Rows of a batch mostly share their resource, which is copied once then.
        let mut last = (u32::MAX, u32::MAX, Bytes::new());
        let Some(view) = self.snapshot.memory.get(memory.memtable) else { return Ok(()) };
        for &at in &memory.rows {
            let Some((row, entry, head)) = view.row(at) else { continue };
            if (last.0, last.1) != (at.0, head.resource) {
                last = (at.0, head.resource, Bytes::copy_from_slice(entry.batch.resource(head.resource)));
                self.hold(last.2.len())?;
            }
            let scope = Bytes::copy_from_slice(entry.batch.scope(head.scope));
            let span = Bytes::copy_from_slice(entry.batch.span_bytes(head));
            self.hold(scope.len() + span.len() + OVERHEAD)?;
            spans.push(StoredSpan { row, resource: last.2.clone(), scope, span });
        }
        Ok(())
    }

    /// Whether some row in a memtable is as asked, duplicates left aside.
    pub fn some_row_in_memory(&self, memory: &InMemory, wanted: impl Fn(SpanRef<'_>) -> bool) -> bool {
        let Some(view) = self.snapshot.memory.get(memory.memtable) else { return false };
        let mut rows = memory.rows.iter().filter_map(|&at| view.row(at));
        rows.any(|(row, Entry { batch, .. }, head)| {
            let (resource, scope) = (batch.resource(head.resource), batch.scope(head.scope));
            wanted(SpanRef { row: &row, resource, scope, span: batch.span_bytes(head) })
        })
    }

    /// The keys of rows in a memtable.
    pub fn keys_in_memory(&self, memory: &InMemory) -> impl Iterator<Item = Row> {
        let view = self.snapshot.memory.get(memory.memtable);
        let rows = view.into_iter().flat_map(|view| memory.rows.iter().filter_map(|&at| view.row(at)));
        rows.map(|(row, ..)| row)
    }

    fn add_run(&mut self, segment: usize, entry: &DirectoryEntry, trace: &mut Trace) -> Result<(), Stopped> {
        // What cannot be held is not begun with.
        let size = usize::try_from(entry.facts.bytes).unwrap_or(usize::MAX);
        if self.held.saturating_add(size) > self.limits.bytes {
            return Err(Stopped::TooLarge(self.limits.bytes));
        }
        let (mut bytes, id) = (0usize, entry.trace_id);
        let Trace { spans, warnings, .. } = trace;
        self.each_row(segment, entry, warnings, &mut |block, row, resource, scope| {
            let span = Bytes::from(block.span(id, row));
            bytes = bytes.saturating_add(span.len() + OVERHEAD);
            spans.push(StoredSpan { row: row.row, resource: resource.clone(), scope: scope.clone(), span });
            true
        })?;
        self.hold(bytes)
    }

    /// Whether some row of a run is as asked, duplicates in other places left aside.
    pub fn some_row(
        &mut self,
        segment: usize,
        entry: &DirectoryEntry,
        warnings: &mut Vec<String>,
        wanted: impl Fn(SpanRef<'_>) -> bool,
    ) -> Result<bool, Stopped> {
        let mut found = false;
        self.each_row(segment, entry, warnings, &mut |block, row, resource, scope| {
            found = wanted(SpanRef { row: &row.row, resource, scope, span: block.body(row) });
            !found
        })?;
        Ok(found)
    }

    /// Gives the rows of a run that can be read, block by block, until `row` says that it is enough.
    fn each_row(
        &mut self,
        index: usize,
        entry: &DirectoryEntry,
        warnings: &mut Vec<String>,
        row: &mut dyn FnMut(&Block, &BlockRow, &Bytes, &Bytes) -> bool,
    ) -> Result<(), Stopped> {
        let Some(segment) = self.snapshot.segments.get(index).cloned() else { return Ok(()) };
        for block in entry.block..entry.block.saturating_add(entry.blocks) {
            self.limits.check()?;
            let piece = self.block(index, &segment, block).and_then(|block| Ok((block, self.tables(index, &segment)?)));
            match piece {
                Ok((block, tables)) => {
                    if !rows_of_run(&segment, &block, &tables, entry.trace_id, warnings, row) {
                        return Ok(());
                    }
                }
                Err(error) => warnings.push(error.to_string()),
            }
        }
        Ok(())
    }

    fn block(&mut self, index: usize, segment: &Segment, block: u32) -> Result<Arc<Block>, StorageError> {
        if let Some((_, known)) = self.blocks.get(&index).filter(|(known, _)| *known == block) {
            return Ok(known.clone());
        }
        self.blocks_read += 1;
        let read = Arc::new(segment.block(block)?);
        self.blocks.insert(index, (block, read.clone()));
        Ok(read)
    }

    fn tables(&mut self, index: usize, segment: &Segment) -> Result<Arc<(Table, Table)>, StorageError> {
        if let Some(known) = self.tables.get(&index) {
            return Ok(known.clone());
        }
        let read = Arc::new((segment.resources()?, segment.scopes()?));
        self.tables.insert(index, read.clone());
        Ok(read)
    }
}

/// Gives the rows of a run in one block; `false` when it was enough.
fn rows_of_run(
    segment: &Segment,
    block: &Block,
    (resources, scopes): &(Table, Table),
    id: TraceId,
    warnings: &mut Vec<String>,
    give: &mut dyn FnMut(&Block, &BlockRow, &Bytes, &Bytes) -> bool,
) -> bool {
    let missing =
        |what: &str| StorageError::damaged(segment.path(), 0, format!("{what} of trace {id} is missing")).to_string();
    let Some(run) = block.run(id) else {
        warnings.push(missing("a run"));
        return true;
    };
    let mut lost = 0;
    for row in block.rows.get(run.rows.clone()).unwrap_or_default() {
        let resource = block.resources.get(row.resource as usize).and_then(|hash| resources.get(hash));
        let scope = block.scopes.get(row.scope as usize).and_then(|hash| scopes.get(hash));
        match (resource, scope) {
            (Some(resource), Some(scope)) => {
                if !give(block, row, resource, scope) {
                    return false;
                }
            }
            _ => lost += 1,
        }
    }
    if lost > 0 {
        warnings.push(missing(&format!("the resource or scope of {lost} spans")));
    }
    true
}
