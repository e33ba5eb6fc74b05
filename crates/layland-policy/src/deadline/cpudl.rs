//! What Linux calls `cpudl`: which CPUs of a cluster are free, and which of the others has the
//! latest earliest deadline.
//!
//! A bitmap of the free CPUs and a max-heap of the others, keyed by the earliest deadline of the
//! tasks queued on each. Looking is O(1), a change O(log m). Ties go to the lowest CPU; one CPU can
//! be preferred.

use layland_model::{CpuId, CpuSet, Index, Time};
use std::cmp::Reverse;

const NOT_IN_HEAP: u32 = u32::MAX;

/// See the file header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpudl {
    free: CpuSet,
    /// A binary heap: each CPU comes before the two at `2i + 1` and `2i + 2`.
    heap: Vec<(Time, CpuId)>,
    /// Where each CPU is in the heap, or [`NOT_IN_HEAP`].
    place: Vec<u32>,
}

/// The order of the heap: the latest deadline first, among equals the lowest CPU.
fn order((key, cpu): (Time, CpuId)) -> (Time, Reverse<CpuId>) {
    (key, Reverse(cpu))
}

impl Cpudl {
    /// Sets the earliest deadline of a CPU, `None` if it is free.
    pub(crate) fn set(&mut self, cpu: CpuId, earliest: Option<Time>) {
        if cpu.index() >= self.place.len() {
            self.place.resize(cpu.index() + 1, NOT_IN_HEAP);
        }
        let place = self.place[cpu.index()];
        match earliest {
            Some(key) => {
                self.free.remove(cpu);
                let at = if place == NOT_IN_HEAP {
                    self.heap.push((key, cpu));
                    self.heap.len() - 1
                } else {
                    self.heap[place as usize].0 = key;
                    place as usize
                };
                self.place[cpu.index()] = at as u32;
                self.settle(at);
            }
            None => {
                self.free.insert(cpu);
                self.take_out(cpu);
            }
        }
    }

    /// Forgets a CPU.
    pub(crate) fn remove(&mut self, cpu: CpuId) {
        self.free.remove(cpu);
        self.take_out(cpu);
    }

    fn take_out(&mut self, cpu: CpuId) {
        let Some(place) = self.place.get_mut(cpu.index()) else { return };
        let at = std::mem::replace(place, NOT_IN_HEAP) as usize;
        if at == NOT_IN_HEAP as usize {
            return;
        }
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            self.place[self.heap[at].1.index()] = at as u32;
            self.settle(at);
        }
    }

    /// Moves an entry up or down to where it belongs.
    fn settle(&mut self, mut at: usize) {
        while at > 0 && order(self.heap[at]) > order(self.heap[(at - 1) / 2]) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        loop {
            let below = [2 * at + 1, 2 * at + 2];
            let largest = below
                .into_iter()
                .filter(|&child| child < self.heap.len())
                .max_by_key(|&child| order(self.heap[child]));
            match largest {
                Some(child) if order(self.heap[child]) > order(self.heap[at]) => {
                    self.swap(at, child);
                    at = child;
                }
                Some(_) | None => return,
            }
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a].1.index()] = a as u32;
        self.place[self.heap[b].1.index()] = b as u32;
    }

    /// The free CPUs.
    pub(crate) fn free(&self) -> &CpuSet {
        &self.free
    }

    /// The CPU that is not free with the latest earliest deadline, and that deadline; among equals
    /// `preferred`, or else the lowest.
    pub(crate) fn latest(&self, preferred: CpuId) -> Option<(CpuId, Time)> {
        let &(key, first) = self.heap.first()?;
        let own = self.place.get(preferred.index()).and_then(|&at| self.heap.get(at as usize));
        let cpu = if own.is_some_and(|&(other, _)| other == key) { preferred } else { first };
        Some((cpu, key))
    }

    /// Whether it says of these CPUs what `earliest` says: the slow definition.
    pub(crate) fn agrees(&self, cpus: &CpuSet, earliest: impl Fn(CpuId) -> Option<Time>) -> bool {
        let mut free = CpuSet::new();
        let mut latest: Option<(Time, Reverse<CpuId>)> = None;
        for cpu in cpus.iter() {
            match earliest(cpu) {
                Some(key) => latest = latest.max(Some((key, Reverse(cpu)))),
                None => {
                    free.insert(cpu);
                }
            }
        }
        let found = self.heap.first().map(|&entry| order(entry));
        free == self.free && latest == found && self.heap.len() + free.len() == cpus.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn says_what_a_scan_says(
            steps in prop::collection::vec((0u32..7, prop::option::of(0i64..5), 0u32..8), 0..60),
        ) {
            let mut cpudl = Cpudl::default();
            let mut keys: Vec<Option<Option<Time>>> = vec![None; 7];
            for (cpu, key, preferred) in steps {
                let (cpu, preferred) = (CpuId(cpu), CpuId(preferred));
                if preferred == CpuId(7) {
                    cpudl.remove(cpu);
                    keys[cpu.index()] = None;
                } else {
                    let key = key.map(Time::from_ns);
                    cpudl.set(cpu, key);
                    keys[cpu.index()] = Some(key);
                }
                let known: CpuSet =
                    (0..7).map(CpuId).filter(|cpu| keys[cpu.index()].is_some()).collect();
                prop_assert!(cpudl.agrees(&known, |cpu| keys[cpu.index()].flatten()));
                let slow = known
                    .iter()
                    .filter_map(|cpu| Some((keys[cpu.index()]??, cpu == preferred, Reverse(cpu))))
                    .max();
                prop_assert_eq!(
                    cpudl.latest(preferred),
                    slow.map(|(key, _, Reverse(cpu))| (cpu, key))
                );
            }
        }
    }
}
