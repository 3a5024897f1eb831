//! Which segments to merge next: a pure decision, asked for again after every merge.
//!
//! Sizes decide: a merge takes segments of about one size, so that a row is rewritten only when its segment grows by a
//! good part. Receive time decides what may come together at all:
//!
//! - *Waiting* segments (the newest row is younger than grace) merge over at most an eighth of grace: more would keep old
//!   rows from being judged. Where something judges, one that matures within an eighth of grace is left alone: the
//!   pass that judges takes it then and writes all of it again, so that a merge now would not pay.
//! - Mature ones merge within the bucket of their newest row, judged with judged. Unjudged ones do so only where nothing
//!   judges; else they are the pass's.

use crate::model::time::Nanos;
use std::collections::BTreeMap;
use std::time::Duration;

/// Segments that are merged in a bucket to which more will come.
const TIER: usize = 4;
/// How much larger than the smallest one, or than all smaller ones together, a segment may be that is merged with them.
const REACH: u64 = 4;
/// Part of grace that one merge of waiting segments may span.
const WINDOWS: Nanos = 8;
const HOUR: Nanos = 3_600_000_000_000;
/// Widths of a bucket, in hours.
const WIDTHS: [Nanos; 6] = [1, 2, 3, 6, 12, 24];
const USUAL_WIDTH: Nanos = 6 * HOUR;

/// What the decision needs to know of a segment that is neither damaged nor taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub id: u64,
    /// Of the file.
    pub bytes: u64,
    pub rows: u64,
    /// Earliest and latest received time of its rows.
    pub received: (Nanos, Nanos),
    /// It has traces without a verdict.
    pub unjudged: bool,
}

/// What the decision depends on beside the segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// A segment is mature when its newest row is this old.
    pub grace: Nanos,
    /// Width of a receive-time bucket, see [`bucket_width`].
    pub bucket_width: Nanos,
    /// Most segments of one merge, at least 2.
    pub max_inputs: usize,
    /// Rows that make a segment full. No merge has more.
    pub max_rows: u64,
    /// Passes judge what is mature and unjudged.
    pub judging: bool,
    /// Nothing more will come: everything counts as mature and every bucket as closed.
    pub settle: bool,
}

/// Segments to put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Ids, smallest segment first.
    pub inputs: Vec<u64>,
    pub bytes: u64,
    pub rows: u64,
}

/// A 28th of how long rows are kept, in whole hours that divide a day; 6 h where they are kept for ever.
pub fn bucket_width(max_age: Option<Duration>) -> Nanos {
    let wanted = max_age.map(|age| Nanos::try_from(age.as_nanos()).unwrap_or(Nanos::MAX) / 28);
    let nearest = |wanted| WIDTHS.into_iter().map(|hours| hours * HOUR).min_by_key(|width| width.abs_diff(wanted));
    wanted.and_then(nearest).unwrap_or(USUAL_WIDTH)
}

/// Disjoint merges, most useful first: those that spare readers the most segments for the bytes they rewrite.
pub fn plan(candidates: &[Candidate], now: Nanos, policy: &Policy) -> Vec<Job> {
    let mut jobs: Vec<_> = groups(candidates, now, policy).into_iter().flat_map(|group| group.jobs(policy)).collect();
    jobs.sort_by_key(|job| (job.bytes / (job.inputs.len() as u64).saturating_sub(1).max(1), job.inputs.clone()));
    jobs
}

/// Segments that may come together.
struct Group<'a> {
    members: Vec<&'a Candidate>,
    /// No more will come.
    closed: bool,
}

fn groups<'a>(candidates: &'a [Candidate], now: Nanos, policy: &Policy) -> Vec<Group<'a>> {
    let mut waiting = Vec::new();
    let mut buckets: BTreeMap<(bool, Nanos), Vec<&Candidate>> = BTreeMap::new();
    for segment in candidates.iter().filter(|segment| segment.rows < policy.max_rows) {
        let newest = segment.received.1;
        let matures = newest.saturating_add(policy.grace);
        if segment.unjudged && matures > now && !policy.settle {
            let pays = !policy.judging || matures - now > policy.grace / WINDOWS;
            waiting.extend(pays.then_some(segment));
        } else if !(segment.unjudged && policy.judging) {
            buckets.entry((segment.unjudged, newest / policy.bucket_width.max(1))).or_default().push(segment);
        }
    }
    let closed = |bucket: Nanos| {
        let end = bucket.saturating_add(1).saturating_mul(policy.bucket_width.max(1));
        policy.settle || end.saturating_add(policy.grace) <= now
    };
    let buckets = buckets.into_iter().map(|((_, bucket), members)| Group { members, closed: closed(bucket) });
    windows(waiting, policy.grace / WINDOWS).into_iter().chain(buckets).collect()
}

/// Cuts waiting segments, from the oldest on, into groups that span no more than `longest`.
fn windows(mut waiting: Vec<&Candidate>, longest: Nanos) -> Vec<Group<'_>> {
    waiting.sort_by_key(|segment| (segment.received.1, segment.id));
    let mut groups: Vec<Group<'_>> = Vec::new();
    for segment in waiting {
        let fits = |group: &&mut Group<'_>| {
            let members = group.members.iter().chain([&segment]);
            let first = members.map(|member| member.received.0).min().unwrap_or(0);
            segment.received.1.saturating_sub(first) <= longest
        };
        match groups.last_mut().filter(fits) {
            Some(group) => group.members.push(segment),
            None => groups.push(Group { members: vec![segment], closed: false }),
        }
    }
    groups
}

impl Group<'_> {
    fn jobs(mut self, policy: &Policy) -> Vec<Job> {
        self.members.sort_by_key(|segment| (segment.bytes, segment.id));
        let fewest = if self.closed { 2 } else { TIER.min(policy.max_inputs).max(2) };
        let mut jobs = Vec::new();
        let mut rest = &*self.members;
        while !rest.is_empty() {
            let (together, behind) = rest.split_at(self.reach(rest, policy));
            rest = if together.len() >= fewest {
                jobs.push(Job::of(together));
                behind
            } else {
                rest.get(1..).unwrap_or_default()
            };
        }
        jobs
    }

    /// How many of these, smallest first, go together.
    fn reach(&self, segments: &[&Candidate], policy: &Policy) -> usize {
        let smallest = segments.first().map_or(0, |segment| segment.bytes);
        let (mut bytes, mut rows, mut count) = (smallest, 0u64, 0);
        for segment in segments.iter().take(policy.max_inputs) {
            let base = if self.closed { bytes } else { smallest };
            rows = rows.saturating_add(segment.rows);
            if segment.bytes > base.saturating_mul(REACH) || rows > policy.max_rows {
                break;
            }
            bytes = if count == 0 { smallest } else { bytes.saturating_add(segment.bytes) };
            count += 1;
        }
        count
    }
}

impl Job {
    fn of(segments: &[&Candidate]) -> Self {
        let sum =
            |of: fn(&Candidate) -> u64| segments.iter().fold(0u64, |sum, segment| sum.saturating_add(of(segment)));
        let inputs = segments.iter().map(|segment| segment.id).collect();
        Self { inputs, bytes: sum(|segment| segment.bytes), rows: sum(|segment| segment.rows) }
    }
}

#[cfg(test)]
mod tests;
