//! From a loaded configuration to a running daemon and back: registry, telemetry, graph, run, drain.

mod registry;
mod run;
mod telemetry;
mod welcome;

pub use registry::registry;
pub use run::run;
pub use welcome::DEFAULT_CONFIG;

use crate::component::{BuildContext, Registry};
use crate::config::Config;
use crate::graph::{self, Graph, NotStopped};
use crate::telemetry::Endpoint;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// A configuration built into parts, on its way to running or stopped again.
pub struct App {
    graph: Graph,
    ready: Arc<AtomicBool>,
    /// Where `/metrics` is served; empty once stopped.
    metrics: Mutex<Vec<Endpoint>>,
}

/// Builds and starts `config` in this process with every component type there is.
///
/// Errors: why a part cannot be built or started, with its name. Nothing of the configuration runs then.
pub async fn start(config: &Config) -> anyhow::Result<App> {
    let app = App::build(config, &registry()).await?;
    app.start().await?;
    Ok(app)
}

/// Builds every part of `config` and starts none, which opens nothing.
///
/// Errors: a part that cannot be built, for what it says or for what is beside it.
pub fn check(config: &Config) -> anyhow::Result<()> {
    graph::build(config, &registry(), &BuildContext::default()).map(drop)
}

impl App {
    /// Builds every part and serves `/metrics`; receivers do not listen yet.
    ///
    /// Errors: a part that cannot be built, an address or log file that cannot be opened.
    pub async fn build(config: &Config, registry: &Registry) -> anyhow::Result<Self> {
        let metrics = Mutex::new(telemetry::install(&config.service.telemetry).await?);
        let context = BuildContext::default();
        let graph = graph::build(config, registry, &context)?;
        Ok(Self { graph, ready: context.ready, metrics })
    }

    /// Starts every part, receivers last; from then on it is ready. To be called once.
    ///
    /// Errors: the part that did not start. All others are stopped again.
    pub async fn start(&self) -> anyhow::Result<()> {
        if let Err(error) = self.graph.start().await {
            self.stop_metrics().await;
            return Err(error);
        }
        self.ready.store(true, Ordering::Release);
        tracing::info!("Everything is ready. Begin running and processing data.");
        Ok(())
    }

    /// No longer ready, then receivers first, down the graph, extensions, metrics last. Any number of times.
    ///
    /// Errors: the parts that had not stopped when `deadline` was over.
    pub async fn shutdown(&self, deadline: Duration) -> Result<(), NotStopped> {
        self.ready.store(false, Ordering::Release);
        let stopped = self.graph.shutdown(deadline).await;
        self.stop_metrics().await;
        stopped
    }

    /// Where `/metrics` is served.
    pub async fn metrics_addresses(&self) -> Vec<SocketAddr> {
        self.metrics.lock().await.iter().map(Endpoint::address).collect()
    }

    async fn stop_metrics(&self) {
        for endpoint in std::mem::take(&mut *self.metrics.lock().await) {
            endpoint.stop().await;
        }
    }
}
