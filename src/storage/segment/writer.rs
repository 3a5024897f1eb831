//! Writes a segment from front to back, a run at a time, in trace id order.

use super::block::{BlockBuilder, PIECE, RunRow};
use super::directory::{DirectoryEntry, PAGE_ENTRIES, PageRef, encode_index, encode_page};
use super::facts::{Facts, Mark};
use super::footer::{Footer, Section, SectionKind};
use super::index::{self, INDEX_PAGE, IndexEntry, IndexKind};
use super::names::Names;
use super::part::Packer;
use super::table::{ContentHash, TableBuilder};
use super::{Codec, HEADER_SIZE, MAGIC, VERSION, filter};
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

/// Which segment is being made, and of what.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    pub id: u64,
    /// Id of the store.
    pub store: [u8; 16],
    /// Ids of the segments that a merge makes it from; none for a seal.
    pub inputs: Vec<u64>,
}

/// A segment being written. The file has its name only once it is finished and its directory synced.
///
/// Blocks and directory pages go to the file as soon as they are full: what is kept until the end is a few bytes a trace.
pub struct SegmentWriter<'a> {
    disk: &'a dyn Disk,
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    options: WriteOptions,
    packer: Packer,
    resources: TableBuilder,
    scopes: TableBuilder,
    names: Names,
    footer: Footer,
    pending: Vec<u8>,
    written: u64,
    builder: BlockBuilder,
    blocks: Vec<(u64, u32)>,
    entries: Vec<DirectoryEntry>,
    pages: Vec<PageRef>,
    latencies: Vec<IndexEntry>,
    start_times: Vec<IndexEntry>,
    hashes: Vec<u64>,
}

impl<'a> SegmentWriter<'a> {
    /// Begins a file at `path`, which should be an unfinished name.
    pub fn create(
        disk: &'a dyn Disk,
        path: &Path,
        origin: Origin,
        options: WriteOptions,
    ) -> Result<Self, StorageError> {
        let file = disk.create(path, 0).map_err(StorageError::io(path, "creating"))?;
        let Origin { id, store, inputs } = origin;
        let none = (u64::MAX, 0);
        let footer = Footer { id, store, inputs, lsns: none, received: none, times: none, ..Footer::default() };
        let mut writer = Self {
            disk,
            file,
            path: path.to_owned(),
            options,
            packer: Packer::new(options.codec),
            resources: TableBuilder::default(),
            scopes: TableBuilder::default(),
            names: Names::default(),
            footer,
            pending: Vec::with_capacity(WRITE_SIZE * 2),
            written: 0,
            builder: BlockBuilder::default(),
            blocks: Vec::new(),
            entries: Vec::new(),
            pages: Vec::new(),
            latencies: Vec::new(),
            start_times: Vec::new(),
            hashes: Vec::new(),
        };
        writer.put(&header(id, &store))?;
        Ok(writer)
    }

    /// The index by which rows refer to this resource.
    pub fn resource(&mut self, envelope: &[u8]) -> u32 {
        self.resources.intern(envelope)
    }

    /// The index by which rows refer to this scope.
    pub fn scope(&mut self, envelope: &[u8]) -> u32 {
        self.scopes.intern(envelope)
    }

    /// The same for a resource whose hash is known.
    pub fn resource_named(&mut self, hash: ContentHash, envelope: &[u8]) -> u32 {
        self.resources.named(hash, envelope)
    }

    /// The same for a scope whose hash is known.
    pub fn scope_named(&mut self, hash: ContentHash, envelope: &[u8]) -> u32 {
        self.scopes.named(hash, envelope)
    }

    /// What spans are called and which attribute keys they have; whoever adds runs adds these.
    pub fn names(&mut self) -> &mut Names {
        &mut self.names
    }

    /// Rows and traces added so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.footer.rows, self.footer.traces)
    }

    /// Adds the run of a trace. Ids must ascend. `rows` have no duplicates.
    pub fn add_run(&mut self, id: TraceId, rows: &[RunRow<'_>], facts: Facts, mark: Mark) -> Result<(), StorageError> {
        let large = rows.iter().map(|row| row.body.len()).sum::<usize>() > self.options.block_size;
        if large || self.builder.size() >= self.options.block_size {
            self.finish_block(0)?;
        }
        let block = self.blocks.len() as u32;
        let blocks = if large { self.add_pieces(id, rows)? } else { 1 };
        if !large {
            self.builder.add_run(id, rows);
        }
        self.note(id, rows, &facts, &mark);
        let entry = DirectoryEntry { trace_id: id, block, blocks, facts, mark };
        let ordinal = (self.footer.traces - 1) as u32;
        self.latencies.push(IndexEntry { key: IndexKind::Latency.key(&entry), ordinal });
        self.start_times.push(IndexEntry { key: IndexKind::StartTime.key(&entry), ordinal });
        self.hashes.push(filter::hash(id));
        self.entries.push(entry);
        if self.entries.len() >= PAGE_ENTRIES { self.finish_page() } else { Ok(()) }
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
        let Self { resources, scopes, builder, packer, .. } = self;
        let resource = |index| resources.hash(index).unwrap_or(ContentHash([0; 16]));
        let scope = |index| scopes.hash(index).unwrap_or(ContentHash([0; 16]));
        let block = builder.finish(packer, flags, (&resource, &scope));
        self.blocks.push((self.position(), block.len() as u32));
        self.footer.blocks += 1;
        self.put(&block)
    }

    fn finish_page(&mut self) -> Result<(), StorageError> {
        let Some(first) = self.entries.first().map(|entry| entry.trace_id) else { return Ok(()) };
        let page = encode_page(&self.entries, &mut self.packer);
        let (offset, length, entries) = (self.position(), page.len() as u32, self.entries.len() as u32);
        self.pages.push(PageRef { first, offset, length, entries });
        self.entries.clear();
        self.put(&page)
    }

    fn position(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    /// Writes what is left and makes the file durable. It still has its unfinished name.
    pub fn finish(mut self) -> Result<Footer, StorageError> {
        self.finish_block(0)?;
        self.finish_page()?;
        self.put_section(SectionKind::DIRECTORY_INDEX, &encode_index(&self.pages))?;
        self.put_section(SectionKind::BLOCK_INDEX, &encode_blocks(&self.blocks))?;
        for (kind, pages) in
            [(SectionKind::RESOURCES, self.resources.encode()), (SectionKind::SCOPES, self.scopes.encode())]
        {
            pages.iter().try_for_each(|page| self.put_section(kind, page))?;
        }
        self.put_section(SectionKind::FILTER, &filter::build(&self.hashes))?;
        self.put_section(SectionKind::NAMES, &self.names.encode())?;
        let indexes = [
            (SectionKind::LATENCY_INDEX, std::mem::take(&mut self.latencies)),
            (SectionKind::START_TIME_INDEX, std::mem::take(&mut self.start_times)),
        ];
        for (kind, mut entries) in indexes {
            index::sort(&mut entries);
            entries.chunks(INDEX_PAGE).try_for_each(|page| self.put_section(kind, &index::encode(page)))?;
        }
        let footer = self.footer.encode();
        self.put(&footer)?;
        self.flush()?;
        self.file.sync().map_err(StorageError::io(&self.path, "syncing"))?;
        Ok(self.footer)
    }

    fn put_section(&mut self, kind: SectionKind, raw: &[u8]) -> Result<(), StorageError> {
        let part = self.packer.part(kind, 0, &[], raw);
        self.footer.sections.push(Section { kind, offset: self.position(), length: part.len() as u64 });
        self.put(&part)
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

/// The block index as stored: distance from the end of the block before, and length.
fn encode_blocks(blocks: &[(u64, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, blocks.len() as u64);
    let mut end = HEADER_SIZE as u64;
    for &(offset, length) in blocks {
        put_varint(&mut out, offset - end);
        put_varint(&mut out, length.into());
        end = offset + u64::from(length);
    }
    out
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
