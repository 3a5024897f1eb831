//! Segments that the manifest does not name: whether they are left over and can go, or speak for a manifest that is older
//! than the store.

use crate::storage::manifest::Manifest;
use crate::storage::segment::Footer;

/// Where the rows of an unnamed segment are as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// In named segments, or the manifest has given them up.
    Named,
    /// In the log, if the manifest is not older than the store.
    Log,
    /// Nowhere that is known: the manifest is older than the store.
    Nowhere,
}

/// Says where the rows of a segment with this footer are. `readable` says whether a named segment can be read; `known`
/// is above the ids that were given out when the manifest was written.
///
/// A seal's rows are in named segments once the manifest's position is above them, and in the log before. One whose id the
/// manifest knows and does not name is what a failed attempt left: no seal is published without its id. A merge that was
/// cut short leaves its inputs as they were. One whose outputs were named and given up again has none left, and its id was
/// given out before: inputs are named when a merge begins, and its id comes after that.
pub fn rows_of(footer: &Footer, manifest: &Manifest, known: u64, readable: impl Fn(u64) -> bool) -> Rows {
    let named = |id: &&u64| manifest.files.iter().any(|file| file.id == **id);
    if footer.inputs.is_empty() {
        let known = footer.id < known || footer.lsns.1 < manifest.position;
        return if known { Rows::Named } else { Rows::Log };
    }
    let left: Vec<_> = footer.inputs.iter().filter(named).collect();
    let begun_before = footer.id < known || left.len() == footer.inputs.len();
    if begun_before && left.iter().all(|id| readable(**id)) { Rows::Named } else { Rows::Nowhere }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::manifest::{FileKind, LiveFile};

    fn manifest(named: &[u64]) -> Manifest {
        let file = |id: &u64| LiveFile {
            kind: FileKind::Segment,
            id: *id,
            bytes: 0,
            rows: 0,
            traces: 0,
            lsns: (0, 0),
            received: (0, 0),
            not_before: 0,
        };
        Manifest { position: 10, next_segment: 10, files: named.iter().map(file).collect(), ..Manifest::new([1; 16]) }
    }

    fn seal(id: u64, lsns: (u64, u64)) -> Footer {
        Footer { id, lsns, ..Footer::default() }
    }

    fn merged(id: u64) -> Footer {
        Footer { id, lsns: (1, 9), inputs: vec![2, 3], ..Footer::default() }
    }

    #[test]
    fn what_may_go_is_told_from_what_an_old_manifest_does_not_know() {
        let missing = |id: u64| move |other: u64| other != id;
        for (name, footer, named, unreadable, rows) in [
            ("a seal that a merge or expiry has given up", seal(5, (1, 9)), &[][..], 0, Rows::Named),
            ("a seal that was not published", seal(11, (10, 12)), &[], 0, Rows::Log),
            ("an attempt at a seal whose id the manifest knows", seal(5, (10, 12)), &[], 0, Rows::Named),
            ("a merge cut short", merged(11), &[2, 3], 0, Rows::Named),
            ("a merge cut short while seals went on", merged(9), &[2, 3], 0, Rows::Named),
            ("a merge cut short after one input expired", merged(9), &[3], 0, Rows::Named),
            ("a merge whose output was merged again", merged(9), &[], 0, Rows::Named),
            ("a manifest from before the inputs", merged(11), &[], 0, Rows::Nowhere),
            ("a manifest from before one of the inputs", merged(11), &[2], 0, Rows::Nowhere),
            ("a manifest from before the merge was published", merged(11), &[2, 3], 2, Rows::Nowhere),
            ("the same, its id known already", merged(9), &[2, 3], 3, Rows::Nowhere),
        ] {
            assert_eq!(rows_of(&footer, &manifest(named), 10, missing(unreadable)), rows, "{name}");
        }
    }
}
