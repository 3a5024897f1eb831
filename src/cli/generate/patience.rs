//! How long to wait before a request is sent again, and when to stop.

use std::time::{Duration, Instant};

/// About one request. Pauses double from 100 ms to 5 s.
#[derive(Debug, Default)]
pub struct Patience {
    attempts: u32,
    since: Option<Instant>,
}

impl Patience {
    /// An endpoint that refuses the same request for longer than this takes nothing any more.
    pub const REFUSED: Duration = Duration::from_secs(300);
    /// Someone forgot to start it.
    const NEVER_REACHED: Duration = Duration::from_secs(3);
    /// It may be starting again.
    const LOST: Duration = Duration::from_secs(30);

    /// The pause after a refusal, as long as the endpoint asks for where it does; `None`: enough.
    pub fn refused(&mut self, after: Option<Duration>) -> Option<Duration> {
        self.pause(after, Self::REFUSED)
    }

    /// The pause after no answer. `reached`: there was a connection once.
    pub fn silent(&mut self, reached: bool) -> Option<Duration> {
        self.pause(None, if reached { Self::LOST } else { Self::NEVER_REACHED })
    }

    fn pause(&mut self, asked: Option<Duration>, limit: Duration) -> Option<Duration> {
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        let pause = asked.unwrap_or(Duration::from_millis(100 << self.attempts.min(6)).min(Duration::from_secs(5)));
        self.attempts += 1;
        (waited.saturating_add(pause) <= limit).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let mut patience = Patience::default();
        let pauses: Vec<_> = (0..8).map(|_| patience.refused(None).unwrap().as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    }

    #[test]
    fn what_the_endpoint_asks_for_is_waited_unless_it_is_too_long() {
        let mut patience = Patience::default();
        assert_eq!(patience.refused(Some(Duration::from_secs(60))), Some(Duration::from_secs(60)));
        assert_eq!(patience.refused(Some(Duration::MAX)), None);
    }

    #[test]
    fn an_endpoint_that_never_answered_is_given_up_sooner() {
        let enough = |reached| {
            let mut patience = Patience { attempts: 6, since: Some(Instant::now()) };
            patience.silent(reached).is_none()
        };
        assert!(enough(false) && !enough(true));
    }
}
