//! Verifying a segment: every part's checksum, then what the parts say of each other.

mod content;
mod contradictions;
mod loss;

use super::{Check, Finding, Kind, Loss, Progress, Remedy};
use crate::storage::disk::{DiskFile, Tolerant};
use crate::storage::inventory::Inventory;
use crate::storage::manifest::{FileKind, LiveFile};
use crate::storage::owner::Identity;
use crate::storage::segment::anatomy::other_version;
use crate::storage::segment::{Anatomy, Envelopes, HEADER_SIZE, Header, SectionKind, VERSION};
use content::Content;
use std::io::ErrorKind;
use std::path::Path;

impl Check<'_> {
    pub(super) fn live_file(&mut self, file: &LiveFile, inventory: &Inventory) {
        let store = inventory.manifest.store;
        match file.kind {
            FileKind::SetAside => self.set_aside(file, &store),
            FileKind::Segment | FileKind::Remainder => self.segment(file, inventory),
            // Nothing writes these yet.
            FileKind::Decisions => {}
        }
    }

    fn segment(&mut self, file: &LiveFile, inventory: &Inventory) {
        let own = Identity { store: inventory.manifest.store, id: file.id };
        let path = self.layout.segment(file.id);
        let gone = |kind, what: String| {
            let loss = Loss { rows: Some(file.rows), lsns: Some(file.lsns), ..Loss::default() };
            Finding::damage(kind, &path, what, Remedy::Forget(file.id)).costing(loss)
        };
        let open = match self.disk.open(&path) {
            Ok(open) => Tolerant(open),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return self.add(gone(Kind::Missing, "a segment that the manifest names".into()));
            }
            Err(error) => return self.add(gone(Kind::Damaged, error.to_string())),
        };
        let (size, progress) = (open.len().unwrap_or(0), &mut *self.progress);
        let mut heard = |bytes| progress(Progress { file: &path, bytes, of: size });
        let anatomy = match Anatomy::read(&open, &mut heard) {
            Ok(anatomy) => anatomy,
            Err(error) => return self.add(gone(Kind::Damaged, error.to_string())),
        };
        self.count_file(size);
        if let Some(found) = other_version(&anatomy.footer, anatomy.header) {
            let what = format!("format {found}, this version reads {VERSION}");
            let finding = Finding::damage(Kind::of_version(found, VERSION), &path, what, Remedy::OtherVersion);
            return self.add(finding.costing(Loss { rows: Some(file.rows), ..Loss::default() }));
        }
        if let Some((kind, what)) = other_file(&anatomy, own) {
            return self.add(gone(kind, what));
        }
        if anatomy.parts.is_empty() {
            return self.add(gone(Kind::Damaged, "nothing of it can be read".into()).at(0, size));
        }
        self.report.segments += 1;
        self.parts((&path, &open), &anatomy, file, inventory);
    }

    fn parts(
        &mut self,
        (path, open): (&Path, &dyn DiskFile),
        anatomy: &Anatomy,
        file: &LiveFile,
        inventory: &Inventory,
    ) {
        let mut found = damaged_parts(path, anatomy, file);
        let mut envelopes = Envelopes::read(open, anatomy);
        envelopes.complete(open, anatomy, inventory.other_segments(self.disk, self.layout, file.id));
        let content = Content::read(open, anatomy, &envelopes);
        self.report.rows += content.rows_served();
        if found.is_empty() {
            let wrong = content.contradictions(open, anatomy, file);
            found.extend(
                wrong
                    .into_iter()
                    .map(|what| Finding::damage(Kind::Contradiction, path, what, Remedy::Rewrite(file.id))),
            );
        }
        content.charge(&mut found, anatomy, file);
        self.report.findings.append(&mut found);
    }
}

/// Whether header or footer say that this is another segment.
fn other_file(anatomy: &Anatomy, own: Identity) -> Option<(Kind, String)> {
    let header = if let Header::Of(header) = anatomy.header { Some(header) } else { None };
    let footer = anatomy.footer.as_ref().ok().map(|footer| Identity { store: footer.store, id: footer.id });
    let found = header.or(footer).filter(|found| *found != own)?;
    Some(match found.store == own.store {
        true => (Kind::Copy, format!("segment {:016x} under this name", found.id)),
        false => (Kind::Foreign, "it stands where a segment of this store was".into()),
    })
}

/// Every byte range that is not what should be there.
fn damaged_parts(path: &Path, anatomy: &Anatomy, file: &LiveFile) -> Vec<Finding> {
    let damage = |kind, from, to, what: &str| Finding::damage(kind, path, what, Remedy::Rewrite(file.id)).at(from, to);
    let mut found = Vec::new();
    if anatomy.size < file.bytes {
        found.push(damage(Kind::CutShort, anatomy.size, file.bytes, "the file is shorter than it was"));
    }
    if !matches!(anatomy.header, Header::Of(_)) {
        found.push(damage(Kind::Damaged, 0, HEADER_SIZE as u64, "its header"));
    }
    let last = anatomy.parts.last().map_or(0, |part| part.offset + part.length);
    if anatomy.footer.is_err() {
        found.push(damage(Kind::Damaged, last, anatomy.size, "its footer"));
    }
    let expected = anatomy.expected();
    let missing = expected.values().filter(|part| !anatomy.is_there(part) && part.offset < anatomy.size);
    found.extend(missing.map(|part| damage(Kind::Damaged, part.offset, part.offset + part.length, name_of(part.kind))));
    // Bytes of no part that anything names.
    let told: Vec<_> = found.iter().filter_map(|finding| finding.bytes).collect();
    let covered = |&(from, to): &(u64, u64)| told.iter().any(|told| told.0 < to && from < told.1);
    let untold = anatomy.bad.iter().filter(|range| !covered(range));
    found.extend(untold.map(|&(from, to)| damage(Kind::Damaged, from, to, "bytes of no part")));
    let unnamed = anatomy.parts.iter().filter(|part| !expected.contains_key(&part.offset));
    let unnamed = unnamed
        .map(|part| damage(Kind::Contradiction, part.offset, part.offset + part.length, "a part that nothing names"));
    found.extend(unnamed);
    found
}

fn name_of(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::BLOCK => "a block",
        SectionKind::DIRECTORY => "a page of the directory",
        SectionKind::DIRECTORY_INDEX => "the directory index",
        SectionKind::BLOCK_INDEX => "the block index",
        SectionKind::RESOURCES => "resources",
        SectionKind::SCOPES => "scopes",
        SectionKind::FILTER => "the filter",
        SectionKind::NAMES => "the names",
        SectionKind::LATENCY_INDEX => "the latency index",
        SectionKind::START_TIME_INDEX => "the start time index",
        _ => "a part",
    }
}
