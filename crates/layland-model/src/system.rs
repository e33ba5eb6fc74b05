//! [`System`]: everything that a task-set file says, and the rules that make it valid.

use crate::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Index, Levels, Platform, RateSum,
    Separation, Service, Speed, TIME_LIMIT, Task, TaskId, TaskMap, Time,
};
use num_integer::Integer;
use std::collections::BTreeMap;

/// A platform, its tasks, and what is to happen to them while they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// The machine.
    pub platform: Platform,
    /// The criticality levels.
    pub levels: Levels,
    /// The tasks.
    pub tasks: TaskMap<Task>,
    /// Requests in the order of their times; those at one instant in this order.
    pub requests: Vec<Request>,
    /// How the set was made, if it was generated.
    pub provenance: Option<Provenance>,
}

/// Where a generated set comes from: enough to make it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Name and version of the program and the generator.
    pub generator: String,
    /// The seed.
    pub seed: u64,
    /// Every parameter, by name.
    pub parameters: BTreeMap<String, String>,
}

/// Something that is asked of the system while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// When.
    pub at: Time,
    /// What.
    pub kind: RequestKind,
}

/// What can be asked of a running system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// The task leaves for good; its pending job is dropped.
    Leave(TaskId),
    /// A task asks for other parameters, another affinity or another cluster.
    Reconfigure(TaskId, Change),
    /// A cluster gets other CPUs.
    SetClusterCpus {
        /// Index of the cluster.
        cluster: usize,
        /// Its CPUs from now on.
        cpus: CpuSet,
    },
    /// A CPU can be used (again).
    CpuOnline(CpuId),
    /// A CPU can no longer be used.
    CpuOffline(CpuId),
}

/// What a task asks for.
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

/// The part of a task that is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the fields of Task")]
pub enum Field {
    Name,
    Period,
    Deadline,
    Wcet,
    Criticality,
    Budget,
    Offset,
    Jitter,
    Affinity,
    Cluster,
    Behaviour,
    Execution,
    Priority,
}

/// Where a system is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The set as a whole.
    Set,
    /// The number of CPUs.
    Cpus,
    /// The speed of a CPU.
    Speed(CpuId),
    /// A cluster, by index.
    Cluster(usize),
    /// The overheads.
    Overheads,
    /// A field of a task.
    Task(TaskId, Field),
    /// A request, by index.
    Request(usize),
}

/// One reason why a system is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Invalid {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl System {
    /// Tasks on identical unit-speed CPUs; ranks are the positions in the list.
    pub fn new(cpus: usize, tasks: Vec<Task>) -> System {
        let mut tasks: TaskMap<Task> = tasks.into();
        tasks.values_mut().enumerate().for_each(|(index, task)| task.rank = index as i64);
        System {
            platform: Platform::identical(cpus),
            levels: Levels::default(),
            tasks,
            requests: Vec::new(),
            provenance: None,
        }
    }

    /// The sum of the utilizations.
    pub fn utilization(&self) -> RateSum {
        let mut sum = RateSum::default();
        self.tasks.values().for_each(|task| sum.add(&task.utilization()));
        sum
    }

    /// The least common multiple of the periods, if there are tasks and it is below [`TIME_LIMIT`].
    pub fn hyperperiod(&self) -> Option<Duration> {
        let mut hyperperiod = 1i64;
        for task in self.tasks.values() {
            let factor = task.period.ns() / hyperperiod.gcd(&task.period.ns());
            hyperperiod = hyperperiod.checked_mul(factor).filter(|&ns| ns <= TIME_LIMIT)?;
        }
        (!self.tasks.is_empty()).then_some(Duration::from_ns(hyperperiod))
    }

    /// The CPUs that a task may use: its affinity, or else its cluster.
    pub fn allowed_cpus(&self, task: TaskId) -> CpuSet {
        let task = &self.tasks[task];
        task.affinity.clone().unwrap_or_else(|| self.platform.clusters[task.cluster].clone())
    }

    /// The tasks in the order that breaks ties: by rank, then by id.
    pub fn by_rank(&self) -> Vec<TaskId> {
        let mut order: Vec<TaskId> = self.tasks.ids().collect();
        order.sort_by_key(|&task| (self.tasks[task].rank, task));
        order
    }

    /// What is asked, as a line of a report.
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
                format!("cluster {cluster} gets CPUs {cpus}")
            }
            RequestKind::CpuOnline(cpu) => format!("CPU {cpu} goes online"),
            RequestKind::CpuOffline(cpu) => format!("CPU {cpu} goes offline"),
        }
    }

    /// Every reason why this system is invalid; valid if there is none.
    ///
    /// Utilizations above what the CPUs can carry are valid: whether such a set works is what the
    /// analyses and the simulator answer.
    pub fn validate(&self) -> Vec<Invalid> {
        let mut found = Vec::new();
        let mut wrong = |place, message: String, help: &str| {
            found.push(Invalid { place, message, help: help.to_owned() });
        };
        self.validate_platform(&mut wrong);
        if self.tasks.is_empty() {
            wrong(
                Place::Set,
                "the set has no task".to_owned(),
                "add a [[task]], or -t name=1ms/5ms",
            );
        }
        let mut names = BTreeMap::new();
        for (id, task) in self.tasks.iter() {
            if let Some(first) = names.insert(task.name.as_str(), id) {
                wrong(
                    Place::Task(id, Field::Name),
                    format!("the name `{}` is taken by task {}", task.name, first.0 + 1),
                    "give every task a name of its own",
                );
            }
            self.validate_task(id, task, &mut wrong);
        }
        for (index, request) in self.requests.iter().enumerate() {
            self.validate_request(index, request, &mut wrong);
        }
        found
    }

    fn validate_platform(&self, wrong: &mut impl FnMut(Place, String, &str)) {
        let platform = &self.platform;
        if !(1..=CpuSet::MAX_CPUS).contains(&platform.cpu_count()) {
            let message = format!("{} CPUs", platform.cpu_count());
            wrong(Place::Cpus, message, "a system has 1 to 4096 CPUs");
        }
        let mut common = 1i64;
        for (cpu, speed) in platform.speeds.iter() {
            common = common.lcm(&speed.denominator());
            if common > Speed::LIMIT {
                let message = "the speeds have no small common denominator".to_owned();
                wrong(Place::Speed(cpu), message, "round them, to three decimals for example");
                break;
            }
        }
        let longest =
            self.tasks.values().flat_map(|task| &task.wcet).max().copied().unwrap_or_default();
        if i128::from(longest.ns()) * i128::from(common) > i128::from(TIME_LIMIT) {
            let message = "execution times and speeds are too long to be kept exactly".to_owned();
            wrong(Place::Set, message, "use speeds with smaller denominators");
        }
        let mut seen = CpuSet::new();
        for (index, cluster) in platform.clusters.iter().enumerate() {
            if cluster.is_empty() {
                wrong(Place::Cluster(index), format!("cluster {index} is empty"), "give it CPUs");
            }
            let outside = cluster.difference(&platform.all_cpus());
            if !outside.is_empty() {
                let message = format!("cluster {index} has CPU {outside}, which does not exist");
                let help = format!("the CPUs are {}", platform.all_cpus());
                wrong(Place::Cluster(index), message, &help);
            }
            let twice = cluster.intersection(&seen);
            if !twice.is_empty() {
                let message = format!("CPU {twice} is in two clusters");
                wrong(Place::Cluster(index), message, "clusters are disjoint");
            }
            seen = seen.union(cluster);
        }
        if platform.clusters.is_empty() {
            wrong(
                Place::Cpus,
                "there is no cluster".to_owned(),
                "leave `clusters` out for one of all CPUs",
            );
        }
        let costs = &platform.overheads;
        let all = [
            costs.release,
            costs.scheduling,
            costs.context_switch,
            costs.migration,
            costs.interrupt,
            costs.tick,
            costs.tick_period,
        ];
        if all.iter().any(|&cost| cost < Duration::ZERO) {
            wrong(Place::Overheads, "an overhead is negative".to_owned(), "use 0s for none");
        }
        if costs.tick > Duration::ZERO && costs.tick >= costs.tick_period {
            let message = format!("a tick of {} every {}", costs.tick, costs.tick_period);
            wrong(Place::Overheads, message, "`tick_period` must be longer than `tick`");
        }
    }

    fn validate_task(&self, id: TaskId, task: &Task, wrong: &mut impl FnMut(Place, String, &str)) {
        let name = &task.name;
        let mut field =
            |field, message: String, help: &str| wrong(Place::Task(id, field), message, help);
        if name.is_empty() {
            field(
                Field::Name,
                "a task has no name".to_owned(),
                "name it, as in name = \"control\"",
            );
        }
        for (which, label, length, least) in [
            (Field::Period, "period", task.period, 1),
            (Field::Deadline, "deadline", task.deadline, 1),
            (Field::Offset, "offset", task.offset, 0),
            (Field::Jitter, "jitter", task.jitter, 0),
        ] {
            if !(least..=TIME_LIMIT).contains(&length.ns()) {
                let help = if least == 1 {
                    "it must be longer than zero"
                } else {
                    "it cannot be negative"
                };
                field(which, format!("{label} of `{name}` is {length}"), help);
            }
        }
        if task.wcet.len() != self.levels.count() {
            let message = format!(
                "`{name}` has {} execution times for {} criticality levels",
                task.wcet.len(),
                self.levels.count()
            );
            field(Field::Wcet, message, "give one time, or one per level");
        } else if task.criticality.level() >= self.levels.count() {
            let message = format!("`{name}` has a criticality that is not a level");
            field(Field::Criticality, message, "list it under [criticality] levels");
        } else {
            if task.own_wcet() <= Service::ZERO || task.wcet.iter().any(|&c| c < Service::ZERO) {
                field(
                    Field::Wcet,
                    format!("wcet of `{name}` is {}", task.own_wcet()),
                    "it must be longer than zero",
                );
            }
            if task.wcet[..=task.criticality.level()].windows(2).any(|pair| pair[0] > pair[1]) {
                let message =
                    format!("wcet of `{name}` falls from one criticality level to the next");
                field(Field::Wcet, message, "a higher level allows for more, never for less");
            }
        }
        if task.wcet.iter().any(|c| c.ns() > TIME_LIMIT) {
            field(
                Field::Wcet,
                format!("wcet of `{name}` is too long"),
                "at most about 36 years fit",
            );
        }
        if let Some(budget) = task.budget {
            if budget <= Service::ZERO {
                field(
                    Field::Budget,
                    format!("budget of `{name}` is {budget}"),
                    "it must be longer than zero",
                );
            } else if budget.at_unit_speed() > task.deadline {
                let message = format!(
                    "budget of `{name}` ({budget}) is larger than its deadline ({})",
                    task.deadline
                );
                field(Field::Budget, message, "raise `deadline` or lower `budget`");
            }
        }
        match self.platform.clusters.get(task.cluster) {
            None => {
                let message =
                    format!("`{name}` is in cluster {}, which does not exist", task.cluster);
                let help = format!(
                    "there are clusters 0 to {}",
                    self.platform.clusters.len().saturating_sub(1)
                );
                field(Field::Cluster, message, &help);
            }
            Some(cluster) => {
                if let Some(affinity) = &task.affinity
                    && (affinity.is_empty() || !affinity.is_subset(cluster))
                {
                    let message = format!(
                        "`{name}` may run on CPUs {affinity}, but its cluster has {cluster}"
                    );
                    field(
                        Field::Affinity,
                        message,
                        "an affinity is a non-empty part of the cluster",
                    );
                }
            }
        }
        match &task.behaviour {
            Behaviour::Explicit(releases) => {
                let out_of_range = |&at: &Time| !(0..=TIME_LIMIT).contains(&at.ns());
                if releases.iter().any(out_of_range)
                    || releases.windows(2).any(|pair| pair[0] > pair[1])
                {
                    let message = format!("the releases of `{name}` are not in order");
                    field(
                        Field::Behaviour,
                        message,
                        "list them from the earliest to the latest, from 0s on",
                    );
                }
            }
            Behaviour::SelfSuspending { gap } if *gap < Duration::ZERO => {
                field(
                    Field::Behaviour,
                    format!("`{name}` sleeps for {gap}"),
                    "it cannot be negative",
                );
            }
            Behaviour::Sporadic(
                Separation::Uniform { max } | Separation::Exponential { max, mean: _ },
            ) if *max < Duration::ZERO => {
                field(
                    Field::Behaviour,
                    format!("`{name}` comes {max} later"),
                    "it cannot be negative",
                );
            }
            Behaviour::Sporadic(Separation::Exponential { mean, .. })
                if *mean <= Duration::ZERO =>
            {
                field(
                    Field::Behaviour,
                    format!("`{name}` comes {mean} later on average"),
                    "the mean is positive",
                );
            }
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Hog
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => {}
        }
        let in_range = |c: Service| (0..=TIME_LIMIT).contains(&c.ns());
        let execution_ok = match &task.execution {
            ExecutionModel::Wcet => true,
            ExecutionModel::Level(level) => level.level() < self.levels.count(),
            ExecutionModel::Fraction(rate) => rate
                .as_i64_pair()
                .is_some_and(|(n, d)| n > 0 && n <= Speed::LIMIT && d <= Speed::LIMIT),
            ExecutionModel::Uniform { min, max } => min <= max && in_range(*min) && in_range(*max),
            ExecutionModel::Discrete(values) => {
                values.iter().all(|&(c, _)| in_range(c))
                    && values.iter().map(|&(_, weight)| u128::from(weight)).sum::<u128>() > 0
                    && values.iter().map(|&(_, weight)| u128::from(weight)).sum::<u128>() < 1 << 60
            }
            ExecutionModel::List(values) => {
                !values.is_empty() && values.iter().all(|&c| in_range(c))
            }
        };
        if !execution_ok {
            let message = format!("the execution times of `{name}` are out of range");
            field(
                Field::Execution,
                message,
                "times from 0 on, min <= max, a fraction above 0, at least one value with a weight",
            );
        }
    }

    fn validate_request(
        &self,
        index: usize,
        request: &Request,
        wrong: &mut impl FnMut(Place, String, &str),
    ) {
        let mut here = |message: String, help: &str| wrong(Place::Request(index), message, help);
        if !(0..=TIME_LIMIT).contains(&request.at.ns()) {
            here(format!("a request at {}", request.at), "requests come at 0s or later");
        }
        let mut cpu_exists = |cpu: CpuId| {
            if cpu.index() >= self.platform.cpu_count() {
                let help = format!("the CPUs are {}", self.platform.all_cpus());
                here(format!("CPU {cpu} does not exist"), &help);
            }
        };
        match &request.kind {
            RequestKind::Leave(_) => {}
            RequestKind::CpuOnline(cpu) | RequestKind::CpuOffline(cpu) => cpu_exists(*cpu),
            RequestKind::SetClusterCpus { cluster, cpus } => {
                cpus.iter().for_each(cpu_exists);
                if cpus.is_empty() || *cluster >= self.platform.clusters.len() {
                    here(
                        format!("cluster {cluster} gets CPUs {cpus}"),
                        "name a cluster and at least one CPU",
                    );
                }
            }
            RequestKind::Reconfigure(_, change) => match change {
                Change::Affinity(cpus) => {
                    cpus.iter().for_each(cpu_exists);
                    if cpus.is_empty() {
                        here("an empty affinity".to_owned(), "name at least one CPU");
                    }
                }
                Change::Cluster(cluster) => {
                    if *cluster >= self.platform.clusters.len() {
                        here(format!("cluster {cluster} does not exist"), "clusters count from 0");
                    }
                }
                Change::Parameters { wcet, period, deadline } => {
                    let positive = |ns: i64| (1..=TIME_LIMIT).contains(&ns);
                    if !positive(wcet.ns()) || !positive(period.ns()) || !positive(deadline.ns()) {
                        here(
                            "a parameter that is not positive".to_owned(),
                            "use times longer than zero",
                        );
                    }
                }
            },
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
    fn every_fault_is_found_in_one_pass() {
        let mut bad = task("a", 0, 4);
        bad.jitter = Duration::from_ns(-1);
        bad.affinity = Some(CpuSet::single(CpuId(7)));
        let mut budget = task("a", 1, 4);
        budget.budget = Some(Service::from_ms(5));
        let mut system = System::new(2, vec![bad, budget]);
        system.requests.push(Request { at: Time::ZERO, kind: RequestKind::CpuOffline(CpuId(2)) });
        let places: Vec<Place> = system.validate().iter().map(|invalid| invalid.place).collect();
        let (first, second) = (TaskId(0), TaskId(1));
        assert_eq!(
            places,
            [
                Place::Task(first, Field::Jitter),
                Place::Task(first, Field::Wcet),
                Place::Task(first, Field::Affinity),
                Place::Task(second, Field::Name),
                Place::Task(second, Field::Budget),
                Place::Request(0),
            ]
        );
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
