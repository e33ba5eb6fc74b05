//! Writes any trace in the text form of tracefs, for tools that read it. The `layland: ` marks
//! allow [`read`](super::read) to restore the trace.

use super::import::comm;
use super::marker::Marker;
use layland_model::{CpuId, Index, JobId, Note, TaskId, Time};
use layland_trace::{JobEnd, Labels, MarkKind, Trace};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The thread id of the first task.
const FIRST_PID: usize = 1000;

/// Writes the text. Times have nine decimals and are those of the trace plus `start_ns`.
///
/// Every task is one thread. It wakes up at the release of a job (if it sleeps), is preempted in
/// state `R+`, suspends itself in state `D` until its next wake-up, and sleeps in state `S` after
/// its job. Overheads within segments are omitted, and so is everything for which a kernel has no
/// event: the speed of CPUs, CPUs that go offline, servers.
/// out.
///
/// ```
/// use layland_interchange::kernel::{Marker, write};
/// use layland_trace::{Labels, Trace};
/// let text = write(&Trace::default(), &Labels::default(), 5_000_000_000);
/// assert!(text.contains(" 5.000000000: tracing_mark_write: layland: begin t=5000000000"));
/// ```
pub fn write(trace: &Trace, labels: &Labels, start_ns: i64) -> String {
    let pid = |task: TaskId| FIRST_PID + task.index();
    let name = |task: TaskId| labels.task(task);
    let thread = |task: TaskId| {
        let name = name(task);
        format!("comm={} pid={} prio=50", comm(&name), pid(task))
    };
    let ns = |at: Time| start_ns.saturating_add(at.ns());
    // (time, order within the instant, CPU, line without time)
    let mut lines: Vec<(i64, u8, u32, String)> = Vec::new();
    let mut mark = |at: i64, order: u8, cpu: u32, marker: &Marker| {
        lines.push((at, order, cpu, format!("tracing_mark_write: {marker}")));
    };
    mark(start_ns, 0, 0, &Marker::Begin { t: start_ns, cpus: (0..labels.cpus as u32).collect() });
    for record in &trace.jobs {
        let job = &record.job;
        let own = name(job.id.task);
        let (task, seq, t) = (own.as_str(), job.id.seq, ns(job.arrival));
        let deadline = Some(ns(job.deadline));
        mark(t, 4, 0, &Marker::Release { task, job: seq, t, deadline });
        match record.end {
            None => {}
            Some((at, JobEnd::Completed)) => {
                mark(ns(at), 1, 0, &Marker::Complete { task, job: seq })
            }
            Some((at, JobEnd::Aborted | JobEnd::Left)) => {
                mark(ns(at), 1, 0, &Marker::Abort { task, job: seq });
            }
        }
    }
    let mut moves = Vec::new();
    let mut suspended: BTreeSet<(JobId, Time)> = BTreeSet::new();
    for event in &trace.marks {
        match event.kind {
            MarkKind::BudgetExhausted(id, cpu) => {
                let task = name(id.task);
                mark(ns(event.at), 3, cpu.0, &Marker::Overrun { task: &task, job: id.seq });
            }
            MarkKind::Note(Note::Moved { task, from, to, why: _ }) => {
                let line = format!(
                    "sched_migrate_task: {} orig_cpu={} dest_cpu={}",
                    thread(task),
                    from.0,
                    to.0
                );
                moves.push((ns(event.at), 3, to.0, line));
            }
            MarkKind::CpuOnline(_)
            | MarkKind::CpuOffline(_)
            | MarkKind::Speed(..)
            | MarkKind::Lock(..)
            | MarkKind::Note(_) => {}
            MarkKind::Suspended(id) => {
                suspended.insert((id, event.at));
            }
            MarkKind::Resumed(id) => {
                let line = format!("sched_waking: {} target_cpu=000", thread(id.task));
                moves.push((ns(event.at), 1, 0, line));
            }
        }
    }
    lines.append(&mut moves);
    for line in switches(trace, labels, &suspended) {
        lines.push((ns(line.at), 2, line.cpu.0, line.text));
    }
    let end = Marker::End { t: ns(trace.over) };
    lines.push((ns(trace.over), 5, 0, format!("tracing_mark_write: {end}")));
    lines.sort_by_key(|&(at, order, cpu, _)| (at, order, cpu));

    let mut running: Vec<String> = vec!["<idle>-0".to_owned(); labels.cpus.max(1)];
    let mut text = String::from("# tracer: nop\n#\n");
    for (at, _, cpu, line) in lines {
        let index = (cpu as usize).min(running.len() - 1);
        let (seconds, fraction) = (at.div_euclid(1_000_000_000), at.rem_euclid(1_000_000_000));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>23} [{cpu:03}] ..... {seconds}.{fraction:09}: {line}",
            running[index]
        );
        if let Some((_, next)) = line.split_once("next_comm=")
            && let Some((comm, rest)) = next.rsplit_once(" next_pid=")
            && let Some((pid, _)) = rest.split_once(' ')
        {
            running[index] = format!("{comm}-{pid}");
        }
    }
    text
}

/// A `sched_switch`.
struct Switch {
    at: Time,
    cpu: CpuId,
    text: String,
}

/// Returns one switch for every change of the thread that runs on a CPU.
fn switches(trace: &Trace, labels: &Labels, suspended: &BTreeSet<(JobId, Time)>) -> Vec<Switch> {
    let mut by_cpu: Vec<_> = trace.segments.iter().collect();
    by_cpu.sort_by_key(|segment| (segment.cpu, segment.start));
    let mut ends: Vec<_> = trace.jobs.iter().map(|record| (record.job.id, record.end)).collect();
    ends.sort_by_key(|&(id, _)| id);
    let has_ended = |id, at| {
        let found = ends.binary_search_by_key(&id, |&(id, _)| id).ok().map(|index| ends[index].1);
        found.flatten().is_some_and(|(end, _)| end <= at)
    };
    let called = |side: &str, task: Option<TaskId>, cpu: CpuId| match task {
        Some(task) => {
            let name = labels.task(task);
            let pid = FIRST_PID + task.index();
            format!("{side}_comm={} {side}_pid={pid} {side}_prio=50", comm(&name))
        }
        None => format!("{side}_comm=swapper/{cpu} {side}_pid=0 {side}_prio=120"),
    };
    let mut switches = Vec::new();
    let mut push = |at, cpu, prev: Option<TaskId>, state: &str, next: Option<TaskId>| {
        let text = format!(
            "sched_switch: {} prev_state={state} ==> {}",
            called("prev", prev, cpu),
            called("next", next, cpu)
        );
        switches.push(Switch { at, cpu, text });
    };
    for (index, segment) in by_cpu.iter().enumerate() {
        let neighbour = |other: &&&layland_trace::Segment| other.cpu == segment.cpu;
        let before = index.checked_sub(1).and_then(|index| by_cpu.get(index)).filter(neighbour);
        let after = by_cpu.get(index + 1).filter(neighbour);
        let (task, cpu) = (segment.job.task, segment.cpu);
        if before.is_none_or(|before| before.end < segment.start) {
            push(segment.start, cpu, None, "R", Some(task));
        }
        let next = after.filter(|after| after.start <= segment.end).map(|after| after.job.task);
        let is_over = has_ended(segment.job, segment.end);
        // A thread that continues with its next job does not leave the CPU.
        if next != Some(task) {
            let suspends = suspended.contains(&(segment.job, segment.end));
            let state = match (is_over, suspends) {
                (true, _) => "S",
                (false, true) => "D",
                (false, false) => "R+",
            };
            push(segment.end, cpu, Some(task), state, next);
        }
    }
    switches
}
