//! What is wrong with a log: places where frames are missing, and files that are odd and cost nothing.

use std::fmt;
use std::path::PathBuf;

/// Bytes of a log file that should be frames and are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    pub path: PathBuf,
    pub part: HolePart,
    pub from: u64,
    pub to: u64,
    /// The first LSN that is missing.
    pub first_lost: u64,
    /// How many LSNs are missing; 0 where that cannot be said.
    pub lost: u64,
    /// Whether rows that were answered are surely among them.
    pub durable: bool,
}

/// What is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HolePart {
    Frames,
    /// Both copies of the header.
    Header,
    /// The end of a file that is shorter than it was made.
    End,
    /// The whole file.
    File,
}

impl Hole {
    /// What of it is at or above `position`: the rows below are in segments and not lost, whatever became of their frames.
    pub fn above(self, position: u64) -> Option<Self> {
        let end = self.first_lost.saturating_add(self.lost);
        let first_lost = self.first_lost.max(position);
        match self.lost {
            0 => Some(self),
            _ if first_lost >= end => None,
            _ => Some(Self { first_lost, lost: end - first_lost, ..self }),
        }
    }
}

impl fmt::Display for Hole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, from, to, lost, durable, .. } = self;
        let what = if *durable { "damaged or gone" } else { "a hole, damaged or never finished" };
        write!(f, "{}: bytes {from} to {to} are {what}: ", path.display())?;
        match lost {
            0 => write!(f, "how many batches are missing cannot be said"),
            lost => write!(f, "{lost} batches are missing"),
        }
    }
}

/// A log file that is not as it was made, at no cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Odd {
    pub path: PathBuf,
    pub what: Oddity,
}

/// See [`Odd`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oddity {
    /// One copy of the header, at this offset, is damaged; the other is used.
    HeaderCopy(u64),
    /// Shorter than it was made, but all its frames are there.
    Short { size: u64, made: u64 },
    /// The log file of this id under another name. It is not read.
    CopyOf(u64),
    /// It belongs to another store. It is not read.
    OtherStore,
    /// It was written by another version, with this format. It is not read.
    Version(u32),
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match self.what {
            Oddity::HeaderCopy(at) => write!(f, "damaged at byte {at}: a copy of the header; the other copy is used"),
            Oddity::Short { size, made } => write!(f, "{size} bytes of {made}: cut short behind its last frame"),
            Oddity::CopyOf(id) => write!(f, "not read: it is log file {id:016x} under another name"),
            Oddity::Version(found) => write!(f, "not read: written by another version (format {found})"),
            Oddity::OtherStore => write!(f, "not read: it belongs to another store"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_no_segment_is_lost() {
        let hole = |first_lost, lost| Hole {
            path: "a".into(),
            part: HolePart::Frames,
            from: 8,
            to: 16,
            first_lost,
            lost,
            durable: true,
        };
        assert_eq!(hole(5, 4).above(9), None);
        assert_eq!(hole(5, 4).above(7), Some(hole(7, 2)));
        assert_eq!(hole(5, 4).above(2), Some(hole(5, 4)));
        assert_eq!(hole(0, 0).above(9), Some(hole(0, 0)), "how much is missing is not known");
        assert_eq!(hole(u64::MAX, 3).above(9), None, "nothing lies above the highest LSN");
    }
}
