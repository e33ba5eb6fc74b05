//! `layland check --design`: the least budget of a group of a set, over periods and numbers of CPUs.
//!
//! The tests decide about the group alone; the set is checked with the budget that was found.

use crate::Unanswered;
use crate::values::length_of;
use layland_analysis::groups::design::{Design, Designed, InTimeProof, LeastBudget, Refuted};
use layland_analysis::groups::{GroupTask, InnerTest, Shortfall};
use layland_model::{
    Duration, GroupId, Index, Rate, RateSum, ServerRule, Service, System, Task, TaskId,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::RangeInclusive;

/// The question of `layland check --design`: which is the least budget with which a group is in time?
///
/// ```
/// let question: layland_answers::DesignQuestion =
///     "group=control,periods=1ms..10ms/1ms,cpus=1..2".parse()?;
/// assert_eq!((question.group.as_str(), question.periods.len()), ("control", 10));
/// let twice = "group=control,group=vision".parse::<layland_answers::DesignQuestion>();
/// let many = "group=control,cpus=1..100000000".parse::<layland_answers::DesignQuestion>();
/// assert!(twice.is_err() && many.is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesignQuestion {
    /// The name of the group.
    pub group: String,
    /// The periods to compare; that of the group if there are none.
    pub periods: Vec<Duration>,
    /// The numbers of CPUs to compare; that of the group if `None`.
    pub cpus: Option<RangeInclusive<usize>>,
}

const USAGE: &str = "write group=NAME, and if wanted periods=1ms+2ms+5ms or periods=1ms..10ms/1ms, and cpus=1..4, \
                     as in group=control,periods=1ms..10ms/1ms";

/// More periods than this are not compared.
const MOST_PERIODS: i64 = 100_000;
/// More CPUs than this are not compared: the tests take longer with each.
const MOST_CPUS: usize = 256;
/// With more periods than this, the table has the best one alone.
const FEW_PERIODS: usize = 16;

impl std::str::FromStr for DesignQuestion {
    type Err = String;

    fn from_str(text: &str) -> Result<DesignQuestion, String> {
        let mut found = DesignQuestion { group: String::new(), periods: Vec::new(), cpus: None };
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("group", name)) if found.group.is_empty() => {
                    found.group = name.trim().to_owned();
                }
                Some(("periods", periods)) => found.periods = periods_of(periods)?,
                Some(("cpus", cpus)) => found.cpus = Some(cpus_of(cpus)?),
                Some(_) | None => return Err(USAGE.to_owned()),
            }
        }
        if found.group.is_empty() { Err(USAGE.to_owned()) } else { Ok(found) }
    }
}

fn periods_of(text: &str) -> Result<Vec<Duration>, String> {
    let Some((from, rest)) = text.split_once("..") else {
        return text.split('+').map(length_of).collect();
    };
    let (to, step) = rest.split_once('/').ok_or("a range of periods has a step: 1ms..10ms/1ms")?;
    let [from, to, step] = [from, to, step].map(length_of);
    let (from, to, step) = (from?, to?, step?);
    if from > to {
        return Err(format!("there is no period from {from} to {to}"));
    }
    let count = (to - from).ns() / step.ns() + 1;
    if count > MOST_PERIODS {
        return Err(format!("{count} periods are more than {MOST_PERIODS}: use a longer step"));
    }
    Ok((0..count).map(|at| Duration::from_ns(from.ns() + at * step.ns())).collect())
}

fn cpus_of(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| USAGE.to_owned());
    let (from, to) = (number(from)?, number(to)?);
    if to > MOST_CPUS {
        return Err(format!("{to} CPUs are more than {MOST_CPUS}, the most that are compared"));
    }
    if from < 1 || from > to { Err(USAGE.to_owned()) } else { Ok(from..=to) }
}

/// The budgets that were found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DesignDocument<'a> {
    /// The version of the program.
    layland: &'static str,
    /// The version of this document.
    design: u32,
    /// The name of the set.
    set: &'a str,
    /// The name of the group.
    pub group: &'a str,
    /// The order of jobs within the group.
    inner: &'static str,
    /// The rule for the budget.
    server: &'static str,
    /// The time per period that switches to and from the server take, in nanoseconds.
    cost_ns: i64,
    /// The least bandwidth that was found; null if no budget is enough.
    pub choice: Option<BudgetRow>,
    /// The budgets that were found, by number of CPUs and period.
    pub table: Vec<BudgetRow>,
    /// The proof that the choice is enough, and that 1 ns less is not enough for the tests.
    proof: Option<DesignProof<'a>>,
    /// The reason why there is no proof.
    pub without: Option<String>,
}

/// The least budget for a number of CPUs and a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BudgetRow {
    /// The number of CPUs, each with a server.
    pub cpus: usize,
    /// The period in nanoseconds.
    pub period_ns: i64,
    /// The deadline of the budget in nanoseconds.
    pub deadline_ns: i64,
    /// The least budget per CPU in nanoseconds; null if none is enough.
    pub budget_ns: Option<i64>,
    /// The bandwidth of all servers, with the cost of switches.
    pub bandwidth: Option<String>,
    /// The obstacle, where no budget can be judged.
    pub why: Option<String>,
}

/// The proof about the choice.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct DesignProof<'a> {
    /// The proof that the budget is enough.
    yes: Enough<'a>,
    /// The proof against a budget of 1 ns less; null if that is 0.
    no: Option<TooLittle<'a>>,
}

/// The proof that a budget is enough: one of its members.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
struct Enough<'a> {
    /// Fixed priorities: a response time for each task, highest priority first.
    #[serde(skip_serializing_if = "Option::is_none")]
    responses: Option<Vec<Response<'a>>>,
    /// EDF: the lengths of windows, descending.
    #[serde(skip_serializing_if = "Option::is_none")]
    lengths_ns: Option<Vec<i64>>,
    /// A single task: the number of periods of the server for each job.
    #[serde(skip_serializing_if = "Option::is_none")]
    periods: Option<i64>,
}

/// A response time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Response<'a> {
    /// The name of the task.
    task: &'a str,
    /// The response time.
    length_ns: i64,
}

/// The proof that a budget is too little for the tests: one of its members.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
struct TooLittle<'a> {
    /// Fixed priorities: a task that is late.
    #[serde(skip_serializing_if = "Option::is_none")]
    late: Option<Late<'a>>,
    /// EDF: the length of a window with more demand than supply.
    #[serde(skip_serializing_if = "Option::is_none")]
    length_ns: Option<i64>,
    /// True if the utilization exceeds the bandwidth.
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth: Option<bool>,
}

/// A task that is late.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Late<'a> {
    /// The name of the task.
    task: &'a str,
    /// Lengths of which each follows from the one before; the last exceeds the deadline.
    lengths_ns: Vec<i64>,
}

impl DesignQuestion {
    /// Answers the question about a group of this set.
    ///
    /// # Errors
    /// If there is no such group, or it cannot be designed.
    pub fn ask<'a>(
        &self,
        name: &'a str,
        system: &'a System,
    ) -> Result<DesignDocument<'a>, Unanswered> {
        let at =
            system.groups.iter().position(|group| group.name == self.group).ok_or_else(|| {
                let message = format!("there is no group `{}`", self.group);
                let names: Vec<&str> =
                    system.groups.iter().map(|group| group.name.as_str()).collect();
                Unanswered::usage(message).help(if names.is_empty() {
                    "the set has no [[group]]".to_owned()
                } else {
                    format!("the groups are {}", names.join(", "))
                })
            })?;
        if let Some(period) = self.periods.iter().find(|period| **period <= Duration::ZERO) {
            let message = format!("a period of {period} is not longer than zero");
            return Err(Unanswered::usage(message).help("use periods such as 5ms"));
        }
        let group = &system.groups[at];
        let id = GroupId::from_index(at);
        let tasks: Vec<(TaskId, &Task)> =
            system.tasks.iter().filter(|(_, task)| task.group == Some(id)).collect();
        let refused = |message: String, help: &str| Err(Unanswered::input(message).help(help));
        if tasks.is_empty() {
            let message = format!("no task is in the group `{}`", self.group);
            return refused(message, "put tasks into it, with `group`");
        }
        if group.rule != ServerRule::Cbs {
            let message = format!("the group `{}` has a server by priority", self.group);
            let help =
                "its least budget depends on the others: compare budgets with `layland check`";
            return refused(message, help);
        }
        if let Some((id, task)) =
            tasks.iter().find(|(id, _)| system.allowed_cpus(*id) != group.cpus)
        {
            let message = format!(
                "`{}` may use {:#}, and not all CPUs of its group",
                task.name,
                system.allowed_cpus(*id)
            );
            return refused(message, "leave its `affinity` out, or make a group for each CPU");
        }
        if let Some((_, task)) = tasks.iter().find(|(_, task)| !is_plain(task)) {
            let message = format!("`{}` has more than a WCET, a period and a deadline", task.name);
            let help = "release jitter, arrival curves, regions, steps and predecessors have no test in groups";
            return refused(message, help);
        }
        let overheads = &system.platform.overheads;
        let cost = overheads.context_switch + overheads.context_switch + overheads.scheduling;
        let member = |&(_, task): &(TaskId, &Task)| GroupTask {
            task: task.into(),
            priority: task.priority.unwrap_or(0),
        };
        let test = InnerTest::new(group.inner, tasks.iter().map(member).collect());
        let own = self.periods.is_empty();
        let periods = if own { vec![group.period] } else { self.periods.clone() };
        let cpus = self.cpus.clone().unwrap_or_else(|| group.cpus.len()..=group.cpus.len());
        let mut load = RateSum::default();
        tasks.iter().for_each(|(_, task)| task.add_utilization(&mut load));
        let mut table = Vec::new();
        for servers in cpus {
            // Fewer CPUs than the utilization are never enough.
            if !load.fits(&Rate::ZERO, &Rate::whole(servers as i64)) {
                continue;
            }
            let design = Design { test: test.clone(), rule: group.rule, servers, cost };
            if own {
                table.push(design.row(group.period, group.deadline));
            } else if periods.len() <= FEW_PERIODS {
                table.extend(periods.iter().map(|&period| design.row(period, period)));
            } else {
                table.extend(design.best(&periods));
            }
        }
        let choice = choose(&table, cost);
        let proof = choice.as_ref().map(|row| {
            let design = Design { test: test.clone(), rule: group.rule, servers: row.cpus, cost };
            let budget = Service::from_ns(row.budget_ns.unwrap_or(0));
            let [period, deadline] = [row.period_ns, row.deadline_ns].map(Duration::from_ns);
            design.certificate(budget, period, deadline)
        });
        let (proof, without) = match proof {
            Some(Ok(proof)) => (Some(document(&proof, &tasks)), None),
            Some(Err(why)) => (None, Some(why.to_owned())),
            None => (None, Some("no budget is enough".to_owned())),
        };
        Ok(DesignDocument {
            layland: env!("CARGO_PKG_VERSION"),
            design: 1,
            set: name,
            group: &group.name,
            inner: group.inner.name(),
            server: group.rule.name(),
            cost_ns: cost.ns(),
            choice,
            table,
            proof,
            without,
        })
    }
}

impl DesignDocument<'_> {
    /// The document as indented JSON.
    pub fn text(&self) -> String {
        // Serialization cannot fail: all keys are names.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// Returns true if the tests of groups cover the task.
fn is_plain(task: &Task) -> bool {
    task.jitter == Duration::ZERO
        && task.preemption.is_anywhere()
        && task.steps.is_none()
        && task.follows.is_empty()
        && task.cache.is_none()
        && task.blocking_time == Duration::ZERO
        && !matches!(
            task.behaviour,
            layland_model::Behaviour::Curve(_) | layland_model::Behaviour::SelfSuspending { .. }
        )
}

/// The row with the least bandwidth; among equal ones fewer CPUs, then the longer period.
fn choose(table: &[BudgetRow], cost: Duration) -> Option<BudgetRow> {
    let key = |row: &&BudgetRow| {
        let bandwidth = bandwidth(row.budget_ns.unwrap_or(0), row.period_ns, row.cpus, cost);
        (bandwidth, row.cpus, -row.period_ns)
    };
    let fits =
        |row: &&BudgetRow| row.budget_ns.is_some_and(|budget| budget + cost.ns() <= row.period_ns);
    table.iter().filter(fits).min_by(|a, b| key(a).cmp(&key(b))).cloned()
}

fn bandwidth(budget: i64, period: i64, cpus: usize, cost: Duration) -> Rate {
    &Rate::new(budget + cost.ns(), period) * &Rate::whole(cpus as i64)
}

/// Finds budgets, as rows of the table.
trait FindsRows {
    fn row(&self, period: Duration, deadline: Duration) -> BudgetRow;
    fn best(&self, periods: &[Duration]) -> Option<BudgetRow>;
}

impl FindsRows for Design {
    fn row(&self, period: Duration, deadline: Duration) -> BudgetRow {
        let found = self.least(period, deadline);
        let (budget, why) = match found {
            Ok(budget) => (budget.map(|budget| budget.ns()), None),
            Err(why) => (None, Some(obstacle(&why))),
        };
        let of = |budget| bandwidth(budget, period.ns(), self.servers, self.cost).to_string();
        BudgetRow {
            cpus: self.servers,
            period_ns: period.ns(),
            deadline_ns: deadline.ns(),
            budget_ns: budget,
            bandwidth: budget.map(of),
            why,
        }
    }

    fn best(&self, periods: &[Duration]) -> Option<BudgetRow> {
        // A single task may need less than its supply says, which this search does not know.
        if self.test.tasks().len() == 1 {
            let rows: Vec<BudgetRow> =
                periods.iter().map(|&period| self.row(period, period)).collect();
            return choose(&rows, self.cost);
        }
        match self.least_bandwidth(periods.iter().copied()) {
            Ok(Some(Designed { period, .. })) => Some(self.row(period, period)),
            Ok(None) => None,
            Err(why) => {
                let period = periods[0];
                let (budget_ns, bandwidth, why) = (None, None, Some(obstacle(&why)));
                let (cpus, period_ns) = (self.servers, period.ns());
                Some(BudgetRow {
                    cpus,
                    period_ns,
                    deadline_ns: period_ns,
                    budget_ns,
                    bandwidth,
                    why,
                })
            }
        }
    }
}

fn obstacle(why: &Shortfall) -> String {
    match why {
        Shortfall::NoTest => "no test is known for this inner policy on several CPUs".to_owned(),
        Shortfall::LongDeadline(_) => {
            "the tests for several CPUs need deadlines within the periods".to_owned()
        }
        Shortfall::GaveUp(why) => why.to_string(),
        Shortfall::Task(..)
        | Shortfall::Demand { .. }
        | Shortfall::Window(..)
        | Shortfall::Overload => "the tests do not accept it".to_owned(),
    }
}

fn document<'a>(proof: &LeastBudget, tasks: &[(TaskId, &'a Task)]) -> DesignProof<'a> {
    let name = |at: usize| tasks[at].1.name.as_str();
    let lengths = |all: &[Duration]| all.iter().map(|length| length.ns()).collect();
    let yes = match &proof.yes {
        InTimeProof::Responses(found) => {
            let of = |&(at, length): &(usize, Duration)| Response {
                task: name(at),
                length_ns: length.ns(),
            };
            Enough { responses: Some(found.iter().map(of).collect()), ..Enough::default() }
        }
        InTimeProof::Lengths(chain) => {
            Enough { lengths_ns: Some(lengths(chain)), ..Enough::default() }
        }
        InTimeProof::Alone(periods) => Enough { periods: Some(*periods), ..Enough::default() },
    };
    let no = proof.no.as_ref().map(|no| match no {
        Refuted::Task(at, chain) => {
            let late = Late { task: name(*at), lengths_ns: lengths(chain) };
            TooLittle { late: Some(late), ..TooLittle::default() }
        }
        Refuted::Length(length) => {
            TooLittle { length_ns: Some(length.ns()), ..TooLittle::default() }
        }
        Refuted::Bandwidth => TooLittle { bandwidth: Some(true), ..TooLittle::default() },
    });
    DesignProof { yes, no }
}
