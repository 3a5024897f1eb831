//! The store's time. Maturity and retention use it, so it only moves forward.

use crate::model::time::{Nanos, wall_now};
use std::sync::Mutex;

/// The two clocks of a machine.
pub trait Clock: Send + Sync {
    /// Nanoseconds since the Unix epoch; may be stepped either way.
    fn wall(&self) -> Nanos;
    /// Nanoseconds since some fixed moment, sleep included; never stepped.
    fn boot(&self) -> Nanos;
}

/// The operating system's clocks.
pub struct SystemClock;

impl Clock for SystemClock {
    fn wall(&self) -> Nanos {
        wall_now()
    }

    fn boot(&self) -> Nanos {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        (now.tv_sec as Nanos).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as Nanos)
    }
}

/// Time of one store: starts at the wall clock or the last time the store knows, whichever is later, and goes on
/// by the boot clock. A wall clock that is stepped changes the offset and nothing else.
pub struct StoreClock {
    clock: std::sync::Arc<dyn Clock>,
    base: Nanos,
    boot_base: Nanos,
    latest: Mutex<Nanos>,
}

impl StoreClock {
    /// A clock that never gives a time before `last_known`.
    pub fn start(clock: std::sync::Arc<dyn Clock>, last_known: Nanos) -> Self {
        let base = clock.wall().max(last_known);
        let boot_base = clock.boot();
        Self { clock, base, boot_base, latest: Mutex::new(base) }
    }

    /// Store time now.
    pub fn now(&self) -> Nanos {
        let elapsed = self.clock.boot().saturating_sub(self.boot_base);
        let mut latest = self.latest.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *latest = (*latest).max(self.base.saturating_add(elapsed));
        *latest
    }

    /// How far the store's time is ahead of the wall clock, in nanoseconds; negative when it is behind.
    pub fn offset(&self) -> i64 {
        let (store, wall) = (self.now(), self.clock.wall());
        i64::try_from(i128::from(store) - i128::from(wall)).unwrap_or(i64::MAX)
    }
}
