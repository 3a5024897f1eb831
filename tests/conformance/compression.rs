//! OTLP/HTTP: bodies in gzip, and what only claims to be.

use crate::client::{gzip, post};
use crate::requests::spans;
use crate::server::Server;

const MIB: usize = 1 << 20;
const IS_PROTOBUF: &str = "Content-Type: application/x-protobuf";
const IS_JSON: &str = "Content-Type: application/json";
const IS_GZIP: &str = "Content-Encoding: gzip";

/// Rules 29, 30.
#[test]
fn gzip_and_identity_are_understood_in_any_case() {
    let server = Server::start();
    for name in ["gzip", "GZIP"] {
        let header = format!("Content-Encoding: {name}");
        assert_eq!(post(server.http(), &[IS_PROTOBUF, &header], gzip(&spans(1))).status, 200, "{name}");
    }
    for header in ["Content-Encoding: identity", "Content-Encoding:"] {
        assert_eq!(post(server.http(), &[IS_PROTOBUF, header], spans(1)).status, 200, "{header}");
    }
    assert_eq!(server.stored(), 4);
}

/// Rule 30; the vector `br`.
#[test]
fn any_other_compression_is_415_with_what_is_supported() {
    let server = Server::start();
    for headers in [&["Content-Encoding: br"][..], &["Content-Encoding: gzip, zstd"], &[IS_GZIP, IS_GZIP]] {
        let reply = post(server.http(), &[&[IS_JSON], headers].concat(), "{}");
        assert_eq!(reply.status, 415, "{headers:?}");
        assert!(reply.rpc_status().message.contains("gzip, identity"));
    }
}

/// Rules 31, 33; the vector of plain JSON that is called gzip.
#[test]
fn broken_gzip_is_400() {
    let server = Server::start();
    let whole = gzip(&spans(1));
    let mut damaged = whole.clone();
    damaged.iter_mut().skip(12).step_by(3).for_each(|byte| *byte ^= 0x55);
    let cut = &whole[..whole.len() - 1];
    for body in [&b"{\"key\":\"value\"}"[..], cut, &whole[..5], &damaged, b""] {
        let reply = post(server.http(), &[IS_PROTOBUF, IS_GZIP], body);
        assert_eq!((reply.status, reply.rpc_status().code), (400, 3), "{} bytes", body.len());
    }
    assert!(server.sink.batches().is_empty());
}

/// Rule 32.
#[test]
fn a_gzip_bomb_is_refused_at_the_limit() {
    let server = Server::with("protocols: {http: {endpoint: '127.0.0.1:0', max_request_body_size: 2097152}}");
    let bomb = gzip(&vec![0; 256 * MIB]);
    assert!(bomb.len() < 2 * MIB);
    assert_eq!(post(server.http(), &[IS_PROTOBUF, IS_GZIP], bomb).status, 413);
}

/// Rule 34.
#[test]
fn gzip_members_add_up_and_anything_after_them_is_an_error() {
    let server = Server::start();
    let two = [gzip(&spans(1)), gzip(&spans(2))].concat();
    assert_eq!(post(server.http(), &[IS_PROTOBUF, IS_GZIP], &two).status, 200);
    assert_eq!(server.stored(), 3);
    let garbage = [&two[..], b"garbage"].concat();
    assert_eq!(post(server.http(), &[IS_PROTOBUF, IS_GZIP], garbage).status, 400);
    assert_eq!(server.stored(), 3);
}
