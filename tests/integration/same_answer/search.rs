//! Hundreds of questions, asked of the same rows lying in different ways, and answered as a look at every span answers them.

use crate::shared::plain::Plain;
use crate::shared::questions::Asking;
use crate::shared::{corpus_files, length_delimited, read, store, traces};
use prost::Message;
use sluice::storage::disk::SystemDisk;
use sluice::storage::query::Limits;
use sluice::storage::{Engine, OpenStore, Options, Snapshot};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A store whose rows lie in some way.
enum Laid {
    Open(Engine),
    /// As commands open it, while no daemon does.
    Closed(Box<OpenStore>),
}

impl Laid {
    fn snapshot(&self) -> Snapshot {
        match self {
            Self::Open(engine) => engine.snapshot(),
            Self::Closed(store) => store.snapshot.clone(),
        }
    }
}

/// Lays requests into the directory in some way.
type Lay = fn(&Path, &[Vec<u8>]) -> Laid;

/// Every way in which rows can lie. What is new (merged, judged) gets a line here.
const LAYOUTS: [(&str, Lay); 4] = [
    ("in memory", in_memory),
    ("sealed", sealed),
    ("sealed and in memory", half_sealed),
    ("opened again", opened_again),
];

fn options(directory: &Path) -> Options {
    let mut options = Options::new(directory);
    (options.memtable_max, options.wal.max_size) = (4 << 30, 4 << 30);
    (options.seal.max_size, options.seal.max_age) = (1 << 30, Duration::from_secs(3600));
    options
}

fn open(directory: &Path) -> Engine {
    store::open(options(directory), Arc::new(SystemDisk))
}

fn append(engine: &Engine, requests: &[Vec<u8>]) {
    store::append_all(engine, requests.iter().map(|request| &**request));
}

fn in_memory(directory: &Path, requests: &[Vec<u8>]) -> Laid {
    let engine = open(directory);
    append(&engine, requests);
    assert_eq!(engine.segment_count(), 0);
    Laid::Open(engine)
}

/// In seven segments, so that traces have several fragments.
fn seal(directory: &Path, requests: &[Vec<u8>]) -> Engine {
    let engine = open(directory);
    for part in requests.chunks(requests.len().div_ceil(7)) {
        append(&engine, part);
        engine.flush().unwrap();
    }
    assert!(engine.segment_count() > 4);
    engine
}

fn sealed(directory: &Path, requests: &[Vec<u8>]) -> Laid {
    Laid::Open(seal(directory, requests))
}

fn half_sealed(directory: &Path, requests: &[Vec<u8>]) -> Laid {
    let (first, rest) = requests.split_at(requests.len() / 2);
    let engine = seal(directory, first);
    append(&engine, rest);
    Laid::Open(engine)
}

fn opened_again(directory: &Path, requests: &[Vec<u8>]) -> Laid {
    seal(directory, requests).shutdown();
    Laid::Closed(Box::new(OpenStore::open(directory, &SystemDisk).unwrap()))
}

fn ask(name: &str, requests: &[Vec<u8>], questions: usize, seed: u64) {
    let plain = Plain::of(requests.iter().map(|request| &**request));
    let mut asking = Asking::new(&plain, seed);
    let asked: Vec<_> = (0..questions).map(|_| asking.question()).collect();
    let expected: Vec<_> = asked.iter().map(|query| plain.find(query)).collect();
    let met = expected.iter().filter(|found| !found.is_empty()).count();
    println!(
        "{name}: {} spans in {} traces; {met} of {questions} questions find something",
        plain.spans().count(),
        plain.traces.len()
    );
    assert!((questions / 2..questions).contains(&met), "questions of both kinds");
    for (layout, lay) in LAYOUTS {
        let directory = tempfile::tempdir().unwrap();
        let laid = lay(directory.path(), requests);
        let begun = Instant::now();
        for (query, expected) in asked.iter().zip(&expected) {
            let answer = laid.snapshot().find(query, Limits::NONE).unwrap();
            assert_eq!(&answer.found, expected, "{layout}, seed {seed}: {query:?}");
            assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
        }
        names(&laid.snapshot(), &plain, layout);
        println!("  {layout}: {:.1?}", begun.elapsed());
    }
}

fn names(snapshot: &Snapshot, plain: &Plain, layout: &str) {
    let services = snapshot.services(Limits::NONE).unwrap().found;
    assert_eq!(services, plain.services(), "{layout}");
    for service in services {
        let operations = snapshot.operations(&service, Limits::NONE).unwrap().found;
        assert_eq!(operations, plain.operations(&service), "{layout}: {service}");
    }
}

#[test]
fn five_hundred_questions_about_made_traces_have_one_answer_wherever_the_rows_lie() {
    let request = |number: u64| traces::request(number % 400, 1 + number % 9, 20).encode_to_vec();
    ask("made", &(0..1_000).map(request).collect::<Vec<_>>(), 500, 1);
}

#[test]
fn five_hundred_questions_about_real_traces_have_one_answer_wherever_the_rows_lie() {
    for (seed, (name, most)) in
        [("astronomy.otlp.pb.gz", 150), ("trainticket.otlp.pb.gz", 1_500)].into_iter().enumerate()
    {
        for path in corpus_files("bulk", name) {
            let requests: Vec<_> = length_delimited(&read(&path)).into_iter().take(most).map(<[u8]>::to_vec).collect();
            ask(name, &requests, 250, seed as u64);
        }
    }
}
