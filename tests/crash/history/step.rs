//! What happens in a history.

use super::random::Random;
use crate::support::fault_disk::{Fault, Left};

#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Spans of one trace, or of two, named after the step, so that a resend differs from what it resends.
    Append {
        trace: u64,
        from: u64,
        count: u64,
        padding: usize,
        second: Option<u64>,
    },
    /// Exactly what was sent last.
    Resend,
    Seal,
    /// Everything that the policy has to do, or two segments picked at random.
    Merge {
        all: bool,
    },
    /// Gives up a segment picked at random.
    Expire,
    /// Takes a snapshot and keeps it.
    Hold,
    /// Compares everything with the model, the held snapshots with what they showed, and asks a question.
    Query,
    /// The clocks go on; the wall clock may be stepped either way.
    Clock {
        seconds: u64,
        step: i64,
    },
    /// The disk does this at the operation with this number from now.
    Fault {
        at: usize,
        fault: Fault,
    },
    /// Stops in good order and starts again.
    Reopen,
    /// The process is killed or the power is cut; then a start.
    Crash(Left),
}

/// The steps of a history: random ones, and for certain a crash, a merge and a good stop.
pub fn history(random: &mut Random, length: u64) -> Vec<Step> {
    let mut steps: Vec<_> = (0..length).map(|_| step(random)).collect();
    let certain = [Step::Crash(left(random)), Step::Merge { all: random.chance(2) }, Step::Reopen];
    let third = (length / 3).max(1);
    for (index, step) in certain.into_iter().enumerate() {
        let at = index as u64 * third + random.below(third);
        if let Some(place) = steps.get_mut(at as usize) {
            *place = step;
        }
    }
    steps
}

fn step(random: &mut Random) -> Step {
    match random.below(100) {
        0..42 => Step::Append {
            trace: random.below(8),
            from: random.below(4),
            count: 1 + random.below(5),
            padding: padding(random),
            second: random.chance(3).then(|| random.below(8)),
        },
        42..50 => Step::Resend,
        50..58 => Step::Seal,
        58..68 => Step::Merge { all: random.chance(2) },
        68..71 => Step::Expire,
        71..75 => Step::Hold,
        75..84 => Step::Query,
        84..88 => Step::Clock { seconds: random.below(4000), step: random.below(7200) as i64 - 3600 },
        88..93 => Step::Fault { at: random.below(40) as usize, fault: fault(random) },
        93..96 => Step::Reopen,
        _ => Step::Crash(left(random)),
    }
}

fn padding(random: &mut Random) -> usize {
    let most = if random.chance(8) { 6000 } else { 400 };
    random.below(most) as usize
}

fn fault(random: &mut Random) -> Fault {
    [Fault::Crash, Fault::Fail, Fault::Full, Fault::Short][random.below(4) as usize]
}

fn left(random: &mut Random) -> Left {
    match random.below(4) {
        0 => Left::Synced,
        1 => Left::All,
        2 => Left::AllBytes,
        _ => Left::AllButWrite(random.below(4) as usize),
    }
}
