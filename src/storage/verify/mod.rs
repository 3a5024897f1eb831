//! Reading every byte of a store and saying what is not as it was written.

mod finding;
mod log;
mod strays;

pub use finding::{Cost, Finding, Kind, Loss, Remedy, Severity};

use super::disk::Disk;
use super::files::Layout;

/// What verifying a store gave.
#[derive(Debug, Default)]
pub struct Report {
    pub findings: Vec<Finding>,
    pub frames: u64,
}

/// A verification on its way.
struct Check<'a> {
    disk: &'a dyn Disk,
    layout: &'a Layout,
    report: Report,
}
