//! The assumptions of the tests, as data that can be listed and checked.
//!
//! Long because every assumption has its name and its text here.

use layland_model::{
    CpuId, CpuSet, ExecutionModel, Field, Rate, Service, System, SystemPart, Task, TaskId,
};
use std::collections::BTreeMap;
use std::fmt;

mod caches;
mod cpus;
mod graphs;
mod groups;
mod parameters;
mod steps;

/// A property that a test assumes of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assumption {
    /// Jobs of a task arrive at least a period apart, whatever happens to earlier jobs.
    SporadicReleases,
    /// Jobs of a task arrive at least a period apart, or by an arrival curve.
    BoundedArrivals,
    /// A job is ready when it arrives.
    NoJitter,
    /// Every deadline is the period.
    ImplicitDeadlines,
    /// No deadline is longer than the period.
    ConstrainedDeadlines,
    /// No task needs more processor time per job than the time until its deadline.
    FitsAlone,
    /// No job executes for longer than the WCET.
    WcetKept,
    /// No job executes for longer than the budget of its thread, which is its WCET if none is given.
    BudgetKept,
    /// Overheads are part of the WCETs. Reloads of cache blocks are not covered.
    NoOverheads,
    /// Every CPU has unit speed.
    UnitSpeeds,
    /// Nothing about tasks and CPUs changes while the system runs.
    NoRequests,
    /// Every task may use every CPU of its cluster.
    WholeClusters,
    /// There is one cluster with every CPU.
    OneCluster,
    /// Every task may use exactly one CPU.
    OneCpuEach,
    /// Every task may use its whole cluster or exactly one CPU.
    SemiPartitioned,
    /// Every task has a priority.
    Priorities,
    /// Affinities are all CPUs, or disjoint sets of CPUs.
    TwoLevels,
    /// Execution times do not grow above a task's own criticality level.
    OwnLevel,
    /// At most [`PAIRS`] pairs of tasks share CPUs: the test compares each of them, often many times.
    FewPairs,
    /// There are at most two criticality levels.
    TwoCriticalities,
    /// A job can be preempted anywhere. No test lists it: every test assumes it unless it is
    /// necessary or about non-preemptive regions.
    Preemptible,
    /// Jobs lock nothing and do not suspend themselves. No test lists it: every test assumes it
    /// unless it is necessary or about locks.
    OnlyExecutes,
    /// Jobs lock nothing.
    NoSections,
    /// Jobs do not suspend themselves.
    NoSuspension,
    /// No job suspends itself while it holds a resource.
    SuspendedOutside,
    /// The tasks that use a resource use one CPU.
    LocalResources,
    /// No job locks a resource while it holds another one.
    Flat,
    /// Nested sections lock their resources in one consistent order.
    OrderedNesting,
    /// Only resources whose users share one CPU are locked in nested sections.
    NestedLocally,
    /// Every resource in use has a home; nested sections have the home of their users.
    Homes,
    /// No task follows another one. No test lists it: every test assumes it unless it is necessary
    /// or about graphs.
    Independent,
    /// Some task follows another one, and the tasks of a graph have one deadline and the same CPUs.
    Graphs,
    /// Some task follows another one, and the tasks of a graph have the same CPUs.
    GraphsTogether,
    /// No task follows a task with a later deadline.
    DeadlinesAlong,
    /// The tasks of a graph have one priority, and other graphs of the cluster have others.
    GraphPriorities,
    /// Different graphs of a cluster have different periods.
    GraphPeriods,
    /// Different graphs of a cluster have different deadlines.
    GraphDeadlines,
    /// No job has to reload blocks that others have evicted from its cache. No test lists it: every
    /// test assumes it unless it is necessary or about caches.
    NoCacheDelay,
    /// Some job may have to reload blocks: the platform has a block reload time, and a task has
    /// useful blocks.
    CacheDelay,
    /// No task has a blocking time. No test lists it: every test assumes it unless it is necessary
    /// or about blocking times.
    NoBlocking,
    /// Jobs of lower priority delay a job for no longer than its blocking time, once in a busy period.
    BlockingKept,
    /// Groups have constant-bandwidth servers with budgets, and every other task may use exactly one
    /// CPU.
    GroupsByDeadline,
    /// Groups have one deferrable or polling server each, with a budget and a priority. Every other
    /// task has a priority, a deadline within its period, and exactly one CPU.
    GroupsByPriority,
    /// There is one criticality level.
    OneLevel,
    /// No task belongs to a group with a budget. No test lists it: every test assumes it unless it is
    /// necessary.
    NoGroups,
    /// A set that was inferred explains everything in its trace. No test lists it: every test
    /// assumes it.
    Explained,
}
use Assumption::{
    BlockingKept, BoundedArrivals, BudgetKept, CacheDelay, ConstrainedDeadlines, DeadlinesAlong,
    Explained, FewPairs, FitsAlone, Flat, GraphDeadlines, GraphPeriods, GraphPriorities, Graphs,
    GraphsTogether, GroupsByDeadline, GroupsByPriority, Homes, ImplicitDeadlines, Independent,
    LocalResources, NestedLocally, NoBlocking, NoCacheDelay, NoGroups, NoJitter, NoOverheads,
    NoRequests, NoSections, NoSuspension, OneCluster, OneCpuEach, OneLevel, OnlyExecutes,
    OrderedNesting, OwnLevel, Preemptible, Priorities, SemiPartitioned, SporadicReleases,
    SuspendedOutside, TwoCriticalities, TwoLevels, UnitSpeeds, WcetKept, WholeClusters,
};

/// The maximum number of pairs of tasks that a test compares, that of 4,096 tasks on the same CPUs.
/// A pass over more takes seconds, and tests need up to a hundred.
pub const PAIRS: u64 = 1 << 24;

/// The help for a set that does not explain everything in its trace.
pub const EXPLAIN: &str =
    "make the set as demanding as its trace and remove `unexplained`, or record and infer again";

/// Appends one assumption to a list.
pub(crate) const fn and<const N: usize>(all: &[Assumption], one: Assumption) -> [Assumption; N] {
    assert!(all.len() + 1 == N, "the length is that of the list and one");
    let mut longer = [one; N];
    let (front, _) = longer.split_at_mut(all.len());
    front.copy_from_slice(all);
    longer
}

/// The reason why a test cannot be applied to a system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The assumption that is broken.
    pub assumption: Assumption,
    /// The part of the system that breaks it.
    pub part: SystemPart,
    /// The property that the system has instead.
    pub message: String,
    /// Advice on how to fix the system.
    pub help: &'static str,
}

impl Refusal {
    /// The task that breaks the assumption, if a task does.
    pub fn task(&self) -> Option<TaskId> {
        match self.part {
            SystemPart::Task(task, _) | SystemPart::Step(task, _) => Some(task),
            SystemPart::Set
            | SystemPart::Cpus
            | SystemPart::Speed(_)
            | SystemPart::Cluster(_)
            | SystemPart::Overheads
            | SystemPart::Resource(_)
            | SystemPart::Group(_)
            | SystemPart::Chain(_)
            | SystemPart::Request(_) => None,
        }
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

impl Assumption {
    /// Every assumption.
    pub const ALL: [Assumption; 46] = [
        SporadicReleases,
        BoundedArrivals,
        NoJitter,
        ImplicitDeadlines,
        ConstrainedDeadlines,
        FitsAlone,
        WcetKept,
        BudgetKept,
        NoOverheads,
        UnitSpeeds,
        NoRequests,
        WholeClusters,
        OneCluster,
        OneCpuEach,
        SemiPartitioned,
        Priorities,
        TwoLevels,
        OwnLevel,
        FewPairs,
        TwoCriticalities,
        Preemptible,
        OnlyExecutes,
        NoSections,
        NoSuspension,
        SuspendedOutside,
        LocalResources,
        Flat,
        OrderedNesting,
        NestedLocally,
        Homes,
        Independent,
        Graphs,
        GraphsTogether,
        DeadlinesAlong,
        GraphPriorities,
        GraphPeriods,
        GraphDeadlines,
        NoCacheDelay,
        CacheDelay,
        NoBlocking,
        BlockingKept,
        GroupsByDeadline,
        GroupsByPriority,
        OneLevel,
        NoGroups,
        Explained,
    ];

    /// A short name, for programs and for `layland explain`.
    pub const fn code(self) -> &'static str {
        match self {
            SporadicReleases => "sporadic-releases",
            BoundedArrivals => "bounded-arrivals",
            NoJitter => "no-jitter",
            ImplicitDeadlines => "implicit-deadlines",
            ConstrainedDeadlines => "constrained-deadlines",
            FitsAlone => "fits-alone",
            WcetKept => "wcet-kept",
            BudgetKept => "budget-kept",
            NoOverheads => "no-overheads",
            UnitSpeeds => "unit-speeds",
            NoRequests => "no-requests",
            WholeClusters => "whole-clusters",
            OneCluster => "one-cluster",
            OneCpuEach => "one-cpu-each",
            SemiPartitioned => "semi-partitioned",
            Priorities => "priorities",
            TwoLevels => "two-levels",
            OwnLevel => "own-level",
            FewPairs => "few-pairs",
            TwoCriticalities => "two-criticalities",
            Preemptible => "preemptible",
            OnlyExecutes => "only-executes",
            NoSections => "no-sections",
            NoSuspension => "no-suspension",
            SuspendedOutside => "suspended-outside",
            LocalResources => "local-resources",
            Flat => "flat",
            OrderedNesting => "ordered-nesting",
            NestedLocally => "nested-locally",
            Homes => "homes",
            Independent => "independent",
            Graphs => "graphs",
            GraphsTogether => "graphs-together",
            DeadlinesAlong => "deadlines-along",
            GraphPriorities => "graph-priorities",
            GraphPeriods => "graph-periods",
            GraphDeadlines => "graph-deadlines",
            NoCacheDelay => "no-cache-delay",
            CacheDelay => "cache-delay",
            NoBlocking => "no-blocking",
            BlockingKept => "blocking-kept",
            GroupsByDeadline => "groups-by-deadline",
            GroupsByPriority => "groups-by-priority",
            OneLevel => "one-level",
            NoGroups => "no-groups",
            Explained => "explained",
        }
    }

    /// The assumption as a clause.
    pub const fn text(self) -> &'static str {
        match self {
            SporadicReleases => "jobs of a task arrive at least a period apart",
            BoundedArrivals => {
                "jobs of a task arrive at least a period apart, or by an arrival curve"
            }
            NoJitter => "a job is ready when it arrives",
            ImplicitDeadlines => "every deadline is the period",
            ConstrainedDeadlines => "no deadline is longer than the period",
            FitsAlone => "no WCET is longer than the deadline",
            WcetKept => "no job executes for longer than the WCET",
            BudgetKept => "no job executes for longer than the budget of its thread",
            NoOverheads => "overheads are part of the WCETs",
            UnitSpeeds => "every CPU has unit speed",
            NoRequests => "tasks and CPUs stay as they are",
            WholeClusters => "every task may use every CPU of its cluster",
            OneCluster => "there is one cluster with every CPU",
            OneCpuEach => "every task may use exactly one CPU",
            SemiPartitioned => "every task may use its whole cluster or exactly one CPU",
            Priorities => "every task has a priority",
            TwoLevels => "affinities are all CPUs, or disjoint sets of CPUs",
            OwnLevel => "execution times do not grow above a task's own criticality level",
            FewPairs => "at most 16,777,216 pairs of tasks share CPUs",
            TwoCriticalities => "there are at most two criticality levels",
            Preemptible => "a job can be preempted anywhere",
            OnlyExecutes => "jobs lock nothing and do not suspend themselves",
            NoSections => "jobs lock nothing",
            NoSuspension => "jobs do not suspend themselves",
            SuspendedOutside => "no job suspends itself while it holds something",
            LocalResources => "the tasks that use a resource use one CPU",
            Flat => "no job locks something while it holds something",
            OrderedNesting => "resources that are locked within each other are so in one order",
            NestedLocally => "only resources of tasks on one CPU are locked within each other",
            Homes => "every resource has a home, nested ones that of their users",
            Independent => "no task follows another one",
            Graphs => {
                "tasks follow others, and those of a graph have one deadline and the same CPUs"
            }
            GraphsTogether => "tasks follow others, and those of a graph have the same CPUs",
            DeadlinesAlong => "no task follows one of a later deadline",
            GraphPriorities => {
                "tasks of one graph have one priority, and those of another one another"
            }
            GraphPeriods => "different graphs have different periods",
            GraphDeadlines => "different graphs have different deadlines",
            NoCacheDelay => "no job reloads what others have evicted from its cache",
            CacheDelay => "jobs reload what others have evicted from their caches",
            NoBlocking => "no task has a blocking time",
            BlockingKept => "jobs of lower priority delay a job by its blocking time at most",
            GroupsByDeadline => {
                "groups have constant-bandwidth servers, and other tasks may use exactly one CPU"
            }
            GroupsByPriority => {
                "groups have one deferrable or polling server, and other tasks may use exactly one CPU"
            }
            OneLevel => "there is one criticality level",
            NoGroups => "no task belongs to a group with a budget",
            Explained => "a set that was inferred explains all that its trace shows",
        }
    }

    /// Checks these assumptions in order.
    pub(crate) fn check_all(assumptions: &[Assumption], system: &System) -> Result<(), Refusal> {
        assumptions.iter().try_for_each(|assumption| assumption.check(system))
    }

    /// Checks that a valid system keeps this assumption.
    ///
    /// # Errors
    /// Returns the part that breaks it, and how to fix the system.
    pub fn check(self, system: &System) -> Result<(), Refusal> {
        match self {
            SporadicReleases | BoundedArrivals | NoJitter | ImplicitDeadlines
            | ConstrainedDeadlines | FitsAlone | WcetKept | BudgetKept | Priorities | OwnLevel
            | Preemptible | NoBlocking => self.check_parameters(system),
            GroupsByDeadline | GroupsByPriority | NoGroups => self.check_groups(system),
            OneLevel => match system.levels.count() {
                1 => Ok(()),
                more => self.refuse(
                    SystemPart::Set,
                    format!("there are {more} criticality levels"),
                    "use one level",
                ),
            },
            UnitSpeeds | WholeClusters | OneCluster | OneCpuEach | SemiPartitioned | FewPairs
            | TwoLevels => self.check_cpus(system),
            OnlyExecutes | NoSections | NoSuspension | SuspendedOutside | LocalResources | Flat
            | OrderedNesting | NestedLocally | Homes => self.check_steps(system),
            Independent | Graphs | GraphsTogether | DeadlinesAlong | GraphPriorities
            | GraphPeriods | GraphDeadlines => self.check_graphs(system),
            NoCacheDelay | CacheDelay => self.check_caches(system),
            NoOverheads => {
                if system.platform.overheads.without_reloads().is_zero() {
                    Ok(())
                } else {
                    self.refuse(
                        SystemPart::Overheads,
                        "the platform has overheads".to_owned(),
                        "add them to the WCETs and set them to zero",
                    )
                }
            }
            Explained => match system.unexplained().first() {
                None => Ok(()),
                Some(first) => self.refuse(
                    SystemPart::Set,
                    format!("the trace shows what the set does not explain: {first}"),
                    EXPLAIN,
                ),
            },
            NoRequests => match system.requests.first() {
                None => Ok(()),
                Some(request) => self.refuse(
                    SystemPart::Request(0),
                    format!("the system changes at {}", request.at),
                    "analyse the system before and after the change as two systems",
                ),
            },
            TwoCriticalities => match system.levels.count() {
                1 | 2 => Ok(()),
                more => self.refuse(
                    SystemPart::Set,
                    format!("there are {more} criticality levels"),
                    "use AMC-RT or AMC-IA, which are for any number of levels",
                ),
            },
            // The user guarantees this number; nothing in the system can contradict it.
            BlockingKept => Ok(()),
        }
    }

    /// Refuses the first task with this fault in a field.
    fn each_task(
        self,
        system: &System,
        field: Field,
        broken: &dyn Fn(TaskId, &Task) -> Option<String>,
        help: &'static str,
    ) -> Result<(), Refusal> {
        for (id, task) in system.tasks.iter() {
            if let Some(what) = broken(id, task) {
                let message = format!("task `{}` {what}", task.name);
                return self.refuse(SystemPart::Task(id, field), message, help);
            }
        }
        Ok(())
    }

    fn refuse(self, part: SystemPart, message: String, help: &'static str) -> Result<(), Refusal> {
        Err(Refusal { assumption: self, part, message, help })
    }
}

/// Returns the number of ordered pairs of tasks that share CPUs. Tasks tied to the same CPU share
/// it; all other tasks of a cluster share the cluster.
pub fn pairs(system: &System) -> u64 {
    let clusters = &system.platform.clusters;
    let mut whole = vec![0u64; clusters.len()];
    let mut tied: BTreeMap<(usize, Option<CpuId>), u64> = BTreeMap::new();
    for task in system.tasks.values() {
        let one = task.affinity.as_ref().filter(|allowed| allowed.len() == 1);
        match one.filter(|_| clusters[task.cluster].len() > 1) {
            Some(cpu) => *tied.entry((task.cluster, cpu.lowest())).or_default() += 1,
            None => whole[task.cluster] += 1,
        }
    }
    whole.iter().chain(tied.values()).map(|count| count * count).sum()
}

/// Returns the CPUs that a task may use, and its cluster.
pub(crate) fn masks(system: &System, task: TaskId) -> (&CpuSet, &CpuSet) {
    let task = &system.tasks[task];
    let cluster = &system.platform.clusters[task.cluster];
    (task.affinity.as_ref().unwrap_or(cluster), cluster)
}

/// Returns the longest execution time of the task's jobs according to its execution model.
pub fn longest_execution(task: &Task) -> Service {
    let wcet = task.own_wcet();
    match &task.execution {
        ExecutionModel::Wcet => wcet,
        ExecutionModel::Level(level) => task.wcet.get(level.level()).copied().unwrap_or(wcet),
        ExecutionModel::Fraction(fraction) => (fraction * &Rate::whole(wcet.ns()))
            .ceil()
            .map_or(Service::MAX, |ns| Service::from_ns(ns.max(1))),
        ExecutionModel::Uniform { max, .. } => *max,
        ExecutionModel::Discrete(values) => {
            values.iter().map(|&(work, _)| work).max().unwrap_or_default()
        }
        ExecutionModel::List(values) => values.iter().max().copied().unwrap_or_default(),
    }
}
