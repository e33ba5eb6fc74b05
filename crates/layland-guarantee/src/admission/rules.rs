//! The two rules by which departed tasks cease to count, and the tests: see [`super`].
//!
//! Long because the properties of each algorithm are listed in one place.

use super::beside::Part;
use super::register::{Admitted, Guarantee, Holding, How, Overruns, Reservation};
use super::shortfall::Shortfall;
use super::{AdmissionError, Rule};
use crate::assess::assess;
use crate::assessment::{Assessment, Bound};
use crate::options::{AssessOptions, BoundsBy, Effort, Findings, Wanted};
use crate::views;
use layland_analysis::Verdict;
use layland_model::{
    Algorithm, Behaviour, CpuSet, Duration, Form, Order, Platform, Rate, Separation, System,
    TIME_LIMIT, Task, Time,
};
use layland_offline::Heuristic;
use layland_policy::deadline::KernelOptions;
use layland_policy::{Fit, PolicyOptions, Registry, cluster_size};

/// The CPUs to which a policy assigns a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placing {
    /// All CPUs of a cluster.
    Clusters,
    /// One CPU.
    OneCpu(Heuristic),
    /// The CPUs of the task's affinity, in a cluster.
    Affinities,
    /// All CPUs of a cluster, or one CPU.
    ClusterOrCpu,
}

/// The properties of a policy that admits tasks at run time.
#[derive(Clone, Debug)]
pub(super) struct Theory {
    /// The policy as passed to [`assess`]: with given partitions.
    pub(super) spec: String,
    pub(super) algorithm: Algorithm,
    pub(super) placing: Placing,
    pub(super) has_density_rule: bool,
    /// True for unit speeds without overheads.
    pub(super) has_ideal_cpus: bool,
}

impl Theory {
    pub(super) fn of(
        registry: &Registry,
        spec: &str,
        platform: &Platform,
    ) -> Result<Theory, AdmissionError> {
        let (info, options) = registry.parse(spec)?;
        let algorithm = info.algorithm(&options);
        let nobody = || AdmissionError::TakesNobody { policy: info.name.to_string() };
        let threads = if algorithm.schedules_threads() {
            Some(KernelOptions::of(algorithm, &options).map_err(|_| nobody())?)
        } else {
            None
        };
        let tied_only = threads.as_ref().is_some_and(|options| options.limit.is_some());
        let placing = match algorithm {
            Algorithm::Ordered(Form::Partitioned, _) | Algorithm::Levels(Form::Partitioned, _) => {
                Placing::OneCpu(fit(&options))
            }
            Algorithm::Ordered(Form::Clustered, _)
                if !matches!(cluster_size(&options), Ok(None)) =>
            {
                return Err(AdmissionError::OwnClusters { policy: info.name.to_string() });
            }
            Algorithm::Ordered(Form::Global | Form::Clustered, _)
            | Algorithm::Levels(Form::Global | Form::Clustered, _) => Placing::Clusters,
            Algorithm::Ordered(Form::Weak | Form::Strong | Form::Hierarchical, _)
            | Algorithm::Levels(Form::Weak | Form::Strong | Form::Hierarchical, _) => {
                Placing::Affinities
            }
            Algorithm::SchedDeadline if tied_only => Placing::Clusters,
            Algorithm::SchedDeadline => Placing::Affinities,
            Algorithm::SemiPartitionedDeadline => Placing::ClusterOrCpu,
            Algorithm::Edzl
            | Algorithm::Efdf
            | Algorithm::AdaptivePartitioning
            | Algorithm::Other => Placing::Clusters,
            Algorithm::Deferred(..)
            | Algorithm::FastestFirst(_)
            | Algorithm::Served(..)
            | Algorithm::Locking(..)
            | Algorithm::FairLateness
            | Algorithm::TopFirst(_)
            | Algorithm::Federated
            | Algorithm::Run
            | Algorithm::Qps
            | Algorithm::Pd2
            | Algorithm::ErPd2
            | Algorithm::DpWrap
            | Algorithm::LreTl
            | Algorithm::UEdf
            | Algorithm::Split(..)
            | Algorithm::Groups(_)
            | Algorithm::MixedCriticality(_) => {
                return Err(nobody());
            }
        };
        let has_ideal_cpus = platform.is_unit_speed() && platform.overheads.is_zero();
        // The tests of EDZL rest on global EDF, which the sum of densities is about; but they count
        // only jobs that keep to their WCETs.
        let is_edf = algorithm.ordered().is_some_and(|(_, order)| order == Order::Deadline)
            || threads.is_some_and(|options| {
                !views::is_another_theory(&System::new(1, Vec::new()), &options)
                    && options.throttle_cost == Duration::ZERO
            });
        let spec = match placing {
            Placing::OneCpu(_) => given(spec),
            Placing::Clusters | Placing::Affinities | Placing::ClusterOrCpu => spec.to_owned(),
        };
        let has_density_rule = is_edf && has_ideal_cpus;
        Ok(Theory { spec, algorithm, placing, has_density_rule, has_ideal_cpus })
    }

    /// Returns true if the policy schedules threads with budgets, so that no other task suffers
    /// from an overrun.
    pub(super) fn isolates(&self) -> bool {
        self.algorithm.schedules_threads()
    }

    /// Returns true if departures change how the policy treats the remaining tasks, even past quiet
    /// instants.
    fn remembers(&self, group: &CpuGroup) -> bool {
        self.algorithm == Algorithm::AdaptivePartitioning && group.cpus.len() > 1
    }

    /// Returns by how much earlier deadlines count: servers of `dl` must not exhaust their budgets
    /// at their deadlines (`views.rs`, point 3).
    fn earlier(&self, group: &CpuGroup) -> Duration {
        if self.algorithm == Algorithm::SchedDeadline && group.cpus.len() > 1 {
            Duration::from_ns(1)
        } else {
            Duration::ZERO
        }
    }

    /// Returns true if every job of `new` could be one of `old`, so that tests about `old` hold for
    /// `new`.
    fn covers(&self, old: &Reservation, new: &Reservation) -> bool {
        let order = self.algorithm.ordered().map(|(_, order)| order);
        let by_period = order == Some(Order::RateMonotonic);
        let period = if by_period { new.period == old.period } else { new.period >= old.period };
        period
            && new.runtime <= old.runtime
            && new.deadline == old.deadline
            && (new.priority, new.rank) == (old.priority, old.rank)
            && new.guarantee == old.guarantee
    }
}

/// Returns the policy with the partition that the affinities give.
fn given(spec: &str) -> String {
    let mut parts = spec.split(':');
    let name = parts.next().unwrap_or_default();
    let kept = parts.filter(|part| !part.starts_with("fit="));
    let mut given = name.to_owned();
    kept.for_each(|part| given = format!("{given}:{part}"));
    format!("{given}:fit=given")
}

/// Returns the heuristic that chooses the CPU of a task that joins. Tasks join one by one, so
/// heuristics that sort by size are the same as those that do not, and the first choice of
/// `fit=auto`, the default, is worst fit.
fn fit(options: &PolicyOptions) -> Heuristic {
    match Fit::of(options).ok().flatten().and_then(Fit::heuristic) {
        Some(Heuristic::Bf | Heuristic::Bfd) => Heuristic::Bf,
        Some(Heuristic::Wf | Heuristic::Wfd) | None => Heuristic::Wf,
        Some(_) => Heuristic::Ff,
    }
}

/// CPUs that are connected by tasks that may use several of them.
pub(super) struct CpuGroup {
    pub(super) cpus: CpuSet,
}

impl CpuGroup {
    pub(super) fn of<'a>(&self, holdings: &'a [Holding]) -> Vec<&'a Holding> {
        holdings.iter().filter(|holding| holding.cpus.is_subset(&self.cpus)).collect()
    }
}

/// Returns the groups of the holdings.
pub(super) fn components(holdings: &[Holding]) -> Vec<CpuGroup> {
    let mut groups: Vec<CpuSet> = Vec::new();
    for holding in holdings {
        let mut joined = holding.cpus.clone();
        groups.retain(|group| {
            let meets = !group.is_disjoint(&joined);
            if meets {
                joined = joined.union(group);
            }
            !meets
        });
        groups.push(joined);
    }
    groups.into_iter().map(|cpus| CpuGroup { cpus }).collect()
}

/// Checks that the densities in use at `now` sum to at most `m - (m - 1) max`. All tasks must use
/// all CPUs of the group. For a task that changed, the larger of its densities counts.
pub(super) fn densities_fit(
    held: &[&Holding],
    group: &CpuGroup,
    now: Time,
    earlier: Duration,
) -> Result<Rate, Box<Shortfall>> {
    if held.iter().any(|holding| holding.cpus != group.cpus) {
        return Err(Box::new(Shortfall::Mixed { cpus: group.cpus.clone() }));
    }
    let in_use = |holding: &&&Holding| holding.left.is_none_or(|left| left.until > now);
    let mut largest: Vec<(u64, Rate)> = Vec::new();
    for holding in held.iter().filter(in_use) {
        let window = holding.task.window() - earlier;
        if window <= Duration::ZERO {
            return Err(Box::new(Shortfall::Mixed { cpus: group.cpus.clone() }));
        }
        let density = Rate::new(holding.task.runtime.ns(), window.ns());
        match largest.iter_mut().find(|(id, _)| *id == holding.id) {
            Some((_, known)) => *known = known.clone().max(density),
            None => largest.push((holding.id, density)),
        }
    }
    let m = Rate::whole(group.cpus.len() as i64);
    let widest = largest.iter().map(|(_, density)| density.clone()).max().unwrap_or(Rate::ZERO);
    let limit = &m - &(&(&m - &Rate::ONE) * &widest);
    let sum: Rate = largest.into_iter().map(|(_, density)| density).sum();
    if sum <= limit {
        Ok(sum)
    } else {
        Err(Box::new(Shortfall::Density { cpus: group.cpus.clone(), sum, limit }))
    }
}

/// Returns the longest time that a CPU of unit speed can be busy with these tasks and loads, if it
/// is known.
pub(super) fn busy_period(parts: &[Part]) -> Option<Duration> {
    /// The limit on iterations: near full utilization, the fixed point is far away.
    const STEPS: usize = 10_000;
    let demand = |length: i128| parts.iter().map(|part| part.arrives(length)).sum::<i128>();
    let mut length = demand(1);
    for _ in 0..STEPS {
        let next = demand(length);
        if next <= length {
            return i64::try_from(length).ok().map(Duration::from_ns);
        }
        if next > i128::from(TIME_LIMIT) {
            return None;
        }
        length = next;
    }
    None
}

/// The context in which a register is checked.
pub(super) struct Case<'a> {
    pub(super) registry: &'a Registry,
    pub(super) theory: &'a Theory,
    pub(super) now: Time,
    pub(super) effort: Effort,
}

/// The result of a check that succeeded.
pub(super) struct Shown {
    pub(super) decided_by: Option<&'static str>,
    pub(super) rule: Rule,
    /// See [`Admitted::exceeded`].
    pub(super) exceeded: CpuSet,
}

impl Case<'_> {
    /// Checks that every task in `after` keeps its guarantee from now on, despite departed tasks.
    pub(super) fn check(&self, after: &Admitted) -> Result<Shown, Vec<Shortfall>> {
        let mut shortfalls = Vec::new();
        let mut members: Vec<&Holding> = Vec::new();
        let mut exceeded = after.exceeded.clone();
        let mut rule = Rule::Density;
        for group in components(&after.holdings) {
            let held = group.of(&after.holdings);
            match self.density_rule(after, &held, &group) {
                Ok(()) => {
                    let counts = |holding: &&&Holding| match holding.left {
                        None => true,
                        Some(left) => left.how == How::Gone && left.until > self.now,
                    };
                    members.extend(held.iter().filter(counts));
                }
                Err(shortfall) => {
                    if self.theory.remembers(&group) || !after.forgotten.is_disjoint(&group.cpus) {
                        return Err(vec![*shortfall]);
                    }
                    if self.may_resume(after, &held, &group) {
                        return Err(vec![*shortfall, Shortfall::MayResume { cpus: group.cpus }]);
                    }
                    rule = Rule::Quiet;
                    if self.theory.has_density_rule {
                        exceeded = exceeded.union(&group.cpus);
                        shortfalls.push(*shortfall);
                    }
                    members.extend(self.since_quiet(&held));
                }
            }
        }
        if members.is_empty() {
            return Ok(Shown { decided_by: None, rule, exceeded });
        }
        match self.assess(after, &members) {
            Ok(decided_by) => Ok(Shown { decided_by, rule, exceeded }),
            Err(found) => {
                shortfalls.extend(found);
                Err(shortfalls)
            }
        }
    }

    /// Returns true if servers may continue with a remaining budget although the tests count jobs.
    fn may_resume(&self, after: &Admitted, held: &[&Holding], group: &CpuGroup) -> bool {
        let hard = |holding: &&Holding| holding.task.guarantee == Guarantee::Deadlines;
        let constrained = |holding: &&Holding| holding.task.deadline != holding.task.period;
        self.theory.isolates()
            && after.overruns == Overruns::Possible
            && (held.iter().any(constrained) || group.cpus.len() > 1 && held.iter().any(hard))
    }

    /// Applies the density rule to a group.
    fn density_rule(
        &self,
        after: &Admitted,
        held: &[&Holding],
        group: &CpuGroup,
    ) -> Result<(), Box<Shortfall>> {
        let theory = self.theory;
        if !theory.has_density_rule {
            return Err(Box::new(Shortfall::NoDensityRule));
        }
        let sum = densities_fit(held, group, self.now, theory.earlier(group))?;
        if !after.exceeded.is_disjoint(&group.cpus) {
            return Err(Box::new(Shortfall::Exceeded { cpus: group.cpus.clone() }));
        }
        if theory.remembers(group) {
            // The policy places a newcomer where departures seem to leave room, so all must fit one
            // CPU.
            let leaves =
                held.iter().any(|holding| holding.left.is_some_and(|left| left.until > self.now));
            if leaves && sum > Rate::ONE {
                let (cpus, limit) = (group.cpus.clone(), Rate::ONE);
                return Err(Box::new(Shortfall::Density { cpus, sum, limit }));
            }
        }
        Ok(())
    }

    /// Returns every task since the last quiet instant; old and new parameters of a task count once
    /// if one covers the other.
    fn since_quiet<'h>(&self, held: &[&'h Holding]) -> Vec<&'h Holding> {
        let is_covered = |(at, holding): (usize, &&Holding)| {
            held.iter().enumerate().any(|(other, by)| {
                // If two cover each other, the later one stands for both.
                by.id == holding.id
                    && other != at
                    && self.theory.covers(&by.task, &holding.task)
                    && (other > at || !self.theory.covers(&holding.task, &by.task))
            })
        };
        let all = held.iter().enumerate().filter(|&(at, holding)| !is_covered((at, holding)));
        all.map(|(_, holding)| *holding).collect()
    }

    fn assess(
        &self,
        after: &Admitted,
        members: &[&Holding],
    ) -> Result<Option<&'static str>, Vec<Shortfall>> {
        let system = system_of(&after.platform, members);
        let promised = members.iter().filter(|holding| has_promise(holding));
        let by_bounds = promised.map(|it| it.task.guarantee).any(|it| it != Guarantee::Deadlines);
        let ask = |findings, bounds| {
            let wanted = Wanted { findings, bounds, ..Wanted::default() };
            let effort = self.effort.without_runs();
            let options = AssessOptions { wanted, effort, ..AssessOptions::default() };
            assess(self.registry, &self.theory.spec, &system, &options)
                .map_err(|error| vec![Shortfall::Policy { reason: error.to_string() }])
        };
        let bounds = if by_bounds { BoundsBy::Named } else { BoundsBy::Nobody };
        let found = ask(Findings::Verdict, bounds)?;
        if found.verdict == Verdict::Yes {
            return Ok(found.decided_by);
        }
        // Tasks that admission control rejects have no bounds.
        if by_bounds && found.bounds.len() == members.len() {
            let late: Vec<Shortfall> = late(members, &found);
            return if late.is_empty() { Ok(None) } else { Err(late) };
        }
        let found = ask(Findings::UntilDecided, BoundsBy::Nobody)?;
        let policy = after.spec.clone();
        let (test, reasons) = (found.decided_by, found.reasons);
        Err(vec![Shortfall::Test { policy, test, reasons }])
    }
}

/// Returns true if a job with a guarantee may be pending. A changed task may have a job of its old
/// parameters.
fn has_promise(holding: &Holding) -> bool {
    holding.left.is_none_or(|left| left.how == How::Changed)
}

/// Returns the shortfalls of tasks whose bounds exceed their guarantees.
fn late(members: &[&Holding], found: &Assessment) -> Vec<Shortfall> {
    let admitted = members.iter().zip(found.bounds.values());
    let is_late = |(holding, bound): (&&Holding, &Bound)| {
        if !has_promise(holding) {
            return None;
        }
        let task = &holding.task;
        let allowed = match task.guarantee {
            Guarantee::Deadlines => Duration::ZERO,
            Guarantee::Tardiness(allowed) => allowed,
        };
        let tardiness = match bound {
            Bound::Response { within, .. } => Some(Rate::whole((*within - task.deadline).ns())),
            Bound::Tardiness { within, .. } => Some(within.clone()),
            Bound::Unknown => None,
        };
        let kept = tardiness.as_ref().is_some_and(|it| *it <= Rate::whole(allowed.ns()));
        (!kept).then(|| Shortfall::Bound { task: task.name.clone(), tardiness, allowed })
    };
    admitted.filter_map(is_late).collect()
}

/// Returns the system that is analysed: sporadic tasks.
pub(super) fn system_of(platform: &Platform, members: &[&Holding]) -> System {
    let task = |(at, holding): (usize, &&Holding)| {
        let task = &holding.task;
        let cluster = holding.cpus.lowest().and_then(|cpu| platform.cluster_of(cpu)).unwrap_or(0);
        let is_whole = platform.clusters.get(cluster) == Some(&holding.cpus);
        // A departed task may have the same name as a newcomer.
        let name = match holding.left {
            None => task.name.clone(),
            Some(_) => format!("{} (left, {at})", task.name),
        };
        Task {
            deadline: task.deadline,
            affinity: (!is_whole).then(|| holding.cpus.clone()),
            cluster,
            priority: task.priority,
            behaviour: Behaviour::Sporadic(Separation::Uniform { max: task.period }),
            ..Task::implicit(name, task.runtime, task.period)
        }
    };
    let tasks: Vec<Task> = members.iter().enumerate().map(task).collect();
    let mut system = System::new(platform.cpu_count(), tasks);
    for (task, holding) in system.tasks.values_mut().zip(members) {
        task.rank = holding.task.rank;
    }
    system.platform = platform.clone();
    system
}
