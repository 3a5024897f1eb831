//! A small HTTP server of our own: `/metrics`, health, and the like.

use anyhow::Context;
use axum::Router;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long requests that are being answered may take once the endpoint stops; then their connections are cut.
const GRACE: Duration = Duration::from_secs(1);

/// A bound address and the task that serves it. Stops when told to or dropped.
pub struct Endpoint {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Endpoint {
    /// Binds `address` (host and port; port 0 picks a free one) and begins to serve.
    ///
    /// Errors: the address does not resolve or cannot be bound.
    pub async fn bind(address: &str, router: Router) -> anyhow::Result<Self> {
        let failed = || format!("cannot listen on {address}: free the port or configure another endpoint");
        let listener = TcpListener::bind(address).await.with_context(failed)?;
        let address = listener.local_addr().with_context(failed)?;
        let (stop, mut stopped) = watch::channel(false);
        let asked = async move {
            // An error means that the endpoint was dropped, which asks for the same.
            let _ = stopped.wait_for(|stop| *stop).await;
        };
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(asked).await {
                tracing::error!("{address}: stopped serving: {error}");
            }
        });
        Ok(Self { address, stop, task })
    }

    /// Where it listens, with the port that was picked.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, lets running requests end, then cuts what is left.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        if tokio::time::timeout(GRACE, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}
