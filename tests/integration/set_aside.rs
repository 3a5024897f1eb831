//! A store with a batch that could not be sealed, as its users meet it.

use crate::shared::daemon::Daemon;
use crate::shared::http::Sender;
use crate::shared::poison_disk::{Poison, PoisonDisk, batch};
use crate::shared::spans::Spans;
use crate::shared::{length_delimited, traces};
use serde_json::Value;
use sluice::storage::clock::SystemClock;
use sluice::storage::disk::SystemDisk;
use sluice::storage::{Engine, Options};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, mpsc};

/// Four batches of two spans, one of which cannot be sealed.
fn fill(directory: &Path) {
    let disk = Arc::new(PoisonDisk::new(SystemDisk, Poison::Damage));
    let engine = Engine::open(Options::new(directory), disk, Arc::new(SystemClock)).unwrap();
    for number in 0..4 {
        let batch = batch(number, number == 1);
        let room = engine.reserve(batch.bytes().len(), batch.spans().len()).unwrap();
        let (done, answer) = mpsc::channel();
        engine.append(batch, room, Box::new(move |outcome| done.send(outcome).unwrap()));
        answer.recv().unwrap().unwrap();
    }
    while engine.flush().is_err() {}
}

fn store(command: &str, format: &str, directory: &Path) -> Vec<u8> {
    let mut sluice = Command::new(env!("CARGO_BIN_EXE_sluice"));
    let output = sluice.args(["store", command, "--format", format]).arg(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn a_batch_that_is_set_aside_is_inspected_exported_and_served() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    let report: Value = serde_json::from_slice(&store("inspect", "json", directory.path())).unwrap();
    assert_eq!(
        (&report["spans"], &report["set_aside_spans"], &report["memtable_spans"]),
        (&8.into(), &2.into(), &0.into())
    );
    let [file] = report["set_aside"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((&file["batches"], &file["rows"], &file["min_lsn"]), (&1.into(), &2.into(), &2.into()));
    assert_eq!(report["damage"], Value::Array(Vec::new()));
    let table = String::from_utf8(store("inspect", "table", directory.path())).unwrap();
    assert!(table.contains("set aside        2 spans, in 1 files"), "{table}");
    let mut exported = Spans::default();
    length_delimited(&store("export", "otlp-proto", directory.path()))
        .into_iter()
        .for_each(|request| exported.add(request));
    assert_eq!(exported.by_identity.len(), 8);
    let mut daemon = Daemon::start(directory.path(), "");
    let id = traces::trace_id(1);
    let (status, body) = Sender::connect(daemon.query).unwrap().get(&format!("/api/traces/{id}")).unwrap();
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    assert!(String::from_utf8_lossy(&body).contains("Zq7#kP2!xW9@vL4&"));
    daemon.stop();
}
