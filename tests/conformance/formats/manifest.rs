//! The golden manifest.

use super::check_golden;
use super::cursor::{Cursor, crc};
use super::golden::{self, manifest_value};
use super::tables::Layout as Table;
use sluice::storage::manifest::{LiveFile, Manifest};

#[test]
fn the_golden_manifest_is_written_byte_for_byte() {
    check_golden("v1.manifest", &golden::manifest());
}

#[test]
fn the_golden_manifest_is_read() {
    assert_eq!(Manifest::decode(&golden::stored("v1.manifest")), Ok(manifest_value()));
}

#[test]
fn the_golden_manifest_is_what_formats_md_says() {
    let (file, expected) = (golden::stored("v1.manifest"), manifest_value());
    let (header, body) = (Table::of("Manifest header"), Table::of("Manifest body"));
    let head = header.read(&file);
    assert_eq!((head.bytes("magic"), head.number("version")), (&b"SLUICEMF"[..], 1));
    let end = header.size() + head.number("body_length") as usize;
    let fixed = body.read(&file[header.size()..]);
    assert_eq!(fixed.bytes("store"), expected.store);
    let names = ["epoch", "position", "proven", "judge_from", "bucket_width", "clock", "next_segment", "next_log"];
    let Manifest { epoch, position, proven, judge_from, bucket_width, clock, next_segment, next_log, .. } = expected;
    let numbers = [epoch, position, proven, judge_from, bucket_width, clock, next_segment, next_log];
    assert_eq!(fixed.numbers(names), numbers);

    let mut rest = Cursor(&file[header.size() + body.size()..end]);
    assert_eq!(rest.varint(), expected.policies.len() as u64);
    for policy in &expected.policies {
        assert_eq!((rest.varint(), rest.text()), (policy.id.into(), policy.text.clone()));
    }
    assert_eq!(rest.varint(), expected.files.len() as u64);
    expected.files.iter().for_each(|file| check_file(&mut rest, file));
    assert!(rest.0.is_empty());
    assert_eq!(file[end..], (crc(&file[..end]) as u32).to_le_bytes());
}

fn check_file(bytes: &mut Cursor<'_>, file: &LiveFile) {
    assert_eq!(bytes.byte(), file.kind as u8);
    let expected = [
        file.id,
        file.bytes,
        file.rows,
        file.traces,
        file.lsns.0,
        file.lsns.1,
        file.received.0,
        file.received.1,
        file.not_before,
    ];
    assert_eq!(expected.map(|_| bytes.varint()), expected);
}
