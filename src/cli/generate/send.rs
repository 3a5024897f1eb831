//! One connection that sends requests over OTLP/HTTP, one after the other, until each is taken.

use super::answer::{Verdict, judge};
use super::counts::Counts;
use super::endpoint::Endpoint;
use super::patience::Patience;
use super::pods::Request;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, Method, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};

/// Without an answer for so long a connection is given up.
const ANSWER: Duration = Duration::from_secs(60);
const CONNECT: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read.
const MOST_ANSWER: usize = 64 << 10;

/// What all connections share.
pub struct Target {
    pub endpoint: Endpoint,
    pub counts: Arc<Counts>,
    /// One of them was connected at some time.
    pub reached: AtomicBool,
}

pub struct Connection {
    target: Arc<Target>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

/// Why there was no answer.
enum Silence {
    NotConnected(String),
    Broken(String),
}

impl Connection {
    pub fn new(target: Arc<Target>) -> Self {
        Self { target, sender: None }
    }

    /// Sends what comes until no more does.
    ///
    /// Errors: a sentence about what ends the whole run.
    pub async fn run(mut self, requests: Arc<Mutex<mpsc::Receiver<Request>>>) -> Result<(), String> {
        loop {
            let next = requests.lock().await.recv().await;
            let Some(request) = next else { return Ok(()) };
            self.deliver(&request).await?;
        }
    }

    /// Sends one request until it is taken.
    async fn deliver(&mut self, request: &Request) -> Result<(), String> {
        let mut patience = Patience::default();
        loop {
            match self.attempt(&request.body).await {
                Ok(Verdict::Taken { rejected, words }) => {
                    self.count(request, rejected, words);
                    return Ok(());
                }
                Ok(Verdict::Again { after, words }) => {
                    self.target.counts.refused.add(1);
                    let pause = patience.refused(after).ok_or_else(|| self.refused_for_long(&words))?;
                    tokio::time::sleep(pause).await;
                }
                Ok(Verdict::Refused(words)) => return Err(format!("{} refused a request: {words}", self.base())),
                Err(silence) => {
                    self.sender = None;
                    let reached = self.target.reached.load(Ordering::Relaxed);
                    let pause = patience.silent(reached).ok_or_else(|| silence.text(self.base()))?;
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    fn count(&self, request: &Request, rejected: u64, words: String) {
        let counts = &self.target.counts;
        counts.spans.add(request.spans.saturating_sub(rejected));
        counts.requests.add(1);
        counts.bytes.add(request.body.len() as u64);
        counts.rejected.add(rejected);
        if !words.is_empty() {
            // Only the first is kept.
            let _ = counts.words.set(words);
        }
    }

    async fn attempt(&mut self, body: &Bytes) -> Result<Verdict, Silence> {
        if self.sender.is_none() {
            self.sender = Some(self.connect().await?);
        }
        let (status, headers, said) = within(ANSWER, self.exchange(body)).await.map_err(Silence::Broken)?;
        Ok(judge(status, &headers, &said))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Silence> {
        let Endpoint { host, port, .. } = &self.target.endpoint;
        let connected = within(CONNECT, TcpStream::connect((host.as_str(), *port))).await;
        let stream = connected.map_err(Silence::NotConnected)?;
        self.target.reached.store(true, Ordering::Relaxed);
        // Fails only where the connection is gone already, which the first request will tell.
        let _ = stream.set_nodelay(true);
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|error| Silence::Broken(error.to_string()))?;
        // Its errors come to whoever waits for an answer.
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn exchange(&mut self, body: &Bytes) -> Result<(StatusCode, HeaderMap, Bytes), String> {
        let Endpoint { authority, path, .. } = &self.target.endpoint;
        let request = http::Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, authority)
            .header(CONTENT_TYPE, "application/x-protobuf")
            .header(USER_AGENT, concat!("sluice-generate/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(body.clone()))
            .map_err(|error| error.to_string())?;
        let sender = self.sender.as_mut().ok_or("not connected")?;
        sender.ready().await.map_err(|error| error.to_string())?;
        let (head, said) = sender.send_request(request).await.map_err(|error| error.to_string())?.into_parts();
        let said = Limited::new(said, MOST_ANSWER).collect().await.map_err(|error| error.to_string())?;
        Ok((head.status, head.headers, said.to_bytes()))
    }

    fn base(&self) -> &str {
        &self.target.endpoint.base
    }

    fn refused_for_long(&self, words: &str) -> String {
        format!("{} took nothing for {} s: {words}", self.base(), Patience::REFUSED.as_secs())
    }
}

impl Silence {
    fn text(&self, base: &str) -> String {
        match self {
            Self::NotConnected(why) => {
                format!("cannot connect to {base}: {why}; is the daemon running? `make run` starts it")
            }
            Self::Broken(why) => format!("no answer from {base}: {why}; its log says why"),
        }
    }
}

/// The outcome of `work` or a word about its being too slow.
async fn within<T, E: Display>(limit: Duration, work: impl Future<Output = Result<T, E>>) -> Result<T, String> {
    match tokio::time::timeout(limit, work).await {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(_) => Err(format!("nothing within {} s", limit.as_secs())),
    }
}
