//! Reads a segment: footer and indexes when it is opened, everything else when it is asked for.

use super::anatomy::decode_blocks;
use super::block::Block;
use super::directory::{DirectoryEntry, PAGE_ENTRIES, PageRef, decode_ids, decode_index, decode_page};
use super::footer::{BadFooter, Footer, Section, SectionKind, TRAILER_SIZE};
use super::index::{self, IndexEntry, IndexKind};
use super::names::Names;
use super::part::Part;
use super::table::Table;
use super::writer::header;
use super::{HEADER_SIZE, VERSION, filter};
use crate::model::TraceId;
use crate::storage::disk::{Disk, DiskFile};
use crate::storage::error::StorageError;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// An open segment.
pub struct Segment {
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    size: u64,
    pub(super) footer: Footer,
    pub(super) pages: Vec<PageRef>,
    /// Offset and length of each block.
    pub(super) blocks: Vec<(u64, u32)>,
    /// Read when first asked for. Damaged, it says nothing: an answer is then found without it.
    filter: OnceLock<Vec<u8>>,
    names: OnceLock<Result<Arc<Names>, StorageError>>,
    /// Why the footer or the indexes are not those of the file, where they were made from its blocks.
    pub(super) damage: Option<String>,
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
        let mut segment = Self::of_parts(path, file, size, footer);
        segment.check_header()?;
        let index = segment.section(SectionKind::DIRECTORY_INDEX)?;
        segment.pages = decode_index(&index).map_err(|_| segment.damaged(0, "malformed directory index"))?;
        segment.blocks = segment.read_block_index()?;
        Ok(segment)
    }

    pub(super) fn of_parts(path: &Path, file: Arc<dyn DiskFile>, size: u64, footer: Footer) -> Self {
        let (pages, blocks, given_up) = (Vec::new(), Vec::new(), OnceLock::new());
        let (filter, names, damage) = (OnceLock::new(), OnceLock::new(), None);
        Self { path: path.to_owned(), file, size, footer, pages, blocks, filter, names, damage, given_up }
    }

    fn check_header(&self) -> Result<(), StorageError> {
        let found = self.read(0, HEADER_SIZE as u64)?;
        let same = found == header(self.footer.id, &self.footer.store);
        if same { Ok(()) } else { Err(self.damaged(0, "the header is not what the footer says")) }
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
        let section = self.footer.sections_of(kind).next();
        self.part(section.ok_or_else(|| self.damaged(self.size, "a section is missing"))?)
    }

    /// The raw bytes of a part of the section table.
    fn part(&self, section: &Section) -> Result<Vec<u8>, StorageError> {
        let bytes = self.read(section.offset, section.length)?;
        let part = Part::decode(&bytes).map_err(|bad| self.damaged(section.offset, bad.0))?;
        let same = part.kind == section.kind;
        if same { Ok(part.raw) } else { Err(self.damaged(section.offset, "another part than the footer says")) }
    }

    fn read_block_index(&self) -> Result<Vec<(u64, u32)>, StorageError> {
        let raw = self.section(SectionKind::BLOCK_INDEX)?;
        decode_blocks(&raw).map_err(|_| self.damaged(0, "malformed block index"))
    }

    /// Whether the trace may be here. No is certain; any doubt says yes.
    pub fn may_hold(&self, id: TraceId) -> bool {
        let (low, high) = self.footer.trace_ids;
        let filter = || self.filter.get_or_init(|| self.section(SectionKind::FILTER).unwrap_or_default());
        (low..=high).contains(&id) && filter::may_hold(filter(), id)
    }

    /// The directory entry of a trace.
    pub fn find(&self, id: TraceId) -> Result<Option<DirectoryEntry>, StorageError> {
        if !self.may_hold(id) {
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
        self.refuse_damaged()?;
        let bytes = self.read(page.offset, page.length.into())?;
        decode_page(&bytes).map_err(|bad| self.damaged(page.offset, bad.0))
    }

    fn refuse_damaged(&self) -> Result<(), StorageError> {
        self.damage.as_ref().map_or(Ok(()), |why| Err(StorageError::Refused(why.clone())))
    }

    /// The ids of one directory page, in order: much cheaper than its entries.
    pub fn page_ids(&self, index: usize) -> Result<Vec<TraceId>, StorageError> {
        let Some(page) = self.pages.get(index) else { return Ok(Vec::new()) };
        self.refuse_damaged()?;
        let bytes = self.read(page.offset, page.length.into())?;
        decode_ids(&bytes).map_err(|bad| self.damaged(page.offset, bad.0))
    }

    /// Where a directory page lies: offset and length.
    pub fn page_ref(&self, index: usize) -> Option<PageRef> {
        self.pages.get(index).copied()
    }

    /// The page of the trace with this place in the directory, and its place in that page. All pages but the last are full.
    pub fn place_of(&self, ordinal: u32) -> (usize, usize) {
        (ordinal as usize / PAGE_ENTRIES, ordinal as usize % PAGE_ENTRIES)
    }

    /// The directory entry with this ordinal.
    pub fn entry(&self, ordinal: u32) -> Result<DirectoryEntry, StorageError> {
        let (page, place) = self.place_of(ordinal);
        let mut entries = self.page(page)?;
        let known = place < entries.len();
        if known {
            Ok(entries.swap_remove(place))
        } else {
            Err(self.damaged(self.size, "an ordinal beyond the directory"))
        }
    }

    /// What the spans are called.
    ///
    /// Errors: they are damaged; an answer has to be found without them.
    pub fn names(&self) -> Result<Arc<Names>, &StorageError> {
        self.names.get_or_init(|| self.read_names().map(Arc::new)).as_ref().map(Arc::clone)
    }

    fn read_names(&self) -> Result<Names, StorageError> {
        let offset = self.footer.sections_of(SectionKind::NAMES).next().map_or(0, |section| section.offset);
        let raw = self.section(SectionKind::NAMES)?;
        Names::decode(&raw).map_err(|_| self.damaged(offset, "malformed names"))
    }

    /// How many pages an index has.
    pub fn index_pages(&self, kind: IndexKind) -> usize {
        self.footer.sections_of(section_kind(kind)).count()
    }

    /// One page of an index; the first has the greatest keys.
    pub fn index_page(&self, kind: IndexKind, page: usize) -> Result<Vec<IndexEntry>, StorageError> {
        let Some(section) = self.footer.sections_of(section_kind(kind)).nth(page) else { return Ok(Vec::new()) };
        let raw = self.part(section)?;
        index::decode(&raw, self.footer.traces).map_err(|_| self.damaged(section.offset, "malformed index"))
    }

    pub fn block_count(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Offset and length of a block.
    pub fn block_place(&self, index: u32) -> Option<(u64, u32)> {
        self.blocks.get(index as usize).copied()
    }

    /// The open file, for those who look at it as a whole.
    pub fn file(&self) -> &dyn DiskFile {
        &*self.file
    }

    pub fn block(&self, index: u32) -> Result<Block, StorageError> {
        let found = self.blocks.get(index as usize).copied();
        let (offset, length) =
            found.ok_or_else(|| self.damaged(self.size, "a block that is not there is referred to"))?;
        let bytes = self.read(offset, length.into())?;
        Block::decode(&bytes).map_err(|bad| self.damaged(offset, bad.0))
    }

    /// The resources, and what of them cannot be read.
    pub fn resources(&self) -> (Table, Vec<StorageError>) {
        self.table(SectionKind::RESOURCES)
    }

    /// The scopes, and what of them cannot be read.
    pub fn scopes(&self) -> (Table, Vec<StorageError>) {
        self.table(SectionKind::SCOPES)
    }

    fn table(&self, kind: SectionKind) -> (Table, Vec<StorageError>) {
        let (mut table, mut errors) = (Table::default(), Vec::new());
        for section in self.footer.sections_of(kind) {
            let malformed = |_| self.damaged(section.offset, "malformed table");
            errors.extend(self.part(section).and_then(|raw| table.add_page(raw).map_err(malformed)).err());
        }
        (table, errors)
    }
}

fn section_kind(kind: IndexKind) -> SectionKind {
    match kind {
        IndexKind::Latency => SectionKind::LATENCY_INDEX,
        IndexKind::StartTime => SectionKind::START_TIME_INDEX,
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
