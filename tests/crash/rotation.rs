//! A new log file that was begun and not finished, or that takes over what another could not keep.

use crate::support::fault_disk::{Fault, FaultDisk, Left};
use bytes::Bytes;
use sluice::storage::WalOptions;
use sluice::storage::codec::crc;
use sluice::storage::files::Layout;
use sluice::storage::wal::log::Inherited;
use sluice::storage::wal::replay::{Replay, replay};
use sluice::storage::wal::{Frame, FrameKind, Log, LogError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const STORE: [u8; 16] = [1; 16];

fn frame(lsn: u64) -> (Frame, Bytes) {
    let payload = Bytes::from_static(b"a small batch");
    let (payload_len, payload_crc) = (payload.len() as u32, crc(&[&payload]));
    (Frame { kind: FrameKind::Batch, lsn, received: lsn, durable: lsn - 1, payload_len, payload_crc }, payload)
}

/// Scenario: a batch does not fit, a new file is begun, and that fails at every operation in turn; then a smaller batch
/// arrives, which would fit into the old file, and the machine dies. Guarantee (rule 1): it is there after the start,
/// though the unfinished file may say that the old one ends before it.
#[test]
fn a_batch_committed_after_a_failed_rotation_survives_a_crash() {
    for at in 0..5 {
        let (disk, layout) = (FaultDisk::default(), Layout::new(Path::new("/store")));
        let options = WalOptions { max_size: 64 << 10, file_size: 12 << 10, commit_window: Duration::ZERO };
        let found = Inherited { closed: vec![], spares: vec![], previous: None, next_id: 1, next_lsn: 1 };
        let mut log = Log::start(Arc::new(disk.clone()), layout.clone(), options, STORE, found).unwrap();
        log.commit(&[frame(1)]).unwrap();
        let faulty = disk.clone().with_fault(at, Fault::Fail);
        assert!(log.rotate(4000, 2).is_err(), "operation {at}");
        let what = faulty.hit().unwrap();
        if !log.fits(frame(2).0.size()) {
            log.rotate(frame(2).0.size(), 2).unwrap();
        }
        log.commit(&[frame(2)]).unwrap();
        for left in [Left::All, Left::Synced] {
            let mut lsns = Vec::new();
            replay(&disk.after_crash(left), &layout, &STORE, 1, &mut |batch| lsns.push(batch.lsn)).unwrap();
            assert_eq!(lsns, [1, 2], "{what}, {left:?}");
        }
    }
}

const FILE: u64 = 12 << 10;

/// A log whose current file has synced frame 1 and answered frames 2 to 4 without a sync; there is a spare to take.
fn log_with_answered_frames(disk: &FaultDisk, layout: &Layout) -> Log {
    let options = WalOptions { max_size: 8 * FILE, file_size: FILE, commit_window: Duration::ZERO };
    let found = Inherited { closed: vec![], spares: vec![], previous: None, next_id: 1, next_lsn: 1 };
    let mut log = Log::start(Arc::new(disk.clone()), layout.clone(), options, STORE, found).unwrap();
    log.rotate(48, 1).unwrap();
    log.release(1).unwrap();
    log.commit(&[frame(1)]).unwrap();
    for lsn in 2..=4 {
        log.write(&[frame(lsn)]).unwrap();
    }
    log
}

fn read(disk: &FaultDisk, layout: &Layout) -> (Vec<u64>, Replay) {
    let mut lsns = Vec::new();
    let found = replay(disk, layout, &STORE, 1, &mut |batch| lsns.push(batch.lsn)).unwrap();
    (lsns, found)
}

/// Scenario: the sync fails, and the machine dies at every operation by which the answered frames get to a new file.
/// Guarantee (rules 1, 14): they are there after the start if the system still had them, in order, once; and the log that
/// is begun then never reads what the attempt left behind as its own.
#[test]
fn answered_frames_get_to_a_new_file_whole_or_not_at_all() {
    let mut carried = 0;
    for at in 1..=9 {
        let (disk, layout) = (FaultDisk::default(), Layout::new(Path::new("/store")));
        let mut log = log_with_answered_frames(&disk, &layout);
        let faulty = disk.clone().with_fault(0, Fault::Fail).and_fault(at, Fault::Crash);
        let outcome = log.sync();
        carried += u32::from(matches!(outcome, Err(LogError::Poisoned(_))));
        for left in [Left::All, Left::Synced] {
            let what = format!("{:?}, {left:?}", faulty.hit());
            let disk = disk.after_crash(left);
            let (before, found) = read(&disk, &layout);
            let whole = before == [1, 2, 3, 4] || (left == Left::Synced && before == [1]);
            assert!(whole && found.holes.is_empty(), "{what}: {before:?}, {:?}", found.holes);
            let options = WalOptions { max_size: 8 * FILE, file_size: FILE, commit_window: Duration::ZERO };
            let inherited = found.inherited();
            let mut log = Log::start(Arc::new(disk.clone()), layout.clone(), options, STORE, inherited).unwrap();
            log.commit(&[frame(found.next_lsn)]).unwrap();
            assert_eq!(read(&disk, &layout).0, [before, vec![found.next_lsn]].concat(), "{what}");
        }
    }
    assert_eq!(carried, 1, "only the last of these crashes is behind all of it");
}

/// Scenario: a write fails behind answered frames that were never synced. Guarantee (rules 1, 3, 5): they are in the new
/// file under their own LSNs, what was tried never comes back, and the new file goes on behind both.
#[test]
fn a_failed_write_keeps_what_was_answered_and_nothing_of_what_was_tried() {
    for fault in [Fault::Fail, Fault::Short] {
        let (disk, layout) = (FaultDisk::default(), Layout::new(Path::new("/store")));
        let mut log = log_with_answered_frames(&disk, &layout);
        let faulty = disk.clone().with_fault(0, fault);
        // A short write goes on where it ended.
        assert_eq!(log.write(&[frame(5), frame(6)]).is_err(), fault == Fault::Fail, "{:?}", faulty.hit());
        assert_eq!(log.durable(), if fault == Fault::Fail { 4 } else { 1 });
        log.commit(&[frame(7)]).unwrap();
        assert_eq!(log.durable(), 7);
        let expected = if fault == Fault::Fail { vec![1, 2, 3, 4, 7] } else { (1..=7).collect() };
        for left in [Left::All, Left::Synced] {
            let (lsns, found) = read(&disk.after_crash(left), &layout);
            assert_eq!((lsns, found.holes), (expected.clone(), vec![]), "{fault:?}, {left:?}");
        }
    }
}

/// Scenario: the file is full of answered frames when its sync fails, and one frame is larger than a file. Guarantee: the
/// new file has room for all of them.
#[test]
fn a_new_file_has_room_for_all_that_it_takes_over() {
    let (disk, layout) = (FaultDisk::default(), Layout::new(Path::new("/store")));
    let mut log = log_with_answered_frames(&disk, &layout);
    let large = |lsn| {
        let payload = Bytes::from(vec![lsn as u8; 20_000]);
        let (payload_len, payload_crc) = (payload.len() as u32, crc(&[&payload]));
        let frame = Frame { kind: FrameKind::Batch, lsn, received: lsn, durable: 4, payload_len, payload_crc };
        (frame, payload)
    };
    log.rotate(large(5).0.size(), 5).unwrap();
    log.write(&[large(5)]).unwrap();
    let faulty = disk.clone().with_fault(0, Fault::Fail);
    assert!(matches!(log.sync(), Err(LogError::Poisoned(_))), "{:?}", faulty.hit());
    assert_eq!(read(&disk.after_crash(Left::Synced), &layout).0, [1, 2, 3, 4, 5]);
}
