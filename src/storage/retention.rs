//! Which segments need not be kept any longer. Decided by when rows were received, in store time: what senders say of their
//! spans' times changes nothing.

use super::manifest::{FileKind, LiveFile};
use super::options::Retention;
use crate::model::time::Nanos;

/// Ids of the segments that need not be kept, oldest received first: those whose newest row was received more than
/// `max_age` ago, and as many of the oldest as it takes for the rest to fit into `max_size`, but never the newest for that.
pub fn expired(files: &[LiveFile], now: Nanos, limits: &Retention) -> Vec<u64> {
    let is_segment = |file: &&LiveFile| matches!(file.kind, FileKind::Segment | FileKind::Remainder);
    let mut segments: Vec<_> = files.iter().filter(is_segment).collect();
    segments.sort_by_key(|file| (file.received.1, file.id));
    let newest = segments.last().map(|file| file.id);
    let max_age = Nanos::try_from(limits.max_age.as_nanos()).unwrap_or(Nanos::MAX);
    let mut total: u128 = segments.iter().map(|file| u128::from(file.bytes)).sum();
    let mut expired = Vec::new();
    for file in segments {
        let is_old = max_age > 0 && now.saturating_sub(file.received.1) > max_age;
        let is_too_much = limits.max_size > 0 && total > limits.max_size.into() && Some(file.id) != newest;
        if is_old || is_too_much {
            total -= u128::from(file.bytes);
            expired.push(file.id);
        }
    }
    expired
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const HOUR: Nanos = 3_600_000_000_000;
    /// Store time in all tests.
    const NOW: Nanos = 1_000 * HOUR;

    /// A segment of 100 bytes whose rows were received between these hours ago.
    fn segment(id: u64, first_ago: u64, last_ago: u64) -> LiveFile {
        LiveFile {
            kind: FileKind::Segment,
            id,
            bytes: 100,
            rows: 10,
            traces: 5,
            lsns: (id * 10, id * 10 + 9),
            received: (NOW - first_ago * HOUR, NOW - last_ago * HOUR),
            not_before: 0,
        }
    }

    fn limits(max_age_hours: u64, max_size: u64) -> Retention {
        Retention { max_age: Duration::from_secs(max_age_hours * 3600), max_size }
    }

    #[test]
    fn a_segment_expires_by_its_newest_row_and_by_size_from_the_oldest() {
        let three = || vec![segment(1, 30, 20), segment(2, 20, 10), segment(3, 10, 1)];
        let mut shuffled = three();
        shuffled.rotate_left(1);
        let remainder = LiveFile { kind: FileKind::Remainder, not_before: NOW + HOUR, ..segment(4, 40, 30) };
        let decisions = LiveFile { kind: FileKind::Decisions, ..segment(5, 900, 900) };
        let set_aside = LiveFile { kind: FileKind::SetAside, ..segment(6, 900, 900) };
        let cases: [(&str, Vec<LiveFile>, Retention, Vec<u64>); 17] = [
            ("no files", vec![], limits(1, 1), vec![]),
            ("no limits", three(), limits(0, 0), vec![]),
            ("nothing is old enough", three(), limits(20, 0), vec![]),
            ("one is", three(), limits(19, 0), vec![1]),
            ("its newest row counts, not its oldest", vec![segment(1, 500, 19)], limits(19, 0), vec![]),
            ("age takes the newest too", three(), limits(0, 0).older(HOUR / 2), vec![1, 2, 3]),
            ("all fit", three(), limits(0, 300), vec![]),
            ("one too many", three(), limits(0, 299), vec![1]),
            ("two too many", three(), limits(0, 199), vec![1, 2]),
            ("never the newest by size", three(), limits(0, 1), vec![1, 2]),
            ("oldest received first, in whatever order they are", shuffled.clone(), limits(0, 199), vec![1, 2]),
            ("an older id that was received later stays", swapped(), limits(0, 100), vec![2]),
            ("both: what is old counts towards the size", three(), limits(19, 200), vec![1]),
            ("both: size takes more", three(), limits(19, 100), vec![1, 2]),
            ("remainders are segments", vec![remainder.clone(), segment(1, 2, 1)], limits(20, 0), vec![4]),
            ("decisions and what is set aside stay", vec![decisions, set_aside], limits(1, 1), vec![]),
            ("received in what is the future by now", vec![ahead(1), segment(2, 2, 1)], limits(20, 0), vec![]),
        ];
        for (what, files, limits, expected) in cases {
            assert_eq!(expired(&files, NOW, &limits), expected, "{what}");
        }
    }

    /// A merge made an older segment out of rows received later.
    fn swapped() -> Vec<LiveFile> {
        vec![segment(1, 10, 1), segment(2, 30, 20)]
    }

    /// Written before the store's clock was set back by hand.
    fn ahead(id: u64) -> LiveFile {
        LiveFile { received: (NOW, NOW + 900 * HOUR), ..segment(id, 0, 0) }
    }

    impl Retention {
        fn older(self, max_age: Nanos) -> Self {
            Self { max_age: Duration::from_nanos(max_age), ..self }
        }
    }

    #[test]
    fn sums_and_ages_beyond_every_number_do_not_overflow() {
        let huge = |id| LiveFile { bytes: u64::MAX, received: (0, id), ..segment(id, 0, 0) };
        assert_eq!(expired(&[huge(1), huge(2), huge(3)], NOW, &limits(0, 10)), [1, 2]);
        let for_ever = Retention { max_age: Duration::MAX, max_size: 0 };
        assert_eq!(expired(&[huge(1)], Nanos::MAX, &for_ever), [] as [u64; 0]);
    }
}
