//! What a user writes under `storage:`.

use super::profile::Profile;
use crate::component::NotYet;
use crate::config::Fault;
use crate::config::units::{ByteSize, GoDuration, duration};
use crate::storage::{self, Options, SealOptions, WalOptions};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// Room beside the frames that a log file needs: its header page, with a margin.
const LEAST_LOG_FILE: u64 = 64 << 10;
const LEAST_MEMTABLE: u64 = 1 << 20;
const LEAST_BLOCK: u64 = 4 << 10;
const GREATEST_BLOCK: u64 = 64 << 20;

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
    pub sampling: Sampling,
    merge: NotYet,
    disk: NotYet,
    retention: NotYet,
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
    max_rows: NotYet,
    seal_codec: NotYet,
    merge_codec: NotYet,
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
            sampling: Sampling::default(),
            merge: NotYet,
            disk: NotYet,
            retention: NotYet,
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

impl Default for Segment {
    fn default() -> Self {
        Self { block_size: ByteSize::kib(128), max_rows: NotYet, seal_codec: NotYet, merge_codec: NotYet }
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
            },
            block_size: size(self.segment.block_size),
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
        assert_eq!(Config::default().faults(), []);
    }

    #[test]
    fn what_does_not_exist_so_far_is_refused_by_name() {
        for yaml in [
            "sampling: {mode: enforce}",
            "sampling: {mode: shadow}",
            "sampling: {grace: 2h}",
            "retention: {max_age: 168h}",
            "merge: {workers: 1}",
            "disk: {reserve: auto}",
        ] {
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
            ("directory: ''", "directory"),
            ("sampling: {mode: on}", "sampling::mode"),
        ] {
            let faults = faults(yaml);
            assert!(faults.iter().any(|fault| fault.starts_with(key)), "{yaml}: {faults:?}");
        }
    }
}
