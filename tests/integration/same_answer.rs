//! The same question gives the same answer wherever the rows lie: in memory, in segments, after a start.

mod damage;
mod random;
mod search;

use crate::shared::http::{PROTOBUF, Sender};
use crate::shared::{corpus_files, length_delimited, read, traces};
use crate::support::{LONG, free_address, get};
use prost::Message;
use sluice::app::{self, App};
use sluice::config::{embedded, load};
use sluice::model::{Batch, TraceId};
use sluice::storage::disk::SystemDisk;
use sluice::storage::segment::Segment;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

/// Requests of the corpus, or made ones where there is none; traces of the corpus are spread over many requests.
fn requests() -> Vec<Vec<u8>> {
    match corpus_files("bulk", "astronomy.otlp.pb.gz").first() {
        Some(path) => length_delimited(&read(path)).into_iter().take(150).map(<[u8]>::to_vec).collect(),
        None => (0..50).map(|number| traces::request(number, 20, 100).encode_to_vec()).collect(),
    }
}

fn ids(requests: &[Vec<u8>]) -> BTreeSet<TraceId> {
    let batches = requests.iter().map(|request| Batch::from_otlp(request.clone().into()).unwrap().batch);
    batches.flat_map(|batch| batch.spans().iter().map(|span| span.trace_id).collect::<Vec<_>>()).collect()
}

struct Place {
    http: String,
    query: String,
}

async fn start(directory: &Path, settings: &[&str]) -> (App, Place) {
    let place = Place { http: free_address(), query: free_address() };
    let mut sets = vec![
        "receivers::otlp::protocols::grpc::endpoint=127.0.0.1:0".to_owned(),
        format!("receivers::otlp::protocols::http::endpoint={}", place.http),
        format!("extensions::query::endpoint={}", place.query),
        "extensions::health_check::endpoint=127.0.0.1:0".to_owned(),
        format!("exporters::storage::directory={}", directory.display()),
        "service::telemetry::metrics::level=none".to_owned(),
    ];
    sets.extend(settings.iter().map(|setting| format!("exporters::storage::{setting}")));
    let config = load(&[embedded(app::DEFAULT_CONFIG)], &sets, &app::registry()).unwrap().config;
    (app::start(&config).await.unwrap(), place)
}

async fn send(place: &Place, requests: &[Vec<u8>]) {
    let (address, requests) = (place.http.parse().unwrap(), requests.to_vec());
    let sending = move || {
        let mut sender = Sender::connect(address).unwrap();
        for request in requests {
            while sender.post(PROTOBUF, &request).unwrap().0 != 200 {}
        }
    };
    tokio::task::spawn_blocking(sending).await.unwrap();
}

async fn answers(place: &Place, ids: &BTreeSet<TraceId>) -> Vec<(u16, String)> {
    let mut answers = Vec::new();
    for id in ids.iter().step_by(1 + ids.len() / 60) {
        answers.push(get(&place.query, &format!("/api/traces/{id}")).await);
    }
    assert!(answers.iter().all(|(status, _)| *status == 200) && answers.len() > 20);
    answers
}

/// Rows in the segments of a directory, counted while a daemon has it open.
fn sealed_rows(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory.join("segments")).unwrap().map(|file| file.unwrap().path());
    let segments = files.filter_map(|path| Segment::open(&SystemDisk, &path).ok());
    segments.map(|segment| segment.footer().rows).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_query_api_answers_alike_from_memory_from_segments_and_after_a_start() {
    let requests = requests();
    let (ids, scratch) = (ids(&requests), tempfile::tempdir().unwrap());
    let (in_memory, sealed) = (scratch.path().join("memory"), scratch.path().join("sealed"));

    let (app, place) = start(&in_memory, &["seal::max_age=1h"]).await;
    send(&place, &requests).await;
    assert_eq!(sealed_rows(&in_memory), 0);
    let from_memory = answers(&place, &ids).await;
    app.shutdown(LONG).await.unwrap();

    let (app, place) = start(&in_memory, &[]).await;
    let rows = sealed_rows(&in_memory);
    assert!(rows > 0);
    assert_eq!(answers(&place, &ids).await, from_memory, "after the seal and a start");
    app.shutdown(LONG).await.unwrap();

    let (app, place) = start(&sealed, &["seal::max_spans=500", "seal::max_age=100ms"]).await;
    send(&place, &requests).await;
    let deadline = Instant::now() + LONG;
    while sealed_rows(&sealed) < rows {
        assert!(Instant::now() < deadline, "{} of {rows} rows are sealed", sealed_rows(&sealed));
        tokio::task::yield_now().await;
    }
    assert_eq!(answers(&place, &ids).await, from_memory, "from many segments");
    app.shutdown(LONG).await.unwrap();
    let (app, place) = start(&sealed, &[]).await;
    assert_eq!(answers(&place, &ids).await, from_memory, "from many segments after a start");
    app.shutdown(LONG).await.unwrap();
}
