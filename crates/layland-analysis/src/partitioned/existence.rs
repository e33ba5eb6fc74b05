//! Existence of a partition of the tasks with which EDF meets every deadline on each CPU.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `C_i <= D_i`,
//! (4) WCETs are kept, (5) overheads are part of `C_i`, (6) nothing changes while the system runs.
//! Affinities are respected. On a CPU of another speed than 1, `C_i` is the time that a job takes there.
//!
//! The steps, from cheap to expensive; the first that succeeds answers *yes*:
//!
//! 1. each packing heuristic by density, `C_i / min(D_i, T_i)`;
//! 2. if no deadline is shorter than its period: exhaustive search (NP-complete) of at most
//!    [`NODES`] nodes. A CPU can then schedule its tasks if and only if their utilizations sum to
//!    at most 1, so the search is **exact** if it ends, and answers *no*;
//! 3. otherwise: each heuristic where a task fits a CPU if the processor-demand test says so, and
//!    then exhaustive search with that test, of at most [`DEMAND_NODES`] nodes: **exact** if it
//!    ends. If a search gives up, the answer is *unknown*.

use super::timed::Timed;
use crate::Assumption::*;
use crate::group::{Group, exact, exact_in_the_long_run};
use crate::uniprocessor::edf::{Demand, points, processor_demand};
use crate::{
    Certify, Decide, Finding, Part, Reason, SchedulabilityTest, Subject, TestKind, Verdict,
};
use layland_model::{CpuId, CpuSet, Index, Rate, RateSum, System, Task, TaskId, TaskMap};
use layland_offline::{Bins, Existence, Heuristic, exists_partition, partition, place};
use std::cmp::Ordering;

/// The maximum number of nodes that the exhaustive search of [`TEST`] visits.
pub const NODES: u64 = 1_000_000;

/// The maximum number of times that the exhaustive search of [`TEST`] computes the processor demand
/// of a CPU.
pub const DEMAND_NODES: u64 = 20_000;

/// Searches for a partition in at most [`NODES`] nodes.
///
/// ```
/// use layland_analysis::{Verdict, partitioned::existence};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
/// let three = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// assert_eq!(existence::TEST.run(&three).unwrap().verdict, Verdict::No);
/// let two = System::new(2, ["a", "b"].map(task).to_vec());
/// assert_eq!(existence::TEST.run(&two).unwrap().verdict, Verdict::Yes);
///
/// // Stevanato et al., Section II: no two of three tasks (6, 10, 10) fit one CPU.
/// let task = |name| Task::implicit(name, Service::from_ms(6), Duration::from_ms(10));
/// let three = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// assert_eq!(existence::TEST.run(&three).unwrap().verdict, Verdict::No);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "PARTITION",
    title: "a partition on which EDF meets every deadline: heuristics, then exhaustive search",
    subject: Subject::SomePartition,
    kind: TestKind::Exact,
    assumptions: &[SporadicReleases, NoJitter, FitsAlone, WcetKept, NoOverheads, NoRequests],
    citations: &[],
    certify: Certify::By(parts),
    decide: Decide::by(|system| find(system, NODES)),
};

/// Returns the CPUs that have tasks in the partition that is found, and the points at which the
/// demand is compared.
fn parts(system: &System) -> Result<Vec<Part>, &'static str> {
    if !system.platform.is_unit_speed() {
        return Err("the verifier knows partitions onto CPUs of unit speed alone");
    }
    let reasons = find(system, NODES).reasons;
    let [Reason::Partition(cpu_of)] = &reasons[..] else { return Err("there is no partition") };
    let groups = system.platform.cpus().map(|cpu| Group {
        cpus: CpuSet::single(cpu),
        tasks: system.tasks.iter().filter(|&(id, _)| cpu_of[id] == cpu).collect(),
    });
    groups.filter(|group| !group.tasks.is_empty()).map(|group| points(&group)).collect()
}

fn find(system: &System, nodes: u64) -> Finding {
    let mut failed = None;
    for heuristic in Heuristic::ALL {
        match partition(system, heuristic) {
            Ok(cpu_of) => return Finding::new(Verdict::Yes, Reason::Partition(cpu_of)),
            Err(unplaced) => failed = failed.or(Some(unplaced)),
        }
    }
    if system.tasks.values().all(|task| task.deadline >= task.period) {
        return match exists_partition(system, nodes) {
            Existence::Partition(cpu_of) => Finding::new(Verdict::Yes, Reason::Partition(cpu_of)),
            Existence::NoPartition => {
                let why = "no assignment of the tasks to the CPUs they may use keeps every CPU \
                           within its capacity";
                let reason = Reason::NotPartitioned(why.to_owned());
                exact_in_the_long_run(system, false, reason)
            }
            Existence::Unknown { nodes } => {
                let why = format!(
                    "no heuristic finds a partition, and {nodes} nodes of the search \
                                   for one did not decide whether one exists"
                );
                Finding::new(Verdict::Unknown, Reason::NotPartitioned(why))
            }
        };
    }
    let Some(timed) = Timed::of(system) else {
        let why = "a task takes longer on a slow CPU than any time that is counted".to_owned();
        return Finding::new(Verdict::Unknown, Reason::NotPartitioned(why));
    };
    let by_demand =
        Heuristic::ALL.into_iter().find_map(|heuristic| by_demand(system, &timed, heuristic));
    if let Some(cpu_of) = by_demand {
        return Finding::new(Verdict::Yes, Reason::Partition(cpu_of));
    }
    let first = failed.map_or_else(String::new, |unplaced| format!(" (first fit {unplaced})"));
    match exhaustive(system, &timed, DEMAND_NODES) {
        Ok(Some(cpu_of)) => Finding::new(Verdict::Yes, Reason::Partition(cpu_of)),
        Ok(None) => {
            let why = format!("no assignment of the tasks to the CPUs they may use works{first}");
            let group =
                Group { cpus: system.platform.all_cpus(), tasks: system.tasks.iter().collect() };
            exact(&group, false, Reason::NotPartitioned(why))
        }
        Err(GaveUp) => {
            let why = format!(
                "no heuristic finds a partition, by density or by demand{first}, and \
                 {DEMAND_NODES} steps of the search for one did not decide whether one exists"
            );
            Finding::new(Verdict::Unknown, Reason::NotPartitioned(why))
        }
    }
}

/// The search gave up.
struct GaveUp;

/// Searches for a partition that the processor-demand test accepts on every CPU: places tasks by
/// decreasing density, each onto every CPU that can take it. Empty CPUs that the same tasks may use
/// are interchangeable, so only the lowest of them is tried.
fn exhaustive(
    system: &System,
    timed: &Timed<'_>,
    nodes: u64,
) -> Result<Option<TaskMap<CpuId>>, GaveUp> {
    let mut order: Vec<TaskId> = system.tasks.ids().collect();
    order.sort_by_key(|&task| (std::cmp::Reverse(system.tasks[task].density()), task));
    let allowed: Vec<CpuSet> = order.iter().map(|&task| system.allowed_cpus(task)).collect();
    let cpus: Vec<CpuId> = system.platform.cpus().collect();
    let alike = |a: CpuId, b: CpuId| {
        let may_use_both = |set: &CpuSet| set.contains(a) == set.contains(b);
        timed.have_one_speed(a, b) && allowed.iter().all(may_use_both)
    };
    let stands_for: Vec<usize> = (0..cpus.len())
        .map(|at| (0..=at).find(|&lower| alike(cpus[lower], cpus[at])).unwrap_or(at))
        .collect();
    let mut search = Search { timed, order, allowed, stands_for, left: nodes };
    let mut on: Vec<Vec<TaskId>> = vec![Vec::new(); cpus.len()];
    if !search.place(0, &mut on)? {
        return Ok(None);
    }
    let mut cpu_of = TaskMap::filled(cpus[0], system.tasks.len());
    for (at, tasks) in on.iter().enumerate() {
        tasks.iter().for_each(|&task| cpu_of[task] = cpus[at]);
    }
    Ok(Some(cpu_of))
}

struct Search<'a> {
    timed: &'a Timed<'a>,
    order: Vec<TaskId>,
    allowed: Vec<CpuSet>,
    stands_for: Vec<usize>,
    left: u64,
}

impl Search<'_> {
    /// Places the tasks from `at` on. Leaves `on` unchanged if this is impossible.
    fn place(&mut self, at: usize, on: &mut Vec<Vec<TaskId>>) -> Result<bool, GaveUp> {
        let Some(&task) = self.order.get(at) else { return Ok(true) };
        for cpu in 0..on.len() {
            let twin = (self.stands_for[cpu]..cpu).any(|lower| {
                self.stands_for[lower] == self.stands_for[cpu] && on[lower].is_empty()
            });
            let empty_twin = on[cpu].is_empty() && twin;
            if empty_twin || !self.allowed[at].contains(CpuId::from_index(cpu)) {
                continue;
            }
            self.left = self.left.checked_sub(1).ok_or(GaveUp)?;
            on[cpu].push(task);
            let there = CpuId::from_index(cpu);
            let tasks: Vec<&Task> =
                on[cpu].iter().map(|&task| self.timed.on(there, task)).collect();
            let fits = match processor_demand(&tasks) {
                Ok(demand) => demand == Demand::Met,
                Err(_) => return Err(GaveUp),
            };
            if fits && self.place(at + 1, on)? {
                return Ok(true);
            }
            on[cpu].pop();
        }
        Ok(false)
    }
}

/// Returns a partition by a heuristic for which a task fits if the processor demand permits it.
fn by_demand(system: &System, timed: &Timed<'_>, heuristic: Heuristic) -> Option<TaskMap<CpuId>> {
    let order = system.by_rank();
    let densities: Vec<Rate> = order.iter().map(|&task| system.tasks[task].density()).collect();
    let allowed = order.iter().map(|&task| system.allowed_cpus(task)).collect();
    let cpus = system.platform.cpu_count();
    let (on, loads) = (vec![Vec::new(); cpus], vec![RateSum::default(); cpus]);
    let placing = heuristic.order(&densities);
    let mut bins = DemandBins { timed, tasks: order.clone(), allowed, on, loads };
    let bins = place(&mut bins, &placing, heuristic).ok()?;
    let mut by_task: Vec<(TaskId, CpuId)> =
        order.into_iter().zip(bins.into_iter().map(CpuId::from_index)).collect();
    by_task.sort_by_key(|&(task, _)| task);
    Some(by_task.into_iter().map(|(_, cpu)| cpu).collect())
}

/// CPUs as bins: a task fits if EDF then meets every deadline.
struct DemandBins<'a> {
    timed: &'a Timed<'a>,
    tasks: Vec<TaskId>,
    allowed: Vec<CpuSet>,
    on: Vec<Vec<&'a Task>>,
    loads: Vec<RateSum>,
}

impl Bins for DemandBins<'_> {
    fn count(&self) -> usize {
        self.on.len()
    }
    fn fits(&self, bin: usize, item: usize) -> bool {
        let mut tasks = self.on[bin].clone();
        tasks.push(self.timed.on(CpuId::from_index(bin), self.tasks[item]));
        self.allowed[item].contains(CpuId::from_index(bin))
            && processor_demand(&tasks) == Ok(Demand::Met)
    }
    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        self.loads[a].cmp_sum(&self.loads[b])
    }
    fn put(&mut self, bin: usize, item: usize) {
        let task = self.timed.on(CpuId::from_index(bin), self.tasks[item]);
        self.on[bin].push(task);
        self.loads[bin].add(&task.utilization());
    }
}
