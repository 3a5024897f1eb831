//! How far it is, on standard error: a bar on a terminal, else a line now and then.

use super::counts::Counts;
use super::source::End;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const REDRAW: Duration = Duration::from_millis(200);
const LINES: Duration = Duration::from_secs(5);
/// Speed is that of the last seconds.
const WINDOW: Duration = Duration::from_secs(5);
const STEPS: u64 = 1_000;

/// Shows progress until `done`.
pub async fn show(counts: &Counts, end: End, done: CancellationToken) {
    let terminal = std::io::stderr().is_terminal();
    let bar = bar(terminal);
    let mut ticks = tokio::time::interval(if terminal { REDRAW } else { LINES });
    let mut speed = Speed::new();
    // The first is at once, where there is nothing to show.
    ticks.tick().await;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = done.cancelled() => return bar.finish_and_clear(),
        }
        let state = State::of(counts, end, &mut speed);
        bar.set_position((state.fraction * STEPS as f64) as u64);
        bar.set_message(state.text());
        if !terminal {
            // Nobody may be listening.
            let _ = writeln!(std::io::stderr(), "{}", state.text());
        }
    }
}

fn bar(terminal: bool) -> ProgressBar {
    let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{percent:>3} % {wide_bar} {msg}").unwrap_or(ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(STEPS), target).with_style(style)
}

/// Spans a second over the last seconds.
struct Speed {
    began: Instant,
    seen: VecDeque<(Instant, u64)>,
}

impl Speed {
    fn new() -> Self {
        let began = Instant::now();
        Self { began, seen: VecDeque::from([(began, 0)]) }
    }

    fn note(&mut self, now: Instant, spans: u64) -> f64 {
        while self.seen.len() > 1 && self.seen.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW) {
            self.seen.pop_front();
        }
        let (at, before) = self.seen.front().copied().unwrap_or((self.began, 0));
        self.seen.push_back((now, spans));
        spans.saturating_sub(before) as f64 / now.duration_since(at).as_secs_f64().max(0.001)
    }
}

/// What is said.
struct State {
    fraction: f64,
    elapsed: Duration,
    spans: u64,
    speed: f64,
    refused: u64,
}

impl State {
    fn of(counts: &Counts, end: End, speed: &mut Speed) -> Self {
        let now = Instant::now();
        let (elapsed, spans) = (now.duration_since(speed.began), counts.spans.get());
        let fraction = end.fraction(counts.traces_made.get(), counts.spans_made.get(), elapsed);
        Self { fraction, elapsed, spans, speed: speed.note(now, spans), refused: counts.refused.get() }
    }

    fn text(&self) -> String {
        let left = match self.left() {
            Some(seconds) => format!("{seconds} s left"),
            None => "time left unknown".to_owned(),
        };
        let (spans, speed, refused) = (HumanCount(self.spans), HumanCount(self.speed as u64), HumanCount(self.refused));
        format!("{spans} spans sent, {speed} spans/s, {refused} refused, {left}")
    }

    /// Seconds, if it goes on as it went so far.
    fn left(&self) -> Option<u64> {
        let left = self.elapsed.as_secs_f64() * (1.0 - self.fraction) / self.fraction;
        left.is_finite().then_some(left.ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_how_fast_and_how_long() {
        let state = |fraction| State {
            fraction,
            elapsed: Duration::from_secs(10),
            spans: 1_234_567,
            speed: 98_765.4,
            refused: 3,
        };
        let text = "1,234,567 spans sent, 98,765 spans/s, 3 refused, 30 s left";
        assert_eq!(state(0.25).text(), text);
        assert!(state(0.0).text().ends_with("time left unknown"));
        assert!(state(1.0).text().ends_with("0 s left"));
    }

    #[test]
    fn speed_is_that_of_the_last_seconds() {
        let mut speed = Speed::new();
        let at = |seconds| speed.began + Duration::from_secs(seconds);
        let times = [at(1), at(5), at(20)];
        assert_eq!(speed.note(times[0], 100), 100.0);
        assert_eq!(speed.note(times[1], 500), 100.0);
        assert_eq!(speed.note(times[2], 500), 0.0);
    }
}
