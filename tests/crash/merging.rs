//! What a merge promises to those beside it: readers, senders, seals, expiry, a stop; and what it does where something is
//! wrong.

use crate::support::fault_disk::FaultDisk;
use crate::support::hold_disk::{Gate, HoldDisk};
use crate::support::stores::{self, ROOT, TestClock, append, files, ids, names, open, read, small};
use crate::support::traces;
use sluice::merge::stages::STAGES;
use sluice::merge::{self, MergeError, Mergers, Report, merge_next};
use sluice::storage::Engine;
use sluice::storage::counted::CountedDisk;
use sluice::storage::disk::{read_file, replace_file};
use sluice::storage::files::Layout;
use sluice::storage::segment::Footer;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Only a hang exceeds it.
const LONG: Duration = Duration::from_secs(60);

fn options() -> merge::Options {
    merge::Options::default()
}

fn merge_all(engine: &Engine) -> Result<Report, MergeError> {
    stores::merge(engine, None, &options())
}

/// Appends and seals this many segments of a few traces each; traces go on from one to the next.
fn fill(engine: &Engine, segments: u64) {
    for part in 0..segments {
        for number in 0..8 {
            append(engine, traces::batch(number + part, part % 3 + 1, 2_000));
        }
        engine.flush().unwrap();
    }
}

fn filled(segments: u64) -> (Engine, FaultDisk) {
    let disk = FaultDisk::default();
    let engine = open(disk.clone(), small(), &TestClock::default()).unwrap();
    fill(&engine, segments);
    (engine, disk)
}

/// Waits for something that another thread does.
fn wait_until(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < LONG, "{what} does not happen");
        std::thread::yield_now();
    }
}

#[test]
fn a_snapshot_held_over_a_merge_and_over_expiry_never_changes_and_keeps_its_files_until_it_goes() {
    let (engine, disk) = filled(4);
    let (sealed, held) = (ids(&engine), engine.snapshot());
    let before = read(&held);
    let merged = merge_all(&engine).unwrap().outputs;
    assert_eq!(ids(&engine), merged);
    assert_eq!(files(&disk), names(&[&sealed[..], &merged].concat()), "the held segments have their files");
    assert!(read(&held) == before);
    let over_merge = engine.snapshot();
    engine.expire(&merged).unwrap();
    assert!(read(&engine.snapshot()).is_empty());
    assert!(read(&held) == before && read(&over_merge) == before);
    drop(held);
    assert_eq!(files(&disk), names(&merged), "what only the first one held is gone");
    assert!(read(&over_merge) == before);
    drop(over_merge);
    assert_eq!(files(&disk), names(&[]));
}

#[test]
fn reads_appends_seals_and_expiry_go_on_while_a_merge_is_held_up_at_either_end() {
    for (create, rename) in [(Gate::Closed, Gate::Open), (Gate::Open, Gate::Closed)] {
        let disk = HoldDisk::new(create, rename);
        let engine = Arc::new(open(disk.clone(), small(), &TestClock::default()).unwrap());
        fill(&engine, 4);
        let (before, merged) = (read(&engine.snapshot()), ids(&engine));
        let merging = {
            let engine = engine.clone();
            let merge = move || merge_all(&engine).map(|report| report.outputs);
            std::thread::Builder::new().name("merge-held".into()).spawn(merge).unwrap()
        };
        disk.wait_until_met(1);
        assert!(read(&engine.snapshot()) == before);
        append(&engine, traces::batch(100, 3, 10));
        engine.flush().unwrap();
        assert_eq!(read(&engine.snapshot()).len(), before.len() + 1);
        assert!(merged.iter().all(|id| engine.is_claimed(*id)) && engine.claim(engine.mergeable()).is_some());
        let newest = *ids(&engine).last().unwrap();
        engine.expire(&[newest]).unwrap();
        disk.set(Gate::Open, Gate::Open);
        let outputs = merging.join().unwrap().unwrap();
        assert_eq!(ids(&engine), outputs);
        assert!(read(&engine.snapshot()) == before);
        assert_eq!(files(&disk), names(&outputs));
    }
}

#[test]
fn a_merge_whose_input_expires_stops_at_the_next_trace_and_removes_what_it_wrote() {
    let (engine, disk) = filled(3);
    let first = ids(&engine)[0];
    let asked = std::cell::Cell::new(0);
    let claim = engine.claim(engine.mergeable()).unwrap();
    let outcome = merge::merge(&engine, &claim, &options(), &|| {
        asked.set(asked.get() + 1);
        if asked.get() == 3 {
            engine.expire(&[first]).unwrap();
        }
        true
    });
    assert!(matches!(outcome, Err(MergeError::Stopped)), "{outcome:?}");
    assert_eq!(asked.get(), 3);
    drop(claim);
    assert_eq!(files(&disk), names(&ids(&engine)));
    assert!(merge_all(&engine).is_ok(), "the others are free again");
}

#[test]
fn an_input_that_expires_at_the_last_moment_keeps_the_outputs_from_being_published() {
    let disk = HoldDisk::new(Gate::Open, Gate::Closed);
    let engine = Arc::new(open(disk.clone(), small(), &TestClock::default()).unwrap());
    fill(&engine, 3);
    let merging = {
        let engine = engine.clone();
        std::thread::Builder::new().name("merge-late".into()).spawn(move || merge_all(&engine)).unwrap()
    };
    disk.wait_until_met(1);
    let first = ids(&engine)[0];
    engine.expire(&[first]).unwrap();
    disk.set(Gate::Open, Gate::Open);
    assert!(matches!(merging.join().unwrap(), Err(MergeError::Stopped)));
    assert_eq!((ids(&engine).len(), files(&disk)), (2, names(&ids(&engine))));
}

#[test]
fn a_merge_writes_every_byte_once_and_syncs_each_output_once() {
    let disk = CountedDisk::new(Arc::new(FaultDisk::default()));
    let engine = open(disk.clone(), small(), &TestClock::default()).unwrap();
    for part in 0..4 {
        (0..40).for_each(|number| append(&engine, traces::batch(part * 40 + number, 20, 600)));
        engine.flush().unwrap();
    }
    for max_rows in [u64::MAX, 1_000] {
        // Packed, the manifest's share would be larger than it ever is.
        let options = merge::Options { max_rows, codec: sluice::storage::segment::Codec::None, ..options() };
        let before = disk.counts();
        let report = stores::merge(&engine, None, &options).unwrap();
        let asked = disk.counts().since(before);
        let outputs = report.outputs.len() as u64;
        assert_eq!(outputs, if max_rows == 1_000 { 4 } else { 1 });
        assert!(asked.bytes * 100 <= report.bytes_out * 105, "{} for {}", asked.bytes, report.bytes_out);
        // Each output, all their names, and two copies of the manifest with their names.
        assert_eq!(asked.syncs, outputs + 1 + 4);
    }
}

#[test]
fn the_stages_of_a_merge_are_all_of_its_time() {
    let (engine, _disk) = filled(4);
    let began = Instant::now();
    let report = merge_all(&engine).unwrap();
    assert_eq!(report.stages.sum(), report.wall);
    assert!(report.wall <= began.elapsed());
    let idle: Vec<_> = STAGES.iter().filter(|(stage, _)| report.stages.of(*stage).is_zero()).collect();
    assert!(idle.is_empty(), "no time in {idle:?}");
}

#[test]
fn merge_threads_merge_what_seals_make_and_end_with_a_stop() {
    let disk = FaultDisk::default();
    let engine = Arc::new(open(disk.clone(), small(), &TestClock::default()).unwrap());
    let mergers = Mergers::start(&engine, &options()).unwrap();
    (0..7).for_each(|round| {
        fill(&engine, 4);
        wait_until("a merge", || engine.segment_count() < 4 + round);
    });
    mergers.stop();
    let before = read(&engine.snapshot());
    fill(&engine, 4);
    assert!(engine.segment_count() >= 4, "nothing merges after a stop");
    mergers.stop();
    engine.shutdown();
    let again = open(disk, small(), &TestClock::default()).unwrap();
    assert!(read(&again.snapshot()).len() >= before.len());
}

#[test]
fn without_workers_nothing_is_merged() {
    let (engine, _disk) = filled(1);
    let engine = Arc::new(engine);
    let _none = Mergers::start(&engine, &merge::Options { workers: 0, ..options() }).unwrap();
    fill(&engine, 6);
    assert_eq!(engine.segment_count(), 7);
}

#[test]
fn a_merge_that_fails_is_reported_and_tried_again_until_it_works() {
    let disk = HoldDisk::new(Gate::Failing, Gate::Open);
    let engine = Arc::new(open(disk.clone(), small(), &TestClock::default()).unwrap());
    let mergers = Mergers::start(&engine, &options()).unwrap();
    fill(&engine, 4);
    let before = read(&engine.snapshot());
    wait_until("a trouble", || engine.troubles().iter().any(|trouble| trouble.starts_with("merge: ")));
    assert_eq!(engine.segment_count(), 4);
    disk.wait_until_met(2);
    disk.set(Gate::Open, Gate::Open);
    wait_until("a merge", || engine.segment_count() == 1);
    wait_until("that all is well", || engine.troubles().is_empty());
    mergers.stop();
    assert!(read(&engine.snapshot()) == before);
    assert_eq!(files(&disk), names(&ids(&engine)));
}

fn segment_path(id: u64) -> std::path::PathBuf {
    Layout::new(Path::new(ROOT)).segment(id)
}

/// Changes the file of a segment, which nobody may have open.
fn change(disk: &FaultDisk, id: u64, change: impl FnOnce(&mut Vec<u8>)) {
    let path = segment_path(id);
    let mut bytes = read_file(disk, &path).unwrap();
    change(&mut bytes);
    replace_file(disk, path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap(), &bytes).unwrap();
}

#[test]
fn an_input_that_is_damaged_anywhere_ends_the_merge_is_left_out_and_is_served_as_before() {
    let clock = TestClock::default();
    let (engine, disk) = filled(4);
    let (all, whole) = (ids(&engine), read(&engine.snapshot()));
    drop(engine);
    let size = read_file(&disk, &segment_path(all[1])).unwrap().len();
    let (mut given_up, mut unreadable, mut harmless) = (0, 0, 0);
    for at in (0..size).step_by(size / 150) {
        let disk = disk.after_crash(crate::support::fault_disk::Left::All);
        change(&disk, all[1], |bytes| bytes[at] ^= 0x10);
        let engine = open(disk.clone(), small(), &clock).unwrap();
        let image = |engine: &Engine| {
            let snapshot = engine.snapshot();
            let ids = whole.iter().map(|trace| trace.id);
            ids.map(|id| snapshot.trace(id, sluice::storage::query::Limits::NONE).unwrap()).collect::<Vec<_>>()
        };
        let before = image(&engine);
        if engine.segment_count() == 3 {
            unreadable += 1;
        }
        match merge_all(&engine) {
            Ok(_) if engine.segment_count() == 1 && engine.found().unreadable.is_empty() => {
                assert!(read(&engine.snapshot()) == whole, "byte {at}: a merge that went on lost something");
                harmless += 1;
            }
            Ok(_) => assert!(!engine.found().unreadable.is_empty(), "byte {at}"),
            Err(MergeError::Damaged { id, .. }) => {
                assert_eq!((id, ids(&engine)), (all[1], all.clone()), "byte {at}");
                assert!(image(&engine) == before, "byte {at}: answers changed");
                assert_eq!(files(&disk), names(&all), "byte {at}: something was left over");
                // Found by the threads' way, it is remembered, said, and left out.
                let settled = || merge_next(&engine, &options(), true, &|| true);
                assert!(matches!(settled(), Err(MergeError::Damaged { .. })), "byte {at}");
                assert!(engine.damaged().contains_key(&all[1]) && engine.troubles().len() == 1, "byte {at}");
                assert_eq!(settled().unwrap().unwrap().inputs.len(), 3, "byte {at}: the others merge");
                assert!(settled().unwrap().is_none(), "byte {at}");
                assert!(ids(&engine).contains(&all[1]), "byte {at}: it stays");
                assert!(image(&engine) == before, "byte {at}: answers changed");
                given_up += 1;
            }
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    println!("{given_up} given up, {unreadable} unreadable as a whole, {harmless} in parts that a merge makes anew");
    assert!(given_up > 100 && unreadable > 0 && harmless > 0);
}

#[test]
fn a_merge_that_the_ledger_does_not_prove_is_never_published() {
    let clock = TestClock::default();
    let (engine, disk) = filled(3);
    let (all, whole) = (ids(&engine), read(&engine.snapshot()));
    drop(engine);
    // A footer that is sound and says of its rows what is not so.
    change(&disk, all[0], |bytes| {
        let trailer = bytes.split_off(bytes.len() - 16);
        let footer = bytes.split_off(bytes.len() - u32::from_le_bytes(trailer[..4].try_into().unwrap()) as usize);
        let mut footer = Footer::decode(&[footer, trailer].concat()).unwrap();
        footer.checksum ^= 1;
        bytes.extend(footer.encode());
    });
    let engine = open(disk.clone(), small(), &clock).unwrap();
    let settled = || merge_next(&engine, &options(), true, &|| true);
    assert!(matches!(settled(), Err(MergeError::Ledger(_))));
    assert_eq!((ids(&engine), files(&disk)), (all.clone(), names(&all)));
    assert!(read(&engine.snapshot()) == whole);
    assert_eq!(engine.troubles().len(), 3, "{:?}", engine.troubles());
    assert!(settled().unwrap().is_none(), "the same merge would end the same way");
}
