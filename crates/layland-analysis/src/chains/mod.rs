//! Cause-effect chains: the time until an answer reflects an event (reaction time), and the age of
//! the data of an answer (data age); see [`Latency`](layland_model::Latency).
//!
//! | function | communication | result |
//! |---|---|---|
//! | [`let_exact`] | logical execution time | the exact values, over one hyperperiod of the chain |
//! | [`let_bound`] | logical execution time | a bound on both, without a hyperperiod |
//! | [`davare`] | implicit | a bound on both: Davare et al. 2007 |
//! | [`implicit_bound`] | implicit | a bound on both that is never above that of `davare` |
//!
//! **Assumptions.** (1) `T` is also the *largest* time between two arrivals of a task: the period
//! of a sporadic task is only the least, and bounds nothing here. (2) Jobs arrive for ever.
//! (3) Implicit communication: every job ends within `R <= T` of its arrival. (4) Logical execution
//! time: jobs are released when they arrive, and end before they write; the policy must ensure the
//! latter, these functions do not check it. A chain that breaks an assumption gets [`Unbounded`].
//!
//! These bounds are not schedulability tests, so they are not in the [catalogue](crate::catalogue)
//! but in [`ChainAnalysis::ALL`].

mod citations;
mod exact;
mod implicit;
mod intervals;
mod named;

pub use exact::{LIMIT, let_exact};
pub use implicit::{davare, implicit_bound};
pub use intervals::let_bound;
pub use named::ChainAnalysis;

use layland_model::{Behaviour, Chain, Duration, OnMiss, System, Task, TaskId};

/// The reason why a chain has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unbounded {
    /// The jobs of this task are not periodic, so the time between two of them has no known
    /// maximum.
    NotPeriodic(TaskId),
    /// This task has a last job, or no job at all.
    Ends(TaskId),
    /// The set changes while it runs.
    Changes,
    /// Jobs of this task may end after the next one arrives, or after their write, or, if late jobs
    /// are dropped, after their deadline.
    Late(TaskId),
    /// Jobs of this task read at a release that is not their arrival.
    Released(TaskId),
    /// There are more than [`LIMIT`] jobs in a hyperperiod of the chain.
    ManyJobs,
    /// The latency exceeds the largest time.
    TooLong,
}

impl Unbounded {
    /// The reason, as a sentence without a full stop.
    pub fn text(self, system: &System) -> String {
        let name = |id: TaskId| system.tasks.get(id).map_or("", |task| task.name.as_str());
        match self {
            Unbounded::NotPeriodic(task) => {
                format!("the jobs of `{}` may be any time apart", name(task))
            }
            Unbounded::Ends(task) => format!("`{}` has a last job", name(task)),
            Unbounded::Changes => "requests change the set while it runs".to_owned(),
            Unbounded::Late(task) => {
                format!(
                    "no bound says that each job of `{}` ends in time to hand its data on",
                    name(task)
                )
            }
            Unbounded::Released(task) => {
                format!("the releases of `{}` are not periodic", name(task))
            }
            Unbounded::ManyJobs => format!("a hyperperiod has more than {LIMIT} jobs"),
            Unbounded::TooLong => "it is too long to be computed exactly".to_owned(),
        }
    }
}

/// Checks that the jobs of the chain arrive for ever, with a maximum time between them (assumptions
/// 1 and 2).
fn recurs(system: &System, chain: &Chain) -> Result<(), Unbounded> {
    if !system.requests.is_empty() {
        return Err(Unbounded::Changes);
    }
    for &id in &chain.tasks {
        let task = &system.tasks[id];
        match task.behaviour {
            Behaviour::Periodic | Behaviour::Yield => {}
            Behaviour::Sporadic(_)
            | Behaviour::Explicit(_)
            | Behaviour::Curve(_)
            | Behaviour::Hog
            | Behaviour::SelfSuspending { .. } => return Err(Unbounded::NotPeriodic(id)),
        }
        if task.jobs.is_some() {
            return Err(Unbounded::Ends(id));
        }
    }
    Ok(())
}

/// Checks that the jobs of the chain are released when they arrive (assumption 4).
fn reads_at_arrival(system: &System, chain: &Chain) -> Result<(), Unbounded> {
    let late = |&&id: &&TaskId| {
        let task = &system.tasks[id];
        task.jitter > Duration::ZERO || !task.follows.is_empty()
    };
    chain.tasks.iter().find(late).map_or(Ok(()), |&id| Err(Unbounded::Released(id)))
}

/// The time by which each job of a task must end so that no job is dropped or delays the next one.
///
/// ```
/// use layland_analysis::chains::in_time;
/// use layland_model::{Duration, OnMiss, Service, Task};
/// let mut task = Task::implicit("brake", Service::from_ms(1), Duration::from_ms(5));
/// task.deadline = Duration::from_ms(3);
/// assert_eq!(in_time(&task, task.period), Duration::from_ms(5));
/// task.on_miss = OnMiss::Abort;
/// assert_eq!(in_time(&task, task.period), Duration::from_ms(3));
/// ```
pub fn in_time(task: &Task, within: Duration) -> Duration {
    match task.on_miss {
        OnMiss::Continue => within,
        OnMiss::Abort | OnMiss::Skip => within.min(task.deadline),
    }
}

/// Converts nanoseconds to a latency, if they are in range.
fn length(ns: i128) -> Result<Duration, Unbounded> {
    i64::try_from(ns).map(Duration::from_ns).map_err(|_| Unbounded::TooLong)
}
