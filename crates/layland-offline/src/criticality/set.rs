//! The task model (Huang, Gill and Lu 2014, Section 2.1), as integers.
//!
//! One processor, fully preemptive, no overheads, independent sporadic tasks.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `T_i`, `D_i` | [`MixedTask::period`], [`MixedTask::deadline`] | least separation of releases; relative deadline, `0 < D_i <= T_i` |
//! | `zeta_i` | [`MixedTask::criticality`] | the level of the task, 0 lowest |
//! | `C_i(l)` | [`MixedTask::wcet`] | maximum execution time of a job if the estimates of confidence level `l` hold |
//!
//! `C_i` never decreases with `l`, and does not grow above the task's own level. Ranks order equal
//! tasks: the task of smaller rank goes first wherever a paper says "ties broken arbitrarily".

use crate::criticality::steps::{Period, Recurrent};
use layland_model::{Criticality, Duration, Index, Service, System, TIME_LIMIT, TaskId, TaskMap};

/// A sporadic task with an execution time per confidence level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixedTask {
    /// The minimum time between two releases.
    pub period: Duration,
    /// The relative deadline.
    pub deadline: Duration,
    /// The criticality of the task.
    pub criticality: Criticality,
    /// `C(0), C(1), ..`: at least one value; the last one stands for omitted ones.
    pub wcet: Vec<Service>,
}

/// Tasks for one processor with their criticality levels, validated and ready for analysis.
///
/// ```
/// use layland_offline::criticality::{MixedSet, amc_rt};
/// use layland_model::Duration;
/// // The example of Section 3.1 of Huang et al.: (T, D, level, C(0), C(1)).
/// let set = MixedSet::from_ns(2, &[
///     (2, 2, 0, &[1, 1]), (10, 10, 1, &[1, 5]), (100, 100, 1, &[20, 20]),
/// ])?;
/// let found = amc_rt::amc_rt(&set).found().expect("it is schedulable");
/// assert_eq!(found.response.values().as_slice()[2], [50, 90].map(Duration::from_ns));
/// # Ok::<(), layland_offline::criticality::MixedError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MixedSet {
    levels: usize,
    /// `T`, `D` and `zeta` of each task.
    pub(crate) period: Vec<i64>,
    pub(crate) deadline: Vec<i64>,
    pub(crate) level: Vec<u8>,
    /// `C(0)` of each task, then `C(1)` of each, and so on.
    wcet: Vec<i64>,
    /// `T` of each task, prepared for division.
    pub(crate) over: Vec<Period>,
    /// The position of each task in the order that breaks ties.
    pub(crate) rank: Vec<u32>,
}

/// The reason why a set cannot be analysed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MixedError {
    /// There is no task.
    #[error("the set has no task")]
    NoTask,
    /// There are no levels, or more than 255.
    #[error("{0} criticality levels: 1 to 255 are possible")]
    Levels(usize),
    /// The analysis is for at most two levels.
    #[error("{0} criticality levels: this analysis is defined for two")]
    TwoLevelsOnly(usize),
    /// A task is invalid.
    #[error("{}: {fault}", describe(name, *task))]
    Task {
        /// The task, from 0.
        task: TaskId,
        /// Its name, if it has one.
        name: String,
        /// The fault.
        fault: TaskFault,
    },
}

fn describe(name: &str, task: TaskId) -> String {
    if name.is_empty() { format!("task {task}") } else { format!("task `{name}`") }
}

/// The fault of an invalid task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskFault {
    /// The period is not positive, or above [`TIME_LIMIT`].
    #[error("the period is {0}; it must be longer than zero")]
    Period(Duration),
    /// The deadline is not positive.
    #[error("the deadline is {0}; it must be longer than zero")]
    Deadline(Duration),
    /// The deadline is beyond the period.
    #[error("the deadline {deadline} is longer than the period {period}; shorten it")]
    BeyondPeriod {
        /// The deadline.
        deadline: Duration,
        /// The period.
        period: Duration,
    },
    /// The criticality is not one of the levels.
    #[error("criticality {0} is not a level: they count from 0 to {1}")]
    Criticality(u8, usize),
    /// There are no execution times, or more of them than levels.
    #[error("{0} execution times for {1} criticality levels; give one per level")]
    Count(usize, usize),
    /// An execution time is negative, or above [`TIME_LIMIT`].
    #[error("the execution time at level {0} is {1}; it must not be negative")]
    Wcet(usize, Service),
    /// The execution time decreases from one level to the next.
    #[error(
        "the execution time falls at level {0}; a higher level allows for more, never for less"
    )]
    Falls(usize),
    /// The execution time grows above the task's own level.
    #[error("the execution time grows at level {0}, above the task's own; repeat the last one")]
    Grows(usize),
    /// The execution time at the task's own level is zero.
    #[error("the execution time at its own level is zero; it must be longer than zero")]
    Zero,
}

impl MixedSet {
    /// Creates a set with this number of levels. Ties go to the task that comes first.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn new(levels: usize, tasks: &[MixedTask]) -> Result<MixedSet, MixedError> {
        MixedSet::named(levels, tasks.iter().map(MixedTask::given), |_| String::new())
    }

    /// Creates a set from `(T, D, criticality, [C(0), ..])` in nanoseconds.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn from_ns(
        levels: usize,
        tasks: &[(i64, i64, u8, &[i64])],
    ) -> Result<MixedSet, MixedError> {
        let task = |&(period, deadline, level, wcet): &(i64, i64, u8, &[i64])| MixedTask {
            period: Duration::from_ns(period),
            deadline: Duration::from_ns(deadline),
            criticality: Criticality(level),
            wcet: wcet.iter().map(|&c| Service::from_ns(c)).collect(),
        };
        MixedSet::new(levels, &tasks.iter().map(task).collect::<Vec<_>>())
    }

    /// Converts all tasks of a system, in its order: task `i` of the set is task `i` of the system.
    /// Ties are broken by rank. Affinities are ignored.
    ///
    /// # Errors
    /// Returns an error with the name of a task that does not fit the model.
    pub fn of_system(system: &System) -> Result<MixedSet, MixedError> {
        MixedSet::of_tasks(system, &system.tasks.ids().collect::<Vec<_>>())
    }

    /// Converts some tasks of a system, for example those of one CPU: task `i` of the set is
    /// `tasks[i]`.
    ///
    /// # Errors
    /// See [`of_system`](Self::of_system).
    pub fn of_tasks(system: &System, tasks: &[TaskId]) -> Result<MixedSet, MixedError> {
        let given = tasks.iter().map(|&id| {
            let task = &system.tasks[id];
            TaskParameters {
                period: task.period,
                deadline: task.deadline,
                criticality: task.criticality,
                wcet: &task.wcet,
            }
        });
        let name = |index: usize| system.tasks[tasks[index]].name.to_string();
        let mut set = MixedSet::named(system.levels.count(), given, name)?;
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by_key(|&index| (system.tasks[tasks[index]].rank, tasks[index]));
        order.iter().enumerate().for_each(|(rank, &index)| set.rank[index] = rank as u32);
        Ok(set)
    }

    fn named<'t>(
        levels: usize,
        tasks: impl ExactSizeIterator<Item = TaskParameters<'t>>,
        name: impl Fn(usize) -> String,
    ) -> Result<MixedSet, MixedError> {
        let count = tasks.len();
        if !(1..=255).contains(&levels) {
            return Err(MixedError::Levels(levels));
        }
        if count == 0 {
            return Err(MixedError::NoTask);
        }
        let mut set = MixedSet {
            levels,
            period: Vec::with_capacity(count),
            over: Vec::with_capacity(count),
            deadline: Vec::with_capacity(count),
            level: Vec::with_capacity(count),
            wcet: vec![0; levels * count],
            rank: (0..count as u32).collect(),
        };
        for (index, task) in tasks.enumerate() {
            task.check(levels).map_err(|fault| MixedError::Task {
                task: TaskId(index as u32),
                name: name(index),
                fault,
            })?;
            for level in 0..levels {
                let given = level.min(task.wcet.len() - 1);
                set.wcet[level * count + index] = task.wcet[given].ns();
            }
            set.period.push(task.period.ns());
            set.over.push(Period::new(task.period.ns()));
            set.deadline.push(task.deadline.ns());
            set.level.push(task.criticality.0);
        }
        Ok(set)
    }

    /// Returns the set of some of its tasks: task `i` of the part is `tasks[i]`. The order of equal
    /// tasks is kept.
    ///
    /// # Panics
    /// Panics if there is no task, or one is not in the set.
    #[must_use]
    pub fn part(&self, tasks: &[TaskId]) -> MixedSet {
        let mut part = MixedSet {
            levels: self.levels,
            period: Vec::with_capacity(tasks.len()),
            over: Vec::with_capacity(tasks.len()),
            deadline: Vec::with_capacity(tasks.len()),
            level: Vec::with_capacity(tasks.len()),
            wcet: Vec::with_capacity(self.levels * tasks.len()),
            rank: Vec::with_capacity(tasks.len()),
        };
        part.become_part(self, tasks);
        part
    }

    /// Makes this the [part](Self::part) of another set, reusing its memory. For callers that
    /// examine many parts in turn.
    ///
    /// # Panics
    /// Panics if there is no task, or one is not in the other set.
    pub fn become_part(&mut self, all: &MixedSet, tasks: &[TaskId]) {
        fn put<T: Copy>(part: &mut Vec<T>, all: &[T], tasks: &[TaskId]) {
            part.clear();
            part.extend(tasks.iter().map(|task| all[task.index()]));
        }
        assert!(!tasks.is_empty(), "a set is never empty");
        self.levels = all.levels;
        put(&mut self.period, &all.period, tasks);
        put(&mut self.over, &all.over, tasks);
        put(&mut self.deadline, &all.deadline, tasks);
        put(&mut self.level, &all.level, tasks);
        put(&mut self.rank, &all.rank, tasks);
        self.wcet.clear();
        for level in 0..all.levels {
            let c = all.c(level);
            self.wcet.extend(tasks.iter().map(|task| c[task.index()]));
        }
    }

    /// The share of a CPU that a task takes at a level: `C_i(l) / T_i`, in units of
    /// [`ONE`](Self::ONE), rounded down. Zero for a level above its own, where it need not be
    /// served.
    pub fn share(&self, task: TaskId, level: Criticality) -> u128 {
        let (i, level) = (task.index(), level.level());
        if self.z(i) < level {
            return 0;
        }
        self.c(level)[i] as u128 * MixedSet::ONE / self.period[i] as u128
    }

    /// A whole CPU, in the units of [`share`](Self::share).
    ///
    /// If the sum of the shares of tasks at some level exceeds it, they are accepted by none of
    /// [`fixed`](super::fixed), [`amc_rt`](super::amc_rt), [`amc_max`](super::amc_max),
    /// [`amc_ia::safe`](super::amc_ia::safe),
    /// [`period_transformation`](super::period_transformation), [`fjp::safe`](super::fjp::safe) and
    /// [`virtual_deadlines`](super::virtual_deadlines). Let `m` be the level and `i` the task of
    /// lowest priority among the tasks of level `m` or above: each of them demands at least
    /// `R C_j(m) / T_j` in the bound `R <= T_i` of that task, and the sum is more than `R`.
    /// `fjp::safe` itself requires a utilization below 1, and virtual deadlines require at most 1
    /// in the mode of the level.
    pub const ONE: u128 = 1 << 62;

    /// Returns the number of levels; some may have no task.
    pub fn levels(&self) -> usize {
        self.levels
    }
    /// Returns the number of tasks.
    #[expect(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        self.period.len()
    }
    /// Returns every task, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = TaskId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(TaskId)
    }
    /// `T_i`.
    pub fn period(&self, task: TaskId) -> Duration {
        Duration::from_ns(self.period[task.0 as usize])
    }
    /// `D_i`.
    pub fn deadline(&self, task: TaskId) -> Duration {
        Duration::from_ns(self.deadline[task.0 as usize])
    }
    /// `zeta_i`.
    pub fn criticality(&self, task: TaskId) -> Criticality {
        Criticality(self.level[task.0 as usize])
    }
    /// `C_i(l)`.
    pub fn wcet(&self, task: TaskId, level: Criticality) -> Service {
        Service::from_ns(self.c(level.level())[task.0 as usize])
    }

    /// `C(l)` of every task.
    pub(crate) fn c(&self, level: usize) -> &[i64] {
        &self.wcet[level * self.len()..][..self.len()]
    }
    /// `zeta_i`, as an index.
    pub(crate) fn z(&self, task: usize) -> usize {
        usize::from(self.level[task])
    }
    /// `C_i(zeta_i)`.
    pub(crate) fn own(&self, task: usize) -> i64 {
        self.c(self.z(task))[task]
    }
    /// The parameters of a task at a level.
    #[inline]
    pub(crate) fn at_level(&self, task: usize, level: usize) -> Recurrent {
        Recurrent { period: self.over[task], wcet: self.c(level)[task] }
    }
    /// A value for each task.
    pub(crate) fn each<T>(&self, value: impl FnMut(usize) -> T) -> TaskMap<T> {
        (0..self.len()).map(value).collect::<Vec<T>>().into()
    }
}

impl MixedTask {
    fn given(&self) -> TaskParameters<'_> {
        let &MixedTask { period, deadline, criticality, ref wcet } = self;
        TaskParameters { period, deadline, criticality, wcet }
    }
}

/// The parameters of a task, borrowed from its source.
struct TaskParameters<'t> {
    period: Duration,
    deadline: Duration,
    criticality: Criticality,
    wcet: &'t [Service],
}

impl TaskParameters<'_> {
    fn check(&self, levels: usize) -> Result<(), TaskFault> {
        let own = self.criticality.level();
        if !(1..=TIME_LIMIT).contains(&self.period.ns()) {
            return Err(TaskFault::Period(self.period));
        }
        if self.deadline <= Duration::ZERO {
            return Err(TaskFault::Deadline(self.deadline));
        }
        if self.deadline > self.period {
            let (deadline, period) = (self.deadline, self.period);
            return Err(TaskFault::BeyondPeriod { deadline, period });
        }
        if own >= levels {
            return Err(TaskFault::Criticality(self.criticality.0, levels - 1));
        }
        if !(1..=levels).contains(&self.wcet.len()) {
            return Err(TaskFault::Count(self.wcet.len(), levels));
        }
        for (level, wcet) in self.wcet.iter().enumerate() {
            if !(0..=TIME_LIMIT).contains(&wcet.ns()) {
                return Err(TaskFault::Wcet(level, *wcet));
            }
        }
        for (below, pair) in self.wcet.windows(2).enumerate() {
            if pair[1] < pair[0] {
                return Err(TaskFault::Falls(below + 1));
            }
            if pair[1] > pair[0] && below + 1 > own {
                return Err(TaskFault::Grows(below + 1));
            }
        }
        if self.wcet[own.min(self.wcet.len() - 1)] == Service::ZERO {
            return Err(TaskFault::Zero);
        }
        Ok(())
    }
}
