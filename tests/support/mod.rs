//! What several test binaries share: the real daemon, a small HTTP sender, a disk that fails, made-up traces, the corpus
//! and how its files are read.

#![allow(dead_code, reason = "each binary uses its part")]

pub mod daemon;
pub mod fault_disk;
pub mod gate_disk;
pub mod grpc;
pub mod http;
pub mod poison_disk;
pub mod spans;
pub mod traces;

use flate2::read::MultiGzDecoder;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The corpus of real files, `$SLUICE_CORPUS` or beside the checkout; `None`, with a word about it, where there is
/// none.
pub fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let places = [std::env::var_os("SLUICE_CORPUS").map(PathBuf::from), Some(beside())];
    let found = places.into_iter().flatten().find(|place| place.is_dir());
    if found.is_none() {
        eprintln!("skipped: no corpus at $SLUICE_CORPUS or ../shared/corpus");
    }
    found
}

/// Files directly in a folder of the corpus whose name ends so, in order.
pub fn corpus_files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let Some(corpus) = corpus() else { return Vec::new() };
    let Ok(entries) = fs::read_dir(corpus.join(folder)) else {
        eprintln!("skipped: the corpus has no {folder}");
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    paths.sort();
    paths
}

/// A file's content, unpacked where its name ends in `.gz`.
pub fn read(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    let mut file = File::open(path).unwrap();
    match path.extension().is_some_and(|ending| ending == "gz") {
        true => MultiGzDecoder::new(file).read_to_end(&mut content).unwrap(),
        false => file.read_to_end(&mut content).unwrap(),
    };
    content
}

/// The messages of a file in which each is preceded by its length as a varint.
pub fn length_delimited(content: &[u8]) -> Vec<&[u8]> {
    let mut rest = content;
    let mut messages = Vec::new();
    while !rest.is_empty() {
        let length = prost::decode_length_delimiter(&mut rest).unwrap();
        let (message, after) = rest.split_at(length);
        messages.push(message);
        rest = after;
    }
    messages
}

/// The OTLP/JSON requests of a small file: the file itself, its lines, or its YAML as JSON.
pub fn json_requests(path: &Path) -> Vec<Vec<u8>> {
    let content = read(path);
    let name = path.to_string_lossy();
    if name.contains(".jsonl") {
        return content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect();
    }
    if name.ends_with(".yaml") {
        let value: serde_json::Value = serde_yaml::from_slice(&content).unwrap();
        return vec![value.to_string().into_bytes()];
    }
    vec![content]
}

/// Files of the corpus that hold, or nearly hold, OTLP/JSON requests.
pub fn small_files() -> Vec<PathBuf> {
    let folders = ["small/otlp", "small/otlp-jaeger-integration", "small/otlp-yaml"];
    folders.iter().flat_map(|folder| corpus_files(folder, "")).collect()
}
