//! The store's time. Maturity and retention use it, so it only moves forward.

use crate::model::time::{Nanos, wall_now};
use std::sync::Mutex;

/// How far the wall clock may have moved on while a store was closed before that is doubted.
const DOUBTFUL: Nanos = 24 * 3600 * 1_000_000_000;
/// How long it is doubted: time for people to look.
const DOUBTED_FOR: Nanos = 600 * 1_000_000_000;

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
    /// How far the start is beyond the last known time.
    closed_for: Nanos,
    latest: Mutex<Nanos>,
}

impl StoreClock {
    /// A clock that never gives a time before `last_known`, which is 0 for a store that knows none.
    pub fn start(clock: std::sync::Arc<dyn Clock>, last_known: Nanos) -> Self {
        let base = clock.wall().max(last_known);
        let boot_base = clock.boot();
        let closed_for = if last_known == 0 { 0 } else { base - last_known };
        Self { clock, base, boot_base, closed_for, latest: Mutex::new(base) }
    }

    /// Nanoseconds between the last known time and the start.
    pub fn closed_for(&self) -> Nanos {
        self.closed_for
    }

    /// Until when nothing should be given up for its age: the store was closed for more than 24 h, or the wall clock is
    /// wrong. `None` where there is no such doubt, or not any more.
    pub fn doubted_until(&self) -> Option<Nanos> {
        let until = self.base.saturating_add(DOUBTED_FOR);
        (self.closed_for > DOUBTFUL && self.now() < until).then_some(until)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const HOUR: Nanos = 3600 * 1_000_000_000;

    /// Wall and boot clock, set by hand.
    #[derive(Default)]
    struct ByHand(AtomicU64, AtomicU64);

    impl Clock for ByHand {
        fn wall(&self) -> Nanos {
            self.0.load(Ordering::Relaxed)
        }
        fn boot(&self) -> Nanos {
            self.1.load(Ordering::Relaxed)
        }
    }

    fn start(wall: Nanos, last_known: Nanos) -> (Arc<ByHand>, StoreClock) {
        let by_hand = Arc::new(ByHand(wall.into(), 5.into()));
        (by_hand.clone(), StoreClock::start(by_hand, last_known))
    }

    #[test]
    fn more_than_a_day_since_the_last_known_time_is_doubted_for_ten_minutes() {
        let at = 1_000 * HOUR;
        for (last_known, doubted) in [(0, false), (at, false), (at - 24 * HOUR, false), (at - 24 * HOUR - 1, true)] {
            assert_eq!(start(at, last_known).1.doubted_until().is_some(), doubted, "{last_known}");
        }
        let (by_hand, clock) = start(at, at - 25 * HOUR);
        assert_eq!((clock.closed_for(), clock.doubted_until()), (25 * HOUR, Some(at + HOUR / 6)));
        by_hand.1.store(5 + HOUR / 6 - 1, Ordering::Relaxed);
        assert!(clock.doubted_until().is_some());
        by_hand.1.store(5 + HOUR / 6, Ordering::Relaxed);
        assert_eq!(clock.doubted_until(), None);
    }

    #[test]
    fn a_wall_clock_that_steps_while_the_store_is_open_moves_the_offset_and_nothing_else() {
        let (by_hand, clock) = start(1_000 * HOUR, 1_000 * HOUR);
        for wall in [2_000 * HOUR, 10 * HOUR] {
            by_hand.0.store(wall, Ordering::Relaxed);
            assert_eq!((clock.now(), clock.doubted_until()), (1_000 * HOUR, None));
            assert_eq!(clock.offset(), (1_000 * HOUR) as i64 - wall as i64);
        }
    }

    #[test]
    fn a_wall_clock_behind_the_last_known_time_does_not_take_the_store_back() {
        let (_, clock) = start(10 * HOUR, 1_000 * HOUR);
        assert_eq!((clock.now(), clock.closed_for(), clock.doubted_until()), (1_000 * HOUR, 0, None));
    }
}
