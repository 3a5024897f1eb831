//! Clocks that move when they are told to.

use sluice::storage::clock::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Wall and boot clock of one machine. A clone is the same machine.
#[derive(Clone)]
pub struct ManualClock {
    wall: Arc<AtomicU64>,
    boot: Arc<AtomicU64>,
}

impl ManualClock {
    /// A machine that was started in November 2023.
    pub fn new() -> Self {
        Self { wall: Arc::new(1_700_000_000_000_000_000.into()), boot: Arc::new(1.into()) }
    }

    pub fn advance(&self, by: Duration) {
        let by = by.as_nanos() as u64;
        self.wall.fetch_add(by, Ordering::Relaxed);
        self.boot.fetch_add(by, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> u64 {
        self.wall.load(Ordering::Relaxed)
    }

    fn boot(&self) -> u64 {
        self.boot.load(Ordering::Relaxed)
    }
}
