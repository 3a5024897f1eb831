//! Random histories of a store, each compared step by step with a plain model in memory.
//!
//! Scenario: appends of new and old spans, exact and changed resends, seals, merges, expiry, searches, held snapshots, good
//! stops, kills and power cuts that leave more or less, clock steps, and disk faults (EIO, a full disk, a short write, the
//! machine gone) at any operation, on a store with tiny limits, so that every layout is met. Every history has at
//! least one crash, one merge and one good stop.
//!
//! Guarantees: rules 1 to 7, 11, 12 and 14 of `docs/invariants.md`: what was answered is readable at once and after
//! every start, each span once with its latest delivery; what was refused never is; searching finds what scanning finds;
//! a held snapshot never changes.
//!
//! `SLUICE_HISTORIES` says how many (500), `SLUICE_HISTORY_SEED` which is the first (1), `SLUICE_HISTORY_STEPS` how long
//! each is (200). A failure names its seed.

mod model;
mod random;
mod step;
mod world;

use random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use world::{Tally, World};

fn setting(name: &str, default: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return default };
    text.parse().unwrap_or_else(|_| panic!("{name}: {text} is no number"))
}

/// Plays the history of one seed.
fn play(seed: u64, steps: u64) -> Tally {
    let mut random = Random::new(seed);
    let mut world = World::new(&mut random);
    for (number, step) in step::history(&mut random, steps).into_iter().enumerate() {
        let played = catch_unwind(AssertUnwindSafe(|| world.take(number as u64, step, &mut random)));
        if let Err(panic) = played {
            let again = format!("SLUICE_HISTORY_SEED={seed} SLUICE_HISTORIES=1 SLUICE_HISTORY_STEPS={steps}");
            eprintln!(
                "seed {seed}, step {number} ({step:?}) failed; again with {again} cargo test --test crash history"
            );
            std::panic::resume_unwind(panic);
        }
    }
    world.finish()
}

#[test]
fn every_history_reads_as_the_model_that_lives_the_same() {
    let (histories, first) = (setting("SLUICE_HISTORIES", 500), setting("SLUICE_HISTORY_SEED", 1));
    let steps = setting("SLUICE_HISTORY_STEPS", 200);
    let (next, started) = (AtomicU64::new(0), Instant::now());
    let (said, tally) = (Mutex::new(started), Mutex::new(Tally::default()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= histories {
                return;
            }
            *tally.lock().unwrap() += play(first + index, steps);
            let mut said = said.lock().unwrap();
            if said.elapsed() > Duration::from_secs(10) {
                *said = Instant::now();
                eprintln!("{} of {histories} histories, {:?}", index + 1, started.elapsed());
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let failed = workers.into_iter().filter_map(|worker| worker.join().err()).next();
        if let Some(panic) = failed {
            std::panic::resume_unwind(panic);
        }
    });
    let tally = tally.into_inner().unwrap();
    eprintln!("{histories} histories of {steps} steps, seeds from {first}, {:?}: {tally:?}", started.elapsed());
    for (what, count) in [("refusals", tally.refused), ("faults", tally.faults), ("expiries", tally.expired)] {
        assert!(histories < 100 || count > histories / 4, "hardly any {what}: the histories try too little");
    }
}
