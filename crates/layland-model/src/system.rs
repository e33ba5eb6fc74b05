//! [`System`]: the full contents of a task-set file.

use crate::{
    Chain, CpuId, CpuSet, Duration, InLevel, Index, Levels, Platform, RateSum, Resource, Service,
    TIME_LIMIT, Task, TaskGroup, TaskId, TaskMap, Time,
};
use num_integer::Integer;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The tasks of a [`System`]. Clones share them until one of the clones is changed.
///
/// A run uses its system in several places: the parsed file, the construction of the policy, the
/// simulation, and the random draws of each task. With a million tasks, each copy takes several
/// hundred megabytes.
///
/// ```
/// use layland_model::{Duration, Service, Task, Tasks};
/// let tasks: Tasks = vec![Task::implicit("a", Service::from_ms(1), Duration::from_ms(5))].into();
/// let mut others = tasks.clone();
/// others.values_mut().for_each(|task| task.rank = 7);
/// assert_ne!(others, tasks);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tasks(Arc<TaskMap<Task>>);

impl Deref for Tasks {
    type Target = TaskMap<Task>;
    #[inline]
    fn deref(&self) -> &TaskMap<Task> {
        &self.0
    }
}
impl DerefMut for Tasks {
    fn deref_mut(&mut self) -> &mut TaskMap<Task> {
        Arc::make_mut(&mut self.0)
    }
}
impl From<TaskMap<Task>> for Tasks {
    fn from(tasks: TaskMap<Task>) -> Tasks {
        Tasks(Arc::new(tasks))
    }
}
impl From<Vec<Task>> for Tasks {
    fn from(tasks: Vec<Task>) -> Tasks {
        TaskMap::from(tasks).into()
    }
}
impl FromIterator<Task> for Tasks {
    fn from_iter<I: IntoIterator<Item = Task>>(tasks: I) -> Tasks {
        TaskMap::from_iter(tasks).into()
    }
}
impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A platform, its tasks, and the requests that arrive while they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// The machine.
    pub platform: Platform,
    /// The criticality levels.
    pub levels: Levels,
    /// The tasks.
    pub tasks: Tasks,
    /// The rule that orders the jobs of tasks with the same `priority`, unless an option of the
    /// policy overrides it; `None` if ranks decide or no two tasks share a priority. Policies that
    /// do not read priorities ignore it. A file without ranks means [`InLevel::Fifo`].
    pub in_level: Option<InLevel>,
    /// The resources that the jobs of several tasks lock.
    pub resources: Vec<Resource>,
    /// The groups with reservations.
    pub groups: Vec<TaskGroup>,
    /// The cause-effect chains.
    pub chains: Vec<Chain>,
    /// Requests in the order of their times; requests at one instant happen in this order.
    pub requests: Vec<Request>,
    /// The origin of the set, if it was generated.
    pub provenance: Option<Provenance>,
    /// The trace from which the set was inferred, if it was.
    pub observed: Option<Observed>,
}

/// The trace from which a set was inferred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The length of the trace, if known.
    pub length: Option<Duration>,
    /// The observations that the set does not explain, as sentences without full stops. While there
    /// are any, nothing is guaranteed for the set.
    pub unexplained: Vec<String>,
}

/// The origin of a generated set: enough to generate it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Name and version of the program and the generator.
    pub generator: String,
    /// The seed.
    pub seed: u64,
    /// Every parameter, by name. The many sets of one recipe share all but a few of these strings.
    pub parameters: BTreeMap<Arc<str>, Arc<str>>,
}

/// A request to the running system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The time of the request.
    pub at: Time,
    /// The request.
    pub kind: RequestKind,
}

/// The kinds of requests to a running system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// The task leaves for good; its pending job is dropped.
    Leave(TaskId),
    /// A task requests other parameters, another affinity or another cluster.
    Reconfigure(TaskId, Change),
    /// A cluster receives other CPUs.
    SetClusterCpus {
        /// Index of the cluster.
        cluster: usize,
        /// Its new CPUs.
        cpus: CpuSet,
    },
    /// A CPU can be used (again).
    CpuOnline(CpuId),
    /// A CPU can no longer be used.
    CpuOffline(CpuId),
}

/// The change that a task requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Another reservation (and WCET), period and relative deadline, from its next job on.
    Parameters {
        /// The WCET and the reserved processor time.
        wcet: Service,
        /// The period.
        period: Duration,
        /// The relative deadline.
        deadline: Duration,
    },
    /// Another affinity.
    Affinity(CpuSet),
    /// Another cluster, all of whose CPUs become its affinity.
    Cluster(usize),
}

impl System {
    /// A system of tasks on identical unit-speed CPUs; ranks are the positions in the list.
    pub fn new(cpus: usize, tasks: Vec<Task>) -> System {
        let mut tasks: TaskMap<Task> = tasks.into();
        tasks.values_mut().enumerate().for_each(|(index, task)| task.rank = index as i64);
        System {
            platform: Platform::identical(cpus),
            levels: Levels::default(),
            tasks: tasks.into(),
            in_level: None,
            resources: Vec::new(),
            groups: Vec::new(),
            chains: Vec::new(),
            requests: Vec::new(),
            provenance: None,
            observed: None,
        }
    }

    /// The observations in the trace of the set that the set does not explain.
    pub fn unexplained(&self) -> &[String] {
        self.observed.as_ref().map_or(&[], |observed| &observed.unexplained)
    }

    /// The sum of the utilizations.
    pub fn utilization(&self) -> RateSum {
        let mut sum = RateSum::with_capacity(self.tasks.len());
        self.tasks.values().for_each(|task| task.add_utilization(&mut sum));
        sum
    }

    /// The number of jobs that arrive up to a time, if jobs arrive as often as possible.
    pub fn arrivals(&self, end: Time) -> i128 {
        let of = |task: &Task| {
            let length = i128::from((end - (Time::ZERO + task.offset)).ns().max(0));
            length / i128::from(task.period.ns().max(1)) + 1
        };
        self.tasks.values().map(of).sum()
    }

    /// The least common multiple of the periods, if there are tasks and it is below [`TIME_LIMIT`].
    pub fn hyperperiod(&self) -> Option<Duration> {
        let mut hyperperiod = 1i64;
        for task in self.tasks.values() {
            // Bursts repeat with their cycle.
            let period = task.bursts().map_or(task.period, |curve| curve.cycle().1).ns();
            let factor = period / hyperperiod.gcd(&period);
            hyperperiod = hyperperiod.checked_mul(factor).filter(|&ns| ns <= TIME_LIMIT)?;
        }
        (!self.tasks.is_empty()).then_some(Duration::from_ns(hyperperiod))
    }

    /// The CPUs that a task may use: its affinity, or else those of its group, or else its cluster.
    pub fn allowed_cpus(&self, task: TaskId) -> CpuSet {
        let task = &self.tasks[task];
        let of_group = || Some(self.groups.get(task.group?.index())?.cpus.clone());
        let of_cluster = || self.platform.clusters[task.cluster].clone();
        task.affinity.clone().or_else(of_group).unwrap_or_else(of_cluster)
    }

    /// The tasks in the order that breaks ties: by rank, then by id.
    pub fn by_rank(&self) -> Vec<TaskId> {
        let mut order: Vec<TaskId> = self.tasks.ids().collect();
        order.sort_by_key(|&task| (self.tasks[task].rank, task));
        order
    }

    /// Each `priority` that several of these tasks share, with the number of tasks, highest
    /// priority first.
    ///
    /// ```
    /// use layland_model::{Duration, Service, System, Task};
    /// let task = |name, priority| Task {
    ///     priority: Some(priority),
    ///     ..Task::implicit(name, Service::from_ms(1), Duration::from_ms(5))
    /// };
    /// let system = System::new(1, vec![task("a", 7), task("b", 3), task("c", 7)]);
    /// assert_eq!(system.shared_levels(system.tasks.ids()), [(7, 2)]);
    /// ```
    pub fn shared_levels(&self, tasks: impl IntoIterator<Item = TaskId>) -> Vec<(i64, usize)> {
        let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
        for priority in tasks.into_iter().filter_map(|task| self.tasks.get(task)?.priority) {
            *counts.entry(priority).or_default() += 1;
        }
        counts.into_iter().filter(|&(_, count)| count > 1).collect()
    }

    /// Returns true if some task has a [blocking time](Task::blocking_time).
    pub fn has_blocking(&self) -> bool {
        self.tasks.values().any(|task| task.blocking_time > Duration::ZERO)
    }

    /// The priorities that several tasks share, and the rule that orders their jobs, in a sentence
    /// without a full stop; `None` if no two tasks share a priority.
    pub fn shared_levels_in_words(&self, in_level: Option<InLevel>) -> Option<String> {
        let shared = self.shared_levels(self.tasks.ids());
        let of_level = |&(priority, count): &(i64, usize)| format!("{count} share {priority}");
        let (&(priority, count), more) = shared.split_first()?;
        let mut text = format!("{count} threads share priority {priority}");
        for level in more.iter().take(2) {
            text += &format!(", {}", of_level(level));
        }
        if more.len() > 2 {
            text += &format!(", and {} more priorities are shared", more.len() - 2);
        }
        let among = match in_level {
            Some(InLevel::Fifo) => "first come, first served among them",
            Some(InLevel::Any) => "in any order among them",
            None => "the smaller rank comes first among them, and preempts",
        };
        Some(format!("{text}: {among}"))
    }

    /// Describes a request in a line of a report.
    pub fn describe(&self, kind: &RequestKind) -> String {
        let name = |task: &TaskId| {
            let known = self.tasks.get(*task).map(|task| task.name.as_str());
            known.unwrap_or_default()
        };
        match kind {
            RequestKind::Leave(task) => format!("task `{}` leaves", name(task)),
            RequestKind::Reconfigure(task, Change::Parameters { wcet, period, deadline }) => {
                format!("task `{}` becomes {wcet}/{period}/{deadline}", name(task))
            }
            RequestKind::Reconfigure(task, Change::Affinity(cpus)) => {
                format!("task `{}` gets affinity {cpus}", name(task))
            }
            RequestKind::Reconfigure(task, Change::Cluster(cluster)) => {
                format!("task `{}` moves to cluster {cluster}", name(task))
            }
            RequestKind::SetClusterCpus { cluster, cpus } => {
                format!("cluster {cluster} gets {cpus:#}")
            }
            RequestKind::CpuOnline(cpu) => format!("CPU {cpu} goes online"),
            RequestKind::CpuOffline(cpu) => format!("CPU {cpu} goes offline"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, c: i64, t: i64) -> Task {
        Task::implicit(name, Service::from_ms(c), Duration::from_ms(t))
    }

    #[test]
    fn a_plain_system_is_valid() {
        let system = System::new(2, vec![task("a", 1, 4), task("b", 3, 6)]);
        assert_eq!(system.validate(), []);
        assert_eq!(system.hyperperiod(), Some(Duration::from_ms(12)));
        assert_eq!(system.utilization().exact(), crate::Rate::new(3, 4));
    }

    #[test]
    fn unrelated_periods_have_no_hyperperiod() {
        let primes = [999_999_937, 999_999_929, 999_999_893];
        let tasks = primes
            .iter()
            .map(|&p| Task::implicit(p.to_string(), Service::from_ns(1), Duration::from_ns(p)));
        assert_eq!(System::new(1, tasks.collect()).hyperperiod(), None);
    }
}
