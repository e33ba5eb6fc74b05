//! The maximum number of blocks that are reloaded because jobs of one task preempt jobs of others.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `aff(i, j)` | `affected` | tasks that jobs of `j` may preempt, and whose reloads matter |
//! | `hep(j)` | [`Cached::above`] | `j`, and tasks whose jobs may preempt a job of `j`, or run while it is preempted |
//! | `E_j(t)` | `jobs` | jobs of `j` in the interval |
//! | `E_j(R_k) E_k(t)` | `preemptions` | the maximum number of times that they can preempt jobs of `k` |
//!
//! Proof that the counts suffice: each reload of a block of `k` is due to the first job that
//! evicted it since `k` ran, and a job of `j` is this job at most once for each set (UCB-Union).
//! Alternatively, for each job that resumes, take the job of lowest priority (under EDF: with the
//! longest relative deadline) among those that ran meanwhile. No job is taken for two others
//! (UCB-Only, ECB-Union): if one of these has preempted the other, only the inner one has waited
//! for nothing else.

use layland_model::{CacheSets, Task, TaskId};

/// The method of counting reloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// ECB-Only.
    EcbOnly,
    /// UCB-Only.
    UcbOnly,
    /// UCB-Union.
    UcbUnion,
    /// ECB-Union.
    EcbUnion,
    /// UCB-Union Multiset.
    UcbMultiset,
    /// ECB-Union Multiset.
    EcbMultiset,
    /// The smaller sum of the two multiset approaches.
    Combined,
}

impl Approach {
    /// Every approach.
    pub const ALL: [Approach; 7] = [
        Approach::EcbOnly,
        Approach::UcbOnly,
        Approach::UcbUnion,
        Approach::EcbUnion,
        Approach::UcbMultiset,
        Approach::EcbMultiset,
        Approach::Combined,
    ];

    /// Returns true if the approach uses the number of preemptions of a task, not only whether it
    /// can be preempted.
    pub fn is_multiset(self) -> bool {
        match self {
            Approach::EcbOnly | Approach::UcbOnly | Approach::UcbUnion | Approach::EcbUnion => {
                false
            }
            Approach::UcbMultiset | Approach::EcbMultiset | Approach::Combined => true,
        }
    }
}

/// A task with its blocks. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    /// The id of the task.
    pub id: TaskId,
    /// `C`: the maximum execution time of a job, without reloads.
    pub wcet: i64,
    /// `D`, the relative deadline.
    pub deadline: i64,
    /// `T`, the period.
    pub period: i64,
    /// The useful blocks, by the cache sets that they are in.
    pub ucb: CacheSets,
    /// The evicting blocks.
    pub ecb: CacheSets,
    /// `hep`: the number of tasks, from the start of the list, that may run while a job waits that
    /// a job of this task has preempted. This task is one of them.
    pub above: usize,
}

impl Cached {
    /// Returns a task of a system, with the number of tasks above it, including itself.
    pub(crate) fn of(id: TaskId, task: &Task, above: usize) -> Cached {
        let (ucb, ecb) = match &task.cache {
            Some(cache) => (cache.ucb.clone(), cache.ecb.clone()),
            None => Default::default(),
        };
        let [wcet, deadline, period] = [task.own_wcet().ns(), task.deadline.ns(), task.period.ns()];
        Cached { id, wcet, deadline, period, ucb, ecb, above }
    }
}

/// The blocks that a task may have to reload because of another one.
#[derive(Clone, Copy, Debug)]
struct Victim {
    /// The preempted task.
    task: usize,
    /// `|UCB_k|`.
    useful: i64,
    /// `|UCB_k` and the `ECB` of the preempting task and of all tasks above`|`.
    by_all_above: i64,
}

/// A preempting task.
#[derive(Clone, Debug)]
struct Evictor {
    /// `|ECB_j|`.
    evicting: i64,
    /// The tasks that it may preempt, in descending order of `by_all_above`.
    victims: Vec<Victim>,
    /// For each set that it evicts and that is useful to some of these tasks: the tasks to which it
    /// is useful.
    sets: Vec<Vec<usize>>,
}

/// The block counts of some tasks on one CPU, from which reloads are computed.
#[derive(Clone, Debug)]
pub struct Reloads {
    of: Vec<Evictor>,
}

impl Reloads {
    /// Counts the blocks of these tasks. A job of the task at `j` may preempt jobs of the tasks at
    /// its [`Cached::above`] and later.
    pub fn new(tasks: &[Cached]) -> Reloads {
        let evictor = |tau_j: &Cached| {
            let mut by_above = CacheSets::new();
            tasks[..tau_j.above].iter().for_each(|above| by_above.extend(&above.ecb));
            let below = || tasks.iter().enumerate().skip(tau_j.above);
            let mut victims: Vec<Victim> = below()
                .map(|(task, tau_k)| Victim {
                    task,
                    useful: tau_k.ucb.len() as i64,
                    by_all_above: tau_k.ucb.common(&by_above) as i64,
                })
                .collect();
            victims.sort_by_key(|victim| std::cmp::Reverse(victim.by_all_above));
            let sets = tau_j.ecb.iter().map(|set| {
                let has = below().filter(|(_, tau_k)| tau_k.ucb.contains(set));
                has.map(|(task, _)| task).collect::<Vec<usize>>()
            });
            let sets = sets.filter(|has| !has.is_empty()).collect();
            Evictor { evicting: tau_j.ecb.len() as i64, victims, sets }
        };
        Reloads { of: tasks.iter().map(evictor).collect() }
    }

    /// The maximum number of blocks that are reloaded because of this number of `jobs` of each
    /// task, by an approach.
    ///
    /// `preemptions(j, k)` is the number of times that jobs of `j` can preempt jobs of `k` in
    /// total; it is 0 if jobs of `k` do not matter.
    pub fn most(
        &self,
        approach: Approach,
        jobs: impl Fn(usize) -> i64,
        preemptions: impl Fn(usize, usize) -> i64,
    ) -> i64 {
        let all = |approach| {
            let of = |(j, evictor): (usize, &Evictor)| {
                evictor.most(approach, jobs(j), |k| preemptions(j, k))
            };
            self.of.iter().enumerate().map(of).fold(0, i64::saturating_add)
        };
        match approach {
            Approach::Combined => all(Approach::UcbMultiset).min(all(Approach::EcbMultiset)),
            Approach::EcbOnly
            | Approach::UcbOnly
            | Approach::UcbUnion
            | Approach::EcbUnion
            | Approach::UcbMultiset
            | Approach::EcbMultiset => all(approach),
        }
    }
}

impl Evictor {
    /// The reloads because of one preempting task.
    fn most(&self, approach: Approach, jobs: i64, preemptions: impl Fn(usize) -> i64) -> i64 {
        if jobs == 0 {
            return 0;
        }
        let is_affected = |victim: &&Victim| preemptions(victim.task) > 0;
        let affected = || self.victims.iter().filter(is_affected);
        let each = match approach {
            Approach::EcbOnly => affected().next().map_or(0, |_| self.evicting),
            Approach::UcbOnly => affected().map(|victim| victim.useful).max().unwrap_or(0),
            Approach::UcbUnion => {
                let is_useful = |has: &&Vec<usize>| has.iter().any(|&k| preemptions(k) > 0);
                self.sets.iter().filter(is_useful).count() as i64
            }
            // The victims are sorted by this value, so the first one has the maximum.
            Approach::EcbUnion => affected().next().map_or(0, |victim| victim.by_all_above),
            Approach::UcbMultiset => {
                let of_set = |has: &Vec<usize>| {
                    let evicted = has.iter().map(|&k| preemptions(k));
                    evicted.fold(0, i64::saturating_add).min(jobs)
                };
                return self.sets.iter().map(of_set).sum();
            }
            Approach::EcbMultiset | Approach::Combined => {
                let (mut left, mut sum) = (jobs, 0i64);
                for victim in &self.victims {
                    let times = preemptions(victim.task).min(left);
                    sum = sum.saturating_add(times.saturating_mul(victim.by_all_above));
                    left -= times;
                }
                return sum;
            }
        };
        each.saturating_mul(jobs)
    }
}
