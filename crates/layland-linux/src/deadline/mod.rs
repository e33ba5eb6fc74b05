//! The kernel's SCHED_DEADLINE as an engine: real threads, scheduled by Linux itself.
//!
//! Only what the kernel can express runs here: earliest deadline first in disjoint groups of CPUs, that
//! is, global, clustered and partitioned EDF ([`Plan`]). Each group is a root domain of its own (a cpuset
//! partition, unless it is the whole machine), each task a thread with a reservation of its WCET plus a
//! margin. The threads enter SCHED_DEADLINE before their first release, never change their parameters or
//! affinity afterwards (unless requests say so), and sleep by absolute times of their own release clock.
//!
//! Or it is the kernel as it is ([`Plan::of_kernel`]): threads with any affinities, hogs, and requests
//! that are carried out by system calls, in one root domain and without admission control, which is off
//! during the run and on again however it ends. That is where the defects that Tang, Anderson and Abeni
//! (2021) describe can be seen.
//!
//! What to know when reading its results:
//!
//! 1. The kernel promises bounded tardiness in groups of several CPUs, not met deadlines.
//! 2. Without precise budgets (`HRTICK_DL`) a budget is enforced by the tick: a job may overrun by up to
//!    a tick, and pays by a longer pause.
//! 3. Segments are what the threads themselves see: each job reads the clocks all the time, and a pause
//!    longer than 50 us between two readings ends a segment. A pause that is shorter counts as execution.
//! 4. A deadline longer than the period is reserved as the period: the kernel has no other.

mod plan;
mod run;
mod thread;

pub(crate) use crate::machine::cpuset::Cpusets;
pub use crate::machine::cpuset::{CpusetError, is_v1};
pub use plan::{Domain, Facts, Plan, Refusal, Reservation};
pub use run::{DeadlineOptions, Ran, RunError, run};
