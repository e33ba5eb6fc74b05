//! Counts the operations of the hierarchy of masks in tests, so that the complexities of
//! Bonifaci et al. 2016 (Theorems III.4 to III.6) are claims that can fail on any machine.
//!
//! An operation is the visit of a mask, the comparison of two jobs, or the visit of a chosen job.
//! Without tests nothing is counted.

#[cfg(test)]
std::thread_local! {
    static COUNT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts one operation.
#[inline]
pub(crate) fn touch() {
    #[cfg(test)]
    COUNT.with(|count| count.set(count.get() + 1));
}

/// Returns the operations since the last call.
#[cfg(test)]
fn taken() -> u64 {
    COUNT.with(std::cell::Cell::take)
}

#[cfg(test)]
mod tests {
    use super::super::backlog::PlaceInOrder;
    use super::super::bits::Bits;
    use super::super::hierarchy::{ArrivalEffect, Departure, MaskHierarchy};
    use super::taken;
    use layland_model::{CpuId, CpuSet, TaskId};
    use std::collections::BTreeMap;

    /// The constants: those of systems with 4 to 16 CPUs, rounded up.
    const ARRIVAL: f64 = 3.0;
    const DEPARTURE: f64 = 3.0;
    const MAPPING: f64 = 4.0;

    /// The largest numbers of operations in a run, in units of m + log n for an arrival and a
    /// departure, and of m for a mapping. The theorems have m and log n + m^2 for the first two:
    /// they assume heaps that insert a job with O(1) comparisons, and the tree has ordered sets.
    #[derive(Debug, Default)]
    struct Largest {
        arrival: f64,
        departure: f64,
        mapping: f64,
        /// Replacements and departures that call a task back, which are the expensive cases.
        expensive: u64,
    }

    /// The masks of a machine whose halves, quarters and so on down to single CPUs are masks: the
    /// most that a tree of this depth can have, 2 m - 1.
    fn masks(cpus: u32) -> Vec<CpuSet> {
        let mut masks = Vec::new();
        let mut size = cpus;
        while size > 0 {
            let starts = (0..cpus).step_by(size as usize);
            masks.extend(starts.map(|at| (at..at + size).map(CpuId).collect::<CpuSet>()));
            size /= 2;
        }
        masks
    }

    /// Lets `tasks` tasks arrive and depart at random, and counts the operations of each event.
    fn run<B: Bits>(cpus: u32, tasks: u32, events: u32) -> Largest {
        let masks = masks(cpus);
        let given: Vec<&CpuSet> = masks.iter().collect();
        let all = CpuSet::first(cpus as usize);
        let (mut tree, node_of) = MaskHierarchy::<B>::new(&given, &all, cpus as usize);
        let mut state = u64::from(cpus) << 32 | u64::from(tasks);
        let mut below = |bound: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % u64::from(bound)) as u32
        };
        let mut ready: BTreeMap<u32, (u32, PlaceInOrder, bool)> = BTreeMap::new();
        let mut most = Largest::default();
        let log = f64::from(tasks).log2().max(1.0);
        let m = f64::from(cpus);
        taken();
        for _ in 0..events {
            let task = below(tasks);
            if let Some((node, place, is_chosen)) = ready.remove(&task) {
                let left = tree.depart(node, place, is_chosen);
                most.departure = most.departure.max(taken() as f64 / (m + log));
                if let Departure::Left(Some(next)) = left {
                    most.expensive += 1;
                    ready.get_mut(&next.task.0).expect("it waits").2 = true;
                }
            } else {
                let node = node_of[below(masks.len() as u32) as usize];
                let (key, rank) = (i64::from(below(1_000_000)), i64::from(task));
                let place = PlaceInOrder { key, ready: 0, rank, task: TaskId(task) };
                let effect = tree.arrive(node, place);
                most.arrival = most.arrival.max(taken() as f64 / (m + log));
                if let ArrivalEffect::Replaces(other) = effect {
                    most.expensive += 1;
                    ready.get_mut(&other.task.0).expect("it ran").2 = false;
                }
                ready.insert(task, (node, place, effect != ArrivalEffect::Waits));
            }
            let chosen = tree.chosen().count();
            assert!(chosen <= cpus as usize);
            most.mapping = most.mapping.max(taken() as f64 / m);
        }
        most
    }

    /// Theorem III.4: an arrival takes O(m), here beside a search of an ordered set. Theorem III.5:
    /// a mapping takes O(m). Theorem III.6: a departure takes O(log n + m^2), here O(log n + m).
    #[test]
    fn operations_are_within_the_theorems() {
        for (cpus, tasks) in [(32, 64), (32, 4096), (64, 512), (64, 16_384)] {
            let most = run::<u64>(cpus, tasks, 20_000);
            assert!(most.expensive > 300, "{most:?}");
            assert!(most.arrival <= ARRIVAL, "{cpus} CPUs, {tasks} tasks: {most:?}");
            assert!(most.departure <= DEPARTURE, "{cpus} CPUs, {tasks} tasks: {most:?}");
            assert!(most.mapping <= MAPPING, "{cpus} CPUs, {tasks} tasks: {most:?}");
        }
        let most = run::<Box<[u64]>>(256, 4096, 5_000);
        let within = most.arrival <= ARRIVAL && most.departure <= DEPARTURE;
        assert!(within && most.mapping <= MAPPING, "{most:?}");
    }

    /// The constants are close to what small systems need: with half of them the test would fail.
    #[test]
    fn the_constants_are_those_of_small_systems() {
        let mut most = Largest::default();
        for cpus in [4, 8, 16] {
            let one = run::<u64>(cpus, 32 * cpus, 20_000);
            most.arrival = most.arrival.max(one.arrival);
            most.departure = most.departure.max(one.departure);
            most.mapping = most.mapping.max(one.mapping);
        }
        for (seen, constant) in
            [(most.arrival, ARRIVAL), (most.departure, DEPARTURE), (most.mapping, MAPPING)]
        {
            assert!(seen <= constant && 2.0 * seen > constant, "{most:?}");
        }
    }
}
