//! For tests: short constructors, and a naive scheduler as a reference.

use crate::{Job, JobEnd, JobRecord, Segment, Trace};
use layland_model::{CpuId, Duration, JobId, Service, System, Task, TaskId, Time};

/// A time.
pub fn at(ns: i64) -> Time {
    Time::from_ns(ns)
}
/// A job id, from the number of its task and its own number.
pub fn id(task: u32, seq: u64) -> JobId {
    JobId { task: TaskId(task), seq }
}
/// A segment without overhead.
pub fn segment(job: JobId, cpu: u32, start: i64, end: i64) -> Segment {
    Segment { job, cpu: CpuId(cpu), start: at(start), end: at(end), overhead: Duration::ZERO }
}
/// A task with an implicit deadline.
pub fn task(name: &str, wcet: i64, period: i64) -> Task {
    Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period))
}

/// Simulates global EDF in steps of one nanosecond, naively: the tasks `(wcet, period)` on
/// identical CPUs.
pub fn naive(cpus: usize, tasks: &[(i64, i64)], over: i64) -> (System, Trace) {
    let system =
        System::new(cpus, tasks.iter().map(|&(c, t)| task(&format!("t{c}_{t}"), c, t)).collect());
    let mut trace = Trace { over: at(over), ..Trace::default() };
    // Pending jobs per task, oldest first, with the remaining work.
    let mut pending: Vec<Vec<(Job, i64)>> = vec![Vec::new(); tasks.len()];
    let mut on: Vec<Option<(usize, JobId, i64)>> = vec![None; cpus];
    for now in 0..=over {
        for (cpu, slot) in on.iter_mut().enumerate() {
            let Some((task, job, start)) = *slot else { continue };
            let is_done = pending[task][0].1 == 0;
            if is_done || now == over {
                trace.segments.push(segment(job, cpu as u32, start, now));
                *slot = None;
            }
            if is_done {
                let (job, _) = pending[task].remove(0);
                trace.jobs.push(JobRecord {
                    job,
                    end: Some((at(now), JobEnd::Completed)),
                    executed: Service::from_ns(tasks[task].0),
                });
            }
        }
        if now == over {
            break;
        }
        for (index, &(wcet, period)) in tasks.iter().enumerate() {
            if now % period == 0 {
                let id = id(index as u32, (now / period) as u64);
                let job =
                    Job { id, arrival: at(now), release: at(now), deadline: at(now + period) };
                pending[index].push((job, wcet));
            }
        }
        let mut ready: Vec<usize> = (0..tasks.len()).filter(|&i| !pending[i].is_empty()).collect();
        ready.sort_by_key(|&i| (pending[i][0].0.deadline, i));
        ready.truncate(cpus);
        for (cpu, slot) in on.iter_mut().enumerate() {
            if let Some((task, job, start)) = *slot
                && !ready.contains(&task)
            {
                trace.segments.push(segment(job, cpu as u32, start, now));
                *slot = None;
            }
        }
        for &task in &ready {
            if on.iter().flatten().any(|&(other, _, _)| other == task) {
                continue;
            }
            let free = on.iter().position(Option::is_none).unwrap();
            on[free] = Some((task, pending[task][0].0.id, now));
        }
        for &(task, _, _) in on.iter().flatten() {
            pending[task][0].1 -= 1;
        }
        trace.segments.sort_by_key(|segment| (segment.end, segment.cpu));
    }
    trace.segments.sort_by_key(|segment| (segment.end, segment.cpu));
    for (task, jobs) in pending.iter().enumerate() {
        for &(job, left) in jobs {
            let executed = Service::from_ns(tasks[task].0 - left);
            trace.jobs.push(JobRecord { job, end: None, executed });
        }
    }
    (system, trace)
}

/// Multiplies every time of the trace, so that it is in microseconds for example.
pub fn stretched(mut trace: Trace, factor: i64) -> Trace {
    let time = |at: &mut Time| *at = Time::from_ns(at.ns() * factor);
    for segment in &mut trace.segments {
        time(&mut segment.start);
        time(&mut segment.end);
        segment.overhead = segment.overhead * factor;
    }
    for record in &mut trace.jobs {
        time(&mut record.job.arrival);
        time(&mut record.job.release);
        time(&mut record.job.deadline);
        record.end.iter_mut().for_each(|(at, _)| time(at));
        record.executed = record.executed * factor;
    }
    trace.marks.iter_mut().for_each(|mark| time(&mut mark.at));
    time(&mut trace.over);
    trace
}
