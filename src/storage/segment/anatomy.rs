//! Every byte of a segment's file: which parts it has, where nothing readable lies, and which parts should be there.
//!
//! What header, footer and indexes say is checked against what is there, and none of them is needed.

use super::directory::{PageRef, decode_index};
use super::footer::{BadFooter, Footer, Section, SectionKind, TRAILER_SIZE};
use super::identity::Header;
use super::part::Part;
use super::scan::{Found, Scan};
use super::{Codec, HEADER_SIZE, VERSION};
use crate::storage::codec::{Decoder, Malformed};
use crate::storage::disk::DiskFile;
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// See the module.
#[derive(Debug)]
pub struct Anatomy {
    pub size: u64,
    pub header: Header,
    pub footer: Result<Footer, BadFooter>,
    /// Where the footer begins; the end of the file where it cannot be read.
    pub footer_at: u64,
    /// Every part whose checksum fits, in file order.
    pub parts: Vec<Section>,
    /// Bytes between header and footer that are no part.
    pub bad: Vec<(u64, u64)>,
    /// Where the blocks lie, in order: as the block index says, or those that are there where it cannot be read.
    pub blocks: Vec<(u64, u32)>,
    /// Whether the block index says so.
    pub blocks_known: bool,
    /// How its parts are packed.
    pub codec: Codec,
    /// Where the pages of the directory lie. `None`: the directory index cannot be read.
    pub pages: Option<Vec<PageRef>>,
}

impl Anatomy {
    /// Goes through the whole file. `progress` hears how far it has come.
    pub fn read(file: &dyn DiskFile, progress: &mut dyn FnMut(u64)) -> io::Result<Self> {
        let size = file.len()?;
        let mut header = vec![0; size.min(HEADER_SIZE as u64) as usize];
        file.read_at(&mut header, 0)?;
        let (footer, footer_at) = read_footer(file, size)?;
        let (header, blocks, pages) = (Header::decode(&header), Vec::new(), None);
        let (parts, bad) = (Vec::new(), Vec::new());
        let (blocks_known, codec) = (false, Codec::None);
        let mut anatomy = Self { size, header, footer, footer_at, parts, bad, blocks, blocks_known, codec, pages };
        anatomy.find_parts(file, progress)?;
        anatomy.find_blocks(file)?;
        anatomy.pages = anatomy.index(file, SectionKind::DIRECTORY_INDEX)?.and_then(|raw| decode_index(&raw).ok());
        Ok(anatomy)
    }

    fn find_parts(&mut self, file: &dyn DiskFile, progress: &mut dyn FnMut(u64)) -> io::Result<()> {
        let mut scan = Scan::new(file)?;
        while let Some(found) = scan.next()? {
            match found {
                Found::Part { offset, bytes } => {
                    let length = bytes.len() as u64;
                    let kind = Part::kind_of(&bytes).unwrap_or(SectionKind(0));
                    // A block that does not get smaller is stored as it is, whatever the others are.
                    let codec = Part::codec_of(&bytes).filter(|codec| *codec != Codec::None);
                    self.codec = codec.unwrap_or(self.codec);
                    self.parts.push(Section { kind, offset, length });
                    progress(offset + length);
                }
                Found::Bad { from, to } => {
                    let to = to.min(self.footer_at);
                    self.bad.extend((from < to).then_some((from, to)));
                    progress(to);
                }
            }
        }
        Ok(())
    }

    fn find_blocks(&mut self, file: &dyn DiskFile) -> io::Result<()> {
        let listed = self.index(file, SectionKind::BLOCK_INDEX)?.and_then(|raw| decode_blocks(&raw).ok());
        self.blocks_known = listed.is_some();
        self.blocks = listed.unwrap_or_else(|| {
            let blocks = self.parts.iter().filter(|part| part.kind == SectionKind::BLOCK);
            blocks.map(|part| (part.offset, part.length as u32)).collect()
        });
        Ok(())
    }

    /// The raw bytes of an index: the one the footer names, else the last one there is.
    fn index(&self, file: &dyn DiskFile, kind: SectionKind) -> io::Result<Option<Vec<u8>>> {
        let named = self.footer.as_ref().ok().map(|footer| footer.sections_of(kind).next().copied());
        let there = || self.parts.iter().rfind(|part| part.kind == kind).copied();
        match named.unwrap_or_else(there).filter(|part| self.is_there(part)) {
            Some(part) => self.raw(file, &part),
            None => Ok(None),
        }
    }

    /// Whether exactly this part is there and whole.
    pub fn is_there(&self, part: &Section) -> bool {
        self.parts
            .binary_search_by_key(&part.offset, |part| part.offset)
            .is_ok_and(|at| self.parts.get(at) == Some(part))
    }

    /// The raw bytes of a part; `None` where it does not unpack.
    pub fn raw(&self, file: &dyn DiskFile, part: &Section) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; part.length as usize];
        file.read_at(&mut bytes, part.offset)?;
        Ok(Part::decode(&bytes).ok().map(|part| part.raw))
    }

    /// The parts beside blocks and directory pages: those that the footer names, or those that are there.
    pub fn sections(&self) -> Vec<Section> {
        let own = |part: &&Section| !matches!(part.kind, SectionKind::BLOCK | SectionKind::DIRECTORY);
        match &self.footer {
            Ok(footer) => footer.sections.clone(),
            Err(_) => self.parts.iter().filter(own).copied().collect(),
        }
    }

    /// Where the pages of the directory lie, in order: as the directory index says, or those that are there.
    pub fn directory_pages(&self) -> VecDeque<Section> {
        let listed =
            |page: &PageRef| Section { kind: SectionKind::DIRECTORY, offset: page.offset, length: page.length.into() };
        match &self.pages {
            Some(pages) => pages.iter().map(listed).collect(),
            None => self.parts.iter().filter(|part| part.kind == SectionKind::DIRECTORY).copied().collect(),
        }
    }

    /// Every part that should be there, by its offset.
    pub fn expected(&self) -> BTreeMap<u64, Section> {
        let mut expected: BTreeMap<_, _> = self.sections().into_iter().map(|part| (part.offset, part)).collect();
        let block =
            |&(offset, length): &(u64, u32)| Section { kind: SectionKind::BLOCK, offset, length: length.into() };
        expected.extend(self.blocks.iter().map(block).map(|part| (part.offset, part)));
        expected.extend(self.directory_pages().into_iter().map(|part| (part.offset, part)));
        expected
    }
}

/// The block index as it is stored.
pub fn decode_blocks(raw: &[u8]) -> Result<Vec<(u64, u32)>, Malformed> {
    let mut fields = Decoder::new(raw);
    let mut blocks = Vec::new();
    let mut end = HEADER_SIZE as u64;
    for _ in 0..fields.small::<usize>()? {
        let offset = end.saturating_add(fields.varint()?);
        let length: u32 = fields.small()?;
        blocks.push((offset, length));
        end = offset.saturating_add(length.into());
    }
    Ok(blocks)
}

fn read_footer(file: &dyn DiskFile, size: u64) -> io::Result<(Result<Footer, BadFooter>, u64)> {
    let mut trailer = [0; TRAILER_SIZE];
    let Some(trailer_at) = size.checked_sub(TRAILER_SIZE as u64) else {
        return Ok((Err(BadFooter::Damaged("cut short")), size));
    };
    file.read_at(&mut trailer, trailer_at)?;
    let at = Footer::length(&trailer).map(|length| trailer_at.checked_sub(length as u64));
    let at = match at {
        Ok(Some(at)) => at,
        Ok(None) => return Ok((Err(BadFooter::Damaged("footer length")), size)),
        Err(bad) => return Ok((Err(bad), size)),
    };
    let mut bytes = vec![0; (size - at) as usize];
    file.read_at(&mut bytes, at)?;
    let footer = Footer::decode(&bytes);
    let at = if matches!(footer, Err(BadFooter::Damaged(_))) { size } else { at };
    Ok((footer, at))
}

/// Whether a footer is of another version, and of which.
pub fn other_version(footer: &Result<Footer, BadFooter>, header: Header) -> Option<u32> {
    match (footer, header) {
        (Err(BadFooter::Version(found)), _) => Some(*found),
        (Err(_), Header::Version(found)) => Some(found),
        _ => None,
    }
    .filter(|found| *found != VERSION)
}
