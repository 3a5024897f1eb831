//! `sluice store export`.

use super::Directory;
use crate::cli::Failure;
use crate::model::trace::spans_to_otlp;
use crate::model::wire::put_varint;
use crate::model::{StoredSpan, TraceId, json};
use crate::storage::query::{Limits, Traces};
use clap::{Args, ValueEnum};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Spans that make a request: what an SDK would send at once, and little to hold.
const REQUEST_SPANS: usize = 1_000;

#[derive(Debug, Args)]
pub struct Export {
    #[command(flatten)]
    directory: Directory,
    /// otlp-json: one request a line. otlp-proto: requests, each preceded by its length as a varint
    #[arg(long, value_enum)]
    format: Format,
    /// This trace only, 1 to 32 hex digits
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    trace: Option<TraceId>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    OtlpJson,
    OtlpProto,
}

fn parse_id(text: &str) -> Result<TraceId, String> {
    TraceId::parse(text).ok_or_else(|| "a trace id has 1 to 32 hex digits and is not zero".into())
}

impl Export {
    pub fn execute(&self) -> Result<(), Failure> {
        let store = self.directory.open()?;
        let mut warnings = super::found_damage(&store);
        let mut out = Requests::new(self.format);
        let written = match self.trace {
            Some(id) => {
                let trace = store.snapshot.trace(id, Limits::NONE).map_err(|stopped| vec![stopped.to_string()])?;
                if trace.spans.is_empty() && trace.warnings.is_empty() {
                    return Err(vec![format!("trace {id} is not in this store")]);
                }
                warnings.extend(trace.warnings);
                out.add(trace.spans)
            }
            None => self.all(&store, &mut out, &mut warnings),
        };
        match written.and_then(|()| out.finish()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(vec![format!("cannot write: {error}")]),
            Ok(()) => super::complain(&warnings),
        }
    }

    fn all(&self, store: &crate::storage::OpenStore, out: &mut Requests, warnings: &mut Vec<String>) -> io::Result<()> {
        let mut traces = Traces::new(&store.snapshot, Limits::NONE).map_err(io::Error::other)?;
        while let Some(trace) = traces.next_trace().map_err(io::Error::other)? {
            warnings.extend(trace.warnings);
            out.add(trace.spans)?;
        }
        warnings.append(&mut traces.warnings);
        Ok(())
    }
}

/// Collects spans into requests and writes them.
struct Requests {
    format: Format,
    out: BufWriter<io::Stdout>,
    spans: Vec<StoredSpan>,
    progress: Progress,
}

impl Requests {
    fn new(format: Format) -> Self {
        Self { format, out: BufWriter::new(io::stdout()), spans: Vec::new(), progress: Progress::new() }
    }

    fn add(&mut self, spans: Vec<StoredSpan>) -> io::Result<()> {
        self.spans.extend(spans);
        if self.spans.len() >= REQUEST_SPANS { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        // Spans of one resource and scope next to each other share a message.
        self.spans.sort_by(|a, b| (&a.resource, &a.scope).cmp(&(&b.resource, &b.scope)));
        let request = spans_to_otlp(&self.spans);
        self.progress.add(self.spans.len());
        self.spans.clear();
        match self.format {
            Format::OtlpJson => {
                let text = json::encode(&request).map_err(io::Error::other)?;
                self.out.write_all(&text)?;
                self.out.write_all(b"\n")
            }
            Format::OtlpProto => {
                let mut length = Vec::new();
                put_varint(&mut length, request.len() as u64);
                self.out.write_all(&length)?;
                self.out.write_all(&request)
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if !self.spans.is_empty() {
            self.write()?;
        }
        self.progress.finish();
        self.out.flush()
    }
}

/// A line on a terminal that says how far it is.
struct Progress {
    spans: usize,
    shown: Option<Instant>,
}

impl Progress {
    const EVERY: Duration = Duration::from_millis(200);

    fn new() -> Self {
        // With results on the same terminal a moving line would be in their way.
        let wanted = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Self { spans: 0, shown: wanted.then(Instant::now) }
    }

    fn add(&mut self, spans: usize) {
        self.spans += spans;
        if self.shown.is_some_and(|shown| shown.elapsed() >= Self::EVERY) {
            eprint!("\r{} spans", self.spans);
            self.shown = Some(Instant::now());
        }
    }

    fn finish(&self) {
        if self.shown.is_some() {
            eprintln!("\r{} spans", self.spans);
        }
    }
}
