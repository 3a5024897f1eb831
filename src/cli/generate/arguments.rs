//! The flags of `sluice generate`.

use super::endpoint::{self, Endpoint};
use super::random::Random;
use super::source::{End, StartTime};
use super::write::Output;
use crate::config::units::GoDuration;
use crate::model::time::parse_rfc3339;
use clap::{Args, ValueEnum, value_parser};
use std::time::Duration;

/// Sends traces of a made-up online shop, or writes them to a file. Give one of --traces, --spans and --duration
#[derive(Debug, Args)]
pub struct Generate {
    #[command(flatten)]
    ends: Ends,
    /// Base address of an OTLP/HTTP endpoint: sluice, or any Collector
    #[arg(long, value_name = "URL", default_value = endpoint::DEFAULT)]
    pub endpoint: Endpoint,
    /// Write the requests here instead, each preceded by its length as a varint; - is standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["endpoint", "connections"])]
    output: Option<String>,
    /// Spans a second, whether or not the endpoint keeps up. Without it: as fast as they are taken
    #[arg(long, value_name = "SPANS", value_parser = parse_rate)]
    pub rate: Option<f64>,
    /// Connections that send at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u32).range(1..=256))]
    connections: u32,
    /// Spans that make a request, at most
    #[arg(long, value_name = "SPANS", default_value_t = 512, value_parser = value_parser!(u64).range(1..=10_000))]
    pub batch: u64,
    /// Services that take part. The shop has 12; beyond that it is there several times
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = value_parser!(u32).range(1..=10_000))]
    pub services: u32,
    /// The same seed makes the same traces but for ids and times of day. Without it: another one each time
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The share of traces in which something fails, 0 to 1
    #[arg(long, value_name = "RATIO", default_value_t = 0.05, value_parser = parse_ratio)]
    pub error_ratio: f64,
    /// When the first trace begins: now, or a time in RFC 3339 such as 2026-11-30T08:00:00Z
    #[arg(long, value_name = "TIME", default_value = "now", value_parser = parse_start)]
    pub start_time: StartTime,
    /// How the summary is written
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Ends {
    /// End after this many traces
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    traces: Option<u64>,
    /// End with the trace that brings the spans to this number
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    spans: Option<u64>,
    /// End after this time, as in 30s
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Format {
    Json,
    Table,
}

impl Generate {
    pub fn end(&self) -> End {
        match (self.ends.traces, self.ends.spans, self.ends.duration) {
            (_, _, Some(duration)) => End::Duration(duration),
            (_, Some(spans), _) => End::Spans(spans),
            // One of the three is required.
            (traces, ..) => End::Traces(traces.unwrap_or(0)),
        }
    }

    pub fn output(&self) -> Option<Output> {
        self.output.as_deref().map(Output::parse)
    }

    pub fn connections(&self) -> usize {
        self.connections as usize
    }

    /// As given, or one that is small enough to be typed.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| Random::unpredictable().below(1_000_000).into())
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    if rate > 0.0 && rate.is_finite() { Ok(rate) } else { Err("a rate is above 0".into()) }
}

fn parse_ratio(text: &str) -> Result<f64, String> {
    let ratio: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    if (0.0..=1.0).contains(&ratio) { Ok(ratio) } else { Err("a ratio is from 0 to 1".into()) }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = text.parse::<GoDuration>()?.to_std().unwrap_or_default();
    if duration.is_zero() { Err("a duration is above 0".into()) } else { Ok(duration) }
}

fn parse_start(text: &str) -> Result<StartTime, String> {
    match text {
        "now" => Ok(StartTime::Now),
        _ => parse_rfc3339(text).map(StartTime::At).ok_or_else(|| {
            "a start time is now, or as in 2026-11-30T08:00:00Z or 2026-11-30T09:00:00.5+01:00, from 1970 to 2554"
                .into()
        }),
    }
}
