//! `sluice store inspect`.

mod report;
mod segment;
mod table;

use super::Directory;
use crate::cli::{Failure, print};
use clap::{Args, ValueEnum};
use report::Report;

#[derive(Debug, Args)]
pub struct Inspect {
    #[command(flatten)]
    directory: Directory,
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Json,
    Table,
}

impl Inspect {
    pub fn execute(&self) -> Result<(), Failure> {
        let store = self.directory.open()?;
        let report = Report::of(&self.directory.path.display().to_string(), &store)?;
        match self.format {
            Format::Json => {
                print(&format!("{}\n", serde_json::to_string_pretty(&report).map_err(|e| vec![e.to_string()])?))
            }
            Format::Table => print(&table::of(&report)),
        }
    }
}
