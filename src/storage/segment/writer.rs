//! Writes a segment from front to back, a run at a time, in trace id order.

use super::block::{BlockBuilder, PIECE, RunRow};
use super::directory::{DirectoryEntry, PAGE_ENTRIES, PageRef, encode_index, encode_page};
use super::facts::{Facts, Mark};
use super::footer::{Footer, Section, SectionKind};
use super::table::{ContentHash, TableBuilder};
use super::{Codec, HEADER_SIZE, MAGIC, VERSION};
use crate::model::{Row, TraceId, wire::put_varint};
use crate::storage::codec::crc;
use crate::storage::disk::{Disk, DiskFile, write_all_at};
use crate::storage::error::StorageError;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes collected before they are written.
const WRITE_SIZE: usize = 1 << 20;

/// How a segment is written.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    pub block_size: usize,
    pub codec: Codec,
}

/// A segment being written. The file has its name only once it is finished and its directory synced.
pub struct SegmentWriter<'a> {
    disk: &'a dyn Disk,
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    options: WriteOptions,
    tables: &'a Tables,
    footer: Footer,
    pending: Vec<u8>,
    written: u64,
    builder: BlockBuilder,
    block_lengths: Vec<u32>,
    entries: Vec<DirectoryEntry>,
    pages: Vec<(TraceId, u32, Vec<u8>)>,
}

/// The resources and scopes that rows refer to, and the service of each resource.
#[derive(Default)]
pub struct Tables {
    pub resources: TableBuilder,
    pub scopes: TableBuilder,
}

impl<'a> SegmentWriter<'a> {
    /// Begins a file at `path`, which should be an unfinished name.
    pub fn create(
        disk: &'a dyn Disk,
        path: &Path,
        id: u64,
        store: [u8; 16],
        tables: &'a Tables,
        options: WriteOptions,
    ) -> Result<Self, StorageError> {
        let file = disk.create(path, 0).map_err(StorageError::io(path, "creating"))?;
        let lowest = u64::MAX;
        let footer =
            Footer { id, store, lsns: (lowest, 0), received: (lowest, 0), times: (lowest, 0), ..Footer::default() };
        let mut writer = Self {
            disk,
            file,
            path: path.to_owned(),
            options,
            tables,
            footer,
            pending: Vec::with_capacity(WRITE_SIZE * 2),
            written: 0,
            builder: BlockBuilder::default(),
            block_lengths: Vec::new(),
            entries: Vec::new(),
            pages: Vec::new(),
        };
        writer.put(&header(id, &store))?;
        Ok(writer)
    }

    /// Adds the run of a trace. Ids must ascend. `rows` have no duplicates.
    pub fn add_run(&mut self, id: TraceId, rows: &[RunRow<'_>], facts: Facts, mark: Mark) -> Result<(), StorageError> {
        let large = rows.iter().map(|row| row.body.len()).sum::<usize>() > self.options.block_size;
        if large || self.builder.size() >= self.options.block_size {
            self.finish_block(0)?;
        }
        let block = self.block_lengths.len() as u32;
        let blocks = if large { self.add_pieces(id, rows)? } else { 1 };
        if !large {
            self.builder.add_run(id, rows);
        }
        self.note(id, rows, &facts, &mark);
        self.entries.push(DirectoryEntry { trace_id: id, block, blocks, facts, mark });
        if self.entries.len() >= PAGE_ENTRIES {
            self.finish_page();
        }
        Ok(())
    }

    /// Writes a run that is too large for a block into blocks of its own, and says how many.
    fn add_pieces(&mut self, id: TraceId, rows: &[RunRow<'_>]) -> Result<u32, StorageError> {
        let mut blocks = 0;
        let mut rest = rows;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(piece_length(rest, self.options.block_size));
            self.builder.add_run(id, piece);
            self.finish_block(PIECE)?;
            (blocks, rest) = (blocks + 1, behind);
        }
        Ok(blocks)
    }

    fn note(&mut self, id: TraceId, rows: &[RunRow<'_>], facts: &Facts, mark: &Mark) {
        let footer = &mut self.footer;
        if footer.traces == 0 {
            footer.trace_ids.0 = id;
        }
        footer.trace_ids.1 = id;
        footer.traces += 1;
        footer.rows += rows.len() as u64;
        footer.body_bytes += facts.bytes;
        footer.unjudged += u64::from(matches!(mark, Mark::Unjudged { .. }));
        footer.times = (footer.times.0.min(facts.min_start), footer.times.1.max(facts.max_end));
        footer.received = (footer.received.0.min(facts.first_received), footer.received.1.max(facts.last_received));
        for row in rows {
            footer.lsns = (footer.lsns.0.min(row.row.lsn), footer.lsns.1.max(row.row.lsn));
            footer.checksum = footer.checksum.wrapping_add(row_checksum(id, &row.row, row.body));
        }
    }

    fn finish_block(&mut self, flags: u8) -> Result<(), StorageError> {
        if self.builder.is_empty() {
            return Ok(());
        }
        let Tables { resources, scopes } = self.tables;
        let resource = |index| resources.hash(index).unwrap_or(ContentHash([0; 16]));
        let scope = |index| scopes.hash(index).unwrap_or(ContentHash([0; 16]));
        let block = self.builder.finish(self.options.codec, flags, (&resource, &scope));
        self.block_lengths.push(block.len() as u32);
        self.footer.blocks += 1;
        self.put(&block)
    }

    fn finish_page(&mut self) {
        let Some(first) = self.entries.first() else { return };
        let page = encode_page(&self.entries, self.options.codec);
        self.pages.push((first.trace_id, self.entries.len() as u32, page));
        self.entries.clear();
    }

    /// Writes what is left and makes the file durable. It still has its unfinished name.
    pub fn finish(mut self) -> Result<Footer, StorageError> {
        self.finish_block(0)?;
        self.finish_page();
        self.put_directory()?;
        let mut lengths = Vec::new();
        put_varint(&mut lengths, self.block_lengths.len() as u64);
        self.block_lengths.iter().for_each(|&length| put_varint(&mut lengths, length.into()));
        self.put_section(SectionKind::BLOCK_INDEX, &lengths)?;
        self.put_section(SectionKind::RESOURCES, &self.tables.resources.encode())?;
        self.put_section(SectionKind::SCOPES, &self.tables.scopes.encode())?;
        let footer = self.footer.encode();
        self.put(&footer)?;
        self.flush()?;
        self.file.sync().map_err(StorageError::io(&self.path, "syncing"))?;
        Ok(self.footer)
    }

    fn put_directory(&mut self) -> Result<(), StorageError> {
        let start = self.written + self.pending.len() as u64;
        let mut refs = Vec::with_capacity(self.pages.len());
        let mut offset = start;
        for (first, entries, page) in std::mem::take(&mut self.pages) {
            refs.push(PageRef { first, offset, length: page.len() as u32, entries });
            offset += page.len() as u64;
            self.put(&page)?;
        }
        let length = offset - start;
        let kind = SectionKind::DIRECTORY;
        let section = Section { kind, codec: Codec::None, offset: start, length, raw_length: length, crc: 0 };
        self.footer.sections.push(section);
        self.put_section(SectionKind::DIRECTORY_INDEX, &encode_index(&refs))
    }

    fn put_section(&mut self, kind: SectionKind, raw: &[u8]) -> Result<(), StorageError> {
        let (codec, packed) = self.options.codec.compress(raw);
        let offset = self.written + self.pending.len() as u64;
        let (length, raw_length) = (packed.len() as u64, raw.len() as u64);
        self.footer.sections.push(Section { kind, codec, offset, length, raw_length, crc: crc(&[&packed]) });
        self.put(&packed)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= WRITE_SIZE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StorageError> {
        write_all_at(&*self.file, &mut [IoSlice::new(&self.pending)], self.written)
            .map_err(StorageError::io(&self.path, "writing"))?;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Removes what was written of a segment that will not be finished.
    pub fn abandon(self) {
        // What cannot be removed now is swept at the next start.
        let _ = self.disk.remove(&self.path);
    }
}

/// How many of the first rows make a piece.
fn piece_length(rows: &[RunRow<'_>], block_size: usize) -> usize {
    let mut bytes = 0;
    rows.iter()
        .position(|row| {
            bytes += row.body.len();
            bytes >= block_size
        })
        .map_or(rows.len(), |last| last + 1)
}

/// The bytes a segment begins with.
pub fn header(id: u64, store: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_SIZE);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(store);
    let crc = crc(&[&out]);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// A hash of everything a row holds, for the ledger.
pub fn row_checksum(id: TraceId, row: &Row, body: &[u8]) -> u64 {
    let mut keys = [0; 64];
    let numbers = [u64::from_be_bytes(row.span_id.0), u64::from_be_bytes(row.parent.0), row.start, row.end];
    let more = [u64::from(row.kind as u32) << 32 | u64::from(row.status as u32), xxh3_64(body)];
    let ids = id.0.as_chunks::<8>().0.iter().map(|half| u64::from_be_bytes(*half));
    let all = numbers.into_iter().chain(more).chain(ids);
    keys.as_chunks_mut::<8>().0.iter_mut().zip(all).for_each(|(to, number)| *to = number.to_le_bytes());
    xxh3_64(&keys)
}
