//! `sluice store merge`.

mod progress;
mod report;

use super::Directory;
use crate::cli::{Failure, print};
use crate::merge::{MergeError, Options, merge_next};
use crate::storage::clock::SystemClock;
use crate::storage::counted::{CountedDisk, Counts};
use crate::storage::disk::SystemDisk;
use crate::storage::files::MANIFESTS;
use crate::storage::{self, Engine, StorageError};
use clap::{Args, ValueEnum};
use progress::Progress;
use report::{Merge as Line, Report};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of the log file that opening a store begins: nothing will be appended to it.
const LOG_FILE: u64 = 1 << 20;

#[derive(Debug, Args)]
pub struct Merge {
    #[command(flatten)]
    directory: Directory,
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Rows that make a segment full: it is not merged any more
    #[arg(long, value_name = "ROWS", default_value_t = Options::default().max_rows, value_parser = clap::value_parser!(u64).range(1..))]
    max_rows: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Json,
    Table,
}

impl Merge {
    pub fn execute(&self) -> Result<(), Failure> {
        let disk = CountedDisk::new(Arc::new(SystemDisk));
        let engine = self.open(&disk).map_err(|error| vec![error.to_string()])?;
        // What only the log holds takes part as well.
        engine.flush().map_err(|error| vec![error])?;
        let mut report = Report::new(&self.directory.path.display().to_string());
        self.merge_all(&engine, &disk, &mut report)?;
        report.segments = engine.segment_count() as u64;
        let problems = engine.troubles();
        engine.shutdown();
        match self.format {
            Format::Json => print(&report.json()?)?,
            Format::Table => print(&report.table())?,
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn open(&self, disk: &CountedDisk) -> Result<Engine, StorageError> {
        let path = &self.directory.path;
        if !MANIFESTS.iter().any(|name| path.join(name).exists()) {
            return Err(StorageError::Missing { path: path.clone() });
        }
        let mut options = storage::Options::new(path);
        options.wal.file_size = LOG_FILE;
        // How long rows are kept is the daemon's to say.
        options.retention = storage::Retention { max_age: Duration::ZERO, max_size: 0 };
        // Nothing will be sealed beside this.
        options.disk_reserve = Some(0);
        Engine::open(options, Arc::new(disk.clone()), Arc::new(SystemClock))
    }

    fn merge_all(&self, engine: &Engine, disk: &CountedDisk, report: &mut Report) -> Result<(), Failure> {
        let options = Options { max_rows: self.max_rows, ..Options::default() };
        let progress = Progress::start();
        loop {
            let before = disk.counts();
            match merge_next(engine, &options, true, &|| progress.trace()) {
                Ok(None) => return Ok(()),
                Ok(Some(done)) => {
                    let line = Line::of(&done, disk.counts().since(before));
                    progress.merged(&line);
                    report.merges.push(line);
                }
                // Said at the end, with what else is wrong with the store.
                Err(MergeError::Damaged { .. } | MergeError::Ledger(_)) => {}
                Err(error) => return Err(vec![error.to_string()]),
            }
        }
    }
}

#[cfg(test)]
mod tests;
