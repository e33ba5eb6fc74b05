//! The figures of a run, counted while it runs: [`Counters`], [`Statistics`], [`Summary`].
//!
//! Both recorders work in the hot loop of a simulator: a call updates a few integers in flat arrays
//! indexed by task, and allocates nothing once every task and CPU was seen a few hundred times. The
//! memory does not depend on the simulated time.
//!
//! The definitions of the counters:
//!
//! | counter | definition |
//! |---|---|
//! | segment | a maximal interval of positive length in which one job holds one CPU |
//! | preemptions | of a job: its segments that are not its last and at whose end it could have gone on |
//! | migrations | a task executes on another CPU than where it last executed, even if that was an earlier job |
//! | migrations within jobs | the same between two segments of one job |
//! | shifts | of these, those without a gap: a job runs on at once on another CPU |
//! | response time | of a completed job: its completion minus its arrival |
//! | tardiness | of a completed job: `max(0, completion - deadline)` |
//! | tardy | completed after the deadline |
//! | missed | tardy, aborted, or pending at the end with the deadline at or before the end |
//! | overdue | the longest time by which a job pending at the end is past its deadline |
//! | busy | of a CPU: the time in which a job holds it, overheads of that job included |
//!
//! A job could have continued if it neither suspends itself at that time, nor waits for a lock, nor
//! moves by one of its own steps, for example to the CPU on which a lock is taken
//! ([`Halts::is_preempted`](crate::Halts::is_preempted)). A move to another CPU without a gap also
//! counts as a preemption. A job that spins holds its CPU.

mod counters;
mod quantiles;
mod summary;
#[cfg(test)]
mod tests;

pub use counters::{Counters, TaskCounters};
pub use quantiles::Statistics;
pub use summary::{CpuSummary, Percentiles, Summary, TaskSummary};
