//! The rules that make a [`System`] valid, and the messages for violations.

mod caches;
mod chains;
mod curves;
mod graphs;
mod groups;
mod steps;
mod task;

use crate::{
    Change, CpuId, CpuSet, Duration, Index, Request, RequestKind, Speed, System, TIME_LIMIT,
    TaskId, TaskMap,
};
use num_integer::Integer;
use std::collections::BTreeMap;

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
    Preemption,
    Steps,
    Follows,
    LetInterval,
    Cache,
    Blocking,
    Group,
}

/// The part of a system that is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemPart {
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
    /// A step of a task, by index.
    Step(TaskId, usize),
    /// A resource, by index.
    Resource(usize),
    /// A group, by index.
    Group(usize),
    /// A chain, by index.
    Chain(usize),
    /// A request, by index.
    Request(usize),
}

/// One reason why a system is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Invalid {
    /// The invalid part.
    pub part: SystemPart,
    /// A description of the error.
    pub message: String,
    /// Advice for the user.
    pub help: String,
}

impl System {
    /// Returns every reason why this system is invalid; empty if the system is valid.
    ///
    /// Utilizations that exceed the CPUs are valid: the analyses and the simulator answer whether
    /// such a set works.
    pub fn validate(&self) -> Vec<Invalid> {
        let mut found = Vec::new();
        let mut wrong = |part, message: String, help: &str| {
            found.push(Invalid { part, message, help: help.to_owned() });
        };
        self.validate_platform(&mut wrong);
        if self.tasks.is_empty() {
            wrong(
                SystemPart::Set,
                "the set has no task".to_owned(),
                "add a [[task]], or -t name=1ms/5ms",
            );
        }
        let (mut names, are_numbered) = (BTreeMap::new(), self.are_tasks_numbered());
        for (id, task) in self.tasks.iter() {
            if !are_numbered && let Some(first) = names.insert(task.name.as_str(), id) {
                wrong(
                    SystemPart::Task(id, Field::Name),
                    format!("the name `{}` is taken by task {}", task.name, first.0 + 1),
                    "give every task a name of its own",
                );
            }
            self.validate_task(id, task, &mut wrong);
            self.validate_steps(id, task, &mut wrong);
            self.validate_let_interval(id, task, &mut wrong);
            self.validate_cache(id, task, &mut wrong);
            self.validate_curve(id, task, &mut wrong);
        }
        self.validate_resources(&mut wrong);
        self.validate_graphs(&mut wrong);
        self.validate_groups(&mut wrong);
        self.validate_chains(&mut wrong);
        let mut in_graph = TaskMap::filled(false, self.tasks.len());
        self.graphs().iter().flat_map(|graph| &graph.tasks).for_each(|&id| in_graph[id] = true);
        for (index, request) in self.requests.iter().enumerate() {
            self.validate_request(index, request, &mut wrong);
            let mut here = |message, help: &str| wrong(SystemPart::Request(index), message, help);
            self.validate_graph_request(&in_graph, request, &mut here);
            self.validate_curve_request(request, &mut here);
        }
        found
    }

    /// Returns true if the names of the tasks ascend, shorter ones first, as the names from
    /// generators do. Then no two names are equal.
    fn are_tasks_numbered(&self) -> bool {
        let names = self.tasks.values().map(|task| (task.name.len(), task.name.as_str()));
        names.is_sorted_by(|one, next| one < next)
    }

    fn validate_platform(&self, wrong: &mut impl FnMut(SystemPart, String, &str)) {
        let platform = &self.platform;
        if !(1..=CpuSet::MAX_CPUS).contains(&platform.cpu_count()) {
            let message = format!("{} CPUs", platform.cpu_count());
            wrong(SystemPart::Cpus, message, "a system has 1 to 4096 CPUs");
        }
        let mut common = 1i64;
        for (cpu, speed) in platform.speeds.iter() {
            common = common.lcm(&speed.denominator());
            if common > Speed::LIMIT {
                let message = "the speeds have no small common denominator".to_owned();
                wrong(SystemPart::Speed(cpu), message, "round them, to three decimals for example");
                break;
            }
        }
        // Work is counted in units of 1 / common nanoseconds, and the longest job must fit 64 bits.
        let longest =
            self.tasks.values().flat_map(|task| &task.wcet).max().copied().unwrap_or_default();
        if i128::from(longest.ns()) * i128::from(common) > i128::from(TIME_LIMIT) {
            let message = "execution times and speeds are too long to be kept exactly".to_owned();
            wrong(SystemPart::Set, message, "use speeds with smaller denominators");
        }
        let mut seen = CpuSet::new();
        for (index, cluster) in platform.clusters.iter().enumerate() {
            if cluster.is_empty() {
                wrong(
                    SystemPart::Cluster(index),
                    format!("cluster {index} is empty"),
                    "give it CPUs",
                );
            }
            let outside = cluster.difference(&platform.all_cpus());
            if !outside.is_empty() {
                let message = format!("cluster {index} has CPU {outside}, which does not exist");
                let help = format!("the CPUs are {}", platform.all_cpus());
                wrong(SystemPart::Cluster(index), message, &help);
            }
            let twice = cluster.intersection(&seen);
            if !twice.is_empty() {
                let message = format!("CPU {twice} is in two clusters");
                wrong(SystemPart::Cluster(index), message, "clusters are disjoint");
            }
            seen = seen.union(cluster);
        }
        if platform.clusters.is_empty() {
            wrong(
                SystemPart::Cpus,
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
            costs.block_reload_time,
        ];
        if all.iter().any(|&cost| cost < Duration::ZERO) {
            wrong(SystemPart::Overheads, "an overhead is negative".to_owned(), "use 0s for none");
        }
        if costs.tick > Duration::ZERO && costs.tick >= costs.tick_period {
            let message = format!("a tick of {} every {}", costs.tick, costs.tick_period);
            wrong(SystemPart::Overheads, message, "`tick_period` must be longer than `tick`");
        }
    }

    fn validate_request(
        &self,
        index: usize,
        request: &Request,
        wrong: &mut impl FnMut(SystemPart, String, &str),
    ) {
        let mut here =
            |message: String, help: &str| wrong(SystemPart::Request(index), message, help);
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
                        format!("cluster {cluster} gets {cpus:#}"),
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
    use crate::{Service, Task, Time};

    fn task(name: &str, c: i64, t: i64) -> Task {
        Task::implicit(name, Service::from_ms(c), Duration::from_ms(t))
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
        let parts: Vec<SystemPart> = system.validate().iter().map(|invalid| invalid.part).collect();
        let (first, second) = (TaskId(0), TaskId(1));
        assert_eq!(
            parts,
            [
                SystemPart::Task(first, Field::Jitter),
                SystemPart::Task(first, Field::Wcet),
                SystemPart::Task(first, Field::Affinity),
                SystemPart::Task(second, Field::Name),
                SystemPart::Task(second, Field::Budget),
                SystemPart::Request(0),
            ]
        );
    }
}
