//! Pfair on a trace: jobs run in whole slots, and each subtask runs in its window (Anderson and
//! Srinivasan 2001). [`ScheduleRule::Pfair`](layland_model::ScheduleRule::Pfair) defines the
//! windows.
//!
//! The paper calls a schedule fair if every subtask runs in its window. Let `W` be the weight of a
//! task. Then no job that executes its WCET is ever a slot or more behind `W` times the time since
//! its release. Without early releases, it is never a slot or more ahead of that either. Deadlines
//! follow: the last window of a job that is released at the beginning of a slot ends by the job's
//! deadline.
//!
//! A task that exceeds its WCET has windows, too, at the same rate, so it does not excuse the other
//! tasks.

use super::{Checker, Violation};
use layland_model::{Behaviour, Duration, Group, OnMiss, Releases, Service, Task, TaskId, Time};
use layland_trace::JobEnd;

/// The parameters of the rule.
#[derive(Clone, Copy)]
struct Pfair {
    quantum: Duration,
    releases: Releases,
    early: bool,
}

/// `e` slots in every window of `p`.
#[derive(Clone, Copy)]
struct Weight {
    e: i128,
    p: i128,
}

impl Pfair {
    /// Returns the weight of a task, or `None` if its demand exceeds its window.
    fn weight(&self, task: &Task) -> Option<Weight> {
        let (q, window) = (self.quantum.ns(), task.deadline.min(task.period).ns());
        let begins_slots = match &task.behaviour {
            Behaviour::Periodic | Behaviour::Hog | Behaviour::Yield => {
                task.offset.ns() % q == 0 && task.period.ns() % q == 0
            }
            Behaviour::Explicit(releases) => releases.iter().all(|at| at.ns() % q == 0),
            Behaviour::Sporadic(_) | Behaviour::Curve(_) | Behaviour::SelfSuspending { .. } => {
                false
            }
        };
        let p = match self.releases {
            Releases::Anywhere if !begins_slots || task.jitter > Duration::ZERO => {
                // A release within a slot loses up to `q - 1` ns of the window.
                (window - q + 1).div_euclid(q)
            }
            Releases::Anywhere | Releases::OnBoundaries => window / q,
        };
        let e = ceil(task.own_wcet().ns().into(), q.into()).max(1);
        (e <= p.into()).then_some(Weight { e, p: p.into() })
    }
}

impl Weight {
    /// Returns the first slot of the window of subtask `i`, counted from the anchor.
    fn first(self, i: i128) -> i128 {
        ((i - 1) * self.p).div_euclid(self.e)
    }

    /// Returns the slot before which the window of subtask `i` ends.
    fn end(self, i: i128) -> i128 {
        ceil(i * self.p, self.e)
    }
}

fn ceil(a: i128, b: i128) -> i128 {
    -(-a).div_euclid(b)
}

impl Checker<'_> {
    pub(super) fn check_pfair(
        &mut self,
        groups: &[Group],
        quantum: Duration,
        releases: Releases,
        early: bool,
    ) {
        let rule = Pfair { quantum, releases, early };
        let is_ideal = self.system.platform.overheads.is_zero()
            && self.system.requests.is_empty()
            && !self.is_real
            && rule.quantum > Duration::ZERO;
        let mut found = Vec::new();
        if is_ideal {
            self.find_off_slots(rule, &mut found);
            let slots = self.slots(rule);
            for group in groups {
                self.find_outside_windows(group, rule, &slots, &mut found);
            }
        }
        self.check_served(groups);
        for violation in found {
            self.violated(|_| violation);
        }
    }

    /// Finds jobs that begin to run within a slot, or that stop within one without ending.
    fn find_off_slots(&self, rule: Pfair, found: &mut Vec<Violation>) {
        let is_within = |at: Time| at.ns() % rule.quantum.ns() != 0;
        for segment in &self.sound {
            let (record, job) = (&self.trace.jobs[segment.job], self.name_at(segment.job));
            let ends = record.end.map_or(self.trace.over, |(at, _)| at.min(self.trace.over));
            if is_within(segment.start) {
                let at = segment.start;
                found.push(Violation::WithinSlot { job, cpu: segment.cpu, at, does: "begins" });
            } else if is_within(segment.end)
                && segment.end != ends
                && segment.end != self.trace.over
            {
                let at = segment.end;
                found.push(Violation::WithinSlot { job, cpu: segment.cpu, at, does: "stops" });
            }
        }
    }

    /// Returns the first and the last slot of each segment of each job, in the order of
    /// `Trace::jobs`.
    fn slots(&self, rule: Pfair) -> Vec<Vec<(i64, i64)>> {
        let mut slots = vec![Vec::new(); self.trace.jobs.len()];
        for segment in &self.sound {
            let slot = |at: Time| at.ns().div_euclid(rule.quantum.ns());
            let last = slot(segment.end - Duration::from_ns(1));
            slots[segment.job].push((slot(segment.start), last));
        }
        slots.iter_mut().for_each(|slots| slots.sort_unstable());
        slots
    }

    /// Finds the subtasks of a group that do not run in their windows, if the CPUs can supply the
    /// demand of all tasks.
    fn find_outside_windows(
        &self,
        group: &Group,
        rule: Pfair,
        slots: &[Vec<(i64, i64)>],
        found: &mut Vec<Violation>,
    ) {
        let tasks = group.tasks.iter().filter_map(|&id| Some((id, self.system.tasks.get(id)?)));
        let weights: Option<Vec<(TaskId, Weight)>> =
            tasks.map(|(id, task)| Some((id, rule.weight(task)?))).collect();
        let Some(weights) = weights else { return };
        let rate = |&(_, Weight { e, p }): &(TaskId, Weight)| {
            let number = |value: i128| i64::try_from(value).unwrap_or(i64::MAX);
            layland_model::Rate::new(number(e), number(p))
        };
        let total: layland_model::Rate = weights.iter().map(rate).sum();
        if total > layland_model::Rate::whole(group.cpus.len() as i64) {
            return;
        }
        let q = rule.quantum.ns();
        let over = self.trace.over;
        for (id, weight) in weights {
            let task = &self.system.tasks[id];
            // The earliest slot at which the windows of the next job can begin.
            let mut earliest = i128::MIN;
            let jobs = &self.trace.jobs;
            let of_task = self.by_id.partition_point(|&index| jobs[index].job.id.task < id);
            for &index in &self.by_id[of_task..] {
                let record = &jobs[index];
                if record.job.id.task != id {
                    break;
                }
                let is_skipped = task.on_miss == OnMiss::Skip
                    && record.executed == Service::ZERO
                    && matches!(record.end, Some((_, JobEnd::Aborted)));
                if is_skipped {
                    continue;
                }
                let released = ceil(record.job.release.ns().into(), q.into());
                let anchor = released.max(earliest);
                let window = |i: i128| (anchor + weight.first(i), anchor + weight.end(i));
                // The number of slots that the job has got, and the slot after the last one.
                let (mut count, mut next) = (0i128, i64::MIN);
                for &(from, to) in &slots[index] {
                    for slot in from.max(next)..=to {
                        count += 1;
                        let (first, end) = window(count);
                        let first = if rule.early { anchor } else { first };
                        if i128::from(slot) < first || i128::from(slot) >= end {
                            found.push(self.outside(index, count, Some(slot), (first, end), q));
                        }
                    }
                    next = next.max(to + 1);
                }
                let ended = record.end.map_or(over, |(at, _)| at);
                let is_complete = matches!(record.end, Some((_, JobEnd::Completed)));
                let (first, end) = window(count + 1);
                if !is_complete && end * i128::from(q) <= i128::from(ended.ns()) {
                    found.push(self.outside(index, count + 1, None, (first, end), q));
                }
                earliest = anchor + weight.end(count.max(weight.e));
            }
        }
    }

    fn outside(
        &self,
        job: usize,
        subtask: i128,
        slot: Option<i64>,
        (first, end): (i128, i128),
        q: i64,
    ) -> Violation {
        let time = |slot: i128| {
            let ns = slot.saturating_mul(i128::from(q));
            Time::from_ns(i64::try_from(ns).unwrap_or(i64::MAX))
        };
        Violation::OutsideWindow {
            job: self.name_at(job),
            subtask: subtask as u64,
            at: slot.map(|slot| time(slot.into())),
            first: time(first),
            end: time(end),
        }
    }
}
