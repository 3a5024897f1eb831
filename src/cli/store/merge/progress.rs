//! How far it is, on standard error: a line that moves on a terminal, else a line a merge.

use super::report::Merge;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::time::Duration;

const REDRAW: Duration = Duration::from_millis(200);

pub struct Progress {
    bar: ProgressBar,
    terminal: bool,
    merges: Cell<u64>,
}

impl Progress {
    pub fn start() -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{spinner} {msg}; {human_pos} traces of the next one, {elapsed}");
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style.unwrap_or(ProgressStyle::default_spinner()));
        bar.set_message("no merge done");
        bar.enable_steady_tick(REDRAW);
        Self { bar, terminal, merges: Cell::new(0) }
    }

    /// A trace was merged. Always `true`: go on.
    pub fn trace(&self) -> bool {
        self.bar.inc(1);
        true
    }

    pub fn merged(&self, merge: &Merge) {
        self.merges.set(self.merges.get() + 1);
        self.bar.set_position(0);
        self.bar.set_message(format!("{} merges done", self.merges.get()));
        if !self.terminal {
            let (inputs, outputs) = (merge.inputs.len(), merge.outputs.len());
            let (rows, seconds) = (HumanCount(merge.rows), merge.seconds);
            // Nobody may be listening.
            let _ = writeln!(std::io::stderr(), "{inputs} segments into {outputs}: {rows} rows in {seconds:.2} s");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
