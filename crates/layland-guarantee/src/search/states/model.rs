//! The model that a search uses: the parts of a system, in units of time.

use layland_model::{CpuSet, Duration, Group, JobOrder, ScheduleRule, System, TaskId};

/// CPUs that serve some tasks, and no others do: each part is searched on its own.
pub(super) type Part = Group;

/// Returns the parts of a system under the rule of a policy that accepted it.
///
/// # Errors
/// If the rule has no fixed priorities of jobs.
pub(super) fn parts(system: &System, rule: &ScheduleRule) -> Result<Vec<Part>, String> {
    let (order, mut parts) = match rule {
        ScheduleRule::HighestFirst { groups, order, placement: _ } => (order, groups.clone()),
        ScheduleRule::Strong { order } => (order, reachable(system)),
        ScheduleRule::Weak { .. } => {
            return Err("with weak affinities shorter jobs can delay others".to_owned());
        }
        ScheduleRule::Served { .. } => {
            return Err("jobs of servers wait for budget".to_owned());
        }
        ScheduleRule::Locking(_) => {
            return Err("jobs wait for locks, and suspend themselves".to_owned());
        }
        ScheduleRule::Deferred { .. } => {
            return Err("preemptions are deferred to the ends of regions".to_owned());
        }
        ScheduleRule::LeastLaxity { .. } => {
            return Err("priorities of jobs change while they wait".to_owned());
        }
        ScheduleRule::None
        | ScheduleRule::Optimal { .. }
        | ScheduleRule::Pfair { .. }
        | ScheduleRule::Shares { .. }
        | ScheduleRule::Allotted { .. }
        | ScheduleRule::Split { .. }
        | ScheduleRule::MixedCriticality { .. } => {
            return Err("the policy does not run the jobs of the highest priorities".to_owned());
        }
    };
    match order {
        // EFDF aborts a job in some run if and only if one is late in some run under EDF.
        JobOrder::Deadline
        | JobOrder::Feasible
        | JobOrder::Points(_)
        | JobOrder::Fixed(_)
        | JobOrder::TopFirst { .. } => {
            parts.retain(|part| !part.tasks.is_empty());
            // Remaining ties go to the smaller id, so indices in a part must follow the ids.
            parts.iter_mut().for_each(|part| part.tasks.sort_unstable());
            Ok(parts)
        }
        JobOrder::Levels { .. } => {
            Err("jobs of one priority do not come in the order of ranks".to_owned())
        }
        JobOrder::ZeroLaxity | JobOrder::DeadlineThenRunning => {
            Err("priorities of jobs change while they wait".to_owned())
        }
    }
}

/// Groups tasks whose affinities overlap, directly or through others.
fn reachable(system: &System) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for task in system.tasks.ids() {
        let mut joined = Part { cpus: system.allowed_cpus(task), tasks: vec![task] };
        let (touching, others) =
            parts.into_iter().partition(|part: &Part| !part.cpus.is_disjoint(&joined.cpus));
        parts = others;
        for part in touching {
            joined.cpus = joined.cpus.union(&part.cpus);
            joined.tasks.extend(part.tasks);
        }
        parts.push(joined);
    }
    parts
}

/// Returns the longest time of which all WCETs, deadlines and periods are multiples.
pub(super) fn unit(system: &System) -> Duration {
    let of_all = system.tasks.values().fold(0, |unit, task| {
        [task.own_wcet().ns(), task.deadline.ns(), task.period.ns()].into_iter().fold(unit, gcd)
    });
    Duration::from_ns(of_all.max(1))
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A task, with times in units.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) wcet: u32,
    pub(super) deadline: u32,
    pub(super) period: u32,
    /// The priority of its jobs, if it is fixed.
    fixed: Option<i64>,
    /// For other priorities: the time between the priority point of a job and its deadline, in
    /// nanoseconds.
    earlier: i64,
    rank: i64,
    /// The CPUs that it may use, as indices in the part.
    cpus: Vec<usize>,
}

/// The limit on tasks of a part: sets of tasks are bit masks.
pub(super) const TASKS: usize = 64;

/// A part of a system.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) tasks: Vec<Task>,
    cpus: usize,
    /// True if every task may use every CPU.
    is_whole: bool,
    /// The time between two possible arrivals, in units.
    pub(super) tick: u32,
    /// The length of a unit in nanoseconds.
    unit: i64,
}

impl Model {
    pub(super) fn new(
        system: &System,
        part: &Part,
        rule: &ScheduleRule,
        tick: Duration,
    ) -> Result<Model, String> {
        let is_strong = matches!(rule, ScheduleRule::Strong { .. });
        let (ScheduleRule::HighestFirst { order, .. } | ScheduleRule::Strong { order }) = rule
        else {
            unreachable!("such a rule has no parts")
        };
        if part.tasks.len() > TASKS {
            return Err(format!("more than {TASKS} tasks share CPUs"));
        }
        let unit = gcd(unit(system).ns(), tick.ns());
        let units = |ns: i64| {
            u32::try_from(ns / unit)
                .ok()
                // The sum of two of them must not overflow.
                .filter(|&units| units <= u32::MAX / 2)
                .ok_or_else(|| format!("a time is more than {} units of {unit} ns", u32::MAX / 2))
        };
        let allowed = |task: TaskId| -> CpuSet {
            if is_strong { system.allowed_cpus(task) } else { part.cpus.clone() }
        };
        let places = |cpus: &CpuSet| -> Vec<usize> {
            part.cpus
                .iter()
                .enumerate()
                .filter(|(_, cpu)| cpus.contains(*cpu))
                .map(|(c, _)| c)
                .collect()
        };
        let tasks = part.tasks.iter().map(|&id| {
            let task = &system.tasks[id];
            Ok(Task {
                wcet: units(task.own_wcet().ns())?,
                deadline: units(task.deadline.ns())?,
                period: units(task.period.ns())?,
                fixed: match order {
                    JobOrder::Fixed(keys) | JobOrder::Levels { levels: keys, .. } => Some(keys[id]),
                    JobOrder::TopFirst { top, then } => {
                        JobOrder::key_in_class(top, *then, id, task)
                    }
                    JobOrder::Deadline
                    | JobOrder::DeadlineThenRunning
                    | JobOrder::Points(_)
                    | JobOrder::ZeroLaxity
                    | JobOrder::Feasible => None,
                },
                earlier: match order {
                    JobOrder::Points(earlier) => earlier[id].ns(),
                    JobOrder::Deadline
                    | JobOrder::DeadlineThenRunning
                    | JobOrder::ZeroLaxity
                    | JobOrder::Feasible
                    | JobOrder::Fixed(_)
                    | JobOrder::Levels { .. }
                    | JobOrder::TopFirst { .. } => 0,
                },
                rank: task.rank,
                cpus: places(&allowed(id)),
            })
        });
        let tasks = tasks.collect::<Result<Vec<Task>, String>>()?;
        let cpus = part.cpus.len();
        let is_whole = tasks.iter().all(|task| task.cpus.len() == cpus);
        Ok(Model { tasks, cpus, is_whole, tick: units(tick.ns())?, unit })
    }

    /// Converts units to a duration.
    pub(super) fn time(&self, units: u64) -> Duration {
        i64::try_from(units)
            .ok()
            .and_then(|units| units.checked_mul(self.unit))
            .map_or(Duration::MAX, Duration::from_ns)
    }

    /// Returns the priority of the job of a task that may release again after `wait`: smaller is
    /// higher.
    fn key(&self, i: usize, wait: u32) -> (i64, i64, usize) {
        let task = &self.tasks[i];
        let due = || {
            let deadline = i64::from(task.deadline) + i64::from(wait) - i64::from(task.period);
            deadline * self.unit - task.earlier
        };
        (task.fixed.unwrap_or_else(due), task.rank, i)
    }

    /// Computes the tasks that run, among those with work: a greedy choice of the highest tasks
    /// that can be matched to CPUs.
    pub(super) fn running(&self, state: &[u32], out: &mut Vec<usize>) {
        let n = self.tasks.len();
        out.clear();
        out.extend((0..n).filter(|&i| state[n + i] > 0));
        if self.is_whole && out.len() <= self.cpus {
            return;
        }
        out.sort_unstable_by_key(|&i| self.key(i, state[i]));
        if self.is_whole {
            out.truncate(self.cpus);
            return;
        }
        let mut occupant: Vec<Option<usize>> = vec![None; self.cpus];
        out.retain(|&i| self.match_to_cpu(i, &mut occupant, &mut vec![false; self.cpus]));
    }

    /// Assigns a CPU to a task, moving other tasks if necessary.
    fn match_to_cpu(&self, i: usize, occupant: &mut [Option<usize>], seen: &mut [bool]) -> bool {
        self.tasks[i].cpus.iter().any(|&cpu| {
            if std::mem::replace(&mut seen[cpu], true) {
                return false;
            }
            let is_free = match occupant[cpu] {
                None => true,
                Some(other) => self.match_to_cpu(other, occupant, seen),
            };
            if is_free {
                occupant[cpu] = Some(i);
            }
            is_free
        })
    }
}
