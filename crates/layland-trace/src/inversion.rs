//! Priority inversions of a recorded run under earliest deadline first with affinities: jobs that
//! waited although a job with a later deadline could have made room ([`inversions`]), and tardiness
//! over time ([`tardiness`]).
//!
//! A CPU is *reachable* for a waiting job if its task may use it, or if a job that runs on a
//! reachable CPU may use it. The job suffers an inversion while a reachable CPU is idle or runs a
//! job whose deadline is later: if the running jobs along the way moved, the waiting one could run
//! (the condition of strong scheduling with affinities; Cerqueira, Gujarati and Brandenburg 2014).
//! If every task may use every CPU, the inversions are the violations of global EDF.
//!
//! Deadlines are those of the trace. Time: `O(e (n + m^2))` for `e` starts and ends, `n` tasks, `m` CPUs.

use crate::{JobRecord, Trace};
use layland_model::{CpuId, CpuSet, Duration, Index, JobId, TaskId, TaskMap, Time};
use std::collections::BTreeMap;

/// An interval in which a job waited unnecessarily.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inversion {
    /// The job that waited.
    pub waiting: JobId,
    /// The job with a later deadline that had the CPU instead; `None` if the CPU was idle.
    pub running: Option<JobId>,
    /// The CPU.
    pub cpu: CpuId,
    /// The start.
    pub from: Time,
    /// The end.
    pub to: Time,
}

impl Inversion {
    /// The length of the interval.
    pub fn length(&self) -> Duration {
        self.to - self.from
    }
}

/// A change at an instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum InversionStep {
    // Steps at one instant are sorted in this order.
    Stops(CpuId),
    Ends(JobId),
    Ready(JobId),
    Runs(CpuId, JobId),
}

/// The inversions that last longer than a latency, in the order of their starts.
///
/// `allowed` contains the CPUs that the jobs of each task may use.
pub fn inversions(
    trace: &Trace,
    allowed: &TaskMap<CpuSet>,
    cpus: usize,
    latency: Duration,
) -> Vec<Inversion> {
    let deadlines: BTreeMap<JobId, Time> =
        trace.jobs.iter().map(|record| (record.job.id, record.job.deadline)).collect();
    let mut steps: Vec<(Time, InversionStep)> = Vec::new();
    let mut last_end: BTreeMap<TaskId, Time> = BTreeMap::new();
    let mut jobs: Vec<&JobRecord> = trace.jobs.iter().collect();
    jobs.sort_by_key(|record| record.job.id);
    for record in jobs {
        let id = record.job.id;
        let before = last_end.get(&id.task).copied().unwrap_or(Time::ZERO);
        let ready = record.job.release.max(before);
        let end = record.end.map_or(trace.over, |(at, _)| at);
        last_end.insert(id.task, end);
        // A job that ends at the instant at which it becomes ready never waits.
        if ready < end {
            steps.push((ready, InversionStep::Ready(id)));
            steps.push((end, InversionStep::Ends(id)));
        }
    }
    for segment in &trace.segments {
        steps.push((segment.start, InversionStep::Runs(segment.cpu, segment.job)));
        steps.push((segment.end, InversionStep::Stops(segment.cpu)));
    }
    steps.sort();
    let mut ready: Vec<JobId> = Vec::new();
    let mut running: Vec<Option<JobId>> = vec![None; cpus];
    let mut open: BTreeMap<JobId, Inversion> = BTreeMap::new();
    let mut found = Vec::new();
    let mut steps = steps.into_iter().peekable();
    while let Some((now, step)) = steps.next() {
        match step {
            InversionStep::Stops(cpu) => set(&mut running, cpu, None),
            InversionStep::Runs(cpu, job) => set(&mut running, cpu, Some(job)),
            InversionStep::Ready(job) => ready.push(job),
            InversionStep::Ends(job) => ready.retain(|&other| other != job),
        }
        // Evaluate the state only after all steps of an instant.
        if steps.peek().is_some_and(|&(next, _)| next == now) {
            continue;
        }
        let mut still: BTreeMap<JobId, (CpuId, Option<JobId>)> = BTreeMap::new();
        for &job in ready.iter().filter(|&&job| !running.contains(&Some(job))) {
            if let Some(cpu) = victim(job, &running, allowed, &deadlines) {
                still.insert(job, (cpu, running[cpu.index()]));
            }
        }
        open.retain(|job, inversion| {
            // An inversion continues with the same CPU and job, or ends.
            let goes_on = still.get(job) == Some(&(inversion.cpu, inversion.running));
            if !goes_on {
                found.push(Inversion { to: now, ..*inversion });
            }
            goes_on
        });
        for (job, (cpu, instead)) in still {
            let new = Inversion { waiting: job, running: instead, cpu, from: now, to: now };
            open.entry(job).or_insert(new);
        }
    }
    found.extend(open.into_values().map(|inversion| Inversion { to: trace.over, ..inversion }));
    found.retain(|inversion| inversion.length() > latency);
    found.sort_by_key(|inversion| (inversion.from, inversion.waiting));
    found
}

fn set(running: &mut [Option<JobId>], cpu: CpuId, job: Option<JobId>) {
    if let Some(holder) = running.get_mut(cpu.index()) {
        *holder = job;
    }
}

/// The reachable CPU that is idle, or that runs the job with the latest deadline, if that deadline
/// is after that of the waiting job.
fn victim(
    job: JobId,
    running: &[Option<JobId>],
    allowed: &TaskMap<CpuSet>,
    deadlines: &BTreeMap<JobId, Time>,
) -> Option<CpuId> {
    let due = |job: &JobId| deadlines.get(job).copied().unwrap_or(Time::NEVER);
    let mut reached = vec![false; running.len()];
    let mut next: Vec<CpuId> = allowed[job.task].iter().collect();
    let mut latest: Option<(Time, CpuId)> = None;
    while let Some(cpu) = next.pop() {
        let Some(reached) = reached.get_mut(cpu.index()).filter(|reached| !**reached) else {
            continue;
        };
        *reached = true;
        let at = match &running[cpu.index()] {
            None => Time::NEVER,
            Some(other) => {
                next.extend(allowed[other.task].iter());
                due(other)
            }
        };
        // Ties go to the lowest CPU.
        if latest
            .is_none_or(|(known, of)| (at, std::cmp::Reverse(cpu)) > (known, std::cmp::Reverse(of)))
        {
            latest = Some((at, cpu));
        }
    }
    latest.filter(|&(at, _)| at > due(&job)).map(|(_, cpu)| cpu)
}

/// The largest tardiness of each task in each of `parts` equal parts of the run. A job counts in
/// the part in which it ends. A job that is pending and late at the end of the run counts there,
/// with its lateness at that time.
pub fn tardiness(trace: &Trace, tasks: usize, parts: usize) -> TaskMap<Vec<Duration>> {
    let mut most = TaskMap::filled(vec![Duration::ZERO; parts], tasks);
    let length = i128::from(trace.over.ns().max(1));
    for record in &trace.jobs {
        let end = record.end.map_or(trace.over, |(at, _)| at);
        // A job that ends at the end of the run counts in the last part.
        let part = (i128::from(end.ns()) * parts as i128 / length).clamp(0, parts as i128 - 1);
        let late = (end - record.job.deadline).max(Duration::ZERO);
        if let Some(of) = most.get_mut(record.job.id.task).and_then(|of| of.get_mut(part as usize))
        {
            *of = late.max(*of);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, JobEnd, Segment};
    use layland_model::Service;

    const fn ms(ms: i64) -> Time {
        Time::from_ms(ms)
    }

    /// Builds a trace of jobs as (task, release, deadline, end), and segments as (task, CPU, start,
    /// end).
    fn trace(jobs: &[(u32, i64, i64, i64)], pieces: &[(u32, u32, i64, i64)]) -> Trace {
        let mut trace = Trace { over: ms(20), ..Trace::default() };
        let id = |task| JobId { task: TaskId(task), seq: 0 };
        for &(task, release, deadline, end) in jobs {
            let (release, deadline) = (ms(release), ms(deadline));
            let job = Job { id: id(task), arrival: release, release, deadline };
            let end = Some((ms(end), JobEnd::Completed));
            trace.jobs.push(JobRecord { job, end, executed: Service::ZERO });
        }
        for &(task, cpu, start, end) in pieces {
            let (start, end) = (ms(start), ms(end));
            let (job, cpu, overhead) = (id(task), CpuId(cpu), Duration::ZERO);
            trace.segments.push(Segment { job, cpu, start, end, overhead });
        }
        trace
    }

    fn masks(of: &[&[u32]]) -> TaskMap<CpuSet> {
        of.iter().map(|cpus| cpus.iter().map(|&cpu| CpuId(cpu)).collect()).collect()
    }

    // Tang, Anderson and Abeni 2021, Example 6, from 7 ms on: task 2 takes the CPU of task 1
    // instead of that of task 0, whose deadline is later.
    #[test]
    fn the_wrong_one_is_preempted() {
        let jobs = [(0, 7, 77, 17), (1, 7, 57, 20), (2, 10, 20, 15)];
        let pieces = [(1, 1, 7, 10), (2, 1, 10, 15), (0, 0, 7, 17), (1, 1, 15, 20)];
        let allowed = masks(&[&[0], &[1], &[0, 1]]);
        let found = inversions(&trace(&jobs, &pieces), &allowed, 2, Duration::ZERO);
        let job = |task| JobId { task: TaskId(task), seq: 0 };
        let (waiting, running, cpu) = (job(1), Some(job(0)), CpuId(0));
        assert_eq!(found, [Inversion { waiting, running, cpu, from: ms(10), to: ms(15) }]);
        let patient = inversions(&trace(&jobs, &pieces), &allowed, 2, Duration::from_ms(5));
        assert_eq!(patient, []);
        // The schedule under EDF.
        let pieces = [(0, 0, 7, 10), (2, 0, 10, 15), (1, 1, 7, 17), (0, 0, 15, 20)];
        let jobs = [(0, 7, 77, 20), (1, 7, 57, 17), (2, 10, 20, 15)];
        assert_eq!(inversions(&trace(&jobs, &pieces), &allowed, 2, Duration::ZERO), []);
        // If task 2 could not move, there was no better schedule.
        let jobs = [(0, 7, 77, 17), (1, 7, 57, 20), (2, 10, 20, 15)];
        let pieces = [(1, 1, 7, 10), (2, 1, 10, 15), (0, 0, 7, 17), (1, 1, 15, 20)];
        let tied = masks(&[&[0], &[1], &[1]]);
        assert_eq!(inversions(&trace(&jobs, &pieces), &tied, 2, Duration::ZERO), []);
    }

    #[test]
    fn an_idle_cpu_is_one_too() {
        let jobs = [(0, 0, 10, 5), (1, 0, 20, 9)];
        let pieces = [(0, 0, 0, 5), (1, 0, 5, 9)];
        let both = masks(&[&[0, 1], &[0, 1]]);
        let found = inversions(&trace(&jobs, &pieces), &both, 2, Duration::ZERO);
        let waiting = JobId { task: TaskId(1), seq: 0 };
        let idle = Inversion { waiting, running: None, cpu: CpuId(1), from: ms(0), to: ms(5) };
        assert_eq!(found, [idle]);
    }

    #[test]
    fn tardiness_is_told_by_parts() {
        let late = trace(&[(0, 0, 3, 5), (1, 0, 12, 19)], &[]);
        let found = tardiness(&late, 2, 2);
        assert_eq!(found[TaskId(0)], [Duration::from_ms(2), Duration::ZERO]);
        assert_eq!(found[TaskId(1)], [Duration::ZERO, Duration::from_ms(7)]);
    }
}
