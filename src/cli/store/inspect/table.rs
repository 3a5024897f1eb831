//! The report for people.

use super::report::{Named, Report, SetAsideFile};
use super::segment::SegmentReport;
use std::fmt::Write;

pub fn of(report: &Report) -> String {
    let mut text = String::new();
    rows(report).iter().for_each(|(name, value)| line(&mut text, &format!("{name:<16} {value}")));
    report.damage.iter().for_each(|place| line(&mut text, &format!("  {place}")));
    named(&mut text, "unreadable", &report.unreadable);
    report.set_aside.iter().for_each(|file| line(&mut text, &of_set_aside(file)));
    if !report.files.is_empty() {
        line(&mut text, "");
        line(&mut text, &heading());
    }
    report.files.iter().for_each(|file| line(&mut text, &of_segment(file)));
    text
}

fn line(text: &mut String, words: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{words}");
}

fn rows(report: &Report) -> [(&'static str, String); 12] {
    let none = || "-".to_owned();
    let spare = report.log_files.iter().filter(|file| file.spare).count();
    let Report { bytes, segment_bytes, wal_bytes, set_aside_bytes, segments, unjudged_segments, .. } = report;
    [
        ("directory", report.directory.clone()),
        ("traces", report.traces.to_string()),
        ("spans", report.spans.to_string()),
        ("services", report.services.to_string()),
        ("earliest start", report.min_time.clone().unwrap_or_else(none)),
        ("latest end", report.max_time.clone().unwrap_or_else(none)),
        ("segments", format!("{segments} ({unjudged_segments} with unjudged traces)")),
        ("in the log only", format!("{} spans", report.memtable_spans)),
        ("set aside", format!("{} spans, in {} files", report.set_aside_spans, report.set_aside.len())),
        ("log files", format!("{}, {spare} of them spare", report.log_files.len())),
        (
            "bytes",
            format!("{bytes} ({segment_bytes} in segments, {wal_bytes} in log files, {set_aside_bytes} set aside)"),
        ),
        ("damage", format!("{} places; blocks are read by store export only", report.damage.len())),
    ]
}

fn named(text: &mut String, what: &str, files: &[Named]) {
    files.iter().for_each(|file| line(text, &of_file(what, file)));
}

fn of_file(what: &str, Named { id, bytes, rows, traces, .. }: &Named) -> String {
    format!("{what:<16} file {id}: {bytes} bytes, {rows} rows, {traces} traces")
}

fn of_set_aside(SetAsideFile { batches, file }: &SetAsideFile) -> String {
    format!("{}, {batches} batches", of_file("set aside", file))
}

fn heading() -> String {
    let (first, last) = ("first received", "last received");
    format!(
        "{:>8} {:>9} {:>12} {:>10} {:>9} {:>9} {:>6} {first:>30}  {last}",
        "segment", "kind", "bytes", "rows", "traces", "unjudged", "codec"
    )
}

fn of_segment(file: &SegmentReport) -> String {
    let SegmentReport { id, kind, bytes, rows, traces, unjudged, first_received, last_received, .. } = file;
    let codec = file.codec.unwrap_or("-");
    format!(
        "{id:>8} {kind:>9} {bytes:>12} {rows:>10} {traces:>9} {unjudged:>9} {codec:>6} {first_received:>30}  {last_received}"
    )
}
