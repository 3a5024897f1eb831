//! Verifying the two copies of the manifest, and the files that it does not name.

use super::{Check, Finding, Kind, Remedy};
use crate::storage::inventory::{Basis, Fate, Held, Inventory, State};
use crate::storage::manifest::copies::Copy;
use std::path::Path;

impl Check<'_> {
    pub(super) fn copies(&mut self, inventory: &Inventory) {
        for (path, copy) in &inventory.copies {
            let found = copy_finding(path, copy, inventory);
            let size = self.disk.open(path).and_then(|file| file.len()).unwrap_or(0);
            self.count_file(size);
            self.report.findings.extend(found.map(|finding| match *copy {
                Copy::Damaged(_) => finding.at(0, size),
                _ => finding,
            }));
        }
    }

    /// Files that hold rows and that the manifest on disk does not name.
    pub(super) fn unnamed(&mut self, inventory: &Inventory) {
        for (held, fate) in &inventory.unnamed {
            self.add(unnamed_finding(held, *fate, &inventory.basis));
        }
    }
}

fn copy_finding(path: &Path, copy: &Copy, inventory: &Inventory) -> Option<Finding> {
    let damage = |kind, what: &str| Some(Finding::damage(kind, path, what, Remedy::WriteManifest));
    let what = match inventory.basis {
        Basis::Files(_) => "the manifest is made from the files",
        _ => "the other copy is used",
    };
    match copy {
        Copy::Gone => damage(Kind::Missing, what),
        Copy::Damaged(why) => damage(Kind::Damaged, &format!("{why}; {what}")),
        Copy::Good(manifest) if manifest.store != inventory.manifest.store => damage(Kind::Foreign, what),
        Copy::Good(manifest) if inventory.basis == Basis::Read && manifest.epoch < inventory.manifest.epoch => {
            let what = format!("epoch {}, the other copy has {}", manifest.epoch, inventory.manifest.epoch);
            Some(Finding::notice(Kind::LeftOver, path, what, Remedy::WriteManifest))
        }
        // Told with the files that it does not name.
        Copy::Good(_) | Copy::Version(_) => None,
    }
}

fn unnamed_finding(held: &Held, fate: Fate, basis: &Basis) -> Finding {
    let path = &held.path;
    match (fate, &held.state) {
        (Fate::Adopt, State::Ours { file, .. }) => {
            let rows = file.rows;
            let what = match basis {
                Basis::Files(_) => format!("{rows} rows, and no manifest that names them"),
                _ => format!("{rows} rows that the manifest does not know of: it is older than the store"),
            };
            Finding::damage(Kind::Unnamed, path, what, Remedy::Adopt(held.id))
        }
        (Fate::Unpublished, _) => {
            let what = "a seal or a merge that was cut short; its rows are elsewhere";
            Finding::notice(Kind::LeftOver, path, what, Remedy::MoveAside)
        }
        (Fate::GivenUp, _) => {
            let what = "given up by the manifest; the next start removes it";
            Finding::notice(Kind::LeftOver, path, what, Remedy::Nothing)
        }
        (_, State::Copy(id)) => {
            let what = format!("file {id:016x} under another name; it is not read");
            Finding::notice(Kind::Copy, path, what, Remedy::MoveAside)
        }
        (_, State::Foreign) => Finding::notice(Kind::Foreign, path, "it is not read", Remedy::MoveAside),
        (_, State::Unreadable(why)) => {
            let what = format!("{why}; the manifest does not name it");
            Finding::notice(Kind::Damaged, path, what, Remedy::MoveAside)
        }
        (Fate::Stray, State::Ours { .. }) => {
            Finding::notice(Kind::Unnamed, path, "the manifest does not name it", Remedy::MoveAside)
        }
    }
}
