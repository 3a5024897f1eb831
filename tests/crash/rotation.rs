//! A new log file that was begun and not finished.

use crate::support::fault_disk::{Fault, FaultDisk, Left};
use bytes::Bytes;
use sluice::storage::WalOptions;
use sluice::storage::codec::crc;
use sluice::storage::files::Layout;
use sluice::storage::wal::log::Inherited;
use sluice::storage::wal::replay::replay;
use sluice::storage::wal::{Frame, FrameKind, Log};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const STORE: [u8; 16] = [1; 16];

fn frame(lsn: u64) -> (Frame, Bytes) {
    let payload = Bytes::from_static(b"a small batch");
    let (payload_len, payload_crc) = (payload.len() as u32, crc(&[&payload]));
    (Frame { kind: FrameKind::Batch, lsn, received: lsn, durable: lsn - 1, payload_len, payload_crc }, payload)
}

/// Scenario: a batch does not fit, a new file is begun, and that fails at every operation in turn; then a smaller batch
/// arrives, which would fit into the old file, and the machine dies. Guarantee (rule 1): it is there after the start,
/// though the unfinished file may say that the old one ends before it.
#[test]
fn a_batch_committed_after_a_failed_rotation_survives_a_crash() {
    for at in 0..5 {
        let (disk, layout) = (FaultDisk::default(), Layout::new(Path::new("/store")));
        let options = WalOptions { max_size: 64 << 10, file_size: 12 << 10, commit_window: Duration::ZERO };
        let found = Inherited { closed: vec![], spares: vec![], previous: None, next_id: 1, next_lsn: 1 };
        let mut log = Log::start(Arc::new(disk.clone()), layout.clone(), options, STORE, found).unwrap();
        log.commit(&[frame(1)]).unwrap();
        let faulty = disk.clone().with_fault(at, Fault::Fail);
        assert!(log.rotate(4000, 2).is_err(), "operation {at}");
        let what = faulty.hit().unwrap();
        if !log.fits(frame(2).0.size()) {
            log.rotate(frame(2).0.size(), 2).unwrap();
        }
        log.commit(&[frame(2)]).unwrap();
        for left in [Left::All, Left::Synced] {
            let mut lsns = Vec::new();
            replay(&disk.after_crash(left), &layout, &STORE, 1, &mut |batch| lsns.push(batch.lsn)).unwrap();
            assert_eq!(lsns, [1, 2], "{what}, {left:?}");
        }
    }
}
