//! What a snapshot is made of, seen by a search: segments and memtables, each with one fragment of a trace at most.

use super::top::key_of;
use crate::model::time::Nanos;
use crate::model::{Order, TraceId, TraceQuery};
use crate::storage::Snapshot;
use crate::storage::segment::Segment;

/// A segment or memtable of a snapshot, by its index among those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    Segment(usize),
    Memtable(usize),
}

/// Where a fragment is: by its ordinal in the segment's directory, or by its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Segment { segment: usize, ordinal: u64 },
    Memtable { memtable: usize, id: TraceId },
}

/// All sources of a snapshot.
pub fn all(snapshot: &Snapshot) -> Vec<Source> {
    let segments = (0..snapshot.segments.len()).map(Source::Segment);
    segments.chain((0..snapshot.memory.len()).map(Source::Memtable)).collect()
}

impl Source {
    /// Whether a row here may match; *no* is certain.
    pub fn may_match(self, snapshot: &Snapshot, query: &TraceQuery) -> bool {
        match self {
            Self::Segment(index) => {
                snapshot.segments.get(index).is_some_and(|segment| segment_may_match(segment, query))
            }
            Self::Memtable(index) => snapshot.memory.get(index).is_some_and(|view| {
                let service = query.service.as_deref();
                service.is_none_or(|name| view.indexed(|index| index.service(name).is_some()))
            }),
        }
    }

    pub fn segment(self, snapshot: &Snapshot) -> Option<&Segment> {
        match self {
            Self::Segment(index) => snapshot.segments.get(index).map(|segment| &**segment),
            Self::Memtable(_) => None,
        }
    }

    /// No fragment here begins later.
    pub fn latest(self, _snapshot: &Snapshot) -> Nanos {
        Nanos::MAX
    }

    /// Lowest and highest LSN of its rows.
    pub fn lsns(self, snapshot: &Snapshot) -> (u64, u64) {
        let lsns = match self {
            Self::Segment(index) => snapshot.segments.get(index).map(|segment| segment.footer().lsns),
            Self::Memtable(index) => snapshot.memory.get(index).and_then(|view| view.lsns()),
        };
        lsns.unwrap_or_default()
    }

    /// Lowest and highest trace id it may hold.
    pub fn ids(self, snapshot: &Snapshot) -> (TraceId, TraceId) {
        match self {
            Self::Segment(index) => {
                snapshot.segments.get(index).map_or_else(Default::default, |segment| segment.footer().trace_ids)
            }
            Self::Memtable(_) => (TraceId([0; 16]), TraceId([0xff; 16])),
        }
    }
}

fn segment_may_match(segment: &Segment, query: &TraceQuery) -> bool {
    let (from, to) = segment.footer().times;
    query.start.1.is_none_or(|latest| from <= latest)
        && query.duration.0.is_none_or(|least| key_of(Order::SlowestFirst, from, to) >= least)
}
