//! Logs: one line an event, to stderr unless configured otherwise.

use super::line::Line;
use anyhow::Context;
use serde_json::{Map, Value};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::Mutex;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// How logs are written.
#[derive(Debug, Clone)]
pub struct Options {
    /// Lines below this level are left out.
    pub level: LevelFilter,
    pub encoding: Encoding,
    /// `stderr`, `stdout`, or files, which are appended to.
    pub outputs: Vec<String>,
    /// Added to every line.
    pub initial_fields: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// For people.
    Console,
    /// One JSON object a line.
    Json,
}

/// Installs the process's log subscriber. Where there is one already, it stays and this changes nothing.
///
/// Errors: an output file that cannot be opened.
pub fn install(options: Options) -> anyhow::Result<()> {
    let outputs: anyhow::Result<Vec<_>> = options.outputs.iter().map(|path| open(path)).collect();
    let line = Line::new(options.encoding, options.initial_fields);
    let layer = tracing_subscriber::fmt::layer().event_format(line).with_writer(Mutex::new(Tee(outputs?)));
    // It would report a line that cannot be written on standard error, and panic where that is what is closed.
    let layer = layer.log_internal_errors(false);
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter(options.level)));
    // The only error is that one is installed.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// Libraries are heard from `warn` on: at `debug` they drown everything else.
fn filter(level: LevelFilter) -> Targets {
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_target(env!("CARGO_PKG_NAME"), level)
}

fn open(path: &str) -> anyhow::Result<Box<dyn Write + Send>> {
    match path {
        "stderr" => Ok(Box::new(io::stderr())),
        "stdout" => Ok(Box::new(io::stdout())),
        file => {
            let opened = OpenOptions::new().append(true).create(true).open(file);
            Ok(Box::new(opened.with_context(|| format!("service::telemetry::logs::output_paths: cannot open {file}"))?))
        }
    }
}

/// The same lines to every output. One that fails does not keep a line from the others.
struct Tee(Vec<Box<dyn Write + Send>>);

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let failed = self.0.iter_mut().filter_map(|output| output.write_all(bytes).err()).last();
        failed.map_or(Ok(bytes.len()), Err)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|output| output.flush())
    }
}
