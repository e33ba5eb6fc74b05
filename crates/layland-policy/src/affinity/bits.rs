//! Sets of CPUs as policies with affinities use them: one machine word where the CPUs fit, a list of
//! words beyond that. Nothing allocates after construction.

use layland_model::{CpuId, CpuSet, Index};

const WORD: usize = u64::BITS as usize;

/// A set of CPUs of a machine whose size is known.
pub(crate) trait Bits: Clone + Send + 'static {
    /// The empty set for a machine of this many CPUs.
    fn none(cpus: usize) -> Self;
    /// Adds a CPU.
    fn insert(&mut self, cpu: CpuId);
    /// Takes out a CPU.
    fn remove(&mut self, cpu: CpuId);
    /// Takes out every CPU.
    fn clear(&mut self);
    /// Whether a CPU is in.
    fn contains(&self, cpu: CpuId) -> bool;
    /// The lowest CPU of both sets.
    fn lowest_in(&self, other: &Self) -> Option<CpuId>;
    /// The lowest CPU of both sets that is not in `except`.
    fn lowest_in_except(&self, other: &Self, except: &Self) -> Option<CpuId>;

    /// The same CPUs, those that the machine has.
    fn of(set: &CpuSet, cpus: usize) -> Self {
        let mut bits = Self::none(cpus);
        set.iter().filter(|cpu| cpu.index() < cpus).for_each(|cpu| bits.insert(cpu));
        bits
    }
}

fn lowest(word: u64, at: usize) -> CpuId {
    CpuId::from_index(at * WORD + word.trailing_zeros() as usize)
}

impl Bits for u64 {
    fn none(_cpus: usize) -> u64 {
        0
    }
    #[inline]
    fn insert(&mut self, cpu: CpuId) {
        *self |= 1 << cpu.0;
    }
    #[inline]
    fn remove(&mut self, cpu: CpuId) {
        *self &= !(1 << cpu.0);
    }
    #[inline]
    fn clear(&mut self) {
        *self = 0;
    }
    #[inline]
    fn contains(&self, cpu: CpuId) -> bool {
        *self >> cpu.0 & 1 == 1
    }
    #[inline]
    fn lowest_in(&self, other: &u64) -> Option<CpuId> {
        let both = self & other;
        (both != 0).then(|| lowest(both, 0))
    }
    #[inline]
    fn lowest_in_except(&self, other: &u64, except: &u64) -> Option<CpuId> {
        self.lowest_in(&(other & !except))
    }
}

impl Bits for Box<[u64]> {
    fn none(cpus: usize) -> Self {
        vec![0; cpus.div_ceil(WORD)].into_boxed_slice()
    }
    fn insert(&mut self, cpu: CpuId) {
        self[cpu.index() / WORD] |= 1 << (cpu.index() % WORD);
    }
    fn remove(&mut self, cpu: CpuId) {
        self[cpu.index() / WORD] &= !(1 << (cpu.index() % WORD));
    }
    fn clear(&mut self) {
        self.fill(0);
    }
    fn contains(&self, cpu: CpuId) -> bool {
        self[cpu.index() / WORD] >> (cpu.index() % WORD) & 1 == 1
    }
    fn lowest_in(&self, other: &Self) -> Option<CpuId> {
        let mut words = self.iter().zip(other).enumerate();
        words.find(|(_, (a, b))| **a & **b != 0).map(|(at, (a, b))| lowest(a & b, at))
    }
    fn lowest_in_except(&self, other: &Self, except: &Self) -> Option<CpuId> {
        let mut words = self.iter().zip(other).zip(except).enumerate();
        let found = words.find(|(_, ((a, b), c))| **a & **b & !**c != 0);
        found.map(|(at, ((a, b), c))| lowest(a & b & !c, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_word_and_a_list_of_words_are_the_same_sets(a: u64, b: u64, c: u64, cpu in 0u32..64) {
            let wide = |word: u64| -> Box<[u64]> { vec![0, word, 0].into_boxed_slice() };
            let moved = |found: Option<CpuId>| found.map(|cpu| CpuId(cpu.0 + 64));
            let cpu = CpuId(cpu);
            prop_assert_eq!(wide(a).lowest_in(&wide(b)), moved(a.lowest_in(&b)));
            prop_assert_eq!(
                wide(a).lowest_in_except(&wide(b), &wide(c)),
                moved(a.lowest_in_except(&b, &c))
            );
            prop_assert_eq!(wide(a).contains(CpuId(cpu.0 + 64)), a.contains(cpu));
            let mut set = a;
            set.insert(cpu);
            prop_assert!(set.contains(cpu));
            set.remove(cpu);
            prop_assert_eq!(set, a & !(1 << cpu.0));
            prop_assert_eq!((a & b).lowest_in(&!c), a.lowest_in_except(&b, &c));
        }
    }
}
