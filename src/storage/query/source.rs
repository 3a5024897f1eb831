//! What a snapshot is made of, seen by a search: segments and memtables, each with one fragment of a trace at most.

use super::top::key_of;
use crate::model::time::Nanos;
use crate::model::{Order, TraceId, TraceQuery};
use crate::storage::Snapshot;
use crate::storage::segment::Segment;
use crate::storage::segment::names::ServiceOperation;

/// A segment or memtable of a snapshot, by its index among those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    Segment(usize),
    Memtable(usize),
}

/// Where a fragment is: by its ordinal in the segment's directory, or by its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Segment { segment: usize, ordinal: u32 },
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

    /// No row here starts later.
    pub fn latest(self, snapshot: &Snapshot) -> Nanos {
        self.segment(snapshot).map_or(Nanos::MAX, |segment| segment.footer().times.1)
    }

    /// Whether a trace may be in both.
    pub fn may_share(self, other: Self, snapshot: &Snapshot) -> bool {
        let (a, b) = (self.ids(snapshot), other.ids(snapshot));
        a.0 <= b.1 && b.0 <= a.1
    }

    /// Whether some rows here may be newer, and some older, than rows there of the same trace.
    pub fn overlaps(self, other: Self, snapshot: &Snapshot) -> bool {
        let (a, b) = (self.lsns(snapshot), other.lsns(snapshot));
        a.0 <= b.1 && b.0 <= a.1 && self.may_share(other, snapshot)
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
    let (first, last) = segment.footer().times;
    query.start.0.is_none_or(|from| last >= from)
        && query.start.1.is_none_or(|to| first <= to)
        && query.duration.0.is_none_or(|least| key_of(Order::SlowestFirst, first, last) >= least)
        && names_may_match(segment, query)
}

fn names_may_match(segment: &Segment, query: &TraceQuery) -> bool {
    let named = query.service.is_some() || query.operation.is_some() || query.kind.is_some();
    if !named && query.attributes.is_empty() {
        return true;
    }
    // Damaged names, or names of which some were left out, rule nothing out.
    let Some(names) = segment.names().ok().filter(|names| !names.cut) else { return true };
    names.operations.iter().any(|operation| is_asked_for(operation, query))
        && query.attributes.iter().all(|(key, _)| names.attributes.contains_key(key))
}

fn is_asked_for((service, name, kind): &ServiceOperation, query: &TraceQuery) -> bool {
    query.service.as_ref().is_none_or(|asked| asked == service)
        && query.operation.as_ref().is_none_or(|asked| asked == name)
        && query.kind.is_none_or(|asked| asked == *kind)
}
