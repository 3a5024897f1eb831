//! What a user writes under `storage:`.

use super::profile::Profile;
use crate::component::NotYet;
use crate::config::Fault;
use crate::config::units::{ByteSize, GoDuration, duration};
use crate::merge;
use crate::storage::{self, Options, SealOptions, WalOptions, segment};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// Room beside the frames that a log file needs: its header page, with a margin.
const LEAST_LOG_FILE: u64 = 64 << 10;
const LEAST_MEMTABLE: u64 = 1 << 20;
/// Below it not even a plain trace could be read.
const LEAST_READ: u64 = 1 << 20;
const LEAST_BLOCK: u64 = 4 << 10;
const GREATEST_BLOCK: u64 = 64 << 20;
/// What a merge keeps of each trace until it ends bounds the rows of a segment.
const GREATEST_ROWS: u64 = 100_000_000;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the store is; made if it is not there. One daemon at a time.
    pub directory: PathBuf,
    /// What `Ok` to a sender promises.
    pub durability: Durability,
    /// What the keys are that are left to it. Never changes the durability.
    pub profile: Profile,
    /// How long a sender waits for its segment under `durability: sealed`.
    #[serde(with = "duration")]
    pub sealed_timeout: Duration,
    pub wal: Wal,
    pub memtable: Memtable,
    pub seal: Seal,
    pub segment: Segment,
    pub disk: Disk,
    pub retention: Retention,
    pub merge: Merge,
    pub query: Query,
    pub sampling: Sampling,
}

/// When a batch is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// When it is synced to the log.
    #[default]
    Wal,
    /// When it is written to the log, which is synced within `wal.buffered_sync`.
    Buffered,
    /// When it is in a segment, or `sealed_timeout` is over.
    Sealed,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wal {
    /// Most bytes of all log files together. Beyond it senders are asked to come back.
    pub max_size: ByteSize,
    /// Bytes of one log file, allocated at once.
    pub file_size: ByteSize,
    /// How long a commit waits for company; 0 commits what is there. `None`: as the profile says.
    pub commit_window: Option<GoDuration>,
    /// How long answered batches may be without a sync under `durability: buffered`.
    #[serde(with = "duration")]
    pub buffered_sync: Duration,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memtable {
    /// Most bytes of answered batches not yet in a segment. `None`: as the profile says.
    pub max_total: Option<ByteSize>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Seal {
    /// Threads that seal, 1 to 16.
    pub workers: usize,
    /// Bytes of batches that make a segment, at most a quarter of `wal.max_size` and of `memtable.max_total`. `None`: as the
    /// profile says.
    pub max_size: Option<ByteSize>,
    /// Spans that make a segment; 0 for no such limit.
    pub max_spans: usize,
    /// How long a batch may wait for its segment.
    #[serde(with = "duration")]
    pub max_age: Duration,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Segment {
    /// Bytes that are compressed as a unit.
    pub block_size: ByteSize,
    /// Rows that make a segment full: it is not merged any more.
    pub max_rows: u64,
    /// How seals pack what they write.
    pub seal_codec: Codec,
    /// How merges do.
    pub merge_codec: Codec,
}

/// How blocks are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Codec {
    None,
    Lz4,
    Zstd,
}

impl TryFrom<String> for Codec {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match &*word {
            "none" => Ok(Self::None),
            "lz4" => Ok(Self::Lz4),
            "zstd" => Ok(Self::Zstd),
            _ => Err(format!("unknown codec \"{word}\"; there are: none, lz4, zstd")),
        }
    }
}

impl From<Codec> for segment::Codec {
    fn from(codec: Codec) -> Self {
        match codec {
            Codec::None => Self::None,
            Codec::Lz4 => Self::Lz4,
            Codec::Zstd => Self::Zstd,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Merge {
    /// Threads that merge, 0 to 16; 0: segments stay as they were sealed.
    pub workers: usize,
    /// Most segments of one merge, 2 to 64.
    pub max_inputs: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Disk {
    /// Bytes of disk kept free for seals. Below it senders are asked to come back.
    pub reserve: Reserve,
}

/// How much disk is kept free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "must be auto or a size, as in 2GiB")]
pub enum Reserve {
    Word(Auto),
    Bytes(ByteSize),
}

/// `wal.max_size` and twice `seal.max_size`: what sealing a full log may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    Auto,
}

impl Default for Reserve {
    fn default() -> Self {
        Self::Word(Auto::Auto)
    }
}

/// What is kept, and how long. What is beyond it is deleted, oldest received first.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// How long ago the newest span of a segment may have been received; 0 for no limit.
    #[serde(with = "duration")]
    pub max_age: Duration,
    /// Most bytes of all segments together; 0 for no limit.
    pub max_size: ByteSize,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Query {
    /// Most bytes of spans that one read holds. Beyond it the read is refused.
    pub max_size: ByteSize,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    pub mode: SamplingMode,
    grace: NotYet,
    sweep_interval: NotYet,
    max_wait: NotYet,
    late_spans: NotYet,
    backfill: NotYet,
    decisions: NotYet,
    plugin_directory: NotYet,
    chain_deadline: NotYet,
    breaker: NotYet,
    chain: NotYet,
}

/// Whether merges judge traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum SamplingMode {
    /// Every trace is kept.
    #[default]
    Off,
}

impl TryFrom<String> for SamplingMode {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match &*word {
            "off" => Ok(Self::Off),
            "shadow" | "enforce" => Err(format!("not yet: sampling mode {word} does not exist so far; use off")),
            _ => Err(format!("unknown sampling mode \"{word}\"; there is: off")),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            directory: "./sluice-data".into(),
            durability: Durability::default(),
            profile: Profile::default(),
            sealed_timeout: Duration::from_secs(30),
            wal: Wal::default(),
            memtable: Memtable::default(),
            seal: Seal::default(),
            segment: Segment::default(),
            disk: Disk::default(),
            retention: Retention::default(),
            merge: Merge::default(),
            query: Query::default(),
            sampling: Sampling::default(),
        }
    }
}

impl Default for Wal {
    fn default() -> Self {
        Self {
            max_size: ByteSize::gib(1),
            file_size: ByteSize::mib(64),
            commit_window: None,
            buffered_sync: Duration::from_secs(1),
        }
    }
}

impl Default for Seal {
    fn default() -> Self {
        Self { workers: 2, max_size: None, max_spans: 0, max_age: Duration::from_secs(30) }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self { max_age: Duration::from_secs(168 * 3600), max_size: ByteSize::default() }
    }
}

impl Default for Segment {
    fn default() -> Self {
        Self { block_size: ByteSize::kib(128), max_rows: 4_000_000, seal_codec: Codec::Lz4, merge_codec: Codec::Zstd }
    }
}

impl Default for Merge {
    fn default() -> Self {
        Self { workers: 1, max_inputs: 15 }
    }
}

impl Default for Query {
    fn default() -> Self {
        Self { max_size: ByteSize::mib(256) }
    }
}

impl Config {
    /// What is wrong with the values, each with its key.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut check = |good: bool, key: &str, message: String| {
            if !good {
                faults.push(Fault::new(key, message));
            }
        };
        check(!self.directory.as_os_str().is_empty(), "directory", "must name a directory".into());
        let (max, file) = (self.wal.max_size, self.wal.file_size);
        let least = ByteSize(LEAST_LOG_FILE);
        check(file >= least, "wal::file_size", format!("must be at least {least}"));
        let twice = file.bytes().saturating_mul(2);
        check(
            max.bytes() >= twice,
            "wal::max_size",
            format!("must be at least two log files: twice wal::file_size ({file})"),
        );
        let tuned = self.tuned();
        let short = tuned.commit_window.is_some_and(|window| window <= Duration::from_secs(1));
        check(short, "wal::commit_window", "must be 0s to 1s: senders wait that long".into());
        let within = |time: Duration, most| !time.is_zero() && time <= Duration::from_secs(most);
        check(within(self.wal.buffered_sync, 60), "wal::buffered_sync", "must be greater than 0 and at most 1m".into());
        check(within(self.sealed_timeout, 3600), "sealed_timeout", "must be greater than 0 and at most 1h".into());
        let least = ByteSize(LEAST_MEMTABLE);
        check(tuned.memtable_max >= least, "memtable::max_total", format!("must be at least {least}"));
        check((1..=16).contains(&self.seal.workers), "seal::workers", "must be 1 to 16".into());
        check(tuned.seal_size.bytes() > 0, "seal::max_size", "must be greater than 0".into());
        check(!self.seal.max_age.is_zero(), "seal::max_age", "must be greater than 0".into());
        let (least, most) = (ByteSize(LEAST_BLOCK), ByteSize(GREATEST_BLOCK));
        let block = self.segment.block_size;
        check((least..=most).contains(&block), "segment::block_size", format!("must be {least} to {most}"));
        let rows = (1..=GREATEST_ROWS).contains(&self.segment.max_rows);
        check(rows, "segment::max_rows", format!("must be 1 to {GREATEST_ROWS}"));
        check(self.merge.workers <= 16, "merge::workers", "must be 0 to 16".into());
        check((2..=64).contains(&self.merge.max_inputs), "merge::max_inputs", "must be 2 to 64".into());
        let least = ByteSize(LEAST_READ);
        check(self.query.max_size >= least, "query::max_size", format!("must be at least {least}"));
        faults
    }

    /// What is written, and what the profile says where nothing is.
    fn tuned(&self) -> Tuned {
        let profile = self.profile.tuning();
        Tuned {
            commit_window: self.wal.commit_window.map_or(Some(profile.commit_window), GoDuration::to_std),
            seal_size: self.seal.max_size.unwrap_or(profile.seal_size),
            memtable_max: self.memtable.max_total.unwrap_or(profile.memtable_max),
        }
    }

    fn durability(&self) -> storage::Durability {
        match self.durability {
            Durability::Wal => storage::Durability::Wal,
            Durability::Buffered => storage::Durability::Buffered { sync: self.wal.buffered_sync },
            Durability::Sealed => storage::Durability::Sealed { timeout: self.sealed_timeout },
        }
    }

    /// The engine's options for an exporter of this name.
    pub fn options(&self, name: &str) -> Options {
        let size = |size: ByteSize| usize::try_from(size.bytes()).unwrap_or(usize::MAX);
        let tuned = self.tuned();
        Options {
            directory: self.directory.clone(),
            name: name.to_owned(),
            durability: self.durability(),
            wal: WalOptions {
                max_size: self.wal.max_size.bytes(),
                file_size: self.wal.file_size.bytes(),
                commit_window: tuned.commit_window.unwrap_or_default(),
            },
            memtable_max: size(tuned.memtable_max),
            seal: SealOptions {
                workers: self.seal.workers,
                max_size: size(tuned.seal_size),
                max_spans: self.seal.max_spans,
                max_age: self.seal.max_age,
                codec: self.segment.seal_codec.into(),
            },
            query_max: size(self.query.max_size),
            block_size: size(self.segment.block_size),
            retention: storage::Retention {
                max_age: self.retention.max_age,
                max_size: self.retention.max_size.bytes(),
            },
            disk_reserve: match self.disk.reserve {
                Reserve::Word(Auto::Auto) => None,
                Reserve::Bytes(bytes) => Some(bytes.bytes()),
            },
        }
    }

    /// How its segments are merged.
    pub fn merging(&self) -> merge::Options {
        merge::Options {
            workers: self.merge.workers,
            max_inputs: self.merge.max_inputs,
            max_rows: self.segment.max_rows,
            codec: self.segment.merge_codec.into(),
            ..merge::Options::default()
        }
    }
}

/// The keys that a profile may set, as they are in the end.
struct Tuned {
    /// `None` for a negative one.
    commit_window: Option<Duration>,
    seal_size: ByteSize,
    memtable_max: ByteSize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Node;

    fn faults(yaml: &str) -> Vec<String> {
        let faults = match Node::from_yaml(yaml).unwrap().decode::<Config>() {
            Ok(config) => config.faults(),
            Err(faults) => faults,
        };
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_defaults_are_the_engines_defaults() {
        let options = Config::default().options("storage");
        assert_eq!(format!("{options:?}"), format!("{:?}", Options::new("./sluice-data")));
        assert_eq!(format!("{:?}", Config::default().merging()), format!("{:?}", merge::Options::default()));
        assert_eq!(Config::default().faults(), []);
    }

    #[test]
    fn the_reserve_is_what_sealing_a_full_log_may_need_or_what_is_written() {
        let options = |yaml| Node::from_yaml(yaml).unwrap().decode::<Config>().unwrap().options("storage");
        assert_eq!(options("").reserve(), (1 << 30) + (64 << 20));
        assert_eq!(options("{disk: {reserve: auto}, seal: {max_size: 1MiB}}").reserve(), (1 << 30) + (2 << 20));
        assert_eq!(options("disk: {reserve: 5MiB}").reserve(), 5 << 20);
        assert_eq!(options("disk: {reserve: 0}").reserve(), 0);
    }

    #[test]
    fn what_does_not_exist_so_far_is_refused_by_name() {
        for yaml in ["sampling: {mode: enforce}", "sampling: {mode: shadow}", "sampling: {grace: 2h}"] {
            let faults = faults(yaml);
            assert!(faults.len() == 1 && faults[0].contains("not yet"), "{yaml}: {faults:?}");
        }
    }

    #[test]
    fn values_that_cannot_work_are_refused_with_their_key() {
        for (yaml, key) in [
            ("wal: {max_size: 64MiB}", "wal::max_size"),
            ("wal: {file_size: 1KiB}", "wal::file_size"),
            ("wal: {commit_window: 2s}", "wal::commit_window"),
            ("wal: {commit_window: -1s}", "wal::commit_window"),
            ("wal: {buffered_sync: 0s}", "wal::buffered_sync"),
            ("wal: {buffered_sync: 2m}", "wal::buffered_sync"),
            ("sealed_timeout: 0s", "sealed_timeout"),
            ("seal: {max_size: 0}", "seal::max_size"),
            ("durability: fsync", "durability"),
            ("profile: fast", "profile"),
            ("memtable: {max_total: 1KiB}", "memtable::max_total"),
            ("seal: {max_age: 0s}", "seal::max_age"),
            ("seal: {workers: 0}", "seal::workers"),
            ("segment: {block_size: 1KiB}", "segment::block_size"),
            ("disk: {reserve: automatic}", "disk::reserve"),
            ("disk: {reserve: -1}", "disk::reserve"),
            ("retention: {max_age: -1h}", "retention::max_age"),
            ("retention: {max_size: many}", "retention::max_size"),
            ("segment: {max_rows: 0}", "segment::max_rows"),
            ("segment: {seal_codec: gzip}", "segment::seal_codec"),
            ("merge: {workers: 17}", "merge::workers"),
            ("merge: {max_inputs: 1}", "merge::max_inputs"),
            ("query: {max_size: 1KiB}", "query::max_size"),
            ("directory: ''", "directory"),
            ("sampling: {mode: on}", "sampling::mode"),
        ] {
            let faults = faults(yaml);
            assert!(faults.iter().any(|fault| fault.starts_with(key)), "{yaml}: {faults:?}");
        }
    }
}
