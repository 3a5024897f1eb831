//! A disk that gets full: by what is stored, or by what others write.
//!
//! Guarantees: rules 5 and 14 hold at every moment: what was answered is there once, as long as retention keeps it, and what
//! was refused is not; the store recovers by itself as soon as there is room again.

use crate::support::fault_disk::FaultDisk;
use crate::support::manual_clock::ManualClock;
use crate::support::noise::{self, Random};
use crate::support::store::{append, requests, wait_until};
use sluice::storage::disk::Disk;
use sluice::storage::files::BALLAST;
use sluice::storage::{AppendError, Engine, NoRoom, Options};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const KIB: u64 = 1 << 10;
const HOUR: Duration = Duration::from_secs(3600);

/// A log of 256 KiB and segments of about 64 KiB; kept free is room for 384 KiB.
fn options() -> Options {
    let mut options = Options::new("/store");
    options.wal.file_size = 64 * KIB;
    options.wal.max_size = 256 * KIB;
    options.seal.max_size = 64 << 10;
    options.memtable_max = 512 << 10;
    options.block_size = 4 << 10;
    options.retention.max_age = Duration::ZERO;
    options
}

fn open(options: Options, disk: &FaultDisk, clock: &ManualClock) -> Engine {
    Engine::open(options, Arc::new(disk.clone()), Arc::new(clock.clone())).unwrap()
}

fn is_disk_full(error: &AppendError) -> bool {
    matches!(error, AppendError::NoRoom(NoRoom::Disk { .. }))
}

/// What senders were told, and when by the store's time.
struct Model {
    disk: FaultDisk,
    clock: ManualClock,
    engine: Engine,
    random: Random,
    hours: u64,
    /// Batches that were answered with success, and in which hour.
    answered: BTreeMap<u64, u64>,
    refused: Vec<u64>,
    next: u64,
}

impl Model {
    fn new(seed: u64) -> Self {
        let (disk, clock) = (FaultDisk::default(), ManualClock::new());
        disk.set_capacity(4 << 20);
        let engine = open(Self::options(), &disk, &clock);
        let (answered, refused) = (BTreeMap::new(), Vec::new());
        Self { disk, clock, engine, random: Random(seed), hours: 0, answered, refused, next: 0 }
    }

    fn options() -> Options {
        let mut options = options();
        options.retention.max_age = HOUR * 2;
        options
    }

    /// The size of a batch follows from its number.
    fn request_size(number: u64) -> (u64, usize) {
        let mut random = Random(number ^ 0x5eed);
        (1 + random.below(12), 100 + random.below(2_000) as usize)
    }

    fn send(&mut self) -> Result<(), AppendError> {
        let number = self.next;
        self.next += 1;
        let (spans, noise) = Self::request_size(number);
        let outcome = append(&self.engine, &noise::batch(number, spans, noise));
        match outcome {
            Ok(()) => drop(self.answered.insert(number, self.hours)),
            Err(AppendError::Unknown(why)) => panic!("nothing fails here: {why}"),
            Err(_) => self.refused.push(number),
        }
        outcome
    }

    /// Sends until the disk has been said to be full several times in a row.
    fn fill(&mut self) {
        let mut in_a_row = 0;
        let many = self.next + 100_000;
        while in_a_row < 5 {
            assert!(self.next < many, "the disk is never said to be full");
            match self.send() {
                Ok(()) => in_a_row = 0,
                Err(error) if is_disk_full(&error) => in_a_row += 1,
                // The log or the memory is full: a seal will be through in a moment.
                Err(_) => std::thread::yield_now(),
            }
            if self.random.below(40) == 0 {
                let _ = self.engine.flush();
            }
        }
    }

    fn pass_hours(&mut self, hours: u64) {
        self.clock.advance(HOUR * hours as u32);
        self.hours += hours;
    }

    fn wait_for_room(&mut self) {
        wait_until("the store takes batches again", || self.engine.reserve(100, 1).is_ok());
    }

    fn kill_and_start(&mut self) {
        let disk = self.disk.after_kill();
        self.disk = disk;
        self.engine = open(Self::options(), &self.disk, &self.clock);
    }

    /// Everything younger than retention is there, nothing that was refused, and nothing is changed.
    fn check(&self) {
        wait_until("all is readable", || self.engine.unread() == 0);
        let mut found = requests(&self.engine.snapshot());
        let gone: Vec<_> = self.answered.iter().filter(|(number, _)| !found.contains_key(number)).collect();
        let lost: Vec<_> = gone.iter().filter(|(_, hour)| self.hours - **hour <= 2).collect();
        assert!(lost.is_empty(), "answered and lost in hour {}: {lost:?}", self.hours);
        let refused: Vec<_> = self.refused.iter().filter(|number| found.contains_key(number)).collect();
        assert!(refused.is_empty(), "refused and stored: {refused:?}");
        found.retain(|number, request| {
            let (spans, noise) = Self::request_size(*number);
            assert_eq!(*request, noise::request(*number, spans, noise), "batch {number}");
            !self.answered.contains_key(number)
        });
        assert!(found.is_empty(), "nobody sent {:?}", found.keys());
    }
}

/// Scenario: batches of random sizes until the disk is full; sometimes another program takes all that is left, sometimes the
/// process is killed while it is full; then what is there becomes old enough. Five times.
#[test]
fn a_disk_that_fills_up_again_and_again_loses_nothing_answered_and_stores_nothing_refused() {
    let seed = sluice::model::time::wall_now();
    println!("seed {seed}");
    let mut model = Model::new(seed);
    for round in 0..5 {
        model.fill();
        model.check();
        if round % 2 == 1 {
            model.disk.set_capacity(model.disk.used());
            model.fill();
            model.check();
        }
        if round >= 2 {
            model.kill_and_start();
            model.check();
        }
        let before = requests(&model.engine.snapshot()).len();
        model.disk.set_capacity(4 << 20);
        model.pass_hours(3);
        wait_until("something has expired", || requests(&model.engine.snapshot()).len() < before);
        model.wait_for_room();
        model.check();
        let after = requests(&model.engine.snapshot()).len();
        let (answered, refused) = (model.answered.len(), model.refused.len());
        println!(
            "round {round}: {answered} answered and {refused} refused so far; {before} there when full, then {after}"
        );
        assert!(after < before, "nothing expired");
    }
    assert!(model.refused.len() > 20 && model.answered.len() > 500);
}

/// Scenario: several times as much as the disk holds, under a limit of size. Guarantee: what retention gives up is given up
/// before anybody is refused for want of room on the disk.
#[test]
fn segments_beyond_max_size_go_before_anything_is_refused() {
    let (disk, clock) = (FaultDisk::default(), ManualClock::new());
    let mut options = options();
    options.retention.max_size = 512 * KIB;
    // Log, ballast, segments up to the limit, one more that makes them too many, and what is kept free.
    disk.set_capacity((256 + 1024 + 512 + 128 + 384) * KIB);
    let engine = open(options, &disk, &clock);
    let mut answered = Vec::new();
    for number in 0..800 {
        let batch = noise::batch(number, 4, 2_000);
        loop {
            match append(&engine, &batch) {
                Ok(()) => break answered.push(number),
                Err(error) => {
                    assert!(!is_disk_full(&error), "batch {number}: {error}");
                    engine.flush().unwrap();
                }
            }
        }
    }
    engine.flush().unwrap();
    wait_until("the limit is kept", || engine.disk_bytes().1 <= 512 * KIB);
    let left: Vec<_> = requests(&engine.snapshot()).into_keys().collect();
    assert_eq!(left, answered[answered.len() - left.len()..], "oldest received go first");
    assert!(left.len() > 30, "only {} are left", left.len());
}

/// Scenario: another program takes the last byte, and then segments become old. Guarantee: they are given up although the
/// manifest that says so needs room, and nobody has to help.
#[test]
fn segments_expire_on_a_disk_that_is_full_to_the_last_byte() {
    let (disk, clock) = (FaultDisk::default(), ManualClock::new());
    disk.set_capacity(4 << 20);
    let mut options = options();
    options.retention.max_age = HOUR;
    let engine = open(options, &disk, &clock);
    // One log file, in use: there are no spare ones that could make room.
    (0..6).for_each(|number| append(&engine, &noise::batch(number, 4, 2_000)).unwrap());
    engine.flush().unwrap();
    let ballast = Path::new("/store").join(BALLAST);
    assert!(disk.open(&ballast).is_ok());
    disk.set_capacity(disk.used());
    wait_until("the disk is found to be full", || engine.reserve(100, 1).is_err());
    clock.advance(HOUR * 2);
    wait_until("all segments have expired", || engine.segment_count() == 0);
    disk.set_capacity(4 << 20);
    wait_until("the ballast is there again", || disk.open(&ballast).is_ok());
    assert!(engine.reserve(100, 1).is_ok());
}

/// Scenario: the log has grown, all of it is spare, and another program leaves less room than a seal needs. Guarantee: spare
/// log files make room for the seal of what is answered.
#[test]
fn spare_log_files_make_room_for_seals() {
    let (disk, clock) = (FaultDisk::default(), ManualClock::new());
    let mut options = options();
    options.disk_reserve = Some(0);
    let engine = open(options, &disk, &clock);
    for number in 0..40 {
        append(&engine, &noise::batch(number, 4, 2_000)).unwrap_or_else(|_| engine.flush().unwrap());
    }
    engine.flush().unwrap();
    let log = engine.disk_bytes().0;
    assert!(log >= 128 * KIB, "the log has not grown: {log}");
    append(&engine, &noise::batch(1_000, 4, 2_000)).unwrap();
    disk.set_capacity(disk.used());
    wait_until("the batch is sealed", || engine.flush().is_ok());
    assert!(engine.disk_bytes().0 < log);
    assert!(requests(&engine.snapshot()).contains_key(&1_000));
}

/// Guarantee: a merge may have what is free beyond the reserve, and not a byte more.
#[test]
fn a_merge_may_have_what_is_free_beyond_the_reserve() {
    let (disk, clock) = (FaultDisk::default(), ManualClock::new());
    disk.set_capacity(4 << 20);
    let engine = open(options(), &disk, &clock);
    let beyond = (4 << 20) - disk.used() - 384 * KIB;
    assert!(engine.room_for_merge(beyond) && !engine.room_for_merge(beyond + 1));
    disk.set_capacity(disk.used() + 100);
    assert!(!engine.room_for_merge(0), "below the reserve there is no room for any merge");
}
