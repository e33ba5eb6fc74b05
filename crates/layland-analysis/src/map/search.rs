//! Branch and bound.

use super::bounds::is_hopeless;
use super::{Impossible, Objective, Problem, Solution, Value};
use layland_model::{Order, Rate};
use std::collections::BTreeMap;

/// The answers of tests that are kept.
const KEPT: usize = 500_000;

/// Tasks that are placed as one.
pub(super) struct Inseparable {
    items: Vec<usize>,
    /// The CPUs that it may have.
    cpus: Vec<usize>,
    /// The units that may not be on its CPU.
    apart: Vec<usize>,
    /// The unit before it that equals it.
    twin: Option<usize>,
    /// The least utilization over its CPUs.
    least: Rate,
}

/// The least need of the units from one on.
pub(super) struct Rest {
    /// The sum of the least utilizations.
    pub utilization: Rate,
    /// The largest of them.
    pub largest: Rate,
}

/// The units in the order in which they are placed.
pub(super) struct Units {
    all: Vec<Inseparable>,
    /// For each unit the need of it and those after it; nothing at the end.
    pub rest: Vec<Rest>,
    /// The class of each CPU: CPUs of a class are alike.
    classes: Vec<usize>,
}

/// An assignment of the first units.
pub(super) struct State {
    /// The number of units with a CPU.
    pub placed: usize,
    cpu_of: Vec<Option<usize>>,
    /// The tasks of each CPU, ascending.
    pub items: Vec<Vec<usize>>,
    /// The utilization of each CPU.
    pub utilizations: Vec<Rate>,
}

/// Finds the best assignment by an objective, with at most this many nodes of the search.
///
/// ```
/// use layland_analysis::map::{Bin, Item, Objective, Problem, solve};
/// use layland_model::Order;
/// // First fit puts 3 and 3 on one CPU, where no 2 fits beside them.
/// let item = |time| Item { times: vec![Some(time); 2], deadline: 7, period: 7, memory: 0 };
/// let problem = Problem {
///     items: [3, 3, 2, 2, 2, 2].map(item).to_vec(),
///     cpus: vec![Bin { room: None, cost: 1 }; 2],
///     order: Order::Deadline,
///     apart: Vec::new(),
///     together: Vec::new(),
///     fixed: Vec::new(),
/// };
/// let solution = solve(&problem, Objective::Feasible, 1000);
/// let (cpu_of, _) = solution.found.unwrap();
/// assert!(problem.is_mapping(&cpu_of) && solution.is_proven);
/// ```
pub fn solve(problem: &Problem, objective: Objective, nodes: u64) -> Solution {
    let none = |reason| Solution { found: None, is_proven: true, nodes: 0, reason: Some(reason) };
    let mut memo = Memo::default();
    let units = match Units::of(problem, &mut memo) {
        Ok(units) => units,
        Err(reason) => return none(reason),
    };
    let all = units.rest[0].utilization.clone();
    if all > Rate::whole(problem.cpus.len() as i64) {
        return none(Impossible::TooMuch(all));
    }
    let mut search = Branching {
        problem,
        units: &units,
        objective,
        best: None,
        memo,
        nodes: 0,
        limit: nodes,
        has_ended: true,
    };
    search.by_heuristics();
    let mut state = State::empty(problem, &units);
    search.below(&mut state);
    Solution {
        found: search.best,
        is_proven: search.has_ended && !search.memo.gave_up,
        nodes: search.nodes,
        reason: None,
    }
}

/// The answers of the tests, by class of CPU and tasks, with one factor.
#[derive(Default)]
struct Memo {
    thousandths: i64,
    known: BTreeMap<(usize, Vec<usize>), bool>,
    /// A test gave up, so that nothing is proven.
    gave_up: bool,
}

impl Memo {
    fn accepts(
        &mut self,
        problem: &Problem,
        (cpu, class): (usize, usize),
        items: &[usize],
        thousandths: i64,
    ) -> bool {
        if self.thousandths != thousandths {
            self.known.clear();
            self.thousandths = thousandths;
        }
        let key = (class, items.to_vec());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let accepts = problem.accepts(cpu, items, thousandths);
        self.gave_up |= accepts.is_none();
        if self.known.len() < KEPT {
            self.known.insert(key, accepts == Some(true));
        }
        accepts == Some(true)
    }
}

impl Units {
    fn of(problem: &Problem, memo: &mut Memo) -> Result<Units, Impossible> {
        let (n, m) = (problem.items.len(), problem.cpus.len());
        // The first task of the unit of each task.
        let mut first: Vec<usize> = (0..n).collect();
        for group in &problem.together {
            for pair in group.windows(2) {
                let (a, b) = (first[pair[0]], first[pair[1]]);
                let (low, high) = (a.min(b), a.max(b));
                first.iter_mut().filter(|of| **of == high).for_each(|of| *of = low);
            }
        }
        for &(a, b) in &problem.apart {
            if a != b && first[a] == first[b] {
                return Err(Impossible::ApartAndTogether(a, b));
            }
        }
        let classes = alike(problem);
        let mut all = Vec::new();
        for lead in (0..n).filter(|&item| first[item] == item) {
            let items: Vec<usize> = (0..n).filter(|&item| first[item] == lead).collect();
            let is_free = |cpu: &usize| {
                problem.fixed.iter().all(|&(item, fixed)| first[item] != lead || fixed == *cpu)
            };
            let fits = |cpu: &usize| memo.accepts(problem, (*cpu, classes[*cpu]), &items, 1000);
            let cpus: Vec<usize> = (0..m).filter(is_free).filter(fits).collect();
            let on = |&cpu: &usize| -> Rate {
                items.iter().filter_map(|&item| problem.utilization(item, cpu)).sum()
            };
            let Some(least) = cpus.iter().map(on).min() else {
                return Err(Impossible::NoCpu(items));
            };
            all.push(Inseparable { items, cpus, apart: Vec::new(), twin: None, least });
        }
        let size = |unit: &Inseparable| -> Rate {
            let on = |&cpu: &usize| -> Rate {
                let of = |&item: &usize| {
                    let own = &problem.items[item];
                    own.times[cpu].map(|time| Rate::new(time, own.deadline.min(own.period)))
                };
                unit.items.iter().filter_map(of).sum()
            };
            unit.cpus.iter().map(on).min().unwrap_or(Rate::ZERO)
        };
        let mut sized: Vec<(Rate, Inseparable)> =
            all.into_iter().map(|unit| (size(&unit), unit)).collect();
        sized.sort_by(|(a, _), (b, _)| b.cmp(a));
        let mut all: Vec<Inseparable> = sized.into_iter().map(|(_, unit)| unit).collect();
        let unit_of = |all: &[Inseparable], item: usize| {
            all.iter().position(|unit| unit.items.contains(&item))
        };
        for &(a, b) in problem.apart.iter().filter(|(a, b)| a != b) {
            if let (Some(a), Some(b)) = (unit_of(&all, a), unit_of(&all, b)) {
                all[a].apart.push(b);
                all[b].apart.push(a);
            }
        }
        for at in 1..all.len() {
            let is_twin = are_equal(problem, &all[at - 1], &all[at]);
            all[at].twin = is_twin.then(|| at - 1);
        }
        let mut rest = vec![Rest { utilization: Rate::ZERO, largest: Rate::ZERO }];
        for unit in all.iter().rev() {
            let Rest { utilization, largest } = &rest[rest.len() - 1];
            let (sum, most) = (utilization + &unit.least, largest.clone().max(unit.least.clone()));
            rest.push(Rest { utilization: sum, largest: most });
        }
        rest.reverse();
        Ok(Units { all, rest, classes })
    }
}

/// Returns true if two units could be exchanged in every assignment.
fn are_equal(problem: &Problem, a: &Inseparable, b: &Inseparable) -> bool {
    let ([one], [other]) = (&a.items[..], &b.items[..]) else { return false };
    let is_free = |unit: &Inseparable| unit.apart.is_empty();
    // Ties go by position, and a task between the two may be on the CPU of one of them.
    let are_beside = problem.order == Order::Deadline || one + 1 == *other;
    problem.items[*one] == problem.items[*other]
        && a.cpus == b.cpus
        && is_free(a)
        && is_free(b)
        && are_beside
}

/// Returns the class of each CPU. Two CPUs are alike if all tasks have equal times there, their room and cost
/// are equal, and no task has one of them.
fn alike(problem: &Problem) -> Vec<usize> {
    let is_fixed = |cpu: usize| problem.fixed.iter().any(|&(_, fixed)| fixed == cpu);
    let are_alike = |a: usize, b: usize| {
        problem.cpus[a] == problem.cpus[b]
            && !is_fixed(a)
            && !is_fixed(b)
            && problem.items.iter().all(|item| item.times[a] == item.times[b])
    };
    let mut classes: Vec<usize> = Vec::new();
    for cpu in 0..problem.cpus.len() {
        let known = (0..cpu).find(|&other| are_alike(other, cpu));
        classes.push(known.map_or(cpu, |other| classes[other]));
    }
    classes
}

impl State {
    fn empty(problem: &Problem, units: &Units) -> State {
        let cpus = problem.cpus.len();
        State {
            placed: 0,
            cpu_of: vec![None; units.all.len()],
            items: vec![Vec::new(); cpus],
            utilizations: vec![Rate::ZERO; cpus],
        }
    }

    fn place(&mut self, problem: &Problem, units: &Units, cpu: usize) {
        let unit = &units.all[self.placed];
        self.cpu_of[self.placed] = Some(cpu);
        self.placed += 1;
        self.items[cpu].extend(&unit.items);
        self.items[cpu].sort_unstable();
        self.utilizations[cpu] = &self.utilizations[cpu] + &on(problem, unit, cpu);
    }

    fn take_back(&mut self, problem: &Problem, units: &Units, cpu: usize) {
        self.placed -= 1;
        let unit = &units.all[self.placed];
        self.cpu_of[self.placed] = None;
        self.items[cpu].retain(|item| !unit.items.contains(item));
        self.utilizations[cpu] = &self.utilizations[cpu] - &on(problem, unit, cpu);
    }

    fn cpu_of_items(&self, units: &Units, count: usize) -> Vec<usize> {
        let mut cpu_of = vec![0; count];
        for (unit, cpu) in units.all.iter().zip(&self.cpu_of) {
            unit.items.iter().for_each(|&item| cpu_of[item] = cpu.unwrap_or(0));
        }
        cpu_of
    }
}

/// The utilization of a unit on a CPU.
fn on(problem: &Problem, unit: &Inseparable, cpu: usize) -> Rate {
    unit.items.iter().filter_map(|&item| problem.utilization(item, cpu)).sum()
}

/// The way in which a heuristic selects among the CPUs that fit.
#[derive(Clone, Copy)]
enum Fit {
    First,
    Fullest,
    Emptiest,
}

/// The order in which CPUs are examined.
#[derive(Clone, Copy)]
enum From {
    Given,
    Cheapest,
    Last,
}

struct Branching<'p> {
    problem: &'p Problem,
    units: &'p Units,
    objective: Objective,
    best: Option<(Vec<usize>, Value)>,
    memo: Memo,
    nodes: u64,
    limit: u64,
    has_ended: bool,
}

impl Branching<'_> {
    /// The factor with which tests have to accept: for the margin, one that is better than the best.
    fn thousandths(&self) -> i64 {
        match (&self.best, self.objective) {
            (Some((_, Value::Thousandths(best))), Objective::Margin) => best + 1,
            _ => 1000,
        }
    }

    /// Returns true if the next unit may be added to a CPU.
    fn may_add(&mut self, state: &State, cpu: usize) -> bool {
        let unit = &self.units.all[state.placed];
        if unit.apart.iter().any(|&other| state.cpu_of[other] == Some(cpu)) {
            return false;
        }
        let mut items = [&state.items[cpu][..], &unit.items].concat();
        items.sort_unstable();
        let (class, thousandths) = (self.units.classes[cpu], self.thousandths());
        self.memo.accepts(self.problem, (cpu, class), &items, thousandths)
    }

    /// Keeps the assignment if it is better than the best.
    fn keep(&mut self, state: &State) {
        let cpu_of = state.cpu_of_items(self.units, self.problem.items.len());
        let value = self.problem.value(self.objective, &cpu_of);
        let is_first = |(_, best): &(Vec<usize>, Value)| value.is_better_than(best);
        if self.best.as_ref().is_none_or(is_first) {
            self.best = Some((cpu_of, value));
        }
    }

    /// First, best and worst fit in decreasing order, over CPUs in several orders.
    fn by_heuristics(&mut self) {
        let cpus = 0..self.problem.cpus.len();
        for from in [From::Given, From::Cheapest, From::Last] {
            let mut order: Vec<usize> = cpus.clone().collect();
            match from {
                From::Given => {}
                From::Cheapest => order.sort_by_key(|&cpu| self.problem.cpus[cpu].cost),
                From::Last => order.reverse(),
            }
            for fit in [Fit::First, Fit::Fullest, Fit::Emptiest] {
                let mut state = State::empty(self.problem, self.units);
                while state.placed < self.units.all.len() {
                    let may: Vec<usize> = (order.iter().copied())
                        .filter(|cpu| self.units.all[state.placed].cpus.contains(cpu))
                        .filter(|&cpu| self.may_add(&state, cpu))
                        .collect();
                    let load = |cpu: &&usize| &state.utilizations[**cpu];
                    // Of equal ones the first.
                    let found = match fit {
                        Fit::First => may.first(),
                        Fit::Fullest => may.iter().rev().max_by(|a, b| load(a).cmp(load(b))),
                        Fit::Emptiest => may.iter().min_by(|a, b| load(a).cmp(load(b))),
                    };
                    let Some(&cpu) = found else { break };
                    state.place(self.problem, self.units, cpu);
                }
                if state.placed == self.units.all.len() {
                    self.keep(&state);
                }
            }
        }
    }

    /// The CPUs of the next unit, in the order in which they are tried.
    fn candidates(&self, state: &State) -> Vec<usize> {
        let unit = &self.units.all[state.placed];
        let not_before = unit.twin.and_then(|twin| state.cpu_of[twin]).unwrap_or(0);
        let is_empty = |cpu: usize| state.items[cpu].is_empty();
        let classes = &self.units.classes;
        let is_first_empty = |cpu: usize| {
            !is_empty(cpu)
                || !(0..cpu).any(|other| classes[other] == classes[cpu] && is_empty(other))
        };
        let may = unit.cpus.iter().copied();
        let mut found: Vec<usize> =
            may.filter(|&cpu| cpu >= not_before && is_first_empty(cpu)).collect();
        match self.objective {
            Objective::Feasible => {}
            Objective::Cpus => {
                let price = |&cpu: &usize| {
                    if is_empty(cpu) { self.problem.cpus[cpu].cost.saturating_add(1) } else { 0 }
                };
                found.sort_by_key(price);
            }
            Objective::Balance | Objective::Margin => {
                found.sort_by(|&a, &b| state.utilizations[a].cmp(&state.utilizations[b]));
            }
        }
        found
    }

    fn below(&mut self, state: &mut State) {
        if state.placed == self.units.all.len() {
            self.keep(state);
            return;
        }
        let candidates = self.candidates(state);
        for cpu in candidates {
            if self.nodes >= self.limit {
                self.has_ended = false;
                return;
            }
            if let Some((_, best)) = &self.best
                && is_hopeless(self.problem, self.units, state, self.objective, best)
            {
                return;
            }
            self.nodes += 1;
            if !self.may_add(state, cpu) {
                continue;
            }
            state.place(self.problem, self.units, cpu);
            self.below(state);
            state.take_back(self.problem, self.units, cpu);
        }
    }
}
