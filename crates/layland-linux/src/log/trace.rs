//! The trace of a run, built from its log after the run.
//!
//! There are two views of the same run:
//!
//! | view | a job is released | a CPU holds a job | a job ends |
//! |---|---|---|---|
//! | [`View::Measured`] | at its nominal time | from the moment at which the manager begins to give it the CPU, to its last instruction | at its last instruction |
//! | [`View::Decided`] | when the policy received the release | from one decision to the next | when the policy received the end |
//!
//! The measured view is what happened; figures and charts show it. The decided view is the schedule
//! that the policy made of the events that it received: its guarantees must hold for this schedule
//! exactly, at every nanosecond. Deadlines and response times count from the true arrival in both.
//!
//! The execution time of a job is the processor time of its thread. The rest of a segment is
//! overhead: the switch to the thread, interrupts, the kernel's other work. A completed job counts
//! with exactly its demand, and no other job with more than its demand. If the machine pauses a
//! thread between two readings of its clock, the thread is charged for the pause, which counts as
//! overhead here.

use crate::log::{Entry, Log, Record};
use layland_checker::{Evidence, Violation, check_with};
use layland_engine::record;
use layland_model::{
    CpuId, CpuMap, Duration, Index, JobId, ScheduleRule, Service, System, TaskId, TaskMap, Time,
};
use layland_trace::{Job, JobEnd, JobRecord, Mark, MarkKind, Segment, Trace};
use std::collections::BTreeSet;

/// The largest number of violations that are reported.
const MOST_VIOLATIONS: usize = 1000;
/// The tolerance between a segment and the execution of its job: the maximum delay of an enactment.
const ENACTED: Duration = Duration::from_ms(1);

/// A view of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The run as it happened.
    Measured,
    /// The events that the policy received, and its decisions.
    Decided,
}

/// A job that is not over.
#[derive(Clone, Debug)]
struct OpenJob {
    job: Job,
    demand: Option<Service>,
    /// The positions of its segments.
    segments: Vec<usize>,
}

struct Builder<'a> {
    view: View,
    log: &'a Log,
    system: &'a System,
    trace: Trace,
    open: TaskMap<Option<OpenJob>>,
    /// The time at which the policy received the end of the last job of each task.
    ended: TaskMap<Time>,
    running: CpuMap<Option<(JobId, Time)>>,
    /// True after the first decision. CPU events before it describe the platform.
    began: bool,
    /// The end of the run.
    over: Time,
}

/// Builds the trace of a run.
pub fn trace(log: &Log, system: &System, view: View) -> Trace {
    let mut builder = Builder {
        view,
        log,
        system,
        trace: Trace::default(),
        open: TaskMap::filled(None, system.tasks.len()),
        ended: TaskMap::filled(Time::from_ns(i64::MIN), system.tasks.len()),
        running: CpuMap::filled(None, system.platform.cpu_count()),
        began: false,
        over: log.records.last().map_or(Time::ZERO, |record| record.at),
    };
    for record in &log.records {
        builder.absorb(record.at, record.entry);
    }
    builder.finish()
}

/// Returns the limits of what the trace of a run proves. The manager learns of arrivals when it
/// decides, and of none after its last decision.
pub fn evidence(log: &Log, view: View) -> Evidence<'static> {
    let decides = log.records.iter().filter(|record| matches!(record.entry, Entry::Decide { .. }));
    let decisions: Vec<Time> = decides.map(|record| record.at).collect();
    Evidence {
        heard_until: Some(decisions.last().copied().unwrap_or(Time::ZERO)),
        releases_are_told: view == View::Decided,
        decisions,
        ..Evidence::default()
    }
}

/// Checks both views of a run: the measured one against the rules for every schedule, the decided
/// one also against the guarantees of its policy. Returns a description of every violation.
///
/// The execution times of jobs are checked in the measured view. Some jobs are excused from having
/// received all of it in their segments: a thread may run while its job waits, or on a CPU that ran
/// it before the decision.
pub fn verify(log: &Log, system: &System, rule: &ScheduleRule) -> Vec<String> {
    let got_before = |record: &Record| {
        if let Entry::Leaked { job, .. } = record.entry {
            return Some(job);
        }
        let Entry::On { job, since, .. } = record.entry else { return None };
        (since < record.at).then_some(job)
    };
    let early: BTreeSet<JobId> = log.records.iter().filter_map(got_before).collect();
    let views = [(View::Measured, &ScheduleRule::None), (View::Decided, rule)];
    let mut found = Vec::new();
    // Only an ideal machine is never late. The checker takes a machine with an overhead for a real
    // one.
    let mut real = system.clone();
    if rule.plans_with_wcets() {
        real.platform.overheads.scheduling = Duration::from_ns(1);
    }
    for (view, rule) in views {
        let evidence = evidence(log, view);
        let trace = trace(log, system, view);
        let report = check_with(&trace, &real, rule, MOST_VIOLATIONS, &evidence);
        // The enactment delay shifts processor time between adjacent decisions, so allow for it.
        let evidence = Evidence { latency: ENACTED, ..evidence };
        let within = check_with(&trace, &real, rule, MOST_VIOLATIONS, &evidence);
        let much = |id: JobId| {
            let mut all = within.violations.iter();
            all.any(|other| {
                matches!(other, Violation::Demand { job, .. } | Violation::Unfinished { job, .. }
                    if job.id == id)
            })
        };
        let excused = |violation: &&Violation| {
            matches!(violation, Violation::Demand { job, .. } | Violation::Unfinished { job, .. }
                if early.contains(&job.id) || !much(job.id))
        };
        let kept = report.violations.iter().filter(|violation| !excused(violation));
        found.extend(kept.map(|violation| format!("{view:?}: {violation}")));
    }
    found
}

impl Builder<'_> {
    fn absorb(&mut self, at: Time, entry: Entry) {
        match entry {
            Entry::Decide { .. } => self.began = true,
            Entry::Online { cpu } => self.online(at, MarkKind::CpuOnline(cpu)),
            Entry::Offline { cpu } => {
                // The last thread leaves the CPU a moment after the request.
                let own = self.trace.segments.iter().rev().find(|segment| segment.cpu == cpu);
                let at = own.map_or(at, |segment| segment.end.max(at));
                self.online(at, MarkKind::CpuOffline(cpu));
            }
            Entry::Budget { job, cpu } => self.mark(at, MarkKind::BudgetExhausted(job, cpu)),
            Entry::Release { job, release, deadline } => {
                let waited = self.ended[job.task] == at;
                let release = match self.view {
                    View::Decided if !waited => at,
                    View::Decided | View::Measured => release,
                };
                self.open_job(Job { id: job, arrival: release, release, deadline }, None);
            }
            Entry::Asked { job, arrival, demand } => {
                if let Some(open) = self.current(job) {
                    open.job.arrival = arrival;
                    open.demand = demand;
                }
            }
            Entry::SetDates { job, release, deadline } => match self.current(job) {
                Some(open) => {
                    open.job.deadline = deadline;
                    if open.demand.is_none() {
                        (open.job.arrival, open.job.release) = (release, release);
                    }
                }
                None => self.open_job(Job { id: job, arrival: release, release, deadline }, None),
            },
            Entry::On { cpu, job, since } => {
                let since = if self.view == View::Measured { since } else { at };
                self.running[cpu] = Some((job, since));
            }
            Entry::Off { cpu, job, used, until } => {
                let until = if self.view == View::Measured { until } else { at };
                self.close(cpu, job, used, until);
            }
            Entry::Done { job, end, .. } => {
                let end = if self.view == View::Measured { end } else { at };
                self.ended[job.task] = at;
                self.end_job(job, end, JobEnd::Completed);
            }
            Entry::Dropped { job, aborted } => {
                self.ended[job.task] = at;
                self.end_job(job, at, if aborted { JobEnd::Aborted } else { JobEnd::Left });
            }
            Entry::Note(note) => self.mark(at, MarkKind::Note(note)),
            Entry::SetSpeed { cpu, speed } => self.mark(at, MarkKind::Speed(cpu, speed)),
            Entry::Granted { index } => self.answer(at, index, None),
            Entry::Refused { index, reason } => self.answer(at, index, Some(reason)),
            Entry::TurnedAway { task, reason } => {
                let request = format!("task `{}` enters", self.system.tasks[task].name);
                self.answer_in_words(at, request, Some(task), Some(reason));
            }
            Entry::NeverReady { job, arrival, release, deadline } => {
                let job = Job { id: job, arrival, release, deadline };
                self.trace.jobs.push(JobRecord { job, end: None, executed: Service::ZERO });
            }
            Entry::Skipped { job, arrival, release, deadline } => {
                let job = Job { id: job, arrival, release, deadline };
                let end = Some((at, JobEnd::Aborted));
                self.trace.jobs.push(JobRecord { job, end, executed: Service::ZERO });
            }
            Entry::Over { interrupted } => {
                self.trace.over = at;
                self.trace.interrupted = interrupted;
            }
            Entry::Join { .. }
            | Entry::Enter { .. }
            | Entry::Leave { .. }
            | Entry::Asks { .. }
            | Entry::Completion { .. }
            | Entry::Ended { .. }
            | Entry::Timer { .. }
            | Entry::Arrival { .. }
            | Entry::Measured { .. }
            | Entry::Leaked { .. }
            | Entry::Run { .. }
            | Entry::Idle { .. }
            | Entry::SetTimer { .. }
            | Entry::ClearTimer { .. }
            | Entry::Abort { .. }
            | Entry::EndJob { .. }
            | Entry::Refuse { .. } => {}
        }
    }

    fn current(&mut self, job: JobId) -> Option<&mut OpenJob> {
        self.open[job.task].as_mut().filter(|open| open.job.id == job)
    }

    fn open_job(&mut self, job: Job, demand: Option<Service>) {
        self.open[job.id.task] = Some(OpenJob { job, demand, segments: Vec::new() });
    }

    fn mark(&mut self, at: Time, kind: MarkKind) {
        self.trace.marks.push(Mark { at, kind });
    }

    fn online(&mut self, at: Time, kind: MarkKind) {
        if self.began {
            self.mark(at, kind);
        }
    }

    fn answer(&mut self, at: Time, index: u32, reason: Option<u32>) {
        let request = self.system.describe(&self.system.requests[index as usize].kind);
        self.answer_in_words(at, request, None, reason);
    }

    fn answer_in_words(
        &mut self,
        at: Time,
        request: String,
        entering: Option<TaskId>,
        reason: Option<u32>,
    ) {
        let refused = reason.and_then(|reason| self.log.refusals.get(reason as usize)).cloned();
        self.trace.answers.push(record::answer(at, request, entering, refused));
    }

    fn close(&mut self, cpu: CpuId, job: JobId, used: Service, end: Time) {
        let Some((_, start)) = self.running[cpu].take_if(|&mut (on, _)| on == job) else { return };
        // The last threads may leave their CPUs after the end of the run.
        let end = end.min(self.over);
        if end <= start {
            return;
        }
        let used = Duration::from_ns(used.ns()).clamp(Duration::ZERO, end - start);
        let overhead = (end - start) - used;
        // The job was to leave its CPU, and was given it again before it had left: extend its
        // segment.
        if let Some(place) = self.current(job).and_then(|open| open.segments.last().copied())
            && let last = &mut self.trace.segments[place]
            && (last.cpu, last.end) == (cpu, start)
        {
            last.end = end;
            last.overhead += overhead;
            return;
        }
        let segment = Segment { job, cpu, start, end, overhead };
        self.trace.segments.push(segment);
        let place = self.trace.segments.len() - 1;
        if let Some(open) = self.current(job) {
            open.segments.push(place);
        }
    }

    fn end_job(&mut self, job: JobId, at: Time, end: JobEnd) {
        let Some(open) = self.open[job.task].take_if(|open| open.job.id == job) else { return };
        let executed = self.worked(&open, end == JobEnd::Completed);
        // A job that is aborted leaves its CPU a moment later.
        let last = open.segments.iter().map(|&place| self.trace.segments[place].end).max();
        let at = last.map_or(at, |last| last.max(at));
        self.trace.jobs.push(JobRecord { job: open.job, end: Some((at, end)), executed });
    }

    /// Returns the execution time of a job, which is its demand if it is complete.
    fn worked(&mut self, open: &OpenJob, is_complete: bool) -> Service {
        if let Some(demand) = open.demand
            && (is_complete || self.supplied(&open.segments) > demand)
        {
            self.supply(&open.segments, demand);
        }
        self.supplied(&open.segments)
    }

    fn supplied(&self, segments: &[usize]) -> Service {
        let work = |&place: &usize| {
            let segment = &self.trace.segments[place];
            (segment.end - segment.start - segment.overhead).ns()
        };
        Service::from_ns(segments.iter().map(work).sum())
    }

    /// Reduces or extends the overhead of segments until they supply `demand`, as far as they can.
    fn supply(&mut self, segments: &[usize], demand: Service) {
        let mut missing = demand.ns() - self.supplied(segments).ns();
        for &place in segments.iter().rev() {
            let segment = &mut self.trace.segments[place];
            let length = (segment.end - segment.start).ns();
            let overhead = (segment.overhead.ns() - missing).clamp(0, length);
            missing -= segment.overhead.ns() - overhead;
            segment.overhead = Duration::from_ns(overhead);
        }
    }

    fn finish(mut self) -> Trace {
        let over = self.over;
        for index in 0..self.running.len() {
            let cpu = CpuId::from_index(index);
            if let Some((job, _)) = self.running[cpu] {
                self.close(cpu, job, Service::ZERO, over);
            }
        }
        let never_ready: Vec<JobRecord> = {
            let (ended, rest) = self.trace.jobs.drain(..).partition(|job| job.end.is_some());
            self.trace.jobs = ended;
            rest
        };
        for index in 0..self.open.len() {
            if let Some(open) = self.open[TaskId::from_index(index)].take() {
                let executed = self.worked(&open, false);
                self.trace.jobs.push(JobRecord { job: open.job, end: None, executed });
            }
            let task = TaskId::from_index(index);
            let own = never_ready.iter().filter(|record| record.job.id.task == task);
            self.trace.jobs.extend(own);
        }
        self.trace.jobs.sort_by_key(|job| job.end.map_or(Time::NEVER, |(at, _)| at));
        self.trace.segments.sort_by_key(|segment| (segment.end, segment.cpu));
        self.trace.marks.sort_by_key(|mark| mark.at);
        self.trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Record;
    use layland_model::Task;

    /// The machine pauses a thread at 10 ms, for 20 ms, and the manager aborts the job meanwhile.
    #[test]
    fn a_pause_is_no_work() {
        let ms = Time::from_ms;
        let wcet = Service::from_ms(15);
        let system = System::new(1, vec![Task::implicit("a", wcet, Duration::from_ms(20))]);
        let job = JobId { task: TaskId::from_index(0), seq: 0 };
        let cpu = CpuId::from_index(0);
        let (release, deadline) = (Time::ZERO, ms(20));
        let off = Entry::Off { cpu, job, used: Service::from_ms(28), until: ms(30) };
        for end in [Some(true), Some(false), None] {
            let mut log = Log::with_capacity(8, 0);
            let entries = [
                Some((Time::ZERO, Entry::Release { job, release, deadline })),
                Some((Time::ZERO, Entry::Asked { job, arrival: release, demand: Some(wcet) })),
                Some((Time::ZERO, Entry::On { cpu, job, since: Time::ZERO })),
                Some((ms(30), off)),
                end.map(|aborted| (ms(30), Entry::Dropped { job, aborted })),
                Some((ms(40), Entry::Over { interrupted: false })),
            ];
            let records = entries.into_iter().flatten().map(|(at, entry)| Record { at, entry });
            log.records.extend(records);
            for view in [View::Measured, View::Decided] {
                let trace = trace(&log, &system, view);
                assert_eq!(trace.jobs[0].executed, wcet, "{view:?}, {end:?}");
                assert_eq!(trace.segments[0].overhead, Duration::from_ms(15));
            }
        }
    }
}
