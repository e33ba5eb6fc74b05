//! The probability that a job is late: bounds on the probability of a miss, for independent execution times on
//! one CPU.
//!
//! The probability `p` of a task is the least upper bound, over all permitted arrivals and over all
//! of its jobs, of the probability that this job misses its deadline. From it follow, in these
//! words:
//!
//! - on average at most the share `p` of the jobs is late, in the long run;
//! - of `n` jobs, at least one is late with a probability of at most `n p`, and not
//!   `1 - (1 - p)^n`, since misses come in bursts;
//! - a given window of `k` jobs violates `(m, k)` with a probability of at most `k p / (k - m + 1)`.
//!
//! It says nothing about a constraint that is kept for ever: with random times only `p = 0` does.
//!
//! | file | answer | late jobs |
//! |---|---|---|
//! | [`Judged::under_arrivals`] | arrivals that are given: exact | any |
//! | [`Periodic`] | known offsets: exact for each job, lower and upper bounds in the long run | continue |
//! | [`Judged::worst_phase`] | the greatest probability over all sporadic arrivals: exact up to its two bounds | continue |
//! | [`Judged::rate`] | an upper bound for sets of any size | any |
//! | [`Judged::carry`], [`Judged::chernoff`] | upper bounds where no job is pending for long | abort, or in time |
//! | [`most_misses`] | the most misses in a window, where long executions are seldom | continue |
//! | [`MandatoryPattern`] | weakly hard constraints that are kept, where other jobs are optional | end at their deadlines |
//! | [`SampleInterval`] | the share of late jobs in independent runs, as an interval | any |
//!
//! Assumptions, by name:
//!
//! - `INDEPENDENT-TIMES`: the execution times of all jobs are independent, and those of a task have
//!   one distribution. Negative dependence can hurt as much as positive: of two higher jobs that are
//!   long with 1/4 each, one may be enough. This happens with 7/16 if they are independent, and with
//!   1/2 if they are never long together.
//! - `BLIND-ARRIVALS`: no arrival depends on an execution time. Otherwise no bound of the literature
//!   holds.
//! - `ONE-CPU`: preemptive fixed priorities or EDF, one level of criticality, no locks, no overheads
//!   but those added to all execution times.
//!
//! Masses are rounded one way only, so every bound is a proven one: no float decides.

#![expect(non_snake_case, reason = "symbols of the papers")]

mod carry;
mod distribution;
mod interval;
mod numbers;
mod patterns;
mod pending;
mod periodic;
mod phase;
mod rate;
mod settled;
mod task;
mod twca;

pub use carry::Carried;
pub use interval::SampleInterval;
pub use numbers::{Mass, Rounding, Scaled};
pub use patterns::{MandatoryPattern, PatternTask};
pub use periodic::{InTheLongRun, Judged, Periodic};
pub use phase::{FirstJobs, WorstPhase};
pub use rate::{Grid, Shares};
pub use task::{InvalidRandomTask, OneCpuOrder, RandomTask};
pub use twca::{NoTypicalBound, TypicalBound, TypicalTask, most_misses};

/// A probability between two proven bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    /// A lower bound.
    pub low: Mass,
    /// An upper bound.
    pub high: Mass,
}

/// The effort of a calculation of the long run. Every choice is sound; more effort is closer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Masses and changes up to this one do not matter.
    pub negligible: Mass,
    /// The maximum number of cells of a distribution.
    pub cells: usize,
    /// The maximum number of steps.
    pub rounds: u32,
}

impl Default for Precision {
    fn default() -> Precision {
        // 2^-66, or 1.4e-20.
        Precision { negligible: Mass(1 << 30), cells: 1 << 15, rounds: 400 }
    }
}

/// The reason why there is no bound below 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The work of the level takes the whole CPU on average.
    #[error("on average the task and those that delay it need all of the CPU")]
    Overload,
    /// A task has jitter, and the analysis assumes that none has.
    #[error("a task has jitter")]
    Jitter,
    /// The calculation is too large.
    #[error("the hyperperiod or the backlog is too long")]
    TooLarge,
}
