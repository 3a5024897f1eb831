//! The `otlp` receiver: OTLP over gRPC and over HTTP.
//!
//! ```text
//! serve ── connections, hanging up ─┬─ http ─┐                       ┌─ decode: Batch::from_otlp
//!                                   └─ grpc ─┴─ body ── limits, gzip ┴─ ingest ── reserve, send, count
//! ```
//!
//! The protocols only translate: what is refused and why is decided in `body` and `ingest`, said in `answer`.
//! Request headers are not kept with a batch.

mod answer;
mod body;
mod config;
mod grpc;
mod http;
mod ingest;
mod serve;

pub use config::{Config, GrpcConfig, HttpConfig, Protocols};
pub use serve::Protocol;

use crate::component::factory::Build;
use crate::component::{BoxFuture, BuildContext, Component, Consumer, Factory};
use crate::config::{ComponentId, Fault, Node};
use anyhow::Context;
use ingest::Ingest;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The `otlp` receiver, for the registry.
pub fn factory() -> Factory {
    Factory { name: "otlp", check, stability: "beta", build: Build::Receiver(build) }
}

fn check(node: &Node) -> Vec<Fault> {
    checked(node).err().unwrap_or_default()
}

fn build(
    id: &ComponentId,
    node: &Node,
    next: Arc<dyn Consumer>,
    _: &BuildContext,
) -> anyhow::Result<Arc<dyn Component>> {
    let config = checked(node).map_err(|faults| {
        let faults: Vec<_> = faults.iter().map(Fault::to_string).collect();
        anyhow::anyhow!("receiver {id}: {}", faults.join("; "))
    })?;
    Ok(Arc::new(Receiver::new(id, config, next)))
}

fn checked(node: &Node) -> Result<Config, Vec<Fault>> {
    let config = node.decode::<Config>()?;
    let faults = config.faults();
    if faults.is_empty() { Ok(config) } else { Err(faults) }
}

/// A receiver with up to two servers.
pub struct Receiver {
    id: String,
    config: Config,
    next: Arc<dyn Consumer>,
    grpc_address: OnceLock<SocketAddr>,
    http_address: OnceLock<SocketAddr>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Receiver {
    /// A receiver that sends batches to `next`. Nothing listens before `start`.
    pub fn new(id: &ComponentId, config: Config, next: Arc<dyn Consumer>) -> Self {
        Self {
            id: id.to_string(),
            config,
            next,
            grpc_address: OnceLock::new(),
            http_address: OnceLock::new(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Where a server listens; `None` before `start` and for a server that is off.
    pub fn address(&self, protocol: Protocol) -> Option<SocketAddr> {
        match protocol {
            Protocol::Grpc => self.grpc_address.get().copied(),
            Protocol::Http => self.http_address.get().copied(),
        }
    }

    /// Both ports are taken before either is served, so a failure leaves nothing running.
    async fn listen(&self) -> anyhow::Result<()> {
        let Protocols { grpc, http } = &self.config.protocols;
        let grpc_listener = self.bind(Protocol::Grpc, grpc.as_ref().map(|grpc| &*grpc.endpoint)).await?;
        let http_listener = self.bind(Protocol::Http, http.as_ref().map(|http| &*http.endpoint)).await?;
        if let (Some(config), Some(listener)) = (grpc, grpc_listener) {
            let handler = grpc::GrpcHandler::new(config, self.ingest(Protocol::Grpc));
            self.serve(listener, handler, &self.grpc_address)?;
        }
        if let (Some(config), Some(listener)) = (http, http_listener) {
            let handler = http::HttpHandler::new(config, self.ingest(Protocol::Http));
            self.serve(listener, handler, &self.http_address)?;
        }
        Ok(())
    }

    async fn bind(&self, protocol: Protocol, endpoint: Option<&str>) -> anyhow::Result<Option<TcpListener>> {
        let Some(endpoint) = endpoint else { return Ok(None) };
        let key = format!("protocols::{}::endpoint", protocol.name());
        let bound = serve::bind(endpoint).await;
        bound.map(Some).with_context(|| format!("receiver {}: {key}: cannot listen on {endpoint}", self.id))
    }

    fn ingest(&self, protocol: Protocol) -> Ingest {
        Ingest::new(&self.id, protocol.name(), self.next.clone(), self.tasks.clone())
    }

    fn serve<H: serve::Handler>(
        &self,
        listener: TcpListener,
        handler: H,
        slot: &OnceLock<SocketAddr>,
    ) -> anyhow::Result<()> {
        let address = listener.local_addr()?;
        let address = *slot.get_or_init(|| address);
        tracing::info!(receiver = %self.id, protocol = H::PROTOCOL.name(), %address, "otlp receiver listening");
        serve::serve(listener, Arc::new(handler), &self.tasks, &self.stop);
        Ok(())
    }
}

impl Component for Receiver {
    fn start(&self) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(self.listen())
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        self.stop.cancel();
        self.tasks.close();
        Box::pin(async { self.tasks.wait().await })
    }
}
