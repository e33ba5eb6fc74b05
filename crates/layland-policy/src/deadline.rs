//! SCHED_DEADLINE and its repair: threads with constant-bandwidth servers in per-CPU run queues.
//!
//! [`server`] is the reservation, [`linux`] what Linux does with it on several CPUs (**DL**),
//! [`semi_partitioned`] what it should do where some threads are tied to a CPU (**DL-SP**).

pub(crate) mod admission;
mod cpudl;
mod kernel;
pub mod linux;
pub(crate) mod runqueues;
pub mod semi_partitioned;
pub mod server;

pub use runqueues::Threads;

use crate::Refusal;
use crate::info::{OptionInfo, Options, PolicyInfo, SystemRefusal, Values};
use layland_model::{Algorithm, Citation, CpuId, CpuSet, System, Task, TaskId};
use runqueues::RunQueues;

/// Abeni and Buttazzo 1998.
pub const ABENI_BUTTAZZO: Citation = Citation {
    key: "abeni1998integrating",
    text: "L. Abeni and G. Buttazzo. Integrating multimedia applications in hard real-time systems. \
           RTSS 1998, pages 4-13.",
    bibtex: "@inproceedings{abeni1998integrating,
  author    = {Luca Abeni and Giorgio Buttazzo},
  title     = {Integrating Multimedia Applications in Hard Real-Time Systems},
  booktitle = {19th IEEE Real-Time Systems Symposium (RTSS)}, pages = {4--13}, year = {1998}
}",
};

/// Lelli et al. 2016.
pub const LELLI: Citation = Citation {
    key: "lelli2016deadline",
    text: "J. Lelli, C. Scordino, L. Abeni and D. Faggioli. Deadline scheduling in the Linux kernel. \
           Software: Practice and Experience 46(6):821-839, 2016.",
    bibtex: "@article{lelli2016deadline,
  author  = {Juri Lelli and Claudio Scordino and Luca Abeni and Dario Faggioli},
  title   = {Deadline Scheduling in the {Linux} Kernel},
  journal = {Software: Practice and Experience}, volume = {46}, number = {6}, pages = {821--839},
  year    = {2016}
}",
};

/// What Linux makes of it, and the repair.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    let dl = PolicyInfo::new(
        "dl",
        "SCHED_DEADLINE, as in Linux",
        "threads with budgets in per-CPU run queues, pushed and pulled towards global EDF",
        |system, options| Ok(Box::new(linux::dl(system, options)?)),
    )
    .implementing(Algorithm::SchedDeadline)
    .refusing([CONSTRAINED])
    .with_options([
        tie(),
        lag_reset(),
        OptionInfo::new(
            "ac",
            "on: admission control, which needs affinities to whole clusters; off (default)",
            Values::Switch,
        ),
        limit(),
        kernel::kernel(),
        kernel::setattr_tardy(),
        kernel::affinity_tardy(),
        kernel::affinity_early(),
        grub_pa(),
        start(),
    ])
    .citing([LELLI, ABENI_BUTTAZZO, Citation::TANG]);
    let dl_sp = PolicyInfo::new(
        "dl-sp",
        "SCHED_DEADLINE, repaired for semi-partitioned systems",
        "as dl, but a migrating thread leaves a CPU where one that is tied to it waits",
        |system, options| Ok(Box::new(semi_partitioned::dl_sp(system, options)?)),
    )
    .implementing(Algorithm::SemiPartitionedDeadline)
    .refusing([CONSTRAINED, SEMI_PARTITIONED])
    .with_options([
        tie(),
        lag_reset(),
        OptionInfo::new(
            "ac",
            "on (default): admission control by cluster and by CPU; off",
            Values::Switch,
        ),
        limit(),
        grub_pa(),
        start(),
    ])
    .citing([Citation::TANG, ABENI_BUTTAZZO]);
    vec![dl, dl_sp]
}

/// How equal deadlines in one run queue are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// The running thread first, then by rank.
    Sticky,
    /// By rank.
    Rank,
    /// By the time of enqueueing, as Linux does.
    Fifo,
}

pub(crate) fn tie() -> OptionInfo {
    OptionInfo::new(
        "tie",
        "equal deadlines in a queue: sticky (default: the running thread first, then by rank), rank, \
           or fifo (as Linux)",
        Values::one_of(["sticky", "rank", "fifo"]),
    )
}

pub(crate) fn lag_reset() -> OptionInfo {
    OptionInfo::new(
        "lag_reset",
        "on: a server replenished with its deadline still in the past starts anew, as in Linux; off \
           (default)",
        Values::Switch,
    )
}

pub(crate) fn limit() -> OptionInfo {
    OptionInfo::new(
        "limit",
        "the bandwidth that admission control grants per CPU (default 19/20)",
        Values::Rate,
    )
}

pub(crate) fn grub_pa() -> OptionInfo {
    OptionInfo::new(
        "grub_pa",
        "on: each CPU runs at the speed min(1, sum of Q/T of the threads of its queue); off (default)",
        Values::Switch,
    )
}

pub(crate) fn start() -> OptionInfo {
    OptionInfo::new(
        "start",
        "the run queues that the tasks are in at first, as 0,2,1; by default the lowest that each may use",
        Values::Cpus,
    )
}

const SEMI_PARTITIONED: &str =
    "tasks with an affinity to more than one CPU but not the whole cluster";

/// Linux and the papers: `Q <= D <= T`.
pub(crate) const CONSTRAINED: &str =
    "deadlines after the period, and budgets longer than the deadline";

pub(crate) fn check_parameters(task: &Task) -> Result<(), Refusal> {
    check_reservation(task.reservation().ns(), task.period.ns(), task.deadline.ns())
        .map_err(|reason| Refusal::invalid(format!("task `{}`: {reason}", task.name)))
}

pub(crate) fn check_reservation(budget: i64, period: i64, deadline: i64) -> Result<(), Refusal> {
    if budget > deadline {
        return Err(Refusal::invalid("a server's budget is at most its deadline"));
    }
    if deadline > period {
        return Err(Refusal::invalid("a server's deadline is at most its period"));
    }
    Ok(())
}

/// The run queues of a system with the options that every policy of the family has.
pub(crate) fn run_queues(system: &System, options: &Options) -> Result<RunQueues, SystemRefusal> {
    let check = |(id, task)| check_parameters(task).map_err(|refusal| refusal.about(id));
    system.tasks.iter().try_for_each(check)?;
    let ties = [("sticky", Tie::Sticky), ("rank", Tie::Rank), ("fifo", Tie::Fifo)];
    let tie = options.one_of("tie", &ties)?.unwrap_or(Tie::Sticky);
    let mut rq = RunQueues::new(system, tie, options.switch("lag_reset", false)?);
    if options.switch("grub_pa", false)? {
        rq.scale_speeds(system)?;
    }
    if let Some(list) = options.text("start") {
        let cpus: Vec<CpuId> = list
            .split(',')
            .map(|cpu| cpu.trim().parse().map(CpuId))
            .collect::<Result<_, _>>()
            .map_err(|_| Refusal::invalid(format!("start=`{list}` is not a list of CPUs")))?;
        for (at, thread) in rq.threads.values_mut().enumerate() {
            let cpu = cpus.get(at).copied().filter(|&cpu| thread.mask.contains(cpu));
            thread.cpu = cpu.ok_or_else(|| {
                let task = TaskId(at as u32);
                let name = &system.tasks[task].name;
                let reason = format!("start=`{list}` has no CPU that task `{name}` may use");
                Refusal::invalid(reason).about(task)
            })?;
        }
    }
    Ok(rq)
}

/// Whether a set of CPUs is a whole cluster.
pub(crate) fn covers(mask: &CpuSet, cluster: &CpuSet) -> bool {
    cluster.is_subset(mask)
}
