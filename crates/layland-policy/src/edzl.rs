//! **EDZL**: earliest deadline first until zero laxity (Lee 1994; Cho, Lee, Han and Lin 2002).
//!
//! The *laxity* of a job is the time for which it can still wait: the time to its deadline, less
//! the rest of its WCET. EDZL is global EDF with one exception: a ready job with zero laxity comes
//! before all jobs with positive laxity. This avoids Dhall's effect, in which a heavy job waits
//! behind light ones until it is too late.
//!
//! | papers | here | meaning |
//! |---|---|---|
//! | laxity | `zero_laxity_at(job) - now` | the time for which a job can wait |
//! | zero laxity | [`Priority::is_urgent`] | it runs now, or it misses its deadline |
//!
//! Only a waiting job loses laxity, so a timer for the waiting jobs is enough. Laxity is an exact
//! whole number of nanoseconds. Ties: among jobs with laxity, and among those without, the earlier
//! deadline comes first, then the smaller rank, then the smaller id. If the jobs without laxity
//! outnumber the CPUs, some are late; a late job has no laxity either.
//!
//! Cases that the papers leave out:
//! - a job that exceeds its WCET needs no more time, as far as the policy knows: its laxity is the
//!   time to its deadline;
//! - the execution of a job is the time that it has held CPUs. It includes overheads, so a job that
//!   paid for some becomes urgent late by that amount: an analysis must include them in the WCETs;
//! - CPUs of speeds other than 1 are refused: the laxity of a job would depend on the CPU that will
//!   run it.
//!
//! A release, a preemption and a deadline cost O(log n) in addition to their cost under global EDF.

use crate::info::{PolicyInfo, PolicyOptions, SystemRefusal};
use crate::shell::groups::{ONE_CLUSTER, UNIT_SPEED};
use crate::shell::{Grouped, Priority, Progress, Scheduler, Scope, Turn};
use crate::{HighestFirst, Refusal};
use layland_model::{Algorithm, Citation, Group, JobOrder, Order, ScheduleRule, System, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lee 1994.
pub const LEE: Citation = Citation {
    key: "lee1994online",
    text: "S. K. Lee. On-line multiprocessor scheduling algorithms for real-time tasks. TENCON 1994, \
           pages 607-611.",
    bibtex: "@inproceedings{lee1994online,
  author    = {Suk Kyoon Lee},
  title     = {On-line Multiprocessor Scheduling Algorithms for Real-Time Tasks},
  booktitle = {IEEE Region 10's Ninth Annual International Conference (TENCON)}, pages = {607--611}, year = {1994}
}",
};

/// Cho, Lee, Han and Lin 2002.
pub const CHO: Citation = Citation {
    key: "cho2002efficient",
    text: "S. Cho, S.-K. Lee, A. Han and K.-J. Lin. Efficient real-time scheduling algorithms for \
           multiprocessor systems. IEICE Transactions on Communications E85-B(12):2859-2867, 2002.",
    bibtex: "@article{cho2002efficient,
  author  = {Seongje Cho and Suk-Kyoon Lee and Ahn Han and Kwei-Jay Lin},
  title   = {Efficient Real-Time Scheduling Algorithms for Multiprocessor Systems},
  journal = {IEICE Transactions on Communications}, volume = {E85-B}, number = {12}, pages = {2859--2867}, year = {2002}
}",
};

/// Returns the description of the policy.
pub(crate) fn policy() -> PolicyInfo {
    PolicyInfo::new(
        "edzl",
        "earliest deadline first until zero laxity",
        "as g-edf, but a job that would be late if it waited any longer comes first",
        |system, options| Ok(Box::new(edzl(system, options)?)),
    )
    .implementing(Algorithm::Edzl)
    .refusing([ONE_CLUSTER, UNIT_SPEED])
    .breaking_ties(
        "among jobs without laxity, and among the others, equal deadlines go to the smaller rank, then to the task that \
           comes first",
    )
    .citing([LEE, CHO])
}

/// Returns **EDZL**: the `m` earliest deadlines run, and before them the jobs without laxity.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, or the speed of a CPU is not
/// 1.
pub fn edzl(system: &System, options: &PolicyOptions) -> Result<Grouped<Edzl>, SystemRefusal> {
    if !system.platform.is_unit_speed() {
        return Err(Refusal::invalid("edzl needs CPUs of unit speed").into());
    }
    Grouped::new("edzl", Scope::Global, Order::Deadline, system, options, Edzl::default())
}

/// EDZL on one group of CPUs: see the file header.
///
/// The time at which a waiting job loses its laxity does not change while it waits. A running job
/// keeps its laxity until it has exceeded its WCET, and then has none from its deadline on. So jobs
/// are in two heaps, by these times, and a decision considers only those whose time has come.
/// Outdated entries of a heap are detected when their time comes.
#[derive(Clone, Debug, Default)]
pub struct Edzl {
    /// Runs the first jobs, once the urgent ones are known.
    edf: HighestFirst,
    /// Jobs that have begun to wait since the last decision.
    fresh: Vec<Priority>,
    /// The times at which waiting jobs lose their laxity.
    by_laxity: BinaryHeap<Reverse<(Time, Priority)>>,
    /// The deadlines of jobs that have waited.
    by_deadline: BinaryHeap<Reverse<(Time, Priority)>>,
    /// True if priorities have changed: running jobs are then no longer in `by_deadline`.
    is_reseated: bool,
    /// Scratch.
    due: Vec<Priority>,
}

impl Edzl {
    /// Returns true if a job has no laxity, and is not urgent yet.
    fn is_due(turn: &Turn<'_>, job: Priority) -> bool {
        !job.is_urgent() && turn.zero_laxity_at(job) <= turn.now()
    }
}

impl Scheduler for Edzl {
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
        self.by_laxity.clear();
        self.by_deadline.clear();
        self.is_reseated = true;
    }

    fn decide(&mut self, turn: &mut Turn<'_>) {
        let Self { edf, fresh, by_laxity, by_deadline, is_reseated, due } = self;
        let now = turn.now();
        if *is_reseated {
            // `clear` has emptied `by_deadline`, and running jobs do not wait again: check all of
            // them.
            due.extend(turn.running().filter(|&job| Edzl::is_due(turn, job)));
        } else {
            while let Some(&Reverse((at, job))) = by_deadline.peek()
                && at <= now
            {
                by_deadline.pop();
                if turn.is_running(job) && Edzl::is_due(turn, job) && !due.contains(&job) {
                    due.push(job);
                }
            }
        }
        for job in due.drain(..) {
            turn.make_urgent(job);
        }
        for job in fresh.drain(..).filter(|&job| !job.is_urgent() && turn.is_waiting(job)) {
            by_laxity.push(Reverse((turn.zero_laxity_at(job), job)));
            if !*is_reseated {
                by_deadline.push(Reverse((turn.deadline(job), job)));
            }
        }
        while let Some(&Reverse((at, job))) = by_laxity.peek()
            && at <= now
        {
            by_laxity.pop();
            if turn.is_waiting(job) && Edzl::is_due(turn, job) {
                // The queue finds the job by its priority, so remove it before that changes.
                edf.forget(job);
                edf.wait(turn.make_urgent(job));
            }
        }
        edf.decide_telling(turn, |job| fresh.push(job));
        for job in fresh.drain(..).filter(|job| !job.is_urgent()) {
            by_laxity.push(Reverse((turn.zero_laxity_at(job), job)));
        }
        // A job that has run in the meantime has a later time, and is in the heap with that time.
        while let Some(&Reverse((at, job))) = by_laxity.peek()
            && !(turn.is_waiting(job) && turn.zero_laxity_at(job) == at)
        {
            by_laxity.pop();
        }
        turn.wake_at(by_laxity.peek().map_or(Time::NEVER, |&Reverse((at, _))| at));
    }

    fn rule(&self, groups: Vec<Group>, _order: JobOrder) -> ScheduleRule {
        ScheduleRule::highest_first(groups, JobOrder::ZeroLaxity)
    }
}
