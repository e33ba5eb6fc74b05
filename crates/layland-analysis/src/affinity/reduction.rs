//! Scheduling with affinities, analysed task by task as global scheduling on a part of the CPUs
//! (Gujarati, Cerqueira, Brandenburg 2013; 2015). The common part of
//! [`fixed_priority`](super::fixed_priority) and [`edf`](super::edf).
//!
//! | paper | meaning |
//! |---|---|
//! | `alpha_k` | the CPUs that `tau_k` may use |
//! | `S` | a non-empty part of `alpha_k` |
//! | rivals | tasks that may interfere with `tau_k` and whose affinity has a CPU of `S` |
//!
//! **The argument.** Under the weak invariant (and so under the strong one, whose reachable CPUs
//! contain the affinity) every CPU of `alpha_k`, hence every CPU of `S`, runs a job that comes
//! before `J_k` at each instant at which `J_k` is ready and does not run. Such a job is of a rival:
//! it runs on a CPU of `S`, so its affinity has one. A rival runs on one CPU at a time. So during
//! any `x` instants at which `J_k` waits, the rivals execute `|S| x` on `S`, none of them for more
//! than `x`, and none for more than it executes in total in the window that contains these
//! instants. The analysis of global scheduling on `|S|` CPUs uses no other property of the
//! scheduler. If rivals also use CPUs outside `S`, their interference with `J_k` only decreases.
//! The argument does not depend on how `tau_k` or a rival gets to a CPU, so shifts make no
//! difference as long as they cost nothing.
//!
//! **The parts.** CPUs of `alpha_k` that are contained in the same affinities form a *class*.
//! Adding to `S` the rest of a class that it touches adds CPUs but no rivals, so only unions of
//! classes matter. With up to [`EVERY`] classes all unions are tried. With more, these are tried:
//! `alpha_k`; its intersections with other affinities, and its remainders without them; single
//! classes; and a chain from `alpha_k` down to one class. Each step of the chain drops the class
//! whose removal takes away the most utilization confined to the rest (the first of equals).

use crate::Sporadic;
use layland_model::{CpuSet, System};
use std::collections::BTreeSet;

/// All unions are tried for up to this number of classes.
pub const EVERY: usize = 8;

/// The data that the reduction needs from a system, for tasks in any order.
pub(crate) struct Masked {
    pub(crate) tasks: Vec<Sporadic>,
    pub(crate) masks: Vec<CpuSet>,
    /// True if all tasks may use the same CPUs.
    are_alike: bool,
}

/// A part of the CPUs of a task, and the tasks that may run there.
pub(crate) struct CpuPart {
    /// `S`.
    pub(crate) cpus: CpuSet,
    /// The rivals, as indices.
    pub(crate) rivals: Vec<usize>,
}

impl Masked {
    /// Returns the tasks with these ids.
    pub(crate) fn new(system: &System, ids: impl Iterator<Item = layland_model::TaskId>) -> Masked {
        let of = |id| (Sporadic::from(&system.tasks[id]), system.allowed_cpus(id));
        let (tasks, masks): (_, Vec<CpuSet>) = ids.map(of).unzip();
        let are_alike = masks.windows(2).all(|pair| pair[0] == pair[1]);
        Masked { tasks, masks, are_alike }
    }

    /// The parts of the CPUs of task `k` to try, where these other tasks may interfere.
    pub(crate) fn parts(&self, k: usize, others: impl Fn() -> Vec<usize>) -> Vec<CpuPart> {
        let own = &self.masks[k];
        if self.are_alike {
            // There is one class, and every other task shares it.
            return vec![CpuPart { cpus: own.clone(), rivals: others() }];
        }
        let others: Vec<usize> =
            others().into_iter().filter(|&i| !self.masks[i].is_disjoint(own)).collect();
        let distinct: BTreeSet<&CpuSet> = others.iter().map(|&i| &self.masks[i]).collect();
        let classes = classes(own, &distinct);
        let unions = if classes.len() <= EVERY {
            (1u32..1 << classes.len())
                .map(|bits| {
                    let chosen = classes.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
                    chosen.fold(CpuSet::new(), |union, (_, class)| union.union(class))
                })
                .collect()
        } else {
            self.family(own, &distinct, classes, &others)
        };
        unions
            .into_iter()
            .map(|cpus| {
                let meets = |&i: &usize| !self.masks[i].is_disjoint(&cpus);
                CpuPart { rivals: others.iter().copied().filter(meets).collect(), cpus }
            })
            .collect()
    }

    /// The unions of classes to try where there are too many classes to try all.
    fn family(
        &self,
        own: &CpuSet,
        distinct: &BTreeSet<&CpuSet>,
        classes: Vec<CpuSet>,
        others: &[usize],
    ) -> BTreeSet<CpuSet> {
        let mut family = BTreeSet::from([own.clone()]);
        for mask in distinct {
            family.extend([own.intersection(mask), own.difference(mask)]);
        }
        family.remove(&CpuSet::new());
        // Removing a class takes away the load of the tasks that have no other CPU in the rest.
        let (mut rest, mut left) = (own.clone(), classes.clone());
        while left.len() > 1 {
            let load = |class: &CpuSet| -> u128 {
                let without = rest.difference(class);
                let confined = others.iter().filter(|&&i| {
                    !self.masks[i].is_disjoint(class) && self.masks[i].is_disjoint(&without)
                });
                confined.map(|&i| crate::sporadic::load_above(&self.tasks[i..=i])).sum()
            };
            let mut heaviest = (0, load(&left[0]));
            for (at, class) in left.iter().enumerate().skip(1) {
                let load = load(class);
                if load > heaviest.1 {
                    heaviest = (at, load);
                }
            }
            rest = rest.difference(&left.remove(heaviest.0));
            family.insert(rest.clone());
        }
        family.extend(classes);
        family
    }
}

/// Partitions the CPUs of `own` by which of these sets contain them, in the order of their lowest
/// CPU.
fn classes(own: &CpuSet, sets: &BTreeSet<&CpuSet>) -> Vec<CpuSet> {
    let mut classes = vec![own.clone()];
    for set in sets {
        let cut = |class: CpuSet| [class.intersection(set), class.difference(set)];
        classes = classes.into_iter().flat_map(cut).filter(|class| !class.is_empty()).collect();
    }
    classes.sort_by_key(CpuSet::lowest);
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Duration, Service, Task};

    #[test]
    fn where_all_affinities_are_alike_there_is_one_part() {
        for cpus in [None, Some("1-2"), Some("3")] {
            for count in 1..6usize {
                let task = |at: usize| {
                    let (wcet, period) = (Service::from_ms(1), Duration::from_ms(4 + at as i64));
                    let mut task = Task::implicit(at.to_string(), wcet, period);
                    task.affinity = cpus.and_then(|cpus| cpus.parse().ok());
                    task
                };
                let system = System::new(4, (0..count).map(task).collect());
                let alike = Masked::new(&system, system.tasks.ids());
                assert!(alike.are_alike);
                let in_general =
                    Masked { are_alike: false, ..Masked::new(&system, system.tasks.ids()) };
                for k in 0..count {
                    let parts = |masked: &Masked| -> Vec<(CpuSet, Vec<usize>)> {
                        let others = || (0..count).filter(|&i| i != k).collect();
                        let parts = masked.parts(k, others);
                        parts.into_iter().map(|part| (part.cpus, part.rivals)).collect()
                    };
                    assert_eq!(parts(&alike), parts(&in_general));
                }
            }
        }
        let tasks = ["0", "0-1"].map(|cpus| {
            let mut task = Task::implicit(cpus, Service::from_ms(1), Duration::from_ms(4));
            task.affinity = cpus.parse().ok();
            task
        });
        let system = System::new(2, tasks.to_vec());
        assert!(!Masked::new(&system, system.tasks.ids()).are_alike);
    }
}
