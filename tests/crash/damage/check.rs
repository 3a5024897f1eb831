//! What becomes of a damaged store: opened, asked, verified and repaired, each on a copy of its own.

use super::fixture::{Fixture, ROOT, RowId, Rows, StillClock, layout, open, rows_of};
use crate::support::fault_disk::{FaultDisk, Left};
use sluice::storage::disk::{Disk, read_file};
use sluice::storage::repair::repair;
use sluice::storage::verify::{Cost, Report, Severity, verify};
use sluice::storage::{OpenStore, StorageError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a store did with its damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it opened for writing.
    pub opened: bool,
    /// Rows that an answer did not have; `None` where there was no answer.
    pub missing: Option<usize>,
    /// `None`: nothing was found.
    pub found: Option<Severity>,
    /// Rows that are gone after a repair; `None` where it refused.
    pub lost: Option<usize>,
}

/// What is expected of a store with this damage.
pub struct Case<'a> {
    pub what: String,
    pub disk: FaultDisk,
    /// Names of the damaged files.
    pub files: Vec<&'a str>,
    /// The rows that may be gone.
    pub may_lose: BTreeSet<RowId>,
    /// Whether the damage can be told from what a crash leaves, and means anything.
    pub known: bool,
    /// Whether the store may refuse: only another version can tell what it means.
    pub other_version: bool,
}

impl Fixture {
    /// Does everything that can be done with a damaged store, and checks what must hold whatever is damaged.
    pub fn check(&self, case: &Case<'_>) -> Outcome {
        let missing = self.check_offline(case);
        let opened = self.check_engine(case);
        let report = self.check_verify(case, missing);
        let lost = self.check_repair(case, &report);
        let found = report.findings.iter().map(|finding| finding.severity).max();
        Outcome { opened, missing, found, lost }
    }

    fn check_offline(&self, case: &Case<'_>) -> Option<usize> {
        let disk = case.disk.after_crash(Left::All);
        let store = match OpenStore::open(Path::new(ROOT), &disk) {
            Ok(store) => store,
            Err(error) => {
                assert!(case.other_version, "{}: refused for reading: {error}", case.what);
                return None;
            }
        };
        let mut said = found_words(&store.found);
        let rows = rows_of(&store.snapshot, &mut said);
        Some(self.check_rows(case, &rows, &said))
    }

    fn check_engine(&self, case: &Case<'_>) -> bool {
        let disk = case.disk.after_crash(Left::All);
        let engine = match open(&disk) {
            Ok(engine) => engine,
            Err(error) => {
                self.check_refusal(case, &error);
                return false;
            }
        };
        let mut said = found_words(engine.found());
        self.check_rows(case, &rows_of(&engine.snapshot(), &mut said), &said);
        engine.flush().unwrap();
        self.check_rows(case, &rows_of(&engine.snapshot(), &mut said), &said);
        drop(engine);
        // A start changes nothing for the worse.
        let again = OpenStore::open(Path::new(ROOT), &disk).unwrap();
        let mut said_again = found_words(&again.found);
        said.extend(said_again.drain(..));
        self.check_rows(case, &rows_of(&again.snapshot, &mut said), &said);
        true
    }

    /// A store refuses to open only where it says what to do: use that version, or repair.
    fn check_refusal(&self, case: &Case<'_>, error: &StorageError) {
        let words = error.to_string();
        let helps = words.contains("sluice store repair /store") || (case.other_version && words.contains("version"));
        assert!(helps, "{}: {words}", case.what);
    }

    /// Every row is as it was sent; none is missing that need not be; what is missing is said, with its file.
    fn check_rows(&self, case: &Case<'_>, rows: &Rows, said: &[String]) -> usize {
        for (id, content) in rows {
            let expected = self.rows.get(id).unwrap_or_else(|| panic!("{}: a row nobody sent", case.what));
            assert!(content == expected, "{}: a row with wrong content", case.what);
        }
        let missing: BTreeSet<_> = self.rows.keys().filter(|id| !rows.contains_key(*id)).cloned().collect();
        let wrongly: Vec<_> = missing.difference(&case.may_lose).collect();
        assert!(wrongly.is_empty(), "{}: {} sound rows are missing; said: {said:?}", case.what, wrongly.len());
        if !missing.is_empty() && case.known {
            let named = said.iter().any(|words| case.files.iter().any(|file| words.contains(file)));
            assert!(named, "{}: rows are missing and nothing is said: {said:?}", case.what);
        }
        missing.len()
    }

    fn check_verify(&self, case: &Case<'_>, missing: Option<usize>) -> Report {
        let disk = case.disk.after_crash(Left::All);
        let before = contents(&disk);
        let report = verify(&disk, Path::new(ROOT), &mut |_| {}).unwrap();
        assert_eq!(contents(&disk), before, "{}: verify changed something", case.what);
        let named = report.findings.iter().any(|finding| case.files.iter().any(|file| finding.file.ends_with(file)));
        assert!(named || !case.known, "{}: not found; found: {:?}", case.what, report.findings);
        if report.is_sound() && case.known {
            assert_eq!(missing, Some(0), "{}: found sound, with rows missing", case.what);
        }
        report
    }

    fn check_repair(&self, case: &Case<'_>, before: &Report) -> Option<usize> {
        let disk = case.disk.after_crash(Left::All);
        let damaged = contents(&disk);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let done = match repair(&shared, Arc::new(StillClock), Path::new(ROOT), &mut |_| {}) {
            Ok(done) => done,
            Err(error) => {
                assert!(case.other_version, "{}: repair failed: {error}", case.what);
                assert_eq!(contents(&disk), damaged, "{}: a repair that refused changed something", case.what);
                return None;
            }
        };
        assert!(done.after.is_sound(), "{}: after the repair: {:?}", case.what, done.after.findings);
        assert_eq!(done.before.findings, before.findings, "{}", case.what);
        let lost = self.check_repaired(case, &disk, before);
        self.check_nothing_deleted(case, &damaged, &disk);
        Some(lost)
    }

    /// A repaired store opens without a word, has every sound row, and what verify said is exactly what is gone.
    fn check_repaired(&self, case: &Case<'_>, disk: &FaultDisk, before: &Report) -> usize {
        let engine = open(disk).unwrap_or_else(|error| panic!("{}: after the repair: {error}", case.what));
        assert_eq!(found_words(engine.found()), Vec::<String>::new(), "{}: after the repair", case.what);
        let mut said = Vec::new();
        let rows = rows_of(&engine.snapshot(), &mut said);
        assert_eq!(said, Vec::<String>::new(), "{}: after the repair", case.what);
        for (id, content) in &rows {
            assert!(self.rows.get(id) == Some(content), "{}: after the repair: a wrong row", case.what);
        }
        let missing: BTreeSet<_> = self.rows.keys().filter(|id| !rows.contains_key(*id)).cloned().collect();
        let wrongly = missing.difference(&case.may_lose).count();
        assert_eq!(wrongly, 0, "{}: the repair lost {wrongly} sound rows", case.what);
        let said_lost: Vec<_> = before
            .findings
            .iter()
            .filter_map(|finding| match &finding.cost {
                Cost::Lost(loss) => Some(loss),
                Cost::Nothing => None,
            })
            .collect();
        if missing.is_empty() {
            let exact: u64 = said_lost.iter().filter_map(|loss| loss.rows).sum();
            assert_eq!(exact, 0, "{}: rows were said to be lost that are there", case.what);
        } else if case.known {
            assert!(!said_lost.is_empty(), "{}: {} rows are lost and it is not said", case.what, missing.len());
            let exact: Option<u64> = said_lost.iter().map(|loss| loss.rows).sum();
            assert!(exact.is_none_or(|rows| rows == missing.len() as u64), "{}: {said_lost:?}", case.what);
        }
        missing.len()
    }

    /// Every damaged file is somewhere still, as it was.
    fn check_nothing_deleted(&self, case: &Case<'_>, before: &BTreeMap<PathBuf, Vec<u8>>, disk: &FaultDisk) {
        let after: BTreeSet<_> = contents(disk).into_values().collect();
        for (path, bytes) in before {
            let name = path.file_name().unwrap().to_str().unwrap();
            // A log file that is sound is used again once its rows are in segments.
            let damaged = case.known && case.files.contains(&name) && !bytes.is_empty();
            let stale = name.starts_with("manifest") && !damaged;
            if damaged && !stale && self.files.iter().all(|file| file.bytes != *bytes) {
                assert!(after.contains(bytes), "{}: {name} is gone", case.what);
            }
        }
    }
}

fn found_words(found: &sluice::storage::engine::Found) -> Vec<String> {
    let holes = found.holes.iter().map(ToString::to_string);
    let unreadable = found.unreadable.iter().map(|file| file.why.clone());
    holes.chain(found.notes.iter().cloned()).chain(unreadable).collect()
}

/// Every file of the store.
pub fn contents(disk: &FaultDisk) -> BTreeMap<PathBuf, Vec<u8>> {
    let layout = layout();
    let numbered = (1..20).map(|number| layout.damaged.join(format!("{number:04}")));
    let folders = [&layout.root, &layout.wal, &layout.segments, &layout.set_aside].into_iter().cloned().chain(numbered);
    let files = folders.flat_map(|dir| disk.list(&dir).unwrap().into_iter().map(move |name| dir.join(name)));
    files.map(|path| (path.clone(), read_file(disk, &path).unwrap())).collect()
}
