//! The common options of every policy with per-CPU run queues, and the run queues that they define.

use super::accounts::{Accounts, Lend};
use super::parameters::check_parameters;
use super::price::Arith;
use super::runqueues::{RunQueues, Tie};
use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, SystemRefusal, Values};
use layland_model::{Rate, System, TaskId};

pub(crate) const QUEUE_TIES: &str = "equal deadlines in a queue are decided by the option `tie`; between queues a thread is moved only for an earlier one";

pub(crate) fn tie() -> OptionInfo {
    OptionInfo::new(
        "tie",
        "equal deadlines in a queue: running (default: the running thread first, then by rank), rank, \
           or fifo (as Linux)",
        Values::one_of(["running", "rank", "fifo"]),
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
        "on: each CPU runs at the speed min(1, sum of Q/T of its active threads: ready, throttled, or asleep \
           before their zero-lag times); off (default)",
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

pub(crate) fn exhaust() -> OptionInfo {
    OptionInfo::new(
        "exhaust",
        "what becomes of a thread whose budget is used up: throttle (default: it waits for its next period; a hard \
           reservation) or postpone (it goes on with its next deadline; a soft one)",
        Values::one_of(["throttle", "postpone"]),
    )
}

pub(crate) fn grub() -> OptionInfo {
    OptionInfo::new(
        "grub",
        "on: threads whose tasks say `reclaim` pay for the bandwidth in use instead of for time, and so reclaim \
           what others have reserved and do not use; off (default)",
        Values::Switch,
    )
}

pub(crate) fn umax() -> OptionInfo {
    OptionInfo::new(
        "umax",
        "the share of a CPU that threads may reclaim with grub=on, at most 1 (default: the limit with ac=on, \
           otherwise 1)",
        Values::Rate,
    )
}

/// Sets up accounts of the bandwidth in use, if reclaiming or speeds need them. `limit` is that of
/// admission control.
pub(crate) fn keep_accounts(
    rq: &mut RunQueues,
    system: &System,
    options: &PolicyOptions,
    limit: Option<&Rate>,
) -> Result<(), Refusal> {
    let exhaust = [("throttle", false), ("postpone", true)];
    rq.postpones = options.one_of("exhaust", &exhaust)?.unwrap_or(false);
    rq.count_in(Arith::of(options)?);
    let reclaims = options.switch("grub", false)?;
    let umax = match options.text("umax") {
        None => limit.cloned().unwrap_or(Rate::ONE).min(Rate::ONE),
        Some(text) => {
            let parsed = text.parse().ok().filter(|umax| *umax > Rate::ZERO && *umax <= Rate::ONE);
            parsed.ok_or_else(|| {
                Refusal::invalid(format!("umax=`{text}` is not a share of a CPU, as 19/20 is"))
            })?
        }
    };
    let slows = options.switch("grub_pa", false)?;
    if slows {
        rq.scale_speeds(system)?;
    }
    if slows || reclaims {
        let cpus = system.platform.cpu_count();
        let accounts = Accounts::new(rq.arith(), &umax, cpus, &rq.usable);
        rq.keep_accounts(accounts.lending(Lend::of(options)?), reclaims);
    }
    Ok(())
}

/// Returns the run queues of a system with these options.
pub(crate) fn run_queues(
    system: &System,
    options: &PolicyOptions,
) -> Result<RunQueues, SystemRefusal> {
    let check = |(id, task)| check_parameters(task).map_err(|refusal| refusal.about(id));
    system.tasks.iter().try_for_each(check)?;
    let ties = [("running", Tie::Running), ("rank", Tie::Rank), ("fifo", Tie::Fifo)];
    let tie = options.one_of("tie", &ties)?.unwrap_or(Tie::Running);
    let mut rq = RunQueues::new(system, tie, options.switch("lag_reset", false)?);
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
