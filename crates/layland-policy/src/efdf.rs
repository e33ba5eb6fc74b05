//! **EFDF**, earliest feasible deadline first: global EDF that aborts a job as soon as it can no
//! longer meet its deadline.
//!
//! In overload EDF runs the jobs that are closest to their deadlines, which are those that miss
//! them. Real-time databases therefore test deadlines for feasibility before they run a transaction
//! (Abbott and Garcia-Molina 1988), and spend no time on jobs that are late in any case.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | `C`, `d` | [`Turn::wcet`], [`Turn::deadline`] | WCET and absolute deadline of a job |
//! | `x` | [`Turn::executed`] | the time for which the job has held CPUs |
//! | `s` | `fastest` | the speed of the fastest CPU of the platform |
//! | `n` | `need` | the time that the job needs at least: `C / s - x`, and at least 1 ns |
//!
//! The rule: at each decision, a ready job is *infeasible* if `now + n > d`, and is aborted. Of the
//! other ready jobs, the `m` with the earliest deadlines run. Ties go to the smaller rank, then to
//! the smaller id, and [`HighestFirst`] decides the placement.
//!
//! - A job that waits becomes infeasible at `d - n + 1`, the first instant at which its laxity is
//!   negative. A timer for the earliest of these instants makes the policy decide there, and not
//!   only at the deadline.
//! - A job that runs on the fastest CPU stays feasible until it has executed for its WCET. If it
//!   has not completed then, it needs some more time, which is unknown: 1 ns. So it is aborted at
//!   its deadline, and no job of any demand completes late.
//! - A job counts with its WCET, even if it is going to need less.
//!
//! Deviations, and cases that the paper leaves out:
//! - the paper has one CPU, locks, and estimates of execution times. Its text was not at hand, so the
//!   rule above is complete;
//! - with CPUs of several speeds, a job is credited with the fastest CPU for all the time that it
//!   has held any. So a job on a slower CPU may be aborted later than it could be, but never early;
//! - a task whose jobs suspend themselves for no time is refused: jobs that are infeasible at their
//!   releases would follow each other in one instant, without end;
//! - `x` includes overheads, so that with overheads, too, a job may be aborted late and never early.
//!
//! # Guarantees
//!
//! Claim: no job is aborted in any run of a set under EFDF if and only if no job is late in any run
//! under global EDF, for jobs that keep to their WCETs on CPUs of one speed. Then both policies make
//! the same schedules.
//!
//! Under global EDF, shorten the demand of each job that EFDF aborts to what it has executed. The
//! jobs then run at the same instants as under EFDF. The only difference is that such a job ends
//! when it has run last, and not when it is aborted. This changes nothing: from then on it waits
//! under EFDF, so each CPU runs a job that comes before it, and all the more before the next job of
//! its task, whose deadline is later.
//!
//! - A job that EFDF aborts at `t` is late in a run under global EDF: shorten the demands of the jobs
//!   that were aborted before, and give this one the demand `C`. Both schedules are the same up to
//!   `t`, and from `t` on the job cannot complete by `d`. So each task that global EDF guarantees is
//!   guaranteed under EFDF.
//! - If a job is late under global EDF, then EFDF aborts some job: if it aborts none before the
//!   deadline of the late one, the schedules are the same up to there, and it aborts that one.
//!
//! So the tests for global EDF are about EFDF. The bounds on tardiness are not: a job that is
//! aborted never completes.
//!
//! A release, a preemption and an abort cost O(log n) in addition to their cost under global EDF.

use crate::info::{PolicyInfo, PolicyOptions, SystemRefusal};
use crate::shell::groups::{self, ONE_CLUSTER};
use crate::shell::{Grouped, Priority, Progress, Scheduler, Scope, Turn};
use crate::{HighestFirst, Refusal};
use layland_model::{
    Algorithm, Behaviour, Citation, Duration, Group, JobOrder, Order, ScheduleRule, Speed, System,
    Task, Time,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Abbott and Garcia-Molina 1988.
pub const ABBOTT: Citation = Citation {
    key: "abbott1988scheduling",
    text: "R. K. Abbott and H. Garcia-Molina. Scheduling real-time transactions: a performance evaluation. 14th \
           International Conference on Very Large Data Bases (VLDB 1988), pages 1-12.",
    bibtex: "@inproceedings{abbott1988scheduling,
  author    = {Robert K. Abbott and Hector Garcia-Molina},
  title     = {Scheduling Real-Time Transactions: A Performance Evaluation},
  booktitle = {14th International Conference on Very Large Data Bases (VLDB)}, pages = {1--12}, year = {1988}
}",
};

/// Returns the description of the policy.
pub(crate) fn policy() -> PolicyInfo {
    PolicyInfo::new(
        "efdf",
        "earliest feasible deadline first",
        "as g-edf, but a job that can no longer meet its deadline is aborted at once",
        |system, options| Ok(Box::new(efdf(system, options)?)),
    )
    .implementing(Algorithm::Efdf)
    .refusing([ONE_CLUSTER, "tasks whose next job arrives at once when a job ends"])
    .with_options([groups::place()])
    .breaking_ties("equal deadlines go to the smaller rank, then to the task that comes first")
    .citing([ABBOTT])
}

/// Returns **EFDF**: the `m` earliest deadlines run that can still be met, and the other jobs are
/// aborted.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, or suspends itself for no time
/// between its jobs.
pub fn efdf(system: &System, options: &PolicyOptions) -> Result<Grouped<Efdf>, SystemRefusal> {
    let follows_at_once =
        |task: &Task| task.behaviour == Behaviour::SelfSuspending { gap: Duration::ZERO };
    if let Some((id, task)) = system.tasks.iter().find(|(_, task)| follows_at_once(task)) {
        let reason = format!(
            "the jobs of task `{}` follow each other without a gap: efdf may abort one at its release, and the next \
             one with it, without end",
            task.name
        );
        return Err(Refusal::invalid(reason).about(id));
    }
    let fastest = system.platform.fastest();
    let scheduler = Efdf { fastest, ..Efdf::default() };
    let grouped = Grouped::new("efdf", Scope::Global, Order::Deadline, system, options, scheduler)?;
    Ok(grouped.placing(groups::placement(options)?, system))
}

/// EFDF on one group of CPUs: see the file header.
///
/// The heap has an entry for each ready job, at a time that is not after its first infeasible
/// instant. A job that waits reaches that instant sooner than one that runs, so a job gets a new
/// entry when it begins to wait, and an entry that comes too early is moved. Outdated entries are
/// detected when they are first.
#[derive(Clone, Debug, Default)]
pub struct Efdf {
    /// Runs the first jobs, once the infeasible ones are gone.
    edf: HighestFirst,
    fastest: Speed,
    /// Jobs that have begun to wait since the last decision.
    fresh: Vec<Priority>,
    by_time: BinaryHeap<Reverse<(Time, Priority)>>,
    /// True if priorities have changed: running jobs are then no longer in `by_time`.
    is_reseated: bool,
}

impl Efdf {
    /// Returns the first instant at which a job is infeasible, if it goes on waiting or running, and
    /// does not complete.
    fn infeasible_at(&self, turn: &Turn<'_>, job: Priority) -> Time {
        let (now, deadline, tick) = (turn.now(), turn.deadline(job), Duration::from_ns(1));
        let left = self.fastest.time_for(turn.wcet(job)) - turn.executed(job).at_unit_speed();
        let need = left.max(tick);
        let first = deadline - need + tick;
        if first <= now || turn.is_waiting(job) { first } else { deadline }
    }

    /// Returns true if a ready job has this priority.
    fn is_ready(turn: &Turn<'_>, job: Priority) -> bool {
        turn.is_waiting(job) || turn.is_running(job) || turn.is_starting(job)
    }

    fn enter(&mut self, turn: &Turn<'_>, job: Priority) {
        self.by_time.push(Reverse((self.infeasible_at(turn, job), job)));
    }

    fn enter_fresh(&mut self, turn: &Turn<'_>) {
        while let Some(job) = self.fresh.pop() {
            if turn.is_waiting(job) {
                self.enter(turn, job);
            }
        }
    }
}

impl Scheduler for Efdf {
    const PROGRESS: Progress = Progress::Tracked;

    fn wait(&mut self, job: Priority) {
        self.edf.wait(job);
        self.fresh.push(job);
    }

    fn forget(&mut self, job: Priority) {
        self.edf.forget(job);
    }

    fn clear(&mut self) {
        self.edf.clear();
        self.fresh.clear();
        self.by_time.clear();
        self.is_reseated = true;
    }

    fn decide(&mut self, turn: &mut Turn<'_>) {
        if std::mem::take(&mut self.is_reseated) {
            let running: Vec<Priority> = turn.running().collect();
            running.into_iter().for_each(|job| self.enter(turn, job));
        }
        self.enter_fresh(turn);
        while let Some(&Reverse((at, job))) = self.by_time.peek()
            && at <= turn.now()
        {
            self.by_time.pop();
            if !Efdf::is_ready(turn, job) {
                continue;
            }
            if self.infeasible_at(turn, job) > turn.now() {
                self.enter(turn, job);
                continue;
            }
            if turn.is_waiting(job) {
                self.edf.forget(job);
            }
            turn.abort(job);
        }
        let Self { edf, fresh, .. } = self;
        edf.decide_telling(turn, |job| fresh.push(job));
        self.enter_fresh(turn);
        // A job that has started or ended in the meantime needs no decision at the time of its
        // entry.
        while let Some(&Reverse((at, job))) = self.by_time.peek() {
            let is_ready = Efdf::is_ready(turn, job);
            if is_ready && self.infeasible_at(turn, job) == at {
                break;
            }
            self.by_time.pop();
            if is_ready {
                self.enter(turn, job);
            }
        }
        turn.wake_at(self.by_time.peek().map_or(Time::NEVER, |&Reverse((at, _))| at));
    }

    fn rule(&self, groups: Vec<Group>, _order: JobOrder) -> ScheduleRule {
        ScheduleRule::highest_first(groups, JobOrder::Feasible)
    }
}
