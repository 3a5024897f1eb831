//! Searching a snapshot: exactly what a look at every row would give, with a look at few of them.
//!
//! Traces are taken in the order asked for, from the greatest key of the sources' indexes down, a batch at a time. A batch is looked
//! at in id order, so that each page and block is read once for it. A trace that is met is looked up in all other places and put
//! together before it is judged, for only all of it says when it began, how long it took, and which of its rows count.
//!
//! **When it is enough.** `Top` holds the best so far; a trace that was not met must not come before the last of them. Its
//! fragments in the sources gone through have keys at or below the heads.
//!
//! - *Slowest first.* A trace in one place lasts as long as its fragment. One in several places can last longer than each of its
//!   fragments, so no head bounds it: those are found apart, by a merge of the sorted lists of ids.
//! - *Newest first.* A trace begins no later than any of its rows that count. Take the fragment with the newest rows: where
//!   all other fragments are older than its oldest row, nothing has taken the place of a row in it, so the trace begins no
//!   later than its key says, and is met by then. Where LSNs overlap, or where the fragment with the newest rows was left out
//!   because nothing in it matches, that is not so: a span sent again with a later start can have taken the place of the
//!   row that the key is of. Traces in two such places are found apart as well.
//!
//! **When indexes do not help**, because most that is met does not match, the rest is gone through in id order: everything is
//! read once and in the order in which it lies. So is everything where an index is damaged.

use super::fragments::Fragments;
use super::heads::Heads;
use super::judge::{Verdict, judge};
use super::limits::{Limits, Stopped};
use super::matching::matches;
use super::pages::Pages;
use super::reading::{Reading, RowRef};
use super::source::{self, Place, Source};
use super::summary::{summary_of_facts, summary_of_rows};
use super::top::{Top, key_of};
use super::walk::Walk;
use crate::model::{Answer, Order, Trace, TraceId, TraceQuery, TraceSummary};
use crate::storage::Snapshot;
use crate::storage::error::StorageError;
use crate::storage::segment::DirectoryEntry;
use crate::storage::segment::facts::END_BEFORE_START;
use std::collections::{BTreeMap, BTreeSet};

/// The first batch has as many traces as are wanted, each further one so many times more.
const GROWTH: usize = 4;
const LARGEST_BATCH: usize = 8192;

impl Snapshot {
    /// The traces that match, in short, in the order asked for.
    pub fn find(&self, query: &TraceQuery, limits: Limits) -> Result<Answer<Vec<TraceSummary>>, Stopped> {
        Search::new(self, query, limits).run()
    }

    /// The same traces with all their spans.
    pub fn find_traces(&self, query: &TraceQuery, limits: Limits) -> Result<Answer<Vec<Trace>>, Stopped> {
        let Answer { found, warnings } = self.find(query, limits)?;
        let (mut reading, mut warnings): (_, BTreeSet<_>) =
            (Reading::new(self, limits), warnings.into_iter().collect());
        let mut traces = Vec::new();
        for summary in found {
            let fragments = reading.find(summary.id)?;
            let mut trace = reading.assemble(&fragments)?;
            warnings.extend(trace.warnings.drain(..));
            traces.push(trace);
        }
        Ok(Answer { found: traces, warnings: warnings.into_iter().collect() })
    }
}

/// Fragments in segments that are known already, by trace.
type Batch = BTreeMap<TraceId, Vec<(usize, DirectoryEntry)>>;

/// How going through the indexes ended.
enum Ended {
    /// Everything was met.
    Exhausted,
    /// The rest comes behind what was found.
    Enough,
    /// It does not pay.
    Unhelpful,
}

struct Search<'a> {
    snapshot: &'a Snapshot,
    query: &'a TraceQuery,
    limits: Limits,
    /// Where a row may match.
    sources: Vec<Source>,
    /// Those of them some of whose fragments are not gone through.
    left_out: BTreeSet<Source>,
    reading: Reading<'a>,
    pages: Pages,
    top: Top,
    warnings: BTreeSet<String>,
}

impl<'a> Search<'a> {
    fn new(snapshot: &'a Snapshot, query: &'a TraceQuery, limits: Limits) -> Self {
        let sources = source::all(snapshot).into_iter().filter(|source| source.may_match(snapshot, query)).collect();
        Self {
            snapshot,
            query,
            limits,
            sources,
            left_out: BTreeSet::new(),
            reading: Reading::new(snapshot, limits),
            pages: Pages::default(),
            top: Top::new(query.order, query.limit),
            warnings: snapshot.missing().collect(),
        }
    }

    fn run(mut self) -> Result<Answer<Vec<TraceSummary>>, Stopped> {
        let most = match self.query.order {
            // A fragment that begins later has no row that matches.
            Order::NewestFirst => self.query.start.1.unwrap_or(u64::MAX),
            Order::SlowestFirst => u64::MAX,
        };
        let ended = match Heads::new(self.snapshot, &self.sources, self.query.order, most) {
            Ok(heads) => {
                self.left_out.clone_from(&heads.left_out);
                self.by_index(heads)?
            }
            Err(_) => Ended::Unhelpful,
        };
        match ended {
            Ended::Exhausted => {}
            Ended::Enough => self.apart()?,
            Ended::Unhelpful => self.by_id()?,
        }
        Ok(Answer { found: self.top.finish(), warnings: self.warnings.into_iter().collect() })
    }

    fn by_index(&mut self, mut heads: Heads<'_>) -> Result<Ended, Stopped> {
        let mut size = self.query.limit.min(LARGEST_BATCH);
        loop {
            let Ok(batch) = self.take(&mut heads, size) else { return Ok(Ended::Unhelpful) };
            for (id, known) in self.look_up(batch)? {
                self.consider(id, known)?;
            }
            match heads.key() {
                None => return Ok(Ended::Exhausted),
                Some(key) if self.top.is_settled(key) => return Ok(Ended::Enough),
                Some(_) if self.is_unhelpful() => return Ok(Ended::Unhelpful),
                Some(_) => size = (size * GROWTH).min(LARGEST_BATCH),
            }
        }
    }

    /// The next heads, until the rest is known to come behind what was found.
    fn take(&self, heads: &mut Heads<'_>, size: usize) -> Result<Vec<Place>, StorageError> {
        let mut batch = Vec::new();
        while batch.len() < size
            && heads.key().is_some_and(|key| !self.top.is_settled(key))
            && let Some(place) = heads.next()?
        {
            batch.push(place);
        }
        Ok(batch)
    }

    /// The traces of these places, each once.
    fn look_up(&mut self, mut places: Vec<Place>) -> Result<Batch, Stopped> {
        places.sort_unstable();
        let mut batch = Batch::new();
        for place in places {
            self.limits.check()?;
            match place {
                Place::Memtable { id, .. } => drop(batch.entry(id).or_default()),
                Place::Segment { segment, ordinal } => {
                    if let Some(entry) = self.entry(segment, ordinal) {
                        batch.entry(entry.trace_id).or_default().push((segment, entry));
                    }
                }
            }
        }
        Ok(batch)
    }

    fn entry(&mut self, segment: usize, ordinal: u32) -> Option<DirectoryEntry> {
        match self.pages.entry(self.snapshot, segment, ordinal) {
            Ok(entry) => entry,
            Err(error) => {
                self.warnings.insert(error.to_string());
                None
            }
        }
    }

    /// Whether half of what going through everything would read was read already.
    fn is_unhelpful(&self) -> bool {
        let segments = self.sources.iter().filter_map(|source| source.segment(self.snapshot));
        let all: u64 = segments.map(|segment| segment.page_count() as u64 + segment.footer().blocks).sum();
        let read = self.pages.read + self.reading.blocks_read();
        read > all / 2
    }

    /// Goes through everything that may match, in id order.
    fn by_id(&mut self) -> Result<(), Stopped> {
        self.walk(&self.sources.clone(), 1)
    }

    /// Looks at the traces that the heads may not have told of in time.
    fn apart(&mut self) -> Result<(), Stopped> {
        let sources = source::all(self.snapshot);
        let apart = match self.query.order {
            Order::SlowestFirst => sources,
            Order::NewestFirst => self.out_of_order(&sources).into_iter().collect(),
        };
        self.walk(&apart, 2)
    }

    /// Sources whose traces may have been met too late: where some fragment with newer rows is not gone through, or where it
    /// is not clear which rows are newer.
    fn out_of_order(&self, all: &[Source]) -> BTreeSet<Source> {
        let mut found = BTreeSet::new();
        for (a, b) in all.iter().flat_map(|a| self.sources.iter().map(move |b| (*a, *b))) {
            let (newer, older) = (a.lsns(self.snapshot), b.lsns(self.snapshot));
            let unseen = !self.sources.contains(&a) || self.left_out.contains(&a);
            // A span that counts and matches starts no later than that.
            let late = unseen && newer.1 >= older.0 && b.latest(self.snapshot) >= self.top.least();
            if a != b && a.may_share(b, self.snapshot) && late {
                found.extend([a, b]);
            }
        }
        for (at, a) in all.iter().enumerate() {
            let behind = all.get(at + 1..).unwrap_or_default();
            let overlapping = behind.iter().filter(|b| a.overlaps(**b, self.snapshot));
            overlapping.for_each(|b| found.extend(self.sources.iter().chain([a, b])));
        }
        found
    }

    /// Looks at the traces that are in this many of the sources at least, in id order.
    fn walk(&mut self, sources: &[Source], least: usize) -> Result<(), Stopped> {
        if sources.len() < least {
            return Ok(());
        }
        let mut walk = Walk::new(self.snapshot, sources, self.limits)?;
        while let Some(met) = walk.next()? {
            self.limits.check()?;
            if met.places.len() < least {
                continue;
            }
            let known: Vec<_> = met.places.iter().filter_map(|place| self.known(place)).collect();
            let in_memory = met.places.len() > known.len();
            if in_memory || known.iter().any(|(_, entry)| judge(self.query, &entry.facts) != Verdict::No) {
                self.consider(met.id, known)?;
            }
        }
        self.warnings.extend(walk.warnings.drain(..));
        Ok(())
    }

    fn known(&mut self, place: &Place) -> Option<(usize, DirectoryEntry)> {
        match place {
            Place::Segment { segment, ordinal } => Some((*segment, self.entry(*segment, *ordinal)?)),
            Place::Memtable { .. } => None,
        }
    }

    /// Adds a trace if it matches and belongs to the best.
    fn consider(&mut self, id: TraceId, known: Vec<(usize, DirectoryEntry)>) -> Result<(), Stopped> {
        let fragments = Fragments::find(self.snapshot, id, known, &mut self.pages, &self.limits)?;
        self.warnings.extend(fragments.warnings.iter().cloned());
        match fragments.only() {
            Some((segment, entry)) => self.consider_fragment(*segment, entry),
            None if self.top.wants(self.bound(&fragments), id) && self.may_match(&fragments)? => {
                self.consider_rows(&fragments)
            }
            None => Ok(()),
        }
    }

    /// A trace that is in one segment alone: its facts are true of all of it, and its rows hold no duplicates.
    fn consider_fragment(&mut self, segment: usize, entry: &DirectoryEntry) -> Result<(), Stopped> {
        let facts = &entry.facts;
        if !self.top.wants(key_of(self.query.order, facts.min_start, facts.max_end), entry.trace_id) {
            return Ok(());
        }
        let matched = match judge(self.query, facts) {
            Verdict::No => false,
            Verdict::Yes => true,
            Verdict::Rows => self.some_row(segment, entry)?,
        };
        if matched {
            self.top.add(summary_of_facts(entry.trace_id, facts));
        }
        Ok(())
    }

    fn some_row(&mut self, segment: usize, entry: &DirectoryEntry) -> Result<bool, Stopped> {
        let (query, mut warnings) = (self.query, Vec::new());
        let found = self.reading.some_row(segment, entry, &mut warnings, |span| matches(query, span))?;
        self.warnings.extend(warnings);
        Ok(found)
    }

    /// Whether a row of some fragment is as asked. Another row may have taken its place.
    fn may_match(&mut self, fragments: &Fragments) -> Result<bool, Stopped> {
        if fragments
            .memory
            .iter()
            .any(|memory| self.reading.some_row_in_memory(memory, |span| matches(self.query, span)))
        {
            return Ok(true);
        }
        for (segment, entry) in &fragments.segments {
            let may = match judge(self.query, &entry.facts) {
                Verdict::No => false,
                Verdict::Yes => true,
                Verdict::Rows => self.some_row(*segment, entry)?,
            };
            if may {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A trace with several fragments, or with duplicates that memory holds: all its rows are put together.
    fn consider_rows(&mut self, fragments: &Fragments) -> Result<(), Stopped> {
        self.reading.let_go();
        let mut warnings = Vec::new();
        let rows = match self.reading.gather(fragments, &mut warnings) {
            Err(too_large @ Stopped::TooLarge(_)) => {
                self.warnings.insert(format!("trace {} was left out: {too_large}", fragments.id));
                return Ok(());
            }
            other => other?,
        };
        self.warnings.extend(warnings);
        if rows.iter().any(|row| matches(self.query, row.span())) {
            self.top.add(summary_of_rows(fragments.id, rows.iter().map(RowRef::span)));
        }
        Ok(())
    }

    /// The greatest key that a trace of several fragments can have.
    fn bound(&self, fragments: &Fragments) -> u64 {
        let (mut starts, mut ends, mut latest) = (u64::MAX, 0, 0);
        for (_, DirectoryEntry { facts, .. }) in &fragments.segments {
            (starts, ends) = (starts.min(facts.min_start), ends.max(facts.max_end));
            let backwards = facts.flags & END_BEFORE_START != 0;
            latest = latest.max(if backwards { u64::MAX } else { facts.max_end });
        }
        for row in fragments.memory.iter().flat_map(|memory| self.reading.keys_in_memory(memory)) {
            (starts, ends, latest) = (starts.min(row.start), ends.max(row.end), latest.max(row.start));
        }
        match self.query.order {
            Order::NewestFirst => latest,
            Order::SlowestFirst => key_of(Order::SlowestFirst, starts, ends),
        }
    }
}
