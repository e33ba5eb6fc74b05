//! Reads kernel traces in text form into the trace model
//! ([`read()`]), and writes any trace in that form ([`write()`]).
//!
//! Five dialects are supported, and are detected automatically:
//!
//! | dialect | a line |
//! |---|---|
//! | tracefs `trace`, `trace_pipe` | `comm-7 [001] d..2. 12.000345: sched_switch: prev_comm=.. ==> next_comm=..` |
//! | the same in the latency format | `comm-7 1d..2. 345us : sched_switch: prev_comm=.. ==> next_comm=..` |
//! | `trace-cmd report -N` (without plugins) | the same without flags, padded |
//! | `trace-cmd report` | `comm-7 [001] 12.000345: sched_switch: comm:7 [39] S ==> other:8 [120]` |
//! | `trace-cmd report -R` | `prev_state` is a number, and there is no `==>` |
//! | `perf script` | `comm 7 [001] 12.000345: sched:sched_switch: prev_comm=..` |
//!
//! The reader uses `sched_switch`, `sched_waking` (or `sched_wakeup`), `sched_migrate_task` and the
//! marks that were written to `trace_marker`. A name may contain spaces, dashes and brackets, so
//! every line is split from the right.
//!
//! # What is certain and what is not
//!
//! 1. The times at which threads held CPUs are exact, up to the resolution of the text (1 us, or 1
//!    ns if the tool prints nine decimals).
//! 2. The beginnings and ends of jobs are exact if the run wrote [`Marker`]s. Without them a job is
//!    taken to last from a wake-up to the next interruptible sleep (`S`), and
//!    [`Import::is_inferred`] is true. A job that sleeps in its middle then counts as two, and jobs
//!    that follow each other without a sleep count as one. Other states do not end a job: a
//!    preempted thread is `R` or `R+` depending on the kernel, and one that is being moved to
//!    another CPU is `D`.
//! 3. The number of events that the kernel dropped is in [`Import::lost`]. A trace with lost events
//!    supports no verdict. Some virtual machines record no switch *from* certain threads, such as
//!    the idle thread of a CPU, although they lose no events. The start of the next thread is then
//!    known up to an interval ([`Import::unrecorded`]): after the last event of the thread before
//!    it, after its own wake-up, and not after its own first event. A property of the trace that
//!    holds for both ends ([`Begins`]) does not depend on the exact start. A switch that
//!    contradicts the one before it counts as a loss.
//! 4. The trace has no times before the origin ([`ReadOptions::origin_ns`]): everything before it
//!    is cut off.
//!
//! Without a task set the deadlines are unknown, and are set to [`NO_DEADLINE`].

mod count;
mod gaps;
mod import;
mod line;
mod marker;
mod page;
mod rebuild;
#[cfg(test)]
mod tests;
mod threads;
mod write;

pub use count::{Counted, JobCounter};
pub use import::{
    Begins, COMM_BYTES, Decision, Import, NO_DEADLINE, ReadError, ReadOptions, Threads, Unrecorded,
    Wake, comm,
};
pub use line::Dialect;
pub use marker::{Marker, MarkerError};
pub use write::write;

use self::line::{Event, EventKind};
use crate::infer::Observation;

/// Returns the CPU and the time of every switch between threads in a text, in nanoseconds of the
/// trace's clock and in the order of time.
///
/// # Errors
/// If the text contains no events.
pub fn switches(text: &str) -> Result<Vec<(u32, i64)>, ReadError> {
    let switch = |event: &Event<'_>| match event.kind {
        EventKind::Switch { .. } => Some((event.cpu, event.at)),
        EventKind::Wake { .. }
        | EventKind::Migrate { .. }
        | EventKind::Mark(_)
        | EventKind::Other => None,
    };
    Ok(line::lines(text)?.events.iter().filter_map(switch).collect())
}

/// Returns the CPU, name and id of each thread from which a text has no switch on a CPU, although
/// it has switches to the thread and later events of other threads there.
///
/// # Errors
/// If the text contains no events.
pub fn never_left(text: &str) -> Result<Vec<(u32, String, u32)>, ReadError> {
    Ok(rebuild::never_left(&line::lines(text)?.events))
}

/// Reads a kernel trace.
///
/// ```
/// use layland_model::{Duration, Service, System, Task};
/// use layland_interchange::kernel::{ReadOptions, Threads, read};
/// let text = "\
/// <idle>-0   [000] d..2. 5.000100: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=control next_pid=7 next_prio=39
/// control-7  [000] ...1. 5.000102: tracing_mark_write: layland: release task=control job=0 t=5000000000
/// control-7  [000] ...1. 5.001101: tracing_mark_write: layland: complete task=control job=0
/// control-7  [000] d..2. 5.001103: sched_switch: prev_comm=control prev_pid=7 prev_prio=39 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
/// ";
/// let control = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// let system = System::new(1, vec![control]);
/// let options = ReadOptions { threads: Threads::Of(&system), ..ReadOptions::default() };
/// let import = read(text, &options).unwrap();
/// assert!(import.is_trustworthy() && !import.is_inferred);
/// // It was released 100 us before it got the CPU.
/// let segment = import.trace.segments[0];
/// assert_eq!((segment.start.ns(), segment.end.ns()), (100_000, 1_101_000));
/// assert_eq!(import.trace.jobs[0].job.deadline.ns(), 5_000_000);
/// ```
///
/// # Errors
/// If there are no events, no thread is a task, or times are too far apart. Lines that are not
/// events are counted and skipped.
pub fn read(text: &str, options: &ReadOptions) -> Result<Import, ReadError> {
    rebuild::rebuild(line::lines(text)?, options)
}

/// Returns the jobs of every thread of a kernel trace, for [`infer`](mod@crate::infer).
///
/// ```
/// let text = "\
/// <idle>-0   [000] d.h3. 5.000100: sched_waking: comm=control pid=7 prio=39 target_cpu=000
/// <idle>-0   [000] d..2. 5.000102: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=control next_pid=7 next_prio=39
/// control-7  [000] d..2. 5.001102: sched_switch: prev_comm=control prev_pid=7 prev_prio=39 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
/// ";
/// let seen = layland_interchange::kernel::observe(text).unwrap();
/// let control = &seen.threads[0];
/// assert_eq!((control.name.as_str(), control.priority()), ("control", Some(39)));
/// assert_eq!(control.jobs[0].executed.ns(), 1_000_000);
/// ```
///
/// # Errors
/// The errors of [`read`].
pub fn observe(text: &str) -> Result<Observation, ReadError> {
    rebuild::observe(line::lines(text)?)
}
