//! The jobs that run for the next unit of time, by the definitions.

use super::search::ModelState;
use layland_model::{Duration, JobOrder, ScheduleRule, System, TaskId};
use layland_policy::Policy;

/// The maximum number of tasks of a model.
pub const TASKS: usize = 6;
/// The maximum number of CPUs of a model.
pub const CPUS: usize = 6;
/// The longest period of a model.
pub const LONGEST: i64 = 31;

/// The rule that assigns CPUs to ready tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The greedy optimum: in the order of priorities, each task that can be matched to a CPU
    /// together with the tasks before it. It covers strong and hierarchical scheduling and, with
    /// equal or disjoint masks, global, clustered and partitioned scheduling.
    Best,
    /// Push and pull, event by event, like the policies `weak-*`.
    Weak,
    /// All mappings that keep the weak invariant at each unit, which are more than any policy produces.
    AnyWeak,
}

/// A task in units of time.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) wcet: u8,
    pub(super) deadline: u8,
    pub(super) period: u8,
    mask: u8,
    /// The key of its jobs, if it is fixed.
    fixed: Option<i64>,
    /// Otherwise, the amount by which the key of a job is less than its deadline.
    earlier: i64,
    /// True if a job without laxity comes before all others.
    by_laxity: bool,
    rank: i64,
}

/// A system in units of time, which are nanoseconds.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) tasks: Vec<Task>,
    cpus: usize,
    rule: Rule,
    /// The order in which simultaneous releases take effect.
    by_rank: Vec<usize>,
}

impl Model {
    /// Returns the model of a system under a policy that accepts it. Returns `None` if it exceeds
    /// the limits of [`TASKS`], [`CPUS`] or [`LONGEST`], if deadlines exceed periods or the like,
    /// or if the policy's rule cannot be modelled.
    pub fn new(system: &System, policy: &dyn Policy, any_weak: bool) -> Option<Model> {
        let rule = policy.rule();
        let placed = layland_guarantee::placed(system, &rule);
        let (ScheduleRule::HighestFirst { order, .. }
        | ScheduleRule::Strong { order }
        | ScheduleRule::Weak { order }) = &rule
        else {
            return None;
        };
        let is_weak = matches!(rule, ScheduleRule::Weak { .. });
        let fixed = |task: TaskId| match order {
            // EFDF aborts a job in some run if and only if one is late in some run under EDF.
            JobOrder::Deadline
            | JobOrder::Feasible
            | JobOrder::Points(_)
            | JobOrder::ZeroLaxity => Some(None),
            JobOrder::Fixed(keys) => Some(Some(keys[task])),
            JobOrder::TopFirst { top, then } => {
                Some(JobOrder::key_in_class(top, *then, task, &system.tasks[task]))
            }
            JobOrder::DeadlineThenRunning | JobOrder::Levels { .. } => None,
        };
        let cpus = system.platform.cpu_count();
        if system.tasks.len() > TASKS || cpus > CPUS {
            return None;
        }
        // Under the weak rule the affinities of the tasks count, because it ignores clusters.
        let masks = if is_weak { system } else { &placed };
        let task = |(id, task): (TaskId, &layland_model::Task)| {
            let [c, d, t] = [task.own_wcet().ns(), task.deadline.ns(), task.period.ns()];
            let fits = c <= d && d <= t && t <= LONGEST && task.jitter == Duration::ZERO;
            let mask = masks.allowed_cpus(id).iter().fold(0, |mask, cpu| mask | 1 << cpu.0);
            let [wcet, deadline, period] = [c, d, t].map(|ns| ns as u8);
            fits.then_some(Task {
                wcet,
                deadline,
                period,
                mask,
                fixed: fixed(id)?,
                earlier: match order {
                    JobOrder::Points(earlier) => earlier[id].ns(),
                    _ => 0,
                },
                by_laxity: *order == JobOrder::ZeroLaxity,
                rank: task.rank,
            })
        };
        let tasks: Vec<Task> = system.tasks.iter().map(task).collect::<Option<_>>()?;
        let mut by_rank: Vec<usize> = (0..tasks.len()).collect();
        by_rank.sort_by_key(|&i| (tasks[i].rank, i));
        let rule = match (is_weak, any_weak) {
            (_, true) => Rule::AnyWeak,
            (true, false) => Rule::Weak,
            (false, false) => Rule::Best,
        };
        Some(Model { tasks, cpus, rule, by_rank })
    }

    /// Returns true if the order of jobs depends on their laxity.
    pub(super) fn has_laxity(&self) -> bool {
        self.tasks.iter().any(|task| task.by_laxity)
    }

    /// Returns the rule.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Times are whole units, and so is the instant at which a job runs out of laxity.
    fn key(&self, state: &ModelState, i: usize) -> (bool, i64, i64, usize) {
        let task = &self.tasks[i];
        let due = i64::from(task.deadline) - i64::from(state.since(i)) - task.earlier;
        let own = task.fixed.unwrap_or(due);
        let may_wait = !task.by_laxity || due > i64::from(state.left(i));
        (may_wait, own, task.rank, i)
    }

    fn in_order(&self, state: &ModelState) -> Vec<usize> {
        let mut ready: Vec<usize> = (0..self.tasks.len()).filter(|&i| state.left(i) > 0).collect();
        ready.sort_by_key(|&i| self.key(state, i));
        ready
    }

    /// Returns the states that are possible at the end of the unit after each of these tasks
    /// released a job, each with the set of tasks that ran. `state` includes the new jobs, which
    /// hold no CPU yet.
    pub(super) fn units(&self, state: &ModelState, arrived: u8) -> Vec<(ModelState, u8)> {
        match self.rule {
            Rule::Weak => {
                let mut state = *state;
                for &i in self.by_rank.iter().filter(|&&i| arrived >> i & 1 == 1) {
                    self.push(&mut state, i);
                }
                let running = (0..self.tasks.len()).filter(|&i| state.on(i).is_some());
                let running = running.fold(0, |set, i| set | 1 << i);
                vec![(state, running)]
            }
            Rule::Best => {
                let mut chosen: Vec<usize> = Vec::new();
                for i in self.in_order(state) {
                    chosen.push(i);
                    if !self.can_be_matched(&chosen, 0) {
                        chosen.pop();
                    }
                }
                vec![(*state, chosen.iter().fold(0, |set, i| set | 1 << i))]
            }
            Rule::AnyWeak => {
                let order = self.in_order(state);
                let (mut sets, mut occupant) = (Vec::new(), [usize::MAX; CPUS]);
                self.weak_mappings(&order, 0, &mut occupant, &mut sets);
                sets.sort_unstable();
                sets.dedup();
                sets.into_iter().map(|set| (*state, set)).collect()
            }
        }
    }

    /// Returns true if each of these tasks can have its own CPU among those that are not taken.
    fn can_be_matched(&self, tasks: &[usize], taken: u8) -> bool {
        let Some((&first, rest)) = tasks.split_first() else { return true };
        let free = self.tasks[first].mask & !taken;
        (0..self.cpus).any(|c| free >> c & 1 == 1 && self.can_be_matched(rest, taken | 1 << c))
    }

    /// Finds the sets of tasks that run in the mappings with the weak invariant. `occupant` has
    /// positions in `order`.
    fn weak_mappings(
        &self,
        order: &[usize],
        at: usize,
        occupant: &mut [usize; CPUS],
        sets: &mut Vec<u8>,
    ) {
        if at == order.len() {
            let runs = |position: usize| occupant.contains(&position);
            let before = |position: usize, c: usize| occupant[c] < position;
            let holds = (0..order.len()).filter(|&position| !runs(position)).all(|position| {
                let mask = self.tasks[order[position]].mask;
                (0..self.cpus).filter(|c| mask >> c & 1 == 1).all(|c| before(position, c))
            });
            if holds {
                let running = (0..order.len()).filter(|&position| runs(position));
                sets.push(running.fold(0, |set, position| set | 1 << order[position]));
            }
            return;
        }
        self.weak_mappings(order, at + 1, occupant, sets);
        for c in (0..self.cpus).filter(|c| self.tasks[order[at]].mask >> c & 1 == 1) {
            if occupant[c] == usize::MAX {
                occupant[c] = at;
                self.weak_mappings(order, at + 1, occupant, sets);
                occupant[c] = usize::MAX;
            }
        }
    }

    // --- The policies `weak-*` ----------------------------------------------------------------

    fn occupant(&self, state: &ModelState, c: usize) -> Option<usize> {
        (0..self.tasks.len()).find(|&i| state.on(i) == Some(c))
    }

    /// Places an arriving task: on an idle CPU, preferably its last one, or on the CPU of the task
    /// that comes last.
    fn push(&self, state: &mut ModelState, mut task: usize) {
        loop {
            let mask = self.tasks[task].mask;
            let allowed = (0..self.cpus).filter(|c| mask >> c & 1 == 1);
            let occupants: Vec<(usize, Option<usize>)> =
                allowed.map(|c| (c, self.occupant(state, c))).collect();
            let is_idle = |c: usize| occupants.contains(&(c, None));
            let lowest = occupants.iter().find(|(_, there)| there.is_none()).map(|&(c, _)| c);
            if let Some(c) = state.last(task).filter(|&c| is_idle(c)).or(lowest) {
                return state.put(task, Some(c));
            }
            let busy =
                occupants.iter().filter_map(|&(c, there)| Some((self.key(state, there?), c)));
            match busy.max() {
                Some((last, c)) if last > self.key(state, task) => {
                    state.put(last.3, None);
                    state.put(task, Some(c));
                    task = last.3;
                }
                Some(_) | None => return,
            }
        }
    }

    /// Removes ended tasks from their CPUs, lowest CPU first. Each CPU takes the first task that waits for it.
    pub(super) fn depart(&self, state: &mut ModelState) {
        if self.rule != Rule::Weak {
            return;
        }
        for c in 0..self.cpus {
            let Some(done) = self.occupant(state, c).filter(|&i| state.left(i) == 0) else {
                continue;
            };
            state.put(done, None);
            let waiting = (0..self.tasks.len()).filter(|&i| {
                state.left(i) > 0 && state.on(i).is_none() && self.tasks[i].mask >> c & 1 == 1
            });
            if let Some(first) = waiting.min_by_key(|&i| self.key(state, i)) {
                state.put(first, Some(c));
            }
        }
    }
}
