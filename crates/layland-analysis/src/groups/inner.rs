//! The tests of a group under its inner policy, as one question: are its tasks in time on these
//! supplies?
//!
//! | inner policy | one server | several servers |
//! |---|---|---|
//! | `fp` | [`fixed_priority::response_time`] | [`global::in_levels`] |
//! | `rr` | the same, equal priorities count as higher | the same |
//! | `fifo` | [`fifo::response_time`] | [`global::in_levels`] with one level |
//! | `edf` | [`demand::preemptive`] | [`global::interference`] or [`global::long_window`] |
//! | `np-fp`, `np-edf` | the tests without preemption | none |

use super::{Supplies, demand, fifo, fixed_priority, global};
use crate::Sporadic;
use crate::fixed_point::{Diverged, GaveUp};
use crate::uniprocessor::edf::Demand;
use layland_model::{Duration, InnerPolicy};

/// A task of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupTask {
    /// `C`, `D`, `T`.
    pub task: Sporadic,
    /// Its priority, where a smaller number is more important. Only inner policies with priorities use
    /// it.
    pub priority: i64,
}

/// The reason why a group is not known to be in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// This task, by position, has no bound within its deadline.
    Task(usize, Diverged),
    /// The demand in a window exceeds the least supply.
    Demand {
        /// The length of the window.
        interval: Duration,
        /// The demand.
        demand: Duration,
    },
    /// The test for several servers does not accept this task for a window of this length.
    Window(usize, Duration),
    /// The tasks need more than the bandwidth.
    Overload,
    /// A search was too long.
    GaveUp(GaveUp),
    /// No test is known for this inner policy and several servers.
    NoTest,
    /// The tests for several servers need deadlines within the periods: this task has a longer one.
    LongDeadline(usize),
}

/// A group for the tests: the inner policy and the tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerTest {
    inner: InnerPolicy,
    /// The tasks as given.
    tasks: Vec<GroupTask>,
    /// Positions in `tasks`, highest priority first; ties by position.
    order: Vec<usize>,
    /// True if [`global::long_window`] is not asked.
    is_by_interference: bool,
}

impl InnerTest {
    /// The tests for these tasks.
    pub fn new(inner: InnerPolicy, tasks: Vec<GroupTask>) -> InnerTest {
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        if inner.uses_priorities() {
            order.sort_by_key(|&at| tasks[at].priority);
        }
        InnerTest { inner, tasks, order, is_by_interference: false }
    }

    /// The same test, which asks [`global::interference`] alone about EDF on several servers.
    #[must_use]
    pub fn by_interference_alone(self) -> InnerTest {
        InnerTest { is_by_interference: true, ..self }
    }

    /// The inner policy.
    pub fn inner(&self) -> InnerPolicy {
        self.inner
    }

    /// The tasks as given.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = &Sporadic> + Clone {
        self.tasks.iter().map(|one| &one.task)
    }

    /// Positions of the tasks, highest priority first.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The tasks that may delay a job of the task with this place in the order, and those that it may
    /// delay. Equal priorities count as higher.
    pub fn around(&self, place: usize) -> (Vec<Sporadic>, Vec<Sporadic>) {
        let own = self.tasks[self.order[place]].priority;
        let others = self.order.iter().enumerate().filter(|&(other, _)| other != place);
        let (above, below): (Vec<usize>, Vec<usize>) =
            others.map(|(_, &at)| at).partition(|&at| self.tasks[at].priority <= own);
        let of = |all: Vec<usize>| all.into_iter().map(|at| self.tasks[at].task).collect();
        (of(above), of(below))
    }

    /// Tests whether every task is in time on these supplies.
    ///
    /// # Errors
    /// Returns the reason if this is not known.
    pub fn decide(&self, supplies: &Supplies) -> Result<(), Shortfall> {
        match (self.inner, supplies.each()) {
            (InnerPolicy::Edf | InnerPolicy::NonpreemptiveEdf, [supply]) => {
                let tasks: Vec<Sporadic> = self.tasks().copied().collect();
                let found = if self.inner.is_preemptive() {
                    demand::preemptive(supply, &tasks)
                } else {
                    demand::nonpreemptive(supply, &tasks)
                };
                match found {
                    Ok(Demand::Met) => Ok(()),
                    Ok(Demand::Overload) => Err(Shortfall::Overload),
                    Ok(Demand::Exceeds { interval, demand }) => {
                        Err(Shortfall::Demand { interval, demand })
                    }
                    Err(why) => Err(Shortfall::GaveUp(why)),
                }
            }
            (InnerPolicy::Edf, _) => {
                let tasks = self.constrained()?;
                let short = global::interference(supplies, &tasks);
                match short {
                    global::Accepted::All => return Ok(()),
                    global::Accepted::AllBut(task, length) if self.is_by_interference => {
                        return Err(Shortfall::Window(task, length));
                    }
                    global::Accepted::AllBut(..) | global::Accepted::Overload => {}
                }
                match global::long_window(supplies, &tasks) {
                    Ok(global::Accepted::All) => Ok(()),
                    Ok(global::Accepted::Overload) => Err(Shortfall::Overload),
                    Ok(global::Accepted::AllBut(task, length)) => {
                        Err(Shortfall::Window(task, length))
                    }
                    Err(why) => Err(Shortfall::GaveUp(why)),
                }
            }
            (
                InnerPolicy::Fp
                | InnerPolicy::Fifo
                | InnerPolicy::RoundRobin(_)
                | InnerPolicy::NonpreemptiveFp
                | InnerPolicy::NonpreemptiveEdf,
                _,
            ) => {
                for (task, response) in self.responses(supplies, true)?.into_iter().enumerate() {
                    match response {
                        Some(Ok(_)) => {}
                        Some(Err(Diverged::Overload)) => return Err(Shortfall::Overload),
                        Some(Err(Diverged::GaveUp(why))) => return Err(Shortfall::GaveUp(why)),
                        Some(Err(why @ Diverged::Beyond { .. })) => {
                            return Err(Shortfall::Task(task, why));
                        }
                        // A task below one without a bound; that one decides.
                        None => {}
                    }
                }
                Ok(())
            }
        }
    }

    /// The response time of each task on these supplies, by position; `None` where the policy has no
    /// response times, or a task of higher priority has none. With `until_late`, a search ends at the
    /// deadline of its task, and after the first task that is late.
    ///
    /// # Errors
    /// Returns the reason if there is no test for these supplies.
    pub fn responses(
        &self,
        supplies: &Supplies,
        until_late: bool,
    ) -> Result<Vec<Option<Result<Duration, Diverged>>>, Shortfall> {
        let mut found = vec![None; self.tasks.len()];
        let limit = |task: &Sporadic| {
            if until_late { task.deadline } else { Duration::from_ns(layland_model::TIME_LIMIT) }
        };
        match (self.inner, supplies.each()) {
            (InnerPolicy::Edf | InnerPolicy::NonpreemptiveEdf, [_]) | (InnerPolicy::Edf, _) => {}
            (InnerPolicy::Fifo, [supply]) => {
                let tasks: Vec<Sporadic> = self.tasks().copied().collect();
                let limit = tasks.iter().map(limit).min().unwrap_or_default();
                found.fill(Some(fifo::response_time(supply, &tasks, limit)));
            }
            (
                InnerPolicy::Fp | InnerPolicy::RoundRobin(_) | InnerPolicy::NonpreemptiveFp,
                [supply],
            ) => {
                for (place, &at) in self.order.iter().enumerate() {
                    let (above, below) = self.around(place);
                    let (task, limit) = (&self.tasks[at].task, limit(&self.tasks[at].task));
                    let response = if self.inner.is_preemptive() {
                        fixed_priority::response_time(supply, task, &above, limit)
                    } else {
                        let of = fixed_priority::nonpreemptive_response_time;
                        of(supply, task, &above, &below, limit)
                    };
                    found[at] = Some(response);
                    if until_late && response.is_err() {
                        break;
                    }
                }
            }
            (InnerPolicy::Fp | InnerPolicy::RoundRobin(_) | InnerPolicy::Fifo, _) => {
                self.constrained()?;
                // Without priorities, all tasks are of one level.
                let level = |at: usize| {
                    if self.inner.uses_priorities() { self.tasks[at].priority } else { 0 }
                };
                let tasks: Vec<(Sporadic, i64)> =
                    self.order.iter().map(|&at| (self.tasks[at].task, level(at))).collect();
                for (&at, response) in self.order.iter().zip(global::in_levels(supplies, &tasks)) {
                    found[at] = Some(response);
                }
            }
            (InnerPolicy::NonpreemptiveFp | InnerPolicy::NonpreemptiveEdf, _) => {
                return Err(Shortfall::NoTest);
            }
        }
        Ok(found)
    }

    /// The tasks, if no deadline is longer than the period.
    fn constrained(&self) -> Result<Vec<Sporadic>, Shortfall> {
        match self.tasks().position(|task| task.deadline > task.period) {
            None => Ok(self.tasks().copied().collect()),
            Some(task) => Err(Shortfall::LongDeadline(task)),
        }
    }
}
