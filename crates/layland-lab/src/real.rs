//! Measurements on real threads and engines of this machine, as an experiment describes them.

use crate::timers::ManagerTimers;
use layland_model::{Criticality, Duration};

/// A measurement on real threads: some systems of each point of a grid run under each of its policies.
/// The lengths of their busy periods are measured, and the contributions to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Threads {
    /// The index of the grid. The values of its first axis are the x of the figure.
    pub grid: usize,
    /// The number of systems of each point that run.
    pub sets: u64,
    /// The length of each run.
    pub duration: Duration,
    /// The index of the series that is the reference for the others.
    pub baseline: usize,
    /// The names of the schedulability tests that must all accept a system; others are drawn again.
    pub accepted_by: Vec<String>,
    /// Jobs execute for their bound of this level; by default for their drawn execution time.
    pub level: Option<Criticality>,
    /// The timers of the manager where threads release and end their jobs themselves.
    pub timers: ManagerTimers,
    /// True if every CPU has a dispatcher, in place of one manager.
    pub is_per_cpu: bool,
    /// In that case: the indices of the series whose dispatchers share one lock. Those of the others
    /// have one for each group of CPUs that share their tasks.
    pub one_lock: Vec<usize>,
    /// The maximum number of threads whose priorities a separate measurement changes at once.
    pub moved: usize,
    /// The values that the source reports.
    pub reported: Vec<Said>,
}

/// The runs of the same systems in the simulator and on every engine of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engines {
    /// The index of the grid. Its series are policies.
    pub grid: usize,
    /// The number of systems of each point that run.
    pub sets: u64,
    /// The length of each run.
    pub duration: Duration,
    /// The amount by which policies with budgets, and SCHED_DEADLINE, reserve more than the WCET.
    pub margin: Duration,
}

/// A value that the source of an experiment reports for real threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The index of the series.
    pub series: usize,
    /// The value of the first axis; `None` if the source reports one value over all.
    pub at: Option<String>,
    /// The metric.
    pub metric: String,
    /// Its value.
    pub value: f64,
}
