//! The log by itself: reuse of files, and damage of every kind.

use crate::support::fault_disk::{Fault, FaultDisk, Left};
use bytes::Bytes;
use sluice::storage::WalOptions;
use sluice::storage::codec::crc;
use sluice::storage::disk::{Disk, write_all_at};
use sluice::storage::files::Layout;
use sluice::storage::wal::log::Inherited;
use sluice::storage::wal::replay::{Replay, read_file_again, replay};
use sluice::storage::wal::{Frame, FrameKind, HEADER_PAGE, Log};
use std::io::IoSlice;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const STORE: [u8; 16] = [7; 16];
const FILE: u64 = 16 << 10;

fn layout() -> Layout {
    Layout::new(Path::new("/store"))
}

fn begin(disk: &FaultDisk) -> Log {
    let options = WalOptions { max_size: 8 * FILE, file_size: FILE, commit_window: Duration::ZERO };
    let nothing = Inherited { closed: Vec::new(), spares: Vec::new(), previous: None, next_id: 1, next_lsn: 1 };
    Log::start(Arc::new(disk.clone()), layout(), options, STORE, nothing).unwrap()
}

fn payload(lsn: u64) -> Bytes {
    Bytes::from(format!("batch {lsn} ").repeat(40))
}

fn frame(lsn: u64) -> (Frame, Bytes) {
    let payload = payload(lsn);
    let (payload_len, payload_crc) = (payload.len() as u32, crc(&[&payload]));
    (Frame { kind: FrameKind::Batch, lsn, received: 100 + lsn, durable: lsn - 1, payload_len, payload_crc }, payload)
}

/// Commits frames of these LSNs, each by itself.
fn commit(log: &mut Log, lsns: std::ops::RangeInclusive<u64>) {
    for lsn in lsns {
        log.commit(&[frame(lsn)]).unwrap();
    }
}

/// LSNs found at or above `position`; every payload is what was written under its LSN.
fn found(disk: &FaultDisk, position: u64) -> (Vec<u64>, Replay) {
    let mut lsns = Vec::new();
    let replayed = replay(disk, &layout(), &STORE, position, &mut |batch| {
        assert_eq!(batch.payload, payload(batch.lsn));
        lsns.push(batch.lsn);
    });
    (lsns, replayed.unwrap())
}

/// Overwrites bytes of a log file.
fn damage(disk: &FaultDisk, file: u64, at: u64, bytes: &[u8]) {
    let file = disk.open(&layout().log(file)).unwrap();
    write_all_at(&*file, &mut [IoSlice::new(bytes)], at).unwrap();
}

fn size_of(lsn: u64) -> u64 {
    Log::frame_size(payload(lsn).len())
}

#[test]
fn frames_that_an_earlier_use_of_a_file_left_are_never_read_as_new() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=20);
    log.rotate(size_of(21), 21).unwrap();
    log.release(21).unwrap();
    log.rotate(size_of(21), 21).unwrap();
    commit(&mut log, 21..=22);
    // File 3 is file 1 reused: behind its two frames lie those of LSN 3 to 20.
    assert!(disk.open(&layout().log(3)).is_ok() && disk.open(&layout().log(1)).is_err());
    assert_eq!(found(&disk, 0).0, [21, 22]);
}

#[test]
fn a_flipped_bit_in_a_length_costs_that_frame_only_and_is_reported() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=5);
    let second = HEADER_PAGE + size_of(1);
    damage(&disk, 1, second + 7, &[1]);
    let (lsns, replayed) = found(&disk, 0);
    assert_eq!(lsns, [1, 3, 4, 5]);
    let hole = &replayed.holes[0];
    assert_eq!((hole.from, hole.to, hole.first_lost, hole.lost), (second, second + size_of(2), 2, 1));
    assert!(hole.durable, "LSN 3 says that LSN 2 was durable");
    assert_eq!(replayed.next_lsn, 6);
}

#[test]
fn a_torn_tail_is_the_end_and_no_damage() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    let third = HEADER_PAGE + 2 * size_of(1);
    damage(&disk, 1, third + 60, &[0; 200]);
    let (lsns, replayed) = found(&disk, 0);
    assert_eq!((lsns, replayed.holes.len()), (vec![1, 2], 0));
    assert_eq!(replayed.previous.map(|previous| previous.end), Some(third));
}

#[test]
fn a_damaged_tail_of_a_file_with_a_successor_is_reported() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    log.rotate(size_of(4), 4).unwrap();
    commit(&mut log, 4..=4);
    damage(&disk, 1, HEADER_PAGE + 2 * size_of(1) + 60, &[0; 200]);
    let (lsns, replayed) = found(&disk, 0);
    assert_eq!(lsns, [1, 2, 4]);
    assert_eq!((replayed.holes[0].first_lost, replayed.holes[0].lost, replayed.holes[0].durable), (3, 1, true));
}

#[test]
fn a_damaged_header_is_reported_and_costs_no_frame() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    log.rotate(size_of(4), 4).unwrap();
    commit(&mut log, 4..=5);
    damage(&disk, 2, 20, &[0xff]);
    let (lsns, replayed) = found(&disk, 0);
    assert_eq!(lsns, [1, 2, 3, 4, 5]);
    assert_eq!((replayed.holes.len(), replayed.holes[0].to), (1, HEADER_PAGE));
}

#[test]
fn a_log_file_that_is_gone_is_reported_unless_its_rows_are_in_segments() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    log.rotate(size_of(4), 4).unwrap();
    commit(&mut log, 4..=5);
    disk.remove(&layout().log(1)).unwrap();
    let (lsns, replayed) = found(&disk, 2);
    assert_eq!(lsns, [4, 5]);
    assert_eq!((replayed.holes[0].first_lost, replayed.holes[0].lost), (2, 2));
    assert!(found(&disk, 4).1.holes.is_empty());
}

#[test]
fn a_log_cut_short_anywhere_gives_exactly_the_frames_before_the_cut() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=6);
    for end in (HEADER_PAGE..HEADER_PAGE + 6 * size_of(1)).step_by(40) {
        let cut = disk.after_crash(Left::All);
        damage(&cut, 1, end, &vec![0; (FILE - end) as usize]);
        let whole = (end - HEADER_PAGE) / size_of(1);
        assert_eq!(found(&cut, 0).0, (1..=whole).collect::<Vec<_>>(), "cut at {end}");
    }
}

#[test]
fn a_damaged_last_frame_of_a_full_file_is_known_to_have_been_durable() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    log.rotate(size_of(4), 4).unwrap();
    damage(&disk, 1, HEADER_PAGE + 2 * size_of(1) + 60, &[0; 200]);
    let (lsns, replayed) = found(&disk, 0);
    assert_eq!((lsns, replayed.holes[0].first_lost, replayed.holes[0].durable), (vec![1, 2], 3, true));
}

#[test]
fn an_empty_file_with_a_damaged_header_is_left_as_it_is() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    log.rotate(size_of(4), 4).unwrap();
    damage(&disk, 2, 20, &[0xff]);
    assert_eq!(found(&disk, 0).1.empty, Vec::<u64>::new());
}

/// The LSNs that reading each file again gives, from `first` on, `at_once` at a time.
fn read_again(disk: &FaultDisk, files: &Replay, first: u64, at_once: usize) -> Vec<u64> {
    let mut lsns: Vec<u64> = Vec::new();
    for file in &files.closed {
        loop {
            let next = lsns.last().map_or(first, |last| last + 1);
            let before = lsns.len();
            read_file_again(disk, &layout(), &STORE, file.id, next..=file.last_lsn, &mut |batch| {
                assert_eq!(batch.payload, payload(batch.lsn));
                lsns.push(batch.lsn);
                if lsns.len() - before == at_once { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
            if lsns.len() == before {
                break;
            }
        }
    }
    lsns
}

/// Scenario: a file with a frame that was refused behind its end, one with a hole, one with a torn tail. Guarantee: reading
/// files again, from any LSN, gives what the first reading gave: nothing refused, nothing twice, nothing left out.
#[test]
fn reading_files_again_gives_what_was_given_first() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    // The sync of the next commit fails: its frame lies in the file, whole.
    let _ = disk.clone().with_fault(1, Fault::Fail);
    assert!(log.commit(&[frame(4)]).is_err());
    commit(&mut log, 5..=9);
    damage(&disk, 2, HEADER_PAGE + 2 * size_of(5) + 60, &[0; 20]);
    log.rotate(size_of(10), 10).unwrap();
    commit(&mut log, 10..=13);
    damage(&disk, 3, HEADER_PAGE + 3 * size_of(10) + 60, &[0; 20]);
    let (lsns, files) = found(&disk, 1);
    assert_eq!(lsns, [1, 2, 3, 5, 6, 8, 9, 10, 11, 12]);
    for first in 1..=13 {
        let expected: Vec<_> = lsns.iter().copied().filter(|&lsn| lsn >= first).collect();
        for at_once in [1, 2, 100] {
            assert_eq!(read_again(&disk, &files, first, at_once), expected, "from {first}, {at_once} at once");
        }
    }
}

/// Scenario: no file can be made at a start. Guarantee: the newest file found keeps its name until it has a successor, which
/// then follows it as if nothing had been.
#[test]
fn a_log_without_a_file_gives_nothing_up_that_its_first_file_must_follow() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    log.rotate(size_of(4), 4).unwrap();
    commit(&mut log, 4..=5);
    disk.set_capacity(disk.used());
    let inherited = found(&disk, 0).1.inherited();
    let options = WalOptions { max_size: 8 * FILE, file_size: FILE, commit_window: Duration::ZERO };
    let mut log = Log::without_file(Arc::new(disk.clone()), layout(), options, STORE, inherited);
    assert!(log.begin(6).is_err() && !log.has_file() && !log.fits(8));
    log.release(6).unwrap();
    assert_eq!((log.waiting(), log.spare_bytes()), (1, FILE), "the older file is a spare, the newest is not");
    let (lsns, again) = found(&disk, 4);
    assert_eq!((lsns, again.holes.len()), (vec![4, 5], 0));
    // The spare is all the room it takes.
    log.begin(6).unwrap();
    commit(&mut log, 6..=7);
    log.release(6).unwrap();
    assert_eq!(log.waiting(), 0);
    let (lsns, again) = found(&disk, 6);
    assert_eq!((lsns, again.holes.len()), (vec![6, 7], 0));
}
