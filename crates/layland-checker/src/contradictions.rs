//! Contradictions between a trace and its task set (items 8 and 9). Each job is held to the plan of
//! its task (`plan.rs`).

use crate::followed;
use crate::plan::{TaskPlan, Window, completes_all, first_after, plans};
use crate::violation::MOST_MISSING;
use crate::{Checker, Evidence, Origin, Violation};
use layland_model::{
    Behaviour, Duration, Index, JobId, OnMiss, RequestKind, ScheduleRule, Service, System, TaskId,
    Time,
};
use layland_trace::{Job, JobEnd, JobRecord, MarkKind, Trace};
use std::borrow::Cow;

/// Returns true if a job was aborted.
fn is_given_up(record: &JobRecord) -> bool {
    matches!(record.end, Some((_, JobEnd::Aborted)))
}

/// Returns the trace with the dates that the task set gives to its jobs. The result also has the
/// jobs that wait at the end of the trace behind a pending one, where the trace omits them. It is
/// borrowed if there is nothing to correct.
///
/// Deadline misses that are counted in the result are misses of the set's deadlines. All findings
/// of [`check`](crate::check) other than contradictions refer to the result, too.
///
/// ```
/// use layland_checker::{Evidence, as_the_set_says};
/// use layland_model::{Duration, JobId, ScheduleRule, Service, System, Task, TaskId, Time};
/// use layland_trace::{Job, JobEnd, Recorder, Trace};
/// let system =
///     System::new(1, vec![Task::implicit("a", Service::from_ns(2), Duration::from_ns(5))]);
/// let (id, at) = (JobId { task: TaskId(0), seq: 0 }, Time::from_ns);
/// // It ends at 7, and claims a deadline of 9.
/// let job = Job { id, arrival: at(0), release: at(0), deadline: at(9) };
/// let mut trace = Trace::default();
/// trace.ended(&job, at(7), JobEnd::Completed, Service::from_ns(2));
/// let corrected = as_the_set_says(&trace, &system, &ScheduleRule::None, &Evidence::default());
/// assert!(!trace.jobs[0].missed(at(7)) && corrected.jobs[0].missed(at(7)));
/// ```
pub fn as_the_set_says<'t>(
    trace: &'t Trace,
    system: &System,
    rule: &ScheduleRule,
    evidence: &Evidence<'_>,
) -> Cow<'t, Trace> {
    match Checker::new(trace, system, 0).held_to_set(rule, evidence) {
        Cow::Borrowed(_) => Cow::Borrowed(trace),
        Cow::Owned(corrected) => Cow::Owned(corrected),
    }
}

impl<'t> Checker<'t> {
    /// Checks items 8 and 9: reports the contradictions, and returns the trace corrected by the
    /// set.
    pub(super) fn held_to_set(
        &mut self,
        rule: &ScheduleRule,
        evidence: &Evidence<'_>,
    ) -> Cow<'t, Trace> {
        let trace = self.trace;
        let mut corrected = Cow::Borrowed(trace);
        let mut plans = plans(trace, self.system, rule, evidence);
        let by_id = std::mem::take(&mut self.by_id);
        let mut rest = by_id.as_slice();
        for (index, plan) in plans.iter_mut().enumerate() {
            let id = TaskId::from_index(index);
            let of_task = |&at: &usize| trace.jobs[at].job.id.task == id;
            let own = &rest[rest.partition_point(|&at| trace.jobs[at].job.id.task < id)..];
            let own = &own[..own.iter().take_while(|at| of_task(at)).count()];
            rest = &rest[rest.partition_point(|&at| trace.jobs[at].job.id.task <= id)..];
            plan.fix(own.iter().map(|&at| &trace.jobs[at]));
            if !evidence.is_inferred {
                self.hold_jobs(plan, (own, &by_id), (rule, evidence), &mut corrected);
            }
            self.hold_end(id, plan, own, evidence, &mut corrected);
        }
        self.by_id = by_id;
        self.hold_cpus(rule);
        corrected
    }

    /// Checks item 8 for the jobs of one task; `own` has their indices.
    fn hold_jobs(
        &mut self,
        plan: &mut TaskPlan<'_>,
        (own, by_id): (&[usize], &[usize]),
        (rule, evidence): (&ScheduleRule, &Evidence<'_>),
        corrected: &mut Cow<'t, Trace>,
    ) {
        let trace = self.trace;
        let mut previous: Option<&JobRecord> = None;
        // The last job that was not skipped.
        let mut pending: Option<&JobRecord> = None;
        for &index in own {
            let record = &trace.jobs[index];
            let job = &record.job;
            let id = job.id;
            if plan.most().is_some_and(|most| id.seq >= most) {
                let most = plan.most().unwrap_or(0);
                self.violated(|this| Violation::Surplus { job: this.name(id), most });
            }
            // A real machine may be notified of a job and of the request at once.
            if job.arrival > plan.leaves_at && !evidence.is_real() {
                let (at, left) = (job.arrival, plan.leaves_at);
                self.violated(|this| Violation::AfterLeave { job: this.name(id), at, left });
            }
            self.hold_how(plan, record, pending, (rule, evidence));
            if !(plan.task.on_miss == OnMiss::Skip && is_given_up(record)) {
                pending = Some(record);
            }
            // Jobs that arrived before the origin of a trace are cut off at time 0.
            let is_cut = evidence.origin == Origin::Unknown && job.arrival == Time::ZERO;
            let window = plan.arrival(id.seq, previous).filter(|_| !is_cut);
            previous = Some(record);
            if !is_cut {
                plan.note(job);
            }
            let mut arrival = job.arrival;
            if let Some(window) = window
                && !window.contains(job.arrival)
            {
                let Window { earliest, latest } = window;
                self.violated(|this| Violation::Arrival {
                    job: this.name(id),
                    at: job.arrival,
                    earliest,
                    latest,
                });
                arrival = window.exact().unwrap_or(arrival);
            }
            // Jobs with equal numbers arrive together in a graph.
            for &task in &plan.task.follows {
                let followed = JobId { task, seq: id.seq };
                let followed = followed::record_of(trace, by_id, followed).map(|record| record.job);
                if let Some(at) = followed.map(|job| job.arrival).filter(|&at| at != job.arrival) {
                    self.violated(|this| Violation::Arrival {
                        job: this.name(id),
                        at: job.arrival,
                        earliest: at,
                        latest: Some(at),
                    });
                }
            }
            let release = self.held_release(plan, index, arrival, evidence);
            let due = plan.deadline(job, arrival).filter(|_| !is_cut);
            if plan.deadline(job, job.arrival).is_some() && !is_cut {
                let said = job.arrival + plan.task.deadline;
                self.violated(|this| Violation::Deadline {
                    job: this.name(id),
                    deadline: job.deadline,
                    said,
                });
            }
            let deadline = due.unwrap_or(job.deadline);
            let right = Job { id, arrival, release, deadline };
            if right != *job {
                corrected.to_mut().jobs[index].job = right;
            }
        }
    }

    /// Checks how a job ended. A job may be left behind only by a task that leaves. It may be
    /// aborted only by a policy that aborts jobs, or because its task aborts late jobs. `pending`
    /// is the job that it would wait for.
    fn hold_how(
        &mut self,
        plan: &TaskPlan<'_>,
        record: &JobRecord,
        pending: Option<&JobRecord>,
        (rule, evidence): (&ScheduleRule, &Evidence<'_>),
    ) {
        let stays = plan.leaves_at == Time::NEVER && !plan.is_refused;
        let job = &record.job;
        let (earliest, deadline) = plan.given_up(job);
        let end = record.end.map_or(self.trace.over, |(at, _)| at);
        let before = pending.and_then(|record| record.end).map_or(Time::ZERO, |(at, _)| at);
        match (record.end, plan.task.on_miss) {
            (Some((at, JobEnd::Left)), _) if stays => {
                self.violated(|this| Violation::LeftUnasked { job: this.name(job.id), at });
            }
            (Some((at, JobEnd::Aborted)), OnMiss::Continue) if stays && completes_all(rule) => {
                self.violated(|this| Violation::Aborted { job: this.name(job.id), at });
            }
            (Some((at, JobEnd::Aborted)), OnMiss::Abort)
                if stays && completes_all(rule) && at < earliest =>
            {
                self.violated(|this| Violation::GivenUpEarly {
                    job: this.name(job.id),
                    at,
                    deadline: earliest,
                });
            }
            // A real machine may be notified of the predecessor's end at the same time.
            (Some((at, JobEnd::Aborted)), OnMiss::Skip)
                if stays && completes_all(rule) && !evidence.is_real() =>
            {
                let ended = |record: &JobRecord| record.end.is_some_and(|(end, _)| end < at);
                if record.executed > Service::ZERO || pending.is_none_or(ended) {
                    self.violated(|this| Violation::Aborted { job: this.name(job.id), at });
                }
            }
            // A real machine may notice the deadline late. A job without demand ends once it is
            // released and its predecessor has ended, however late that is.
            (Some((_, JobEnd::Completed)) | None, OnMiss::Abort)
                if end > deadline.max(job.release).max(before)
                    && !evidence.is_real()
                    && !self.is_endless(plan, rule) =>
            {
                self.violated(|this| Violation::RunsOn { job: this.name(job.id), deadline });
            }
            (Some(_) | None, _) => {}
        }
    }

    /// Returns true if the job of a task may be the endless job of a thread, which no engine
    /// aborts.
    fn is_endless(&self, plan: &TaskPlan<'_>, rule: &ScheduleRule) -> bool {
        matches!(plan.task.behaviour, Behaviour::Hog) && !completes_all(rule)
    }

    /// Returns the release of a job that arrives at `arrival`: the release in the trace, if it is
    /// possible.
    fn held_release(
        &mut self,
        plan: &TaskPlan<'_>,
        index: usize,
        arrival: Time,
        evidence: &Evidence<'_>,
    ) -> Time {
        let job = &self.trace.jobs[index].job;
        if matches!(plan.task.behaviour, Behaviour::Hog) {
            return job.release;
        }
        let latest = (!evidence.releases_are_told).then_some(plan.task.jitter);
        // A job that waits for others until the end of the run has the release of a job that waits
        // for none.
        let followed = self.followed.get(index).copied().flatten();
        let followed = followed.filter(|&end| end < Time::NEVER).unwrap_or(Time::ZERO);
        let window = |arrival: Time| Window {
            earliest: arrival.max(followed),
            latest: latest.map(|jitter| (arrival + jitter).max(followed)),
        };
        if !window(job.arrival).contains(job.release) {
            let Window { earliest, latest } = window(job.arrival);
            self.violated(|this| Violation::Release {
                job: this.name(job.id),
                at: job.release,
                earliest,
                latest,
            });
        }
        let right = window(arrival);
        let release = job.release.max(right.earliest);
        right.latest.map_or(release, |latest| release.min(latest))
    }

    /// Checks item 9 for the jobs after the last one in the trace.
    fn hold_end(
        &mut self,
        id: TaskId,
        plan: &mut TaskPlan<'_>,
        own: &[usize],
        evidence: &Evidence<'_>,
        corrected: &mut Cow<'t, Trace>,
    ) {
        if plan.is_refused || matches!(plan.task.behaviour, Behaviour::Hog) {
            return;
        }
        let trace = self.trace;
        let last = own.last().map(|&index| corrected.jobs[index]);
        // Job numbers of a trace without marks are not reliable.
        if evidence.is_inferred && last.is_some() {
            return;
        }
        let until = evidence.heard_until.unwrap_or(trace.over - self.latency);
        let begins = match evidence.origin {
            Origin::Known { since } => since,
            Origin::Unknown => Time::ZERO,
        };
        // Without known arrivals, the first job of a task may be noticed a period late.
        let (phase, margin) = match plan.phase {
            Some(phase) => (phase, Duration::ZERO),
            None if last.is_none() => (Duration::ZERO, plan.task.period),
            None => return,
        };
        plan.phase = Some(phase);
        if last.is_some() {
            self.hold_begin(id, plan, own, begins, evidence);
        }
        // A trace may claim any job number, up to `u64::MAX`.
        let next = |last: JobRecord| Some(last.job.id.seq.saturating_add(1));
        let Some(mut seq) = last.map_or_else(|| first_after(plan, begins - phase), next) else {
            return;
        };
        let mut before = last;
        let waits = before.is_some_and(|before| before.end.is_none());
        let (mut missing, mut first): (u64, Option<(JobId, Time)>) = (0, None);
        while plan.most().is_none_or(|most| seq < most) && missing < MOST_MISSING {
            let Some(window) = plan.arrival(seq, before.as_ref()) else { break };
            // The job must be in the trace by this time.
            let Some(latest) = window.latest else { break };
            let is_due = latest + plan.task.jitter + margin < until && latest < plan.leaves_at;
            if !is_due || before.is_some_and(|before| matches!(before.end, Some((_, JobEnd::Left))))
            {
                break;
            }
            let job = JobId { task: id, seq };
            missing += 1;
            first.get_or_insert((job, latest));
            let deadline = latest + plan.task.deadline;
            let dates = Job { id: job, arrival: latest, release: latest, deadline };
            let record = JobRecord { job: dates, end: None, executed: Service::ZERO };
            if waits && evidence.hides_waiting {
                corrected.to_mut().jobs.push(record);
            }
            before = Some(record);
            plan.note(&dates);
            seq += 1;
        }
        // A kernel has no event for a job that waits behind another job of its thread.
        if let Some((job, at)) = first.filter(|_| !(waits && evidence.hides_waiting)) {
            self.violated(|this| Violation::Missing { job: this.name(job), at, more: missing - 1 });
        }
    }

    /// Checks item 9 for the jobs before the first one in the trace. Jobs are numbered from 0 if
    /// the origin is known.
    fn hold_begin(
        &mut self,
        id: TaskId,
        plan: &TaskPlan<'_>,
        own: &[usize],
        begins: Time,
        evidence: &Evidence<'_>,
    ) {
        let Some(&first) = own.first() else { return };
        // Without a latency, the numbers themselves are checked: they begin with 0.
        if evidence.origin == Origin::Unknown || self.latency == Duration::ZERO {
            return;
        }
        let seq = self.trace.jobs[first].job.id.seq;
        let Some(due) = first_after(plan, begins) else { return };
        if due < seq
            && let Some(window) = plan.arrival(due, None)
        {
            let job = JobId { task: id, seq: due };
            let (at, more) = (window.earliest, seq - due - 1);
            self.violated(|this| Violation::Missing { job: this.name(job), at, more });
        }
    }

    /// Checks that CPUs go on- and offline only by a request, and that they keep the speeds of the
    /// set.
    fn hold_cpus(&mut self, rule: &ScheduleRule) {
        for mark in &self.trace.marks {
            let (cpu, goes_offline) = match mark.kind {
                MarkKind::CpuOnline(cpu) => (cpu, false),
                MarkKind::CpuOffline(cpu) => (cpu, true),
                MarkKind::Speed(cpu, _) => {
                    if completes_all(rule) {
                        self.violated(|_| Violation::Speed { cpu, at: mark.at });
                    }
                    continue;
                }
                MarkKind::BudgetExhausted(..)
                | MarkKind::Lock(..)
                | MarkKind::Suspended(_)
                | MarkKind::Resumed(_)
                | MarkKind::Note(_) => continue,
            };
            let asked = self.system.requests.iter().any(|request| {
                let kind = match request.kind {
                    RequestKind::CpuOnline(of) => (of, false),
                    RequestKind::CpuOffline(of) => (of, true),
                    RequestKind::Leave(_)
                    | RequestKind::Reconfigure(..)
                    | RequestKind::SetClusterCpus { .. } => return false,
                };
                kind == (cpu, goes_offline) && request.at <= mark.at
            });
            if !asked {
                let at = mark.at;
                self.violated(|_| Violation::Unasked { cpu, at, goes_offline });
            }
        }
    }
}
