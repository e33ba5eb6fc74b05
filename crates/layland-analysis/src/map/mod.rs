//! Mapping: an assignment of tasks to CPUs that passes an exact test on each CPU, is best by an objective, and
//! keeps constraints; or the proof that there is none.
//!
//! | what | rule |
//! |---|---|
//! | test | EDF by processor demand (QPA); fixed priorities by response times, in the order of periods, of deadlines or of the tasks, ties by position |
//! | constraints | tasks apart, tasks together, tasks on a CPU, memory of tasks within the room of their CPU |
//! | objectives | [`Objective`] |
//!
//! A branch and bound search ([`solve`]) over tasks by decreasing `min over c of t_ic / min(D_i, T_i)`, those that stay
//! together as one. It leaves out assignments that equal others by renaming: of empty CPUs that are alike, it
//! tries the first; of equal tasks, a later one is on no earlier CPU. A CPU that fails fails with more tasks,
//! too, since a sporadic task may simply not come: so it cuts there. It begins with the best of simple heuristics,
//! so that it is never worse.
//!
//! Assumes: (1) independent sporadic tasks without jitter, (2) WCETs are kept, (3) no overheads, (4) a task takes
//! the time `t_ic` on CPU `c`. The same problem and limit give the same answer.

mod bounds;
mod search;
#[cfg(test)]
mod tests;

pub use search::solve;

use crate::Sporadic;
use crate::uniprocessor::edf::{Demand, criterion};
use crate::uniprocessor::fixed_priority::response_time;
use layland_model::{Duration, Order, Rate, Service, Task};

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The time of a job on each CPU, in nanoseconds; none where the task may not run.
    pub times: Vec<Option<i64>>,
    /// The relative deadline, in nanoseconds.
    pub deadline: i64,
    /// The period, in nanoseconds.
    pub period: i64,
    /// The memory that it needs on its CPU.
    pub memory: u64,
}

/// A CPU as a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The memory of its tasks may sum to at most this; none for no limit.
    pub room: Option<u64>,
    /// The cost if a task uses it.
    pub cost: u64,
}

/// Tasks and CPUs, with constraints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The tasks.
    pub items: Vec<Item>,
    /// The CPUs.
    pub cpus: Vec<Bin>,
    /// The order of jobs on each CPU.
    pub order: Order,
    /// Tasks that may not share a CPU.
    pub apart: Vec<(usize, usize)>,
    /// Tasks that have to share one.
    pub together: Vec<Vec<usize>>,
    /// Tasks with a CPU.
    pub fixed: Vec<(usize, usize)>,
}

/// An aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Any assignment.
    Feasible,
    /// The least cost of the CPUs that are used.
    Cpus,
    /// The least utilization of the fullest CPU.
    Balance,
    /// The largest factor by which all times could grow, in thousandths, each rounded up.
    Margin,
}

/// A value of an objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Any assignment is as good.
    Any,
    /// The cost.
    Cost(u64),
    /// The utilization of the fullest CPU.
    Fullest(Rate),
    /// The factor, in thousandths.
    Thousandths(i64),
}

impl Value {
    /// Returns true if this value of an objective is better than another one.
    pub fn is_better_than(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Cost(own), Value::Cost(other)) => own < other,
            (Value::Fullest(own), Value::Fullest(other)) => own < other,
            (Value::Thousandths(own), Value::Thousandths(other)) => own > other,
            (Value::Any | Value::Cost(_) | Value::Fullest(_) | Value::Thousandths(_), _) => false,
        }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The best assignment that was found, by CPU, with its value.
    pub found: Option<(Vec<usize>, Value)>,
    /// True if the search ended: no assignment is better, or none is possible.
    pub is_proven: bool,
    /// The assignments of parts that the search examined.
    pub nodes: u64,
    /// A short reason, where no assignment is possible.
    pub reason: Option<Impossible>,
}

/// A reason that shows without a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// These tasks, which stay together, fit no CPU even alone.
    NoCpu(Vec<usize>),
    /// These tasks are apart and together.
    ApartAndTogether(usize, usize),
    /// The least utilizations of all tasks sum to more than the number of CPUs.
    TooMuch(Rate),
}

/// No factor beyond this is examined.
pub(crate) const LARGEST_FACTOR: i64 = 10_000_000;

impl Problem {
    /// Returns the time of a task on a CPU, grown by this many thousandths.
    fn time(&self, item: usize, cpu: usize, thousandths: i64) -> Option<i64> {
        let grown = i128::from(self.items[item].times[cpu]?) * i128::from(thousandths);
        i64::try_from((grown + 999) / 1000).ok()
    }

    /// Returns true if these tasks, in ascending order, pass the test of a CPU with their times grown by this
    /// many thousandths, and have room. None if the test gave up.
    fn accepts(&self, cpu: usize, items: &[usize], thousandths: i64) -> Option<bool> {
        let memory: u64 = items.iter().map(|&item| self.items[item].memory).sum();
        if self.cpus[cpu].room.is_some_and(|room| memory > room) {
            return Some(false);
        }
        let sporadic = |&item: &usize| {
            let Item { deadline, period, .. } = self.items[item];
            Some(Sporadic {
                wcet: Service::from_ns(self.time(item, cpu, thousandths)?),
                deadline: Duration::from_ns(deadline),
                period: Duration::from_ns(period),
            })
        };
        let Some(mut tasks) = items.iter().map(sporadic).collect::<Option<Vec<Sporadic>>>() else {
            return Some(false);
        };
        match self.order {
            Order::Deadline => match criterion(&tasks) {
                Ok(Demand::Met) => Some(true),
                Ok(Demand::Overload | Demand::Exceeds { .. }) => Some(false),
                Err(_) => None,
            },
            Order::RateMonotonic => {
                tasks.sort_by_key(|task| task.period);
                Some(respond_in_time(&tasks))
            }
            Order::DeadlineMonotonic => {
                tasks.sort_by_key(|task| task.deadline);
                Some(respond_in_time(&tasks))
            }
            Order::Given => Some(respond_in_time(&tasks)),
        }
    }

    /// Returns true if an assignment keeps every constraint and passes the test on every CPU.
    pub fn is_mapping(&self, cpu_of: &[usize]) -> bool {
        let is_kept = cpu_of.len() == self.items.len()
            && cpu_of.iter().all(|&cpu| cpu < self.cpus.len())
            && self.apart.iter().all(|&(a, b)| a == b || cpu_of[a] != cpu_of[b])
            && self.together.iter().all(|all| all.windows(2).all(|w| cpu_of[w[0]] == cpu_of[w[1]]))
            && self.fixed.iter().all(|&(item, cpu)| cpu_of[item] == cpu);
        is_kept && self.accepts_all(cpu_of, 1000) == Some(true)
    }

    fn accepts_all(&self, cpu_of: &[usize], thousandths: i64) -> Option<bool> {
        let mut all = true;
        for cpu in 0..self.cpus.len() {
            let own: Vec<usize> = (0..cpu_of.len()).filter(|&item| cpu_of[item] == cpu).collect();
            all &= self.accepts(cpu, &own, thousandths)?;
        }
        Some(all)
    }

    /// Returns the value of an assignment.
    pub fn value(&self, objective: Objective, cpu_of: &[usize]) -> Value {
        let is_used = |cpu: &usize| cpu_of.contains(cpu);
        match objective {
            Objective::Feasible => Value::Any,
            Objective::Cpus => {
                let used = (0..self.cpus.len()).filter(is_used);
                Value::Cost(used.map(|cpu| self.cpus[cpu].cost).sum())
            }
            Objective::Balance => {
                let of = |cpu: usize| -> Rate {
                    let own = cpu_of.iter().enumerate().filter(|&(_, &own)| own == cpu);
                    own.filter_map(|(item, _)| self.utilization(item, cpu)).sum()
                };
                Value::Fullest((0..self.cpus.len()).map(of).max().unwrap_or(Rate::ZERO))
            }
            Objective::Margin => {
                // All tests are monotone in the times.
                let (mut yes, mut no) = (1000, LARGEST_FACTOR);
                while no - yes > 1 {
                    let middle = yes + (no - yes) / 2;
                    let accepts = self.accepts_all(cpu_of, middle) == Some(true);
                    if accepts { yes = middle } else { no = middle }
                }
                Value::Thousandths(yes)
            }
        }
    }

    /// `t_ic / T_i`.
    fn utilization(&self, item: usize, cpu: usize) -> Option<Rate> {
        let Item { times, period, .. } = &self.items[item];
        times[cpu].map(|time| Rate::new(time, *period))
    }
}

/// Fixed priorities, the highest first, on one CPU.
fn respond_in_time(tasks: &[Sporadic]) -> bool {
    if tasks.iter().any(|task| task.deadline > task.period) {
        let task = |task: &Sporadic| Task {
            deadline: task.deadline,
            ..Task::implicit("", task.wcet, task.period)
        };
        let tasks: Vec<Task> = tasks.iter().map(task).collect();
        let all: Vec<&Task> = tasks.iter().collect();
        return (0..all.len())
            .all(|at| response_time(all[at], &all[..at], all[at].deadline).is_ok());
    }
    (0..tasks.len()).all(|at| {
        let [wcet, deadline, _] = tasks[at].ns();
        let mut response = wcet;
        loop {
            if response > deadline {
                return false;
            }
            let delay = |task: &Sporadic| {
                let [wcet, _, period] = task.ns();
                ((response + period - 1) / period).saturating_mul(wcet)
            };
            let following = tasks[..at].iter().map(delay).fold(wcet, i64::saturating_add);
            if following == response {
                return true;
            }
            response = following;
        }
    })
}
