//! Listening, and one task a connection. A handler can hang up: the connection then ends without an answer.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A connection that sends nothing for this long is closed, and over HTTP one that does not complete a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// HTTP/2 connections that do not answer a ping are closed.
const PING_EVERY: Duration = Duration::from_secs(60);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Room for a usual batch without waiting for the receiver: hyper's own 64 KiB stop a sender every few spans.
const WINDOW: u32 = 4 << 20;

/// After a stop: how long a connection without a request in hand may take to end by itself, and one with a request to
/// complete it. Both well within the time a whole stop has: a silent sender must not keep others from draining.
const STOP_IDLE: Duration = Duration::from_secs(1);
const STOP_BUSY: Duration = Duration::from_secs(10);

/// The pause after a failed accept: it mostly means no free file descriptors, and those take a moment.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub type Answered = Response<BoxBody<Bytes, Infallible>>;

/// Turns one request into an answer.
pub trait Handler: Send + Sync + 'static {
    /// The connection's protocol.
    const PROTOCOL: Protocol;

    /// `None`: no answer may be given, hang up.
    fn handle(&self, request: Request<Incoming>) -> impl Future<Output = Option<Answered>> + Send;
}

/// The two servers of the receiver, by the name in metrics and logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Grpc,
    Http,
}

impl Protocol {
    pub fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
        }
    }
}

/// Listens on `host:port`: the first address of the host that works, IPv4 before IPv6, no host for all interfaces.
pub async fn bind(endpoint: &str) -> io::Result<TcpListener> {
    let endpoint = if endpoint.starts_with(':') { format!("0.0.0.0{endpoint}") } else { endpoint.to_owned() };
    let mut addresses: Vec<_> = lookup_host(&endpoint).await?.collect();
    addresses.sort_by_key(|address| address.is_ipv6());
    TcpListener::bind(&*addresses).await
}

/// Serves until `stop`, then lets every request in flight finish. All of it runs in `tasks`.
pub fn serve<H: Handler>(listener: TcpListener, handler: Arc<H>, tasks: &TaskTracker, stop: &CancellationToken) {
    tasks.spawn(accept(listener, handler, tasks.clone(), stop.clone()));
}

async fn accept<H: Handler>(listener: TcpListener, handler: Arc<H>, tasks: TaskTracker, stop: CancellationToken) {
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => drop(tasks.spawn(connection(stream, handler.clone(), stop.clone()))),
            Err(error) => {
                tracing::warn!(protocol = H::PROTOCOL.name(), %error, "otlp receiver cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection<H: Handler>(stream: TcpStream, handler: Arc<H>, stop: CancellationToken) {
    let mut first = [0];
    let first_byte = tokio::time::timeout(HEAD_TIMEOUT, stream.peek(&mut first));
    if !matches!(stop.run_until_cancelled(first_byte).await, Some(Ok(Ok(1)))) {
        return;
    }
    // Small answers should not wait for more to come; a socket that refuses the option still works.
    let _ = stream.set_nodelay(true);
    let hang_up = CancellationToken::new();
    let requests = Arc::new(AtomicUsize::new(0));
    let service = service_fn(|request| counted(requests.clone(), answer(handler.clone(), hang_up.clone(), request)));
    let builder = builder(H::PROTOCOL);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        biased;
        () = hang_up.cancelled() => return,
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let drained = hang_up.run_until_cancelled(tokio::time::timeout(STOP_IDLE, connection.as_mut()));
    let ended = !matches!(drained.await, Some(Err(_)));
    if !ended && requests.load(Ordering::Relaxed) > 0 {
        let _ = hang_up.run_until_cancelled(tokio::time::timeout(STOP_BUSY, connection)).await;
    }
}

/// Counts a request while it is in hand.
async fn counted<T>(requests: Arc<AtomicUsize>, request: impl Future<Output = T>) -> T {
    requests.fetch_add(1, Ordering::Relaxed);
    let answered = request.await;
    requests.fetch_sub(1, Ordering::Relaxed);
    answered
}

async fn answer<H: Handler>(
    handler: Arc<H>,
    hang_up: CancellationToken,
    request: Request<Incoming>,
) -> Result<Answered, Infallible> {
    match handler.handle(request).await {
        Some(answered) => Ok(answered),
        None => {
            hang_up.cancel();
            // An answer here could still be written before the connection is dropped.
            std::future::pending().await
        }
    }
}

fn builder(protocol: Protocol) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // A sender that has closed its half after its request still gets the answer.
    builder.http1().half_close(true).timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).keep_alive_interval(PING_EVERY).keep_alive_timeout(PING_TIMEOUT);
    http2.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW);
    match protocol {
        Protocol::Grpc => builder.http2_only(),
        Protocol::Http => builder.http1_only(),
    }
}
