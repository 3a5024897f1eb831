//! The formats of the store: `docs/formats.md`, the golden files and the code say the same.
//!
//! `v2.wal`, `v1.seg` and `v1.manifest` were made by the product's writers. Each is parsed by hand from the page's byte
//! tables, written again byte for byte, and read by the product's readers. After a change that is meant,
//! `SLUICE_BLESS=1 cargo test --test conformance golden` writes them anew.

mod cursor;
mod golden;
mod manifest;
mod segment;
mod tables;
mod wal;

/// That the writers still make the golden file; with `SLUICE_BLESS` set, makes it.
fn check_golden(name: &str, written: &[u8]) {
    if std::env::var_os("SLUICE_BLESS").is_some() {
        std::fs::write(golden::path(name), written).unwrap();
    }
    let stored = golden::stored(name);
    let differs = stored.iter().zip(written).position(|(a, b)| a != b);
    assert!(stored == written, "{name}: {} bytes, now {}; first at {differs:?}", stored.len(), written.len());
}
