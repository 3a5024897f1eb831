//! Reading every byte of a store and saying what is not as it was written.
//!
//! Nothing is changed. Each finding says what it costs and what `repair` does about it, so that a repair is a
//! verification whose findings are acted on.

mod finding;
mod log;
mod manifest;
mod segment;
mod set_aside;
mod strays;

pub use finding::{Cost, Finding, Kind, Loss, Remedy, Severity};

use super::disk::{Disk, LockMode};
use super::engine::take_lock;
use super::error::StorageError;
use super::files::{LOCK, Layout};
use super::inventory::Inventory;
use std::path::Path;

/// What verifying a store gave.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Id of the store.
    pub store: [u8; 16],
    /// Files read, and their bytes.
    pub files: u64,
    pub bytes: u64,
    pub segments: u64,
    /// Rows that can be read, in segments and batches that are set aside.
    pub rows: u64,
    /// Frames of log files that can be read.
    pub frames: u64,
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether every byte that matters is as it was written.
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Notice)
    }
}

/// How far it is: a file, and its bytes read so far and altogether.
#[derive(Debug)]
pub struct Progress<'a> {
    pub file: &'a Path,
    pub bytes: u64,
    pub of: u64,
}

/// Reads a store that nobody writes to.
///
/// Errors: there is none, it is in use, or the disk cannot list its files.
pub fn verify(disk: &dyn Disk, root: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Report, StorageError> {
    let layout = Layout::new(root);
    let missing = || StorageError::Missing { path: root.to_owned() };
    let names = disk.list(root).map_err(|_| missing())?;
    let _lock = match names.iter().any(|name| name == LOCK) {
        true => Some(take_lock(disk, root, LockMode::Shared)?),
        false => None,
    };
    match check(disk, &layout, progress) {
        Ok(checked) => Ok(checked.ok_or_else(missing)?.1),
        Err(error) => other_version(error),
    }
}

/// A manifest of another version is a finding, and all that can be found.
fn other_version(error: StorageError) -> Result<Report, StorageError> {
    match error {
        StorageError::NewerFormat { path, found, known } | StorageError::OlderFormat { path, found, known } => {
            let what = format!("format {found}, this version reads {known}; nothing else was looked at");
            let finding = Finding::damage(Kind::of_version(found, known), path, what, Remedy::OtherVersion);
            Ok(Report { findings: vec![finding.costing(Loss::default())], ..Report::default() })
        }
        error => Err(error),
    }
}

/// The same for whoever has the lock, with what there is; `None` where there is no store.
pub(super) fn check(
    disk: &dyn Disk,
    layout: &Layout,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Option<(Inventory, Report)>, StorageError> {
    let Some(inventory) = Inventory::take(disk, layout)? else { return Ok(None) };
    let report = Report { store: inventory.manifest.store, ..Report::default() };
    let mut check = Check { disk, layout, progress, report };
    check.copies(&inventory);
    for file in &inventory.manifest.files {
        check.live_file(file, &inventory);
    }
    check.log(&inventory)?;
    check.unnamed(&inventory);
    check.names();
    let mut report = check.report;
    report.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Ok(Some((inventory, report)))
}

/// A verification on its way.
struct Check<'a> {
    disk: &'a dyn Disk,
    layout: &'a Layout,
    progress: &'a mut dyn FnMut(Progress<'_>),
    report: Report,
}

impl Check<'_> {
    fn add(&mut self, finding: Finding) {
        self.report.findings.push(finding);
    }

    fn count_file(&mut self, bytes: u64) {
        self.report.files += 1;
        self.report.bytes += bytes;
    }
}
