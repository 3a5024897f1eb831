//! What verifying a store finds.

use crate::model::TraceId;
use std::fmt;
use std::path::PathBuf;

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub kind: Kind,
    pub file: PathBuf,
    /// The first byte that is meant and the one behind the last; `None` where it is the file as a whole.
    pub bytes: Option<(u64, u64)>,
    /// A sentence.
    pub what: String,
    pub cost: Cost,
    pub remedy: Remedy,
}

/// Whether anything needs to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is wrong with the store; it goes away by itself, or is not the store's.
    Notice,
    /// Bytes are not what was written, or are gone.
    Damage,
}

/// What sort of thing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Bytes that fail their checksum, make no sense, or cannot be read.
    Damaged,
    /// A file that something names and that is not there.
    Missing,
    /// A file is shorter than it was.
    CutShort,
    /// Parts that are whole and contradict each other.
    Contradiction,
    /// A file of another store.
    Foreign,
    /// A file of this store under the name of another.
    Copy,
    NewerVersion,
    OlderVersion,
    /// A segment that holds rows and that the manifest does not name.
    Unnamed,
    /// What something that was cut short left behind.
    LeftOver,
    /// A file that is none of a store's.
    Unknown,
}

/// What is not readable because of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Cost {
    #[default]
    Nothing,
    Lost(Loss),
}

/// As exactly as it can be said; `None` is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loss {
    pub rows: Option<u64>,
    /// Rows of traces from the first to the last of these, both included.
    pub traces: Option<(TraceId, TraceId)>,
    /// Batches from the first to the last of these, both included.
    pub lsns: Option<(u64, u64)>,
}

/// What `repair` does about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    Nothing,
    /// Both copies of the manifest are written anew, made from the files where none can be read.
    WriteManifest,
    /// The manifest names this segment from now on.
    Adopt(u64),
    /// The manifest no longer names this file.
    Forget(u64),
    /// The segment is written anew from its sound parts.
    Rewrite(u64),
    /// The file is moved to `damaged/`.
    MoveAside,
    /// What the log holds is sealed, and the log goes on in a new file.
    SealLog,
    /// Nothing: only the version that wrote the file can tell.
    OtherVersion,
}

impl Finding {
    pub fn damage(kind: Kind, file: impl Into<PathBuf>, what: impl Into<String>, remedy: Remedy) -> Self {
        let (file, what) = (file.into(), what.into());
        Self { severity: Severity::Damage, kind, file, bytes: None, what, cost: Cost::Nothing, remedy }
    }

    pub fn notice(kind: Kind, file: impl Into<PathBuf>, what: impl Into<String>, remedy: Remedy) -> Self {
        Self { severity: Severity::Notice, ..Self::damage(kind, file, what, remedy) }
    }

    /// The same about these bytes of the file.
    pub fn at(mut self, from: u64, to: u64) -> Self {
        self.bytes = Some((from, to));
        self
    }

    pub fn costing(mut self, loss: Loss) -> Self {
        self.cost = Cost::Lost(loss);
        self
    }
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Damage => "damage",
        }
    }
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Missing => "missing",
            Self::CutShort => "cut short",
            Self::Contradiction => "contradiction",
            Self::Foreign => "of another store",
            Self::Copy => "copy",
            Self::NewerVersion => "newer version",
            Self::OlderVersion => "older version",
            Self::Unnamed => "unnamed",
            Self::LeftOver => "left over",
            Self::Unknown => "unknown",
        }
    }

    /// For a file whose format has another version than the one known here.
    pub fn of_version(found: u32, known: u32) -> Self {
        if found > known { Self::NewerVersion } else { Self::OlderVersion }
    }
}

impl Remedy {
    /// What to do, for people.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Nothing => "nothing to do",
            Self::WriteManifest => "repair writes both copies of the manifest anew",
            Self::Adopt(_) => "repair names it in the manifest",
            Self::Forget(_) => "put the file back, or repair goes on without it",
            Self::Rewrite(_) => "repair writes the segment anew from its sound parts",
            Self::MoveAside => "repair moves it to damaged/",
            Self::SealLog => "repair seals what the log holds and begins a new log file",
            Self::OtherVersion => "use the version that wrote it; repair changes nothing",
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Lost(Loss { rows, traces, lsns }) = self else { return f.write_str("nothing is lost") };
        match rows {
            Some(rows) => write!(f, "{rows} rows are lost")?,
            None => f.write_str("rows are lost, how many is not known")?,
        }
        if let Some((first, last)) = traces {
            match first == last {
                true => write!(f, ", of trace {first}")?,
                false => write!(f, ", of traces {first} to {last}")?,
            }
        }
        match lsns {
            Some((first, last)) => write!(f, ", of batches {first} to {last}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.kind.name())?;
        if let Some((from, to)) = self.bytes {
            write!(f, " at bytes {from} to {to}")?;
        }
        write!(f, ": {}; {}; {}", self.what, self.cost, self.remedy.advice())
    }
}
