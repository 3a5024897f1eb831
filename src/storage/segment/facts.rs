//! What the directory says of a trace: facts about its rows in this segment, and the judged mark.

use crate::model::wire::{fields, read};
use crate::model::{Row, SpanId, TraceId, time::Nanos, time::duration};
use std::collections::HashSet;

/// No span of this fragment is without a parent.
pub const ROOT_MISSING: u16 = 1;
/// Some span's parent is not in this fragment.
pub const ORPHANS: u16 = 1 << 1;
/// Some span ends before it starts.
pub const END_BEFORE_START: u16 = 1 << 2;
/// Some span starts more than an hour after it was received.
pub const FUTURE: u16 = 1 << 3;
/// More than can be judged at once.
pub const OVERSIZED: u16 = 1 << 4;
/// Rows that came after the trace was judged.
pub const LATE: u16 = 1 << 5;
/// Another fragment of the trace was known when this one was written.
pub const SEEN_BEFORE: u16 = 1 << 6;

/// The flags that follow from the rows of a trace; the others come from merging and judging.
pub const OF_ROWS: u16 = ROOT_MISSING | ORPHANS | END_BEFORE_START | FUTURE;

const FUTURE_MARGIN: Nanos = 3_600_000_000_000;
const ERROR: i32 = 2;

/// Facts about the rows of one trace in one segment, duplicates collapsed. A reader with several fragments of the
/// trace works them out again from the row keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    pub rows: u32,
    /// OTLP bytes of the spans that the keys leave.
    pub bytes: u64,
    /// Rows with status code 2.
    pub errors: u32,
    pub min_start: Nanos,
    pub max_end: Nanos,
    pub first_received: Nanos,
    pub last_received: Nanos,
    /// Of the parentless span with the earliest start; empty where there is none.
    pub root_service: String,
    pub root_name: String,
    pub root_duration: Nanos,
    /// Sorted, each once.
    pub services: Vec<String>,
    /// 56 bits that all samplers agree on: the root's `rv` from its trace state, else the id's last 7 bytes.
    pub randomness: u64,
    pub flags: u16,
}

/// Whether a trace was judged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// Not before `not_before`; `failures` counts sampler faults so far.
    Unjudged {
        not_before: Nanos,
        failures: u32,
    },
    Kept {
        reason: String,
        policy: u32,
        late: bool,
        shadow_drop: bool,
    },
}

impl Default for Mark {
    fn default() -> Self {
        Self::Unjudged { not_before: 0, failures: 0 }
    }
}

/// What facts need of a row beside its keys.
#[derive(Debug, Clone, Copy)]
pub struct FactRow<'a> {
    pub row: &'a Row,
    /// The span's bytes that the keys leave.
    pub body: &'a [u8],
    /// `service.name` of its resource, empty where there is none.
    pub service: &'a str,
}

impl Facts {
    pub fn of(id: TraceId, rows: &[FactRow<'_>]) -> Self {
        let mut facts =
            Self { rows: rows.len() as u32, min_start: Nanos::MAX, first_received: Nanos::MAX, ..Self::default() };
        rows.iter().for_each(|row| facts.add(row));
        facts.services = services(rows);
        if has_orphans(rows) {
            facts.flags |= ORPHANS;
        }
        facts.randomness = random_of_id(id);
        match rows.iter().filter(|row| !row.row.parent.is_valid()).min_by_key(|row| (row.row.start, row.row.span_id)) {
            Some(root) => facts.add_root(root),
            None => facts.flags |= ROOT_MISSING,
        }
        facts
    }

    fn add(&mut self, FactRow { row, body, .. }: &FactRow<'_>) {
        self.bytes += body.len() as u64;
        self.errors += u32::from(row.status == ERROR);
        self.min_start = self.min_start.min(row.start);
        self.max_end = self.max_end.max(row.end);
        self.first_received = self.first_received.min(row.received);
        self.last_received = self.last_received.max(row.received);
        if row.end < row.start {
            self.flags |= END_BEFORE_START;
        }
        if row.start > row.received.saturating_add(FUTURE_MARGIN) {
            self.flags |= FUTURE;
        }
    }

    fn add_root(&mut self, root: &FactRow<'_>) {
        self.root_service = root.service.to_owned();
        self.root_name = read::text(root.body, fields::SPAN_NAME).to_owned();
        self.root_duration = duration(root.row.start, root.row.end);
        let state = read::text(root.body, fields::SPAN_TRACE_STATE);
        self.randomness = random_of_state(state).unwrap_or(self.randomness);
    }
}

/// The services of these rows, sorted, each once.
fn services(rows: &[FactRow<'_>]) -> Vec<String> {
    let mut names: Vec<_> = rows.iter().map(|row| row.service).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(str::to_owned).collect()
}

fn has_orphans(rows: &[FactRow<'_>]) -> bool {
    let orphan =
        |known: &dyn Fn(SpanId) -> bool| rows.iter().any(|row| row.row.parent.is_valid() && !known(row.row.parent));
    // Up to here, looking at every row is quicker than a set.
    const FEW: usize = 24;
    if rows.len() <= FEW {
        return orphan(&|id| rows.iter().any(|row| row.row.span_id == id));
    }
    let ids: HashSet<_> = rows.iter().map(|row| row.row.span_id).collect();
    orphan(&|id| ids.contains(&id))
}

/// The 56 bits of a trace id that W3C level 2 calls random.
pub fn random_of_id(id: TraceId) -> u64 {
    u128::from_be_bytes(id.0) as u64 & 0x00ff_ffff_ffff_ffff
}

/// `rv` of the `ot` member of a trace state: exactly 14 hex digits. Source: OpenTelemetry "TraceState: Probability Sampling".
fn random_of_state(state: &str) -> Option<u64> {
    let members = state.split(',').find_map(|member| member.trim().strip_prefix("ot="))?;
    let value = members.split(';').find_map(|member| member.strip_prefix("rv:"))?;
    (value.len() == 14).then(|| u64::from_str_radix(value, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u8, parent: u8, start: Nanos, end: Nanos) -> Row {
        Row { span_id: SpanId([id; 8]), parent: SpanId([parent; 8]), start, end, received: 50, ..Row::default() }
    }

    fn facts(rows: &[Row]) -> Facts {
        let rows: Vec<_> = rows.iter().map(|row| FactRow { row, body: b"", service: "a" }).collect();
        Facts::of(TraceId([0xab; 16]), &rows)
    }

    #[test]
    fn the_envelope_and_the_root_come_from_true_ends() {
        let facts = facts(&[row(1, 0, 10, 20), row(2, 1, 15, 500)]);
        assert_eq!((facts.min_start, facts.max_end, facts.root_duration, facts.flags), (10, 500, 10, 0));
        assert_eq!(facts.services, ["a"]);
    }

    #[test]
    fn odd_traces_are_flagged_and_never_overflow() {
        assert_eq!(facts(&[row(2, 1, 1, 1)]).flags, ROOT_MISSING | ORPHANS);
        let backwards = facts(&[row(1, 0, 1000, 999)]);
        assert_eq!((backwards.flags, backwards.root_duration), (END_BEFORE_START, 0));
        assert_eq!(facts(&[row(1, 0, Nanos::MAX, Nanos::MAX)]).flags, FUTURE);
    }

    #[test]
    fn randomness_is_the_roots_rv_or_the_end_of_the_id() {
        assert_eq!(random_of_state("a=b, ot=th:8;rv:0123456789abcd"), Some(0x0001_2345_6789_abcd));
        for state in ["", "ot=rv:123", "ot=rv:0123456789abcz", "xot=rv:0123456789abcd"] {
            assert_eq!(random_of_state(state), None, "{state}");
        }
        assert_eq!(random_of_id(TraceId([0xab; 16])), 0x00ab_abab_abab_abab);
    }
}
