//! Which traces a segment surely does not have: a split block Bloom filter, as Parquet's ("Split block Bloom filters",
//! Putze, Sanders and Singler; layout of apache/parquet-format). Of an id that is there it never says no.

use crate::model::TraceId;
use xxhash_rust::xxh3::xxh3_64;

const BLOCK_BYTES: usize = 32;
/// About one wrong yes in two hundred.
const BITS_A_TRACE: usize = 12;
const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// What is kept of an id until the filter is made.
pub fn hash(id: TraceId) -> u64 {
    xxh3_64(&id.0)
}

/// The filter of these hashes.
pub fn build(hashes: &[u64]) -> Vec<u8> {
    let blocks = (hashes.len() * BITS_A_TRACE).div_ceil(BLOCK_BYTES * 8).max(1);
    let mut filter = vec![0; blocks * BLOCK_BYTES];
    for &hash in hashes {
        let at = block_of(hash, blocks) * BLOCK_BYTES;
        let block = filter.get_mut(at..at + BLOCK_BYTES).unwrap_or_default();
        for (word, bit) in block.as_chunks_mut::<4>().0.iter_mut().zip(bits(hash)) {
            *word = (u32::from_le_bytes(*word) | bit).to_le_bytes();
        }
    }
    filter
}

/// Whether the id may be among those the filter was made of. A filter of odd length says yes to everything.
pub fn may_hold(filter: &[u8], id: TraceId) -> bool {
    let hash = hash(id);
    let blocks = filter.len() / BLOCK_BYTES;
    if blocks == 0 || !filter.len().is_multiple_of(BLOCK_BYTES) {
        return true;
    }
    let at = block_of(hash, blocks) * BLOCK_BYTES;
    let block = filter.get(at..at + BLOCK_BYTES).unwrap_or_default();
    block.as_chunks::<4>().0.iter().zip(bits(hash)).all(|(word, bit)| u32::from_le_bytes(*word) & bit != 0)
}

/// The upper half of the hash chooses the block, evenly and without a division.
fn block_of(hash: u64, blocks: usize) -> usize {
    (((hash >> 32) * blocks as u64) >> 32) as usize
}

fn bits(hash: u64) -> impl Iterator<Item = u32> {
    SALTS.into_iter().map(move |salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> TraceId {
        let mut id = [1; 16];
        id[..8].copy_from_slice(&number.to_be_bytes());
        TraceId(id)
    }

    #[test]
    fn an_id_that_is_there_is_never_denied_and_few_others_are_claimed() {
        let hashes: Vec<_> = (0..10_000).map(|number| hash(id(number))).collect();
        let filter = build(&hashes);
        assert!((0..10_000).all(|number| may_hold(&filter, id(number))));
        let wrong = (10_000..110_000).filter(|&number| may_hold(&filter, id(number))).count();
        assert!(wrong < 1_500, "{wrong} of 100,000");
    }

    #[test]
    fn a_filter_that_is_none_denies_nothing() {
        for odd in [&[][..], &[0; 31], &[0; 33]] {
            assert!(may_hold(odd, id(1)));
        }
    }
}
