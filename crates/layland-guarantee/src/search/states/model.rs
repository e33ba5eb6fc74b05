//! The model that a search uses: the parts of a system, in units of time.

use super::extent::{ArrivalGrid, Extent, TakenJobs};
use layland_model::{CpuSet, Duration, Group, JobOrder, ScheduleRule, System, TaskId};

/// CPUs that serve some tasks, and no others do: each part is searched on its own.
pub(super) type Part = Group;

/// Returns the parts of a system under the rule of a policy that accepted it.
///
/// # Errors
/// If the rule has no fixed priorities of jobs and is not EDZL.
pub(super) fn parts(system: &System, rule: &ScheduleRule) -> Result<Vec<Part>, String> {
    let (order, mut parts) = match rule {
        ScheduleRule::HighestFirst { groups, order, placement: _ } => (order, groups.clone()),
        ScheduleRule::Strong { order: JobOrder::ZeroLaxity } => {
            return Err("with affinities shorter jobs may delay others under EDZL".to_owned());
        }
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
        | JobOrder::ZeroLaxity
        | JobOrder::TopFirst { .. } => {
            parts.retain(|part| !part.tasks.is_empty());
            // Remaining ties go to the smaller id, so indices in a part must follow the ids.
            parts.iter_mut().for_each(|part| part.tasks.sort_unstable());
            Ok(parts)
        }
        JobOrder::Levels { .. } => {
            Err("jobs of one priority do not come in the order of ranks".to_owned())
        }
        JobOrder::DeadlineThenRunning => {
            Err("the order of jobs depends on which of them run".to_owned())
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
    let wcet = |task: &layland_model::Task| Duration::from_ns(task.own_wcet().ns());
    unit_of(system.tasks.values().flat_map(|task| [wcet(task), task.deadline, task.period]))
}

/// Returns the longest time of which all of these are multiples.
pub(super) fn unit_of(times: impl Iterator<Item = Duration>) -> Duration {
    Duration::from_ns(times.map(Duration::ns).fold(0, gcd).max(1))
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A task, with times in units.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Its index in the part.
    pub(super) place: usize,
    pub(super) wcet: u32,
    pub(super) deadline: u32,
    pub(super) period: u32,
    /// The key of a job is `base + slope * wait`, where `wait` is the time until the next release:
    /// the priority point of the job relative to now, or a fixed priority.
    pub(super) base: i64,
    pub(super) slope: i64,
    /// The CPUs that it may use, as indices in the part.
    cpus: Vec<usize>,
}

/// The order of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// By task, in the order of the model.
    Fixed,
    /// By key, then in the order of the model.
    Points,
    /// By key, and equal keys in every way.
    PointsAnyTies,
    /// Jobs without laxity first, then as under [`Keys::Points`].
    ZeroLaxity,
}

/// The limit on tasks of a part: sets of tasks are bit masks.
pub(super) const TASKS: usize = 64;

/// A part of a system. Its tasks come in an order by which ties are broken: by rank, then by id.
/// Under fixed priorities that order is the priority.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) tasks: Vec<Task>,
    pub(super) cpus: usize,
    pub(super) keys: Keys,
    /// True if every task may use every CPU.
    pub(super) is_whole: bool,
    /// The time between two possible arrivals, in units.
    pub(super) tick: u32,
    /// `division` units are this many nanoseconds.
    unit: i64,
    division: i64,
}

impl Model {
    pub(super) fn new(
        system: &System,
        part: &Part,
        rule: &ScheduleRule,
        extent: Extent,
    ) -> Result<Model, String> {
        let Extent { grid, jobs, .. } = extent;
        let is_strong = matches!(rule, ScheduleRule::Strong { .. });
        let (ScheduleRule::HighestFirst { order, .. } | ScheduleRule::Strong { order }) = rule
        else {
            unreachable!("such a rule has no parts")
        };
        if part.tasks.len() > TASKS {
            return Err(format!("more than {TASKS} tasks share CPUs"));
        }
        let is_inflated = jobs == TakenJobs::Inflated;
        let (unit, division) = match grid {
            ArrivalGrid::Tick(tick) if is_inflated => (tick.ns(), 1),
            ArrivalGrid::Tick(tick) => (gcd(unit(system).ns(), tick.ns()), 1),
            ArrivalGrid::Unit(division) => (unit(system).ns(), i64::from(division.max(1))),
        };
        let tick = match grid {
            ArrivalGrid::Tick(tick) => tick.ns() / unit,
            ArrivalGrid::Unit(_) => 1,
        };
        let on_ticks = |ns: i64| ns % unit == 0;
        // The sum of two of them must not overflow.
        let most = u32::MAX / 2;
        let units = |ns: i64| {
            (ns / unit)
                .checked_mul(division)
                .and_then(|units| u32::try_from(units).ok())
                .filter(|&units| units <= most)
                .ok_or_else(|| format!("a time is more than {most} units of {unit}/{division} ns"))
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
        let is_fixed = |&id: &TaskId| fixed_key(order, id, system).is_some();
        let keys = if *order == JobOrder::ZeroLaxity {
            Keys::ZeroLaxity
        } else if part.tasks.iter().all(is_fixed) {
            Keys::Fixed
        } else if jobs == TakenJobs::Own {
            Keys::Points
        } else {
            Keys::PointsAnyTies
        };
        let tasks = part.tasks.iter().enumerate().map(|(place, &id)| {
            let task = &system.tasks[id];
            let earlier = match order {
                JobOrder::Points(earlier) => earlier[id].ns(),
                JobOrder::Deadline
                | JobOrder::DeadlineThenRunning
                | JobOrder::ZeroLaxity
                | JobOrder::Feasible
                | JobOrder::Fixed(_)
                | JobOrder::Levels { .. }
                | JobOrder::TopFirst { .. } => 0,
            };
            // A job is due `deadline - period + wait` from now. Keys are in fractions of a
            // nanosecond, since the points of jobs may lie between units.
            let due = || {
                let earlier = i128::from(earlier) * i128::from(division);
                let due = i128::from(task.deadline.ns()) - i128::from(task.period.ns());
                let base = i64::try_from(due * i128::from(division) - earlier).ok()?;
                base.checked_add(unit.checked_mul(i64::from(most))?).map(|_| (base, unit))
            };
            let (base, slope) = match fixed_key(order, id, system) {
                Some(key) => (key, 0),
                None => due().ok_or("times and priorities differ by too much")?,
            };
            if is_inflated
                && ![task.deadline.ns(), task.period.ns(), base * slope.min(1)]
                    .into_iter()
                    .all(on_ticks)
            {
                return Err(
                    "a deadline, a period or a priority point lies between ticks".to_owned()
                );
            }
            let wcet = task.own_wcet().ns();
            let wcet =
                if is_inflated { (wcet - 1).div_euclid(unit) * unit + 2 * unit } else { wcet };
            if is_inflated && wcet > task.deadline.ns() {
                return Err("a WCET and a tick are longer than the deadline".to_owned());
            }
            Ok(Task {
                place,
                wcet: units(wcet)?,
                deadline: units(task.deadline.ns())?,
                period: units(task.period.ns())?,
                base,
                slope,
                cpus: places(&allowed(id)),
            })
        });
        let mut tasks = tasks.collect::<Result<Vec<Task>, String>>()?;
        let rank = |task: &Task| (system.tasks[part.tasks[task.place]].rank, task.place);
        match keys {
            Keys::Fixed => tasks.sort_by_key(|task| (task.base, rank(task))),
            Keys::Points | Keys::PointsAnyTies | Keys::ZeroLaxity => tasks.sort_by_key(rank),
        }
        let cpus = part.cpus.len();
        let is_whole = tasks.iter().all(|task| task.cpus.len() == cpus);
        match keys {
            Keys::ZeroLaxity if jobs != TakenJobs::Own => {
                return Err("under EDZL the order of jobs changes".to_owned());
            }
            Keys::PointsAnyTies if !is_whole => {
                return Err("with affinities ties are broken as the policy breaks them".to_owned());
            }
            Keys::Fixed | Keys::Points | Keys::PointsAnyTies | Keys::ZeroLaxity => {}
        }
        let tick = u32::try_from(tick).ok().filter(|&tick| tick <= most);
        let tick = tick.ok_or("the tick is too many units")?;
        Ok(Model { tasks, cpus, keys, is_whole, tick, unit, division })
    }

    /// Converts units to a duration, rounded down to a nanosecond.
    pub(super) fn time(&self, units: u64) -> Duration {
        let ns = i128::from(units) * i128::from(self.unit) / i128::from(self.division);
        i64::try_from(ns).map_or(Duration::MAX, Duration::from_ns)
    }

    /// The model of the first tasks in the order of priorities.
    pub(super) fn highest(&self, count: usize) -> Model {
        Model { tasks: self.tasks[..count].to_vec(), ..self.clone() }
    }

    /// The tasks of a set that run, where some of them cannot use every CPU: greedily, in this
    /// order, each that can be matched to a CPU together with those before it.
    pub(super) fn matched(&self, order: impl Iterator<Item = usize>) -> u64 {
        let mut occupant: Vec<Option<usize>> = vec![None; self.cpus];
        order
            .filter(|&i| self.match_to_cpu(i, &mut occupant, &mut vec![false; self.cpus]))
            .fold(0, |set, i| set | 1 << i)
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

/// The priority of the jobs of a task, if it is fixed.
fn fixed_key(order: &JobOrder, id: TaskId, system: &System) -> Option<i64> {
    match order {
        JobOrder::Fixed(keys) | JobOrder::Levels { levels: keys, .. } => Some(keys[id]),
        JobOrder::TopFirst { top, then } => {
            JobOrder::key_in_class(top, *then, id, &system.tasks[id])
        }
        JobOrder::Deadline
        | JobOrder::DeadlineThenRunning
        | JobOrder::Points(_)
        | JobOrder::ZeroLaxity
        | JobOrder::Feasible => None,
    }
}
