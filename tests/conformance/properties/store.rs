//! What the store encodes reads back as it was, and one changed byte is always noticed.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use sluice::model::{Row, SpanId, TraceId};
use sluice::storage::manifest::{FileKind, LiveFile, Manifest, Policy};
use sluice::storage::segment::block::{Block, BlockBuilder};
use sluice::storage::segment::directory::{decode_page, encode_page};
use sluice::storage::segment::part::Packer;
use sluice::storage::segment::{Codec, ContentHash, DirectoryEntry, Facts, Mark, RunRow};

/// A row with shape, resource, scope and body.
type AnyRow = (Row, u8, u32, u32, Vec<u8>);

prop_compose! {
    fn row()(
        ids in (0..6u8, 0..6u8, any::<bool>()),
        times in (any::<u64>(), any::<u64>(), any::<u64>()),
        codes in (any::<i32>(), any::<i32>()),
        position in (any::<u64>(), any::<u32>()),
        rest in (any::<u8>(), 0..4u32, 0..4u32, vec(any::<u8>(), 0..40)),
    ) -> AnyRow {
        let (span_id, parent, elsewhere) = ids;
        let parent = if elsewhere { SpanId([parent; 8]) } else { SpanId([parent, 0, 0, 0, 0, 0, 0, 1]) };
        let (start, end, received) = times;
        let (kind, status) = codes;
        let (lsn, place) = position;
        let row = Row { span_id: SpanId([span_id, 0, 0, 0, 0, 0, 0, 1]), parent, start, end, kind, status, lsn, place, received };
        (row, rest.0, rest.1, rest.2, rest.3)
    }
}

fn codec() -> impl Strategy<Value = Codec> {
    prop_oneof![Just(Codec::None), Just(Codec::Lz4), Just(Codec::Zstd)]
}

fn name(table: u8) -> impl Fn(u32) -> ContentHash {
    move |index| ContentHash([table + index as u8; 16])
}

prop_compose! {
    fn facts()(
        numbers in any::<[u64; 6]>(),
        counts in (any::<u32>(), any::<u64>(), any::<u32>(), any::<u16>()),
        texts in ("[a-c]{0,2}", any::<String>(), vec("[a-c]{0,2}", 0..3)),
    ) -> Facts {
        let [min_start, max_end, first_received, last_received, root_duration, randomness] = numbers;
        let (rows, bytes, errors, flags) = counts;
        let (root_service, root_name, services) = texts;
        Facts { rows, bytes, errors, min_start, max_end, first_received, last_received, root_service, root_name,
                root_duration, services, randomness, flags }
    }
}

fn mark() -> impl Strategy<Value = Mark> {
    let unjudged = any::<(u64, u32)>().prop_map(|(not_before, failures)| Mark::Unjudged { not_before, failures });
    let kept = (any::<String>(), any::<u32>(), any::<bool>(), any::<bool>());
    let kept = kept.prop_map(|(reason, policy, late, shadow_drop)| Mark::Kept { reason, policy, late, shadow_drop });
    prop_oneof![unjudged, kept]
}

fn entry() -> impl Strategy<Value = DirectoryEntry> {
    (any::<[u8; 16]>(), any::<u32>(), any::<u32>(), facts(), mark()).prop_map(|(id, block, blocks, facts, mark)| {
        DirectoryEntry { trace_id: TraceId(id), block, blocks, facts, mark }
    })
}

fn live_file() -> impl Strategy<Value = LiveFile> {
    let kinds = [FileKind::Segment, FileKind::Remainder, FileKind::Decisions, FileKind::SetAside];
    (proptest::sample::select(kinds.to_vec()), any::<[u64; 9]>()).prop_map(|(kind, numbers)| {
        let [id, bytes, rows, traces, low, high, first, last, not_before] = numbers;
        LiveFile { kind, id, bytes, rows, traces, lsns: (low, high), received: (first, last), not_before }
    })
}

fn manifest() -> impl Strategy<Value = Manifest> {
    let policy = any::<(u32, String)>().prop_map(|(id, text)| Policy { id, text });
    (any::<[u8; 16]>(), any::<[u64; 8]>(), vec(policy, 0..3), vec(live_file(), 0..5)).prop_map(
        |(store, n, policies, files)| {
            let [epoch, position, proven, judge_from, bucket_width, clock, next_segment, next_log] = n;
            Manifest {
                store,
                epoch,
                position,
                proven,
                judge_from,
                bucket_width,
                clock,
                next_segment,
                next_log,
                policies,
                files,
            }
        },
    )
}

/// The same bytes with one of them changed.
fn changed(bytes: &[u8], (place, by): (u16, u8)) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[bytes.len() * usize::from(place) / (1 << 16)] ^= by.max(1);
    changed
}

proptest! {
    #[test]
    fn any_rows_come_back_from_a_block(
        runs in btree_map(any::<[u8; 16]>(), vec(row(), 1..30), 1..4), codec in codec(), flip: (u16, u8),
    ) {
        let mut builder = BlockBuilder::default();
        for (id, rows) in &runs {
            let rows: Vec<_> = rows.iter().map(|(row, shape, resource, scope, body)| {
                RunRow { row: *row, shape: *shape, resource: *resource, scope: *scope, body }
            }).collect();
            builder.add_run(TraceId(*id), &rows);
        }
        let bytes = builder.finish(&mut Packer::new(codec), 0, (&name(0), &name(100)));
        let block = Block::decode(&bytes).unwrap();
        for (id, rows) in &runs {
            let run = block.run(TraceId(*id)).unwrap().rows.clone();
            let found: Vec<_> = block.rows[run].iter().map(|row| {
                let names = (block.resources[row.resource as usize], block.scopes[row.scope as usize]);
                (row.row, row.shape, names, block.body(row).to_vec())
            }).collect();
            let expected: Vec<_> = rows.iter().map(|(row, shape, resource, scope, body)| {
                (Row { place: 0, ..*row }, *shape, (name(0)(*resource), name(100)(*scope)), body.clone())
            }).collect();
            prop_assert_eq!(found, expected);
        }
        prop_assert!(Block::decode(&changed(&bytes, flip)).is_err());
    }

    #[test]
    fn any_entries_come_back_from_a_directory_page(entries in vec(entry(), 1..8), codec in codec(), flip: (u16, u8)) {
        let bytes = encode_page(&entries, &mut Packer::new(codec));
        prop_assert!(decode_page(&changed(&bytes, flip)).is_err());
        prop_assert_eq!(decode_page(&bytes), Ok(entries));
    }

    #[test]
    fn any_manifest_comes_back(manifest in manifest(), flip: (u16, u8)) {
        let bytes = manifest.encode();
        prop_assert!(Manifest::decode(&changed(&bytes, flip)).is_err());
        prop_assert_eq!(Manifest::decode(&bytes), Ok(manifest));
    }

    /// Bytes that pass no checksum and bytes that would: neither may panic or allocate without bound.
    #[test]
    fn arbitrary_bytes_are_no_block_page_or_manifest(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(Block::decode(&bytes).is_err());
        prop_assert!(decode_page(&bytes).is_err());
        prop_assert!(Manifest::decode(&bytes).is_err());
        let sealed = [&crc32fast::hash(&bytes).to_le_bytes()[..], &bytes].concat();
        let _ = (Block::decode(&sealed), decode_page(&sealed));
    }
}
