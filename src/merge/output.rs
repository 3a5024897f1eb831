//! The segments that a merge writes: one after the other, each until it is full. What is not kept in the end is removed.

use super::error::MergeError;
use super::stages::{Stage, Stopwatch};
use crate::model::TraceId;
use crate::model::wire::read;
use crate::storage::StorageError;
use crate::storage::disk::Disk;
use crate::storage::engine::Engine;
use crate::storage::files::UNFINISHED;
use crate::storage::segment::writer::{Unsynced, WriteOptions};
use crate::storage::segment::{ContentHash, Facts, Footer, Mark, Names, Origin, RunRow, Segment, SegmentWriter};
use std::path::PathBuf;
use std::sync::Arc;

/// See the module.
pub struct Outputs<'a> {
    engine: &'a Engine,
    options: WriteOptions,
    max_rows: u64,
    inputs: Vec<u64>,
    names: Names,
    open: Option<Open<'a>>,
    ended: Vec<Unsynced>,
    files: Files<'a>,
}

/// The output that runs go into.
struct Open<'a> {
    writer: SegmentWriter<'a>,
    /// Service of each resource and name of each scope of its tables.
    services: Vec<String>,
    scope_names: Vec<String>,
}

impl<'a> Outputs<'a> {
    /// Outputs of a merge of the segments with these ids, which has these names.
    pub fn new(engine: &'a Engine, inputs: Vec<u64>, names: Names, options: WriteOptions, max_rows: u64) -> Self {
        let files = Files { disk: &**engine.place().0, paths: Vec::new() };
        Self { engine, options, max_rows, inputs, names, open: None, ended: Vec::new(), files }
    }

    /// Packs and writes what is full, and begins a segment where the last one is. To be called before each trace.
    pub fn begin_trace(&mut self, watch: &mut Stopwatch) -> Result<(), MergeError> {
        if self.open.as_ref().is_some_and(|open| open.writer.counts().0 >= self.max_rows) {
            self.end(watch)?;
        }
        match &mut self.open {
            Some(open) if open.writer.is_full() => {
                let before = watch.enter(Stage::Write);
                open.writer.write_full()?;
                watch.enter(before);
            }
            Some(_) => {}
            None => self.open = Some(self.create()?),
        }
        Ok(())
    }

    fn create(&mut self) -> Result<Open<'a>, StorageError> {
        let id = self.engine.new_segment();
        let (disk, layout) = self.engine.place();
        let path = layout.segment(id);
        let unfinished = PathBuf::from(format!("{}{UNFINISHED}", path.display()));
        let origin = Origin { id, store: self.engine.store_id(), inputs: self.inputs.clone() };
        self.files.paths.push((unfinished.clone(), path));
        let mut writer = SegmentWriter::create(&**disk, &unfinished, origin, self.options)?;
        writer.names().unite(&self.names);
        Ok(Open { writer, services: Vec::new(), scope_names: Vec::new() })
    }

    /// Which of the outputs is being written. Indices of resources and scopes hold for this one.
    pub fn number(&self) -> usize {
        self.ended.len()
    }

    pub fn block_size(&self) -> usize {
        self.options.block_size
    }

    /// The index of a resource in the tables of the output that is being written.
    pub fn resource(&mut self, hash: ContentHash, envelope: &[u8]) -> u32 {
        let Some(open) = &mut self.open else { return 0 };
        let index = open.writer.resource_named(hash, envelope);
        if index as usize == open.services.len() {
            open.services.push(read::service_name(envelope).unwrap_or_default().to_owned());
        }
        index
    }

    /// The same for a scope.
    pub fn scope(&mut self, hash: ContentHash, envelope: &[u8]) -> u32 {
        let Some(open) = &mut self.open else { return 0 };
        let index = open.writer.scope_named(hash, envelope);
        if index as usize == open.scope_names.len() {
            open.scope_names.push(read::scope_name(envelope).to_owned());
        }
        index
    }

    /// The service of a resource.
    pub fn service(&self, resource: u32) -> &str {
        self.open.as_ref().and_then(|open| open.services.get(resource as usize)).map_or("", String::as_str)
    }

    pub fn scope_name(&self, scope: u32) -> &str {
        self.open.as_ref().and_then(|open| open.scope_names.get(scope as usize)).map_or("", String::as_str)
    }

    pub fn add_run(&mut self, id: TraceId, rows: &[RunRow<'_>], facts: Facts, mark: Mark) -> Result<(), StorageError> {
        self.open.as_mut().map_or(Ok(()), |open| open.writer.add_run(id, rows, facts, mark))
    }

    /// Packs and writes the next rows of a trace that is too large for a block.
    pub fn add_piece(&mut self, id: TraceId, rows: &[RunRow<'_>], watch: &mut Stopwatch) -> Result<(), StorageError> {
        let before = watch.enter(Stage::Write);
        let added = self.open.as_mut().map_or(Ok(()), |open| open.writer.add_piece(id, rows));
        watch.enter(before);
        added
    }

    pub fn end_run(&mut self, id: TraceId, facts: Facts, mark: Mark) -> Result<(), StorageError> {
        self.open.as_mut().map_or(Ok(()), |open| open.writer.end_run(id, facts, mark))
    }

    fn end(&mut self, watch: &mut Stopwatch) -> Result<(), StorageError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let before = watch.enter(Stage::Write);
        self.ended.push(open.writer.end()?);
        watch.enter(before);
        Ok(())
    }

    /// Writes what is left of the last one. What the outputs say of themselves can be checked then.
    pub fn finish(mut self, watch: &mut Stopwatch) -> Result<Written<'a>, StorageError> {
        self.end(watch)?;
        Ok(Written { engine: self.engine, ended: self.ended, files: self.files })
    }
}

/// Outputs that are written as a whole, and neither durable nor named.
pub struct Written<'a> {
    engine: &'a Engine,
    ended: Vec<Unsynced>,
    files: Files<'a>,
}

impl<'a> Written<'a> {
    pub fn footers(&self) -> impl Iterator<Item = &Footer> {
        self.ended.iter().map(Unsynced::footer)
    }

    /// Makes them durable and gives them their names: a sync a file, and one for all names.
    pub fn sync(mut self) -> Result<Named<'a>, StorageError> {
        for unsynced in self.ended {
            unsynced.sync()?;
        }
        let (disk, layout) = self.engine.place();
        let mut segments = Vec::new();
        for (current, path) in &mut self.files.paths {
            disk.rename(current, path).map_err(StorageError::io(path, "renaming"))?;
            current.clone_from(path);
        }
        disk.sync_dir(&layout.segments).map_err(StorageError::io(&layout.segments, "syncing"))?;
        for (path, _) in &self.files.paths {
            segments.push(Arc::new(Segment::open(&**disk, path)?));
        }
        Ok(Named { segments, files: self.files })
    }
}

/// Outputs that are durable under their names and not yet in the manifest.
pub struct Named<'a> {
    pub segments: Vec<Arc<Segment>>,
    files: Files<'a>,
}

impl Named<'_> {
    /// Leaves the files where they are: a manifest names them, or may.
    pub fn keep(mut self) -> Vec<Arc<Segment>> {
        self.files.paths.clear();
        std::mem::take(&mut self.segments)
    }
}

/// Files that were begun: current name and final name. What is still listed at the end is removed.
struct Files<'a> {
    disk: &'a dyn Disk,
    paths: Vec<(PathBuf, PathBuf)>,
}

impl Drop for Files<'_> {
    fn drop(&mut self) {
        for (current, _) in &self.paths {
            // What cannot be removed now is swept at the next start.
            let _ = self.disk.remove(current);
        }
    }
}
