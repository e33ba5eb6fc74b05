//! The events of the threads behind the tasks of a trace, as recorded by a kernel: a job shows when
//! there was work, and a thread shows when the kernel ran it.

use layland_model::{CpuId, TaskId, Time};

/// An event of the thread of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadEvent {
    /// The time.
    pub at: Time,
    /// The task of the thread.
    pub task: TaskId,
    /// The event.
    pub kind: ThreadEventKind,
}

/// The kinds of events of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadEventKind {
    /// It wakes up.
    WokeUp,
    /// It gets a CPU. `was_free` is true if a thread of a lower class, or no thread, had the CPU
    /// before.
    GotCpu {
        /// The CPU.
        cpu: CpuId,
        /// True if no thread of the classes from SCHED_DEADLINE on had it.
        was_free: bool,
    },
    /// It loses its CPU.
    LostCpu(Lost),
    /// The state is unknown: the thread has changed its class, or events of it are missing.
    Unknown,
}

/// The reason why a thread loses its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It could continue, and a thread of its class or above follows.
    Preempted,
    /// It could continue, and a thread of a lower class follows: it has no runtime left, or has
    /// yielded.
    Throttled,
    /// It sleeps.
    Slept,
}
