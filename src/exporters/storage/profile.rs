//! What a store is tuned for, in one word.

use crate::config::units::ByteSize;
use serde::Deserialize;
use std::time::Duration;

/// Sets the defaults of three keys. A key that is written always wins, and no profile changes what `Ok` promises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// As many spans a second as can be.
    Throughput,
    #[default]
    Balanced,
    /// Short waits for answers.
    Latency,
}

/// The three keys.
pub struct Tuning {
    pub commit_window: Duration,
    pub seal_size: ByteSize,
    pub memtable_max: ByteSize,
}

impl Profile {
    /// Large segments compress better and cost less a span; the memory for more of them takes up bursts. Small ones give
    /// memory back in small steps, so that a sender waits less for room.
    pub fn tuning(self) -> Tuning {
        let (commit_window, seal_size, memtable_max) = match self {
            Self::Throughput => (Duration::from_micros(500), ByteSize::mib(64), ByteSize::mib(256)),
            Self::Balanced => (Duration::ZERO, ByteSize::mib(32), ByteSize::mib(128)),
            Self::Latency => (Duration::ZERO, ByteSize::mib(8), ByteSize::mib(128)),
        };
        Tuning { commit_window, seal_size, memtable_max }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use crate::config::Node;
    use crate::storage::Options;

    const PROFILES: [&str; 3] = ["throughput", "balanced", "latency"];

    fn options(yaml: &str) -> Options {
        let config = Node::from_yaml(yaml).unwrap().decode::<Config>().unwrap();
        assert_eq!(config.faults(), [], "{yaml}");
        config.options("storage")
    }

    #[test]
    fn a_profile_changes_three_keys_and_never_the_durability() {
        let keys = "wal: {commit_window: 3ms}, seal: {max_size: 3MiB}, memtable: {max_total: 30MiB}";
        for durability in ["wal", "buffered", "sealed"] {
            let plain = options(&format!("{{durability: {durability}, {keys}}}"));
            for profile in PROFILES {
                let left = options(&format!("{{durability: {durability}, profile: {profile}}}"));
                assert_eq!(left.durability, plain.durability, "{durability}, {profile}");
                // With the three keys written nothing is left that could differ.
                let written = options(&format!("{{durability: {durability}, profile: {profile}, {keys}}}"));
                assert_eq!(format!("{written:?}"), format!("{plain:?}"), "{durability}, {profile}");
            }
        }
    }

    #[test]
    fn a_key_that_is_written_wins_alone() {
        for profile in PROFILES {
            let left = options(&format!("profile: {profile}"));
            let window = options(&format!("{{profile: {profile}, wal: {{commit_window: 7ms}}}}"));
            assert_eq!(window.wal.commit_window, Duration::from_millis(7));
            assert_eq!((window.seal.max_size, window.memtable_max), (left.seal.max_size, left.memtable_max));
            let seal = options(&format!("{{profile: {profile}, seal: {{max_size: 5MiB}}}}"));
            assert_eq!((seal.seal.max_size, seal.memtable_max), (5 << 20, left.memtable_max));
            let memory = options(&format!("{{profile: {profile}, memtable: {{max_total: 50MiB}}}}"));
            assert_eq!((memory.seal.max_size, memory.memtable_max), (left.seal.max_size, 50 << 20));
        }
    }

    #[test]
    fn no_two_profiles_are_the_same() {
        let [throughput, balanced, latency] = PROFILES.map(|profile| options(&format!("profile: {profile}")));
        assert!(throughput.seal.max_size > balanced.seal.max_size && balanced.seal.max_size > latency.seal.max_size);
        assert_eq!(format!("{balanced:?}"), format!("{:?}", options("")));
    }
}
