//! The golden log file.

use super::cursor::crc;
use super::golden::{self, LOG, LOG_SIZE, PREVIOUS, RECEIVED, STORE};
use super::tables::Layout as Table;
use super::{check_golden, tables::Fields};
use crate::support::fault_disk::FaultDisk;
use sluice::storage::disk::{Disk, replace_file};
use sluice::storage::files::Layout;
use sluice::storage::wal::replay::replay;
use std::path::Path;

#[test]
fn the_golden_log_file_is_written_byte_for_byte() {
    check_golden("v2.wal", &golden::wal());
}

#[test]
fn the_golden_log_file_is_what_formats_md_says() {
    let file = golden::stored("v2.wal");
    assert_eq!(file.len() as u64, LOG_SIZE);
    check_file_header(&file);
    let frames = golden::frames();
    let mut at = 8192;
    for (frame, payload) in &frames {
        let (header, body) = frame_at(&file, at);
        let names = ["kind", "lsn", "received", "durable", "payload_len"];
        assert_eq!(header.numbers(names), [1, frame.lsn, frame.received, frame.durable, payload.len() as u64]);
        assert_eq!((header.number("payload_crc"), body), (crc(payload), &**payload));
        at += (48 + payload.len()).next_multiple_of(8);
    }
    let (end, _) = frame_at(&file, at);
    assert_eq!(end.numbers(["kind", "lsn", "received", "durable", "payload_len"]), [2, 43, RECEIVED + 10, 43, 0]);
    assert!(file[at + 48..].iter().all(|byte| *byte == 0));
}

fn check_file_header(file: &[u8]) {
    let table = Table::of("WAL file header");
    assert_eq!(table.size(), 84);
    let header = table.read(file);
    header.check_reserved();
    assert_eq!((header.bytes("magic"), header.bytes("store")), (&b"SLUICEWL"[..], &STORE[..]));
    assert_eq!(header.numbers(["version", "id", "size", "first_lsn"]), [2, LOG, LOG_SIZE, 41]);
    let previous = header.numbers(["previous_id", "previous_end", "previous_last_lsn"]);
    assert_eq!(previous, [PREVIOUS.id, PREVIOUS.end, PREVIOUS.last_lsn]);
    assert_eq!(header.number("crc"), crc(&file[..80]));
    assert_eq!(file[4096..4096 + 84], file[..84], "the second copy");
    assert!([&file[84..4096], &file[4096 + 84..8192]].concat().iter().all(|byte| *byte == 0));
}

/// The header and payload of the frame at this offset, its checksum checked.
fn frame_at(file: &[u8], at: usize) -> (Fields, &[u8]) {
    let table = Table::of("Frame header");
    assert_eq!(table.size(), 48);
    let header = table.read(&file[at..]);
    header.check_reserved();
    let seed = crc(&[&STORE[..], &LOG.to_le_bytes()].concat()) as u32;
    assert_eq!(header.number("crc"), crc(&[&seed.to_le_bytes(), &file[at + 4..at + 48]].concat()));
    let end = at + 48 + header.number("payload_len") as usize;
    assert!(file[end..end.next_multiple_of(8)].iter().all(|byte| *byte == 0), "padding");
    (header, &file[at + 48..end])
}

#[test]
fn the_golden_log_file_is_read() {
    let (disk, layout) = (FaultDisk::default(), Layout::new(Path::new("/store")));
    let name = layout.log(LOG);
    disk.create_dir(&layout.wal).unwrap();
    replace_file(&disk, &layout.wal, name.file_name().unwrap().to_str().unwrap(), &golden::stored("v2.wal")).unwrap();
    let mut found = Vec::new();
    let replay = replay(&disk, &layout, &STORE, 41, &mut |batch| found.push(batch)).unwrap();
    let frames = golden::frames();
    assert_eq!(found.len(), frames.len());
    for (batch, (frame, payload)) in found.iter().zip(&frames) {
        assert_eq!((batch.lsn, batch.received, &batch.payload), (frame.lsn, frame.received, payload));
    }
    assert_eq!((replay.holes, replay.next_lsn, replay.next_id), (vec![], 44, LOG + 1));
}
