//! Memtable → segment: sort the rows by trace, collapse duplicates, cut out the keys, write the runs.

use super::collapse::collapse;
use super::disk::Disk;
use super::error::StorageError;
use super::files::{Layout, UNFINISHED};
use super::memtable::{Entry, row};
use super::segment::facts::{FactRow, Facts, Mark};
use super::segment::writer::{Tables, WriteOptions};
use super::segment::{RunRow, Segment, SegmentWriter};
use crate::model::wire::{SpanHead, keys, read};
use crate::model::{Row, TraceId};
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
    let (tables, references) = intern(entries);
    let mut writer = SegmentWriter::create(disk, &unfinished, into.id, into.store, &tables, into.options)?;
    if let Err(error) = write_runs(&mut writer, entries, &tables, &references) {
        writer.abandon();
        return Err(error);
    }
    let named =
        writer.finish().and_then(|_| disk.rename(&unfinished, &path).map_err(StorageError::io(&path, "renaming")));
    if let Err(error) = named {
        // A full disk has room again for what else is tried. What cannot be removed now is swept at the next start.
        let _ = disk.remove(&unfinished);
        return Err(error);
    }
    disk.sync_dir(&into.layout.segments).map_err(StorageError::io(&into.layout.segments, "syncing"))?;
    Segment::open(disk, &path)
}

/// For each entry: the segment's index of each of its resources and scopes.
struct References {
    resources: Vec<Vec<u32>>,
    scopes: Vec<Vec<u32>>,
}

fn intern(entries: &[Entry]) -> (Tables, References) {
    let mut tables = Tables::default();
    let mut references = References { resources: Vec::new(), scopes: Vec::new() };
    for entry in entries {
        let (resources, scopes) = entry.batch.table_sizes();
        let resources = (0..resources as u32).map(|index| tables.resources.intern(entry.batch.resource(index)));
        references.resources.push(resources.collect());
        let scopes = (0..scopes as u32).map(|index| tables.scopes.intern(entry.batch.scope(index)));
        references.scopes.push(scopes.collect());
    }
    (tables, references)
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

fn write_runs(
    writer: &mut SegmentWriter<'_>,
    entries: &[Entry],
    tables: &Tables,
    references: &References,
) -> Result<(), StorageError> {
    let names = Names::of(tables);
    let mut bodies = Vec::new();
    for run in sorted_keys(entries).chunk_by(|a, b| a.trace_id == b.trace_id) {
        let Some(id) = run.first().map(|key| key.trace_id) else { continue };
        let mut rows: Vec<_> = run.iter().filter_map(|key| seal_row(entries, references, key)).collect();
        collapse(&mut rows, |row| &row.row, |row| names.scope(row.scope));
        bodies.clear();
        let cut: Vec<_> = rows.iter().map(|row| cut_row(entries, row, &mut bodies)).collect();
        let body = |range: &Range<usize>| bodies.get(range.clone()).unwrap_or_default();
        let fact_rows: Vec<_> = rows
            .iter()
            .zip(&cut)
            .map(|(row, (_, range))| FactRow { row: &row.row, body: body(range), service: names.service(row.resource) })
            .collect();
        let facts = Facts::of(id, &fact_rows);
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

fn seal_row<'a>(entries: &'a [Entry], references: &References, key: &SortKey) -> Option<SealRow<'a>> {
    let index = key.entry as usize;
    let entry = entries.get(index)?;
    let head = entry.batch.spans().get(key.place as usize)?;
    let resource = *references.resources.get(index)?.get(head.resource as usize)?;
    let scope = *references.scopes.get(index)?.get(head.scope as usize)?;
    Some(SealRow { row: row(entry, key.place, head), head, entry: index, resource, scope })
}

fn cut_row(entries: &[Entry], row: &SealRow<'_>, bodies: &mut Vec<u8>) -> (u8, Range<usize>) {
    let from = bodies.len();
    let span = entries.get(row.entry).map_or(&[][..], |entry| entry.batch.span_bytes(row.head));
    let shape = keys::cut(span, row.head, bodies);
    (shape, from..bodies.len())
}

/// The service of each resource and the name of each scope, read once.
struct Names<'a> {
    services: Vec<&'a str>,
    scopes: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn of(tables: &'a Tables) -> Self {
        let (resources, scopes) = (&tables.resources, &tables.scopes);
        let service = |index| read::service_name(resources.envelope(index)).unwrap_or_default();
        Self {
            services: (0..resources.len() as u32).map(service).collect(),
            scopes: (0..scopes.len() as u32).map(|index| read::scope_name(scopes.envelope(index))).collect(),
        }
    }

    fn service(&self, resource: u32) -> &'a str {
        self.services.get(resource as usize).copied().unwrap_or_default()
    }

    fn scope(&self, scope: u32) -> &'a str {
        self.scopes.get(scope as usize).copied().unwrap_or_default()
    }
}
