//! The one list of live files and the LSN they cover: the commit point.
//!
//! It is written twice under the same epoch; either copy will do, the newer readable one counts. A file is live if and
//! only if the manifest names it. Nothing that an older copy still needs is given up before both are written.

pub mod copies;

pub use copies::{Found, load, store};

use super::codec::{Decoder, Malformed, crc, put_prefixed};
use crate::model::time::Nanos;
use crate::model::wire::put_varint;

pub const MAGIC: [u8; 8] = *b"SLUICEMF";
pub const VERSION: u32 = 1;

/// What a live file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FileKind {
    Segment = 1,
    /// A segment of traces not finally judged.
    Remainder = 2,
    /// The record of dropped traces.
    Decisions = 3,
    /// Batches that could not be sealed.
    SetAside = 4,
}

/// A live file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveFile {
    pub kind: FileKind,
    pub id: u64,
    pub bytes: u64,
    pub rows: u64,
    pub traces: u64,
    pub lsns: (u64, u64),
    pub received: (Nanos, Nanos),
    /// Of a remainder: no pass takes it before.
    pub not_before: Nanos,
}

/// A sampling policy that verdicts refer to by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub id: u32,
    pub text: String,
}

/// The state of a store at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    pub store: [u8; 16],
    pub epoch: u64,
    /// Every row below this LSN is in a named segment.
    pub position: u64,
    /// The LSN as of which the latest drops are proven; 0 before the first.
    pub proven: u64,
    /// No trace with a row below this LSN is ever judged; `u64::MAX` while sampling was never on.
    pub judge_from: u64,
    /// Width of a receive-time bucket; 0 while nothing is bucketed.
    pub bucket_width: Nanos,
    /// Store time when this was written.
    pub clock: Nanos,
    /// Above the id of every segment ever begun.
    pub next_segment: u64,
    /// Above the id of every log file ever begun, as far as known here.
    pub next_log: u64,
    pub policies: Vec<Policy>,
    pub files: Vec<LiveFile>,
}

impl Manifest {
    /// The manifest of a new store.
    pub fn new(store: [u8; 16]) -> Self {
        Self { store, epoch: 1, position: 1, judge_from: u64::MAX, next_segment: 1, next_log: 1, ..Self::default() }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend_from_slice(&self.store);
        for number in [self.epoch, self.position, self.proven, self.judge_from, self.bucket_width, self.clock] {
            body.extend_from_slice(&number.to_le_bytes());
        }
        [self.next_segment, self.next_log].iter().for_each(|number| body.extend_from_slice(&number.to_le_bytes()));
        put_varint(&mut body, self.policies.len() as u64);
        for policy in &self.policies {
            put_varint(&mut body, policy.id.into());
            put_prefixed(&mut body, policy.text.as_bytes());
        }
        put_varint(&mut body, self.files.len() as u64);
        self.files.iter().for_each(|file| put_file(&mut body, file));

        let mut out = Vec::with_capacity(body.len() + 24);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&body);
        let crc = crc(&[&out]);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads one copy.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadManifest> {
        let mut fields = Decoder::new(bytes);
        if fields.array()? != MAGIC {
            return Err(BadManifest::Damaged);
        }
        let version = fields.u32()?;
        let length = fields.u32()? as usize;
        let body = fields.bytes(length)?;
        let covered = bytes.get(..fields.position()).unwrap_or_default();
        if fields.u32()? != crc(&[covered]) || !fields.is_empty() {
            return Err(BadManifest::Damaged);
        }
        if version != VERSION {
            return Err(BadManifest::Version(version));
        }
        Ok(get_body(&mut Decoder::new(body))?)
    }
}

/// Why bytes are no manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadManifest {
    Damaged,
    Version(u32),
}

impl From<Malformed> for BadManifest {
    fn from(_: Malformed) -> Self {
        Self::Damaged
    }
}

fn get_body(fields: &mut Decoder<'_>) -> Result<Manifest, Malformed> {
    let mut manifest = Manifest { store: fields.array()?, epoch: fields.u64()?, ..Manifest::default() };
    (manifest.position, manifest.proven, manifest.judge_from) = (fields.u64()?, fields.u64()?, fields.u64()?);
    (manifest.bucket_width, manifest.clock) = (fields.u64()?, fields.u64()?);
    (manifest.next_segment, manifest.next_log) = (fields.u64()?, fields.u64()?);
    for _ in 0..fields.small::<usize>()? {
        manifest.policies.push(Policy { id: fields.small()?, text: fields.text()?.to_owned() });
    }
    for _ in 0..fields.small::<usize>()? {
        manifest.files.push(get_file(fields)?);
    }
    Ok(manifest)
}

fn put_file(out: &mut Vec<u8>, file: &LiveFile) {
    out.push(file.kind as u8);
    let (lsns, received) = (file.lsns, file.received);
    let numbers =
        [file.id, file.bytes, file.rows, file.traces, lsns.0, lsns.1, received.0, received.1, file.not_before];
    numbers.into_iter().for_each(|number| put_varint(out, number));
}

fn get_file(fields: &mut Decoder<'_>) -> Result<LiveFile, Malformed> {
    let kind = match fields.u8()? {
        1 => FileKind::Segment,
        2 => FileKind::Remainder,
        3 => FileKind::Decisions,
        4 => FileKind::SetAside,
        _ => return Err(fields.malformed()),
    };
    let (id, bytes, rows, traces) = (fields.varint()?, fields.varint()?, fields.varint()?, fields.varint()?);
    let (lsns, received) = ((fields.varint()?, fields.varint()?), (fields.varint()?, fields.varint()?));
    Ok(LiveFile { kind, id, bytes, rows, traces, lsns, received, not_before: fields.varint()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let file = LiveFile {
            kind: FileKind::Remainder,
            id: 3,
            bytes: 4096,
            rows: 20,
            traces: 5,
            lsns: (1, 9),
            received: (100, 200),
            not_before: 300,
        };
        let policies = vec![Policy { id: 1, text: "errors".into() }];
        Manifest { position: 10, clock: 77, policies, files: vec![file], ..Manifest::new([9; 16]) }
    }

    #[test]
    fn a_manifest_reads_back_as_written() {
        assert_eq!(Manifest::decode(&manifest().encode()), Ok(manifest()));
    }

    #[test]
    fn any_flipped_bit_or_missing_byte_is_noticed() {
        let bytes = manifest().encode();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Manifest::decode(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Manifest::decode(&bytes[..length]).is_err(), "length {length}");
        }
    }
}
