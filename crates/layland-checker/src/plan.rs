//! The prescriptions of the task set for the jobs of a trace (items 8 and 9): their arrivals,
//! releases and deadlines, their number, and the jobs that must be present.
//!
//! | behaviour | job `k` arrives |
//! |---|---|
//! | periodic, yield | at `offset + k * period` |
//! | listed | at the `k`-th time of the list |
//! | by a curve | at `offset + d_k`; if more is drawn, the first at `offset`, and the others as soon as all before them permit, plus the drawn separation |
//! | sporadic | the first at `offset`; the others a period after the one before, plus the drawn separation |
//! | self-suspending | the first at `offset`; the others at the end of the one before plus the gap |
//! | hog | not checked: its jobs are budgets, and its policy sets their dates |
//!
//! A request for other parameters takes effect from some job on, and the trace does not show from
//! which. From the request on, both the old and the new values are right.

use crate::{Evidence, Origin};
use layland_model::{
    ArrivalCurve, Behaviour, Change, Duration, Index, JobOrder, RequestKind, ScheduleRule,
    Separation, System, Task, TaskId, Time,
};
use layland_trace::{Job, JobRecord, Trace};
use std::collections::VecDeque;

/// The interval in which a job arrives by the set. It may have no upper end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub earliest: Time,
    pub latest: Option<Time>,
}

impl Window {
    fn at(time: Time) -> Window {
        Window { earliest: time, latest: Some(time) }
    }

    pub(crate) fn contains(self, time: Time) -> bool {
        self.earliest <= time && self.latest.is_none_or(|latest| time <= latest)
    }

    pub(crate) fn exact(self) -> Option<Time> {
        self.latest.filter(|&latest| latest == self.earliest)
    }
}

/// The prescriptions of the set for the jobs of one task.
pub(crate) struct TaskPlan<'a> {
    pub(crate) task: &'a Task,
    /// The relative deadlines and periods that are right at some time, beginning with the task's
    /// own, and the time of the first request for others.
    deadlines: Vec<Duration>,
    periods: Vec<Duration>,
    changes_at: Time,
    /// The last job whose arrival cannot have been changed by such a request.
    fixed_through: u64,
    /// The time at which the task requests to leave.
    pub(crate) leaves_at: Time,
    /// True if an answer in the trace rejects the task.
    pub(crate) is_refused: bool,
    /// True if the policy, and not the set, determines the deadlines of the jobs.
    is_dated: bool,
    /// The offset of the trace's clock from the set's, if it is known.
    pub(crate) phase: Option<Duration>,
    /// True for a real machine, which may notice a job later than planned.
    is_real: bool,
    /// The last arrivals, the latest first, if extra separations are drawn on top of the curve.
    recent: VecDeque<(u64, Time)>,
}

impl<'a> TaskPlan<'a> {
    fn of(
        id: TaskId,
        task: &'a Task,
        (trace, system): (&Trace, &System),
        rule: &ScheduleRule,
        evidence: &Evidence<'_>,
    ) -> TaskPlan<'a> {
        let mut plan = TaskPlan {
            task,
            deadlines: vec![task.deadline],
            periods: vec![task.period],
            changes_at: Time::NEVER,
            fixed_through: u64::MAX,
            leaves_at: Time::NEVER,
            is_refused: false,
            // A policy that schedules threads dates self-suspending tasks by their servers.
            is_dated: matches!(task.behaviour, Behaviour::SelfSuspending { .. })
                && *rule == ScheduleRule::None,
            phase: None,
            is_real: evidence.is_real(),
            recent: VecDeque::new(),
        };
        for request in &system.requests {
            match &request.kind {
                RequestKind::Leave(of) if *of == id => {
                    plan.leaves_at = plan.leaves_at.min(request.at);
                }
                RequestKind::Reconfigure(of, Change::Parameters { period, deadline, .. })
                    if *of == id =>
                {
                    plan.deadlines.push(*deadline);
                    plan.periods.push(*period);
                    plan.changes_at = plan.changes_at.min(request.at);
                }
                RequestKind::Leave(_)
                | RequestKind::Reconfigure(..)
                | RequestKind::SetClusterCpus { .. }
                | RequestKind::CpuOnline(_)
                | RequestKind::CpuOffline(_) => {}
            }
        }
        let entry = format!("task `{}` enters", task.name);
        // Only a policy that may reject a task of its set can have rejected this one.
        plan.is_refused = !completes_all(rule)
            && trace
                .answers
                .iter()
                .any(|answer| answer.refused.is_some() && answer.request == entry);
        plan
    }

    /// Finds the first job that is pending when other parameters are requested. The arrival of its
    /// successor was drawn when it was released, and later arrivals are drawn anew.
    pub(crate) fn fix<'j>(&mut self, jobs: impl Iterator<Item = &'j JobRecord>) {
        let ended_before =
            |record: &JobRecord| record.end.is_some_and(|(at, _)| at < self.changes_at);
        if self.changes_at < Time::NEVER {
            let mut after = 0;
            let mut jobs = jobs.skip_while(|&record| {
                // A trace may claim any job number, up to `u64::MAX`.
                after = record.job.id.seq.saturating_add(1);
                ended_before(record)
            });
            self.fixed_through = jobs.next().map_or(after, |record| record.job.id.seq);
        }
    }

    /// Returns the curve and the extra separations, if there are any.
    fn drawn_curve(&self) -> Option<(&'a ArrivalCurve, &'a Separation)> {
        let arrivals = self.task.curve_arrivals()?;
        Some((&arrivals.curve, arrivals.extra.as_ref()?))
    }

    /// Accepts an arrival as true, so that later arrivals are checked against it.
    pub(crate) fn note(&mut self, job: &Job) {
        if let Some((curve, _)) = self.drawn_curve() {
            self.recent.push_front((job.id.seq, job.arrival));
            self.recent.truncate(curve.delta_min().len());
        }
    }

    /// Returns the window of job `seq` for a curve with extra separations. Jobs that the trace
    /// lacks have come in between.
    fn after_recent(&self, seq: u64, curve: &ArrivalCurve, extra: &Separation) -> Option<Window> {
        let after = |&(before, at): &(u64, Time)| {
            seq.checked_sub(before).map(|steps| at.saturating_add(curve.distance(steps)))
        };
        let earliest = self.recent.iter().filter_map(after).max()?;
        let (Separation::Uniform { max } | Separation::Exponential { max, .. }) = extra;
        let mut due = seq;
        let in_a_row = self.recent.iter().all(|&(before, _)| {
            due = due.wrapping_sub(1);
            before == due
        });
        let is_whole = in_a_row && (due == 0 || self.recent.len() == curve.delta_min().len());
        Some(Window { earliest, latest: is_whole.then(|| earliest.saturating_add(*max)) })
    }

    /// Returns the arrival of job `seq` by the clock of the set, if it depends on nothing else.
    fn nominal(&self, seq: u64) -> Option<Time> {
        match &self.task.behaviour {
            Behaviour::Periodic | Behaviour::Yield => {
                let since = i64::try_from(seq).ok()?.checked_mul(self.task.period.ns())?;
                let at = self.task.offset.ns().checked_add(since)?;
                (seq <= self.fixed_through).then_some(Time::from_ns(at))
            }
            Behaviour::Explicit(releases) => releases.get(usize::try_from(seq).ok()?).copied(),
            Behaviour::Curve(arrivals) if arrivals.extra.is_none() => {
                Some((Time::ZERO + self.task.offset).saturating_add(arrivals.curve.distance(seq)))
            }
            Behaviour::Sporadic(_) | Behaviour::Curve(_) | Behaviour::SelfSuspending { .. } => {
                (seq == 0).then_some(Time::ZERO + self.task.offset)
            }
            Behaviour::Hog => None,
        }
    }

    /// Returns the window of job `seq` by the trace's clock, or `None` if the set does not
    /// determine it.
    pub(crate) fn arrival(&self, seq: u64, previous: Option<&JobRecord>) -> Option<Window> {
        if let Some(nominal) = self.nominal(seq) {
            return Some(Window::at(nominal + self.phase?));
        }
        if let Some((curve, extra)) = self.drawn_curve() {
            return self.after_recent(seq, curve, extra);
        }
        let previous =
            previous.filter(|previous| previous.job.id.seq.checked_add(1) == Some(seq))?;
        let after = |period: Duration, more: Option<Duration>| {
            let earliest = previous.job.arrival + period;
            Window { earliest, latest: more.map(|more| earliest + more) }
        };
        let [least, most] = [
            self.periods.iter().min().copied().unwrap_or(self.task.period),
            self.periods.iter().max().copied().unwrap_or(self.task.period),
        ];
        match &self.task.behaviour {
            Behaviour::Periodic | Behaviour::Yield => Some(after(least, Some(most - least))),
            Behaviour::Sporadic(
                Separation::Uniform { max } | Separation::Exponential { max, .. },
            ) => Some(after(least, Some(most - least + *max))),
            Behaviour::SelfSuspending { gap } => {
                let (end, _) = previous.end?;
                // A real machine sleeps from the time at which it notices the end.
                let latest = (!self.is_real).then_some(end + *gap);
                Some(Window { earliest: end + *gap, latest })
            }
            Behaviour::Explicit(_) | Behaviour::Curve(_) | Behaviour::Hog => None,
        }
    }

    /// Returns the maximum number of jobs of the task in the set.
    pub(crate) fn most(&self) -> Option<u64> {
        let listed = match &self.task.behaviour {
            Behaviour::Explicit(releases) => Some(releases.len() as u64),
            // The jobs of a hog are its budgets, and their number is not limited.
            Behaviour::Hog => return None,
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Curve(_)
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => None,
        };
        [self.task.jobs, listed].into_iter().flatten().min()
    }

    /// Returns the interval in which a late job may be aborted. If the trace dates jobs by their
    /// servers, as SCHED_DEADLINE does with threads that suspend themselves, the deadlines of the
    /// set still count.
    pub(crate) fn given_up(&self, job: &Job) -> (Time, Time) {
        let said = self.deadline(job, job.arrival).unwrap_or(job.deadline);
        if !self.is_dated {
            return (said, said);
        }
        let all = || self.deadlines.iter().map(|&relative| job.arrival + relative);
        (all().min().unwrap_or(said), all().max().unwrap_or(said))
    }

    /// Returns the absolute deadline of a job by the set, or `None` if the job's own deadline is
    /// allowed.
    pub(crate) fn deadline(&self, job: &Job, arrival: Time) -> Option<Time> {
        if self.is_dated || matches!(self.task.behaviour, Behaviour::Hog) {
            return None;
        }
        let may_be_new = job.id.seq >= self.fixed_through;
        let right = self.deadlines.iter().take(if may_be_new { usize::MAX } else { 1 });
        let is_right =
            right.into_iter().any(|&relative| job.deadline == arrival.saturating_add(relative));
        (!is_right).then_some(arrival.saturating_add(self.task.deadline))
    }
}

/// Returns the plans of all tasks. If the origin of the trace's clock is unknown, it is derived
/// from the tasks whose arrivals are fixed.
pub(crate) fn plans<'a>(
    trace: &Trace,
    system: &'a System,
    rule: &ScheduleRule,
    evidence: &Evidence<'_>,
) -> Vec<TaskPlan<'a>> {
    let mut plans: Vec<TaskPlan> = (system.tasks.iter())
        .map(|(id, task)| TaskPlan::of(id, task, (trace, system), rule, evidence))
        .collect();
    let phase = match evidence.origin {
        Origin::Known { .. } => Some(Duration::ZERO),
        Origin::Unknown => {
            // Jobs that arrived before the origin were cut off: their arrival in the trace is 0.
            let seen = trace.jobs.iter().filter(|record| record.job.arrival > Time::ZERO);
            let phases = seen.filter_map(|record| {
                let plan = plans.get(record.job.id.task.index())?;
                let fixed = match &plan.task.behaviour {
                    Behaviour::Curve(arrivals) if arrivals.extra.is_none() => {
                        plan.nominal(record.job.id.seq)?
                    }
                    Behaviour::Periodic | Behaviour::Yield | Behaviour::Explicit(_) => {
                        plan.nominal(record.job.id.seq)?
                    }
                    Behaviour::Sporadic(_)
                    | Behaviour::Curve(_)
                    | Behaviour::SelfSuspending { .. }
                    | Behaviour::Hog => {
                        return None;
                    }
                };
                Some(record.job.arrival - fixed)
            });
            most_frequent(phases.collect())
        }
    };
    plans.iter_mut().for_each(|plan| plan.phase = phase);
    plans
}

/// Returns the most frequent value, so that a few wrong times do not make all others wrong.
fn most_frequent(mut all: Vec<Duration>) -> Option<Duration> {
    all.sort_unstable();
    all.chunk_by(|a, b| a == b).max_by_key(|chunk| chunk.len()).map(|chunk| chunk[0])
}

/// Returns true if a policy with this rule lets every job of its set complete.
pub(crate) fn completes_all(rule: &ScheduleRule) -> bool {
    match rule {
        ScheduleRule::HighestFirst { order: JobOrder::Feasible, .. } => false,
        ScheduleRule::HighestFirst { .. }
        | ScheduleRule::Deferred { .. }
        | ScheduleRule::Served { .. }
        | ScheduleRule::Locking(_)
        | ScheduleRule::LeastLaxity { .. }
        | ScheduleRule::Optimal { .. }
        | ScheduleRule::Pfair { .. }
        | ScheduleRule::Shares { .. }
        | ScheduleRule::Allotted { .. }
        | ScheduleRule::Weak { .. }
        | ScheduleRule::Strong { .. } => true,
        ScheduleRule::None | ScheduleRule::Split { .. } | ScheduleRule::MixedCriticality { .. } => {
            false
        }
    }
}

/// Returns the first job with a fixed arrival that is at or after this time of the set's clock.
pub(crate) fn first_after(plan: &TaskPlan<'_>, begins: Time) -> Option<u64> {
    let since = (begins - (Time::ZERO + plan.task.offset)).ns().max(0);
    match &plan.task.behaviour {
        Behaviour::Periodic | Behaviour::Yield => {
            let period = plan.task.period.ns().max(1);
            u64::try_from(since.div_euclid(period) + i64::from(since % period > 0)).ok()
        }
        Behaviour::Explicit(releases) => {
            Some(releases.partition_point(|&release| release < begins) as u64)
        }
        Behaviour::Curve(arrivals) if arrivals.extra.is_none() => {
            u64::try_from(arrivals.curve.arrivals_within(Duration::from_ns(since))).ok()
        }
        Behaviour::Sporadic(_) | Behaviour::Curve(_) | Behaviour::SelfSuspending { .. } => {
            (since == 0).then_some(0)
        }
        Behaviour::Hog => None,
    }
}
