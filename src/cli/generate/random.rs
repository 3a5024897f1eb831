//! Random numbers that are the same everywhere for the same seed. Not for secrets.

use std::hash::{BuildHasher, Hasher, RandomState};

/// SplitMix64 (Steele, Lea and Flood 2014): no number comes twice before all 2^64 did.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers of one trace, whatever was drawn for the traces before it.
    pub fn of(seed: u64, number: u64) -> Self {
        Self(Self(seed).number() ^ Self(!number).number())
    }

    /// Different in every process.
    pub fn unpredictable() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to `limit - 1`; 0 where there is nothing to choose from.
    pub fn below(&mut self, limit: u32) -> u32 {
        (((self.number() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// 0 up to, and never, 1.
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn chance(&mut self, of: f64) -> bool {
        self.unit() < of
    }

    /// Nearly normal with mean 0 and deviation 1, and never beyond 3.5: four uniform numbers added, which costs one draw.
    pub fn normal(&mut self) -> f64 {
        let number = self.number();
        let sum: u64 = (0..4).map(|part| (number >> (16 * part)) & 0xffff).sum();
        (sum as f64 / 65_536.0 - 2.0) * 3.0_f64.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_where_they_should_be() {
        let mut random = Random::new(7);
        let rounds = 20_000;
        let (mut sum, mut squares, mut hits, mut counts) = (0.0, 0.0, 0, [0; 5]);
        for _ in 0..rounds {
            let normal = random.normal();
            sum += normal;
            squares += normal * normal;
            hits += u32::from(random.chance(0.25));
            counts[random.below(5) as usize] += 1;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        let (mean, deviation) = (sum / f64::from(rounds), (squares / f64::from(rounds)).sqrt());
        assert!(mean.abs() < 0.05 && (deviation - 1.0).abs() < 0.05, "mean {mean}, deviation {deviation}");
        assert!((4_500..5_500).contains(&hits), "{hits}");
        assert!(counts.iter().all(|count| (3_500..4_500).contains(count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_trace_has_its_own_numbers() {
        let first = |seed, number| Random::of(seed, number).number();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(1, 3));
        assert_ne!(first(1, 2), first(2, 1));
    }
}
