//! A simulated run in the form of a kernel trace: wake-ups and switches, and no marks.
//!
//! Unlike the output of the writer in `layland-interchange`, it has only facts that a kernel knows.
//! A thread sleeps when its job ends, unless the next job has already been released, in which case
//! the thread goes on. Timers wake it up, in an interrupt on the first CPU.

use layland_model::{Index, Time};
use layland_trace::{JobRecord, Labels, Segment, Trace};
use std::fmt::Write;

/// The format of the trace.
#[derive(Clone, Debug)]
pub struct TextOptions {
    /// The value of the clock at time 0, in nanoseconds.
    pub start_ns: i64,
    /// True for six decimals instead of nine.
    pub is_coarse: bool,
    /// The priority of each task in the kernel's numbering.
    pub priorities: Vec<i32>,
    /// The time of the first event that is written.
    pub from: Time,
}

/// The thread id of the first task.
pub const FIRST_PID: usize = 500;

/// Writes the trace.
pub fn kernel_text(trace: &Trace, labels: &Labels, options: &TextOptions) -> String {
    // (time, true for a switch, CPU, flags, event)
    let mut lines: Vec<(Time, bool, usize, &str, String)> = Vec::new();
    let name = |task: usize| labels.tasks.values().nth(task).map_or("", String::as_str);
    let thread = |task: usize| {
        let (name, pid) = (name(task), FIRST_PID + task);
        (name.to_owned(), pid, options.priorities[task])
    };
    let jobs_by_task: Vec<Vec<JobRecord>> =
        (0..labels.tasks.len()).map(|task| jobs_of(trace, task)).collect();
    for (task, jobs) in jobs_by_task.iter().enumerate() {
        let (name, pid, prio) = thread(task);
        for (number, job) in jobs.iter().enumerate() {
            let at = job.job.release;
            let before = number.checked_sub(1).map(|before| jobs[before].end.map(|(at, _)| at));
            let is_asleep = before.is_none_or(|end| end.is_some_and(|end| end < at));
            if is_asleep && at <= trace.over {
                let wake =
                    format!("sched_waking: comm={name} pid={pid} prio={prio} target_cpu=000");
                lines.push((at, false, 0, "d.h3.", wake));
            }
        }
    }
    for cpu in 0..labels.cpus {
        let mut on_cpu: Vec<&Segment> =
            trace.segments.iter().filter(|segment| segment.cpu.index() == cpu).collect();
        on_cpu.sort_by_key(|segment| segment.start);
        let idle = (format!("swapper/{cpu}"), 0, 120);
        let mut switch = |at, prev: Option<(usize, &str)>, next: Option<usize>| {
            let (pn, pp, pr) = prev.map_or(idle.clone(), |(task, _)| thread(task));
            let (nn, np, nr) = next.map_or(idle.clone(), thread);
            let state = prev.map_or("R", |(_, state)| state);
            let event = format!(
                "sched_switch: prev_comm={pn} prev_pid={pp} prev_prio={pr} prev_state={state} ==> \
                 next_comm={nn} next_pid={np} next_prio={nr}"
            );
            lines.push((at, true, cpu, "d..2.", event));
        };
        for (number, segment) in on_cpu.iter().enumerate() {
            let task = segment.job.task.index();
            let before = number.checked_sub(1).map(|before| on_cpu[before]);
            if before.is_none_or(|before| before.end < segment.start) {
                switch(segment.start, None, Some(task));
            }
            let after = on_cpu.get(number + 1).filter(|after| after.start == segment.end);
            let after = after.map(|after| after.job.task.index());
            if after != Some(task) && segment.end < trace.over {
                let state = if sleeps(&jobs_by_task[task], segment) { "S" } else { "R+" };
                switch(segment.end, Some((task, state)), after);
            }
        }
    }
    lines.sort_by_key(|(at, is_switch, cpu, ..)| (*at, *is_switch, *cpu));
    let mut running: Vec<String> = vec!["<idle>-0".to_owned(); labels.cpus];
    let mut text = String::from("# tracer: nop\n#\n");
    for (at, is_switch, cpu, flags, event) in lines {
        let ns = options.start_ns + at.ns();
        let (seconds, rest) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
        let rest =
            if options.is_coarse { format!("{:06}", rest / 1_000) } else { format!("{rest:09}") };
        if at >= options.from {
            // Writing into a string cannot fail.
            let _ =
                writeln!(text, "{:>20} [{cpu:03}] {flags} {seconds}.{rest}: {event}", running[cpu]);
        }
        if is_switch && let Some((_, next)) = event.split_once("next_comm=") {
            let mut words = next.split(" next_pid=");
            let name = words.next().unwrap_or_default();
            let pid = words.next().and_then(|rest| rest.split(' ').next()).unwrap_or_default();
            running[cpu] = format!("{name}-{pid}");
        }
    }
    text
}

/// Returns the jobs of a task in the order of their numbers.
pub fn jobs_of(trace: &Trace, task: usize) -> Vec<JobRecord> {
    let of_task = trace.jobs.iter().filter(|record| record.job.id.task.index() == task);
    let mut jobs: Vec<JobRecord> = of_task.cloned().collect();
    jobs.sort_by_key(|record| record.job.id.seq);
    jobs
}

/// Returns true if the thread sleeps at the end of a segment: its job has ended, and no other job
/// has been released.
fn sleeps(jobs: &[JobRecord], segment: &Segment) -> bool {
    let own = jobs.partition_point(|record| record.job.id.seq < segment.job.seq);
    let end = jobs.get(own).and_then(|record| record.end);
    let has_ended = end.is_some_and(|(at, _)| at <= segment.end);
    has_ended && jobs.get(own + 1).is_none_or(|next| next.job.release > segment.end)
}
