//! Priority inversions because of affinities, found in a recorded schedule.
//!
//! A thread that may use only one CPU is ready and waits there, while that CPU runs a job of a
//! thread that may use the whole cluster, and another CPU of the cluster is free or runs a later
//! deadline (Tang, Anderson and Abeni 2021, Section 4). The running job should use the other CPU.
//! An inversion by one job lasts from then on without a gap.

use layland_model::{CpuMap, CpuSet, Duration, JobId, System, TaskId, TaskMap, Time};
use layland_trace::Trace;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A priority inversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inversion {
    /// The waiting thread.
    pub waits: TaskId,
    /// The job that runs instead.
    pub runs: JobId,
    /// The start of the inversion.
    pub from: Time,
    /// The length of the inversion.
    pub length: Duration,
}

impl fmt::Display for Inversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waits, runs, from, length } = self;
        write!(
            f,
            "t{} waits {length} from {from} on for job {} of t{}",
            waits.0, runs.seq, runs.task.0
        )
    }
}

/// Returns the longest inversion of a schedule, and the first one among equally long ones.
pub fn longest(system: &System, trace: &Trace) -> Option<Inversion> {
    let deadlines: BTreeMap<JobId, Time> =
        trace.jobs.iter().map(|record| (record.job.id, record.job.deadline)).collect();
    // The events: the job that a CPU runs from then on, and changes of the number of ready jobs of a task.
    let mut points: BTreeSet<Time> = BTreeSet::new();
    let mut starts: Vec<_> = trace.segments.iter().collect();
    starts.sort_by_key(|segment| segment.start);
    let mut ready: Vec<(Time, TaskId, i32)> = Vec::new();
    for record in &trace.jobs {
        ready.push((record.job.release, record.job.id.task, 1));
        let end = record.end.map_or(trace.over, |(end, _)| end);
        ready.push((end, record.job.id.task, -1));
    }
    ready.sort_by_key(|&(at, task, _)| (at, task));
    points.extend(trace.segments.iter().flat_map(|segment| [segment.start, segment.end]));
    points.extend(ready.iter().map(|&(at, ..)| at));

    let mut runs: CpuMap<Option<(JobId, Time)>> = CpuMap::filled(None, system.platform.cpu_count());
    let mut waiting: TaskMap<i32> = TaskMap::filled(0, system.tasks.len());
    let mut current: TaskMap<Option<Inversion>> = TaskMap::filled(None, system.tasks.len());
    let mut longest: Option<Inversion> = None;
    let (mut starts, mut ready) = (starts.into_iter().peekable(), ready.into_iter().peekable());
    let mut points = points.into_iter().peekable();
    while let Some(now) = points.next() {
        let Some(&next) = points.peek() else { break };
        for run in runs.values_mut() {
            *run = run.filter(|&(_, end)| end > now);
        }
        while let Some(segment) = starts.next_if(|segment| segment.start <= now) {
            runs[segment.cpu] = Some((segment.job, segment.end));
        }
        while let Some((_, task, change)) = ready.next_if(|&(at, ..)| at <= now) {
            waiting[task] += change;
        }
        for (id, task) in system.tasks.iter() {
            let cluster = &system.platform.clusters[task.cluster];
            let only = task.affinity.as_ref().filter(|mask| mask.len() == 1);
            let is_running = runs.values().flatten().any(|&(job, _)| job.task == id);
            let by = only.and_then(CpuSet::lowest).and_then(|cpu| {
                let (job, _) = runs[cpu]?;
                let migrates = system.tasks[job.task].affinity.is_none() && cluster.len() > 1;
                let elsewhere = cluster.iter().filter(|&other| other != cpu).any(|other| {
                    runs[other].is_none_or(|(key, _)| deadlines[&job] < deadlines[&key])
                });
                (migrates && elsewhere && waiting[id] > 0 && !is_running).then_some(job)
            });
            let inversion = by.map(|job| match current[id] {
                Some(before) if before.runs == job => {
                    Inversion { length: next - before.from, ..before }
                }
                Some(_) | None => Inversion { waits: id, runs: job, from: now, length: next - now },
            });
            current[id] = inversion;
            if let Some(inversion) = inversion
                && longest.is_none_or(|longest| inversion.length > longest.length)
            {
                longest = Some(inversion);
            }
        }
    }
    longest
}
