//! Threads under sched_ext: policies decide in user space, and a mechanism in the kernel, which is
//! independent of the policy, carries out their decisions.
//!
//! ```text
//!   mechanism/     the mechanism: BPF, its own header of the kernel, the compiled object
//!   mechanism.rs   loads it, attaches it, takes it out      shared.rs    the records that both sides see
//!   threads.rs     a carrier for the manager                tables.rs    what CPUs may do by themselves
//!   news.rs        what the mechanism has told              work.rs      whose threads they are, what their jobs are
//!   posts.rs       threads of a load                        load.rs      these, in a process of their own
//!   programs.rs    threads of other programs                run.rs       a run from beginning to end
//!   carry.rs       the same for threads that come and go
//! ```
//!
//! The manager is that of `SCHED_FIFO`: jobs, events, rounds, budgets, the log and its replay are
//! the same. In addition, CPUs in the kernel act before the manager wakes up, by a table of the
//! answers of clones of the policy. The later decisions of the manager take precedence.
//!
//! Three safety nets back up the manager. If it has not answered for 20 ms, the mechanism assigns
//! CPUs by earliest deadline. After a second the mechanism ends with an error, and the kernel moves
//! every thread to the ordinary class. The kernel's own watchdog does the same if a ready thread
//! does not run for 30 s. Each of these is reported, and the results of such a run are not
//! reliable.
//!
//! Requires Linux 7.2, root, and a kernel with correct type information: `layland doctor` checks
//! this.

mod carry;
mod load;
mod mechanism;
mod news;
mod posts;
mod programs;
mod run;
mod shared;
mod tables;
mod threads;
mod work;

pub use carry::{Carried, CarryOptions, Carrying, EnterError, Ticket};
pub use run::{ExtOptions, run};

/// The time that the manager may take to answer before the caretaker acts, and before everything
/// ends.
const LATE_NS: u64 = 20_000_000;
/// See [`LATE_NS`].
const DEAD_NS: u64 = 1_000_000_000;

/// The counters of the engine `ext`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[schemars(rename = "ext_figures")]
pub struct ExtFigures {
    /// The number of times that a CPU acted by the table and the policy then decided the same.
    pub right: u64,
    /// The number of times that the policy then decided otherwise.
    pub wrong: u64,
    /// The number of right actions whose budget differed from the decision and was corrected.
    pub adjusted: u64,
    /// The number of decisions that required a call into the kernel.
    pub commits: u64,
    /// The number of times that a CPU took the next job by itself after one completed.
    pub followed: u64,
    /// The number of times that a thread took a CPU when it woke.
    pub woken: u64,
    /// The number of orders about a job that had ended meanwhile; they had no effect.
    pub stale: u64,
    /// The number of times that a thread returned to the mechanism because it could not run at
    /// once, in most cases because a thread of a higher class had its CPU.
    pub bounced: u64,
    /// The number of decisions that the caretaker made because the manager was late.
    pub by_caretaker: u64,
    /// The number of records that were lost because the manager did not read them in time.
    pub lost: u64,
}
