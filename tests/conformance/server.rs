//! The receiver on free ports, with a pipeline behind it that does as it is told.

use sluice::component::{BatchSize, BoxFuture, Component, Consumer, Permit, Rejection, SendBatch};
use sluice::config::{ComponentId, Node};
use sluice::model::Batch;
use sluice::receivers::otlp::{Protocol, Receiver};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

pub const FREE_PORTS: &str = "protocols: {grpc: {endpoint: '127.0.0.1:0'}, http: {endpoint: '127.0.0.1:0'}}";

pub struct Server {
    pub runtime: Runtime,
    pub receiver: Arc<Receiver>,
    pub sink: Arc<Sink>,
}

impl Server {
    pub fn start() -> Self {
        Self::with(FREE_PORTS)
    }

    /// A started receiver with this configuration.
    pub fn with(config: &str) -> Self {
        let sink = Arc::new(Sink::default());
        let receiver = Arc::new(receiver(config, sink.clone()));
        let runtime = Runtime::new().unwrap();
        runtime.block_on(receiver.start()).unwrap();
        Self { runtime, receiver, sink }
    }

    /// A server whose pipeline answers every batch with this.
    pub fn answering(rejection: Rejection) -> Self {
        let server = Self::start();
        *server.sink.answer.lock().unwrap() = Some(rejection);
        server
    }

    pub fn http(&self) -> SocketAddr {
        self.receiver.address(Protocol::Http).unwrap()
    }

    pub fn grpc(&self) -> SocketAddr {
        self.receiver.address(Protocol::Grpc).unwrap()
    }

    /// Spans in the pipeline.
    pub fn stored(&self) -> usize {
        self.sink.batches().iter().map(|batch| batch.spans().len()).sum()
    }
}

pub fn receiver(config: &str, next: Arc<dyn Consumer>) -> Receiver {
    let config = Node::from_yaml(config).unwrap().decode().unwrap();
    Receiver::new(&ComponentId::parse("otlp").unwrap(), config, next)
}

/// Keeps what it is sent, or refuses it.
pub struct Sink {
    batches: Arc<Mutex<Vec<Batch>>>,
    pub answer: Mutex<Option<Rejection>>,
    /// A batch waits for one of these; there are plenty unless a test takes them away.
    pub gate: Arc<Semaphore>,
    /// One is added for each batch that has arrived.
    pub arrived: Arc<Semaphore>,
}

impl Default for Sink {
    fn default() -> Self {
        let (gate, arrived) = (Arc::new(Semaphore::new(1 << 20)), Arc::new(Semaphore::new(0)));
        Self { batches: Arc::default(), answer: Mutex::default(), gate, arrived }
    }
}

impl Sink {
    pub fn batches(&self) -> Vec<Batch> {
        self.batches.lock().unwrap().clone()
    }

    /// From now on batches wait until `open`.
    pub fn hold(&self) {
        self.gate.forget_permits(usize::MAX);
    }

    pub fn open(&self) {
        self.gate.add_permits(1 << 20);
    }

    pub async fn wait_for(&self, batches: u32) {
        self.arrived.acquire_many(batches).await.unwrap().forget();
    }
}

impl Consumer for Sink {
    fn reserve(&self, _: BatchSize) -> BoxFuture<'_, Result<Permit, Rejection>> {
        let answer = self.answer.lock().unwrap().clone();
        let (gate, arrived) = (self.gate.clone(), self.arrived.clone());
        let keep = Keep { batches: self.batches.clone(), unknown: None };
        Box::pin(async move {
            arrived.add_permits(1);
            gate.acquire().await.unwrap().forget();
            match answer {
                None => Ok(Permit::new(keep)),
                // Only after the batch went over can its fate be unknown.
                Some(unknown @ Rejection::Unknown(_)) => Ok(Permit::new(Keep { unknown: Some(unknown), ..keep })),
                Some(rejection) => Err(rejection),
            }
        })
    }
}

struct Keep {
    batches: Arc<Mutex<Vec<Batch>>>,
    unknown: Option<Rejection>,
}

impl SendBatch for Keep {
    fn send(self: Box<Self>, batch: Batch) -> BoxFuture<'static, Result<(), Rejection>> {
        Box::pin(async move {
            match self.unknown {
                Some(unknown) => Err(unknown),
                None => {
                    self.batches.lock().unwrap().push(batch);
                    Ok(())
                }
            }
        })
    }
}
