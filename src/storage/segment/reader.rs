//! Reads a segment: footer and indexes when it is opened, everything else when it is asked for.

use super::block::Block;
use super::directory::{DirectoryEntry, PageRef, decode_index, decode_page};
use super::footer::{BadFooter, Footer, SectionKind, TRAILER_SIZE};
use super::table::Table;
use super::{HEADER_SIZE, VERSION};
use crate::model::TraceId;
use crate::storage::codec::{Decoder, crc};
use crate::storage::disk::{Disk, DiskFile};
use crate::storage::error::StorageError;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// An open segment.
pub struct Segment {
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    size: u64,
    footer: Footer,
    pages: Vec<PageRef>,
    /// Offset and length of each block.
    blocks: Vec<(u64, u32)>,
    /// Set once nothing names the file any more.
    given_up: OnceLock<Arc<dyn Disk>>,
}

impl Drop for Segment {
    fn drop(&mut self) {
        if let Some(disk) = self.given_up.get()
            && let Err(error) = disk.remove(&self.path)
        {
            let path = self.path.display();
            tracing::warn!(%path, %error, "a segment that is no longer needed could not be removed; the next start does it");
        }
    }
}

impl Segment {
    /// Opens a file and checks its footer and indexes.
    ///
    /// Errors: they are damaged, or the file is not the segment of this id of this store.
    pub fn open_as(disk: &dyn Disk, path: &Path, store: &[u8; 16], id: u64) -> Result<Self, StorageError> {
        let segment = Self::open(disk, path)?;
        if segment.footer.store != *store || segment.footer.id != id {
            return Err(segment.damaged(segment.size, "this is the segment of another store, or another one of this"));
        }
        Ok(segment)
    }

    /// Opens a file, whatever store and id it is of.
    pub fn open(disk: &dyn Disk, path: &Path) -> Result<Self, StorageError> {
        let file = disk.open(path).map_err(StorageError::io(path, "opening"))?;
        let size = file.len().map_err(StorageError::io(path, "opening"))?;
        let footer = read_footer(&*file, path, size)?;
        let mut segment = Self {
            path: path.to_owned(),
            file,
            size,
            footer,
            pages: Vec::new(),
            blocks: Vec::new(),
            given_up: OnceLock::new(),
        };
        let index = segment.section(SectionKind::DIRECTORY_INDEX)?;
        segment.pages = decode_index(&index).map_err(|_| segment.damaged(0, "malformed directory index"))?;
        segment.blocks = segment.read_block_index()?;
        Ok(segment)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Removes the file once the last reader has let go of it. The manifest must not name it any more.
    pub fn remove_when_unused(&self, disk: Arc<dyn Disk>) {
        // A second call says the same.
        let _ = self.given_up.set(disk);
    }

    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    fn damaged(&self, offset: u64, what: &str) -> StorageError {
        StorageError::damaged(&self.path, offset, what)
    }

    fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, StorageError> {
        if offset.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(self.damaged(offset, "part lies beyond the end of the file"));
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_at(&mut bytes, offset).map_err(StorageError::io(&self.path, "reading"))?;
        Ok(bytes)
    }

    fn section(&self, kind: SectionKind) -> Result<Vec<u8>, StorageError> {
        let section = self.footer.section(kind).ok_or_else(|| self.damaged(self.size, "a section is missing"))?;
        let packed = self.read(section.offset, section.length)?;
        if crc(&[&packed]) != section.crc {
            return Err(self.damaged(section.offset, "section checksum does not match"));
        }
        let raw = section.codec.decompress(&packed, section.raw_length as usize);
        raw.ok_or_else(|| self.damaged(section.offset, "section does not decompress"))
    }

    fn read_block_index(&self) -> Result<Vec<(u64, u32)>, StorageError> {
        let raw = self.section(SectionKind::BLOCK_INDEX)?;
        let malformed = |_| self.damaged(0, "malformed block index");
        let mut fields = Decoder::new(&raw);
        let mut blocks = Vec::new();
        let mut offset = HEADER_SIZE as u64;
        for _ in 0..fields.small::<usize>().map_err(malformed)? {
            let length: u32 = fields.small().map_err(malformed)?;
            blocks.push((offset, length));
            offset += u64::from(length);
        }
        Ok(blocks)
    }

    /// The directory entry of a trace.
    pub fn find(&self, id: TraceId) -> Result<Option<DirectoryEntry>, StorageError> {
        let (low, high) = self.footer.trace_ids;
        if id < low || id > high {
            return Ok(None);
        }
        let after = self.pages.partition_point(|page| page.first <= id);
        let Some(page) = after.checked_sub(1).and_then(|index| self.pages.get(index)) else {
            return Ok(None);
        };
        let mut entries = self.read_page(page)?;
        let found = entries.binary_search_by_key(&id, |entry| entry.trace_id);
        Ok(found.ok().map(|index| entries.swap_remove(index)))
    }

    pub fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// The entries of one directory page, in trace id order.
    pub fn page(&self, index: usize) -> Result<Vec<DirectoryEntry>, StorageError> {
        self.pages.get(index).map_or(Ok(Vec::new()), |page| self.read_page(page))
    }

    fn read_page(&self, page: &PageRef) -> Result<Vec<DirectoryEntry>, StorageError> {
        let bytes = self.read(page.offset, page.length.into())?;
        decode_page(&bytes).map_err(|what| self.damaged(page.offset, what))
    }

    pub fn block(&self, index: u32) -> Result<Block, StorageError> {
        let found = self.blocks.get(index as usize).copied();
        let (offset, length) =
            found.ok_or_else(|| self.damaged(self.size, "a block that is not there is referred to"))?;
        let bytes = self.read(offset, length.into())?;
        Block::decode(&bytes).map_err(|bad| self.damaged(offset, bad.0))
    }

    pub fn resources(&self) -> Result<Table, StorageError> {
        self.table(SectionKind::RESOURCES)
    }

    pub fn scopes(&self) -> Result<Table, StorageError> {
        self.table(SectionKind::SCOPES)
    }

    fn table(&self, kind: SectionKind) -> Result<Table, StorageError> {
        let offset = self.footer.section(kind).map_or(0, |section| section.offset);
        Table::decode(self.section(kind)?).map_err(|_| self.damaged(offset, "malformed table"))
    }
}

fn read_footer(file: &dyn DiskFile, path: &Path, size: u64) -> Result<Footer, StorageError> {
    let bad = |bad: BadFooter| match bad {
        BadFooter::Version(found) => StorageError::format(path.to_owned(), found, VERSION),
        BadFooter::Damaged(what) => StorageError::damaged(path, size, what),
    };
    let trailer_at = size.checked_sub(TRAILER_SIZE as u64).ok_or_else(|| bad(BadFooter::Damaged("cut short")))?;
    let mut trailer = [0; TRAILER_SIZE];
    file.read_at(&mut trailer, trailer_at).map_err(StorageError::io(path, "reading"))?;
    let length = Footer::length(&trailer).map_err(bad)? as u64;
    let at = trailer_at.checked_sub(length).ok_or_else(|| bad(BadFooter::Damaged("footer length")))?;
    let mut bytes = vec![0; (size - at) as usize];
    file.read_at(&mut bytes, at).map_err(StorageError::io(path, "reading"))?;
    Footer::decode(&bytes).map_err(bad)
}
