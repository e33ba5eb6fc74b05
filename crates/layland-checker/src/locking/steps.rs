//! The check that the marks of each job are the steps of its task, each after the execution that
//! precedes it.

use crate::{Checker, Sound, Violation};
use layland_model::{Duration, JobId, Service, Speed, Step, Time};
use layland_trace::{LockMark, MarkKind};
use std::collections::BTreeMap;

/// The action of a job at a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Lock(layland_model::ResourceId, LockMark),
    Suspends,
    Resumes,
}

impl Checker<'_> {
    /// Returns true if marks and steps agree for every job. Reports the jobs for which they differ.
    pub(super) fn steps_are_kept(&mut self, segments: &[Sound]) -> bool {
        let trace = self.trace;
        let mut marks: BTreeMap<JobId, Vec<(Time, Does)>> = BTreeMap::new();
        let mut last = Time::ZERO;
        for mark in &trace.marks {
            let (id, does) = match mark.kind {
                MarkKind::Lock(id, resource, what) => (id, Does::Lock(resource, what)),
                MarkKind::Suspended(id) => (id, Does::Suspends),
                MarkKind::Resumed(id) => (id, Does::Resumes),
                MarkKind::BudgetExhausted(..)
                | MarkKind::CpuOnline(_)
                | MarkKind::CpuOffline(_)
                | MarkKind::Speed(..)
                | MarkKind::Note(_) => continue,
            };
            let known = self.find(id).is_some();
            if !known || mark.at < last || mark.at > trace.over {
                self.violated(|this| Violation::Steps { job: this.name(id), at: mark.at });
                return false;
            }
            last = mark.at;
            marks.entry(id).or_default().push((mark.at, does));
        }
        let mut by_job: Vec<Vec<Sound>> = vec![Vec::new(); trace.jobs.len()];
        for segment in segments {
            by_job[segment.job].push(*segment);
        }
        let mut kept = true;
        for (index, record) in trace.jobs.iter().enumerate() {
            let own = marks.remove(&record.job.id).unwrap_or_default();
            if let Some(at) = self.first_wrong_step(index, &own, &by_job[index]) {
                kept = false;
                self.violated(|this| Violation::Steps { job: this.name_at(index), at });
            }
        }
        kept
    }

    /// Returns the first time at which a job visibly deviates from its steps.
    fn first_wrong_step(
        &self,
        index: usize,
        marks: &[(Time, Does)],
        segments: &[Sound],
    ) -> Option<Time> {
        let record = &self.trace.jobs[index];
        let task = &self.system.tasks[record.job.id.task];
        let is_unit_speed = self.system.platform.speeds.values().all(|&speed| speed == Speed::UNIT);
        let mut waits: Vec<(Time, Time)> = Vec::new();
        let mut left = marks.iter().copied();
        let mut before = Service::ZERO;
        let (c, demand) = (i128::from(task.own_wcet().ns()), i128::from(record.executed.ns()));
        let completed = record.completion();
        // The steps are scaled from the WCET to the demand of the job, and rounded up.
        let exact = |before: Service| (i128::from(before.ns()) * demand + c - 1) / c;
        // True if the job does the remaining steps at once, because none of them takes processor
        // time. The demand of a job that has not ended is unknown.
        let needs_no_cpu = |rest: &[Step], before: Service| {
            rest.iter().all(|step| match step {
                Step::Run(_) => completed.is_some() && exact(before) == demand,
                Step::Lock(_) => false,
                Step::Unlock(_) | Step::Suspend(_) => true,
            })
        };
        // The time at which the next step is due, if it needs no CPU.
        let mut at_once: Option<Time> = None;
        let done = |at: Time, waits: &[(Time, Time)]| {
            let mut executed = Duration::ZERO;
            for segment in segments.iter().filter(|segment| segment.start < at) {
                executed += overlap((segment.start, segment.end.min(at)), &[(segment.start, at)]);
                executed -= overlap((segment.start, segment.end.min(at)), waits);
            }
            executed
        };
        let steps = task.steps();
        for (place, step) in steps.iter().enumerate() {
            let two = |first, second| [Some(first), Some(second)];
            let expected = match *step {
                Step::Run(length) => {
                    before += length;
                    continue;
                }
                Step::Lock(resource) => two(
                    Does::Lock(resource, LockMark::Requested),
                    Does::Lock(resource, LockMark::Granted),
                ),
                Step::Unlock(resource) => [Some(Does::Lock(resource, LockMark::Unlocked)), None],
                Step::Suspend(Duration::ZERO) => continue,
                Step::Suspend(_) => two(Does::Suspends, Does::Resumes),
            };
            let mut since = None;
            for does in expected.into_iter().flatten() {
                let Some((at, found)) = left.next() else {
                    if let (Some(since), Does::Lock(..)) = (since, does) {
                        waits.push((since, self.trace.over));
                    }
                    let resumes = match (*step, since) {
                        (Step::Suspend(length), Some(since)) => since + length <= self.trace.over,
                        (_, _) => false,
                    };
                    // The job has not reached this step, which is right unless the step is overdue.
                    return completed
                        .or(since.filter(|_| resumes))
                        .or(at_once.filter(|&due| due < self.trace.over))
                        .or(self.spins_otherwise(segments, &waits));
                };
                let is_late =
                    completed.is_some_and(|end| end < at) || at_once.is_some_and(|due| due < at);
                if found != does || is_late || at < self.ready[index].0 {
                    return Some(at);
                }
                match (*step, since) {
                    (Step::Suspend(length), Some(since)) if at != since + length => {
                        return Some(at);
                    }
                    (Step::Lock(_), Some(since)) => waits.push((since, at)),
                    (_, _) => {}
                }
                let is_there = i128::from(done(at, &waits).ns()) == exact(before);
                if is_unit_speed && completed.is_some() && !is_there {
                    return Some(at);
                }
                since = Some(at);
                match does {
                    Does::Resumes if needs_no_cpu(&steps[place + 1..], before) => {
                        at_once = Some(at);
                    }
                    Does::Suspends | Does::Resumes => at_once = None,
                    Does::Lock(..) => {}
                }
            }
        }
        if let Some((at, _)) = left.next() {
            return Some(at);
        }
        let end = record.end.map(|(at, _)| at);
        if let Some(due) = at_once.filter(|&due| due < self.trace.over && end != Some(due)) {
            return Some(due);
        }
        self.spins_otherwise(segments, &waits)
    }

    /// Returns the start of a segment that makes progress while its job waits, or makes none while
    /// the job does not wait.
    fn spins_otherwise(&self, segments: &[Sound], waits: &[(Time, Time)]) -> Option<Time> {
        let spins = |segment: &Sound| overlap((segment.start, segment.end), waits);
        let wrong = segments.iter().find(|segment| segment.overhead != spins(segment));
        wrong.map(|segment| segment.start)
    }
}

/// Returns the part of an interval that lies within others, which are disjoint.
fn overlap((start, end): (Time, Time), others: &[(Time, Time)]) -> Duration {
    let within =
        |&(from, until): &(Time, Time)| (until.min(end) - from.max(start)).max(Duration::ZERO);
    others.iter().map(within).fold(Duration::ZERO, |sum, one| sum + one)
}
