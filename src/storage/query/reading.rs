//! Reads the rows of traces, where they lie or put together.

use super::fragments::{Fragments, InMemory};
use super::limits::{Limits, Stopped};
use super::matching::SpanRef;
use super::parts::{Parts, Tables};
use crate::model::wire::read;
use crate::model::{Row, StoredSpan, Trace, TraceId};
use crate::storage::Snapshot;
use crate::storage::collapse::collapse;
use crate::storage::memtable::Entry;
use crate::storage::segment::DirectoryEntry;
use crate::storage::segment::block::{Block, BlockRow};
use bytes::Bytes;
use std::path::Path;

/// Most bytes of blocks and tables that are remembered.
const MOST_PARTS: usize = 256 << 20;
/// What a span is counted as beside its bytes.
const OVERHEAD: usize = size_of::<StoredSpan>() + 96;

/// Reads from one snapshot.
pub struct Reading<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) limits: Limits,
    parts: Parts,
    /// Bytes of spans that those who asked still hold.
    held: usize,
}

impl<'a> Reading<'a> {
    pub fn new(snapshot: &'a Snapshot, limits: Limits) -> Self {
        Self { snapshot, limits, parts: Parts::new(limits.bytes.min(MOST_PARTS)), held: 0 }
    }

    /// How many blocks were read so far.
    pub fn blocks_read(&self) -> u64 {
        self.parts.read
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

/// Takes a row with its resource and scope; `false` says that it is enough.
type RowSink<'a> = dyn FnMut(&Block, &BlockRow, &Bytes, &Bytes) -> bool + 'a;

/// Gives the rows of a run in one block; `false` when it was enough. Rows whose resource or scope is lost are left out.
fn rows_of_run(
    path: &Path,
    block: &Block,
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
