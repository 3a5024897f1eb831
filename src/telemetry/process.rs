//! Metrics of the process itself, read at the moment somebody asks.
//!
//! Written as text beside the recorder's, since its counters are whole numbers and these are seconds.

use super::names::{Kind, Metric, PROCESS_CPU, PROCESS_RSS, PROCESS_UPTIME};
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// The process metrics in Prometheus's text format. What cannot be read is left out.
pub fn render(since: Instant) -> String {
    let mut text = String::new();
    let mut put = |metric: Metric, value: f64| {
        let kind = if metric.kind == Kind::Counter { "counter" } else { "gauge" };
        let name = metric.name;
        // Writing to a string cannot fail.
        let _ = write!(text, "# HELP {name} {}\n# TYPE {name} {kind}\n{name} {value}\n\n", metric.help);
    };
    put(PROCESS_UPTIME, since.elapsed().as_secs_f64());
    put(PROCESS_CPU, cpu().as_secs_f64());
    if let Some(bytes) = rss() {
        put(PROCESS_RSS, bytes as f64);
    }
    text
}

fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.try_into().unwrap_or(0), spent.tv_nsec.try_into().unwrap_or(0))
}

/// Bytes of physical memory held; `None` where `/proc` is not there.
fn rss() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(rustix::param::page_size() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_metric_has_its_type_and_a_value_above_zero() {
        let text = render(Instant::now() - Duration::from_secs(2));
        for (metric, kind) in [(PROCESS_UPTIME, "counter"), (PROCESS_CPU, "counter"), (PROCESS_RSS, "gauge")] {
            assert!(text.contains(&format!("# TYPE {} {kind}\n", metric.name)), "{text}");
            let value = text.lines().find_map(|line| line.strip_prefix(metric.name)).unwrap();
            assert!(value.trim().parse::<f64>().unwrap() > 0.0, "{text}");
        }
    }
}
