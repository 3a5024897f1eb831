//! The best of the traces found so far, and no more of them than were asked for.

use crate::model::{Order, TraceId, TraceSummary, time::duration};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a trace is ordered by: the greatest comes first.
pub fn key_of(order: Order, start: u64, end: u64) -> u64 {
    match order {
        Order::NewestFirst => start,
        Order::SlowestFirst => duration(start, end),
    }
}

/// In the order asked for. The same trace may be added again.
pub struct Top {
    order: Order,
    limit: usize,
    found: BTreeMap<(Reverse<u64>, TraceId), TraceSummary>,
}

impl Top {
    pub fn new(order: Order, limit: usize) -> Self {
        Self { order, limit, found: BTreeMap::new() }
    }

    /// The last of them once there are enough: what does not come before it is not wanted.
    fn last(&self) -> Option<(Reverse<u64>, TraceId)> {
        if self.found.len() < self.limit {
            return None;
        }
        self.found.last_key_value().map(|(place, _)| *place)
    }

    /// Whether a trace of this key, or a lower one, can be among them.
    pub fn wants(&self, key: u64, id: TraceId) -> bool {
        self.limit > 0 && self.last().is_none_or(|last| (Reverse(key), id) < last)
    }

    /// The least key that any trace needs to be among them.
    pub fn least(&self) -> u64 {
        self.last().map_or(0, |(Reverse(key), _)| key)
    }

    /// Whether there are enough and every trace with at most this key comes behind them.
    pub fn is_settled(&self, key: u64) -> bool {
        self.last().is_some_and(|(Reverse(last), _)| key < last)
    }

    pub fn add(&mut self, trace: TraceSummary) {
        let key = key_of(self.order, trace.start, trace.end);
        if self.wants(key, trace.id) {
            self.found.insert((Reverse(key), trace.id), trace);
        }
        while self.found.len() > self.limit {
            self.found.pop_last();
        }
    }

    pub fn finish(self) -> Vec<TraceSummary> {
        self.found.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(id: u8, start: u64, end: u64) -> TraceSummary {
        TraceSummary { id: TraceId([id; 16]), start, end, ..TraceSummary::default() }
    }

    #[test]
    fn the_best_stay_once_each_and_ties_are_ordered_by_id() {
        for (order, expected) in [(Order::NewestFirst, [4, 1]), (Order::SlowestFirst, [2, 1])] {
            let mut top = Top::new(order, 2);
            assert!(!top.is_settled(0));
            let all = [trace(3, 10, 20), trace(1, 30, 60), trace(2, 10, 90), trace(4, 40, 1), trace(1, 30, 60)];
            all.into_iter().for_each(|trace| top.add(trace));
            let last = 30;
            assert!(top.is_settled(last - 1) && !top.is_settled(last));
            assert!(top.wants(last, TraceId([0; 16])) && !top.wants(last, TraceId([9; 16])));
            assert_eq!(top.finish().iter().map(|trace| trace.id.0[0]).collect::<Vec<_>>(), expected);
        }
        let mut none = Top::new(Order::NewestFirst, 0);
        none.add(trace(1, 1, 1));
        assert!(!none.wants(9, TraceId([1; 16])) && none.finish().is_empty());
    }
}
