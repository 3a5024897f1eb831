//! Every name of a file in a store's directory, in one place.
//!
//! ```text
//! LOCK                      held by whoever has the store open
//! manifest.a  manifest.b    two copies of the list of live files
//! wal/000000000000000a.wal  a log file, named by its id
//! wal/spare-….wal           a log file nothing lives in, kept for reuse
//! segments/….seg            a segment, named by its id
//! damaged/0001/…            files that were damaged and something else took the place of
//! set-aside/….aside         batches that could not be sealed, as they came
//! *.unfinished              being written; meaningless after a start
//! ```

use super::manifest::FileKind;
use std::path::{Path, PathBuf};

pub const LOCK: &str = "LOCK";
pub const MANIFESTS: [&str; 2] = ["manifest.a", "manifest.b"];
pub const WAL_DIR: &str = "wal";
pub const SEGMENT_DIR: &str = "segments";
pub const DAMAGED_DIR: &str = "damaged";
pub const SET_ASIDE_DIR: &str = "set-aside";
pub const UNFINISHED: &str = ".unfinished";

const LOG_SUFFIX: &str = ".wal";
const SEGMENT_SUFFIX: &str = ".seg";
const SET_ASIDE_SUFFIX: &str = ".aside";
const SPARE_PREFIX: &str = "spare-";

/// The directories of one store.
#[derive(Debug, Clone)]
pub struct Layout {
    pub root: PathBuf,
    pub wal: PathBuf,
    pub segments: PathBuf,
    pub damaged: PathBuf,
    pub set_aside: PathBuf,
}

impl Layout {
    pub fn new(root: &Path) -> Self {
        let [wal, segments, set_aside, damaged] =
            [WAL_DIR, SEGMENT_DIR, SET_ASIDE_DIR, DAMAGED_DIR].map(|name| root.join(name));
        Self { root: root.to_owned(), wal, segments, set_aside, damaged }
    }

    pub fn log(&self, id: u64) -> PathBuf {
        self.wal.join(log_name(id))
    }

    pub fn spare(&self, id: u64) -> PathBuf {
        self.wal.join(format!("{SPARE_PREFIX}{id:016x}{LOG_SUFFIX}"))
    }

    pub fn segment(&self, id: u64) -> PathBuf {
        self.segments.join(format!("{id:016x}{SEGMENT_SUFFIX}"))
    }

    /// A file that a manifest names.
    pub fn live(&self, kind: FileKind, id: u64) -> PathBuf {
        match kind {
            FileKind::SetAside => self.set_aside(id),
            FileKind::Segment | FileKind::Remainder | FileKind::Decisions => self.segment(id),
        }
    }

    pub fn set_aside(&self, id: u64) -> PathBuf {
        self.set_aside.join(set_aside_name(id))
    }
}

/// The name of a log file.
pub fn log_name(id: u64) -> String {
    format!("{id:016x}{LOG_SUFFIX}")
}

/// The id in a log file's name.
pub fn log_id(name: &str) -> Option<u64> {
    id(name.strip_suffix(LOG_SUFFIX)?)
}

/// The id in a spare log file's name.
pub fn spare_id(name: &str) -> Option<u64> {
    id(name.strip_prefix(SPARE_PREFIX)?.strip_suffix(LOG_SUFFIX)?)
}

/// The id in a segment's name.
pub fn segment_id(name: &str) -> Option<u64> {
    id(name.strip_suffix(SEGMENT_SUFFIX)?)
}

/// The name of a file of batches that could not be sealed.
pub fn set_aside_name(id: u64) -> String {
    format!("{id:016x}{SET_ASIDE_SUFFIX}")
}

/// The id in such a name.
pub fn set_aside_id(name: &str) -> Option<u64> {
    id(name.strip_suffix(SET_ASIDE_SUFFIX)?)
}

/// What a file is called while it is being written.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// A next id that is above `id` as well. Ids no store comes to do not count, so that counting on never ends.
pub fn above(next: u64, id: u64) -> u64 {
    if id < u64::MAX / 2 { next.max(id + 1) } else { next }
}

/// Only what is written here is read: a name with other digits is somebody else's.
fn id(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok().filter(|id| format!("{id:016x}") == text)
}
