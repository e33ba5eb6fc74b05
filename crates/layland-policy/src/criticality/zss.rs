//! Zero-slack scheduling (**ZSS**): rate-monotonic priorities, and a zero-slack instant per task at which
//! the tasks of lower criticality are suspended (de Niz, Lakshmanan and Rajkumar 2009; Huang, Gill, Lu
//! 2014, Sections 2.3 and 5.1).
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `Z_i` | `zero_slack` | the instant, relative to the release; none or `Z_i = D_i`: no timer |
//! | critical | from `r + Z_i` on | tasks with `z < z_i` are suspended until the job completes |
//! | late | from `r + D_i` on | the job falls behind all others; not at the highest criticality that occurs |
//! | binary heap | `heap` | why tasks are suspended: one entry for each job that is critical or late |
//! | `zeta^s0` | the top entry | tasks with `z <= zeta^s0`, here `z < below`, are suspended |
//!
//! A job that is late is no longer critical. [`Late`] says what it does to others: as in the paper it suspends
//! all other tasks up to its own criticality, or nothing but falling behind. The jobs of one task run in the order
//! of their releases, so a task is late as long as its first job is. Every job is cut off at `C_i(z_i)`.
//!
//! | event | heap |
//! |---|---|
//! | zero-slack instant | the job pushes `below = z_i` |
//! | deadline | the entry of the job is replaced by `below = z_i + 1`; with [`Late::Demote`] it is removed |
//! | completion, abort | the entry of the job is removed |
//!
//! The highest priority among the tasks that are not suspended and not late runs. If there is none, a late one
//! runs: that of the top entry, or with `demote` the one of highest criticality, then priority, that is not suspended.
//!
//! # What was repaired
//!
//! 1. The paper pushes for a deadline although the job has pushed at its zero-slack instant, and pops once. Here a
//!    job has one entry, from the event on, and does not push again when it is woken.
//! 2. Of two late jobs of one criticality, each suspends the other, and a pop restores nobody since the second entry
//!    is equal to the top: the second job never ends. Here the late entry on top does not suspend its own task.
//! 3. Equal late entries are ordered by the priorities of their tasks. To let a suspended job push only when it is
//!    woken, which also repairs 1 and 2, is not the rule: let `b`, of the lower priority, be late from 1 on and
//!    suspend `a` of the same criticality, due at 2. From 2 on both are late, and it is `a` that must run; but nothing
//!    wakes it before `b` ends.
//! 4. The entry of a critical job (`z_i - 1` in the paper) comes before an equal one of a late job (`z_j`), whose
//!    task it suspends too.
//!
//! That makes the top what follows from all critical and late jobs, whatever the order of their events: the test
//! kit compares it with that rule, decision by decision.

use super::mechanism::{Choice, Jobs, Mechanism, Pending, highest, places};
use layland_model::{Duration, JobId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a late job does to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Late {
    /// It suspends the tasks up to its own criticality.
    #[default]
    Suspend,
    /// It only runs when nothing else can.
    Demote,
}

/// Why a job suspends tasks. Of two that suspend the same tasks, the critical one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Late,
    Critical,
}

/// A job that is critical or late, in the order of the heap: the last one is on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
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
    /// Where they are before the deadline.
    zero_slack: Vec<Option<i64>>,
    late: Late,
    heap: BinaryHeap<Entry>,
    /// How many late jobs each task has: its first ones. (Like the heap, this follows from the jobs and the time,
    /// so that [`save`](Mechanism::save) need not write it.)
    late_jobs: Vec<usize>,
    /// Zero-slack instants and deadlines up to here have been processed.
    processed: Time,
}

impl ZeroSlack {
    /// With an order of the tasks, highest priority first, and their zero-slack instants in nanoseconds.
    pub fn new(order: &[usize], zero_slack: &[Option<i64>], late: Late) -> ZeroSlack {
        ZeroSlack {
            place: places(order),
            zero_slack: zero_slack.to_vec(),
            late,
            heap: BinaryHeap::with_capacity(2 * order.len()),
            late_jobs: vec![0; order.len()],
            processed: Time::from_ns(i64::MIN),
        }
    }

    /// When a job becomes critical and when late, if it does.
    fn instants(&self, jobs: &Jobs, member: usize, job: &Pending) -> (Option<Time>, Option<Time>) {
        let task = &jobs.members()[member];
        let zero_slack = self.zero_slack[member].filter(|&instant| instant < task.deadline);
        let critical_at = |instant| job.deadline - Duration::from_ns(task.deadline - instant);
        let highest = jobs.members().iter().map(|member| member.criticality).max();
        let late_at = (Some(task.criticality) < highest).then_some(job.deadline);
        (zero_slack.map(critical_at), late_at)
    }

    /// Processes what came for a job after `since`, up to `now`.
    fn process(&mut self, jobs: &Jobs, member: usize, job: &Pending, since: Time, now: Time) {
        let (critical_at, late_at) = self.instants(jobs, member, job);
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
        self.heap.push(Entry { below, cause, place, member, job });
    }

    /// Removes the entry of a job, if it has one; it is on top unless others are suspended by the same right.
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
        // The late jobs of a task are its first ones, so one that ends is late if any is.
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
            let (critical_at, late_at) = self.instants(jobs, member, job);
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
            })?;
        Some(Choice { member, limit: Some(jobs.members()[member].own_bound()) })
    }
}
