//! A small store with a file of every kind, its rows, and which rows each byte of it belongs to.

use crate::support::fault_disk::{FaultDisk, Left};
use crate::support::poison_disk::{Poison, PoisonDisk, batch as poison_batch};
use crate::support::traces;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest as Request;
use prost::Message;
use sluice::model::{Batch, Trace};
use sluice::storage::clock::Clock;
use sluice::storage::disk::{Disk, read_file, replace_file};
use sluice::storage::files::Layout;
use sluice::storage::manifest::{self, FileKind, Found, Manifest};
use sluice::storage::query::Traces;
use sluice::storage::segment::{SectionKind, Segment};
use sluice::storage::wal::replay::replay;
use sluice::storage::wal::{FRAME_HEADER, Frame, FrameKind, HEADER_PAGE, Seed};
use sluice::storage::{Engine, Options, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

pub const ROOT: &str = "/store";

/// Trace and span.
pub type RowId = (Vec<u8>, Vec<u8>);
/// Every row with all it was sent with.
pub type Rows = BTreeMap<RowId, Vec<u8>>;

/// Always the same moment, so that every run writes the same bytes but for the store's id.
pub struct StillClock;

impl Clock for StillClock {
    fn wall(&self) -> u64 {
        1_700_000_500_000_000_000
    }
    fn boot(&self) -> u64 {
        1_000_000_000
    }
}

/// A part of a file: its name on the page, its bytes, and the rows that may be gone when it is damaged.
#[derive(Debug, Clone)]
pub struct Part {
    pub name: &'static str,
    pub bytes: Range<usize>,
    pub rows: BTreeSet<RowId>,
    /// Whether damage to it is told from what a crash leaves.
    pub known: bool,
}

/// A file and its parts. What no part covers has no meaning.
#[derive(Debug, Clone)]
pub struct File {
    pub kind: &'static str,
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub parts: Vec<Part>,
}

pub struct Fixture {
    pub disk: FaultDisk,
    pub rows: Rows,
    pub files: Vec<File>,
    /// A manifest of a while ago.
    pub old_manifest: Vec<u8>,
    /// Segments that it does not know of.
    pub files_since: Vec<PathBuf>,
}

pub fn options() -> Options {
    let mut options = Options::new(ROOT);
    options.wal.file_size = 16 << 10;
    options.wal.max_size = 160 << 10;
    options.block_size = 2 << 10;
    options.seal.workers = 1;
    options
}

pub fn open(disk: &FaultDisk) -> Result<Engine, sluice::storage::StorageError> {
    Engine::open(options(), Arc::new(disk.clone()), Arc::new(StillClock))
}

/// A request of one trace, from one of a few services; `only` is in no other segment.
fn batch(number: u64, first: u64, spans: u64, padding: usize, service: &str) -> Batch {
    let mut request = traces::request(number, 0, 0);
    let of_resource = &mut request.resource_spans[0];
    of_resource.resource.as_mut().unwrap().attributes = vec![traces::attribute("service.name", service)];
    of_resource.scope_spans[0].spans =
        (first..first + spans).map(|place| traces::span(number, place, padding)).collect();
    Batch::from_otlp(request.encode_to_vec().into()).unwrap().batch
}

fn append(engine: &Engine, batch: Batch) {
    let room = engine.reserve(batch.bytes().len(), batch.spans().len()).unwrap();
    let (done, answer) = mpsc::channel();
    engine.append(batch, room, Box::new(move |outcome| done.send(outcome).unwrap()));
    answer.recv().unwrap().unwrap();
}

/// Segments that share traces, batches set aside, a log of two files with spares beside them; then a kill.
fn history(disk: &FaultDisk, midway: &mut dyn FnMut(&FaultDisk)) -> Engine {
    let poisoned = PoisonDisk::new(disk.clone(), Poison::Damage);
    let engine = Engine::open(options(), Arc::new(poisoned), Arc::new(StillClock)).unwrap();
    (0..6).for_each(|number| {
        append(&engine, batch(number, 0, 3, 100 * number as usize, ["shop", "cart"][number as usize % 2]))
    });
    append(&engine, batch(6, 0, 2, 50, "only"));
    append(&engine, batch(7, 0, 8, 900, "shop"));
    while engine.flush().is_err() {}
    (0..3).for_each(|number| append(&engine, batch(number, 5, 2, 60, ["shop", "cart"][number as usize % 2])));
    (10..14).for_each(|number| append(&engine, batch(number, 0, 2, 300, ["shop", "cart"][number as usize % 2])));
    append(&engine, poison_batch(40, true));
    while engine.flush().is_err() {}
    midway(disk);
    // Log files that are free again.
    (30..33).for_each(|number| append(&engine, batch(number, 0, 1, 6_000, "shop")));
    while engine.flush().is_err() {}
    (20..24).for_each(|number| append(&engine, batch(number, 0, 3, 600, "shop")));
    engine
}

impl Fixture {
    pub fn new() -> Self {
        let disk = FaultDisk::default();
        let mut old_manifest = Vec::new();
        let midway = |disk: &FaultDisk| old_manifest = read_file(disk, &layout().root.join("manifest.a")).unwrap();
        let engine = history(&disk, &mut { midway });
        let rows = rows_of(&engine.snapshot(), &mut Vec::new());
        let killed = disk.after_crash(Left::All);
        drop(engine);
        let files = files(&killed, &rows);
        let known = Manifest::decode(&old_manifest).unwrap().next_segment;
        let since = manifest(&killed).files.into_iter().filter(|file| file.id >= known);
        let files_since = since.map(|file| layout().segment(file.id)).collect();
        Self { disk: killed, rows, files, old_manifest, files_since }
    }

    pub fn file(&self, kind: &str) -> &File {
        self.files.iter().find(|file| file.kind == kind).unwrap_or_else(|| panic!("no {kind}"))
    }

    /// A copy of the disk in which this file has these bytes.
    pub fn with(&self, path: &Path, bytes: &[u8]) -> FaultDisk {
        let disk = self.disk.after_crash(Left::All);
        put(&disk, path, bytes);
        disk
    }
}

pub fn put(disk: &FaultDisk, path: &Path, bytes: &[u8]) {
    replace_file(disk, path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap(), bytes).unwrap();
}

/// All rows of a snapshot, read both ways, and everything that is said.
pub fn rows_of(snapshot: &Snapshot, said: &mut Vec<String>) -> Rows {
    let mut rows = Rows::new();
    let mut traces = Traces::new(snapshot);
    while let Some(trace) = traces.next_trace() {
        let mut by_id = snapshot.trace(trace.id);
        assert_eq!(by_id.spans, trace.spans, "both ways to read agree");
        said.append(&mut by_id.warnings);
        add_rows(&trace, &mut rows);
        said.extend(trace.warnings);
    }
    said.append(&mut traces.warnings);
    rows
}

fn add_rows(trace: &Trace, rows: &mut Rows) {
    for mut of_resource in Request::decode(&*trace.to_otlp()).unwrap().resource_spans {
        for mut of_scope in std::mem::take(&mut of_resource.scope_spans) {
            let spans = std::mem::take(&mut of_scope.spans);
            let around = [of_resource.encode_to_vec(), of_scope.encode_to_vec()].concat();
            for span in spans {
                let content = [&*around, &span.encode_to_vec()].concat();
                assert!(rows.insert((span.trace_id, span.span_id), content).is_none(), "a row is shown twice");
            }
        }
    }
}

pub fn layout() -> Layout {
    Layout::new(Path::new(ROOT))
}

pub fn manifest(disk: &FaultDisk) -> Manifest {
    match manifest::load(disk, &layout()).unwrap() {
        Found::Manifest(manifest, _) => manifest,
        Found::Nothing | Found::Lost(_) => panic!("no manifest"),
    }
}

fn files(disk: &FaultDisk, rows: &Rows) -> Vec<File> {
    let (layout, manifest) = (layout(), manifest(disk));
    let mut files = Vec::new();
    for (kind, name) in [("manifest.a", "manifest.a"), ("manifest.b", "manifest.b")] {
        let (path, bytes) = read(disk, layout.root.join(name));
        let parts = vec![part("all of it", 0..bytes.len(), [])];
        files.push(File { kind, path, bytes, parts });
    }
    for live in &manifest.files {
        match live.kind {
            FileKind::SetAside => files.push(set_aside(disk, layout.set_aside(live.id), &manifest, live.id)),
            _ => files.push(segment(disk, layout.segment(live.id), rows)),
        }
    }
    files.extend(logs(disk, &manifest));
    let spare = disk.list(&layout.wal).unwrap().into_iter().find(|name| name.starts_with("spare")).expect("a spare");
    let (path, bytes) = read(disk, layout.wal.join(spare));
    files.push(File { kind: "spare log file", path, bytes, parts: Vec::new() });
    files
}

fn read(disk: &FaultDisk, path: PathBuf) -> (PathBuf, Vec<u8>) {
    let bytes = read_file(disk, &path).unwrap();
    (path, bytes)
}

fn part(name: &'static str, bytes: Range<usize>, rows: impl IntoIterator<Item = RowId>) -> Part {
    Part { name, bytes, rows: rows.into_iter().collect(), known: true }
}

fn segment(disk: &FaultDisk, path: PathBuf, rows: &Rows) -> File {
    let segment = Segment::open(disk, &path).unwrap();
    let bytes = read_file(disk, &path).unwrap();
    let (mut parts, mut own) = (vec![part("header", 0..40, [])], BTreeSet::new());
    for index in 0..segment.block_count() {
        let (offset, length) = segment.block_place(index).unwrap();
        let block = segment.block(index).unwrap();
        let ids = block.runs.iter().flat_map(|run| {
            block.rows[run.rows.clone()].iter().map(|row| (run.trace_id.0.to_vec(), row.row.span_id.0.to_vec()))
        });
        let block = part("block", offset as usize..(offset + u64::from(length)) as usize, ids);
        own.extend(block.rows.iter().cloned());
        parts.push(block);
    }
    for page in 0..segment.page_count() {
        let page = segment.page_ref(page).unwrap();
        parts.push(part("directory page", page.offset as usize..(page.offset + u64::from(page.length)) as usize, []));
    }
    // What other segments have too is taken from them.
    let only: Vec<_> = own.iter().filter(|row| contains(&rows[*row], b"only")).cloned().collect();
    for section in &segment.footer().sections {
        let rows = if section.kind == SectionKind::RESOURCES { only.clone() } else { Vec::new() };
        let bytes = section.offset as usize..(section.offset + section.length) as usize;
        parts.push(part(section_name(section.kind), bytes, rows));
    }
    let footer = parts.iter().map(|part| part.bytes.end).max().unwrap();
    parts.push(part("footer", footer..bytes.len() - 16, []));
    parts.push(part("trailer", bytes.len() - 16..bytes.len(), []));
    File { kind: "segment", path, bytes, parts }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

fn section_name(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::DIRECTORY_INDEX => "directory index",
        SectionKind::BLOCK_INDEX => "block index",
        SectionKind::RESOURCES => "resources",
        SectionKind::SCOPES => "scopes",
        SectionKind::FILTER => "filter",
        SectionKind::NAMES => "names",
        SectionKind::LATENCY_INDEX => "latency index",
        SectionKind::START_TIME_INDEX => "start time index",
        other => panic!("section {other:?}"),
    }
}

fn ids_of(payload: &[u8]) -> Vec<RowId> {
    let batch = Batch::from_otlp(payload.to_vec().into()).unwrap().batch;
    batch.spans().iter().map(|head| (head.trace_id.0.to_vec(), head.span_id.0.to_vec())).collect()
}

fn set_aside(disk: &FaultDisk, path: PathBuf, manifest: &Manifest, id: u64) -> File {
    let (path, bytes) = read(disk, path);
    let mut parts = vec![part("header", 0..44, [])];
    let (seed, mut at) = (Seed::new(&manifest.store, id), 48);
    while let Some(frame) = Frame::decode(&bytes[at..], seed) {
        let end = at + FRAME_HEADER + frame.payload_len as usize;
        match frame.kind {
            FrameKind::Batch => parts.push(part("frame", at..end, ids_of(&bytes[at + FRAME_HEADER..end]))),
            FrameKind::End => parts.push(part("end mark", at..end, [])),
        }
        at += frame.size() as usize;
        if at >= bytes.len() {
            break;
        }
    }
    File { kind: "set-aside file", path, bytes, parts }
}

/// The log's files: the older one, which is closed, and the newest.
fn logs(disk: &FaultDisk, manifest: &Manifest) -> Vec<File> {
    let mut found: BTreeMap<PathBuf, Vec<(usize, Vec<u8>)>> = BTreeMap::new();
    replay(disk, &layout(), &manifest.store, manifest.position, &mut |batch| {
        found.entry(batch.path).or_default().push((batch.offset as usize, batch.payload.to_vec()));
    })
    .unwrap();
    assert_eq!(found.len(), 2, "a closed log file and the newest one");
    let kinds = ["closed log file", "newest log file"];
    let file = |(kind, (path, frames)): (&'static str, (PathBuf, Vec<(usize, Vec<u8>)>))| {
        let (path, bytes) = read(disk, path);
        let mut parts = vec![part("header copy", 0..84, []), part("header copy", 4096..4096 + 84, [])];
        let count = frames.len();
        for (index, (at, payload)) in frames.into_iter().enumerate() {
            assert!(at as u64 >= HEADER_PAGE);
            let last = kind == "newest log file" && index + 1 == count;
            let name = if last { "last frame" } else { "frame" };
            let bytes = at..at + FRAME_HEADER + payload.len();
            parts.push(Part { known: !last, ..part(name, bytes, ids_of(&payload)) });
        }
        File { kind, path, bytes, parts }
    };
    kinds.into_iter().zip(found).map(file).collect()
}
