//! `sluice store inspect`.

use super::Directory;
use crate::cli::{Failure, print};
use crate::model::time::rfc3339;
use crate::storage::OpenStore;
use crate::storage::query::{Summary, summarize};
use crate::storage::segment::Segment;
use crate::storage::set_aside::SetAside;
use clap::{Args, ValueEnum};
use serde::Serialize;

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

/// What is said of a store. Names here are an interface.
#[derive(Debug, Serialize)]
struct Report {
    directory: String,
    segments: u64,
    /// Segments with traces that have no verdict.
    unjudged_segments: u64,
    /// Deliveries that are in the log only, duplicates included.
    memtable_spans: u64,
    /// Deliveries that could not be sealed; they are readable.
    set_aside_spans: u64,
    /// Spans and traces as readers see them: duplicates once, fragments together.
    spans: u64,
    traces: u64,
    /// Bytes of segments, log files and set-aside files.
    bytes: u64,
    segment_bytes: u64,
    wal_bytes: u64,
    set_aside_bytes: u64,
    /// RFC 3339; null where there are no spans.
    min_time: Option<String>,
    max_time: Option<String>,
    epoch: u64,
    /// Rows below this LSN are in segments.
    position: u64,
    files: Vec<File>,
    set_aside: Vec<SetAsideFile>,
    /// What could not be read, and so is not counted.
    damage: Vec<String>,
}

#[derive(Debug, Serialize)]
struct File {
    id: u64,
    bytes: u64,
    rows: u64,
    traces: u64,
    blocks: u64,
    unjudged: u64,
    min_lsn: u64,
    max_lsn: u64,
    first_received: String,
    last_received: String,
    min_time: String,
    max_time: String,
}

#[derive(Debug, Serialize)]
struct SetAsideFile {
    id: u64,
    bytes: u64,
    batches: u64,
    rows: u64,
    min_lsn: u64,
    max_lsn: u64,
    first_received: String,
    last_received: String,
}

impl Inspect {
    pub fn execute(&self) -> Result<(), Failure> {
        let store = self.directory.open()?;
        let report = Report::of(&self.directory.path.display().to_string(), &store);
        match self.format {
            Format::Json => {
                print(&format!("{}\n", serde_json::to_string_pretty(&report).map_err(|e| vec![e.to_string()])?))
            }
            Format::Table => print(&report.table()),
        }
    }
}

impl Report {
    fn of(directory: &str, store: &OpenStore) -> Self {
        let summary = summarize(&store.snapshot);
        let Summary { segment_bytes, set_aside_bytes, times, .. } = summary;
        let mut damage = super::found_damage(store);
        damage.extend(summary.warnings);
        Self {
            directory: directory.to_owned(),
            segments: summary.segments,
            unjudged_segments: summary.unjudged_segments,
            memtable_spans: summary.memtable_spans,
            set_aside_spans: summary.set_aside_spans,
            spans: summary.spans,
            traces: summary.traces,
            bytes: segment_bytes + store.log_bytes + set_aside_bytes,
            segment_bytes,
            wal_bytes: store.log_bytes,
            set_aside_bytes,
            min_time: times.map(|(start, _)| rfc3339(start)),
            max_time: times.map(|(_, end)| rfc3339(end)),
            epoch: store.directory.manifest.epoch,
            position: store.directory.manifest.position,
            files: store.snapshot.segments.iter().map(|segment| File::of(segment)).collect(),
            set_aside: store.snapshot.set_aside.iter().map(|set_aside| SetAsideFile::of(set_aside)).collect(),
            damage,
        }
    }

    fn table(&self) -> String {
        let mut text = String::new();
        let none = || "-".to_owned();
        let rows = [
            ("directory", self.directory.clone()),
            ("traces", self.traces.to_string()),
            ("spans", self.spans.to_string()),
            ("earliest start", self.min_time.clone().unwrap_or_else(none)),
            ("latest end", self.max_time.clone().unwrap_or_else(none)),
            ("segments", format!("{} ({} with unjudged traces)", self.segments, self.unjudged_segments)),
            ("in the log only", format!("{} spans", self.memtable_spans)),
            ("set aside", format!("{} spans, in {} files", self.set_aside_spans, self.set_aside.len())),
            (
                "bytes",
                format!(
                    "{} ({} in segments, {} in log files, {} set aside)",
                    self.bytes, self.segment_bytes, self.wal_bytes, self.set_aside_bytes
                ),
            ),
            ("damage", format!("{} places; blocks are read by store export only", self.damage.len())),
        ];
        rows.iter().for_each(|(name, value)| text.push_str(&format!("{name:<16} {value}\n")));
        self.damage.iter().for_each(|place| text.push_str(&format!("  {place}\n")));
        if !self.files.is_empty() {
            let (first, last) = ("first received", "last received");
            text.push_str(&format!(
                "\n{:>8} {:>12} {:>10} {:>9} {first:>30}  {last}\n",
                "segment", "bytes", "rows", "traces"
            ));
        }
        self.files.iter().for_each(|file| text.push_str(&file.line()));
        self.set_aside.iter().for_each(|file| text.push_str(&file.line()));
        text
    }
}

impl SetAsideFile {
    fn of(set_aside: &SetAside) -> Self {
        let file = &set_aside.file;
        Self {
            id: file.id,
            bytes: file.bytes,
            batches: set_aside.batches(),
            rows: file.rows,
            min_lsn: file.lsns.0,
            max_lsn: file.lsns.1,
            first_received: rfc3339(file.received.0),
            last_received: rfc3339(file.received.1),
        }
    }

    fn line(&self) -> String {
        let Self { id, batches, rows, bytes, .. } = self;
        format!("set aside, file {id}: {batches} batches, {rows} rows, {bytes} bytes\n")
    }
}

impl File {
    fn of(segment: &Segment) -> Self {
        let footer = segment.footer();
        Self {
            id: footer.id,
            bytes: segment.size(),
            rows: footer.rows,
            traces: footer.traces,
            blocks: footer.blocks,
            unjudged: footer.unjudged,
            min_lsn: footer.lsns.0,
            max_lsn: footer.lsns.1,
            first_received: rfc3339(footer.received.0),
            last_received: rfc3339(footer.received.1),
            min_time: rfc3339(footer.times.0),
            max_time: rfc3339(footer.times.1),
        }
    }

    fn line(&self) -> String {
        let Self { id, bytes, rows, traces, first_received, last_received, .. } = self;
        format!("{id:>8} {bytes:>12} {rows:>10} {traces:>9} {first_received:>30}  {last_received}\n")
    }
}
