//! The events that an engine reports while it runs, and the results computed from them.
//!
//! ```text
//!             released, executed, ended, marked, answered, over
//!   engine  ----------------------------------------------------->  Recorder
//!                                                                      |
//!      Trace       keeps everything ------------------------------------+
//!      Window      keeps what overlaps some stretch of time ------------+
//!      Counters    count jobs, misses, preemptions, migrations ---------+
//!      Statistics  the same, with percentiles of response times --------+
//!
//!   Trace --replay--> any Recorder       Trace <--json--> file       Trace --csv--> file
//! ```
//!
//! A [`Recorder`] receives each event once, in the order of time. An engine is generic over it and
//! pays only for what is recorded: [`NoRecord`] costs nothing, [`Both`] reports to two recorders.
//!
//! | module | question that it answers |
//! |---|---|
//! | [`statistics`] | how many, how late, how often, how long |
//! | [`inversion`] | when did a job wait for one that should come after it |
//! | [`diff`] | where do two runs part, and why |
//! | [`json`], [`csv`] | how is a trace kept in a file |
//!
//! `layland-checker` verifies that a trace keeps the promise of its policy, `layland-chart` draws
//! it, and `layland-interchange` writes it for other tools. All of them see a [`Trace`], and none
//! can see the policy or the engine.
//!
//! ```
//! use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
//! use layland_trace::{Both, Counters, Job, JobEnd, Recorder, Segment, Trace};
//! let at = Time::from_ms;
//! let id = JobId { task: TaskId(0), seq: 0 };
//! let job = Job { id, arrival: at(0), release: at(0), deadline: at(5) };
//!
//! // What an engine would report of a job that runs from 2 to 6 ms.
//! let mut recorder = Both(Trace::default(), Counters::new(1, 1));
//! recorder.released(&job);
//! let (cpu, overhead) = (CpuId(0), Duration::ZERO);
//! recorder.executed(&Segment { job: id, cpu, start: at(2), end: at(6), overhead });
//! recorder.ended(&job, at(6), JobEnd::Completed, Service::from_ms(4));
//! recorder.over(at(10), false);
//!
//! let Both(trace, counters) = recorder;
//! assert_eq!(counters.task(TaskId(0)).missed, 1);
//! assert_eq!(trace.jobs[0].job.tardiness(at(6)), Duration::from_ms(1));
//! // A trace tells another recorder the same.
//! let mut again = Counters::new(1, 1);
//! trace.replay(&mut again);
//! assert_eq!(again, counters);
//! ```

// Every match is exhaustive: a new event, action or verdict must be handled explicitly everywhere.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod chains;
pub mod csv;
pub mod diff;
mod halts;
mod indicator;
pub mod inversion;
pub mod json;
mod labels;
mod mark;
mod outcomes;
mod record;
mod replay;
mod scratch;
pub mod statistics;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod thread;
mod window;

pub use chains::{ChainFigures, Chained};
pub use halts::{Halt, Halts, Why};
pub use indicator::{LevelStretch, level_stretches, raised};
pub use labels::Labels;
pub use mark::{LockMark, Mark, MarkKind};
pub use outcomes::{Outcomes, Word};
pub use record::{
    Answer, Both, Errno, Foreign, Job, JobEnd, JobRecord, NoRecord, Recorder, Segment, Totals,
    Trace,
};
pub use scratch::{Scratch, Spool};
pub use statistics::{
    Counters, CpuSummary, Percentiles, Statistics, Summary, TaskCounters, TaskSummary,
};
pub use thread::{Lost, ThreadEvent, ThreadEventKind};
pub use window::{FirstMiss, Refusals, Window};
