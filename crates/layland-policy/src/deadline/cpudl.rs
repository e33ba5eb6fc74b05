//! The `cpudl` of Linux: the free CPUs of a cluster, and the CPU with the latest earliest deadline
//! among the others.
//!
//! It keeps a bitmap of the free CPUs, and the earliest deadline of the tasks queued on each of the
//! others. Ties go to the lowest CPU; one CPU can be preferred.
//!
//! Deadlines change several times per lookup. On a small machine they are a list, which a lookup
//! scans. On a large one they are a max-heap: a lookup is O(1), a change O(log m).

use layland_model::{CpuId, CpuSet, Index, Time};
use std::cmp::Reverse;

const NOT_IN_HEAP: u32 = u32::MAX;

/// See the file header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpudl {
    free: CpuSet,
    late: BusyCpus,
}

/// The CPUs that are not free.
#[derive(Clone, Debug)]
enum BusyCpus {
    /// By CPU; [`NOT_LATE`] for a CPU that is free or not contained.
    Few(Vec<Time>),
    Many(Heap),
}

impl Default for BusyCpus {
    fn default() -> Self {
        BusyCpus::Few(Vec::new())
    }
}

/// A value before every deadline.
const NOT_LATE: Time = Time::from_ns(i64::MIN);

impl Cpudl {
    /// The maximum number of CPUs in a list.
    const FEW: usize = 32;

    /// Sets the earliest deadline of a CPU, `None` if it is free.
    #[inline]
    pub(crate) fn set(&mut self, cpu: CpuId, earliest: Option<Time>) {
        match earliest {
            Some(key) => {
                self.free.remove(cpu);
                match &mut self.late {
                    BusyCpus::Few(keys) if cpu.index() < keys.len() => keys[cpu.index()] = key,
                    BusyCpus::Few(_) => self.set_new(cpu, key),
                    BusyCpus::Many(heap) => heap.set(cpu, key),
                }
            }
            None => {
                self.free.insert(cpu);
                self.take_out(cpu);
            }
        }
    }

    /// Sets the deadline of a CPU beyond the end of the list.
    #[cold]
    fn set_new(&mut self, cpu: CpuId, key: Time) {
        let BusyCpus::Few(keys) = &mut self.late else { return };
        if cpu.index() < Cpudl::FEW {
            keys.resize(cpu.index() + 1, NOT_LATE);
            keys[cpu.index()] = key;
            return;
        }
        let mut heap = Heap::default();
        for (at, &key) in keys.iter().enumerate().filter(|&(_, &key)| key != NOT_LATE) {
            heap.set(CpuId::from_index(at), key);
        }
        heap.set(cpu, key);
        self.late = BusyCpus::Many(heap);
    }

    /// Removes a CPU.
    pub(crate) fn remove(&mut self, cpu: CpuId) {
        self.free.remove(cpu);
        self.take_out(cpu);
    }

    #[inline]
    fn take_out(&mut self, cpu: CpuId) {
        match &mut self.late {
            BusyCpus::Few(keys) => {
                if let Some(key) = keys.get_mut(cpu.index()) {
                    *key = NOT_LATE;
                }
            }
            BusyCpus::Many(heap) => heap.take_out(cpu),
        }
    }

    /// Returns the free CPUs.
    pub(crate) fn free(&self) -> &CpuSet {
        &self.free
    }

    /// Returns the CPU with the latest earliest deadline among those that are not free, and that
    /// deadline; among equals `preferred`, or else the lowest.
    #[inline]
    pub(crate) fn latest(&self, preferred: CpuId) -> Option<(CpuId, Time)> {
        let (key, first, own) = match &self.late {
            BusyCpus::Few(keys) => {
                let (mut latest, mut first) = (NOT_LATE, 0);
                for (at, &key) in keys.iter().enumerate() {
                    first = if key > latest { at } else { first };
                    latest = latest.max(key);
                }
                if latest == NOT_LATE {
                    return None;
                }
                (latest, CpuId::from_index(first), keys.get(preferred.index()).copied())
            }
            BusyCpus::Many(heap) => {
                let &(key, first) = heap.entries.first()?;
                (key, first, heap.key(preferred))
            }
        };
        Some((if own == Some(key) { preferred } else { first }, key))
    }

    /// Returns true if the contents for these CPUs agree with `earliest`: the slow definition.
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
        let (found, late) = match &self.late {
            BusyCpus::Few(keys) => {
                let late = keys.iter().enumerate().filter(|&(_, &key)| key != NOT_LATE);
                let entries = late.map(|(at, &key)| order((key, CpuId::from_index(at))));
                (entries.clone().max(), entries.count())
            }
            BusyCpus::Many(heap) => {
                (heap.entries.first().map(|&entry| order(entry)), heap.entries.len())
            }
        };
        free == self.free && latest == found && late + free.len() == cpus.len()
    }
}

/// The CPUs of a large machine that are not free.
#[derive(Clone, Debug, Default)]
struct Heap {
    /// A binary heap: each CPU comes before the two at `2i + 1` and `2i + 2`.
    entries: Vec<(Time, CpuId)>,
    /// The position of each CPU in the heap, or [`NOT_IN_HEAP`].
    place: Vec<u32>,
}

/// Returns the key of the order of the heap: the latest deadline first, among equals the lowest
/// CPU.
fn order((key, cpu): (Time, CpuId)) -> (Time, Reverse<CpuId>) {
    (key, Reverse(cpu))
}

impl Heap {
    fn set(&mut self, cpu: CpuId, key: Time) {
        if cpu.index() >= self.place.len() {
            self.place.resize(cpu.index() + 1, NOT_IN_HEAP);
        }
        let place = self.place[cpu.index()];
        let at = if place == NOT_IN_HEAP {
            self.entries.push((key, cpu));
            self.entries.len() - 1
        } else {
            self.entries[place as usize].0 = key;
            place as usize
        };
        self.place[cpu.index()] = at as u32;
        self.settle(at);
    }

    fn take_out(&mut self, cpu: CpuId) {
        let Some(place) = self.place.get_mut(cpu.index()) else { return };
        let at = std::mem::replace(place, NOT_IN_HEAP) as usize;
        if at == NOT_IN_HEAP as usize {
            return;
        }
        self.entries.swap_remove(at);
        if at < self.entries.len() {
            self.place[self.entries[at].1.index()] = at as u32;
            self.settle(at);
        }
    }

    /// Moves an entry up or down to its place.
    fn settle(&mut self, mut at: usize) {
        while at > 0 && order(self.entries[at]) > order(self.entries[(at - 1) / 2]) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        loop {
            let below = [2 * at + 1, 2 * at + 2];
            let largest = below
                .into_iter()
                .filter(|&child| child < self.entries.len())
                .max_by_key(|&child| order(self.entries[child]));
            match largest {
                Some(child) if order(self.entries[child]) > order(self.entries[at]) => {
                    self.swap(at, child);
                    at = child;
                }
                Some(_) | None => return,
            }
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.entries.swap(a, b);
        self.place[self.entries[a].1.index()] = a as u32;
        self.place[self.entries[b].1.index()] = b as u32;
    }

    fn key(&self, cpu: CpuId) -> Option<Time> {
        let &at = self.place.get(cpu.index())?;
        Some(self.entries.get(at as usize)?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Uses seven CPUs, from the first on or around the number from which there is a heap.
        #[test]
        fn says_what_a_scan_says(
            from in prop::sample::select(vec![0u32, 28, 40]),
            steps in prop::collection::vec((0u32..7, prop::option::of(0i64..5), 0u32..8), 0..60),
        ) {
            let mut cpudl = Cpudl::default();
            let mut keys: Vec<Option<Option<Time>>> = vec![None; 47];
            for (cpu, key, preferred) in steps {
                let (cpu, preferred) = (CpuId(from + cpu), CpuId(from + preferred));
                if preferred == CpuId(from + 7) {
                    cpudl.remove(cpu);
                    keys[cpu.index()] = None;
                } else {
                    let key = key.map(Time::from_ns);
                    cpudl.set(cpu, key);
                    keys[cpu.index()] = Some(key);
                }
                let known: CpuSet =
                    (0..47).map(CpuId).filter(|cpu| keys[cpu.index()].is_some()).collect();
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
