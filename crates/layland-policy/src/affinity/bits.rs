//! Sets of CPUs for policies with affinities: one machine word if the CPUs fit, a list of words
//! otherwise. Nothing allocates after construction.

use super::backlog::PlaceInOrder;
use layland_model::{CpuId, CpuSet, Index};
use std::collections::BTreeSet;
use std::fmt;

const WORD: usize = u64::BITS as usize;

/// A set of CPUs of a machine whose size is known.
pub(crate) trait Bits: Clone + fmt::Debug + Send + 'static {
    /// A sorted list, with at most as many jobs as such a machine has CPUs.
    type Places: Places;

    /// Returns the empty set for a machine with this number of CPUs.
    fn none(cpus: usize) -> Self;
    /// Adds a CPU.
    fn insert(&mut self, cpu: CpuId);
    /// Removes a CPU.
    fn remove(&mut self, cpu: CpuId);
    /// Removes every CPU.
    fn clear(&mut self);
    /// Returns true if a CPU is in the set.
    fn contains(&self, cpu: CpuId) -> bool;
    /// Returns the lowest CPU that is in both sets.
    fn lowest_in(&self, other: &Self) -> Option<CpuId>;
    /// Returns the lowest CPU that is in both sets and not in `except`.
    fn lowest_in_except(&self, other: &Self, except: &Self) -> Option<CpuId>;

    /// Returns the words of the set.
    fn words(&self) -> &[u64];
    /// Returns true if the set contains every CPU of another set.
    fn covers(&self, other: &Self) -> bool {
        self.words().iter().zip(other.words()).all(|(own, other)| other & !own == 0)
    }
    /// Returns true if the set is empty.
    fn is_empty(&self) -> bool {
        self.words().iter().all(|&word| word == 0)
    }

    /// Converts a set, without the CPUs that the machine does not have.
    fn of(set: &CpuSet, cpus: usize) -> Self {
        let mut bits = Self::none(cpus);
        set.iter().filter(|cpu| cpu.index() < cpus).for_each(|cpu| bits.insert(cpu));
        bits
    }
}

fn lowest(word: u64, at: usize) -> CpuId {
    CpuId::from_index(at * WORD + word.trailing_zeros() as usize)
}

/// A sorted list of distinct jobs.
pub(crate) trait Places: Clone + fmt::Debug + Default + Send {
    /// Adds a job.
    fn put(&mut self, place: PlaceInOrder);
    /// Removes a job, which must be in the list.
    fn take(&mut self, place: PlaceInOrder);
    /// Returns the job that comes last.
    fn final_one(&self) -> Option<PlaceInOrder>;
    /// Returns all jobs.
    fn in_order(&self) -> impl Iterator<Item = PlaceInOrder>;
}

/// The fastest form for up to some dozens of jobs.
impl Places for Vec<PlaceInOrder> {
    #[inline]
    fn put(&mut self, place: PlaceInOrder) {
        let at = self.iter().rposition(|other| *other < place).map_or(0, |at| at + 1);
        self.insert(at, place);
    }
    #[inline]
    fn take(&mut self, place: PlaceInOrder) {
        let at = self.iter().rposition(|other| *other == place).expect("it is in");
        self.remove(at);
    }
    #[inline]
    fn final_one(&self) -> Option<PlaceInOrder> {
        self.last().copied()
    }
    #[inline]
    fn in_order(&self) -> impl Iterator<Item = PlaceInOrder> {
        self.iter().copied()
    }
}

/// The form for thousands of jobs: each insertion into a vector would move a hundred kilobytes.
impl Places for BTreeSet<PlaceInOrder> {
    fn put(&mut self, place: PlaceInOrder) {
        self.insert(place);
    }
    fn take(&mut self, place: PlaceInOrder) {
        let was_in = self.remove(&place);
        assert!(was_in, "it is in");
    }
    fn final_one(&self) -> Option<PlaceInOrder> {
        self.last().copied()
    }
    fn in_order(&self) -> impl Iterator<Item = PlaceInOrder> {
        self.iter().copied()
    }
}

impl Bits for u64 {
    type Places = Vec<PlaceInOrder>;

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
    #[inline]
    fn words(&self) -> &[u64] {
        std::slice::from_ref(self)
    }
}

impl Bits for Box<[u64]> {
    type Places = BTreeSet<PlaceInOrder>;

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
    fn words(&self) -> &[u64] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::TaskId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_list_and_a_tree_of_jobs_are_the_same(
            steps in prop::collection::vec((0i64..40, any::<bool>()), 0..200),
        ) {
            let (mut list, mut tree) = (Vec::new(), BTreeSet::new());
            for (key, adds) in steps {
                let place = PlaceInOrder { key, ready: 0, rank: 0, task: TaskId(0) };
                if !list.contains(&place) {
                    list.put(place);
                    tree.put(place);
                } else if !adds {
                    Places::take(&mut list, place);
                    Places::take(&mut tree, place);
                }
                prop_assert_eq!(list.final_one(), tree.final_one());
                prop_assert!(list.in_order().eq(tree.in_order()));
            }
        }

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
