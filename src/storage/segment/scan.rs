//! Goes through a segment's file part by part, without its footer.

use super::HEADER_SIZE;
use super::part::{PART_HEADER, Part, claimed_length};
use crate::storage::disk::DiskFile;
use std::io;

/// Bytes looked at together when searching for the next part.
const WINDOW: usize = 1 << 20;

/// What lies at a place of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A part whose checksum fits.
    Part { offset: u64, bytes: Vec<u8> },
    /// Bytes between parts that are none. The footer at the end of a sound file is one of these.
    Bad { from: u64, to: u64 },
}

/// See the module.
pub struct Scan<'a> {
    file: &'a dyn DiskFile,
    size: u64,
    at: u64,
}

impl<'a> Scan<'a> {
    pub fn new(file: &'a dyn DiskFile) -> io::Result<Self> {
        let size = file.len()?;
        Ok(Self { file, size, at: (HEADER_SIZE as u64).min(size) })
    }

    /// What comes next; `None` at the end of the file.
    pub fn next(&mut self) -> io::Result<Option<Found>> {
        if self.at >= self.size {
            return Ok(None);
        }
        if let Some(bytes) = self.part_at(self.at)? {
            let offset = self.at;
            self.at += bytes.len() as u64;
            return Ok(Some(Found::Part { offset, bytes }));
        }
        let from = self.at;
        self.at = self.next_part(from + 1)?;
        Ok(Some(Found::Bad { from, to: self.at }))
    }

    fn part_at(&self, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let rest = self.size - offset;
        let mut header = [0; PART_HEADER];
        if rest < PART_HEADER as u64 {
            return Ok(None);
        }
        self.file.read_at(&mut header, offset)?;
        let Some(length) = claimed_length(&header).filter(|&length| length as u64 <= rest) else { return Ok(None) };
        let mut bytes = vec![0; length];
        self.file.read_at(&mut bytes, offset)?;
        Ok(Part::decode(&bytes).is_ok().then_some(bytes))
    }

    /// Where the next part begins, at `from` or behind it; the end of the file where there is none.
    fn next_part(&self, from: u64) -> io::Result<u64> {
        let mut at = from;
        while at + PART_HEADER as u64 <= self.size {
            let mut window = vec![0; WINDOW.min((self.size - at) as usize)];
            self.file.read_at(&mut window, at)?;
            let starts = window.windows(PART_HEADER).enumerate();
            for (place, _) in starts.filter(|(_, header)| claimed_length(header).is_some()) {
                if self.part_at(at + place as u64)?.is_some() {
                    return Ok(at + place as u64);
                }
            }
            at += (window.len() + 1 - PART_HEADER) as u64;
        }
        Ok(self.size)
    }
}
