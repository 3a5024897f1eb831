use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;
use std::collections::BTreeSet;

const MINUTE: Nanos = HOUR / 60;
const MIB: u64 = 1 << 20;

fn policy() -> Policy {
    Policy { grace: 2 * HOUR, bucket_width: 6 * HOUR, max_inputs: 15, max_rows: 1_000, judging: false, settle: false }
}

/// An unjudged segment of one row whose rows were all received at `minute`.
fn segment(id: u64, bytes: u64, minute: u64) -> Candidate {
    let received = minute * MINUTE;
    Candidate { id, bytes, rows: 1, received: (received, received), unjudged: true }
}

fn judged(id: u64, bytes: u64, minute: u64) -> Candidate {
    Candidate { unjudged: false, ..segment(id, bytes, minute) }
}

fn of_rows(rows: u64, segment: Candidate) -> Candidate {
    Candidate { rows, ..segment }
}

/// Segments of equal size, ids from 1 on, received one a minute.
fn minutes(count: u64, from: u64) -> Vec<Candidate> {
    (0..count).map(|n| segment(n + 1, 10, from + n)).collect()
}

fn inputs(candidates: &[Candidate], now: u64, policy: &Policy) -> Vec<Vec<u64>> {
    plan(candidates, now * MINUTE, policy).into_iter().map(|job| job.inputs).collect()
}

/// Name, segments, now in minutes, change of the policy, expected inputs of each job.
type Case = (&'static str, Vec<Candidate>, u64, fn(&mut Policy), &'static [&'static [u64]]);

#[test]
fn each_rule_of_the_policy_decides_as_its_name_says() {
    let same: fn(&mut Policy) = |_| {};
    let judging: fn(&mut Policy) = |policy| policy.judging = true;
    let settle: fn(&mut Policy) = |policy| policy.settle = true;
    let wide = |id, from: u64, to: u64| Candidate { received: (from * MINUTE, to * MINUTE), ..segment(id, 10, to) };
    let cases: Vec<Case> = vec![
        ("nothing to do", vec![], 0, same, &[]),
        ("one segment is no merge", minutes(1, 0), 10, same, &[]),
        ("three of a size wait for a fourth", minutes(3, 0), 10, same, &[]),
        ("four of a size merge while they wait", minutes(4, 0), 10, same, &[&[1, 2, 3, 4]]),
        ("as many of a size as there are merge together", minutes(9, 0), 10, same, &[&[1, 2, 3, 4, 5, 6, 7, 8, 9]]),
        (
            "one larger than four times the smallest is left out",
            [minutes(4, 0), vec![segment(5, 41, 4)]].concat(),
            10,
            same,
            &[&[1, 2, 3, 4]],
        ),
        (
            "a small one does not keep larger ones from merging",
            [vec![segment(9, 1, 0)], minutes(4, 1)].concat(),
            10,
            same,
            &[&[1, 2, 3, 4]],
        ),
        ("no merge has more inputs than allowed", minutes(6, 0), 10, |p| p.max_inputs = 3, &[&[1, 2, 3], &[4, 5, 6]]),
        (
            "no merge has more rows than a segment may have",
            minutes(8, 0).into_iter().map(|one| of_rows(240, one)).collect(),
            10,
            same,
            &[&[1, 2, 3, 4], &[5, 6, 7, 8]],
        ),
        (
            "full segments are left alone",
            minutes(5, 0).into_iter().map(|one| of_rows(1_000, one)).collect(),
            10,
            settle,
            &[],
        ),
        (
            "waiting segments merge over at most an eighth of grace",
            [minutes(4, 0), (0..4).map(|n| segment(n + 5, 10, 16 + n)).collect()].concat(),
            30,
            same,
            &[&[1, 2, 3, 4], &[5, 6, 7, 8]],
        ),
        (
            "a waiting segment that spans more by itself merges with none",
            [vec![wide(9, 0, 20)], minutes(3, 20)].concat(),
            30,
            same,
            &[],
        ),
        ("where something judges, four merge that wait for long", minutes(4, 0), 10, judging, &[&[1, 2, 3, 4]]),
        ("where something judges, what matures soon is left to the pass", minutes(4, 0), 108, judging, &[]),
        ("where something judges, what is mature is left to the pass", minutes(4, 0), 130, judging, &[]),
        ("where nothing judges, what matures soon merges all the same", minutes(4, 0), 108, same, &[&[1, 2, 3, 4]]),
        (
            "mature and waiting ones do not mix",
            [minutes(3, 0), (0..3).map(|n| segment(n + 5, 10, 20 + n)).collect()].concat(),
            130,
            same,
            &[],
        ),
        (
            "a bucket is six hours, whatever the time between",
            vec![segment(1, 10, 0), segment(2, 10, 100), segment(3, 10, 200), segment(4, 10, 359), segment(5, 10, 360)],
            700,
            |p| p.grace = 340 * MINUTE + 1,
            &[&[1, 2, 3, 4]],
        ),
        ("a bucket that may still grow waits for four", minutes(3, 0), 470, same, &[]),
        ("a closed bucket settles for two", minutes(2, 0), 480, same, &[&[1, 2]]),
        (
            "in a closed bucket a large one is not rewritten for crumbs",
            vec![segment(1, 10, 0), segment(2, 41, 1)],
            480,
            same,
            &[],
        ),
        (
            "in a closed bucket crumbs together may reach a large one",
            vec![segment(1, 10, 0), segment(2, 40, 1), segment(3, 200, 2)],
            480,
            same,
            &[&[1, 2, 3]],
        ),
        (
            "judged merge with judged",
            vec![segment(1, 10, 0), judged(2, 10, 0), segment(3, 10, 0), judged(4, 10, 0)],
            480,
            same,
            &[&[1, 3], &[2, 4]],
        ),
        (
            "judged ones merge at any age and where something judges",
            (1..5).map(|id| judged(id, 10, 100)).collect(),
            100,
            judging,
            &[&[1, 2, 3, 4]],
        ),
        ("settling takes two of a bucket at any age", minutes(2, 0), 0, settle, &[&[1, 2]]),
        ("settling keeps buckets apart", vec![segment(1, 10, 0), segment(2, 10, 360)], 0, settle, &[]),
        (
            "small ones come first",
            [minutes(4, 0), (0..4).map(|n| segment(n + 5, MIB, n)).collect()].concat(),
            10,
            same,
            &[&[1, 2, 3, 4], &[5, 6, 7, 8]],
        ),
        (
            "times and sizes at the end of their range",
            vec![
                Candidate { received: (0, Nanos::MAX), rows: u64::MAX, ..segment(1, u64::MAX, 0) },
                Candidate { received: (0, Nanos::MAX), ..segment(2, u64::MAX, 0) },
                Candidate { received: (0, Nanos::MAX), ..segment(3, u64::MAX, 0) },
            ],
            1,
            |p| (p.max_rows, p.settle) = (u64::MAX, true),
            &[&[2, 3]],
        ),
    ];
    for (name, candidates, now, change, expected) in cases {
        let mut policy = policy();
        change(&mut policy);
        assert_eq!(inputs(&candidates, now, &policy), expected, "{name}");
    }
}

#[test]
fn a_bucket_is_about_a_28th_of_how_long_rows_are_kept() {
    let hours = |hours: u64| bucket_width(Some(Duration::from_secs(hours * 3_600))) / HOUR;
    let widths = [1, 24, 48, 72, 168, 336, 720, 10_000].map(hours);
    assert_eq!(widths, [1, 1, 2, 3, 6, 12, 24, 24]);
    assert_eq!(bucket_width(None), 6 * HOUR);
    assert_eq!(bucket_width(Some(Duration::MAX)), 24 * HOUR);
}

/// A store that merges whatever is planned, one merge at a time, as segments come in.
struct Store {
    policy: Policy,
    segments: Vec<Candidate>,
    next_id: u64,
    /// Bytes that came in, and bytes that merges wrote.
    arrived: u64,
    written: u64,
}

impl Store {
    fn new(policy: Policy) -> Self {
        Self { policy, segments: Vec::new(), next_id: 1, arrived: 0, written: 0 }
    }

    fn arrive(&mut self, bytes: u64, received: (Nanos, Nanos)) {
        let (id, rows) = (self.next_id, bytes.div_ceil(400));
        self.next_id += 1;
        self.arrived += bytes;
        self.segments.push(Candidate { id, bytes, rows, received, unjudged: true });
    }

    /// Merges until nothing is planned.
    fn merge_all(&mut self, now: Nanos) {
        let most = self.segments.len();
        for done in 0.. {
            let jobs = plan(&self.segments, now, &self.policy);
            let ids: Vec<_> = jobs.iter().flat_map(|job| job.inputs.iter().copied()).collect();
            assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an id is planned twice");
            let Some(job) = jobs.first() else { return };
            assert!(done < most, "every merge leaves fewer segments, so that planning comes to an end");
            self.merge(job);
        }
    }

    fn merge(&mut self, job: &Job) {
        let inputs: Vec<_> = self.segments.extract_if(.., |segment| job.inputs.contains(&segment.id)).collect();
        assert!(inputs.len() >= 2 && inputs.len() == job.inputs.len() && inputs.len() <= self.policy.max_inputs);
        assert!(job.rows <= self.policy.max_rows);
        let largest = inputs.iter().map(|segment| segment.bytes).max().unwrap();
        assert!(job.bytes * 4 >= largest * 5, "a merge makes of each input at least a quarter more");
        self.written += job.bytes;
        let first = inputs.iter().map(|segment| segment.received.0).min().unwrap();
        let last = inputs.iter().map(|segment| segment.received.1).max().unwrap();
        let unjudged = inputs[0].unjudged;
        let (id, rows, bytes) = (self.next_id, job.rows, job.bytes);
        self.next_id += 1;
        self.segments.push(Candidate { id, bytes, rows, received: (first, last), unjudged });
    }

    /// Segments of each bucket, smallest first.
    fn buckets(&self) -> BTreeMap<Nanos, Vec<&Candidate>> {
        let mut buckets: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for segment in &self.segments {
            buckets.entry(segment.received.1 / self.policy.bucket_width).or_default().push(segment);
        }
        buckets.values_mut().for_each(|segments| segments.sort_by_key(|segment| segment.bytes));
        buckets
    }
}

/// Bytes of a segment, minutes since the one before.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let sizes = prop_oneof![6 => MIB / 2..2 * MIB, 2 => 1_000..64 * MIB, 1 => 1..1_000u64];
    let gaps = prop_oneof![6 => 0..2u64, 3 => 2..20u64, 1 => 20..600u64];
    vec((sizes, gaps), 1..300)
}

proptest! {
    #![proptest_config(Config { cases: 60, failure_persistence: None, ..Config::default() })]

    /// The bound on rewriting: a merge makes of each input at least 5/4 of it, so a byte that came in a segment of s bytes
    /// and lies in one of b is written log(b / s) / log(5/4) times at most, whatever arrives. What arrives here is rewritten
    /// less than ten times.
    #[test]
    fn planning_ends_rewrites_little_and_leaves_few_segments(
        arrivals in arrivals(), max_inputs in 2..16usize, max_rows in prop_oneof![Just(1 << 40), 1_000..1_000_000u64],
    ) {
        let mut store = Store::new(Policy { max_inputs, max_rows, ..policy() });
        let mut now = HOUR;
        for (bytes, gap) in arrivals {
            now += gap * MINUTE;
            store.arrive(bytes, (now - MINUTE / 2, now));
            store.merge_all(now);
        }
        // All buckets close.
        store.merge_all(now + 10 * HOUR);
        prop_assert!(store.written <= 10 * store.arrived, "{} written for {}", store.written, store.arrived);
        for segments in store.buckets().values() {
            for pair in segments.windows(2) {
                let full = pair[0].rows + pair[1].rows > max_rows || pair[1].rows >= max_rows;
                prop_assert!(full || pair[1].bytes > REACH * pair[0].bytes, "{pair:?} could be one");
            }
        }
    }
}

#[test]
fn a_usual_day_is_rewritten_about_five_times_and_ends_in_a_segment_or_two_a_bucket() {
    let mut store = Store::new(Policy { max_rows: 1 << 40, ..policy() });
    for half_minute in 0..2 * 60 * 24 {
        let now = HOUR + half_minute * MINUTE / 2;
        store.arrive(MIB, (now - MINUTE / 2, now));
        store.merge_all(now);
        assert!(store.segments.len() < 150, "{} segments", store.segments.len());
    }
    store.merge_all(60 * HOUR);
    println!("written {} times; {} segments", store.written / store.arrived, store.segments.len());
    assert!(store.written <= 6 * store.arrived, "{} written for {}", store.written, store.arrived);
    assert!(store.buckets().values().all(|segments| segments.len() <= 2));
}
