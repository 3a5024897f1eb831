//! The log by itself: reuse of files, and damage of every kind.

use crate::support::fault_disk::{FaultDisk, Left};
use bytes::Bytes;
use sluice::storage::WalOptions;
use sluice::storage::codec::crc;
use sluice::storage::disk::{Disk, read_file, replace_file, write_all_at};
use sluice::storage::files::{Layout, log_name};
use sluice::storage::wal::log::Inherited;
use sluice::storage::wal::replay::{Replay, replay};
use sluice::storage::wal::{FileHeader, Frame, FrameKind, HEADER_PAGE, Log, Odd, Oddity, Seed};
use std::io::IoSlice;
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

/// Damages both copies of a header.
fn damage_header(disk: &FaultDisk, file: u64) {
    [20, 4096 + 20].into_iter().for_each(|at| damage(disk, file, at, &[0xff]));
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
    damage_header(&disk, 2);
    let (lsns, replayed) = found(&disk, 0);
    assert_eq!(lsns, [1, 2, 3, 4, 5]);
    assert_eq!((replayed.holes.len(), replayed.holes[0].to), (1, HEADER_PAGE));
}

#[test]
fn one_good_copy_of_a_header_is_enough_to_know_where_the_file_before_ends() {
    for (at, copy) in [(20, 0), (4096 + 20, 4096)] {
        let disk = FaultDisk::default();
        let mut log = begin(&disk);
        commit(&mut log, 1..=3);
        log.rotate(size_of(4), 3).unwrap();
        commit(&mut log, 4..=5);
        // What a failed commit would have left: a whole frame behind the recorded end, of a batch that was refused.
        let refused = frame(4).0.encode(Seed::new(&STORE, 1));
        damage(&disk, 1, HEADER_PAGE + 3 * size_of(1), &[&refused[..], &payload(4)].concat());
        damage(&disk, 2, at, &[0xff]);
        let (lsns, replayed) = found(&disk, 0);
        assert_eq!((lsns, replayed.holes), (vec![1, 2, 3, 4, 5], vec![]));
        let what = Oddity::HeaderCopy(copy);
        assert_eq!(replayed.odd, [Odd { path: layout().log(2), what }]);
    }
}

#[test]
fn a_copy_of_a_log_file_and_another_stores_are_said_and_not_read() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    let content = read_file(&disk, &layout().log(1)).unwrap();
    replace_file(&disk, &layout().wal, &log_name(9), &content).unwrap();
    let foreign = FileHeader { store: [8; 16], id: 8, size: FILE, first_lsn: 1, previous: None };
    replace_file(&disk, &layout().wal, &log_name(8), &foreign.encode_pages()).unwrap();
    let (lsns, replayed) = found(&disk, 0);
    assert_eq!((lsns, replayed.holes, replayed.next_id), (vec![1, 2, 3], vec![], 10));
    let what: Vec<_> = replayed.odd.iter().map(|odd| odd.what).collect();
    assert_eq!(what, [Oddity::OtherStore, Oddity::CopyOf(1)]);
}

#[test]
fn a_damaged_file_is_kept_when_its_rows_are_in_segments() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    log.rotate(size_of(4), 4).unwrap();
    commit(&mut log, 4..=5);
    damage(&disk, 1, HEADER_PAGE + size_of(1) + 60, &[0; 20]);
    let before = read_file(&disk, &layout().log(1)).unwrap();
    let options = WalOptions { max_size: 8 * FILE, file_size: FILE, commit_window: Duration::ZERO };
    let inherited = found(&disk, 0).1.inherited();
    let mut log = Log::start(Arc::new(disk.clone()), layout(), options, STORE, inherited).unwrap();
    log.release(6).unwrap();
    assert_eq!(read_file(&disk, &layout().damaged.join("0001").join(log_name(1))).unwrap(), before);
    assert!(disk.open(&layout().log(1)).is_err() && disk.open(&layout().spare(2)).is_ok());
    let (lsns, replayed) = found(&disk, 6);
    assert_eq!((lsns, replayed.holes), (vec![], vec![]), "what was said once is not said again");
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
fn an_empty_file_with_a_damaged_header_is_not_used_again() {
    let disk = FaultDisk::default();
    let mut log = begin(&disk);
    commit(&mut log, 1..=3);
    log.rotate(size_of(4), 4).unwrap();
    damage_header(&disk, 2);
    let replayed = found(&disk, 0).1;
    assert_eq!((replayed.empty, replayed.closed[1].damaged), (vec![], true));
}
