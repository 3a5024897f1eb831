//! What both protocols do with a request: decode it, pass it on, count it.

use super::answer::{Answer, Encoding, Refusal};
use crate::component::{BatchSize, Consumer, Rejection};
use crate::model::{Batch, Ingested, Refusals, json};
use crate::telemetry::{Meter, names};
use bytes::Bytes;
use metrics::{Counter, counter};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// The way of a request into the pipeline. One a protocol, since counters carry the protocol's name.
pub struct Ingest {
    next: Arc<dyn Consumer>,
    counters: Counters,
    tasks: TaskTracker,
}

impl Ingest {
    /// `tasks` holds what must be finished before the receiver has stopped.
    pub fn new(receiver: &str, transport: &'static str, next: Arc<dyn Consumer>, tasks: TaskTracker) -> Self {
        Self { next, counters: Counters::new(receiver, transport), tasks }
    }

    /// Takes one request whose size was checked before. `Ok` follows what the pipeline promises.
    pub async fn take(&self, body: Bytes, encoding: Encoding) -> Result<Answer, Refusal> {
        let decoded = self.decode(body, encoding).inspect_err(|refusal| self.count(refusal));
        let Ingested { batch, refusals } = decoded?;
        let answer = Answer::of(&refusals);
        // Rule 13: a request without spans is a success and stays out of the pipeline.
        if batch.spans().is_empty() {
            self.counters.mended(&refusals);
            return Ok(answer);
        }
        self.deliver(batch, refusals).await.map_err(Refusal::Rejected)?;
        Ok(answer)
    }

    /// Counts a request that a protocol could not even unpack.
    pub fn count(&self, refusal: &Refusal) {
        if matches!(refusal, Refusal::Undecodable(_)) {
            self.counters.undecodable.increment(1);
        }
    }

    fn decode(&self, body: Bytes, encoding: Encoding) -> Result<Ingested, Refusal> {
        let _run = self.counters.decode.start();
        decode(body, encoding).map_err(|error| Refusal::Undecodable(error.to_string()))
    }

    /// Passes a batch on in a task of its own: a sender that goes away must not stop a batch half way.
    async fn deliver(&self, batch: Batch, refusals: Refusals) -> Result<(), Rejection> {
        let (next, counters) = (self.next.clone(), self.counters.clone());
        let delivery = self.tasks.spawn(async move {
            let spans = batch.spans().len() as u64;
            let outcome = pass_on(&*next, batch).await;
            counters.mended(&refusals);
            if outcome.is_ok() {
                counters.accepted.increment(spans)
            } else {
                counters.refused.increment(spans)
            }
            outcome
        });
        delivery.await.unwrap_or_else(|panic| Err(Rejection::Unknown(panic.to_string())))
    }
}

fn decode(body: Bytes, encoding: Encoding) -> anyhow::Result<Ingested> {
    let request = match encoding {
        Encoding::Protobuf => body,
        Encoding::Json => json::decode(&body)?.into(),
    };
    Ok(Batch::from_otlp(request)?)
}

async fn pass_on(next: &dyn Consumer, batch: Batch) -> Result<(), Rejection> {
    next.reserve(BatchSize::of(&batch)).await?.send(batch).await
}

#[derive(Clone)]
struct Counters {
    accepted: Counter,
    refused: Counter,
    undecodable: Counter,
    repaired: Counter,
    links: Counter,
    decode: Meter,
}

impl Counters {
    fn new(receiver: &str, transport: &'static str) -> Self {
        let of = |name: &'static str| counter!(name, "receiver" => receiver.to_owned(), "transport" => transport);
        Self {
            accepted: of(names::RECEIVER_ACCEPTED_SPANS.name),
            refused: of(names::RECEIVER_REFUSED_SPANS.name),
            undecodable: of(names::RECEIVER_UNDECODABLE_REQUESTS.name),
            repaired: of(names::RECEIVER_REPAIRED_STRINGS.name),
            links: of(names::RECEIVER_DROPPED_LINKS.name),
            decode: Meter::new("decode"),
        }
    }

    fn mended(&self, refusals: &Refusals) {
        self.refused.increment(refusals.spans.into());
        self.repaired.increment(refusals.repaired_strings.into());
        self.links.increment(refusals.links.into());
    }
}
