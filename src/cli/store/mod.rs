//! `sluice store …`: looks into a directory that no daemon holds, reads it out, and merges its segments.

mod export;
mod inspect;
mod merge;

use super::Failure;
use crate::storage::OpenStore;
use crate::storage::disk::SystemDisk;
use clap::Subcommand;
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum Store {
    /// Say what a store holds
    Inspect(inspect::Inspect),
    /// Write every span once, as OTLP, to standard output
    Export(export::Export),
    /// Put segments together until nothing is left to merge
    Merge(merge::Merge),
}

impl Store {
    pub fn execute(&self) -> Result<(), Failure> {
        match self {
            Self::Inspect(inspect) => inspect.execute(),
            Self::Export(export) => export.execute(),
            Self::Merge(merge) => merge.execute(),
        }
    }
}

/// The directory of a store.
#[derive(Debug, clap::Args)]
struct Directory {
    /// The directory of a store that no daemon has open
    #[arg(value_name = "DIR")]
    path: PathBuf,
}

impl Directory {
    fn open(&self) -> Result<OpenStore, Failure> {
        OpenStore::open(&self.path, &SystemDisk).map_err(|error| vec![error.to_string()])
    }
}

/// What of the log and the manifest could not be read, a sentence each.
fn found_damage(store: &OpenStore) -> Vec<String> {
    let holes = store.found.holes.iter().map(ToString::to_string);
    store.found.notes.iter().cloned().chain(holes).collect()
}

/// Everything that is wrong with what was read, on standard error; an error when there is any.
fn complain(warnings: &[String]) -> Result<(), Failure> {
    if warnings.is_empty() {
        return Ok(());
    }
    // One damaged block is met by every trace in it.
    let mut known = BTreeSet::new();
    let mut lines: Vec<_> = warnings.iter().filter(|warning| known.insert(*warning)).cloned().collect();
    lines.push(format!("{} places could not be read; what was written is without them", lines.len()));
    Err(lines)
}
