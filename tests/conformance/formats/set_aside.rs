//! The golden set-aside file.

use super::check_golden;
use super::cursor::crc;
use super::golden::{self, RECEIVED, SET_ASIDE, STORE};
use super::tables::Layout as Table;
use super::wal::frame_at;
use crate::support::fault_disk::FaultDisk;
use sluice::storage::disk::replace_file;
use sluice::storage::files::{Layout, set_aside_name};
use sluice::storage::manifest::FileKind;
use sluice::storage::set_aside;
use std::path::Path;

#[test]
fn the_golden_set_aside_file_is_written_byte_for_byte() {
    check_golden("v1.aside", &golden::set_aside());
}

#[test]
fn the_golden_set_aside_file_is_what_formats_md_says() {
    let file = golden::stored("v1.aside");
    let table = Table::of("Set-aside file header");
    assert_eq!(table.size(), 48);
    let header = table.read(&file);
    header.check_reserved();
    assert_eq!((header.bytes("magic"), header.bytes("store")), (&b"SLUICESA"[..], &STORE[..]));
    assert_eq!(header.numbers(["version", "id", "crc"]), [1, SET_ASIDE, crc(&file[..40])]);
    let mut at = 48;
    for (frame, payload) in golden::frames() {
        let (header, body) = frame_at(&file, at, SET_ASIDE);
        let names = ["kind", "lsn", "received", "durable", "payload_len"];
        assert_eq!(header.numbers(names), [1, frame.lsn, frame.received, frame.lsn, payload.len() as u64]);
        assert_eq!((header.number("payload_crc"), body), (crc(&payload), &*payload));
        at += (48 + payload.len()).next_multiple_of(8);
    }
    let (end, _) = frame_at(&file, at, SET_ASIDE);
    assert_eq!(end.numbers(["kind", "lsn", "received", "durable", "payload_len"]), [2, 43, RECEIVED + 9, 43, 0]);
    assert_eq!(file.len(), at + 48);
}

#[test]
fn the_golden_set_aside_file_is_read() {
    let (disk, layout) = (FaultDisk::default(), Layout::new(Path::new("/store")));
    replace_file(&disk, &layout.set_aside, &set_aside_name(SET_ASIDE), &golden::stored("v1.aside")).unwrap();
    let (found, damage) = set_aside::read(&disk, &layout, &STORE, SET_ASIDE);
    assert!(damage.is_none(), "{damage:?}");
    let spans = golden::frames().iter().map(|(frame, _)| frame.lsn - 40).sum::<u64>();
    assert_eq!((found.batches(), found.file.rows, found.file.lsns), (3, spans, (41, 43)));
    assert_eq!((found.file.kind, found.file.received), (FileKind::SetAside, (RECEIVED, RECEIVED + 9)));
}
