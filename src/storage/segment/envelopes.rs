//! The resources and scopes of a damaged segment: what its own tables still have, and what other segments have of the same
//! names. Names are hashes of the content, so that what has the name is the thing.

use super::anatomy::Anatomy;
use super::block::BlockRow;
use super::facts::FactRow;
use super::footer::{Section, SectionKind};
use super::salvage::read;
use super::table::{ContentHash, Table};
use super::{Block, Segment};
use crate::model::wire::read::service_name;
use crate::storage::disk::DiskFile;
use bytes::Bytes;
use std::collections::HashSet;

/// See the module.
#[derive(Debug, Default)]
pub struct Envelopes {
    pub resources: Table,
    pub scopes: Table,
    /// Tables in which something is not what its name says.
    pub wrong: Vec<Section>,
}

impl Envelopes {
    /// What the segment's own tables have.
    pub fn read(file: &dyn DiskFile, anatomy: &Anatomy) -> Self {
        let mut envelopes = Self::default();
        for section in anatomy.sections().into_iter().filter(|section| anatomy.is_there(section)) {
            let table = match section.kind {
                SectionKind::RESOURCES => &mut envelopes.resources,
                SectionKind::SCOPES => &mut envelopes.scopes,
                _ => continue,
            };
            let mut page = Table::default();
            let raw = anatomy.raw(file, &section).ok().flatten();
            let malformed = raw.is_none_or(|raw| page.add_page(raw).is_err());
            let right = |(hash, envelope): &(&ContentHash, &Bytes)| ContentHash::of(envelope) == **hash;
            if malformed || !page.iter().all(|entry| right(&entry)) {
                envelopes.wrong.push(section);
            }
            page.iter().filter(right).for_each(|(hash, envelope)| table.add(*hash, envelope.clone()));
        }
        envelopes
    }

    /// Adds what rows need and the tables do not have, as far as other segments have it.
    pub fn complete(&mut self, file: &dyn DiskFile, anatomy: &Anatomy, others: impl Iterator<Item = Segment>) {
        let (mut resources, mut scopes) = self.missing(file, anatomy);
        if resources.is_empty() && scopes.is_empty() {
            return;
        }
        for other in others {
            take(&mut self.resources, &mut resources, &other.resources().0);
            take(&mut self.scopes, &mut scopes, &other.scopes().0);
        }
    }

    /// The names that rows use and that no table has.
    fn missing(&self, file: &dyn DiskFile, anatomy: &Anatomy) -> (HashSet<ContentHash>, HashSet<ContentHash>) {
        let (mut resources, mut scopes) = (HashSet::new(), HashSet::new());
        let tables = |kind| anatomy.sections().iter().any(|part| part.kind == kind && !anatomy.is_there(part));
        let whole = anatomy.footer.is_ok() && !tables(SectionKind::RESOURCES) && !tables(SectionKind::SCOPES);
        if whole && self.wrong.is_empty() {
            return (resources, scopes);
        }
        for &(offset, length) in &anatomy.blocks {
            let part = Section { kind: SectionKind::BLOCK, offset, length: length.into() };
            let Some(block) = read(file, &part).and_then(|bytes| Block::decode(&bytes).ok()) else { continue };
            resources.extend(block.resources.iter().filter(|hash| self.resources.get(hash).is_none()));
            scopes.extend(block.scopes.iter().filter(|hash| self.scopes.get(hash).is_none()));
        }
        (resources, scopes)
    }

    /// The resource and the scope of a row; `None` where one is missing.
    pub fn of(&self, block: &Block, row: &BlockRow) -> Option<(&[u8], &[u8])> {
        let resource = self.resources.get(block.resources.get(row.resource as usize)?)?;
        Some((resource, self.scopes.get(block.scopes.get(row.scope as usize)?)?))
    }

    /// What facts need of a row.
    pub fn fact_row<'a>(&'a self, block: &'a Block, row: &'a BlockRow) -> FactRow<'a> {
        let resource = self.of(block, row).map_or(&[][..], |(resource, _)| resource);
        FactRow { row: &row.row, body: block.body(row), service: service_name(resource).unwrap_or_default() }
    }
}

fn take(table: &mut Table, missing: &mut HashSet<ContentHash>, other: &Table) {
    missing.retain(|hash| match other.get(hash) {
        Some(envelope) if ContentHash::of(envelope) == *hash => {
            table.add(*hash, envelope.clone());
            false
        }
        _ => true,
    });
}
