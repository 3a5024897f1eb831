//! What holds for every input: nothing that parses or stores panics, invents or forgets.

mod bytes;
mod keys;
mod log;
mod merge;
mod store;
mod wire;

use crate::support::corpus_files;
use flate2::read::MultiGzDecoder;
use std::io::Read;

/// Most bytes of each corpus file that are looked at: a property needs variety and not size.
const CORPUS_BYTES: u64 = 1 << 20;

/// The first requests of each bulk file of the corpus; none where there is no corpus.
fn real_requests() -> Vec<Vec<u8>> {
    let mut requests = Vec::new();
    for path in corpus_files("bulk", ".pb.gz") {
        let mut content = Vec::new();
        let file = MultiGzDecoder::new(std::fs::File::open(path).unwrap());
        file.take(CORPUS_BYTES).read_to_end(&mut content).unwrap();
        requests.extend(whole_messages(&content));
    }
    requests
}

/// Messages with their length in front; the last one may be cut off and is left out.
fn whole_messages(mut rest: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Ok(length) = prost::decode_length_delimiter(&mut rest)
        && let Some((message, after)) = rest.split_at_checked(length)
    {
        messages.push(message.to_vec());
        rest = after;
    }
    messages
}
