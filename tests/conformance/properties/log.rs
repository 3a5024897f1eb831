//! Replay after any history and any damage: never a panic, never a batch that was not written, and all that is whole.

use crate::support::fault_disk::FaultDisk;
use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use sluice::storage::WalOptions;
use sluice::storage::codec::crc;
use sluice::storage::disk::{read_file, replace_file};
use sluice::storage::files::Layout;
use sluice::storage::wal::log::Inherited;
use sluice::storage::wal::replay::replay;
use sluice::storage::wal::{Frame, FrameKind, HEADER_PAGE, Hole, Log};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const STORE: [u8; 16] = [3; 16];
const FILE_SIZE: u64 = 12 << 10;

/// A batch as it was written: its payload, its file and the bytes of its frame there.
struct Written {
    payload: Bytes,
    file: u64,
    frame: std::ops::Range<u64>,
}

struct History {
    disk: FaultDisk,
    layout: Layout,
    batches: BTreeMap<u64, Written>,
    files: u64,
}

/// Writes these payloads in groups, a sync each, into as many files as it takes.
fn write(groups: &[Vec<Vec<u8>>], closed: bool) -> History {
    let (disk, layout) = (FaultDisk::default(), Layout::new(Path::new("/store")));
    let options = WalOptions { max_size: 1 << 30, file_size: FILE_SIZE, commit_window: Duration::ZERO };
    let found = Inherited { closed: vec![], spares: vec![], previous: None, next_id: 1, next_lsn: 1 };
    let mut log = Log::start(Arc::new(disk.clone()), layout.clone(), options, STORE, found).unwrap();
    let (mut batches, mut lsn, mut at) = (BTreeMap::new(), 1, HEADER_PAGE);
    for group in groups {
        let durable = lsn - 1;
        let frames: Vec<_> = (lsn..).zip(group).map(|(lsn, payload)| frame(lsn, durable, payload)).collect();
        let size = frames.iter().map(|(frame, _)| frame.size()).sum();
        if !log.fits(size) {
            log.rotate(size, lsn).unwrap();
            at = HEADER_PAGE;
        }
        log.commit(&frames).unwrap();
        for (frame, payload) in frames {
            let file = log.next_file_id() - 1;
            batches.insert(frame.lsn, Written { payload, file, frame: at..at + frame.size() });
            at += frame.size();
            lsn += 1;
        }
    }
    if closed {
        log.close(lsn).unwrap();
    }
    History { disk, layout, batches, files: log.next_file_id() - 1 }
}

fn frame(lsn: u64, durable: u64, payload: &[u8]) -> (Frame, Bytes) {
    let (payload_len, payload_crc) = (payload.len() as u32, crc(&[payload]));
    let frame = Frame { kind: FrameKind::Batch, lsn, received: lsn, durable, payload_len, payload_crc };
    (frame, Bytes::copy_from_slice(payload))
}

/// One changed byte, or a file cut short.
#[derive(Debug, Clone, Copy)]
struct Damage {
    file: u64,
    at: u64,
    by: u8,
    cut: bool,
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = prop_oneof![4 => HEADER_PAGE..HEADER_PAGE + 900, 1 => 0..FILE_SIZE];
    (1..4u64, place, 1..=255u8, prop::bool::weighted(0.1)).prop_map(|(file, at, by, cut)| Damage { file, at, by, cut })
}

impl History {
    /// The same log with this damage.
    fn damaged(&self, damage: &[Damage]) -> FaultDisk {
        let disk = FaultDisk::default();
        for id in 1..=self.files {
            let path = self.layout.log(id);
            let mut bytes = read_file(&self.disk, &path).unwrap();
            for damage in damage.iter().filter(|damage| damage.file == id) {
                bytes.iter_mut().skip(damage.at as usize).take(1).for_each(|byte| *byte ^= damage.by);
            }
            let cut =
                damage.iter().filter(|damage| damage.file == id && damage.cut).map(|damage| damage.at as usize).min();
            bytes.truncate(cut.unwrap_or(bytes.len()));
            let name = path.file_name().unwrap().to_str().unwrap();
            replace_file(&disk, &self.layout.wal, name, &bytes).unwrap();
        }
        disk
    }
}

impl Written {
    fn is_hit(&self, damage: &[Damage]) -> bool {
        // Padding is not covered by a checksum and carries nothing.
        let end = self.frame.start + 48 + self.payload.len() as u64;
        let hit = |damage: &Damage| (self.frame.start..end).contains(&damage.at) || (damage.cut && damage.at < end);
        damage.iter().any(|damage| damage.file == self.file && hit(damage))
    }
}

/// Whether a report says that this LSN of this file is missing, or that the file's header is damaged.
fn is_reported(holes: &[Hole], lsn: u64, path: &Path) -> bool {
    let says = |hole: &Hole| (hole.first_lost..hole.first_lost + hole.lost).contains(&lsn) || hole.from == 0;
    holes.iter().any(|hole| hole.path == path && says(hole))
}

fn groups() -> impl Strategy<Value = Vec<Vec<Vec<u8>>>> {
    vec(vec(prop_oneof![3 => vec(any::<u8>(), 0..60), 1 => vec(any::<u8>(), 500..900)], 1..4), 1..8)
}

proptest! {
    #[test]
    fn a_whole_log_gives_every_batch_in_order(groups in groups(), closed: bool) {
        let history = write(&groups, closed);
        let mut found = Vec::new();
        let replay = replay(&history.disk, &history.layout, &STORE, 1, &mut |batch| found.push((batch.lsn, batch.payload))).unwrap();
        let expected: Vec<_> = history.batches.iter().map(|(lsn, batch)| (*lsn, batch.payload.clone())).collect();
        prop_assert_eq!((replay.holes, replay.next_lsn), (vec![], expected.len() as u64 + 1));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn damage_costs_only_the_frames_it_hit(groups in groups(), closed: bool, damage in vec(damage(), 1..5)) {
        let history = write(&groups, closed);
        let disk = history.damaged(&damage);
        let mut found = BTreeMap::new();
        let replay = replay(&disk, &history.layout, &STORE, 1, &mut |batch| {
            assert!(found.insert(batch.lsn, batch.payload).is_none(), "twice");
        }).unwrap();
        for (lsn, batch) in &history.batches {
            match found.remove(lsn) {
                Some(payload) => prop_assert_eq!(&payload, &batch.payload),
                None => {
                    prop_assert!(batch.is_hit(&damage), "batch {} is gone without damage", lsn);
                    let behind = history.batches.range(lsn + 1..).any(|(_, other)| other.file == batch.file && !other.is_hit(&damage));
                    prop_assert!(!behind || is_reported(&replay.holes, *lsn, &history.layout.log(batch.file)));
                }
            }
        }
        prop_assert!(found.is_empty(), "batches that nobody wrote");
    }
}

/// An end mark says which LSN was the last: without it the loss would look like the end of the file.
#[test]
fn a_damaged_last_frame_before_the_end_mark_is_reported_and_its_lsn_not_used_again() {
    let history = write(&[vec![vec![1; 20], vec![2; 20]]], true);
    let hit = Damage { file: 1, at: history.batches[&2].frame.start + 50, by: 1, cut: false };
    let replay = replay(&history.damaged(&[hit]), &history.layout, &STORE, 1, &mut |_| {}).unwrap();
    let lost: Vec<_> = replay.holes.iter().map(|hole| (hole.first_lost, hole.lost, hole.durable)).collect();
    assert_eq!((lost, replay.next_lsn), (vec![(2, 1, true)], 3));
}
