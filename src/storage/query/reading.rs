//! Reads the rows of traces, where they lie or put together.

use super::fragments::{Fragments, InMemory};
use super::limits::{Limits, Stopped};
use super::matching::SpanRef;
use super::pages::Pages;
use super::parts::{Parts, Tables};
use crate::model::wire::{SpanHead, read};
use crate::model::{Row, StoredSpan, Trace, TraceId};
use crate::storage::Snapshot;
use crate::storage::collapse::collapse;
use crate::storage::memtable::Entry;
use crate::storage::segment::DirectoryEntry;
use crate::storage::segment::block::{Block, BlockRow};
use bytes::Bytes;
use std::path::Path;
use std::sync::Arc;

/// Most bytes of blocks and tables that are remembered.
const MOST_PARTS: usize = 256 << 20;
/// What a span is counted as beside its bytes.
const OVERHEAD: usize = size_of::<StoredSpan>() + 96;

/// Reads from one snapshot.
pub struct Reading<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) limits: Limits,
    parts: Parts,
    pages: Pages,
    /// Bytes of spans that those who asked still hold.
    held: usize,
}

impl<'a> Reading<'a> {
    pub fn new(snapshot: &'a Snapshot, limits: Limits) -> Self {
        Self { snapshot, limits, parts: Parts::new(limits.bytes.min(MOST_PARTS)), pages: Pages::default(), held: 0 }
    }

    /// How many blocks were read so far.
    pub fn blocks_read(&self) -> u64 {
        self.parts.read
    }

    /// Where the parts of a trace are.
    pub fn find(&mut self, id: TraceId) -> Result<Fragments, Stopped> {
        Fragments::find(self.snapshot, id, Vec::new(), &mut self.pages, &self.limits)
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

    /// The same without copying what lies in blocks and batches.
    pub fn gather(&mut self, fragments: &Fragments, warnings: &mut Vec<String>) -> Result<Vec<RowRef<'a>>, Stopped> {
        let mut rows = Vec::new();
        for memory in &fragments.memory {
            rows.extend(self.rows_in_memory(memory).map(|(row, entry, head)| RowRef::Memory(row, entry, head)));
        }
        for (segment, entry) in &fragments.segments {
            let mut bytes = 0usize;
            self.each_row(*segment, entry, warnings, &mut |block, row, resource, scope| {
                bytes = bytes.saturating_add(block.body(row).len() + OVERHEAD);
                rows.push(RowRef::Segment(block.clone(), row.clone(), resource.clone(), scope.clone()));
                true
            })?;
            self.hold(bytes)?;
        }
        collapse(&mut rows, RowRef::row, |row| read::scope_name(row.span().scope));
        Ok(rows)
    }

    fn rows_in_memory(&self, memory: &InMemory) -> impl Iterator<Item = (Row, &'a Entry, &'a SpanHead)> {
        let view = self.snapshot.memory.get(memory.memtable);
        let view = view.into_iter();
        view.flat_map(move |view| memory.rows.iter().filter_map(|&at| view.row(at)))
    }

    fn add_rows(&mut self, memory: &InMemory, spans: &mut Vec<StoredSpan>) -> Result<(), Stopped> {
        // Rows of a batch mostly share their resource, which is copied once then.
        let mut last: Option<(&Entry, u32, Bytes)> = None;
        for (row, entry, head) in self.rows_in_memory(memory).collect::<Vec<_>>() {
            let known = last.take().filter(|(of, resource, _)| std::ptr::eq(*of, entry) && *resource == head.resource);
            let resource = match known {
                Some((.., resource)) => resource,
                None => {
                    let copy = Bytes::copy_from_slice(entry.batch.resource(head.resource));
                    self.hold(copy.len())?;
                    copy
                }
            };
            last = Some((entry, head.resource, resource.clone()));
            let scope = Bytes::copy_from_slice(entry.batch.scope(head.scope));
            let span = Bytes::copy_from_slice(entry.batch.span_bytes(head));
            self.hold(scope.len() + span.len() + OVERHEAD)?;
            spans.push(StoredSpan { row, resource, scope, span });
        }
        Ok(())
    }

    /// Whether some row in a memtable is as asked, duplicates left aside.
    pub fn some_row_in_memory(&self, memory: &InMemory, wanted: impl Fn(SpanRef<'_>) -> bool) -> bool {
        self.rows_in_memory(memory).any(|(row, entry, head)| wanted(in_batch(&row, entry, head)))
    }

    /// The keys of rows in a memtable.
    pub fn keys_in_memory(&self, memory: &InMemory) -> impl Iterator<Item = Row> {
        self.rows_in_memory(memory).map(|(row, ..)| row)
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
        mut wanted: impl FnMut(SpanRef<'_>) -> bool,
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
        segment: usize,
        entry: &DirectoryEntry,
        warnings: &mut Vec<String>,
        row: &mut RowSink<'_>,
    ) -> Result<(), Stopped> {
        let Some(file) = self.snapshot.segments.get(segment) else { return Ok(()) };
        for block in entry.block..entry.block.saturating_add(entry.blocks) {
            self.limits.check()?;
            let Self { parts, snapshot, .. } = self;
            match parts.block(snapshot, segment, block) {
                Ok(block) => {
                    let tables = parts.tables(snapshot, segment);
                    if !rows_of_run(file.path(), &block, &tables, entry.trace_id, warnings, row) {
                        return Ok(());
                    }
                }
                Err(error) => warnings.push(error.to_string()),
            }
        }
        Ok(())
    }
}

/// A row where it lies.
pub enum RowRef<'a> {
    Memory(Row, &'a Entry, &'a SpanHead),
    /// With its resource and scope.
    Segment(Arc<Block>, BlockRow, Bytes, Bytes),
}

impl RowRef<'_> {
    pub fn row(&self) -> &Row {
        match self {
            Self::Memory(row, ..) => row,
            Self::Segment(_, row, ..) => &row.row,
        }
    }

    pub fn span(&self) -> SpanRef<'_> {
        match self {
            Self::Memory(row, entry, head) => in_batch(row, entry, head),
            Self::Segment(block, row, resource, scope) => {
                SpanRef { row: &row.row, resource, scope, span: block.body(row) }
            }
        }
    }
}

fn in_batch<'a>(row: &'a Row, entry: &'a Entry, head: &'a SpanHead) -> SpanRef<'a> {
    let batch = &entry.batch;
    SpanRef {
        row,
        resource: batch.resource(head.resource),
        scope: batch.scope(head.scope),
        span: batch.span_bytes(head),
    }
}

/// Takes a row with its resource and scope; `false` says that it is enough.
type RowSink<'a> = dyn FnMut(&Arc<Block>, &BlockRow, &Bytes, &Bytes) -> bool + 'a;

/// Gives the rows of a run in one block; `false` when it was enough. Rows whose resource or scope is lost are left out.
fn rows_of_run(
    path: &Path,
    block: &Arc<Block>,
    tables: &Tables,
    id: TraceId,
    warnings: &mut Vec<String>,
    give: &mut RowSink<'_>,
) -> bool {
    let missing = |what: &str| format!("{}: {what} of trace {id} is missing", path.display());
    let Some(run) = block.run(id) else {
        warnings.push(missing("a run"));
        return true;
    };
    let mut lost = 0;
    for row in block.rows.get(run.rows.clone()).unwrap_or_default() {
        let resource = block.resources.get(row.resource as usize).and_then(|hash| tables.resources.get(hash));
        let scope = block.scopes.get(row.scope as usize).and_then(|hash| tables.scopes.get(hash));
        match resource.zip(scope) {
            Some((resource, scope)) if !give(block, row, resource, scope) => return false,
            Some(_) => {}
            None => lost += 1,
        }
    }
    if lost > 0 {
        warnings.extend(tables.damage.iter().cloned());
        warnings.push(missing(&format!("resource or scope of {lost} spans")));
    }
    true
}
