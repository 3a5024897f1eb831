//! The `merge-N` threads: each merges what is most useful, one merge after the other, and sleeps when there is nothing to
//! do until segments change or a minute is over, for time alone makes segments mature.
//!
//! They hold up nobody: seals and readers never wait for a merge. A merge that fails leaves its inputs, is reported, and is
//! tried again with growing pauses.

use super::next::merge_next;
use super::{MergeError, Options, Report};
use crate::storage::Engine;
use crate::telemetry::names;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long nothing may be looked at though nothing is said.
const IDLE: Duration = Duration::from_secs(60);
/// So that a merge takes what the threads that answer senders leave.
const NICE: i32 = 15;

/// The merge threads of a store.
pub struct Mergers {
    signal: Arc<Signal>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Mergers {
    /// Starts as many as the options say.
    pub fn start(engine: &Arc<Engine>, options: &Options) -> std::io::Result<Self> {
        let signal = Arc::new(Signal::default());
        let heard = signal.clone();
        engine.on_publication(Box::new(move || heard.change()));
        let mergers = Self { signal: signal.clone(), threads: Mutex::default() };
        for number in 1..=options.workers {
            let (engine, options, signal) = (engine.clone(), options.clone(), signal.clone());
            let worker = Worker { engine, options, signal };
            let thread = std::thread::Builder::new().name(format!("merge-{number}")).spawn(move || worker.run())?;
            mergers.threads().push(thread);
        }
        Ok(mergers)
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends running merges at their next trace and waits for the threads. Any number of times.
    pub fn stop(&self) {
        self.signal.stop();
        for thread in std::mem::take(&mut *self.threads()) {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Mergers {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Wakes the threads.
#[derive(Default)]
struct Signal {
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Default)]
struct State {
    /// How often segments have changed.
    changes: u64,
    stopping: bool,
}

impl Signal {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) {
        self.state().changes += 1;
        self.woken.notify_all();
    }

    fn stop(&self) {
        self.state().stopping = true;
        self.woken.notify_all();
    }

    fn changes(&self) -> u64 {
        self.state().changes
    }

    fn is_stopping(&self) -> bool {
        self.state().stopping
    }

    /// Sleeps until something changes after `seen`, or for `longest`; `seen: None`: whatever changes.
    fn sleep(&self, seen: Option<u64>, longest: Duration) {
        let quiet = |state: &mut State| !state.stopping && seen.is_none_or(|seen| seen == state.changes);
        // Why it ended is seen by whoever looks next.
        drop(self.woken.wait_timeout_while(self.state(), longest, quiet));
    }
}

struct Worker {
    engine: Arc<Engine>,
    options: Options,
    signal: Arc<Signal>,
}

impl Worker {
    fn run(&self) {
        // Without the right to be nice it merges all the same.
        let _ = rustix::process::nice(NICE);
        let mut pause = FIRST_PAUSE;
        while !self.signal.is_stopping() {
            let seen = self.signal.changes();
            match merge_next(&self.engine, &self.options, false, &|| !self.signal.is_stopping()) {
                Ok(done) => {
                    pause = FIRST_PAUSE;
                    self.well();
                    match done {
                        Some(report) => self.done(&report),
                        None => self.signal.sleep(Some(seen), IDLE),
                    }
                }
                Err(MergeError::Stopped) => {}
                Err(error) => {
                    if self.failed(&error) {
                        self.signal.sleep(None, pause);
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                }
            }
        }
    }

    fn name(&self) -> String {
        self.engine.options().name.clone()
    }

    fn well(&self) {
        if self.engine.set_trouble("merge", None) {
            tracing::info!("merging works again");
        }
    }

    fn done(&self, report: &Report) {
        report.record(&self.name());
        let Report { inputs, outputs, rows, collapsed, bytes_in, bytes_out, wall, .. } = report;
        tracing::debug!(?inputs, ?outputs, rows, collapsed, bytes_in, bytes_out, ?wall, "merged");
    }

    /// Says what went wrong. `true` where the same merge is to be tried again later.
    fn failed(&self, error: &MergeError) -> bool {
        metrics::counter!(names::STORE_MERGE_FAILURES.name, "exporter" => self.name()).increment(1);
        match error {
            MergeError::Damaged { .. } | MergeError::Ledger(_) => {
                tracing::error!(%error, "a merge was given up; its inputs are read as before, what is damaged is left out from now on");
                metrics::gauge!(names::STORE_UNMERGEABLE.name, "exporter" => self.name())
                    .set(self.engine.damaged().len() as f64);
                false
            }
            MergeError::Failed(_) | MergeError::NoRoom(_) | MergeError::Stopped => {
                if self.engine.set_trouble("merge", Some(error.to_string())) {
                    tracing::error!(%error, "merging failed; its inputs are as they were, it is tried again");
                }
                true
            }
        }
    }
}
