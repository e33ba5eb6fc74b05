//! Zero-slack scheduling (**ZSS**): rate-monotonic priorities, and a zero-slack instant per task at which
//! the tasks of lower criticality are suspended (de Niz, Lakshmanan and Rajkumar 2009; Huang, Gill, Lu
//! 2014, Sections 2.3 and 5.1).
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `Z_i` | `zero_slack` | the instant, relative to the release; none or `Z_i = D_i`: no timer |
//! | critical | from `r + Z_i` on | tasks with `z < z_i` are suspended until the job completes |
//! | late | from `r + D_i` on | the job falls behind all others; never at the highest criticality in the set |
//! | binary heap | `heap` | the causes of suspensions: one entry for each job that is critical or late |
//! | `zeta^s0` | the top entry | tasks with `z <= zeta^s0`, here `z < below`, are suspended |
//!
//! A late job is no longer critical. [`Late`] defines its effect on other tasks: as in the paper it
//! suspends all other tasks up to its own criticality, or it only falls behind. The jobs of one
//! task run in the order of their releases, so a task is late as long as its first job is. Every
//! job is cut off at `C_i(z_i)`.
//!
//! | event | heap |
//! |---|---|
//! | zero-slack instant | the job pushes `below = z_i` |
//! | deadline | the entry of the job is replaced by `below = z_i + 1`; with [`Late::Demote`] it is removed |
//! | completion, abort | the entry of the job is removed |
//!
//! The task of the highest priority that is neither suspended nor late runs. If there is none, a
//! late one runs: that of the top entry, or with `demote` the unsuspended one of highest
//! criticality, then priority.
//!
//! # Repairs
//!
//! 1. The paper pushes an entry at a deadline although the job has pushed one at its zero-slack
//!    instant, and pops once. Here a job has one entry, from the event on, and does not push again
//!    when it wakes up.
//! 2. Two late jobs of one criticality suspend each other, and a pop restores neither since the
//!    second entry is equal to the top: the second job never ends. Here the late entry on top does
//!    not suspend its own task.
//! 3. Equal late entries are ordered by the priorities of their tasks. An alternative rule lets a
//!    suspended job push only when it wakes up, which also repairs 1 and 2, but it is wrong: let
//!    `b`, of the lower priority, be late from 1 on and suspend `a` of the same criticality, whose
//!    deadline is 2. From time 2 on both are late, and `a` must run; but no event wakes it up before
//!    `b` ends.
//! 4. The entry of a critical job (`z_i - 1` in the paper) comes before an equal one of a late job
//!    (`z_j`), whose task it suspends too.
//!
//! With these repairs the top follows from all critical and late jobs, whatever the order of their
//! events: the test kit compares it with that rule, decision by decision.

use super::mechanism::{Choice, Jobs, Mechanism, Pending, highest, places};
use super::order::Order;
use layland_model::{Duration, JobId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The effect of a late job on other tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Late {
    /// It suspends the tasks up to its own criticality.
    #[default]
    Suspend,
    /// It only runs when no other job can.
    Demote,
}

/// The cause of a suspension. If two causes suspend the same tasks, the critical one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Late,
    Critical,
}

/// A job that is critical or late, in the order of the heap: the last one is on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HeapEntry {
    /// Tasks of lower criticality than this are suspended.
    below: usize,
    cause: Cause,
    /// The place of the task in the order of priorities.
    place: Reverse<usize>,
    member: usize,
    job: JobId,
}

/// Fixed task priorities with zero-slack instants.
#[derive(Clone, Debug)]
pub struct ZeroSlack {
    place: Vec<usize>,
    /// The zero-slack instants that are before the deadline.
    zero_slack: Vec<Option<i64>>,
    late: Late,
    heap: BinaryHeap<HeapEntry>,
    /// The number of late jobs of each task, which are its first ones. (Like the heap, this follows
    /// from the jobs and the time, so that [`save`](Mechanism::save) need not write it.)
    late_jobs: Vec<usize>,
    /// Zero-slack instants and deadlines up to here have been processed.
    processed: Time,
    /// True if the selected job is late.
    runs_late: bool,
}

impl ZeroSlack {
    /// Returns the mechanism for an order of the tasks, highest priority first, and their
    /// zero-slack instants in nanoseconds.
    pub fn new(order: &[usize], zero_slack: &[Option<i64>], late: Late) -> ZeroSlack {
        ZeroSlack {
            place: places(order),
            zero_slack: zero_slack.to_vec(),
            late,
            heap: BinaryHeap::with_capacity(2 * order.len()),
            late_jobs: vec![0; order.len()],
            processed: Time::from_ns(i64::MIN),
            runs_late: false,
        }
    }

    /// Returns the time after its release at which a job becomes critical and the time at which it
    /// becomes late, if it does.
    fn delays(&self, jobs: &Jobs, member: usize) -> (Option<i64>, Option<i64>) {
        let task = &jobs.members()[member];
        let zero_slack = self.zero_slack[member].filter(|&instant| instant < task.deadline);
        let is_highest = task.criticality == jobs.highest_criticality();
        (zero_slack, (!is_highest).then_some(task.deadline))
    }

    /// Returns the time at which a job becomes critical and the time at which it becomes late, if
    /// it does.
    fn times(&self, jobs: &Jobs, member: usize, job: &Pending) -> (Option<Time>, Option<Time>) {
        let (zero_slack, late) = self.delays(jobs, member);
        let deadline = jobs.members()[member].deadline;
        let critical_at = |instant| job.deadline - Duration::from_ns(deadline - instant);
        (zero_slack.map(critical_at), late.map(|_| job.deadline))
    }

    /// Processes the instants of a job after `since`, up to `now`.
    fn process(&mut self, jobs: &Jobs, member: usize, job: &Pending, since: Time, now: Time) {
        let (critical_at, late_at) = self.times(jobs, member, job);
        let came = |at: Time| since < at && at <= now;
        let own = jobs.members()[member].criticality;
        if late_at.is_some_and(came) {
            self.remove(job.id);
            self.late_jobs[member] += 1;
            if self.late == Late::Suspend {
                self.push(member, job.id, own + 1, Cause::Late);
            }
        } else if critical_at.is_some_and(came) {
            self.push(member, job.id, own, Cause::Critical);
        }
    }

    fn push(&mut self, member: usize, job: JobId, below: usize, cause: Cause) {
        let place = Reverse(self.place[member]);
        self.heap.push(HeapEntry { below, cause, place, member, job });
    }

    /// Removes the entry of a job, if it has one; it is on top unless other entries suspend the
    /// same tasks.
    fn remove(&mut self, job: JobId) {
        if self.heap.peek().is_some_and(|top| top.job == job) {
            self.heap.pop();
        } else {
            self.heap.retain(|entry| entry.job != job);
        }
    }
}

impl Mechanism for ZeroSlack {
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize) {
        if let Some(job) = jobs.first(member).map(|job| job.id) {
            jobs.abort_first(member);
            self.ended(member, job);
        }
    }

    fn ended(&mut self, member: usize, job: JobId) {
        self.remove(job);
        // The late jobs of a task are its first ones, so a job that ends is late if any is.
        self.late_jobs[member] = self.late_jobs[member].saturating_sub(1);
    }

    fn advance(&mut self, jobs: &mut Jobs, now: Time) {
        let since = std::mem::replace(&mut self.processed, now);
        jobs.all().for_each(|(member, job)| self.process(jobs, member, job, since, now));
    }

    fn arrive(&mut self, jobs: &mut Jobs, now: Time, arrivals: &[(usize, Pending)]) {
        for &(member, job) in arrivals {
            jobs.admit(member, job);
            self.process(jobs, member, &job, Time::from_ns(i64::MIN), now);
        }
    }

    fn wake_at(&self, jobs: &Jobs, now: Time) -> Time {
        let instants = jobs.all().flat_map(|(member, job)| {
            let (critical_at, late_at) = self.times(jobs, member, job);
            [critical_at, late_at].into_iter().flatten()
        });
        instants.filter(|&at| at > now).min().unwrap_or(Time::NEVER)
    }

    fn select(&mut self, jobs: &Jobs, _now: Time) -> Option<Choice> {
        let criticality = |member: usize| jobs.members()[member].criticality;
        let place = &self.place;
        let top = self.heap.peek();
        let below = top.map_or(0, |top| top.below);
        let is_suspended = |member: usize| criticality(member) < below;
        let is_late = |member: usize| self.late_jobs[member] > 0;
        let member = highest(jobs, place, |member| !is_suspended(member) && !is_late(member))
            .or_else(|| match self.late {
                Late::Suspend => top.filter(|top| top.cause == Cause::Late).map(|top| top.member),
                Late::Demote => jobs
                    .pending()
                    .filter(|&member| !is_suspended(member) && is_late(member))
                    .min_by_key(|&member| (Reverse(criticality(member)), place[member])),
            });
        self.runs_late = member.is_some_and(is_late);
        let member = member?;
        Some(Choice { member, limit: Some(jobs.members()[member].own_bound()) })
    }

    /// A late job gives way to any other that is not suspended. A job that has not run has no effect
    /// before it is critical or late.
    fn order(&self) -> Option<Order<'_>> {
        let (place, yields) = (&self.place[..], self.runs_late);
        Some(Order { place, replaces: false, yields })
    }

    fn patience(&self, jobs: &Jobs, member: usize) -> Option<i64> {
        let (zero_slack, late) = self.delays(jobs, member);
        zero_slack.into_iter().chain(late).min()
    }

    fn instants(&self, jobs: &Jobs, member: usize) -> Vec<i64> {
        let (zero_slack, late) = self.delays(jobs, member);
        zero_slack.into_iter().chain(late).collect()
    }
}
