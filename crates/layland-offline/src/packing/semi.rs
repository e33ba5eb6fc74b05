//! Semi-partitioned systems: each task that fits is tied to one CPU, the others migrate (Tang, Anderson
//! and Abeni 2021, Section 6.1).

use crate::{Bins, Heuristic, place};
use layland_model::{CpuId, Index, Rate, RateSum, System, TaskMap};
use std::cmp::Ordering;

/// Assigns tasks to CPUs by their utilizations at their own criticality levels, such that no CPU is
/// loaded beyond `limit`; `None` for a task that fits no CPU when its turn comes. Tasks come by
/// rank, or by decreasing utilization if the heuristic requires it. Exact; ignores the affinities
/// of the tasks.
///
/// ```
/// use layland_model::{CpuId, Duration, Rate, Service, System, Task};
/// use layland_offline::{Heuristic, semi_partition};
/// let tasks = ["a", "b", "c"].map(|name| Task::implicit(name, Service::from_ms(6), Duration::from_ms(10)));
/// let cpu_of = semi_partition(&System::new(2, tasks.to_vec()), Heuristic::Wfd, &Rate::ONE);
/// assert_eq!(cpu_of.as_slice(), [Some(CpuId(0)), Some(CpuId(1)), None]);
/// ```
pub fn semi_partition(
    system: &System,
    heuristic: Heuristic,
    limit: &Rate,
) -> TaskMap<Option<CpuId>> {
    let by_rank = system.by_rank();
    let sizes: Vec<Rate> = by_rank.iter().map(|&task| system.tasks[task].utilization()).collect();
    let cpus = system.platform.cpu_count();
    let mut bins = WithLeftovers { sizes: &sizes, limit, loads: vec![RateSum::default(); cpus] };
    let placed = place(&mut bins, &heuristic.order(&sizes), heuristic)
        .expect("tasks that fit on no CPU are left over");
    let mut cpu_of = TaskMap::filled(None, by_rank.len());
    for (task, bin) in by_rank.into_iter().zip(placed) {
        cpu_of[task] = (bin < cpus).then(|| CpuId::from_index(bin));
    }
    cpu_of
}

/// The CPUs, and a last bin for the tasks that fit none of them.
struct WithLeftovers<'a> {
    sizes: &'a [Rate],
    limit: &'a Rate,
    loads: Vec<RateSum>,
}

impl Bins for WithLeftovers<'_> {
    fn count(&self) -> usize {
        self.loads.len() + 1
    }
    fn fits(&self, bin: usize, item: usize) -> bool {
        let fits = |load: &RateSum| load.fits(&self.sizes[item], self.limit);
        match self.loads.get(bin) {
            Some(load) => fits(load),
            None => !self.loads.iter().any(fits),
        }
    }
    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        // The last bin fits an item only if no other bin does, so it is never compared with one
        // that fits.
        match (self.loads.get(a), self.loads.get(b)) {
            (Some(a), Some(b)) => a.cmp_sum(b),
            (_, _) => a.cmp(&b),
        }
    }
    fn put(&mut self, bin: usize, item: usize) {
        if let Some(load) = self.loads.get_mut(bin) {
            load.add(&self.sizes[item]);
        }
    }
}
