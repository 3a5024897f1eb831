//! One run: a source, who takes its requests, signals, progress.

use super::counts::Counts;
use super::endpoint::Endpoint;
use super::pods::Request;
use super::progress;
use super::send::{Connection, Target};
use super::source::Source;
use super::write::{self, Output};
use crate::cli::complain;
use crate::model::TraceId;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Mutex, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// Requests that wait to be taken.
const WAITING: usize = 32;

/// Who takes the requests.
#[derive(Debug)]
pub enum Sink {
    /// Over this many connections.
    Http(Endpoint, usize),
    File(Output),
}

type Takers = JoinSet<Result<(), String>>;

/// Runs until everything that was made is taken. The first SIGINT or SIGTERM ends the making, a second one the run. The
/// trace that can be looked at.
///
/// Errors: a sentence about what ended it.
pub async fn run(source: Source, sink: Sink) -> Result<Option<TraceId>, String> {
    let (requests, waiting) = mpsc::channel(WAITING);
    let (stop, done) = (CancellationToken::new(), CancellationToken::new());
    let (counts, end) = (source.counts.clone(), source.end);
    let mut takers = take(sink, waiting, &counts)?;
    let shown = tokio::spawn({
        let (counts, done) = (counts.clone(), done.clone());
        async move { progress::show(&counts, end, done).await }
    });
    let making = tokio::spawn(source.run(requests, stop.clone()));
    let outcome = tokio::select! {
        outcome = all(&mut takers) => outcome,
        outcome = interrupted(&stop) => outcome.and_then(|()| Err(unfinished(&counts))),
    };
    done.cancel();
    // A bar that could not be cleared is not worth an error.
    let _ = shown.await;
    outcome?;
    making.await.map_err(broken)
}

fn take(sink: Sink, mut waiting: mpsc::Receiver<Request>, counts: &Arc<Counts>) -> Result<Takers, String> {
    let mut takers = Takers::new();
    let counts = counts.clone();
    match sink {
        Sink::Http(endpoint, connections) => {
            let target = Arc::new(Target { endpoint, counts, reached: AtomicBool::new(false) });
            let waiting = Arc::new(Mutex::new(waiting));
            for _ in 0..connections {
                takers.spawn(Connection::new(target.clone()).run(waiting.clone()));
            }
        }
        Sink::File(output) => {
            let out = output.open()?;
            takers.spawn_blocking(move || write::write(out, &mut waiting, &counts));
        }
    }
    Ok(takers)
}

/// Until all have ended well or one did not.
async fn all(takers: &mut Takers) -> Result<(), String> {
    while let Some(ended) = takers.join_next().await {
        ended.map_err(broken)??;
    }
    Ok(())
}

/// Calls `stop` at the first signal and says so; done at the second.
async fn interrupted(stop: &CancellationToken) -> Result<(), String> {
    let listen = |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    either(&mut interrupt, &mut terminate).await;
    stop.cancel();
    complain("ending", "what was begun is sent to its end; a second signal ends at once");
    either(&mut interrupt, &mut terminate).await;
    Ok(())
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

fn unfinished(counts: &Counts) -> String {
    format!("ended at once: {} of {} spans were taken", counts.spans.get(), counts.spans_made.get())
}

fn broken(error: JoinError) -> String {
    format!("a part of the run broke: {error}")
}
