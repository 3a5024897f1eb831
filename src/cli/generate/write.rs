//! Requests into a file or standard output, each preceded by its length as a varint.

use super::counts::Counts;
use super::pods::Request;
use crate::model::wire::put_varint;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// A path, or `-` for standard output.
#[derive(Debug, Clone)]
pub enum Output {
    Stdout,
    File(PathBuf),
}

impl Output {
    pub fn parse(text: &str) -> Self {
        if text == "-" { Self::Stdout } else { Self::File(text.into()) }
    }

    /// Errors: a sentence with the path.
    pub fn open(&self) -> Result<Box<dyn Write + Send>, String> {
        match self {
            Self::Stdout => Ok(Box::new(io::stdout())),
            Self::File(path) => {
                File::create(path).map(|file| Box::new(file) as _).map_err(|error| cannot(path, &error))
            }
        }
    }
}

fn cannot(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// Writes what comes until no more does. A closed output is a good end, as with other tools in a pipe. Blocks.
///
/// Errors: a sentence about what could not be written.
pub fn write(to: Box<dyn Write + Send>, requests: &mut mpsc::Receiver<Request>, counts: &Counts) -> Result<(), String> {
    match write_all(BufWriter::new(to), requests, counts) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write: {error}")),
        _ => Ok(()),
    }
}

fn write_all(mut out: impl Write, requests: &mut mpsc::Receiver<Request>, counts: &Counts) -> io::Result<()> {
    let mut length = Vec::new();
    while let Some(Request { body, spans }) = requests.blocking_recv() {
        length.clear();
        put_varint(&mut length, body.len() as u64);
        out.write_all(&length)?;
        out.write_all(&body)?;
        counts.spans.add(spans);
        counts.requests.add(1);
        counts.bytes.add((length.len() + body.len()) as u64);
    }
    out.flush()
}
