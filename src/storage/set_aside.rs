//! Batches that could not be sealed, written as they came: a small header, then frames like the log's, then an end mark.
//!
//! They stay readable from memory, so a row never vanishes because a seal could not cope with it. Byte tables:
//! `docs/formats.md`.

use super::codec::{Decoder, Malformed, crc};
use super::disk::{Disk, read_file, replace_file};
use super::error::StorageError;
use super::files::{Layout, set_aside_name};
use super::manifest::{FileKind, LiveFile};
use super::memtable::{Entry, memory_of};
use super::owner::Identity;
use super::wal::scan::Scan;
use super::wal::{Frame, FrameKind, Seed};
use crate::model::{Batch, TraceId};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::path::Path;

pub const MAGIC: [u8; 8] = *b"SLUICESA";
pub const VERSION: u32 = 1;
/// Bytes of the header; frames begin behind it.
pub const HEADER_SIZE: usize = 48;

/// The batches of one such file.
pub struct SetAside {
    pub file: LiveFile,
    /// In LSN order.
    pub(in crate::storage) entries: Vec<Entry>,
}

impl SetAside {
    /// How many batches there are.
    pub fn batches(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Bytes of memory that they take.
    pub fn memory(&self) -> usize {
        self.entries.iter().map(|entry| memory_of(&entry.batch)).sum()
    }
}

/// Writes these entries, one at least and in LSN order, and gives the file its name, durably.
pub fn write(
    disk: &dyn Disk,
    layout: &Layout,
    store: &[u8; 16],
    id: u64,
    entries: Vec<Entry>,
) -> Result<SetAside, StorageError> {
    let failed = |what| StorageError::io(&layout.set_aside, what);
    let bytes = encode(store, id, &entries);
    disk.create_dir(&layout.set_aside).map_err(failed("creating"))?;
    disk.sync_dir(&layout.root).map_err(failed("creating"))?;
    replace_file(disk, &layout.set_aside, &set_aside_name(id), &bytes).map_err(failed("writing a file in"))?;
    Ok(SetAside { file: live_file(id, bytes.len() as u64, &entries), entries })
}

/// Reads the file of this id. What is damaged is left out and said, and so is a file that is gone.
pub fn read(disk: &dyn Disk, layout: &Layout, store: &[u8; 16], id: u64) -> (SetAside, Option<StorageError>) {
    let path = layout.set_aside(id);
    let (size, (entries, damage)) = match read_file(disk, &path).map_err(StorageError::io(&path, "reading")) {
        Ok(bytes) => (bytes.len() as u64, decode(&path, &bytes, store, id)),
        Err(error) => (0, (Vec::new(), Some(error))),
    };
    (SetAside { file: live_file(id, size, &entries), entries }, damage)
}

fn encode(store: &[u8; 16], id: u64, entries: &[Entry]) -> Vec<u8> {
    let mut out =
        Vec::with_capacity(HEADER_SIZE + entries.iter().map(|entry| entry.batch.bytes().len() + 64).sum::<usize>());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(store);
    out.extend_from_slice(&id.to_le_bytes());
    let crc = crc(&[&out]);
    out.extend_from_slice(&crc.to_le_bytes());
    out.resize(HEADER_SIZE, 0);
    let seed = Seed::new(store, id);
    entries
        .iter()
        .for_each(|entry| put_frame(&mut out, seed, FrameKind::Batch, entry.lsn, entry.received, entry.batch.bytes()));
    let last = entries.last().map_or((0, 0), |entry| (entry.lsn, entry.received));
    put_frame(&mut out, seed, FrameKind::End, last.0, last.1, &Bytes::new());
    out
}

fn put_frame(out: &mut Vec<u8>, seed: Seed, kind: FrameKind, lsn: u64, received: u64, payload: &[u8]) {
    let (payload_len, payload_crc) = (payload.len() as u32, crc(&[payload]));
    let frame = Frame { kind, lsn, received, durable: lsn, payload_len, payload_crc };
    let end = out.len() + frame.size() as usize;
    out.extend_from_slice(&frame.encode(seed));
    out.extend_from_slice(payload);
    out.resize(end, 0);
}

fn live_file(id: u64, bytes: u64, entries: &[Entry]) -> LiveFile {
    let spans = || entries.iter().flat_map(|entry| entry.batch.spans());
    let ends = |of: fn(&Entry) -> u64| (entries.first().map_or(0, of), entries.last().map_or(0, of));
    LiveFile {
        kind: FileKind::SetAside,
        id,
        bytes,
        rows: spans().count() as u64,
        traces: spans().map(|head| head.trace_id).collect::<BTreeSet<TraceId>>().len() as u64,
        lsns: ends(|entry| entry.lsn),
        received: ends(|entry| entry.received),
        not_before: 0,
    }
}

/// Everything readable, and the first place that is not.
fn decode(path: &Path, bytes: &[u8], store: &[u8; 16], id: u64) -> (Vec<Entry>, Option<StorageError>) {
    let mut damage = check_header(path, bytes, store, id).err();
    if matches!(damage, Some(StorageError::NewerFormat { .. } | StorageError::OlderFormat { .. })) {
        return (Vec::new(), damage);
    }
    let mut note = |at: usize, what: &str| {
        damage.get_or_insert_with(|| StorageError::damaged(path, at as u64, what));
    };
    let mut entries = Vec::new();
    let mut scan = Scan::new(bytes, Seed::new(store, id), HEADER_SIZE);
    loop {
        let Some((from, frame)) = scan.next_frame() else {
            note(scan.at, "no frame and no end mark here");
            break;
        };
        if from < scan.at {
            note(from, "no frame here");
        }
        if frame.kind == FrameKind::End {
            break;
        }
        match Batch::from_otlp(Bytes::copy_from_slice(scan.payload(scan.at, &frame))) {
            Ok(ingested) => entries.push(Entry { lsn: frame.lsn, received: frame.received, batch: ingested.batch }),
            Err(_) => note(scan.at, "a batch that cannot be walked"),
        }
        scan.pass(&frame);
    }
    (entries, damage)
}

/// Reads the header of a file; `None` where it is damaged, of another version, or none of these.
pub fn identify(disk: &dyn Disk, path: &Path) -> Option<Identity> {
    let mut header = [0; HEADER_SIZE];
    disk.open(path).ok()?.read_at(&mut header, 0).ok()?;
    read_header(path, &header).ok()
}

/// The header is there for people and versions; frames say by themselves whether they belong to the file.
fn check_header(path: &Path, bytes: &[u8], store: &[u8; 16], id: u64) -> Result<(), StorageError> {
    match read_header(path, bytes)? == (Identity { store: *store, id }) {
        true => Ok(()),
        false => Err(StorageError::damaged(path, 0, "this is the file of another store, or another one of this")),
    }
}

fn read_header(path: &Path, bytes: &[u8]) -> Result<Identity, StorageError> {
    let damaged = |what: &str| StorageError::damaged(path, 0, what);
    let malformed = |_: Malformed| damaged("cut short");
    let mut fields = Decoder::new(bytes);
    let magic = fields.array::<8>().map_err(malformed)?;
    let version = fields.u32().map_err(malformed)?;
    fields.u32().map_err(malformed)?;
    let of = Identity { store: fields.array().map_err(malformed)?, id: fields.u64().map_err(malformed)? };
    let covered = bytes.get(..fields.position()).unwrap_or_default();
    if fields.u32().map_err(malformed)? != crc(&[covered]) || magic != MAGIC {
        return Err(damaged("header checksum does not match"));
    }
    if version != VERSION {
        return Err(StorageError::format(path.to_owned(), version, VERSION));
    }
    Ok(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::wire::put_bytes;

    const STORE: [u8; 16] = [5; 16];

    /// A batch of one span.
    fn entry(lsn: u64) -> Entry {
        let mut levels = Vec::new();
        put_bytes(&mut levels, 1, &[lsn as u8; 16]);
        put_bytes(&mut levels, 2, &[lsn as u8; 8]);
        put_bytes(&mut levels, 5, format!("span {lsn}").as_bytes());
        for field in [2, 2, 1] {
            let inner = std::mem::take(&mut levels);
            put_bytes(&mut levels, field, &inner);
        }
        Entry { lsn, received: 100 + lsn, batch: Batch::from_otlp(levels.into()).unwrap().batch }
    }

    fn read_back(bytes: &[u8]) -> (Vec<u64>, Option<StorageError>) {
        let (entries, damage) = decode(Path::new("x"), bytes, &STORE, 9);
        let same = |entry: &Entry| {
            entry.batch.bytes() == self::entry(entry.lsn).batch.bytes() && entry.received == 100 + entry.lsn
        };
        assert!(entries.iter().all(same));
        (entries.iter().map(|entry| entry.lsn).collect(), damage)
    }

    #[test]
    fn batches_come_back_as_they_were_put_in() {
        let entries = [entry(3), entry(7)];
        let bytes = encode(&STORE, 9, &entries);
        let (lsns, damage) = read_back(&bytes);
        assert_eq!((lsns, damage.is_none()), (vec![3, 7], true));
        let file = live_file(9, bytes.len() as u64, &entries);
        assert_eq!((file.rows, file.traces, file.lsns, file.received), (2, 2, (3, 7), (103, 107)));
    }

    #[test]
    fn any_flipped_bit_costs_at_most_its_batch_and_is_said() {
        let bytes = encode(&STORE, 9, &[entry(3), entry(7), entry(8)]);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let (lsns, damage) = read_back(&flipped);
            assert!(lsns.len() >= 2, "bit {bit}: {lsns:?}");
            assert!(damage.is_some() || lsns.len() == 3, "bit {bit}: a batch is gone and nothing is said");
        }
    }

    #[test]
    fn a_file_cut_short_anywhere_gives_the_batches_before_the_cut_and_is_said() {
        let bytes = encode(&STORE, 9, &[entry(3), entry(7)]);
        for end in 0..bytes.len() - 48 {
            let (lsns, damage) = read_back(&bytes[..end]);
            assert!(damage.is_some() && lsns.len() <= 2, "cut at {end}: {lsns:?}");
        }
    }

    #[test]
    fn the_file_of_another_store_gives_nothing() {
        let bytes = encode(&[6; 16], 9, &[entry(3)]);
        let (lsns, damage) = read_back(&bytes);
        assert!(lsns.is_empty() && damage.is_some());
    }
}
