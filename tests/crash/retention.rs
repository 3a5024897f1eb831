//! What expires, and when: by the time of receiving, never by what a sender says, and not while the clock is doubted.

use crate::support::fault_disk::FaultDisk;
use crate::support::manual_clock::ManualClock;
use crate::support::noise;
use crate::support::store::{append, requests, wait_until};
use crate::support::traces;
use prost::Message;
use sluice::model::Batch;
use sluice::storage::disk::{Disk, read_file, write_all_at};
use sluice::storage::files::Layout;
use sluice::storage::{Engine, Options};
use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: u64 = 24 * 3_600_000_000_000;

fn open(disk: &FaultDisk, clock: &ManualClock) -> Engine {
    let mut options = Options::new("/store");
    options.wal.file_size = 64 << 10;
    options.wal.max_size = 256 << 10;
    options.retention.max_age = HOUR * 30;
    Engine::open(options, Arc::new(disk.clone()), Arc::new(clock.clone())).unwrap()
}

/// Appends batches and makes a segment of them.
fn seal(engine: &Engine, numbers: std::ops::Range<u64>) {
    numbers.for_each(|number| append(engine, &noise::batch(number, 2, 500)).unwrap());
    engine.flush().unwrap();
}

/// Scenario: spans without times, from far ahead and from long ago, received now. Guarantee: they stay as long as any other,
/// and go when they were received too long ago.
#[test]
fn times_that_senders_give_change_nothing() {
    let (disk, clock) = (FaultDisk::default(), ManualClock::new());
    let engine = open(&disk, &clock);
    let times = [(0, 0), (u64::MAX, u64::MAX), (1_700_000_000_000_000_000 + 900 * DAY, 0), (1, 2)];
    for (number, (start, end)) in times.into_iter().enumerate() {
        let mut request = traces::request(number as u64, 1, 10);
        let span = &mut request.resource_spans[0].scope_spans[0].spans[0];
        (span.start_time_unix_nano, span.end_time_unix_nano) = (start, end);
        append(&engine, &Batch::from_otlp(request.encode_to_vec().into()).unwrap().batch).unwrap();
        // A segment of its own: each is judged by itself.
        engine.flush().unwrap();
    }
    clock.advance(HOUR * 29);
    seal(&engine, 100..101);
    assert_eq!(engine.segment_count(), 5);
    clock.advance(HOUR * 2);
    wait_until("all but the newest have expired", || engine.segment_count() == 1);
    assert_eq!(requests(&engine.snapshot()).into_keys().collect::<Vec<_>>(), [100]);
}

/// Scenario: a store that was closed for 20 and for 25 hours, or whose machine's clock is wrong by that. Guarantee: after
/// more than a day nothing expires for ten minutes, which is said; then it does.
#[test]
fn a_start_that_finds_the_clock_a_day_ahead_expires_nothing_for_ten_minutes() {
    let (disk, clock) = (FaultDisk::default(), ManualClock::new());
    let engine = open(&disk, &clock);
    seal(&engine, 0..3);
    drop(engine);
    clock.advance(HOUR * 20);
    let engine = open(&disk, &clock);
    assert_eq!((engine.expiry_paused_until(), engine.troubles()), (None, vec![]));
    seal(&engine, 3..6);
    drop(engine);
    clock.advance(HOUR * 25);
    let engine = open(&disk, &clock);
    let until = engine.expiry_paused_until().expect("paused");
    assert_eq!(until - engine.now(), 600 * 1_000_000_000);
    assert!(engine.troubles()[0].starts_with("clock: 25 hours have passed"), "{:?}", engine.troubles());
    clock.advance(Duration::from_secs(590));
    // Publishing a segment makes the keeper look.
    seal(&engine, 6..9);
    assert_eq!(engine.segment_count(), 3);
    clock.advance(Duration::from_secs(10));
    wait_until("what is too old has expired", || engine.segment_count() == 2);
    wait_until("nothing is wrong any more", || engine.troubles().is_empty());
    assert_eq!(engine.expiry_paused_until(), None);
    assert_eq!(requests(&engine.snapshot()).into_keys().collect::<Vec<_>>(), (3..9).collect::<Vec<_>>());
}

/// Guarantee: what expired while the store was closed goes at the start, its file too.
#[test]
fn what_became_too_old_while_the_store_was_closed_is_gone_when_it_opens() {
    let (disk, clock) = (FaultDisk::default(), ManualClock::new());
    let engine = open(&disk, &clock);
    seal(&engine, 0..3);
    clock.advance(HOUR * 20);
    seal(&engine, 3..6);
    drop(engine);
    clock.advance(HOUR * 11);
    let engine = open(&disk, &clock);
    assert_eq!((engine.segment_count(), requests(&engine.snapshot()).len()), (1, 3));
    assert_eq!(disk.list(Path::new("/store/segments")).unwrap().len(), 1);
}

/// Guarantee: a reader that began before goes on to the end; the file goes after it.
#[test]
fn an_expired_segment_stays_for_those_who_read_it() {
    let (disk, clock) = (FaultDisk::default(), ManualClock::new());
    let engine = open(&disk, &clock);
    seal(&engine, 0..3);
    let snapshot = engine.snapshot();
    let before = requests(&snapshot);
    clock.advance(HOUR * 31);
    wait_until("the segment has expired", || engine.segment_count() == 0);
    assert_eq!(requests(&snapshot), before);
    assert_eq!(disk.list(Path::new("/store/segments")).unwrap().len(), 1);
    drop(snapshot);
    assert_eq!(disk.list(Path::new("/store/segments")).unwrap(), Vec::<String>::new());
}

/// Guarantee: a merge of what expires is told to stop, and its outputs are refused.
#[test]
fn a_merge_of_what_expires_is_told_to_stop() {
    let (disk, clock) = (FaultDisk::default(), ManualClock::new());
    let engine = open(&disk, &clock);
    seal(&engine, 0..3);
    let claim = engine.claim(engine.snapshot().segments.to_vec()).unwrap();
    clock.advance(HOUR * 31);
    wait_until("the segment has expired", || engine.segment_count() == 0);
    assert!(claim.is_cancelled() && engine.replace(&claim, &[]).is_err());
}

/// Guarantee: damage keeps a segment no longer than it would be kept whole.
#[test]
fn a_segment_that_cannot_be_read_expires_like_others() {
    let (disk, clock) = (FaultDisk::default(), ManualClock::new());
    let engine = open(&disk, &clock);
    seal(&engine, 0..3);
    let path = engine.snapshot().segments[0].path().to_owned();
    drop(engine);
    let end = read_file(&disk, &path).unwrap().len() as u64;
    write_all_at(&*disk.open(&path).unwrap(), &mut [IoSlice::new(&[0; 8])], end - 8).unwrap();
    let engine = open(&disk, &clock);
    assert_eq!((engine.segment_count(), engine.snapshot().unreadable.len()), (0, 1));
    clock.advance(HOUR * 29);
    seal(&engine, 3..6);
    assert!(disk.open(&path).is_ok(), "too early");
    clock.advance(HOUR * 2);
    wait_until("it has expired", || engine.snapshot().unreadable.is_empty());
    wait_until("its file is gone", || disk.open(&path).is_err());
    assert_eq!(Layout::new(Path::new("/store")).segments, path.parent().unwrap());
}
