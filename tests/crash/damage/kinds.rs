//! Every damage there is, made of one fixture.

use super::check::Case;
use super::fixture::{File, Fixture, Part, RowId, put};
use crate::support::fault_disk::{FaultDisk, Left};
use sluice::storage::codec::crc;
use sluice::storage::disk::Disk;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a disk loses as a unit.
const PAGE: usize = 4096;

/// A case and where it stands on the page: what is damaged, and how.
pub struct Named<'a> {
    pub file: String,
    pub damage: &'static str,
    pub case: Case<'a>,
}

fn touched(file: &File, from: usize, to: usize) -> BTreeSet<RowId> {
    let hit = file.parts.iter().filter(|part| part.bytes.start < to && from < part.bytes.end);
    hit.flat_map(|part| part.rows.iter().cloned()).collect()
}

/// Whether what is damaged there can be told from what a crash leaves.
fn is_known(file: &File, from: usize, to: usize) -> bool {
    file.parts.iter().any(|part| part.known && part.bytes.start < to && from < part.bytes.end)
}

pub fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// The case of a file with other bytes from one offset to another.
fn changed<'a>(fixture: &Fixture, file: &'a File, what: &str, bytes: &[u8], (from, to): (usize, usize)) -> Case<'a> {
    Case {
        what: format!("{} {}: {what}", file.kind, file.path.display()),
        disk: fixture.with(&file.path, bytes),
        files: vec![name_of(&file.path)],
        may_lose: touched(file, from, to),
        known: is_known(file, from, to),
        other_version: false,
    }
}

/// One bit of the byte at this offset.
pub fn flip<'a>(fixture: &Fixture, file: &'a File, at: usize, bit: u8) -> Case<'a> {
    let mut bytes = file.bytes.clone();
    bytes[at] ^= 1 << (bit % 8);
    changed(fixture, file, &format!("bit {} of byte {at} flipped", bit % 8), &bytes, (at, at + 1))
}

/// A flipped bit at the beginning, in the middle and at the end of every part.
pub fn flips<'a>(fixture: &'a Fixture, file: &'a File) -> Vec<Named<'a>> {
    let places = |part: &Part| [part.bytes.start, (part.bytes.start + part.bytes.end) / 2, part.bytes.end - 1];
    let named = |part: &Part, at| {
        let file_name = match part.name {
            "all of it" => file.kind.to_owned(),
            part => format!("{}: {part}", file.kind),
        };
        Named { file: file_name, damage: "bit flipped", case: flip(fixture, file, at, at as u8) }
    };
    file.parts.iter().flat_map(|part| places(part).map(|at| named(part, at))).collect()
}

/// Cut short to nothing, to a byte, to whole pages, behind each part, and by a byte.
pub fn cuts<'a>(fixture: &'a Fixture, file: &'a File) -> Vec<Named<'a>> {
    let size = file.bytes.len();
    let mut lengths: BTreeSet<_> = [0, 1, size / 2, size - 1].into();
    lengths.extend((PAGE..size).step_by(PAGE));
    lengths.extend(file.parts.iter().map(|part| part.bytes.end).filter(|end| *end < size));
    let cut = |length| {
        let mut case = changed(fixture, file, &format!("cut to {length} bytes"), &file.bytes[..length], (length, size));
        // A log file that is too short is noticed, whatever was behind its end.
        case.known |= file.kind.ends_with("log file") && file.kind != "spare log file";
        Named { file: file.kind.to_owned(), damage: "cut short", case }
    };
    lengths.into_iter().map(cut).collect()
}

pub fn zero_pages<'a>(fixture: &'a Fixture, file: &'a File) -> Vec<Named<'a>> {
    let zero = |from: usize| {
        let to = (from + PAGE).min(file.bytes.len());
        let mut bytes = file.bytes.clone();
        bytes[from..to].fill(0);
        let case = changed(fixture, file, &format!("page at {from} zeroed"), &bytes, (from, to));
        Named { file: file.kind.to_owned(), damage: "page zeroed", case }
    };
    let changes = |from: &usize| file.bytes[*from..].iter().take(PAGE).any(|byte| *byte != 0);
    (0..file.bytes.len()).step_by(PAGE).filter(changes).map(zero).collect()
}

pub fn missing<'a>(fixture: &'a Fixture, file: &'a File) -> Named<'a> {
    let disk = fixture.disk.after_crash(Left::All);
    disk.remove(&file.path).unwrap();
    let mut case = changed(fixture, file, "gone", &file.bytes, (0, file.bytes.len()));
    case.disk = disk;
    // No file that is there names the newest log file, and the manifest only if it was written since.
    case.known &= file.kind != "newest log file";
    Named { file: file.kind.to_owned(), damage: "gone", case }
}

/// A name in the same folder: an id that was used and is free, and one above all.
fn free_names(fixture: &Fixture, file: &File) -> Vec<PathBuf> {
    let name = name_of(&file.path);
    let (prefix, suffix) = match (name.strip_prefix("spare-"), name.split_once('.')) {
        (Some(_), Some((_, suffix))) => ("spare-", suffix),
        (None, Some((_, suffix))) if !name.starts_with("manifest") => ("", suffix),
        _ => return vec![file.path.with_file_name("manifest.c")],
    };
    let path = |id: u64| file.path.with_file_name(format!("{prefix}{id:016x}.{suffix}"));
    let used = (1..).map(path).find(|path| fixture.disk.open(path).is_err() && !names_id(fixture, path)).unwrap();
    vec![used, path(0x4000)]
}

/// Whether a file of another kind has this id.
fn names_id(fixture: &Fixture, path: &Path) -> bool {
    let id = name_of(path).split('.').next().unwrap().to_owned();
    fixture.files.iter().any(|file| name_of(&file.path).contains(&id))
}

fn beside<'a>(fixture: &'a Fixture, file: &'a File, path: PathBuf, bytes: &[u8], what: &str) -> Case<'a> {
    let disk = fixture.disk.after_crash(Left::All);
    put(&disk, &path, bytes);
    let what = format!("{} {}: {what} as {}", file.kind, file.path.display(), path.display());
    let name: &str = Box::leak(name_of(&path).to_owned().into_boxed_str());
    // What a spare holds has no meaning.
    let known = file.kind != "spare log file";
    Case { what, disk, files: vec![name], may_lose: BTreeSet::new(), known, other_version: false }
}

pub fn copies<'a>(fixture: &'a Fixture, file: &'a File) -> Vec<Named<'a>> {
    let copy = |path| Named {
        file: file.kind.to_owned(),
        damage: "copied to a free name",
        case: beside(fixture, file, path, &file.bytes, "copied"),
    };
    free_names(fixture, file).into_iter().map(copy).collect()
}

/// Another store's file: in the place of this one, and beside it.
pub fn foreign<'a>(fixture: &'a Fixture, file: &'a File, other: &File) -> Vec<Named<'a>> {
    let case = changed(fixture, file, "another store's", &other.bytes, (0, file.bytes.len()));
    let mut named = vec![Named { file: file.kind.to_owned(), damage: "replaced by another store's", case }];
    for path in free_names(fixture, file) {
        let case = beside(fixture, file, path, &other.bytes, "another store's");
        named.push(Named { file: file.kind.to_owned(), damage: "another store's beside it", case });
    }
    // The newest log file is missed only by a manifest that was written since.
    named[0].case.known &= file.kind != "newest log file";
    named
}

/// Made by another version: the same bytes under another number, its checksums right.
pub fn versions<'a>(fixture: &'a Fixture, file: &'a File) -> Vec<Named<'a>> {
    let version = |delta: i32, damage| {
        let mut bytes = file.bytes.clone();
        set_version(&mut bytes, file.kind, delta);
        let mut case = changed(fixture, file, damage, &bytes, (0, file.bytes.len()));
        case.other_version = file.kind != "spare log file";
        Named { file: file.kind.to_owned(), damage, case }
    };
    vec![version(1, "of a newer version"), version(-1, "of an older version")]
}

fn set_version(bytes: &mut [u8], kind: &str, delta: i32) {
    let size = bytes.len();
    match kind {
        "manifest.a" | "manifest.b" => change_version(bytes, delta, 8, 0..size - 4, size - 4),
        "set-aside file" => change_version(bytes, delta, 8, 0..40, 40),
        "segment" => {
            change_version(bytes, delta, 8, 0..36, 36);
            let length = u32::from_le_bytes(bytes[size - 16..size - 12].try_into().unwrap()) as usize;
            let footer = size - 16 - length;
            change_version(bytes, delta, footer, footer..size - 16, size - 12);
        }
        _ => [0, PAGE].into_iter().for_each(|at| change_version(bytes, delta, at + 8, at..at + 80, at + 80)),
    }
}

fn change_version(bytes: &mut [u8], delta: i32, at: usize, covered: Range<usize>, crc_at: usize) {
    let version = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()).wrapping_add_signed(delta);
    bytes[at..at + 4].copy_from_slice(&version.to_le_bytes());
    let crc = crc(&[&bytes[covered]]);
    bytes[crc_at..crc_at + 4].copy_from_slice(&crc.to_le_bytes());
}

/// Damage to both copies of the manifest at once.
pub fn both_manifests<'a>(fixture: &'a Fixture, other: &Fixture) -> Vec<Named<'a>> {
    let (a, b) = (fixture.file("manifest.a"), fixture.file("manifest.b"));
    let case = |damage: &'static str, change: &dyn Fn(&FaultDisk)| {
        let disk = fixture.disk.after_crash(Left::All);
        change(&disk);
        let files = vec!["manifest.a"];
        let case = Case {
            what: format!("both manifests: {damage}"),
            disk,
            files,
            may_lose: BTreeSet::new(),
            known: true,
            other_version: false,
        };
        Named { file: "both manifests".into(), damage, case }
    };
    let set = |disk: &FaultDisk, bytes: &dyn Fn(&File) -> Vec<u8>| {
        [a, b].iter().for_each(|file| put(disk, &file.path, &bytes(file)))
    };
    let flipped = |file: &File| [&file.bytes[..40], &[file.bytes[40] ^ 4], &file.bytes[41..]].concat();
    let mut cases = vec![
        case("bit flipped", &|disk| set(disk, &flipped)),
        case("cut short", &|disk| set(disk, &|file| file.bytes[..30].to_vec())),
        case("cut short", &|disk| set(disk, &|_| Vec::new())),
        case("page zeroed", &|disk| set(disk, &|file| vec![0; file.bytes.len()])),
        case("gone", &|disk| [a, b].iter().for_each(|file| disk.remove(&file.path).unwrap())),
        case("gone", &|disk| {
            disk.remove(&a.path).unwrap();
            put(disk, &b.path, &flipped(b));
        }),
        case("replaced by another store's", &|disk| set(disk, &|file| other.file(file.kind).bytes.clone())),
        case("older than the store", &|disk| set(disk, &|_| fixture.old_manifest.clone())),
    ];
    // What an older manifest does not name is what is found.
    if let Some(old) = cases.last_mut() {
        old.case.files = fixture.files_since.iter().map(|path| name_of(path)).collect();
    }
    cases
}
