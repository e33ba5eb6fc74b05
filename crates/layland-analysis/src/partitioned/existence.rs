//! Whether the tasks can be partitioned so that EDF meets every deadline on each CPU.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `C_i <= D_i`,
//! (4) WCETs are kept, (5) overheads are part of `C_i`, (6) unit speeds, (7) nothing changes while
//! the system runs. Affinities are respected.
//!
//! The steps, from cheap to dear; the first that succeeds answers *yes*:
//!
//! 1. each packing heuristic by density, `C_i / min(D_i, T_i)`;
//! 2. if no deadline is shorter than its period: exhaustive search (NP-complete) of at most
//!    [`NODES`] nodes. A CPU can then do its tasks if and only if their utilizations sum to at most
//!    1, so that the search is **exact** when it ends, and answers *no*;
//! 3. otherwise: each heuristic where a task fits a CPU if the processor-demand test says so. This
//!    finds more partitions than densities do, but proves none impossible: **sufficient**.

use crate::Assumption::*;
use crate::group::exact_in_the_long_run;
use crate::uniprocessor::edf::{Demand, processor_demand};
use crate::{Finding, Kind, Reason, SchedulabilityTest, Subject, Verdict};
use layland_model::{CpuId, CpuSet, Index, Rate, RateSum, System, Task, TaskId, TaskMap};
use layland_partition::{Bins, Existence, Heuristic, exists_partition, partition, place};
use std::cmp::Ordering;

/// How many nodes the exhaustive search of [`TEST`] visits at most.
pub const NODES: u64 = 1_000_000;

/// Whether there is a partition, with a search of at most [`NODES`] nodes.
///
/// ```
/// use layland_analysis::{Verdict, partitioned::existence};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
/// let three = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// assert_eq!(existence::TEST.run(&three).unwrap().verdict, Verdict::No);
/// let two = System::new(2, ["a", "b"].map(task).to_vec());
/// assert_eq!(existence::TEST.run(&two).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "PARTITION",
    title: "a partition on which EDF meets every deadline: heuristics, then exhaustive search",
    subject: Subject::SomePartition,
    kind: Kind::Exact,
    assumptions: &[
        SporadicReleases,
        NoJitter,
        FitsAlone,
        WcetKept,
        NoOverheads,
        UnitSpeeds,
        NoRequests,
    ],
    citations: &[],
    decide: |system| find(system, NODES),
};

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
                                   for one have not told whether there is any"
                );
                Finding::new(Verdict::Unknown, Reason::NotPartitioned(why))
            }
        };
    }
    let by_demand = Heuristic::ALL.into_iter().find_map(|heuristic| by_demand(system, heuristic));
    match (by_demand, failed) {
        (Some(cpu_of), _) => Finding::new(Verdict::Yes, Reason::Partition(cpu_of)),
        (None, first) => {
            let why = first.map_or_else(String::new, |unplaced| format!(" (first fit {unplaced})"));
            let why = format!("no heuristic finds a partition, by density or by demand{why}");
            Finding::new(Verdict::Unknown, Reason::NotPartitioned(why))
        }
    }
}

/// A partition by a heuristic for which a task fits where processor demand allows it.
fn by_demand(system: &System, heuristic: Heuristic) -> Option<TaskMap<CpuId>> {
    let order = system.by_rank();
    let densities: Vec<Rate> = order.iter().map(|&task| system.tasks[task].density()).collect();
    let allowed = order.iter().map(|&task| system.allowed_cpus(task)).collect();
    let tasks: Vec<&Task> = order.iter().map(|&task| &system.tasks[task]).collect();
    let cpus = system.platform.cpu_count();
    let (on, loads) = (vec![Vec::new(); cpus], vec![RateSum::default(); cpus]);
    let placing = heuristic.order(&densities);
    let mut bins = DemandBins { tasks, allowed, on, loads };
    let bins = place(&mut bins, &placing, heuristic).ok()?;
    let mut by_task: Vec<(TaskId, CpuId)> =
        order.into_iter().zip(bins.into_iter().map(CpuId::from_index)).collect();
    by_task.sort_by_key(|&(task, _)| task);
    Some(by_task.into_iter().map(|(_, cpu)| cpu).collect())
}

/// CPUs that take a task if EDF then meets every deadline.
struct DemandBins<'a> {
    tasks: Vec<&'a Task>,
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
        tasks.push(self.tasks[item]);
        self.allowed[item].contains(CpuId::from_index(bin))
            && processor_demand(&tasks) == Ok(Demand::Met)
    }
    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        self.loads[a].cmp_sum(&self.loads[b])
    }
    fn put(&mut self, bin: usize, item: usize) {
        self.on[bin].push(self.tasks[item]);
        self.loads[bin].add(&self.tasks[item].utilization());
    }
}
