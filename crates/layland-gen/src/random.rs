//! The random numbers of a set: PCG XSL RR 128/64 (O'Neill 2014), seeded by SplitMix64 (Steele,
//! Lea, Flood 2014) from the seed of the recipe, the index of the set and the [`Aspect`].
//!
//! Let `s(x)` be the step and the output of SplitMix64 for the state `x`:
//!
//! ```text
//! s(x):  z = x + 0x9e3779b97f4a7c15
//!        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9
//!        z = (z ^ z >> 27) * 0x94d049bb133111eb
//!        z ^ z >> 31                                   (all modulo 2^64)
//! h = s(s(s(seed) ^ index) ^ aspect)
//! a, b, c, d = s(h), s(h + g), s(h + 2g), s(h + 3g)    (g = 0x9e3779b97f4a7c15)
//! PCG state = a * 2^64 + b,  PCG stream = c * 2^64 + d
//! ```
//!
//! So every set is independent of the sets before it, and the periods of a set do not change when
//! only the parameters of its utilizations change.
//!
//! Numbers that are drawn for a task while it runs ([`Random::of_task`]) depend only on the seed of
//! the run and the task, so that adding a task does not change the numbers of the others.

use rand::Rng;
use rand_pcg::Pcg64;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn split_mix(x: u64) -> u64 {
    let z = x.wrapping_add(GOLDEN);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The purpose of a stream of random numbers; each aspect of a set has a stream of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the parameters of a recipe")]
pub enum Aspect {
    Utilizations = 1,
    Periods = 2,
    Deadlines = 3,
    Criticalities = 4,
    Offsets = 5,
    Affinities = 6,
    Graphs = 7,
    Sections = 8,
    Suspensions = 9,
    Steps = 10,
    Bursts = 11,
    Regions = 12,
    Caches = 13,
}

/// A stream of random numbers, equal on every machine.
///
/// ```
/// use layland_gen::{Aspect, Random};
/// let draw = |seed, index| Random::new(seed, index, Aspect::Periods).below(1_000_000);
/// assert_eq!(draw(1, 0), draw(1, 0));
/// assert_ne!(draw(1, 0), draw(1, 1));
/// ```
#[derive(Clone, Debug)]
pub struct Random(Pcg64);

impl Random {
    /// Returns the stream for one aspect of the `index`-th set.
    pub fn new(seed: u64, index: u64, aspect: Aspect) -> Random {
        let h = split_mix(split_mix(split_mix(seed) ^ index) ^ aspect as u64);
        let word = |k: u64| u128::from(split_mix(h.wrapping_add(GOLDEN.wrapping_mul(k))));
        Random(Pcg64::new(word(0) << 64 | word(1), word(2) << 64 | word(3)))
    }

    /// Returns the stream for one task in a run with this seed.
    /// Numbers other than those of tasks select further streams.
    pub fn of_task(seed: u64, task: u64) -> Random {
        let word = |seed: u64| u128::from(split_mix(seed.wrapping_add(GOLDEN.wrapping_mul(task))));
        Random(Pcg64::new(word(seed) << 64 | word(!seed), word(seed ^ 0x5bd1_e995)))
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number uniform on `[0, 1)`: the upper 53 bits, times `2^-53`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a number uniform on `(0, 1)`: the upper 52 bits plus one half, times `2^-52`.
    pub fn open_unit(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// Returns a number exactly uniform on `0..bound` (Lemire 2019: the upper half of
    /// `bits * bound`, drawn again while the lower half is below `2^64 mod bound`).
    ///
    /// # Panics
    /// If the bound is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing is below zero");
        // `2^64 mod bound`, computed in 64 bits.
        let reject_below = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            if product as u64 >= reject_below {
                return (product >> 64) as u64;
            }
        }
    }

    /// Returns a whole number uniform on `low` to `high`, both included.
    ///
    /// # Panics
    /// If `low` is above `high`, or both are the extremes of the type.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high, "{low} to {high}");
        // The difference may exceed `i64`, but not `u64`.
        let span = high.wrapping_sub(low) as u64 + 1;
        low.wrapping_add(self.below(span) as i64)
    }

    /// Shuffles a list uniformly (Fisher and Yates, from the end).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            list.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the first outputs of SplitMix64 from the
    /// state 1234567 with those published for its C code.
    #[test]
    fn split_mix_is_the_published_one() {
        let outputs =
            [0u64, 1, 2].map(|k| split_mix(GOLDEN.wrapping_mul(k).wrapping_add(1_234_567)));
        assert_eq!(
            outputs,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    /// Without rejection, a multiple of 3 would be drawn half of the time.
    #[test]
    fn large_bounds_are_even() {
        let mut random = Random::new(1, 3, Aspect::Offsets);
        let count = (0..60_000).filter(|_| random.below(3 << 62).is_multiple_of(3)).count();
        // The standard deviation is 115; the bound is five of them.
        assert!(count.abs_diff(20_000) < 577, "{count}");
    }

    #[test]
    fn small_bounds_are_even() {
        let mut random = Random::new(1, 2, Aspect::Offsets);
        let mut counts = [0i32; 6];
        for _ in 0..60_000 {
            counts[random.below(6) as usize] += 1;
        }
        // The standard deviation is 91; the bound is five of them.
        assert!(counts.iter().all(|count| (count - 10_000).abs() < 456), "{counts:?}");
    }
}
