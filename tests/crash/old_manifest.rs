//! Files that do not fit together: a manifest older than the store, a log that is cut short or gone.
//!
//! Guarantee: rule 4: nothing is removed on a doubt, and what is missing is said.

use crate::support::fault_disk::{FaultDisk, Left};
use crate::support::traces;
use sluice::storage::clock::SystemClock;
use sluice::storage::disk::{Disk, read_file, replace_file};
use sluice::storage::files::MANIFESTS;
use sluice::storage::query::summarize;
use sluice::storage::wal::HEADER_PAGE;
use sluice::storage::{Engine, OpenStore, Options, StorageError};
use std::path::Path;
use std::sync::{Arc, mpsc};

const ROOT: &str = "/store";

fn open(disk: &FaultDisk) -> Result<Engine, StorageError> {
    let mut options = Options::new(ROOT);
    options.wal.file_size = 64 << 10;
    options.wal.max_size = 512 << 10;
    Engine::open(options, Arc::new(disk.clone()), Arc::new(SystemClock))
}

fn append(engine: &Engine, number: u64) {
    let batch = traces::batch(number, 3, 5_000);
    let room = engine.reserve(batch.bytes().len(), batch.spans().len()).unwrap();
    let (done, answer) = mpsc::channel();
    engine.append(batch, room, Box::new(move |outcome| done.send(outcome).unwrap()));
    answer.recv().unwrap().unwrap();
}

/// Appends and seals `rounds` times, then appends once more.
fn fill(disk: &FaultDisk, rounds: u64) -> Engine {
    let engine = open(disk).unwrap();
    for number in 0..rounds {
        append(&engine, number);
        engine.flush().unwrap();
    }
    append(&engine, rounds);
    engine
}

fn manifests(disk: &FaultDisk) -> Vec<Vec<u8>> {
    MANIFESTS.iter().map(|name| read_file(disk, &Path::new(ROOT).join(name)).unwrap()).collect()
}

fn names(disk: &FaultDisk, folder: &str) -> Vec<String> {
    disk.list(&Path::new(ROOT).join(folder)).unwrap()
}

#[test]
fn a_manifest_older_than_the_store_is_refused_and_nothing_is_removed() {
    let disk = FaultDisk::default();
    let engine = fill(&disk, 1);
    let old = manifests(&disk);
    // Enough that the log files of the first ones are used again.
    for number in 10..30 {
        append(&engine, number);
        engine.flush().unwrap();
    }
    let newest = manifests(&disk);
    let killed = disk.after_crash(Left::All);
    for (name, bytes) in MANIFESTS.iter().zip(&old) {
        replace_file(&killed, Path::new(ROOT), name, bytes).unwrap();
    }
    let before = names(&killed, "segments");
    let Err(error) = open(&killed) else { panic!("opened with a manifest that is out of date") };
    assert!(error.to_string().contains("manifest.a"), "{error}");
    assert_eq!(names(&killed, "segments"), before);
    replace_file(&killed, Path::new(ROOT), MANIFESTS[1], &newest[1]).unwrap();
    assert_eq!(summarize(&open(&killed).unwrap().snapshot()).traces, 22);
}

#[test]
fn a_newest_log_file_that_is_gone_or_cut_short_is_reported() {
    let disk = FaultDisk::default();
    let _engine = fill(&disk, 2);
    let killed = disk.after_crash(Left::All);
    let [ref log] = names(&killed, "wal")[..] else { panic!("one log file") };
    let path = Path::new(ROOT).join("wal").join(log);

    let cut = killed.after_crash(Left::All);
    let content = read_file(&cut, &path).unwrap();
    replace_file(&cut, path.parent().unwrap(), log, &content[..40_000]).unwrap();
    let found = OpenStore::open(Path::new(ROOT), &cut).unwrap().found.holes;
    assert!(found.iter().any(|hole| hole.durable && hole.from == 40_000), "{found:?}");

    killed.remove(&path).unwrap();
    let found = OpenStore::open(Path::new(ROOT), &killed).unwrap().found.holes;
    assert!(found.iter().any(|hole| hole.durable && hole.path == path), "{found:?}");
}

#[test]
fn a_manifest_copy_that_cannot_be_read_is_said_and_costs_nothing() {
    let disk = FaultDisk::default();
    let _engine = fill(&disk, 2);
    let killed = disk.after_crash(Left::All);
    killed.remove(&Path::new(ROOT).join(MANIFESTS[0])).unwrap();
    let engine = open(&killed).unwrap();
    assert!(engine.found().notes[0].contains("manifest.a: gone"), "{:?}", engine.found().notes);
    assert_eq!(summarize(&engine.snapshot()).traces, 3);
}

#[test]
fn damage_in_frames_whose_rows_are_in_segments_is_no_loss() {
    let disk = FaultDisk::default();
    let _engine = fill(&disk, 2);
    let killed = disk.after_crash(Left::All);
    let path = Path::new(ROOT).join("wal").join(&names(&killed, "wal")[0]);
    let mut content = read_file(&killed, &path).unwrap();
    content[HEADER_PAGE as usize + 60] ^= 1;
    replace_file(&killed, path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap(), &content).unwrap();
    let store = OpenStore::open(Path::new(ROOT), &killed).unwrap();
    assert_eq!((store.found.holes, summarize(&store.snapshot).traces), (Vec::new(), 3));
}
