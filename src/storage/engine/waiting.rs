//! Senders that were promised a segment (`durability: sealed`) and wait for it.

use super::Done;
use crate::storage::error::AppendError;
use crate::telemetry;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Senders whose batches are durable in the log, in LSN order. What their batches take is charged until they are sealed,
/// so there are never more than the memory has room for.
#[derive(Default)]
pub struct Waiting(VecDeque<Sender>);

struct Sender {
    lsn: u64,
    since: Instant,
    done: Done,
}

impl Waiting {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn add(&mut self, lsn: u64, since: Instant, done: Done) {
        self.0.push_back(Sender { lsn, since, done });
    }

    /// Tells those whose rows are all below `position` that they are sealed.
    pub fn answer(&mut self, position: u64) {
        while let Some(sender) = self.0.pop_front_if(|sender| sender.lsn < position) {
            sender.tell(Ok(()));
        }
    }

    /// Tells those that have waited for so long that their batches are in the log only; gives how many.
    pub fn time_out(&mut self, timeout: Duration) -> u64 {
        let mut gone = 0;
        while let Some(sender) = self.0.pop_front_if(|sender| sender.since.elapsed() >= timeout) {
            sender.tell(Err(AppendError::NotSealed));
            gone += 1;
        }
        gone
    }

    /// The same for all, however long they have waited.
    pub fn give_up(&mut self) -> u64 {
        self.time_out(Duration::ZERO)
    }

    /// How long until the next one has waited for so long; `None` where nobody waits.
    pub fn until_timeout(&self, timeout: Duration) -> Option<Duration> {
        Some(timeout.saturating_sub(self.0.front()?.since.elapsed()))
    }
}

impl Sender {
    fn tell(self, answer: Result<(), AppendError>) {
        telemetry::record("append_seal", self.since.elapsed());
        (self.done)(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    type Heard = mpsc::Receiver<(u64, Result<(), AppendError>)>;

    fn waiting(lsns: &[u64]) -> (Waiting, Heard) {
        let (heard, answers) = mpsc::channel();
        let mut waiting = Waiting::default();
        for &lsn in lsns {
            let heard = heard.clone();
            waiting.add(lsn, Instant::now(), Box::new(move |answer| heard.send((lsn, answer)).unwrap()));
        }
        (waiting, answers)
    }

    #[test]
    fn those_below_the_position_hear_ok_and_nobody_else() {
        let (mut waiting, heard) = waiting(&[3, 4, 5]);
        waiting.answer(3);
        assert!(heard.try_iter().next().is_none());
        waiting.answer(5);
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [(3, Ok(())), (4, Ok(()))]);
        assert!(!waiting.is_empty());
    }

    #[test]
    fn nobody_waits_longer_than_the_timeout() {
        let (mut waiting, heard) = waiting(&[3, 4]);
        let hour = Duration::from_secs(3600);
        assert_eq!((waiting.time_out(hour), heard.try_iter().count()), (0, 0));
        assert!(waiting.until_timeout(hour).is_some_and(|rest| rest <= hour && !rest.is_zero()));
        assert_eq!(waiting.give_up(), 2);
        let answers: Vec<_> = heard.try_iter().collect();
        assert_eq!(answers, [(3, Err(AppendError::NotSealed)), (4, Err(AppendError::NotSealed))]);
        assert_eq!(waiting.until_timeout(hour), None);
    }
}
