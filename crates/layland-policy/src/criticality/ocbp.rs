//! Own criticality-based priorities (**OCBP**), recomputed at run time: fixed job priorities and a criticality
//! indicator (Li and Baruah 2010, RTSS; as Huang, Gill, Lu 2014, Section 2.4, describe it).
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `zeta_i,j` | [`Pending::priority`], `remaining` | the priority of an arrived job; those of future jobs |
//! | `tau_k,l` | `y` | the running job, which has the highest priority of all pending jobs |
//! | `Gamma` | [`Indicator`] | only jobs of at least this criticality run |
//!
//! This is a reconstruction: the original text was not available, and the description leaves much
//! open. The algorithm here:
//!
//! 1. A busy period starts with the offline priorities: those of the jobs of a busy period in which
//!    all tasks are released together, from the same lists as PLRS.
//! 2. When jobs arrive at `t`, and the next entry of one of them is above `y`, all remaining
//!    entries above `y` get new priorities above `y` by a scan ([`Rescan`]) with the test of the
//!    offline stage. If all next entries are below `y`, nothing is computed.
//! 3. Each job takes the highest remaining entry of its task.
//! 4. After the end of a busy period, the next one starts anew. Overruns are those of
//!    [`Indicator`].
//!
//! Larger numbers are higher priorities; all numbers in use differ. [`Rescan`] decides ties in the
//! scan. Jobs that arrive in one instant are handled together, whatever their order. A job without
//! an entry gets priority -1 and a note ([`Note::Unlisted`](crate::Note::Unlisted)), as under PLRS.
//! Equal priorities and the order of the jobs of one task are also decided as under PLRS. Jobs that
//! need nothing below their own level require the order of events that `plrs.rs` explains.
//!
//! # Open points of the paper
//!
//! The pattern of the scan is *the worst possible from the arrival on*. With
//! [`Releases::Possible`], a task that was released `d` ago has its next job `T - d` from now at
//! the earliest. With [`Releases::Together`], every task is assumed to have its next job now, as at
//! the start. Releases of an earlier busy period are forgotten, so that every busy period starts
//! with the offline priorities and without a scan.
//!
//! # Why it is sound
//!
//! Let every list come from a sound offline scan, and let `n_i` be the number of remaining entries
//! of task `i` above `y`.
//!
//! *The scan finds priorities.* The offline order of the first `n_i` jobs of each task passes its
//! tests: see [`Rescan`]. Note that these are the first entries of the offline list, not the
//! remaining ones: the jobs from `t` on have the deadlines of the first jobs of the busy period,
//! and the remaining entries were placed for later deadlines. The proof needs no induction over
//! scans, since the offline order is available again each time.
//!
//! *Entries below `y` keep their guarantees.* The scan assigns as many priorities above `y` as each
//! task had there, and touches no entry below. So it does not change the number of jobs of each
//! task that may delay a job at or below `y`, and the tests of those jobs depend on nothing else.
//!
//! *Entries above `y` have a guarantee.* Take a job of task `i` that got priority `x` when it
//! arrived at `r`. Let `t` be the last scan that gave this entry its number (or the start of the
//! busy period), for the entries above `y < x`. Just before `t` no job above `y` was pending. From
//! `t` up to `r` a job above `x` is always pending: otherwise all pending jobs are below `x`, and
//! the next arrival above it, at `r` at the latest, starts a scan that renumbers the entry. So jobs
//! above `x` and the job itself make up one busy interval from `t` on. Scans in between, for
//! entries above `y' >= x`, keep the number of entries of each task above `x`. So the job is
//! delayed by at most as many jobs of each task as were unplaced when the scan tested the entry. If
//! that was the `k`-th of its task, the `k - 1` entries above it are taken by then: the job is at
//! least the `k`-th to arrive since `t`, and its deadline is not earlier than the scan assumed.
//! Levels: while the indicator is at most `m`, a job of level `m` or above executes at most `C(m)`;
//! jobs of a level `l < m` run only until the interval would have ended at level `l`, at `t +
//! f(l)`. This is exactly the test.
//!
//! *No computation is necessary if all next entries are below `y`* (which Li and Baruah proved for
//! their algorithm). A scan there would have no visible effect: its result depends on the number of
//! remaining entries of each task above some priority and not on their numbers, and an entry is
//! only taken in an instant that has a scan, or from below `y`.
//!
//! *Tasks below the indicator* are left out of the scan. They have no pending job and get none
//! before the indicator falls at the end of the busy period; then all entries are those of the
//! offline lists again. For the same reason no job executes at a level below the indicator, and the
//! tests of those levels are left out.
//!
//! The guarantee is that of PLRS, and the same analyses judge both. With unsound lists (`ija`) this
//! policy is not sound either. A scan that fails, which only lists from elsewhere can cause, keeps
//! the offline order.
//!
//! # Cost
//!
//! A scan is pseudo-polynomial, `O(J^2 n^2 N)` at most for `J` remaining jobs of `n` tasks with `N`
//! levels ([`Rescan`] has the reason); everything else is `O(J + n)`. It runs when jobs arrive that
//! preempt. Nothing is allocated.

use super::indicator::{Indicator, OwnOverrun};
use super::mechanism::{Choice, Jobs, Mechanism, Pending};
use crate::State;
use layland_model::Time;
use layland_offline::criticality::fjp::Rescan;

/// The earliest time that a scan assumes for the next job of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Releases {
    /// Now, or a period after the last one in this busy period.
    #[default]
    Possible,
    /// Now.
    Together,
}

/// The entries of a task.
#[derive(Clone, Debug)]
struct Entries {
    /// The entries at the start of a busy period, decreasing.
    offline: Vec<i64>,
    /// The remaining entries, increasing: the next job takes the last one.
    remaining: Vec<i64>,
    /// True if `remaining` may differ from `offline`.
    changed: bool,
    /// A period after the last release in this busy period, in nanoseconds.
    next_release: i64,
}

impl Entries {
    fn new(offline: Vec<i64>) -> Entries {
        let remaining = offline.iter().rev().copied().collect();
        Entries { offline, remaining, changed: false, next_release: i64::MIN }
    }

    /// Handles the end of a busy period.
    fn reset(&mut self) {
        if std::mem::take(&mut self.changed) {
            self.remaining.clear();
            self.remaining.extend(self.offline.iter().rev());
        }
        self.next_release = i64::MIN;
    }

    /// Returns the number of remaining entries above `y`.
    fn above(&self, y: i64) -> usize {
        self.remaining.len() - self.remaining.partition_point(|&priority| priority <= y)
    }

    fn take(&mut self) -> Option<i64> {
        self.changed = true;
        self.remaining.pop()
    }

    /// Sets the priority of the job that comes after `job` other jobs.
    fn put(&mut self, job: usize, priority: i64) {
        self.changed = true;
        let last = self.remaining.len() - 1;
        self.remaining[last - job] = priority;
    }
}

/// Fixed job priorities that are recomputed, with an indicator.
#[derive(Clone, Debug)]
pub struct Recomputed {
    entries: Vec<Entries>,
    /// `None` on a CPU without tasks.
    rescan: Option<Rescan>,
    releases: Releases,
    indicator: Indicator,
    /// The input of a scan, kept to avoid allocation.
    left: Vec<usize>,
    first: Vec<i64>,
}

impl Recomputed {
    /// Returns the mechanism with the offline list of each task, and a scan for the same tasks.
    pub fn new(
        lists: Vec<Vec<i64>>,
        rescan: Option<Rescan>,
        releases: Releases,
        levels: usize,
        own_overrun: OwnOverrun,
    ) -> Recomputed {
        Recomputed {
            left: vec![0; lists.len()],
            first: vec![0; lists.len()],
            entries: lists.into_iter().map(Entries::new).collect(),
            rescan,
            releases,
            indicator: Indicator::new(levels, own_overrun),
        }
    }

    /// Assigns new priorities to all remaining entries above `y`.
    fn recompute(&mut self, jobs: &Jobs, now: Time, arrivals: &[(usize, Pending)], y: i64) {
        let Recomputed { entries, rescan, releases, indicator, left, first } = self;
        let from = indicator.level();
        for (member, task) in entries.iter_mut().enumerate() {
            left[member] = task.above(y);
            if jobs.members()[member].criticality < from {
                task.changed = true;
                task.remaining.truncate(task.remaining.len() - left[member]);
                left[member] = 0;
            }
            first[member] = match releases {
                Releases::Possible => task.next_release.saturating_sub(now.ns()).max(0),
                Releases::Together => 0,
            };
        }
        // Arrived jobs count from now, even if they come too early.
        arrivals.iter().for_each(|&(member, _)| first[member] = 0);
        let mut next = y;
        let place = |task: usize, job: usize| {
            next += 1;
            entries[task].put(job, next);
        };
        let placed = rescan.as_mut().is_some_and(|rescan| rescan.scan(left, first, from, place));
        if !placed {
            restrict(entries, left, y);
        }
    }
}

/// Restores the offline order for the remaining number of jobs. Empties `left`.
fn restrict(entries: &mut [Entries], left: &mut [usize], y: i64) {
    let mut next = y;
    let lowest = |entries: &[Entries], left: &[usize]| {
        let open = (0..left.len()).filter(|&task| left[task] > 0);
        open.min_by_key(|&task| entries[task].offline[left[task] - 1])
    };
    while let Some(task) = lowest(entries, left) {
        left[task] -= 1;
        next += 1;
        entries[task].put(left[task], next);
    }
}

impl Mechanism for Recomputed {
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize) {
        self.indicator.overrun(jobs, member);
    }

    fn idle(&mut self, jobs: &mut Jobs) {
        self.indicator.idle(jobs);
        self.entries.iter_mut().for_each(Entries::reset);
    }

    fn arrive(&mut self, jobs: &mut Jobs, now: Time, arrivals: &[(usize, Pending)]) {
        let level = self.indicator.level();
        if let Some(y) = jobs.all().map(|(_, job)| job.priority).max() {
            let preempts = |&(member, _): &(usize, Pending)| {
                let next = self.entries[member].remaining.last();
                jobs.members()[member].criticality >= level && next.is_some_and(|&next| next > y)
            };
            if arrivals.iter().any(preempts) {
                self.recompute(jobs, now, arrivals, y);
            }
        }
        for &(member, job) in arrivals {
            let entries = &mut self.entries[member];
            entries.next_release = job.release.ns().saturating_add(jobs.members()[member].period);
            self.indicator.arrive(jobs, member, job, || entries.take());
        }
    }

    fn select(&mut self, jobs: &Jobs, _now: Time) -> Option<Choice> {
        self.indicator.highest(jobs)
    }

    fn save(&self, now: Time, state: &mut State) {
        state.number(self.indicator.level() as i64);
        for task in &self.entries {
            // Unchanged entries are those of the start.
            state.number(if task.changed { task.remaining.len() as i64 } else { -1 });
            if task.changed {
                task.remaining.iter().for_each(|&priority| state.number(priority));
            }
            if self.releases == Releases::Possible {
                state.number(task.next_release.saturating_sub(now.ns()).max(0));
            }
        }
    }
}
