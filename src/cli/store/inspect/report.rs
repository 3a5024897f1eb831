//! What is said of a store. Names here are an interface: `docs/components/storage.md` says what each means.

use super::segment::SegmentReport;
use crate::cli::Failure;
use crate::model::time::rfc3339;
use crate::storage::OpenStore;
use crate::storage::disk::{Disk, SystemDisk};
use crate::storage::files::{log_id, spare_id};
use crate::storage::manifest::{FileKind, LiveFile};
use crate::storage::query::{Limits, Summary, summarize};
use crate::storage::set_aside::SetAside;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Report {
    pub directory: String,
    pub segments: u64,
    pub unjudged_segments: u64,
    pub memtable_spans: u64,
    pub set_aside_spans: u64,
    pub spans: u64,
    pub traces: u64,
    pub services: u64,
    pub bytes: u64,
    pub segment_bytes: u64,
    pub wal_bytes: u64,
    pub set_aside_bytes: u64,
    pub min_time: Option<String>,
    pub max_time: Option<String>,
    pub epoch: u64,
    pub position: u64,
    pub files: Vec<SegmentReport>,
    pub unreadable: Vec<Named>,
    pub set_aside: Vec<SetAsideFile>,
    pub log_files: Vec<LogFile>,
    pub damage: Vec<String>,
}

/// A file as the manifest knows it.
#[derive(Debug, Serialize)]
pub struct Named {
    pub id: u64,
    pub bytes: u64,
    pub rows: u64,
    pub traces: u64,
    pub min_lsn: u64,
    pub max_lsn: u64,
    pub first_received: String,
    pub last_received: String,
}

#[derive(Debug, Serialize)]
pub struct SetAsideFile {
    pub batches: u64,
    #[serde(flatten)]
    pub file: Named,
}

#[derive(Debug, Serialize)]
pub struct LogFile {
    pub id: u64,
    pub bytes: u64,
    /// Nothing lives in it; it waits to be used again.
    pub spare: bool,
}

impl Report {
    pub fn of(directory: &str, store: &OpenStore) -> Result<Self, Failure> {
        let summary = summarize(&store.snapshot);
        let Summary { segment_bytes, set_aside_bytes, times, .. } = summary;
        let services = store.snapshot.services(Limits::NONE).map_err(|stopped| vec![stopped.to_string()])?;
        let mut damage = crate::cli::store::found_damage(store);
        damage.extend(summary.warnings);
        damage.extend(store.snapshot.segments.iter().flat_map(|segment| segment.damaged_sections()));
        let files = &store.directory.manifest.files;
        let kind = |id| files.iter().find(|file| file.id == id).map_or(FileKind::Segment, |file| file.kind);
        Ok(Self {
            directory: directory.to_owned(),
            segments: summary.segments,
            unjudged_segments: summary.unjudged_segments,
            memtable_spans: summary.memtable_spans,
            set_aside_spans: summary.set_aside_spans,
            spans: summary.spans,
            traces: summary.traces,
            services: services.found.len() as u64,
            bytes: segment_bytes + store.log_bytes + set_aside_bytes,
            segment_bytes,
            wal_bytes: store.log_bytes,
            set_aside_bytes,
            min_time: times.map(|(start, _)| rfc3339(start)),
            max_time: times.map(|(_, end)| rfc3339(end)),
            epoch: store.directory.manifest.epoch,
            position: store.directory.manifest.position,
            files: store.snapshot.segments.iter().map(|it| SegmentReport::of(it, kind(it.footer().id))).collect(),
            unreadable: store.snapshot.unreadable.iter().map(|it| Named::of(&it.file)).collect(),
            set_aside: store.snapshot.set_aside.iter().map(|it| SetAsideFile::of(it)).collect(),
            log_files: log_files(store)?,
            damage,
        })
    }
}

impl Named {
    fn of(file: &LiveFile) -> Self {
        Self {
            id: file.id,
            bytes: file.bytes,
            rows: file.rows,
            traces: file.traces,
            min_lsn: file.lsns.0,
            max_lsn: file.lsns.1,
            first_received: rfc3339(file.received.0),
            last_received: rfc3339(file.received.1),
        }
    }
}

impl SetAsideFile {
    fn of(set_aside: &SetAside) -> Self {
        Self { batches: set_aside.batches(), file: Named::of(&set_aside.file) }
    }
}

/// Log files by id.
fn log_files(store: &OpenStore) -> Result<Vec<LogFile>, Failure> {
    let dir = &store.directory.layout.wal;
    let failed = |error: std::io::Error| vec![format!("{}: {error}", dir.display())];
    let mut files = Vec::new();
    for name in SystemDisk.list(dir).map_err(failed)? {
        let (live, spare) = (log_id(&name), spare_id(&name));
        if let Some(id) = live.or(spare) {
            let bytes = SystemDisk.open(&dir.join(&name)).and_then(|file| file.len()).map_err(failed)?;
            files.push(LogFile { id, bytes, spare: live.is_none() });
        }
    }
    files.sort_by_key(|file| (file.spare, file.id));
    Ok(files)
}
