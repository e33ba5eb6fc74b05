//! What happened to the threads behind the tasks of a trace, where a kernel recorded it: a job says when there was
//! work, and a thread when the kernel let it run.

use layland_model::{CpuId, TaskId, Time};

/// Something that happened to the thread of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadEvent {
    /// When.
    pub at: Time,
    /// Whose thread it is.
    pub task: TaskId,
    /// What.
    pub kind: ThreadEventKind,
}

/// What can happen to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadEventKind {
    /// It wakes up.
    WokeUp,
    /// It gets a CPU. Whether a thread of a lower class, or none, had that before.
    GotCpu {
        /// Which.
        cpu: CpuId,
        /// Whether nothing of the classes from SCHED_DEADLINE on had it.
        was_free: bool,
    },
    /// It loses its CPU.
    LostCpu(Lost),
    /// Something that the trace does not tell: it has changed its class, or events of it are missing.
    Unknown,
}

/// How a thread loses its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It could go on, and a thread of its class or above follows.
    Preempted,
    /// It could go on, and a thread of a lower class follows: it has no runtime left, or has yielded.
    Throttled,
    /// It sleeps.
    Slept,
}
