//! The design of a group: the least budget for a period, and the least bandwidth over many periods.
//!
//! Every `sbf` and every `Y_j` grows with `Q` for a fixed period, deadline and number of servers, so
//! every test that accepts `Q` accepts more, and bisection over whole nanoseconds is exact:
//! [`Design::least_budget`]. The least bandwidth is **not** monotone in the period, and the whole
//! bandwidth is not in the number of CPUs: for the task (2, 16, 10) the periods 3, 4 and 6 need 1/3,
//! 1/2 and 1/3. So [`Design::least_bandwidth`] tests each period, most of them once: with the largest
//! budget that would be better than the best so far.
//!
//! A budget is the least one *of its test*. Where the test is only sufficient, a smaller budget may
//! work as well.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::{InnerTest, Shortfall, Supplies, Supply, demand, fixed_priority, overloads};
use crate::Sporadic;
use crate::fixed_point::Diverged;
use crate::proof::MOST;
use crate::uniprocessor::edf::Demand;
use layland_model::{Duration, GroupServer, InnerPolicy, Rate, ServerRule, Service};

/// The question for the least budget of a group.
#[derive(Clone, Debug)]
pub struct Design {
    /// The tasks and their inner policy.
    pub test: InnerTest,
    /// The rule of the servers.
    pub rule: ServerRule,
    /// `m`: the group has equal servers on this number of CPUs, at least 1.
    pub servers: usize,
    /// The time in each period that the switches to and from a server take. Only
    /// [`least_bandwidth`](Self::least_bandwidth) counts it.
    pub cost: Duration,
}

/// A period and the least budget in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Designed {
    /// `P`.
    pub period: Duration,
    /// `Q`, per CPU.
    pub budget: Service,
    /// `(Q + cost) / P`, per CPU.
    pub bandwidth: Rate,
}

impl Design {
    /// Returns true if the tests accept this budget.
    ///
    /// # Errors
    /// Returns the reason if no budget can be judged: no test is known, or a search gave up.
    pub fn accepts(
        &self,
        budget: Service,
        period: Duration,
        deadline: Duration,
    ) -> Result<bool, Shortfall> {
        match self.test.decide(&self.supplies(budget, period, deadline)) {
            Ok(()) => Ok(true),
            Err(Shortfall::Task(_, Diverged::GaveUp(why))) => Err(Shortfall::GaveUp(why)),
            Err(why @ (Shortfall::GaveUp(_) | Shortfall::NoTest | Shortfall::LongDeadline(_))) => {
                Err(why)
            }
            Err(
                Shortfall::Task(..)
                | Shortfall::Demand { .. }
                | Shortfall::Window(..)
                | Shortfall::Overload,
            ) => Ok(false),
        }
    }

    /// The supplies of equal servers with this budget.
    pub fn supplies(&self, budget: Service, period: Duration, deadline: Duration) -> Supplies {
        let server = GroupServer { budget, period, deadline, rule: self.rule };
        Supplies::new(vec![Supply::of(&server); self.servers])
    }

    /// The least budget per CPU that the tests accept for this period and deadline, in whole
    /// nanoseconds, by bisection; `None` if they do not even accept a budget as long as the deadline.
    ///
    /// ```
    /// use layland_analysis::Sporadic;
    /// use layland_analysis::groups::{GroupTask, InnerTest, design::Design};
    /// use layland_model::{Duration, InnerPolicy, ServerRule, Service};
    /// let (ms, work) = (Duration::from_ms, Service::from_ms);
    /// let task = |(priority, c, t)| GroupTask { task: Sporadic::implicit(work(c), ms(t)), priority };
    /// let design = |inner| Design {
    ///     test: InnerTest::new(inner, [(0, 1, 10), (1, 3, 20)].map(task).to_vec()),
    ///     rule: ServerRule::Cbs,
    ///     servers: 1,
    ///     cost: Duration::ZERO,
    /// };
    /// for inner in [InnerPolicy::Fp, InnerPolicy::Edf] {
    ///     let least = design(inner).least_budget(ms(5), ms(5));
    ///     assert_eq!(least, Ok(Some(Service::from_ns(1_666_667))));
    /// }
    /// ```
    ///
    /// # Errors
    /// See [`accepts`](Self::accepts).
    pub fn least_budget(
        &self,
        period: Duration,
        deadline: Duration,
    ) -> Result<Option<Service>, Shortfall> {
        self.least_up_to(deadline.at_unit_speed(), period, deadline)
    }

    /// [`least_budget`](Self::least_budget), if it is at most this one.
    fn least_up_to(
        &self,
        most: Service,
        period: Duration,
        deadline: Duration,
    ) -> Result<Option<Service>, Shortfall> {
        let accepts = |Q: i64| self.accepts(Service::from_ns(Q), period, deadline);
        let mut enough = most.ns();
        if enough < 1 || !accepts(enough)? {
            return Ok(None);
        }
        // No less than the utilization: U P / m, rounded up. Below it, every test refuses.
        let mut least = self.utilization_budget(period).min(enough);
        while least < enough {
            let middle = least + (enough - least) / 2;
            if accepts(middle)? { enough = middle } else { least = middle + 1 }
        }
        Ok(Some(Service::from_ns(enough)))
    }

    /// `max(1, ceil(U P / m))`, or less where it does not fit.
    fn utilization_budget(&self, period: Duration) -> i64 {
        let rate = |task: &Sporadic| Rate::new(task.wcet.ns(), task.period.ns());
        let U: Rate = self.test.tasks().map(rate).sum();
        let on_each = &(&U * &Rate::whole(period.ns())) * &Rate::new(1, self.servers as i64);
        on_each.ceil().unwrap_or(1).max(1)
    }

    /// The least budget for the only task of the group by [`lone_response_time`](super::lone_response_time):
    /// with the most periods per job that fit its period and its deadline, the least budget that is used
    /// up in so many.
    ///
    /// ```
    /// use layland_analysis::Sporadic;
    /// use layland_analysis::groups::{GroupTask, InnerTest, design::Design};
    /// use layland_model::{Duration, InnerPolicy, ServerRule, Service};
    /// let (ms, work) = (Duration::from_ms, Service::from_ms);
    /// let task = GroupTask { task: Sporadic::implicit(work(3), ms(10)), priority: 0 };
    /// let design = Design {
    ///     test: InnerTest::new(InnerPolicy::Edf, vec![task]),
    ///     rule: ServerRule::Cbs,
    ///     servers: 1,
    ///     cost: Duration::ZERO,
    /// };
    /// assert_eq!(design.least_alone(ms(10), ms(10)), Some(work(3)));
    /// // The supply assumes that other work may have used the budget just before.
    /// assert!(design.least_budget(ms(10), ms(10)).unwrap() > Some(work(3)));
    /// ```
    pub fn least_alone(&self, period: Duration, deadline: Duration) -> Option<Service> {
        let mut tasks = self.test.tasks();
        let (Some(task), 1, 1) = (tasks.next(), self.test.tasks().len(), self.servers) else {
            return None;
        };
        let [C, D, T] = task.ns();
        let (P, until) = (period.ns(), D - deadline.ns());
        let most = (T / P).min(if until < 0 { 0 } else { until / P + 1 });
        let budget = (most > 0).then(|| num_integer::Integer::div_ceil(&C, &most))?;
        let is_enough = self.rule == ServerRule::Cbs && budget <= deadline.ns();
        is_enough.then(|| Service::from_ns(budget))
    }

    /// The least budget by the supply or, for a single task, by
    /// [`lone_response_time`](super::lone_response_time).
    ///
    /// # Errors
    /// See [`accepts`](Self::accepts).
    pub fn least(
        &self,
        period: Duration,
        deadline: Duration,
    ) -> Result<Option<Service>, Shortfall> {
        let by_supply = self.least_budget(period, deadline)?;
        Ok(by_supply.into_iter().chain(self.least_alone(period, deadline)).min())
    }

    /// The period and budget with the least `(Q + cost) / P` over these periods, each with its deadline
    /// at its end; among equal ones the longest period. Exact on these periods.
    ///
    /// # Errors
    /// See [`accepts`](Self::accepts).
    pub fn least_bandwidth(
        &self,
        periods: impl IntoIterator<Item = Duration>,
    ) -> Result<Option<Designed>, Shortfall> {
        let mut periods: Vec<Duration> = periods.into_iter().collect();
        // From long to short, so that of equal bandwidths the longest period is found first.
        periods.sort_unstable_by(|a, b| b.cmp(a));
        periods.dedup();
        let mut best: Option<Designed> = None;
        for period in periods {
            let (P, cost) = (period.ns(), self.cost.ns());
            let better = best.as_ref().map(|best| {
                let same = &best.bandwidth * &Rate::whole(P);
                same.ceil().unwrap_or(i64::MAX) - 1 - cost
            });
            let most = Service::from_ns((P - cost).min(better.unwrap_or(i64::MAX)));
            if let Some(budget) = self.least_up_to(most, period, period)? {
                let bandwidth = Rate::new(budget.ns() + cost, P);
                best = Some(Designed { period, budget, bandwidth });
            }
        }
        Ok(best)
    }

    /// The proof that a budget is the least one on one server, for inner policies that have one:
    /// preemptive fixed priorities with deadlines within the periods, and preemptive EDF.
    ///
    /// # Errors
    /// Returns the reason if there is no proof.
    pub fn certificate(
        &self,
        budget: Service,
        period: Duration,
        deadline: Duration,
    ) -> Result<LeastBudget, &'static str> {
        if self.servers != 1 {
            return Err("the tests for several servers have no short proof");
        }
        let supply = |Q: i64| {
            let budget = Service::from_ns(Q);
            Supply::of(&GroupServer { budget, period, deadline, rule: self.rule })
        };
        let yes = self.enough(budget, period, deadline)?;
        let no = match budget.ns() - 1 {
            0 => None,
            less => Some(self.refuted(&supply(less))?),
        };
        Ok(LeastBudget { yes, no })
    }

    /// The proof by the supply, or the one for a single task.
    fn enough(
        &self,
        budget: Service,
        period: Duration,
        deadline: Duration,
    ) -> Result<InTimeProof, &'static str> {
        let server = GroupServer { budget, period, deadline, rule: self.rule };
        let by_supply = self.shown(&Supply::of(&server));
        match (&by_supply, self.test.tasks().next(), self.test.tasks().len()) {
            (Err(_), Some(task), 1) => {
                let alone = super::lone_response_time(&server, task);
                let Some(_) = alone.filter(|&response| response <= task.deadline) else {
                    return by_supply;
                };
                let periods = num_integer::Integer::div_ceil(&task.wcet.ns(), &budget.ns());
                Ok(InTimeProof::Alone(periods))
            }
            _ => by_supply,
        }
    }

    fn shown(&self, supply: &Supply) -> Result<InTimeProof, &'static str> {
        match self.test.inner() {
            InnerPolicy::Fp => {
                let mut lengths = Vec::new();
                for (place, &at) in self.test.order().iter().enumerate() {
                    let (above, _) = self.test.around(place);
                    let task = self.task(at);
                    if task.deadline > task.period {
                        return Err("a deadline is longer than its period");
                    }
                    let found = fixed_priority::response_time(supply, task, &above, task.deadline);
                    lengths.push((at, found.map_err(|_| NOT_IN_TIME)?));
                }
                Ok(InTimeProof::Responses(lengths))
            }
            InnerPolicy::Edf => {
                let tasks: Vec<Sporadic> = self.test.tasks().copied().collect();
                let mut chain = Vec::new();
                let each = |length: i64, _| {
                    if chain.len() <= MOST {
                        chain.push(Duration::from_ns(length));
                    }
                };
                match demand::visited(supply, &tasks, true, each) {
                    Ok(Demand::Met) if chain.len() <= MOST => Ok(InTimeProof::Lengths(chain)),
                    Ok(Demand::Met) => Err(crate::proof::TOO_LONG),
                    Ok(_) | Err(_) => Err(NOT_IN_TIME),
                }
            }
            InnerPolicy::Fifo
            | InnerPolicy::RoundRobin(_)
            | InnerPolicy::NonpreemptiveFp
            | InnerPolicy::NonpreemptiveEdf => Err("this inner policy has no proof"),
        }
    }

    fn refuted(&self, supply: &Supply) -> Result<Refuted, &'static str> {
        if overloads(self.test.tasks(), &supply.bandwidth()) {
            return Ok(Refuted::Bandwidth);
        }
        if self.test.inner() == InnerPolicy::Edf {
            let tasks: Vec<Sporadic> = self.test.tasks().copied().collect();
            return match demand::preemptive(supply, &tasks) {
                Ok(Demand::Exceeds { interval, .. }) => Ok(Refuted::Length(interval)),
                Ok(Demand::Overload) => Ok(Refuted::Bandwidth),
                Ok(Demand::Met) => Err("a smaller budget is enough"),
                Err(_) => Err("the search gave up"),
            };
        }
        for (place, &at) in self.test.order().iter().enumerate() {
            let (above, _) = self.test.around(place);
            let task = self.task(at);
            let chain = fixed_priority::iterates(supply, task, &above, task.deadline, MOST)
                .ok_or(crate::proof::TOO_LONG)?;
            if chain.last().is_some_and(|&last| last > task.deadline) {
                return Ok(Refuted::Task(at, chain));
            }
        }
        Err("a smaller budget is enough")
    }

    fn task(&self, at: usize) -> &Sporadic {
        self.test.tasks().nth(at).expect("a position of a task")
    }
}

const NOT_IN_TIME: &str = "the group is not in time with this budget";

/// The proof that a budget is enough, and that 1 ns less is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeastBudget {
    /// The proof for the budget.
    pub yes: InTimeProof,
    /// The proof against 1 ns less; `None` if nothing is left.
    pub no: Option<Refuted>,
}

/// The proof that a group is in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InTimeProof {
    /// Fixed priorities: for each task, by position, a length `t <= D_i` with
    /// `t >= tbf(C_i + sum_hp ceil(t / T_j) C_j)`.
    Responses(Vec<(usize, Duration)>),
    /// EDF: descending lengths. At each one the demand is at most the supply, and between two, the
    /// demand of the longer one is at most the supply of all lengths in between. Empty if no deadline
    /// lies below the longest length.
    Lengths(Vec<Duration>),
    /// A single task on a constant-bandwidth server: `ceil(C / Q)` periods for each job, as in
    /// [`lone_response_time`](super::lone_response_time).
    Alone(i64),
}

/// The proof that a group is not in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refuted {
    /// Fixed priorities: for this task, by position, lengths of which each is at most
    /// `tbf(C_i + sum_hp ceil(t / T_j) C_j)` for the one before it; the first is at most `tbf(C_i)`, and
    /// the last is above `D_i`.
    Task(usize, Vec<Duration>),
    /// EDF: a length with more demand than supply.
    Length(Duration),
    /// The tasks need more than the bandwidth.
    Bandwidth,
}
