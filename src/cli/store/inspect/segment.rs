//! What is said of one segment.

use crate::model::time::rfc3339;
use crate::storage::manifest::FileKind;
use crate::storage::segment::{Codec, SectionKind, Segment};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
pub struct SegmentReport {
    pub id: u64,
    pub kind: &'static str,
    pub bytes: u64,
    pub rows: u64,
    pub traces: u64,
    pub blocks: u64,
    pub unjudged: u64,
    pub min_lsn: u64,
    pub max_lsn: u64,
    pub first_received: String,
    pub last_received: String,
    pub min_time: String,
    pub max_time: String,
    pub codec: Option<&'static str>,
    pub inputs: Vec<u64>,
    pub sections: BTreeMap<&'static str, u64>,
}

impl SegmentReport {
    pub fn of(segment: &Segment, kind: FileKind) -> Self {
        let footer = segment.footer();
        Self {
            id: footer.id,
            kind: if kind == FileKind::Remainder { "remainder" } else { "segment" },
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
            codec: segment.codec().map(name_of),
            inputs: footer.inputs.clone(),
            sections: sections(segment),
        }
    }
}

fn name_of(codec: Codec) -> &'static str {
    match codec {
        Codec::None => "none",
        Codec::Lz4 => "lz4",
        Codec::Zstd => "zstd",
    }
}

const NAMES: [(SectionKind, &str); 8] = [
    (SectionKind::BLOCK_INDEX, "block_index"),
    (SectionKind::DIRECTORY_INDEX, "directory_index"),
    (SectionKind::RESOURCES, "resources"),
    (SectionKind::SCOPES, "scopes"),
    (SectionKind::FILTER, "filter"),
    (SectionKind::NAMES, "names"),
    (SectionKind::LATENCY_INDEX, "latency_index"),
    (SectionKind::START_TIME_INDEX, "start_time_index"),
];

/// Bytes of the file by what they are for; `other` is header, footer and what this version does not know.
fn sections(segment: &Segment) -> BTreeMap<&'static str, u64> {
    let blocks = (0..segment.block_count()).filter_map(|block| segment.block_place(block));
    let pages = (0..segment.page_count()).filter_map(|page| segment.page_ref(page));
    let mut bytes: BTreeMap<_, u64> = NAMES
        .iter()
        .map(|(kind, name)| (*name, segment.footer().sections_of(*kind).map(|section| section.length).sum()))
        .collect();
    bytes.insert("blocks", blocks.map(|(_, length)| u64::from(length)).sum());
    bytes.insert("directory", pages.map(|page| u64::from(page.length)).sum());
    let known: u64 = bytes.values().sum();
    bytes.insert("other", segment.size().saturating_sub(known));
    bytes
}
