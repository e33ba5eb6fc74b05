//! Processor demand of EDF with cache-related preemption delays (Lunniss, Altmeyer, Maiza and Davis 2013):
//!
//! `h(t) = sum of E_j(t) C_j + BRT * (the reloads of an [`Approach`]) <= t` for every `t` up to the
//! end of the longest busy period, with `E_j(t) = max(0, floor((t - D_j) / T_j) + 1)`. Jobs of `j`
//! may preempt those of `k` if `D_j < D_k`. This matters in intervals in which jobs of `k` are due,
//! `D_k <= t`. Jobs of `j` preempt one job of `k` at most `P_j(D_k) = ceil((D_k - D_j) / T_j)`
//! times, because they arrive after it and are due no later, and all jobs of `k` at most
//! `P_j(D_k) E_k(t)` times.
//!
//! Only the deadlines among these `t` matter, as `h` grows only there. They are searched from the
//! last one down, as in QPA (Zhang and Burns 2009), which requires only that `h` is monotone.
//! Deadlines may be longer than periods. The order of jobs that are due at the same time does not
//! matter.
//!
//! Deviation: the paper bounds the `t` by utilizations with the largest delays. Here the limit is
//! the busy period, `w = sum of ceil(w / T_j) C_j + BRT * (the reloads of these jobs)`, which needs
//! no load below 1. Proof: take the first job that is late, due at `d`, and the last instant before
//! `d` at which no job due by `d` is left. From then to `d` the CPU is busy with jobs that have
//! arrived since and are due by `d`. This takes no longer than `w`, and these jobs need more than
//! that time. Beyond `w` the formula may exceed `t`, since it counts preemptions across busy
//! periods; this has no meaning. The search gives up after [`STEPS`] steps.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::reloads::{Approach, Cached, Reloads};
use crate::fixed_point::GaveUp;
use crate::group::{Group, together};
use crate::{Finding, Quantity, Reason, Scope, Verdict};
use layland_model::{Duration, System, TIME_LIMIT};

/// The maximum number of steps of a search, each of which examines all pairs of tasks.
pub const STEPS: u64 = 20_000;

/// The answer of the criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// No interval within a busy period has more demand than its length.
    Met,
    /// An interval may have more demand than its length.
    Exceeds {
        /// The length.
        interval: i64,
        /// The demand, with reloads.
        demand: i64,
    },
}

/// The tasks on one CPU whose demand is counted.
#[derive(Clone, Debug)]
pub struct Counted<'t> {
    tasks: &'t [Cached],
    reloads: Reloads,
    reload: i64,
    approach: Approach,
}

/// Sorts the tasks of a CPU by relative deadline, and sets `above` of each to the number of tasks
/// whose deadlines are not longer.
pub fn by_deadline(mut tasks: Vec<Cached>) -> Vec<Cached> {
    tasks.sort_by_key(|task| task.deadline);
    let deadlines: Vec<i64> = tasks.iter().map(|task| task.deadline).collect();
    for task in &mut tasks {
        task.above = deadlines.partition_point(|&deadline| deadline <= task.deadline);
    }
    tasks
}

impl<'t> Counted<'t> {
    /// `tasks` must be in the order of [`by_deadline`]. `reload` is the block reload time in
    /// nanoseconds.
    pub fn new(tasks: &'t [Cached], reload: i64, approach: Approach) -> Counted<'t> {
        Counted { tasks, reloads: Reloads::new(tasks), reload, approach }
    }

    /// The work of this number of `jobs` of each task, with reloads.
    fn work(&self, jobs: impl Fn(usize) -> i64) -> i64 {
        let P = |j: usize, k: usize| {
            let later = self.tasks[k].deadline - self.tasks[j].deadline;
            later / self.tasks[j].period + i64::from(later % self.tasks[j].period != 0)
        };
        let preemptions = |j: usize, k: usize| P(j, k).saturating_mul(jobs(k));
        let work = self.tasks.iter().enumerate().map(|(j, task)| jobs(j).saturating_mul(task.wcet));
        let work = work.fold(0, i64::saturating_add);
        let reloads = self.reloads.most(self.approach, &jobs, preemptions);
        work.saturating_add(reloads.saturating_mul(self.reload))
    }

    /// `h(t)`.
    pub fn demand(&self, t: i64) -> i64 {
        self.work(|j| {
            let task = &self.tasks[j];
            if t < task.deadline { 0 } else { (t - task.deadline) / task.period + 1 }
        })
    }

    /// The end of the longest busy period.
    fn busy_period(&self) -> Result<i64, GaveUp> {
        let mut w = self.work(|_| 1);
        for _ in 0..STEPS {
            if w > TIME_LIMIT {
                return Err(GaveUp::OutOfRange { reached: Duration::from_ns(w) });
            }
            let next = self.work(|j| {
                let T = self.tasks[j].period;
                w / T + i64::from(w % T != 0)
            });
            if next == w {
                return Ok(w);
            }
            w = next;
        }
        Err(GaveUp::OutOfSteps { reached: Duration::from_ns(w), steps: STEPS })
    }

    /// The last deadline before `t` of jobs that arrive from 0 on as early as possible.
    fn last_deadline_before(&self, t: i64) -> Option<i64> {
        let of_task = |task: &Cached| {
            let room = t - 1 - task.deadline;
            (room >= 0).then(|| task.deadline + task.period * (room / task.period))
        };
        self.tasks.iter().filter_map(of_task).max()
    }

    /// Tests `h(t) <= t` for every `t` up to the end of the longest busy period.
    ///
    /// # Errors
    /// Returns [`GaveUp`] if the load with reloads is above 1, or nearly.
    pub fn criterion(&self) -> Result<Demand, GaveUp> {
        let w = self.busy_period()?;
        let least = self.tasks.iter().map(|task| task.deadline).min().unwrap_or(0);
        let Some(mut t) = self.last_deadline_before(w.saturating_add(1)) else {
            return Ok(Demand::Met);
        };
        for _ in 0..STEPS {
            let h = self.demand(t);
            if h > t {
                return Ok(Demand::Exceeds { interval: t, demand: h });
            }
            if h <= least {
                return Ok(Demand::Met);
            }
            // For every t' from h to t: h(t') <= h(t) <= t'.
            t = if h < t {
                h
            } else {
                match self.last_deadline_before(t) {
                    Some(earlier) => earlier,
                    None => return Ok(Demand::Met),
                }
            };
        }
        Err(GaveUp::OutOfSteps { reached: Duration::from_ns(t), steps: STEPS })
    }
}

/// The finding on each CPU.
pub(super) fn each_cpu(system: &System, approach: Approach) -> Finding {
    let reload = system.platform.overheads.block_reload_time.ns();
    let of_group = |group: &Group<'_>| {
        let tasks = group.tasks.iter().map(|&(id, task)| Cached::of(id, task, 0)).collect();
        let tasks = by_deadline(tasks);
        match Counted::new(&tasks, reload, approach).criterion() {
            Ok(Demand::Met) => Finding::new(Verdict::Yes, Reason::Holds(MET)),
            Ok(Demand::Exceeds { interval, demand }) => {
                let scope = Scope {
                    interval: Some(Duration::from_ns(interval)),
                    ..Scope::cpus(&group.cpus)
                };
                let [value, bound] = [demand, interval].map(|ns| Quantity::of_ns(ns.into()));
                let what = "the demand with reloads";
                let why = Reason::compared(what, scope, value, bound, false);
                Finding::new(Verdict::Unknown, why)
            }
            Err(why) => Finding::new(Verdict::Unknown, Reason::GaveUp(why)),
        }
    };
    together(Group::affinities(system).iter().map(of_group))
}

const MET: &str = "no interval of a busy period has more demand than its length, reloads included";
