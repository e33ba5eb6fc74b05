//! One task's thread: it enters SCHED_DEADLINE, then releases and executes its own jobs.
//!
//! | behaviour | its jobs |
//! |---|---|
//! | periodic, sporadic, listed, self-suspending | sleep until the release, execute |
//! | yields | the same, then `sched_yield`, which discards the rest of the budget |
//! | a hog whose reservation is its period | execute for ever; a job ends whenever the thread has executed another reservation |
//! | any other hog | execute 95 % of the reservation, then `sched_yield`, so that a job ends by itself and not with a tick |
//!
//! The deadlines of a hog's jobs are those of a server that is never restarted: job `k` is due
//! after `k + 1` periods from the first release. They stay the same if a kernel gives a server a
//! later deadline because of a request of its thread.

use super::Plan;
use super::run::SharedState;
use crate::kernel::sys::{self, Tid};
use layland_engine::reconfigured;
use layland_engine::streams::{Arrival, Stream};
use layland_model::{
    Behaviour, Change, CpuId, Duration, Index, JobId, RequestKind, Service, TaskId, Time,
};
use layland_trace::{Answer, Errno, Job, JobEnd, JobRecord, Segment};
use std::io;
use std::sync::atomic::Ordering;

/// A longer pause between two readings of the clock ends a segment.
const PAUSE_NS: i64 = 50_000;
/// The interval at which a sleeping thread checks whether the run is over.
const LOOK_NS: i64 = 100_000_000;
/// The percentage of its reservation that a hog uses.
const USED_PERCENT: i64 = 95;

/// The jobs, segments and answers that a thread observed.
#[derive(Default)]
pub struct ThreadLog {
    pub jobs: Vec<JobRecord>,
    pub segments: Vec<Segment>,
    pub answers: Vec<Answer>,
}

/// A request that a thread issues itself, when it runs at or after the time.
pub struct OwnRequest {
    pub at: Time,
    pub kind: RequestKind,
    pub words: String,
}

/// One task's thread.
pub struct Worker<'a> {
    pub id: TaskId,
    pub stream: Stream,
    pub shared: &'a SharedState,
    pub plan: &'a Plan,
    /// The machine's CPU for each CPU of the platform.
    pub cpus: &'a [usize],
    /// In ascending order of their times.
    pub requests: std::collections::VecDeque<OwnRequest>,
    /// No request before this time, because the deadline of the thread's server has not passed.
    pub not_before: Time,
    pub seen: ThreadLog,
}

/// Carries out a request about the task of `thread`.
pub fn carry_out(
    shared: &SharedState,
    plan: &Plan,
    cpus: &[usize],
    thread: Tid,
    kind: &RequestKind,
) -> io::Result<()> {
    let machine = |cpu: CpuId| cpus.get(cpu.index()).copied().unwrap_or(cpu.index());
    let tie = |set: &layland_model::CpuSet| sys::set_affinity(thread, set.iter().map(machine));
    match kind {
        RequestKind::Leave(task) => {
            shared.left[task.index()].store(true, Ordering::SeqCst);
            Ok(())
        }
        RequestKind::Reconfigure(_, Change::Affinity(set)) => tie(set),
        RequestKind::Reconfigure(_, Change::Cluster(cluster)) => {
            plan.clusters.get(*cluster).map_or(Ok(()), tie)
        }
        RequestKind::Reconfigure(task, change @ Change::Parameters { wcet, period, deadline }) => {
            let reservation = sys::Reservation {
                runtime: wcet.at_unit_speed(),
                deadline: *deadline,
                period: *period,
            };
            sys::set_deadline(thread, reservation, true)?;
            let mut changes =
                shared.changes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            changes.push((*task, change.clone()));
            Ok(())
        }
        // A plan with other requests is refused.
        RequestKind::SetClusterCpus { .. }
        | RequestKind::CpuOnline(_)
        | RequestKind::CpuOffline(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Builds the record of the kernel's answer to a request.
pub fn answer(at: Time, request: String, result: &io::Result<()>) -> Answer {
    let errno = |error: &io::Error| match error.raw_os_error() {
        Some(libc::EBUSY) => Errno::Busy,
        Some(libc::EPERM) => Errno::NotPermitted,
        Some(_) | None => Errno::Invalid,
    };
    Answer {
        at,
        request,
        entering: None,
        refused: result.as_ref().err().map(ToString::to_string),
        errno: result.as_ref().err().map(errno),
    }
}

impl Worker<'_> {
    /// Runs the thread from the moment at which time 0 is known.
    pub fn work(&mut self) {
        let epoch = loop {
            if self.shared.stop.load(Ordering::SeqCst) {
                return;
            }
            match self.shared.epoch.load(Ordering::SeqCst) {
                0 => sys::sleep_until(sys::monotonic_ns() + 2_000_000),
                epoch => break epoch,
            }
        };
        match self.stream.task().behaviour {
            Behaviour::Hog => self.hog(epoch),
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Explicit(_)
            | Behaviour::Curve(_)
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => self.jobs(epoch),
        }
    }

    fn is_over(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
            || self.shared.left[self.id.index()].load(Ordering::Relaxed)
    }

    fn jobs(&mut self, epoch: i64) {
        let mut next = self.stream.first();
        let mut seq = 0;
        while let Some(Arrival { at, release }) =
            next.filter(|next| next.at.ns() < self.shared.until)
        {
            self.sleep(epoch, release);
            if self.is_over() {
                break;
            }
            self.take_changes();
            let id = JobId { task: self.id, seq };
            let relative = self.stream.task().deadline;
            let job = Job { id, arrival: at, release, deadline: at + relative };
            if let Some(markers) = &self.shared.markers {
                markers.release(id, at, job.deadline);
                markers.start(id);
            }
            let demand = self.stream.demand(seq);
            let from = sys::own_cpu_ns();
            let end = self.execute(id, from + demand.ns(), epoch);
            if let (Some(_), Some(markers)) = (end, &self.shared.markers) {
                markers.complete(id);
            }
            self.record(job, end.map(|end| end.max(release)));
            let Some(end) = end else { break };
            if self.stream.yields() {
                sys::yield_now();
            }
            next = self.stream.next(seq, at).or_else(|| self.stream.after_completion(seq, end));
            seq += 1;
        }
    }

    fn hog(&mut self, epoch: i64) {
        let Some(first) = self.stream.first() else { return };
        let settle = self.plan.settle[self.id];
        let mut nominal = first.release + settle;
        self.not_before = nominal + self.stream.task().period;
        self.sleep(epoch, nominal);
        let mut target = sys::own_cpu_ns();
        let mut seq = 0;
        while !self.is_over() && nominal.ns() < self.shared.until {
            self.take_changes();
            let task = self.stream.task();
            let (reservation, period) = (task.reservation().at_unit_speed(), task.period);
            let spins = reservation >= period;
            // The clock of the kernel's budgets differs from ours by some nanoseconds, so a job may
            // begin early.
            let release = nominal.min(Time::from_ns(sys::monotonic_ns() - epoch));
            let id = JobId { task: self.id, seq };
            let job = Job { id, arrival: release, release, deadline: nominal + period };
            if let Some(markers) = &self.shared.markers {
                markers.release(id, job.arrival, job.deadline);
                markers.start(id);
            }
            target = if spins {
                target + reservation.ns()
            } else {
                sys::own_cpu_ns() + reservation.ns() / 100 * USED_PERCENT
            };
            let end = self.execute(id, target, epoch);
            if let (Some(_), Some(markers)) = (end, &self.shared.markers) {
                markers.complete(id);
            }
            self.record(job, end.map(|end| end.max(release)));
            if end.is_none() {
                break;
            }
            if !spins {
                sys::yield_now();
            }
            nominal += period;
            seq += 1;
        }
    }

    fn record(&mut self, job: Job, end: Option<Time>) {
        let end = end.map(|end| (end, JobEnd::Completed));
        self.seen.jobs.push(JobRecord { job, end, executed: Service::ZERO });
    }

    /// Sleeps until a time of the run and checks regularly whether the run is over. There is no
    /// check shortly before `until`, so that the server of the thread starts anew with the release.
    fn sleep(&self, epoch: i64, until: Time) {
        let until = epoch + until.ns();
        let quiet = until - 2 * self.stream.task().period.ns() - LOOK_NS;
        while sys::monotonic_ns() < quiet && !self.is_over() {
            sys::sleep_until(quiet.min(sys::monotonic_ns() + LOOK_NS));
        }
        if !self.is_over() {
            sys::sleep_until(until);
        }
    }

    /// Applies the parameter changes that arrived for this thread.
    fn take_changes(&mut self) {
        let mut changes =
            self.shared.changes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (_, change) in changes.extract_if(.., |(task, _)| *task == self.id) {
            if let Some(changed) = reconfigured(self.stream.task(), &change) {
                self.stream.reconfigure(std::sync::Arc::new(changed));
            }
        }
    }

    /// Issues the first request that is due, if any.
    fn ask(&mut self, now: Time) {
        if self.requests.front().is_none_or(|first| now < first.at.max(self.not_before)) {
            return;
        }
        let Some(request) = self.requests.pop_front() else { return };
        let result = carry_out(self.shared, self.plan, self.cpus, Tid::own(), &request.kind);
        self.seen.answers.push(answer(now, request.words, &result));
        // The request may have restarted the thread's server, whose deadline is a period from now
        // then.
        self.not_before = now + self.stream.task().period;
    }

    /// Spins until the thread's processor clock reaches `target`. Returns the time, unless the run
    /// ends first.
    fn execute(&mut self, id: JobId, target: i64, epoch: i64) -> Option<Time> {
        let mut last = sys::monotonic_ns();
        let mut cpu = sys::cpu();
        let mut start = last;
        let end = epoch + self.shared.until;
        loop {
            let is_done = sys::own_cpu_ns() >= target;
            let (now, now_on) = (sys::monotonic_ns(), sys::cpu());
            if now_on != cpu || now - last > PAUSE_NS {
                self.segment(id, cpu, start - epoch, last - epoch);
                (start, cpu) = (now, now_on);
            }
            last = now;
            if is_done || now >= end || self.is_over() {
                self.segment(id, cpu, start - epoch, now - epoch);
                return is_done.then(|| Time::from_ns(now - epoch));
            }
            if !self.requests.is_empty() {
                self.ask(Time::from_ns(now - epoch));
            }
        }
    }

    fn segment(&mut self, job: JobId, cpu: usize, start: i64, end: i64) {
        if start >= end {
            return;
        }
        let index = self.cpus.iter().position(|&own| own == cpu).unwrap_or(cpu);
        let (start, end) = (Time::from_ns(start), Time::from_ns(end));
        let cpu = CpuId::from_index(index);
        self.seen.segments.push(Segment { job, cpu, start, end, overhead: Duration::ZERO });
    }
}
