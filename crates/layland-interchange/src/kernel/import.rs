//! How a kernel trace is read, what is read of it ([`Import`]), and why it cannot be.

use super::line::Dialect;
use layland_model::{CpuId, Duration, JobId, System, TIME_LIMIT, TaskId, Time};
use layland_trace::json::Recorded;
use layland_trace::{Foreign, Labels, ThreadEvent, Trace};
use std::collections::BTreeMap;

/// The deadline of a job of which none is known.
pub const NO_DEADLINE: Time = Time::from_ns(TIME_LIMIT);

/// How many bytes of a thread's name the kernel keeps.
pub const COMM_BYTES: usize = 15;

/// What the kernel makes of a name: its first [`COMM_BYTES`] bytes, cut between characters.
pub fn comm(name: &str) -> &str {
    let mut end = name.len().min(COMM_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// Which threads are tasks.
#[derive(Clone, Copy, Default)]
pub enum Threads<'a> {
    /// Those that marks name; without marks there are none.
    #[default]
    Marked,
    /// Those with the names of a system's tasks, which the trace is then about.
    Of(&'a System),
    /// Those for which this is true of name and thread id; each thread is a task of its own.
    Where(&'a dyn Fn(&str, u32) -> bool),
    /// These thread ids, each with the task of a system that it is, one thread after another.
    Known(&'a System, &'a BTreeMap<u32, TaskId>),
}

/// When a thread is taken to begin to which the kernel recorded no switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begins {
    /// As early as it can have begun, if its wake-up is in the trace; or else when it was seen.
    #[default]
    Likely,
    /// As early as it can have begun.
    Earliest,
    /// When it was seen.
    Latest,
}

/// A switch to a task that the kernel did not record: it is known up to an interval when the thread began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecorded {
    /// The task.
    pub task: TaskId,
    /// Where it began.
    pub cpu: CpuId,
    /// Not before this.
    pub after: Time,
    /// Not after this.
    pub by: Time,
    /// The thread that had the CPU before: the kernel records no switch from it.
    pub from: String,
}

/// How to read.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// Which threads are tasks.
    pub threads: Threads<'a>,
    /// What time is 0 in the trace, in nanoseconds of the trace's clock. By default: what a `begin`
    /// mark says; or else, with a system and marks, what the first release implies; or else the first
    /// event.
    pub origin_ns: Option<i64>,
    /// When threads begin to which no switch is recorded. What is true for the earliest and for the latest is true.
    pub begins: Begins,
}

/// A thread that became ready and later ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Its task.
    pub task: TaskId,
    /// When it became ready.
    pub at: Time,
    /// How long it then waited for a CPU.
    pub latency: Duration,
}

/// A decision, as the run reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When it was reported.
    pub at: Time,
    /// For which CPU.
    pub cpu: CpuId,
    /// What it is to run; `None`: nothing.
    pub run: Option<JobId>,
}

/// A kernel trace in the trace model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Import {
    /// The run.
    pub trace: Trace,
    /// The names of its tasks, and how many CPUs there are.
    pub labels: Labels,
    /// The dialect of the first event.
    pub dialect: Dialect,
    /// What time 0 of the trace is on the trace's clock, in nanoseconds.
    pub origin_ns: i64,
    /// How many events were read.
    pub events: u64,
    /// How many events the kernel dropped, at least.
    pub lost: u64,
    /// The switches to tasks that the kernel did not record, although it lost nothing: some virtual machines record no
    /// switch from certain threads.
    pub unrecorded: Vec<Unrecorded>,
    /// How many lines are neither events nor comments.
    pub unknown_lines: u64,
    /// The number of the first of them, from 1.
    pub first_unknown_line: Option<usize>,
    /// Whether the boundaries of jobs are inferred from sleeps, for want of marks.
    pub is_inferred: bool,
    /// From when on the trace knows of the run, if marks say when that began: time 0 of the trace is then time 0
    /// of the run.
    pub since: Option<Time>,
    /// When the run was over, if a mark says so: the record may go on after it.
    pub until: Option<Time>,
    /// Which threads that are no tasks held the CPUs of the trace, apart from their idle threads. By CPU, in the
    /// order of time.
    pub foreign: Vec<Foreign>,
    /// What happened to the threads of tasks under SCHED_DEADLINE, in the order of time; times before the origin are
    /// negative.
    pub thread_events: Vec<ThreadEvent>,
    /// Which threads that are no tasks held CPUs and are of SCHED_DEADLINE or above it, in the order of their ends.
    pub above: Vec<Foreign>,
    /// From becoming ready to running, in the order of time.
    pub wakes: Vec<Wake>,
    /// Decisions that were reported, in the order of time.
    pub decisions: Vec<Decision>,
    /// What is doubtful, in words.
    pub remarks: Vec<String>,
}

impl Import {
    /// Whether a verdict can rest on it: no event was lost, and no line was damaged.
    pub fn is_trustworthy(&self) -> bool {
        self.lost == 0 && self.unknown_lines == 0
    }

    /// How it was recorded: what is written with the trace, so that it is judged as one of a real machine.
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

/// Why a text is not a kernel trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No line is an event.
    #[error("no line is an event of the scheduler{}", first_line(*.first_unknown_line))]
    NoEvents {
        /// The number of the first line that is no event, from 1.
        first_unknown_line: Option<usize>,
    },
    /// A line is no event because it does not say on which CPU it happened.
    #[error("line {line} does not say on which CPU it happened")]
    NoCpu {
        /// Its number, from 1.
        line: usize,
    },
    /// No thread is a task.
    #[error("no thread in the trace is a task")]
    NoTasks {
        /// The names of threads that ran most, with their ids.
        candidates: Vec<(String, u32)>,
        /// The names of tasks that were looked for.
        wanted: Vec<String>,
    },
    /// Two tasks of the set have one name for the kernel.
    #[error("tasks `{first}` and `{second}` are both called `{comm}` by the kernel")]
    SameComm {
        /// A task.
        first: String,
        /// Another one.
        second: String,
        /// What is left of the name.
        comm: String,
    },
    /// Times that are too far apart.
    #[error("the trace is longer than {TIME_LIMIT} ns, or begins that long before its origin")]
    TooLong,
}

fn first_line(line: Option<usize>) -> String {
    line.map_or_else(|| ": it is empty".to_owned(), |line| format!(" (line {line} is not)"))
}

impl ReadError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            ReadError::NoEvents { .. } => {
                "record sched_switch, as `layland trace record` does; a .dat or .data file is turned \
                 into text by `trace-cmd report -R` or `perf script`"
                    .to_owned()
            }
            ReadError::NoCpu { .. } => {
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
                    format!("say which threads are tasks: --set FILE, --comm REGEX or --pid N{seen}")
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
