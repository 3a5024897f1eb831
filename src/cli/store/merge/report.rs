//! What was merged. Names here are an interface.

use super::Counts;
use crate::cli::Failure;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Report {
    pub directory: String,
    /// Segments that there are now.
    pub segments: u64,
    pub merges: Vec<Merge>,
}

/// One merge, or all of them together.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Merge {
    /// Ids of segments.
    pub inputs: Vec<u64>,
    pub outputs: Vec<u64>,
    /// Rows and traces written.
    pub rows: u64,
    pub traces: u64,
    /// Rows left out: a later delivery of the same span is there.
    pub collapsed: u64,
    /// Bytes of the segments' files.
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub seconds: f64,
    /// Nanoseconds for each row that was read.
    pub ns_per_row: f64,
    /// What the disk was asked, the manifest included.
    pub bytes_written: u64,
    pub write_calls: u64,
    pub syncs: u64,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a Report,
    total: Merge,
}

impl Merge {
    pub fn of(done: &crate::merge::Report, disk: Counts) -> Self {
        let merge = Self {
            inputs: done.inputs.clone(),
            outputs: done.outputs.clone(),
            rows: done.rows,
            traces: done.traces,
            collapsed: done.collapsed,
            bytes_in: done.bytes_in,
            bytes_out: done.bytes_out,
            seconds: done.wall.as_secs_f64(),
            ns_per_row: 0.0,
            bytes_written: disk.bytes,
            write_calls: disk.writes,
            syncs: disk.syncs,
        };
        merge.with_speed()
    }

    fn with_speed(mut self) -> Self {
        self.ns_per_row = self.seconds * 1e9 / (self.rows + self.collapsed).max(1) as f64;
        self
    }

    fn add(&mut self, more: &Self) {
        self.inputs.extend_from_slice(&more.inputs);
        self.outputs.extend_from_slice(&more.outputs);
        self.rows += more.rows;
        self.traces += more.traces;
        self.collapsed += more.collapsed;
        self.bytes_in += more.bytes_in;
        self.bytes_out += more.bytes_out;
        self.seconds += more.seconds;
        self.bytes_written += more.bytes_written;
        self.write_calls += more.write_calls;
        self.syncs += more.syncs;
    }

    fn line(&self, name: &str) -> String {
        let (inputs, outputs) = (self.inputs.len(), self.outputs.len());
        let Self { rows, traces, collapsed, bytes_in, bytes_out, seconds, ns_per_row, .. } = self;
        let Self { bytes_written, write_calls, syncs, .. } = self;
        format!(
            "{name:>6} {inputs:>6} {outputs:>7} {rows:>12} {traces:>10} {collapsed:>10} {bytes_in:>14} {bytes_out:>14} \
             {seconds:>9.3} {ns_per_row:>8.0} {bytes_written:>14} {write_calls:>7} {syncs:>6}\n"
        )
    }
}

impl Report {
    pub fn new(directory: &str) -> Self {
        Self { directory: directory.to_owned(), segments: 0, merges: Vec::new() }
    }

    fn total(&self) -> Merge {
        let mut total = Merge::default();
        self.merges.iter().for_each(|merge| total.add(merge));
        total.with_speed()
    }

    pub fn json(&self) -> Result<String, Failure> {
        let document = Document { report: self, total: self.total() };
        Ok(format!("{}\n", serde_json::to_string_pretty(&document).map_err(|error| vec![error.to_string()])?))
    }

    pub fn table(&self) -> String {
        let mut text = format!("directory {}\nsegments  {}\n", self.directory, self.segments);
        if self.merges.is_empty() {
            return text + "nothing to merge\n";
        }
        text += &format!(
            "\n{:>6} {:>6} {:>7} {:>12} {:>10} {:>10} {:>14} {:>14} {:>9} {:>8} {:>14} {:>7} {:>6}\n",
            "merge",
            "inputs",
            "outputs",
            "rows",
            "traces",
            "collapsed",
            "bytes in",
            "bytes out",
            "seconds",
            "ns/row",
            "bytes written",
            "writes",
            "syncs"
        );
        for (merge, number) in self.merges.iter().zip(1..) {
            text += &merge.line(&number.to_string());
        }
        text + &self.total().line("total")
    }
}
