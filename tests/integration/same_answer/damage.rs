//! What is damaged costs what it holds. Sections that only speed an answer up cost nothing; an answer from which something
//! may be missing says so.

use crate::shared::fault_disk::FaultDisk;
use crate::shared::plain::Plain;
use crate::shared::questions::Asking;
use crate::shared::{store, traces};
use prost::Message;
use sluice::model::{Trace, TraceQuery};
use sluice::storage::disk::Disk;
use sluice::storage::query::Limits;
use sluice::storage::segment::{SectionKind, Segment};
use sluice::storage::{OpenStore, Options};
use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

/// A closed store of traces that are in several segments, the plain copy of it, and questions.
struct World {
    disk: FaultDisk,
    plain: Plain,
    questions: Vec<TraceQuery>,
}

impl World {
    fn new() -> Self {
        let requests: Vec<_> = (0..120u64).map(|n| traces::request(n % 70, 1 + n % 7, 30).encode_to_vec()).collect();
        let disk = FaultDisk::default();
        let mut options = Options::new("/store");
        (options.wal.file_size, options.wal.max_size, options.block_size) = (128 << 10, 1 << 20, 4 << 10);
        let engine = store::open(options, Arc::new(disk.clone()));
        for part in requests.chunks(30) {
            store::append_all(&engine, part.iter().map(|request| &**request));
            engine.flush().unwrap();
        }
        engine.shutdown();
        drop(engine);
        let plain = Plain::of(requests.iter().map(|request| &**request));
        let mut asking = Asking::new(&plain, 3);
        let questions = (0..40).map(|_| asking.question()).collect();
        Self { disk, plain, questions }
    }

    fn open(&self) -> OpenStore {
        OpenStore::open(Path::new("/store"), &self.disk).unwrap()
    }

    /// Does something while the byte at this place of a segment's file is another.
    fn with_flipped<T>(&self, segment: &Segment, offset: u64, then: impl FnOnce(&OpenStore) -> T) -> T {
        let file = self.disk.open(segment.path()).unwrap();
        let mut byte = [0];
        file.read_at(&mut byte, offset).unwrap();
        file.write_at(&[IoSlice::new(&[byte[0] ^ 0x20])], offset).unwrap();
        let outcome = then(&self.open());
        file.write_at(&[IoSlice::new(&byte)], offset).unwrap();
        outcome
    }

    /// Panics where an answer without a warning is not the whole answer. `true` where every answer was whole.
    fn check(&self, store: &OpenStore, what: &str) -> bool {
        let (snapshot, mut whole) = (&store.snapshot, true);
        for query in &self.questions {
            let answer = snapshot.find(query, Limits::NONE).unwrap();
            if answer.warnings.is_empty() {
                assert_eq!(answer.found, self.plain.find(query), "{what}: {query:?}");
            }
            whole &= answer.warnings.is_empty();
        }
        let services = snapshot.services(Limits::NONE).unwrap();
        assert!(!services.warnings.is_empty() || services.found == self.plain.services(), "{what}");
        let operations = snapshot.operations("shop", Limits::NONE).unwrap();
        assert!(!operations.warnings.is_empty() || operations.found == self.plain.operations("shop"), "{what}");
        for (id, spans) in &self.plain.traces {
            let trace = snapshot.trace(*id, Limits::NONE).unwrap();
            assert!(
                trace.spans.len() <= spans.len()
                    && trace.spans.iter().all(|span| spans.iter().any(|known| known.span_id == span.row.span_id.0))
            );
            assert!(!trace.warnings.is_empty() || trace.spans.len() == spans.len(), "{what}: trace {id}");
            whole &= trace.warnings.is_empty();
        }
        whole && services.warnings.is_empty() && operations.warnings.is_empty()
    }
}

#[test]
fn a_damaged_filter_name_list_or_index_changes_no_answer() {
    let world = World::new();
    let store = world.open();
    assert!(world.check(&store, "sound"));
    let optional = [SectionKind::FILTER, SectionKind::NAMES, SectionKind::LATENCY_INDEX, SectionKind::START_TIME_INDEX];
    for segment in store.snapshot.segments.iter() {
        for section in segment.footer().sections.iter().filter(|section| optional.contains(&section.kind)) {
            for offset in [0, 4, 9, section.length / 2, section.length - 1] {
                let what = format!("{} byte {offset} of {:?}", segment.path().display(), section.kind);
                let whole = world.with_flipped(segment, section.offset + offset, |store| {
                    let noticed = store.snapshot.segments.iter().any(|segment| !segment.damaged_sections().is_empty());
                    assert!(noticed, "{what}: nothing says so");
                    world.check(store, &what)
                });
                assert!(whole, "{what}");
            }
        }
    }
}

#[test]
fn what_a_damaged_page_block_or_table_costs_is_said() {
    let world = World::new();
    let store = world.open();
    for segment in store.snapshot.segments.iter() {
        let pages = (0..segment.page_count())
            .filter_map(|page| segment.page_ref(page))
            .map(|page| (page.offset, page.length.into()));
        let blocks = (0..segment.block_count())
            .filter_map(|block| segment.block_place(block))
            .map(|(at, length)| (at, length.into()));
        let tables = [SectionKind::RESOURCES, SectionKind::SCOPES];
        let sections = segment.footer().sections.iter().filter(|section| tables.contains(&section.kind));
        let parts = pages.chain(blocks).chain(sections.map(|section| (section.offset, section.length)));
        for (offset, length) in parts.collect::<Vec<(u64, u64)>>() {
            let what = format!("{} from {offset}", segment.path().display());
            let whole = world.with_flipped(segment, offset + length / 2, |store| world.check(store, &what));
            assert!(!whole, "{what}: nothing was missed");
        }
    }
}

/// The rows of a trace whose resource is lost are left out and said; all the others are shown.
#[test]
fn a_lost_resource_costs_its_rows_and_nothing_else() {
    let world = World::new();
    let store = world.open();
    let (mut shown, mut lost) = (0, 0);
    // Read before anything is damaged: tables are read when they are needed.
    let whole: Vec<Trace> =
        world.plain.traces.keys().map(|id| store.snapshot.trace(*id, Limits::NONE).unwrap()).collect();
    // In some segments every row is one that another has as well.
    for segment in store.snapshot.segments.iter() {
        let mut sections = segment.footer().sections.iter();
        let resources = sections.find(|section| section.kind == SectionKind::RESOURCES).unwrap();
        world.with_flipped(segment, resources.offset + 5, |damaged| {
            for before in &whole {
                let after = damaged.snapshot.trace(before.id, Limits::NONE).unwrap();
                // A span that another segment has as well is shown nevertheless.
                let same = before.spans == after.spans;
                assert!(same || !after.warnings.is_empty(), "trace {}: {} spans", before.id, after.spans.len());
                shown += after.spans.len();
                lost += before.spans.len() - after.spans.len();
            }
        });
    }
    assert!(shown > 0 && lost > 0, "{shown} shown, {lost} lost");
}
