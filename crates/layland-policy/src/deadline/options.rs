//! The options that every policy with per-CPU run queues has, and the run queues that they make.

use super::parameters::check_parameters;
use super::runqueues::{RunQueues, Tie};
use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, SystemRefusal, Values};
use layland_model::{System, TaskId};

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

pub(crate) fn grub_pa() -> OptionInfo {
    OptionInfo::new(
        "grub_pa",
        "on: each CPU runs at the speed min(1, sum of Q/T of the ready and throttled threads of its queue; \
           a blocked one counts no more, where a kernel keeps it until its zero-lag time); off (default)",
        Values::Switch,
    )
}

pub(crate) fn start() -> OptionInfo {
    OptionInfo::new(
        "start",
        "the run queues that the tasks are in at first, as 0+2+1; by default the lowest that each may use",
        Values::Cpus,
    )
}

/// The run queues of a system with these options.
pub(crate) fn run_queues(
    system: &System,
    options: &PolicyOptions,
) -> Result<RunQueues, SystemRefusal> {
    let check = |(id, task)| check_parameters(task).map_err(|refusal| refusal.about(id));
    system.tasks.iter().try_for_each(check)?;
    let ties = [("sticky", Tie::Sticky), ("rank", Tie::Rank), ("fifo", Tie::Fifo)];
    let tie = options.one_of("tie", &ties)?.unwrap_or(Tie::Sticky);
    let mut rq = RunQueues::new(system, tie, options.switch("lag_reset", false)?);
    if options.switch("grub_pa", false)? {
        rq.scale_speeds(system)?;
    }
    if let Some(cpus) = options.cpus("start")? {
        let list = options.text("start").unwrap_or_default();
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
