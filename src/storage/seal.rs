//! Memtable → segment: sort the rows by trace, collapse duplicates, cut out the keys, write the runs.

use super::collapse::collapse;
use super::disk::Disk;
use super::error::StorageError;
use super::files::{Layout, UNFINISHED};
use super::memtable::{Entry, row};
use super::segment::facts::{FactRow, Facts, Mark};
use super::segment::names::{Names, key_of, keys_of};
use super::segment::writer::WriteOptions;
use super::segment::{Origin, RunRow, Segment, SegmentWriter};
use crate::model::wire::{Field, Reader, SpanHead, fields::*, keys, read};
use crate::model::{Row, TraceId};
use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;

/// What a seal needs to know of the store.
#[derive(Debug, Clone, Copy)]
pub struct SealInto<'a> {
    pub layout: &'a Layout,
    pub store: [u8; 16],
    pub id: u64,
    pub options: WriteOptions,
}

/// Writes these entries as a segment and gives it its name, durably. It is live only once a manifest names it.
/// Nothing is left behind on an error but, at worst, a file that the next start sweeps.
pub fn seal(disk: &dyn Disk, entries: &[Entry], into: SealInto<'_>) -> Result<Segment, StorageError> {
    let path = into.layout.segment(into.id);
    let unfinished = PathBuf::from(format!("{}{UNFINISHED}", path.display()));
    let origin = Origin { id: into.id, store: into.store, inputs: Vec::new() };
    let mut writer = SegmentWriter::create(disk, &unfinished, origin, into.options)?;
    if let Err(error) = write_runs(&mut writer, entries) {
        writer.abandon();
        return Err(error);
    }
    writer.finish()?;
    disk.rename(&unfinished, &path).map_err(StorageError::io(&path, "renaming"))?;
    disk.sync_dir(&into.layout.segments).map_err(StorageError::io(&into.layout.segments, "syncing"))?;
    Segment::open(disk, &path)
}

/// What the batches refer to, by the segment's indices.
#[derive(Default)]
struct References<'a> {
    /// For each entry: the segment's index of each of its resources and scopes.
    resources: Vec<Vec<u32>>,
    scopes: Vec<Vec<u32>>,
    /// The service of each resource and the name of each scope of the segment.
    services: Vec<&'a str>,
    scope_names: Vec<&'a str>,
}

impl<'a> References<'a> {
    fn service(&self, resource: u32) -> &'a str {
        self.services.get(resource as usize).copied().unwrap_or_default()
    }

    fn scope_name(&self, scope: u32) -> &'a str {
        self.scope_names.get(scope as usize).copied().unwrap_or_default()
    }
}

fn intern<'a>(writer: &mut SegmentWriter<'_>, entries: &'a [Entry]) -> References<'a> {
    let mut references = References::default();
    for entry in entries {
        let (resources, scopes) = entry.batch.table_sizes();
        let mut indices = Vec::with_capacity(resources);
        for envelope in (0..resources as u32).map(|index| entry.batch.resource(index)) {
            let index = writer.resource(envelope);
            if index as usize == references.services.len() {
                references.services.push(read::service_name(envelope).unwrap_or_default());
                writer.names().add_resource(envelope);
            }
            indices.push(index);
        }
        references.resources.push(indices);
        let mut indices = Vec::with_capacity(scopes);
        for envelope in (0..scopes as u32).map(|index| entry.batch.scope(index)) {
            let index = writer.scope(envelope);
            if index as usize == references.scope_names.len() {
                references.scope_names.push(read::scope_name(envelope));
                writer.names().add_scope(envelope);
            }
            indices.push(index);
        }
        references.scopes.push(indices);
    }
    references
}

/// Where a row is in the memtable, by trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey {
    trace_id: TraceId,
    entry: u32,
    place: u32,
}

/// One row on its way into a run.
struct SealRow<'a> {
    row: Row,
    head: &'a SpanHead,
    entry: usize,
    resource: u32,
    scope: u32,
}

fn sorted_keys(entries: &[Entry]) -> Vec<SortKey> {
    let count = entries.iter().map(|entry| entry.batch.spans().len()).sum();
    let mut keys = Vec::with_capacity(count);
    for (index, entry) in entries.iter().enumerate() {
        let heads = entry.batch.spans().iter().enumerate();
        keys.extend(heads.map(|(place, head)| SortKey {
            trace_id: head.trace_id,
            entry: index as u32,
            place: place as u32,
        }));
    }
    keys.sort_unstable();
    keys
}

fn write_runs(writer: &mut SegmentWriter<'_>, entries: &[Entry]) -> Result<(), StorageError> {
    let references = intern(writer, entries);
    let mut seen = SeenNames::default();
    let mut bodies = Vec::new();
    for run in sorted_keys(entries).chunk_by(|a, b| a.trace_id == b.trace_id) {
        let Some(id) = run.first().map(|key| key.trace_id) else { continue };
        let mut rows: Vec<_> = run.iter().filter_map(|key| seal_row(entries, &references, key)).collect();
        collapse(&mut rows, |row| &row.row, |row| references.scope_name(row.scope));
        bodies.clear();
        let cut: Vec<_> = rows.iter().map(|row| cut_row(entries, row, &mut bodies)).collect();
        let body = |range: &Range<usize>| bodies.get(range.clone()).unwrap_or_default();
        let service = |row: &SealRow<'_>| references.service(row.resource);
        let fact_rows: Vec<_> = rows
            .iter()
            .zip(&cut)
            .map(|(row, (_, range))| FactRow { row: &row.row, body: body(range), service: service(row) })
            .collect();
        let facts = Facts::of(id, &fact_rows);
        for row in &rows {
            seen.note(writer.names(), service(row), row, span_bytes(entries, row));
        }
        let run_rows: Vec<_> = rows
            .iter()
            .zip(&cut)
            .map(|(row, (shape, range))| RunRow {
                row: row.row,
                shape: *shape,
                resource: row.resource,
                scope: row.scope,
                body: body(range),
            })
            .collect();
        writer.add_run(id, &run_rows, facts, Mark::default())?;
    }
    Ok(())
}

/// Names met already, so that most rows cost a look at a small table.
struct SeenNames<'a> {
    operations: HashSet<(u32, i32, &'a [u8])>,
    /// Keys with the bit of their type, by a few of their bytes.
    keys: [(&'a [u8], u8); SEEN_KEYS],
}

const SEEN_KEYS: usize = 256;

impl Default for SeenNames<'_> {
    fn default() -> Self {
        Self { operations: HashSet::new(), keys: [(&[], 0); SEEN_KEYS] }
    }
}

impl<'a> SeenNames<'a> {
    fn note(&mut self, names: &mut Names, service: &str, row: &SealRow<'_>, span: &'a [u8]) {
        let mut reader = Reader::new(span);
        let mut name = &[][..];
        while let Ok(Some((field, value))) = reader.next_field() {
            let Field::Bytes(bytes) = value else { continue };
            match field {
                SPAN_NAME => name = bytes,
                SPAN_ATTRIBUTES => self.note_pair(names, bytes),
                SPAN_EVENTS => keys_of(bytes, EVENT_ATTRIBUTES, &mut |key, types| self.note_key(names, key, types)),
                _ => {}
            }
        }
        if self.operations.insert((row.resource, row.row.kind, name)) {
            names.add_operation(service, std::str::from_utf8(name).unwrap_or_default(), row.row.kind);
        }
    }

    fn note_pair(&mut self, names: &mut Names, pair: &'a [u8]) {
        key_of(pair, &mut |key, types| self.note_key(names, key, types));
    }

    fn note_key(&mut self, names: &mut Names, key: &'a [u8], types: u8) {
        let ends =
            key.first().zip(key.last()).map_or(0, |(first, last)| usize::from(*first) * 5 + usize::from(*last) * 3);
        let Some(slot) = self.keys.get_mut((ends + key.len() * 31) % SEEN_KEYS) else { return };
        if *slot == (key, types) {
            return;
        }
        *slot = (key, types);
        if let Ok(key) = std::str::from_utf8(key) {
            names.add_key(key, types);
        }
    }
}

fn seal_row<'a>(entries: &'a [Entry], references: &References<'_>, key: &SortKey) -> Option<SealRow<'a>> {
    let index = key.entry as usize;
    let entry = entries.get(index)?;
    let head = entry.batch.spans().get(key.place as usize)?;
    let resource = *references.resources.get(index)?.get(head.resource as usize)?;
    let scope = *references.scopes.get(index)?.get(head.scope as usize)?;
    Some(SealRow { row: row(entry, key.place, head), head, entry: index, resource, scope })
}

fn span_bytes<'a>(entries: &'a [Entry], row: &SealRow<'_>) -> &'a [u8] {
    entries.get(row.entry).map_or(&[], |entry| entry.batch.span_bytes(row.head))
}

fn cut_row(entries: &[Entry], row: &SealRow<'_>, bodies: &mut Vec<u8>) -> (u8, Range<usize>) {
    let from = bodies.len();
    let shape = keys::cut(span_bytes(entries, row), row.head, bodies);
    (shape, from..bodies.len())
}
