//! Verifying the log: its files, frames, holes and ends.

use super::{Check, Finding, Kind, Loss, Remedy};
use crate::model::{Batch, time::Nanos};
use crate::storage::error::StorageError;
use crate::storage::inventory::Inventory;
use crate::storage::wal::header::VERSION;
use crate::storage::wal::replay::{Replay, Replayed, examine};
use crate::storage::wal::{HEADER_PAGE, Hole, HolePart, Odd, Oddity};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

impl Check<'_> {
    /// Reads every frame of every log file, those below the manifest's position included.
    pub(super) fn log(&mut self, inventory: &Inventory) -> Result<(), StorageError> {
        let manifest = &inventory.manifest;
        let mut order = Order::default();
        let (mut frames, mut findings) = (0, Vec::new());
        let mut replayed = examine(self.disk, self.layout, &manifest.store, 0, &mut |frame| {
            frames += 1;
            findings.extend(check_payload(&frame).into_iter().chain(order.next(&frame)));
        })?;
        replayed.note_missing_newest(self.layout, manifest.next_log);
        self.report.frames += frames;
        self.report.findings.append(&mut findings);
        let log = Log::of(&replayed, manifest.position);
        self.report.findings.extend(replayed.holes.iter().filter_map(|hole| log.hole(hole)));
        self.report.findings.extend(replayed.odd.iter().map(|odd| log.odd(odd)));
        self.report.files += (replayed.files.len() + replayed.spares.len()) as u64;
        self.report.bytes += replayed.bytes;
        Ok(())
    }
}

/// A frame holds a batch that was walked before it was written.
fn check_payload(frame: &Replayed) -> Option<Finding> {
    Batch::from_otlp(frame.payload.clone()).err()?;
    let what = "a frame whose checksums fit and whose payload is no request";
    let lost = Loss { lsns: Some((frame.lsn, frame.lsn)), ..Loss::default() };
    let finding = Finding::damage(Kind::Contradiction, &frame.path, what, Remedy::SealLog);
    Some(finding.at(frame.offset, frame.offset + frame.payload.len() as u64).costing(lost))
}

/// LSNs ascend and receive times never go back, over all files.
#[derive(Default)]
struct Order {
    lsn: u64,
    received: Nanos,
}

impl Order {
    fn next(&mut self, frame: &Replayed) -> Option<Finding> {
        let good = frame.lsn > self.lsn && frame.received >= self.received;
        let what = format!("batch {} is behind batch {} or was received before it", frame.lsn, self.lsn);
        (self.lsn, self.received) = (self.lsn.max(frame.lsn), self.received.max(frame.received));
        let finding = || Finding::damage(Kind::Contradiction, &frame.path, what, Remedy::SealLog);
        (!good).then(finding).map(|finding| finding.at(frame.offset, frame.offset))
    }
}

/// What is needed of a log to say what a hole in it costs.
struct Log {
    position: u64,
    /// Highest LSN of each file that is there.
    files: HashMap<PathBuf, u64>,
}

impl Log {
    fn of(replayed: &Replay, position: u64) -> Self {
        let files = replayed.files.iter().map(|(path, last_lsn)| (path.clone(), *last_lsn)).collect();
        Self { position, files }
    }

    fn hole(&self, hole: &Hole) -> Option<Finding> {
        let Some(loss) = hole.clone().above(self.position) else {
            // What was missing before the manifest's position and is gone is a file that was used again.
            let what = "frames whose rows are in segments";
            let finding = || Finding::damage(Kind::Damaged, &hole.path, what, self.remedy(&hole.path));
            return (hole.part != HolePart::File).then(finding).map(|finding| finding.at(hole.from, hole.to));
        };
        let (kind, what) = match loss.part {
            HolePart::File => (Kind::Missing, "a log file that had batches not yet in a segment"),
            HolePart::Header => (Kind::Damaged, HEADER_GONE),
            HolePart::End => (Kind::CutShort, "how many batches were behind its end is not known"),
            HolePart::Frames if loss.durable => (Kind::Damaged, "batches that were answered"),
            HolePart::Frames => (Kind::Damaged, "damaged, or a commit that never finished"),
        };
        let costs = loss.part != HolePart::Header;
        let lsns = (loss.lost > 0).then(|| (loss.first_lost, loss.first_lost + (loss.lost - 1)));
        let finding = Finding::damage(kind, &loss.path, what, Remedy::SealLog).at(loss.from, loss.to);
        Some(if costs { finding.costing(Loss { lsns, ..Loss::default() }) } else { finding })
    }

    /// A file whose every row is in a segment is not needed; sealing would find nothing in it.
    fn remedy(&self, path: &Path) -> Remedy {
        let needed = self.files.get(path).is_some_and(|last| *last >= self.position);
        if needed { Remedy::SealLog } else { Remedy::MoveAside }
    }

    fn odd(&self, odd: &Odd) -> Finding {
        let path = &odd.path;
        match odd.what {
            Oddity::HeaderCopy(at) => {
                let what = "one copy of its header; the other is used";
                Finding::damage(Kind::Damaged, path, what, self.remedy(path)).at(at, at + HEADER_PAGE / 2)
            }
            Oddity::Short { size, made } => {
                let what = "all its frames are there";
                Finding::damage(Kind::CutShort, path, what, self.remedy(path)).at(size, made)
            }
            Oddity::CopyOf(id) => {
                let what = format!("log file {id:016x} under another name; it is not read");
                Finding::notice(Kind::Copy, path, what, Remedy::MoveAside)
            }
            Oddity::OtherStore => Finding::notice(Kind::Foreign, path, "it is not read", Remedy::MoveAside),
            Oddity::Version(found) => {
                let what = format!("format {found}, this version reads {VERSION}");
                Finding::damage(Kind::of_version(found, VERSION), path, what, Remedy::OtherVersion)
                    .costing(Loss::default())
            }
        }
    }
}

const HEADER_GONE: &str = "both copies of its header; its frames are read, but where the file before it ends is not \
                           known: batches that were refused may be shown";
