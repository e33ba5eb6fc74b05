//! Locks **between CPUs** under partitioned fixed priorities: response times by a joint fixed point.
//!
//! `R_i = C_i + S_i + remote_i + local_i + ceil_i + sum over h above i on its CPU of ceil((R_i +
//! J_h) / T_h) C_h`, with `J_h = R_h - C_h` if `S_h > 0` or `remote_h > 0`, and 0 otherwise. All
//! `R` rise together from `C`. If one exceeds its deadline, the whole set is rejected, because the
//! terms of others depend on it. [`msrp`] has spinning in place of `remote` and `local`.
//!
//! | module | protocol | waiting jobs | a job that holds a resource |
//! |---|---|---|---|
//! | [`mpcp`] | MPCP | suspended, by priority | has a remote ceiling |
//! | [`fmlp`] | FMLP+ | suspended, first in, first out | is boosted, the earliest request first |
//! | [`dpcp`] | DPCP | suspended | runs on the home CPU of the resource |
//! | [`msrp`] | MSRP | spin, first in, first out | is not preempted |
//!
//! For EDF, there is only [`demand`], for MSRP.
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart, (3) no
//! release jitter, (4) `D_i <= T_i`, (5) WCETs are kept, including the sections, (6) overheads are
//! part of `C_i`, (7) unit speeds, (8) nothing changes while the system runs, (9) few pairs of
//! tasks share a CPU, (10) no job suspends itself while it holds a resource (MSRP: jobs do not
//! suspend themselves), (11) only resources of one CPU are nested, (12) DPCP: every resource has a
//! home; for given priorities: every task has one.
//!
//! A resource is **global** if tasks on two or more CPUs use it (DPCP: also if its home is not the
//! CPU of all users), and **local** otherwise. A local resource has an immediate ceiling on its
//! CPU. Suspensions are counted as suspensions, not as execution of others, so all bounds are
//! *suspension-aware*. A bound for suspension-oblivious analysis (OMLP) must not replace one of
//! these terms.
//!
//! | specification | here |
//! |---|---|
//! | `N_{i,q}`, `L_{i,q}` | [`Use`]: the number of sections of a job, and the longest |
//! | `jobs(u, I) = ceil((I + R_u) / T_u)` | [`Shared::jobs`] |
//! | `n_i`, `m_i` | [`Shared::n`], [`Locker::m`] |
//! | `arrivals_i` | the number of times that a section of lower priority can precede the job: at its release, after each request and after each suspension |

#![expect(non_snake_case, reason = "symbols of the specification")]

pub mod demand;
pub mod dpcp;
pub mod fmlp;
pub mod mpcp;
pub mod msrp;

use super::response::{Unbounded, within};
use super::tasks::{Locker, arriving, ceilings, lockers, resource_count, sum, times};
use crate::fixed_point::{Diverged, GaveUp};
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{Finding, Reason, ResponseBound, Verdict};
use layland_model::{CpuId, Duration, System, TaskMap};
use std::cmp::Reverse;

/// The use of a global resource by a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The resource.
    pub q: usize,
    /// The number of sections of a job on it.
    pub N: i64,
    /// The longest of these sections.
    pub L: i64,
}

/// The tasks of a system, the highest base priority first, and their shared resources.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The tasks.
    pub tasks: Vec<Locker>,
    /// For each task, the global resources that it uses, in order.
    pub uses: Vec<Vec<Use>>,
    /// The CPUs that have tasks or are homes, in order.
    pub cpus: Vec<CpuId>,
    /// The tasks on each of these CPUs.
    on: Vec<Vec<usize>>,
    /// The highest priority of the users of each resource.
    pub ceiling: Vec<usize>,
    /// For each task, the longest section of a task of lower priority on its CPU that is on a local
    /// resource whose ceiling is at least as high.
    longest_local: Vec<i64>,
}

impl Shared {
    /// Makes those resources global that have users on several CPUs.
    pub fn new(tasks: Vec<Locker>) -> Shared {
        let mut first: Vec<Option<CpuId>> = vec![None; resource_count(&tasks)];
        let mut is_global = vec![false; first.len()];
        for task in &tasks {
            for section in &task.sections {
                let user = *first[section.q].get_or_insert(task.cpu);
                is_global[section.q] |= user != task.cpu;
            }
        }
        Shared::with_global(tasks, &is_global, [])
    }

    /// Makes these resources global, with these homes.
    fn with_global(
        tasks: Vec<Locker>,
        is_global: &[bool],
        homes: impl IntoIterator<Item = CpuId>,
    ) -> Shared {
        let used = |task: &Locker| {
            let global = (0..is_global.len()).filter(|&q| is_global[q]);
            let uses = global.map(|q| (q, task.requests(q))).filter(|(_, (N, _))| *N > 0);
            uses.map(|(q, (N, L))| Use { q, N, L }).collect::<Vec<Use>>()
        };
        let ceiling = ceilings(&tasks);
        let longest_local = |i: usize| {
            let lower = tasks[i + 1..].iter().filter(|j| j.cpu == tasks[i].cpu);
            let sections = lower.flat_map(|j| &j.sections);
            let blocking = sections.filter(|held| !is_global[held.q] && ceiling[held.q] <= i);
            blocking.map(|held| held.length).max().unwrap_or(0)
        };
        let mut cpus: Vec<CpuId> = tasks.iter().map(|task| task.cpu).chain(homes).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let on = |cpu: &CpuId| (0..tasks.len()).filter(|&u| tasks[u].cpu == *cpu).collect();
        Shared {
            uses: tasks.iter().map(used).collect(),
            on: cpus.iter().map(on).collect(),
            cpus,
            longest_local: (0..tasks.len()).map(longest_local).collect(),
            ceiling,
            tasks,
        }
    }

    /// Returns `N` and `L` of a task and a global resource; 0 if it does not use the resource.
    pub fn of(&self, i: usize, q: usize) -> (i64, i64) {
        let found = self.uses[i].binary_search_by_key(&q, |used| used.q);
        found.map_or((0, 0), |at| (self.uses[i][at].N, self.uses[i][at].L))
    }

    /// Returns `n_i`, the number of requests of a job for global resources.
    pub fn n(&self, i: usize) -> i64 {
        sum(self.uses[i].iter().map(|used| used.N))
    }

    /// Returns the number of jobs of `u` that can take part in an interval of length `I`:
    /// `ceil((I + R_u) / T_u)`.
    pub fn jobs(&self, u: usize, I: i64, R: &[i64]) -> i64 {
        times(I.saturating_add(R[u]), self.tasks[u].T)
    }

    /// Returns the tasks on a CPU.
    pub(super) fn on(&self, cpu: CpuId) -> impl Iterator<Item = usize> + use<'_> {
        let at = self.cpus.binary_search(&cpu).ok();
        at.into_iter().flat_map(|at| &self.on[at]).copied()
    }

    /// Returns `lp(i)`, the tasks of lower priority on the same CPU.
    pub(super) fn lower(&self, i: usize) -> impl Iterator<Item = usize> + use<'_> {
        self.on(self.tasks[i].cpu).filter(move |&j| j > i)
    }

    /// Returns the tasks above on the same CPU.
    pub(super) fn higher(&self, i: usize) -> impl Iterator<Item = usize> + use<'_> {
        self.on(self.tasks[i].cpu).take_while(move |&h| h < i)
    }
}

/// The waiting times of a job, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Waits for global resources while others hold them.
    pub remote: i64,
    /// Waits for sections of others on the CPU of the job that are boosted, or executed there for
    /// others.
    pub local: i64,
    /// Waits for sections of lower priority on local resources.
    pub ceiling: i64,
}

/// The waiting times and the response time of each task, for a set that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounded<W> {
    /// The response times.
    pub response: Vec<i64>,
    /// The waiting times in them.
    pub waits: Vec<W>,
}

/// A set is rejected because of this task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The position of the task.
    pub task: usize,
    /// The reason.
    pub why: Unbounded,
}

/// The maximum number of times that all response times are computed before the search gives up.
const ROUNDS: u64 = 100_000;

/// The least fixed point of `R_i = next(i, R)` from `R = C`, where each is at most the deadline.
/// `next` must not decrease when an `R` grows.
fn rise(
    tasks: &[Locker],
    mut next: impl FnMut(usize, &[i64]) -> i64,
) -> Result<Vec<i64>, Rejected> {
    let mut R: Vec<i64> = tasks.iter().map(|task| task.C).collect();
    for _ in 0..ROUNDS {
        let mut is_stable = true;
        for i in 0..tasks.len() {
            let risen = next(i, &R);
            debug_assert!(risen >= R[i], "a monotone function, from a start that is not above it");
            let [limit, reached] = [tasks[i].D, risen].map(Duration::from_ns);
            if risen > tasks[i].D {
                let why = Unbounded::Search(Diverged::Beyond { limit, reached });
                return Err(Rejected { task: i, why });
            }
            is_stable &= risen == R[i];
            R[i] = risen;
        }
        if is_stable {
            return Ok(R);
        }
    }
    let reached = Duration::from_ns(R.iter().max().copied().unwrap_or_default());
    let gave_up = GaveUp::OutOfSteps { reached, steps: ROUNDS };
    Err(Rejected { task: 0, why: Unbounded::Search(gave_up.into()) })
}

/// The response times with these waiting times, where waiting jobs are suspended.
fn suspended(
    shared: &Shared,
    waits: impl Fn(usize, &[i64]) -> Waits,
) -> Result<Bounded<Waits>, Rejected> {
    let tasks = &shared.tasks;
    let mut all = vec![Waits::default(); tasks.len()];
    let response = rise(tasks, |i, R| {
        all[i] = waits(i, R);
        let Waits { remote, local, ceiling } = all[i];
        let own = sum([tasks[i].C, tasks[i].S, remote, local, ceiling].into_iter());
        let preempted = shared.higher(i).map(|h| {
            let J_h = if tasks[h].S > 0 || all[h].remote > 0 { R[h] - tasks[h].C } else { 0 };
            arriving(R[i].saturating_add(J_h), tasks[h].T, tasks[h].C)
        });
        own.saturating_add(sum(preempted))
    })?;
    Ok(Bounded { response, waits: all })
}

/// A number of sections of equal length.
#[derive(Clone, Copy, Debug)]
struct Sections {
    count: i64,
    length: i64,
}

/// The sum of the `most` longest of these sections.
fn longest(most: i64, sections: impl Iterator<Item = Sections>) -> i64 {
    let mut sections: Vec<Sections> = sections.collect();
    sections.sort_unstable_by_key(|sections| Reverse(sections.length));
    let mut left = most;
    let each = sections.into_iter().map(|Sections { count, length }| {
        let taken = count.min(left);
        left -= taken;
        taken.saturating_mul(length)
    });
    sum(each)
}

/// The tasks of a system, and the bounds of a protocol for them.
pub(super) type ProtocolBounds<W> = (Vec<Locker>, Result<Bounded<W>, Rejected>);

/// The finding and the bounds of a system.
pub(super) fn whole<W>(
    system: &System,
    order: PriorityOrder,
    bounds: impl FnOnce(&System, Vec<Locker>) -> ProtocolBounds<W>,
) -> (Finding, TaskMap<Option<ResponseBound>>) {
    let mut all = TaskMap::filled(None, system.tasks.len());
    let (tasks, bounded) = bounds(system, lockers(system, order));
    let finding = match bounded {
        Ok(Bounded { response, .. }) => {
            for (task, &R) in tasks.iter().zip(&response) {
                all[task.id] = Some(ResponseBound::new(task.id, Duration::from_ns(R)));
            }
            let each = tasks.iter().zip(&response).map(|(task, &R)| within(task, R, true));
            Finding { verdict: Verdict::Yes, reasons: each.collect() }
        }
        Err(Rejected { task, why }) => {
            let task = &tasks[task];
            let reason = match why {
                Unbounded::Search(Diverged::Beyond { reached, .. }) => {
                    within(task, reached.ns(), false).of_bound_at_least()
                }
                Unbounded::Search(Diverged::GaveUp(why)) => Reason::GaveUp(why),
                Unbounded::Search(Diverged::Overload) => {
                    Reason::NoBound(task.id, Diverged::Overload)
                }
                Unbounded::Blocked | Unbounded::Above => Reason::MayBeLate(task.id),
            };
            Finding::new(Verdict::Unknown, reason)
        }
    };
    (finding, all)
}
