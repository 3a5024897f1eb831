//! Questions by the hundred, from a seed: about values that occur, together or apart, and about some that do not.

use super::plain::{Plain, PlainSpan, Scalar};
use sluice::model::{Order, TraceQuery};

/// Numbers that look random and are the same for the same seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Whether one of `of` chances has come.
    pub fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Asks about the spans of a plain store.
pub struct Asking<'a> {
    spans: Vec<&'a PlainSpan>,
    random: Random,
}

impl<'a> Asking<'a> {
    pub fn new(plain: &'a Plain, seed: u64) -> Self {
        Self { spans: plain.spans().collect(), random: Random(seed) }
    }

    /// Most questions are about one span, so that their conditions fit together; some mix those of several.
    pub fn question(&mut self) -> TraceQuery {
        let mut query = TraceQuery { limit: *self.random.pick(&[1, 3, 20, 20, 100, 100_000]), ..TraceQuery::default() };
        if self.random.one_in(2) {
            query.order = Order::SlowestFirst;
        }
        let mut about = self.span();
        for _ in 0..self.random.below(4) {
            if self.random.one_in(5) {
                about = self.span();
            }
            self.add_condition(&mut query, about);
        }
        query
    }

    fn span(&mut self) -> &'a PlainSpan {
        self.spans[self.random.below(self.spans.len())]
    }

    fn add_condition(&mut self, query: &mut TraceQuery, about: &PlainSpan) {
        let absent = self.random.one_in(12);
        let text = |value: &str| if absent { format!("{value} nowhere") } else { value.to_owned() };
        match self.random.below(8) {
            0 | 1 => query.service = Some(text(&about.service)),
            2 => query.operation = Some(text(&about.name)),
            3 => query.kind = Some(if absent { 77 } else { about.kind }),
            4 => query.status = Some(if absent { 77 } else { about.status }),
            5 => query.start = self.range(about.start),
            6 => query.duration = self.range(about.end.saturating_sub(about.start)),
            _ => query.attributes.extend(self.attribute(about).map(|(key, value)| (key, text(&value)))),
        }
    }

    /// A range that holds a value, open at one end or both, or one just beside it.
    fn range(&mut self, value: u64) -> (Option<u64>, Option<u64>) {
        let spread = 1 << self.random.below(40);
        let (below, above) = (value.saturating_sub(spread), value.saturating_add(spread));
        match self.random.below(6) {
            0 => (Some(below), None),
            1 => (None, Some(above)),
            2 => (Some(value), Some(value)),
            3 => (Some(value.saturating_add(1)), Some(above)),
            4 => (Some(below), value.checked_sub(1)),
            _ => (Some(below), Some(above)),
        }
    }

    fn attribute(&mut self, about: &PlainSpan) -> Option<(String, String)> {
        let some = about.attributes.get(self.random.below(about.attributes.len()))?;
        let (key, value) = self.random.pick(some);
        let asked = if self.random.one_in(10) { Scalar::Other } else { value.clone() };
        Some((key.to_string(), asked.text()))
    }
}
