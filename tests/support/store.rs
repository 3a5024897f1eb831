//! An engine that requests are put into without a daemon around it.

use sluice::model::Batch;
use sluice::storage::clock::SystemClock;
use sluice::storage::disk::Disk;
use sluice::storage::{Engine, Options};
use std::sync::{Arc, mpsc};

pub fn open(options: Options, disk: Arc<dyn Disk>) -> Engine {
    Engine::open(options, disk, Arc::new(SystemClock)).unwrap()
}

/// Puts requests in, in this order, and waits until all can be read.
pub fn append<'a>(engine: &Engine, requests: impl IntoIterator<Item = &'a [u8]>) {
    let (done, outcomes) = mpsc::channel();
    for request in requests {
        let batch = Batch::from_otlp(request.to_vec().into()).unwrap().batch;
        let room = loop {
            if let Ok(room) = engine.reserve(batch.bytes().len(), batch.spans().len()) {
                break room;
            }
            let (free, freed) = mpsc::channel::<()>();
            engine.on_room(Box::new(move || drop(free)));
            // Ends when the other side is dropped, which is the call back; asked again after a while, for room may have become
            // free in between.
            let _ = freed.recv_timeout(std::time::Duration::from_millis(20));
        };
        let done = done.clone();
        engine.append(batch, room, Box::new(move |outcome| done.send(outcome).unwrap()));
    }
    drop(done);
    outcomes.into_iter().for_each(|outcome| outcome.unwrap());
}
