//! Figure 6 of Tang, Anderson and Abeni 2021, computed from a kernel's trace: for how long a task
//! that is tied to one CPU suffers an inversion because a migrating task keeps that CPU, and how
//! many jobs the migrating task completes meanwhile without leaving it.
//!
//! The inversion is that of Section 5 of the paper (ARPI): a job of a tied task is ready and does
//! not run, its CPU runs a migrating task, and another CPU is idle or runs a job with a later
//! deadline. In the unmodified kernel, a migrating task whose deadline has passed continues with
//! its next job on its CPU (Fig. 6b). With the repair it is pushed with each job, so that the
//! inversion ends with the job (Fig. 6a, Ex. 8).

use layland_model::{CpuId, Duration, JobId, System, TaskId, Time};
use layland_trace::{Segment, Trace};
use std::collections::BTreeMap;

/// An interval in which a tied task waited although the migrating task on its CPU could have run
/// elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The task that waited.
    pub tied: TaskId,
    /// The task that had the CPU.
    pub migrating: TaskId,
    /// The CPU.
    pub cpu: CpuId,
    /// The start.
    pub from: Time,
    /// The end.
    pub to: Time,
    /// The number of jobs of the migrating task that ended meanwhile without leaving the CPU.
    pub went_on: usize,
}

impl Wait {
    /// The length of the interval.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.to - self.from
    }
}

/// Every such inversion that is longer than `latency`, the longest first; among equal lengths, the
/// earliest first.
///
/// A break that is no longer than `latency` does not end the execution of a task: the machine
/// carries out a decision in it. A job ends within an inversion if the inversion continues for more
/// than `latency` afterwards. Deadlines are those of the trace.
#[must_use]
pub fn waits(trace: &Trace, system: &System, latency: Duration) -> Vec<Wait> {
    let deadlines: BTreeMap<JobId, Time> =
        trace.jobs.iter().map(|record| (record.job.id, record.job.deadline)).collect();
    let mut found = Vec::new();
    for stay in stays(trace, system, latency) {
        for (tied, task) in system.tasks.iter() {
            if task.affinity.as_ref().is_none_or(|set| set.len() != 1 || !set.contains(stay.cpu)) {
                continue;
            }
            for record in trace.jobs.iter().filter(|record| record.job.id.task == tied) {
                let first = trace.segments.iter().filter(|part| part.job == record.job.id);
                let first = first.map(|part| part.start).min();
                let ready_until = first.or(record.end.map(|(at, _)| at)).unwrap_or(trace.over);
                let (from, to) = (stay.from.max(record.job.release), stay.to.min(ready_until));
                if to - from <= latency {
                    continue;
                }
                let is_later =
                    |job| deadlines.get(&job).is_none_or(|&due| due > record.job.deadline);
                for (from, to) in with_room(trace, system, &stay, (from, to), is_later, latency) {
                    let ends = trace.jobs.iter().filter(|other| other.job.id.task == stay.task);
                    let ends = ends.filter_map(|other| other.end);
                    let went_on = ends.filter(|&(at, _)| at > from && at + latency < to).count();
                    let (migrating, cpu) = (stay.task, stay.cpu);
                    found.push(Wait { tied, migrating, cpu, from, to, went_on });
                }
            }
        }
    }
    found.sort_by_key(|wait| (std::cmp::Reverse(wait.length()), wait.from, wait.tied));
    found
}

/// The parts of an interval, longer than `latency`, in which a CPU other than that of the stay is
/// idle or runs a job for which `is_later` returns true.
fn with_room(
    trace: &Trace,
    system: &System,
    stay: &Stay,
    (from, to): (Time, Time),
    is_later: impl Fn(JobId) -> bool,
    latency: Duration,
) -> Vec<(Time, Time)> {
    let overlap = |part: &&Segment| part.start < to && part.end > from && part.cpu != stay.cpu;
    let near: Vec<&Segment> = trace.segments.iter().filter(overlap).collect();
    let mut bounds: Vec<Time> = near.iter().flat_map(|part| [part.start, part.end]).collect();
    bounds.retain(|&at| at > from && at < to);
    bounds.extend([from, to]);
    bounds.sort_unstable();
    bounds.dedup();
    let others = system.platform.cpus().filter(|&cpu| cpu != stay.cpu).count();
    let mut parts: Vec<(Time, Time)> = Vec::new();
    for (&start, &end) in bounds.iter().zip(&bounds[1..]) {
        let full = near.iter().filter(|part| part.start <= start && part.end >= end);
        if full.filter(|part| !is_later(part.job)).count() >= others || start >= end {
            continue;
        }
        match parts.last_mut().filter(|(_, last)| *last == start) {
            Some((_, last)) => *last = end,
            None => parts.push((start, end)),
        }
    }
    parts.retain(|&(start, end)| end - start > latency);
    parts
}

/// An interval in which a migrating task kept a CPU.
struct Stay {
    task: TaskId,
    cpu: CpuId,
    from: Time,
    to: Time,
}

fn stays(trace: &Trace, system: &System, latency: Duration) -> Vec<Stay> {
    let mut stays: Vec<Stay> = Vec::new();
    let mut segments: Vec<_> = trace.segments.iter().collect();
    segments.sort_by_key(|segment| (segment.cpu, segment.start));
    for segment in segments {
        let task = segment.job.task;
        let goes_on = stays.last_mut().filter(|last| {
            last.cpu == segment.cpu && last.task == task && segment.start - last.to <= latency
        });
        match goes_on {
            Some(last) => last.to = segment.end,
            None => {
                stays.push(Stay { task, cpu: segment.cpu, from: segment.start, to: segment.end })
            }
        }
    }
    stays.retain(|stay| system.tasks[stay.task].affinity.is_none());
    stays
}

/// The number of completed jobs of a task. In Example 6, the preempted one of `tau1` and `tau2` has
/// none.
#[must_use]
pub fn completed(trace: &Trace, task: TaskId) -> usize {
    trace.jobs.iter().filter(|record| record.job.id.task == task && record.end.is_some()).count()
}

/// The maximum time for which a job of a migrating task had a CPU. Example 8 lets a tied task wait
/// for this long. It includes interrupts, and can therefore exceed the WCET.
#[must_use]
pub fn longest_job(trace: &Trace, system: &System) -> Duration {
    let mut had: BTreeMap<JobId, Duration> = BTreeMap::new();
    for part in &trace.segments {
        if system.tasks[part.job.task].affinity.is_none() {
            *had.entry(part.job).or_default() += part.end - part.start;
        }
    }
    had.into_values().max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{CpuSet, JobId, Service, Task};
    use layland_trace::{Job, JobEnd, JobRecord};

    const LATENCY: Duration = Duration::from_ms(1);

    /// `tied` may use CPU 0 only; `free` may use both.
    fn system() -> System {
        let task = |name: &str, wcet, period| {
            Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
        };
        let mut tasks = vec![task("tied", 20, 60), task("free", 20, 20)];
        tasks[0].affinity = Some(CpuSet::single(CpuId(0)));
        System::new(2, tasks)
    }

    fn job(task: u32, seq: u64, release: i64, end: Option<i64>) -> JobRecord {
        let (release, end) = (Time::from_ms(release), end.map(Time::from_ms));
        let id = JobId { task: TaskId(task), seq };
        let relative = Duration::from_ms(if task == 0 { 60 } else { 20 });
        let job = Job { id, arrival: release, release, deadline: release + relative };
        JobRecord { job, end: end.map(|at| (at, JobEnd::Completed)), executed: Service::ZERO }
    }

    fn part(task: u32, seq: u64, cpu: u32, from: i64, to: i64) -> Segment {
        let job = JobId { task: TaskId(task), seq };
        let (start, end) = (Time::from_ms(from), Time::from_ms(to));
        Segment { job, cpu: CpuId(cpu), start, end, overhead: Duration::ZERO }
    }

    fn found(jobs: Vec<JobRecord>, segments: Vec<Segment>) -> Vec<(i64, i64, usize)> {
        let trace = Trace { jobs, segments, over: Time::from_ms(100), ..Trace::default() };
        let ms = |time: Time| time.ns() / 1_000_000;
        let waits = waits(&trace, &system(), LATENCY);
        waits.iter().map(|wait| (ms(wait.from), ms(wait.to), wait.went_on)).collect()
    }

    #[test]
    fn a_task_that_goes_on_with_its_next_job_keeps_the_tied_one_waiting() {
        let jobs = vec![
            job(0, 0, 5, Some(80)),
            job(1, 0, 0, Some(20)),
            job(1, 1, 20, Some(40)),
            job(1, 2, 40, Some(60)),
        ];
        let segments = vec![
            part(1, 0, 0, 0, 20),
            part(1, 1, 0, 20, 40),
            part(1, 2, 0, 40, 60),
            part(0, 0, 0, 60, 80),
        ];
        // It waits from its release on. Two jobs ended during the wait; the third one ended it.
        let trace = Trace { segments: segments.clone(), ..Trace::default() };
        assert_eq!(found(jobs, segments), [(5, 60, 2)]);
        assert_eq!(longest_job(&trace, &system()), Duration::from_ms(20));
    }

    #[test]
    fn a_task_that_leaves_with_its_job_keeps_it_waiting_for_one_job() {
        let jobs = vec![job(0, 0, 5, Some(40)), job(1, 0, 0, Some(20)), job(1, 1, 20, None)];
        let segments = vec![part(1, 0, 0, 0, 20), part(0, 0, 0, 20, 40), part(1, 1, 1, 20, 100)];
        assert_eq!(found(jobs, segments), [(5, 20, 0)]);
    }

    #[test]
    fn nobody_waits_for_a_task_on_another_cpu_or_for_a_tied_one() {
        let jobs = vec![job(0, 0, 0, Some(90)), job(1, 0, 0, Some(20))];
        let segments = vec![part(1, 0, 1, 0, 20), part(0, 0, 0, 70, 90)];
        assert_eq!(found(jobs.clone(), segments), []);
        let trace = Trace { jobs, ..Trace::default() };
        assert_eq!((completed(&trace, TaskId(0)), completed(&trace, TaskId(2))), (1, 0));
    }

    #[test]
    fn it_is_no_inversion_while_all_other_cpus_have_earlier_deadlines() {
        // `also` runs on CPU 1, due at 60, before `tied`, which is due at 65; its next job is due
        // later.
        let mut system = system();
        let also = Task::implicit("also", Service::from_ms(30), Duration::from_ms(60));
        system.tasks.push(Task { affinity: Some(CpuSet::single(CpuId(1))), ..also });
        let mut late = job(2, 1, 30, None);
        late.job.deadline = Time::from_ms(120);
        let mut early = job(2, 0, 0, Some(30));
        early.job.deadline = Time::from_ms(60);
        let jobs = vec![job(0, 0, 5, Some(80)), job(1, 0, 0, Some(60)), early, late];
        let segments = vec![
            part(1, 0, 0, 0, 60),
            part(2, 0, 1, 0, 30),
            part(2, 1, 1, 30, 50),
            part(0, 0, 0, 60, 80),
        ];
        let trace = Trace { jobs, segments, over: Time::from_ms(100), ..Trace::default() };
        let waits = waits(&trace, &system, LATENCY);
        let times: Vec<_> = waits.iter().map(|wait| (wait.from, wait.to)).collect();
        assert_eq!(times, [(Time::from_ms(30), Time::from_ms(60))]);
    }
}
