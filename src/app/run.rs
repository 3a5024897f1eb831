//! The daemon: run until a signal, drain, end.

use super::{App, registry, welcome};
use crate::config::Config;
use crate::graph::STOP_DEADLINE;
use anyhow::{Context, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Runs `config` until SIGINT, SIGTERM or SIGHUP, then drains; a second signal ends at once. `greet` prints to standard output
/// where to send and where to look, once it is ready.
///
/// Errors: what kept it from starting, or what had not stopped when the deadline was over.
pub fn run(config: &Config, greet: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    let ended = runtime.block_on(serve(config, greet));
    // What is still running was given its time; waiting for it again would undo the deadline.
    runtime.shutdown_background();
    ended
}

async fn serve(config: &Config, greet: bool) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let app = App::build(config, &registry()).await?;
    tokio::select! {
        started = app.start() => started?,
        name = signals.next() => {
            tracing::info!("{name} while starting: stopping");
            return drain(&app, &mut signals).await;
        }
    }
    if greet {
        welcome::print(config);
    }
    let name = signals.next().await;
    tracing::info!("{name}: draining for at most {STOP_DEADLINE:?}; a second signal ends at once");
    drain(&app, &mut signals).await
}

async fn drain(app: &App, signals: &mut Signals) -> anyhow::Result<()> {
    tokio::select! {
        stopped = app.shutdown(STOP_DEADLINE) => stopped?,
        name = signals.next() => bail!("{name} while draining: ended at once; batches not yet answered are lost here and will be sent again"),
    }
    tracing::info!("Shutdown complete.");
    Ok(())
}

/// The signals that ask for a stop. A terminal that is closed sends SIGHUP.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// The name of the next one.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.hangup.recv() => "SIGHUP",
        }
    }
}
