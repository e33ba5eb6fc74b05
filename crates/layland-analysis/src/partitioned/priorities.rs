//! A partition of the tasks on which fixed priorities meet every deadline on each CPU.
//!
//! Assumes: (1) jobs of a task at least a period apart, or by a curve, (2) `C_i <= D_i`, (3) WCETs
//! are kept, (4) overheads are part of `C_i`, (5) nothing changes while the system runs, (6) for given
//! priorities: every task has one. Affinities are respected. On a CPU of another speed than 1, `C_i`
//! is the time that a job takes there.
//!
//! A CPU takes a task if every response time is then within its deadline, which is exact. The
//! steps:
//!
//! 1. each packing heuristic with this test;
//! 2. exhaustive search, tasks by decreasing density, of at most [`NODES`] tests of a CPU:
//!    **exact** if it ends. Empty CPUs that the same tasks may use are interchangeable, so only the
//!    lowest of them is tried. Adding a task never shortens a response time, so an overfull CPU
//!    stays overfull.

use super::timed::Timed;
use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::fixed_point::Diverged;
use crate::group::{Group, exact};
use crate::ordered::{Analysis, ByOrder, by_order, given_last};
use crate::uniprocessor::fixed_priority::{PriorityOrder, response_time};
use crate::{Certify, Finding, OrderedTest, Reason, Subject, TestKind, Verdict};
use layland_model::{CpuId, CpuSet, Index, Rate, RateSum, System, Task, TaskId, TaskMap};
use layland_offline::{Bins, Heuristic, place};
use std::cmp::{Ordering, Reverse};

/// The maximum number of times that the exhaustive search computes the response times of a CPU.
pub const NODES: u64 = 20_000;

const ASSUMED: &[Assumption] = &[BoundedArrivals, FitsAlone, WcetKept, NoOverheads, NoRequests];

/// `PARTITION-RM`, `PARTITION-DM` and `PARTITION-FP`.
///
/// ```
/// use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
/// use layland_analysis::{Verdict, partitioned::priorities};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |name, c, t| Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
/// let rm = priorities::TEST.under(PriorityOrder::RateMonotonic);
/// let system = System::new(2, vec![task("x", 2, 10), task("y", 2, 10), task("z", 9, 12)]);
/// assert_eq!(rm.run(&system).unwrap().verdict, Verdict::Yes);
/// let full = System::new(2, vec![task("x", 2, 10), task("y", 9, 12), task("z", 9, 12)]);
/// assert_eq!(rm.run(&full).unwrap().verdict, Verdict::No);
/// ```
pub const TEST: OrderedTest = OrderedTest {
    listing: given_last!(
        "PARTITION",
        "a partition on which ",
        "the given",
        " priorities meet every deadline"
    ),
    subject: by_order!(|ORDER| Subject::SomePartitionUnder(ORDER)),
    kind: TestKind::Exact,
    assumptions: ByOrder::new(&and::<6>(ASSUMED, Priorities), ASSUMED),
    citations: &[],
    certify: ByOrder::all(Certify::Without("the verifier knows partitions under EDF alone")),
    analysis: Analysis::Finding(find),
};

fn find(system: &System, order: PriorityOrder) -> Finding {
    let Some(timed) = Timed::of(system) else {
        let why = "a task takes longer on a slow CPU than any time that is counted".to_owned();
        return Finding::new(Verdict::Unknown, Reason::NotPartitioned(why));
    };
    let mut heuristics = Heuristic::ALL.into_iter();
    if let Some(cpu_of) = heuristics.find_map(|one| packed(system, &timed, order, one)) {
        return Finding::new(Verdict::Yes, Reason::Partition(cpu_of));
    }
    let mut search = AssignmentSearch::new(system, &timed, order);
    match search.place(0) {
        Some(true) => Finding::new(Verdict::Yes, Reason::Partition(search.cpu_of())),
        Some(false) => {
            let why = "no assignment of the tasks to the CPUs they may use keeps every response time within its \
                       deadline";
            let group =
                Group { cpus: system.platform.all_cpus(), tasks: system.tasks.iter().collect() };
            exact(&group, false, Reason::NotPartitioned(why.to_owned()))
        }
        None => {
            let why = format!(
                "no heuristic finds a partition, and {NODES} steps of the search for one did not decide whether one \
                 exists"
            );
            Finding::new(Verdict::Unknown, Reason::NotPartitioned(why))
        }
    }
}

/// Returns true if the tasks of a CPU meet their deadlines, or `None` if a response time is not
/// found.
fn keeps(timed: &Timed<'_>, order: PriorityOrder, cpu: CpuId, tasks: &[TaskId]) -> Option<bool> {
    let tasks = tasks.iter().map(|&id| (id, timed.on(cpu, id))).collect();
    let sorted = order.sort(&Group { cpus: CpuSet::new(), tasks });
    let tasks: Vec<&Task> = sorted.into_iter().map(|(_, task)| task).collect();
    for (at, task) in tasks.iter().enumerate() {
        match response_time(task, &tasks[..at], task.deadline) {
            Ok(_) => {}
            Err(Diverged::Beyond { .. } | Diverged::Overload) => return Some(false),
            Err(Diverged::GaveUp(_)) => return None,
        }
    }
    Some(true)
}

/// Returns a partition by a heuristic.
fn packed(
    system: &System,
    timed: &Timed<'_>,
    order: PriorityOrder,
    heuristic: Heuristic,
) -> Option<TaskMap<CpuId>> {
    let items = system.by_rank();
    let densities: Vec<Rate> = items.iter().map(|&task| system.tasks[task].density()).collect();
    let cpus = system.platform.cpu_count();
    let (on, loads) = (vec![Vec::new(); cpus], vec![RateSum::default(); cpus]);
    let placing = heuristic.order(&densities);
    let mut bins = Processors { system, timed, order, items, on, loads };
    let placed = place(&mut bins, &placing, heuristic).ok()?;
    let mut cpu_of = TaskMap::filled(CpuId(0), system.tasks.len());
    for (&task, cpu) in bins.items.iter().zip(placed) {
        cpu_of[task] = CpuId::from_index(cpu);
    }
    Some(cpu_of)
}

struct Processors<'a> {
    system: &'a System,
    timed: &'a Timed<'a>,
    order: PriorityOrder,
    items: Vec<TaskId>,
    on: Vec<Vec<TaskId>>,
    loads: Vec<RateSum>,
}

impl Bins for Processors<'_> {
    fn count(&self) -> usize {
        self.on.len()
    }
    fn fits(&self, bin: usize, item: usize) -> bool {
        let task = self.items[item];
        let tasks: Vec<TaskId> = self.on[bin].iter().copied().chain([task]).collect();
        let cpu = CpuId::from_index(bin);
        self.system.allowed_cpus(task).contains(cpu)
            && keeps(self.timed, self.order, cpu, &tasks) == Some(true)
    }
    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        self.loads[a].cmp_sum(&self.loads[b])
    }
    fn put(&mut self, bin: usize, item: usize) {
        let task = self.items[item];
        self.on[bin].push(task);
        self.loads[bin].add(&self.timed.on(CpuId::from_index(bin), task).utilization());
    }
}

/// Searches every assignment, placing each task onto every CPU that can take it.
struct AssignmentSearch<'a> {
    system: &'a System,
    timed: &'a Timed<'a>,
    order: PriorityOrder,
    tasks: Vec<TaskId>,
    allowed: Vec<CpuSet>,
    /// For each CPU, the lowest CPU that the same tasks may use.
    stands_for: Vec<usize>,
    on: Vec<Vec<TaskId>>,
    left: u64,
}

impl<'a> AssignmentSearch<'a> {
    fn new(system: &'a System, timed: &'a Timed<'a>, order: PriorityOrder) -> AssignmentSearch<'a> {
        let mut tasks: Vec<TaskId> = system.tasks.ids().collect();
        tasks.sort_by_key(|&task| (Reverse(system.tasks[task].density()), task));
        let allowed: Vec<CpuSet> = tasks.iter().map(|&task| system.allowed_cpus(task)).collect();
        let cpus: Vec<CpuId> = system.platform.cpus().collect();
        let alike = |a: CpuId, b: CpuId| {
            let may_use_both = |set: &CpuSet| set.contains(a) == set.contains(b);
            timed.have_one_speed(a, b) && allowed.iter().all(may_use_both)
        };
        let stands_for = (0..cpus.len())
            .map(|at| (0..=at).find(|&lower| alike(cpus[lower], cpus[at])).unwrap_or(at))
            .collect();
        let on = vec![Vec::new(); cpus.len()];
        AssignmentSearch { system, timed, order, tasks, allowed, stands_for, on, left: NODES }
    }

    /// Places the tasks from `at` on; `None` if the search gives up.
    fn place(&mut self, at: usize) -> Option<bool> {
        let Some(&task) = self.tasks.get(at) else { return Some(true) };
        for cpu in 0..self.on.len() {
            let is_alike = |lower: usize| self.stands_for[lower] == self.stands_for[cpu];
            let has_twin = (0..cpu).any(|lower| is_alike(lower) && self.on[lower].is_empty());
            let is_twin = self.on[cpu].is_empty() && has_twin;
            if is_twin || !self.allowed[at].contains(CpuId::from_index(cpu)) {
                continue;
            }
            self.left = self.left.checked_sub(1)?;
            self.on[cpu].push(task);
            let there = CpuId::from_index(cpu);
            if keeps(self.timed, self.order, there, &self.on[cpu])? && self.place(at + 1)? {
                return Some(true);
            }
            self.on[cpu].pop();
        }
        Some(false)
    }

    fn cpu_of(&self) -> TaskMap<CpuId> {
        let mut cpu_of = TaskMap::filled(CpuId(0), self.system.tasks.len());
        for (cpu, tasks) in self.on.iter().enumerate() {
            tasks.iter().for_each(|&task| cpu_of[task] = CpuId::from_index(cpu));
        }
        cpu_of
    }
}
