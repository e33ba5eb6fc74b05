//! The options for reading a kernel trace, the result ([`Import`]), and the errors.

use super::line::Dialect;
use layland_model::{CpuId, Duration, JobId, System, TIME_LIMIT, TaskId, Time};
use layland_trace::json::Recorded;
use layland_trace::{Foreign, Labels, ThreadEvent, Trace};
use std::collections::BTreeMap;

/// The deadline of a job whose deadline is unknown.
pub const NO_DEADLINE: Time = Time::from_ns(TIME_LIMIT);

/// The maximum length of a thread's name in the kernel, in bytes.
pub const COMM_BYTES: usize = 15;

/// Returns a name as the kernel keeps it: its first [`COMM_BYTES`] bytes, cut between characters.
pub fn comm(name: &str) -> &str {
    let mut end = name.len().min(COMM_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// A selection of the threads that are tasks.
#[derive(Clone, Copy, Default)]
pub enum Threads<'a> {
    /// Threads that marks name; a trace without marks has no such threads.
    #[default]
    Marked,
    /// Threads with the names of a system's tasks.
    Of(&'a System),
    /// Threads for which the function returns true, given
    /// name and thread id; each is a task of its own.
    Where(&'a dyn Fn(&str, u32) -> bool),
    /// Threads with these ids, each with its task in a
    /// system; a task may have one thread after another.
    Known(&'a System, &'a BTreeMap<u32, TaskId>),
}

/// An assumption about the start of a thread if the kernel recorded no switch to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begins {
    /// As early as possible if its wake-up is in the trace; otherwise when it was seen.
    #[default]
    Likely,
    /// As early as possible.
    Earliest,
    /// When it was seen.
    Latest,
}

/// A switch to a task that the kernel did not record: the thread began at some time in an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecorded {
    /// The task.
    pub task: TaskId,
    /// The CPU on which it began.
    pub cpu: CpuId,
    /// The earliest time.
    pub after: Time,
    /// The latest time.
    pub by: Time,
    /// The thread that had the CPU before; the kernel records no switch from it.
    pub from: String,
}

/// Options for reading a trace.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// The threads that are tasks.
    pub threads: Threads<'a>,
    /// The time 0 of the trace, in nanoseconds of the trace's clock. By default the one in the
    /// `begin` mark; otherwise, with a system and marks, the one that the first release implies;
    /// otherwise the time of the first event.
    pub origin_ns: Option<i64>,
    /// The time from which on events count, in nanoseconds of the trace's clock. By default all do.
    pub from_ns: Option<i64>,
    /// The assumption about unrecorded switches. A result that holds for the earliest and for the
    /// latest start holds in any case.
    pub begins: Begins,
}

/// A wake-up of a thread that later ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The task of the thread.
    pub task: TaskId,
    /// The time at which it became ready.
    pub at: Time,
    /// The time that it then waited for a CPU.
    pub latency: Duration,
}

/// A decision, as reported by the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The time of the report.
    pub at: Time,
    /// The CPU of the decision.
    pub cpu: CpuId,
    /// The job that the CPU is to run; `None` for an idle CPU.
    pub run: Option<JobId>,
}

/// A kernel trace, converted to the trace model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Import {
    /// The run.
    pub trace: Trace,
    /// The names of its tasks, and the number of CPUs.
    pub labels: Labels,
    /// The dialect of the first event.
    pub dialect: Dialect,
    /// The time 0 of the trace on the trace's clock, in nanoseconds.
    pub origin_ns: i64,
    /// The number of events that were read.
    pub events: u64,
    /// A lower bound on the number of events that the kernel dropped.
    pub lost: u64,
    /// The switches to tasks that the kernel did not record, although it lost no events: some
    /// virtual machines record no switch from certain threads.
    pub unrecorded: Vec<Unrecorded>,
    /// The number of lines that are neither events nor comments.
    pub unknown_lines: u64,
    /// The number of the first such line, from 1.
    pub first_unknown_line: Option<usize>,
    /// True if the boundaries of jobs are inferred from sleeps, because there are no marks.
    pub is_inferred: bool,
    /// The beginning of the recording in the time of the run, if marks contain the start of the
    /// run: time 0 of the trace is then time 0 of the run.
    pub since: Option<Time>,
    /// The end of the run, if a mark contains it; the recording may continue after it.
    pub until: Option<Time>,
    /// The times at which threads that are not tasks held CPUs,
    /// except for idle threads. Sorted by CPU, then by time.
    pub foreign: Vec<Foreign>,
    /// The events of the tasks' threads under SCHED_DEADLINE, in
    /// the order of time; times before the origin are negative.
    pub thread_events: Vec<ThreadEvent>,
    /// The times at which threads of SCHED_DEADLINE or above
    /// it that are not tasks held CPUs, by their ends.
    pub above: Vec<Foreign>,
    /// The wake-ups and the latencies that followed, in the order of time.
    pub wakes: Vec<Wake>,
    /// The reported decisions, in the order of time.
    pub decisions: Vec<Decision>,
    /// Doubts about the trace, in words.
    pub remarks: Vec<String>,
}

impl Import {
    /// Returns true if a verdict can rest on the trace: no event was lost, and no line was damaged.
    pub fn is_trustworthy(&self) -> bool {
        self.lost == 0 && self.unknown_lines == 0
    }

    /// Returns the origin of the trace, which is stored with
    /// it, so that it is checked as one of a real machine.
    pub fn recorded(&self) -> Recorded {
        Recorded {
            by: self.dialect.name().to_owned(),
            is_of_kernel: true,
            is_inferred: self.is_inferred,
            is_trustworthy: self.is_trustworthy(),
            origin_ns: self.origin_ns,
            since: self.since,
            until: self.until,
            lost_events: self.lost,
            unrecorded_switches: self.unrecorded.len() as u64,
            remarks: self.remarks.clone(),
            foreign: self.foreign.clone(),
            above: self.above.clone(),
            thread_events: self.thread_events.clone(),
        }
    }
}

/// The reason why a text is not a kernel trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No line is an event.
    #[error("no line is an event of the scheduler{}", first_line(*.first_unknown_line))]
    NoEvents {
        /// The number of the first line that is not an event, from 1.
        first_unknown_line: Option<usize>,
    },
    /// A line is not an event because it lacks the CPU on which it happened.
    #[error("line {line} does not say on which CPU it happened")]
    NoCpu {
        /// The number of the line, from 1.
        line: usize,
    },
    /// A line is not an event because it lacks the name of the thread that was running.
    #[error("line {line} does not name the thread that was running")]
    NoName {
        /// The number of the line, from 1.
        line: usize,
    },
    /// No thread is a task.
    #[error("no thread in the trace is a task")]
    NoTasks {
        /// The names and ids of the threads that ran the most.
        candidates: Vec<(String, u32)>,
        /// The names of the tasks that were expected.
        wanted: Vec<String>,
    },
    /// The kernel's names of two tasks of the set are equal.
    #[error("tasks `{first}` and `{second}` are both called `{comm}` by the kernel")]
    SameComm {
        /// A task.
        first: String,
        /// Another one.
        second: String,
        /// The name in the kernel.
        comm: String,
    },
    /// The times are too far apart.
    #[error("the trace is longer than {TIME_LIMIT} ns, or begins that long before its origin")]
    TooLong,
}

fn first_line(line: Option<usize>) -> String {
    line.map_or_else(|| ": it is empty".to_owned(), |line| format!(" (line {line} is not)"))
}

impl ReadError {
    /// Returns advice on how to resolve the error.
    pub fn help(&self) -> String {
        match self {
            ReadError::NoEvents { .. } => {
                "record sched_switch, as `layland trace record` does; a .dat or .data file is turned \
                 into text by `trace-cmd report -R` or `perf script`"
                    .to_owned()
            }
            ReadError::NoCpu { .. } | ReadError::NoName { .. } => {
                "use perf script -F comm,tid,cpu,time,event,trace".to_owned()
            }
            ReadError::NoTasks { candidates, wanted } => {
                let seen: Vec<String> = candidates
                    .iter()
                    .map(|(comm, pid)| format!("`{comm}` ({pid})"))
                    .collect();
                let seen = match seen.as_slice() {
                    [] => String::new(),
                    seen => format!("; these ran most: {}", seen.join(", ")),
                };
                if wanted.is_empty() {
                    format!("say which threads are tasks: --set FILE, --thread REGEX or --tid N{seen}")
                } else {
                    format!("the set has {}{seen}", wanted.join(", "))
                }
            }
            ReadError::SameComm { .. } => {
                format!("make the first {COMM_BYTES} bytes of every name different")
            }
            ReadError::TooLong => "leave out the origin, or cut the trace".to_owned(),
        }
    }
}
