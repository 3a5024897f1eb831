//! A new file from the sound parts of a damaged one.

use crate::storage::disk::{Disk, DiskFile, Tolerant};
use crate::storage::engine::live_file;
use crate::storage::error::StorageError;
use crate::storage::files::{Layout, unfinished};
use crate::storage::inventory::Inventory;
use crate::storage::manifest::LiveFile;
use crate::storage::segment::facts::OF_ROWS;
use crate::storage::segment::salvage::{Run, Salvage, Salvaged};
use crate::storage::segment::writer::WriteOptions;
use crate::storage::segment::{Anatomy, Envelopes, Facts, Mark, Origin, RunRow, Segment, SegmentWriter};
use crate::storage::set_aside as batches;

/// Bytes of a block before compression.
const BLOCK_SIZE: usize = 128 << 10;
/// Why a trace is kept whose mark was lost, or whose rows are not all there: nothing may judge a part of a trace.
const REASON: &str = "repaired";

/// Writes segment `new` from what can be read of segment `old`, durably; `None` where that is nothing.
pub fn segment(
    disk: &dyn Disk,
    layout: &Layout,
    inventory: &Inventory,
    old: u64,
    new: u64,
) -> Result<Option<LiveFile>, StorageError> {
    let path = layout.segment(old);
    let file = Tolerant(disk.open(&path).map_err(StorageError::io(&path, "opening"))?);
    let anatomy = Anatomy::read(&file, &mut |_| {}).map_err(StorageError::io(&path, "reading"))?;
    let mut envelopes = Envelopes::read(&file, &anatomy);
    envelopes.complete(&file, &anatomy, inventory.other_segments(disk, layout, old));
    let path = layout.segment(new);
    let origin = Origin { id: new, store: inventory.manifest.store, inputs: vec![old] };
    let options = WriteOptions { block_size: BLOCK_SIZE, codec: anatomy.codec };
    let mut writer = SegmentWriter::create(disk, &unfinished(&path), origin, options)?;
    let written = write(&mut writer, &file, &anatomy, &envelopes);
    if written.is_err() || writer.counts().0 == 0 {
        writer.abandon();
        return written.map(|()| None);
    }
    writer.finish()?;
    disk.rename(&unfinished(&path), &path).map_err(StorageError::io(&path, "renaming"))?;
    disk.sync_dir(&layout.segments).map_err(StorageError::io(&layout.segments, "syncing"))?;
    Ok(Some(live_file(&Segment::open(disk, &path)?)))
}

fn write(
    writer: &mut SegmentWriter<'_>,
    file: &dyn DiskFile,
    anatomy: &Anatomy,
    envelopes: &Envelopes,
) -> Result<(), StorageError> {
    for trace in Salvage::new(file, anatomy) {
        let Salvaged { id, run: Some(run), entry } = trace else { continue };
        let rows = rows(writer, &run, envelopes);
        if rows.is_empty() {
            continue;
        }
        let mut facts = facts(&run, envelopes);
        let mark = match entry.filter(|entry| entry.facts.rows == facts.rows) {
            Some(entry) => {
                facts.flags |= entry.facts.flags & !OF_ROWS;
                entry.mark
            }
            None => Mark::Kept { reason: REASON.into(), policy: 0, late: false, shadow_drop: false },
        };
        writer.add_run(id, &rows, facts, mark)?;
    }
    Ok(())
}

/// The rows of which everything is known. Their resources, scopes and names are the writer's from now on.
fn rows<'a>(writer: &mut SegmentWriter<'_>, run: &'a Run, envelopes: &Envelopes) -> Vec<RunRow<'a>> {
    let mut rows = Vec::new();
    for (block, row) in run.rows() {
        let Some((resource, scope)) = envelopes.of(block, row) else { continue };
        let body = block.body(row);
        writer.names().add_resource(resource);
        writer.names().add_scope(scope);
        let service = crate::model::wire::read::service_name(resource).unwrap_or_default();
        writer.names().add_span(service, row.row.kind, body);
        let (resource, scope) = (writer.resource(resource), writer.scope(scope));
        rows.push(RunRow { row: row.row, shape: row.shape, resource, scope, body });
    }
    rows
}

fn facts(run: &Run, envelopes: &Envelopes) -> Facts {
    let whole = run.rows().filter(|(block, row)| envelopes.of(block, row).is_some());
    let rows: Vec<_> = whole.map(|(block, row)| envelopes.fact_row(block, row)).collect();
    Facts::of(run.id, &rows)
}

/// Writes file `new` with the batches that can be read of file `old`, durably; `None` where there are none.
pub fn set_aside(
    disk: &dyn Disk,
    layout: &Layout,
    inventory: &Inventory,
    old: u64,
    new: u64,
) -> Result<Option<LiveFile>, StorageError> {
    let store = &inventory.manifest.store;
    let (found, _) = batches::read(disk, layout, store, old);
    if found.entries.is_empty() {
        return Ok(None);
    }
    Ok(Some(batches::write(disk, layout, store, new, found.entries)?.file))
}
