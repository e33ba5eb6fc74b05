//! Hall's condition: checks that the tasks that are confined to a set of CPUs fit those CPUs.

use crate::{CpuSet, Index, Rate, RateSum, System};
use std::collections::BTreeMap;

/// A set of CPUs with the tasks that may run only there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The sum of the utilizations of these tasks.
    pub utilization: RateSum,
    /// True if the sum is at most the number of CPUs.
    pub fits: bool,
}

impl System {
    /// The distinct affinities, each with the sum of the utilizations of its tasks, ordered by
    /// lowest CPU.
    pub fn affinities(&self) -> Vec<(CpuSet, RateSum)> {
        let mut affinities: BTreeMap<_, RateSum> = BTreeMap::new();
        for (id, task) in self.tasks.iter() {
            let cpus = self.allowed_cpus(id);
            task.add_utilization(affinities.entry((cpus.lowest(), cpus)).or_default());
        }
        affinities.into_iter().map(|((_, cpus), sum)| (cpus, sum)).collect()
    }

    /// Checks Hall's condition on unit-speed CPUs, for laminar affinities: any two are nested or
    /// disjoint. The condition holds if the tasks confined to each set of CPUs fit it; with laminar
    /// affinities only the affinities themselves and the set of all CPUs can fail. Returns the
    /// smallest set that fails, or all CPUs if none fails; `None` if the affinities are not
    /// laminar.
    ///
    /// ```
    /// use layland_model::{Duration, Service, System, Task};
    /// // Two CPUs could do 1.8, but the first two tasks share CPU 0.
    /// let tasks = [(6, "0"), (6, "0"), (6, "0-1")].map(|(c, cpus)| {
    ///     let mut task = Task::implicit("", Service::from_ms(c), Duration::from_ms(10));
    ///     task.affinity = cpus.parse().ok();
    ///     task
    /// });
    /// let confined = System::new(2, tasks.to_vec()).hall().unwrap();
    /// assert_eq!((confined.cpus.to_string().as_str(), confined.fits), ("0", false));
    /// ```
    pub fn hall(&self) -> Option<Confined> {
        let mut masks = self.affinities();
        // Ascending by size: the tasks confined to a mask are those of the mask and of its children.
        masks.sort_by_key(|(mask, _)| mask.len());
        let all = self.platform.all_cpus();
        if masks.last().is_none_or(|(largest, _)| *largest != all) {
            masks.push((all, RateSum::default()));
        }
        // For each CPU, the largest mask so far that contains it.
        let mut top: Vec<Option<usize>> = vec![None; self.platform.cpu_count()];
        let mut confined: Vec<RateSum> = Vec::with_capacity(masks.len());
        let mut violated = None;
        for (at, (mask, own)) in masks.iter().enumerate() {
            let mut sum = own.clone();
            let mut children: Vec<usize> = mask.iter().filter_map(|cpu| top[cpu.index()]).collect();
            children.sort_unstable();
            children.dedup();
            for &child in &children {
                // A child that is not nested in the mask overlaps it: the affinities are not
                // laminar.
                if !masks[child].0.is_subset(mask) {
                    return None;
                }
                sum.add_all(&confined[child]);
            }
            mask.iter().for_each(|cpu| top[cpu.index()] = Some(at));
            if violated.is_none() && !sum.fits(&Rate::ZERO, &Rate::whole(mask.len() as i64)) {
                violated = Some(at);
            }
            confined.push(sum);
        }
        // Do not return at the first violation: a later mask may show that the affinities are not
        // laminar.
        let at = violated.unwrap_or(masks.len() - 1);
        let (cpus, utilization) = (masks[at].0.clone(), confined.swap_remove(at));
        Some(Confined { cpus, utilization, fits: violated.is_none() })
    }
}
