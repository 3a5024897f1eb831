//! Mending a store: a verification whose findings are acted on.
//!
//! Nothing is deleted: what something else takes the place of is moved to `damaged/`. Each step leaves a store that the
//! next repair goes on from, so that one that is interrupted is run again.

mod interrupted;
mod rewrite;

use super::aside::Aside;
use super::clock::Clock;
use super::disk::{Disk, LockGuard, LockMode};
use super::engine::{Engine, take_lock};
use super::error::StorageError;
use super::files::{Layout, log_id, spare_id};
use super::inventory::{Basis, Inventory};
use super::manifest::copies::Copy;
use super::manifest::{self, FileKind, LiveFile};
use super::options::Options;
use super::verify::{Finding, Progress, Remedy, Report, Severity, check};
use super::wal::HEADER_PAGE;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a repair did.
#[derive(Debug, Clone)]
pub struct Repaired {
    /// What was found before. The costs of its findings are what was lost.
    pub before: Report,
    /// What was done about it, a sentence each.
    pub done: Vec<String>,
    /// What is found now.
    pub after: Report,
}

/// Mends the store in this directory, which nobody else may have open.
///
/// Errors: there is none, it is in use, something in it was written by another version, or the disk fails; run it again
/// then, once what is in the way is gone.
pub fn repair(
    disk: &Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    root: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Repaired, StorageError> {
    let layout = Layout::new(root);
    let missing = || StorageError::Missing { path: root.to_owned() };
    disk.list(root).map_err(|_| missing())?;
    let lock = take_lock(&**disk, root, LockMode::Exclusive)?;
    interrupted::put_back(&**disk, &layout)?;
    let (inventory, before) = check(&**disk, &layout, progress)?.ok_or_else(missing)?;
    refuse_other_versions(&before)?;
    let mut work = Work { disk, layout: &layout, inventory, aside: Aside::new(&**disk, &layout), done: Vec::new() };
    work.write_manifest(&before)?;
    work.mend_files(&before)?;
    work.move_aside(&before)?;
    let Work { mut done, .. } = work;
    let _lock = match has(&before, |remedy| remedy == Remedy::SealLog) {
        true => seal_log(disk, clock, &layout, lock, &mut done)?,
        false => Some(lock),
    };
    let (_, after) = check(&**disk, &layout, progress)?.ok_or_else(missing)?;
    Ok(Repaired { before, done, after })
}

/// Nothing is changed where only another version knows what it means.
fn refuse_other_versions(report: &Report) -> Result<(), StorageError> {
    let other = |finding: &&Finding| finding.remedy == Remedy::OtherVersion && finding.severity == Severity::Damage;
    report.findings.iter().find(other).map_or(Ok(()), |finding| Err(StorageError::Refused(finding.to_string())))
}

fn has(report: &Report, wanted: impl Fn(Remedy) -> bool) -> bool {
    report.findings.iter().any(|finding| wanted(finding.remedy))
}

/// A repair on its way.
struct Work<'a> {
    disk: &'a Arc<dyn Disk>,
    layout: &'a Layout,
    /// Its manifest is the one to be.
    inventory: Inventory,
    aside: Aside<'a>,
    done: Vec<String>,
}

impl Work<'_> {
    fn write_manifest(&mut self, before: &Report) -> Result<(), StorageError> {
        let wanted = |remedy| matches!(remedy, Remedy::WriteManifest | Remedy::Adopt(_));
        if self.inventory.basis == Basis::Read && !has(before, wanted) {
            return Ok(());
        }
        let store = self.inventory.manifest.store;
        for (path, copy) in self.inventory.copies.clone() {
            let useless = match copy {
                Copy::Good(other) => other.store != store,
                Copy::Damaged(_) => true,
                Copy::Gone | Copy::Version(_) => false,
            };
            if useless {
                self.put_aside(&path)?;
            }
        }
        self.store_manifest()?;
        let from = match &self.inventory.basis {
            Basis::Read => "both copies of the manifest were written anew",
            Basis::Older => "the manifest was completed with the files it did not know of",
            Basis::Files(_) => "the manifest was made from the files",
        };
        self.done.push(from.into());
        Ok(())
    }

    fn store_manifest(&mut self) -> Result<(), StorageError> {
        self.inventory.manifest.epoch += 1;
        manifest::store(&**self.disk, self.layout, &self.inventory.manifest)
    }

    /// Writes damaged files anew and forgets those that are gone, in one change of the manifest.
    fn mend_files(&mut self, before: &Report) -> Result<(), StorageError> {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for file in self.inventory.manifest.files.clone() {
            if has(before, |remedy| remedy == Remedy::Rewrite(file.id)) {
                new.extend(self.rewrite(&file)?);
                old.push(file);
            } else if has(before, |remedy| remedy == Remedy::Forget(file.id)) {
                self.done.push(format!("{}: forgotten", self.layout.live(file.kind, file.id).display()));
                old.push(file);
            }
        }
        if old.is_empty() {
            return Ok(());
        }
        // Before the manifest gives them up: a start removes what it has given up.
        for file in &old {
            let path = self.layout.live(file.kind, file.id);
            if self.disk.open(&path).is_ok() {
                self.put_aside(&path)?;
            }
        }
        let files = &mut self.inventory.manifest.files;
        files.retain(|file| old.iter().all(|old| old.id != file.id));
        files.append(&mut new);
        self.store_manifest()
    }

    fn rewrite(&mut self, file: &LiveFile) -> Result<Option<LiveFile>, StorageError> {
        let id = self.inventory.new_segment();
        let new = match file.kind {
            FileKind::SetAside => rewrite::set_aside(&**self.disk, self.layout, &self.inventory, file.id, id)?,
            _ => rewrite::segment(&**self.disk, self.layout, &self.inventory, file.id, id)?,
        };
        let old = self.layout.live(file.kind, file.id);
        self.done.push(match &new {
            Some(new) => {
                let path = self.layout.live(new.kind, new.id);
                format!("{}: {} rows were written to {}", old.display(), new.rows, path.display())
            }
            None => format!("{}: no row of it can be read", old.display()),
        });
        Ok(new)
    }

    fn move_aside(&mut self, before: &Report) -> Result<(), StorageError> {
        let mut paths: Vec<_> = before.findings.iter().filter(|finding| finding.remedy == Remedy::MoveAside).collect();
        paths.dedup_by_key(|finding| &finding.file);
        for finding in paths {
            // Several findings may be about one file.
            if self.disk.open(&finding.file).is_ok() {
                self.put_aside(&finding.file)?;
            }
        }
        Ok(())
    }

    fn put_aside(&mut self, path: &Path) -> Result<PathBuf, StorageError> {
        let to = self.aside.take(path).map_err(StorageError::io(path, "moving to damaged/"))?;
        self.done.push(format!("{}: moved to {}", path.display(), to.display()));
        Ok(to)
    }
}

/// Opens the store once and closes it: every frame that can be read gets into a segment, the log goes on in a new file,
/// and files with damage are moved to `damaged/`.
fn seal_log(
    disk: &Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    layout: &Layout,
    lock: LockGuard,
    done: &mut Vec<String>,
) -> Result<Option<LockGuard>, StorageError> {
    let mut options = Options::new(&layout.root);
    options.seal.workers = 1;
    options.wal.file_size = log_file_size(&**disk, layout).unwrap_or(1 << 20);
    options.wal.max_size = u64::MAX / 4;
    let engine = Engine::open_with(options, disk.clone(), clock, Some(lock))?;
    engine.flush().map_err(StorageError::Refused)?;
    let replayed = engine.found().replayed_batches;
    done.push(format!("{replayed} batches of the log were sealed, and the log goes on in a new file"));
    Ok(engine.close())
}

/// Bytes of the log files that the store has: what it is configured with.
fn log_file_size(disk: &dyn Disk, layout: &Layout) -> Option<u64> {
    let names = disk.list(&layout.wal).ok()?.into_iter();
    let names = names.filter(|name| log_id(name).or(spare_id(name)).is_some());
    let size = |name: String| disk.open(&layout.wal.join(name)).and_then(|file| file.len()).ok();
    names.filter_map(size).max().filter(|size| *size >= HEADER_PAGE * 2)
}
