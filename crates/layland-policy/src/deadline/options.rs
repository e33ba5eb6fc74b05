//! The common options of every policy with per-CPU run queues, and the run queues that they define.

use super::accounts::{Accounts, Lend};
use super::admission::limit_of;
use super::kernel::Kernel;
use super::parameters::check_parameters;
use super::price::Arith;
use super::runqueues::{RunQueues, Tie};
use crate::Refusal;
use crate::adaptive::placement::Placement;
use crate::info::{OptionInfo, PolicyOptions, SystemRefusal, Values};
use layland_model::{Algorithm, CpuId, Duration, Rate, System, TaskId};

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
        "on: a server replenished with its deadline still in the past starts again, as in Linux (default with \
           arith=kernel); off (default otherwise)",
        Values::Switch,
    )
}

pub(crate) fn throttle() -> OptionInfo {
    OptionInfo::new(
        "throttle",
        "the late servers that are throttled when their budgets are used up: all (default, as in the paper), or \
           waiting (a server of a migrating thread if another thread waits on its CPU, and every server if a \
           migrating thread waits in its cluster; the others go on at once)",
        Values::one_of(["all", "waiting"]),
    )
}

pub(crate) fn throttle_cost() -> OptionInfo {
    OptionInfo::new(
        "throttle_cost",
        "the time for which a late server that is throttled stays away (default: none)",
        Values::Duration,
    )
}

pub(crate) fn slack() -> OptionInfo {
    OptionInfo::new(
        "slack",
        "on: admission control refuses a migrating thread that leaves no more of its period than throttle_cost, \
           because it would not catch up once it is late; off (default)",
        Values::Switch,
    )
}

pub(crate) fn fair() -> OptionInfo {
    OptionInfo::new(
        "fair",
        "the bandwidth that each CPU has reserved for ordinary threads, which admission control counts (1/20 on \
           Linux since 6.8; default: none)",
        Values::Rate,
    )
}

/// The late servers that are throttled when their budgets are used up (option `throttle` of DL-SP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// All of them.
    All,
    /// Those whose CPUs have something else to run, or to pull.
    Waiting,
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
        "the treatment of a thread whose budget is used up: throttle (default: it waits for its next period; a hard \
           reservation) or postpone (it goes on with its next deadline; a soft one)",
        Values::one_of(["throttle", "postpone"]),
    )
}

pub(crate) fn grub() -> OptionInfo {
    OptionInfo::new(
        "grub",
        "on: threads whose tasks say `reclaim` pay for the bandwidth in use instead of for time, and so reclaim \
           bandwidth that others have reserved and do not use; off (default)",
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

/// The options of a policy with per-CPU run queues, with the defaults of that policy for those that are not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelOptions {
    /// The limit per CPU of admission control (`limit`); `None` while it is off (`ac=off`).
    pub limit: Option<Rate>,
    /// The value of `limit`, also while admission control is off.
    pub stated_limit: Rate,
    /// The bandwidth of each CPU that is reserved for ordinary threads (`fair`).
    pub fair: Rate,
    /// True if admission control refuses migrating threads that would not catch up (`slack`).
    pub needs_slack: bool,
    /// True if admission control adds up the speeds of CPUs, as Linux does since 5.9 (`capacity`).
    pub adds_up_capacities: bool,
    /// The order of equal deadlines in a queue (`tie`).
    pub tie: Tie,
    /// The run queues that the tasks are in at first (`start`).
    pub start: Option<Vec<CpuId>>,
    /// True if a server that is replenished with its deadline still in the past starts anew (`lag_reset`).
    pub resets_lag: bool,
    /// The late servers that are throttled (`throttle`).
    pub throttle: Throttle,
    /// The time for which they stay away (`throttle_cost`).
    pub throttle_cost: Duration,
    /// True if a thread goes on with its next deadline when its budget is used up (`exhaust=postpone`).
    pub postpones: bool,
    /// True if threads whose tasks say `reclaim` do reclaim (`grub`).
    pub reclaims: bool,
    /// The share of a CPU that threads may reclaim (`umax`), at most 1.
    pub umax: Rate,
    /// The bandwidth that a CPU lends to threads that reclaim (`lend`).
    pub lend: Lend,
    /// The arithmetic of budgets and bandwidths (`arith`).
    pub arith: Arith,
    /// True if CPUs run at the speed that their active threads need (`grub_pa`).
    pub scales_speeds: bool,
    /// True unless an adaptively partitioned policy places threads by other rules than those that are printed
    /// (`limit`, `place`, `fit`).
    pub places_as_printed: bool,
}

impl KernelOptions {
    /// Reads the options of a policy that implements this algorithm. Admission control is on by default in DL-SP alone.
    ///
    /// # Errors
    /// If a value is not one that its option takes.
    pub fn of(algorithm: Algorithm, options: &PolicyOptions) -> Result<KernelOptions, Refusal> {
        let is_on_by_default = algorithm == Algorithm::SemiPartitionedDeadline;
        let is_adaptive = algorithm == Algorithm::AdaptivePartitioning;
        let places_as_printed = !is_adaptive || Placement::of(options)?.is_printed();
        // The option of that name is about placement there; no thread is turned away.
        let options = if is_adaptive { &options.without(&["limit"]) } else { options };
        let stated_limit = limit_of(options)?;
        let limit = options.switch("ac", is_on_by_default)?.then(|| stated_limit.clone());
        let umax = match options.text("umax") {
            None => limit.clone().unwrap_or(Rate::ONE).min(Rate::ONE),
            Some(text) => {
                let umax: Option<Rate> = text.parse().ok();
                let umax = umax.filter(|umax| *umax > Rate::ZERO && *umax <= Rate::ONE);
                umax.ok_or_else(|| {
                    Refusal::invalid(format!("umax=`{text}` is not a share of a CPU, as 19/20 is"))
                })?
            }
        };
        let exhaust = [("throttle", false), ("postpone", true)];
        let throttles = [("all", Throttle::All), ("waiting", Throttle::Waiting)];
        let arith = Arith::of(options)?;
        let ties = [("running", Tie::Running), ("rank", Tie::Rank), ("fifo", Tie::Fifo)];
        Ok(KernelOptions {
            limit,
            stated_limit,
            fair: options.rate("fair")?.unwrap_or(Rate::ZERO),
            needs_slack: options.switch("slack", false)?,
            adds_up_capacities: Kernel::of(options)?.capacity,
            tie: options.one_of("tie", &ties)?.unwrap_or(Tie::Running),
            start: options.cpus("start")?,
            resets_lag: options.switch("lag_reset", arith == Arith::Kernel)?,
            throttle: options.one_of("throttle", &throttles)?.unwrap_or(Throttle::All),
            throttle_cost: options.duration("throttle_cost")?.unwrap_or(Duration::ZERO),
            postpones: options.one_of("exhaust", &exhaust)?.unwrap_or(false),
            reclaims: options.switch("grub", false)?,
            umax,
            lend: Lend::of(options)?,
            arith,
            scales_speeds: options.switch("grub_pa", false)?,
            places_as_printed,
        })
    }

    /// Returns true if a thread of this system reclaims.
    pub fn reclaims_in(&self, system: &System) -> bool {
        self.reclaims && system.tasks.values().any(|task| task.reclaim)
    }
}

/// Accounts of the bandwidth in use, where reclaiming or speeds need them.
pub(crate) fn keep_accounts(
    rq: &mut RunQueues,
    system: &System,
    options: &KernelOptions,
) -> Result<(), Refusal> {
    rq.postpones = options.postpones;
    rq.throttle_cost = options.throttle_cost;
    rq.count_in(options.arith);
    if options.scales_speeds {
        rq.scale_speeds(system)?;
    }
    if options.scales_speeds || options.reclaims {
        let cpus = system.platform.cpu_count();
        let accounts = Accounts::new(rq.arith(), &options.umax, cpus, &rq.usable);
        rq.keep_accounts(accounts.lending(options.lend), options.reclaims);
    }
    Ok(())
}

/// Returns the run queues of a system with these options.
pub(crate) fn run_queues(
    system: &System,
    options: &KernelOptions,
) -> Result<RunQueues, SystemRefusal> {
    let check = |(id, task)| check_parameters(task).map_err(|refusal| refusal.about(id));
    system.tasks.iter().try_for_each(check)?;
    let mut rq = RunQueues::new(system, options.tie, options.resets_lag);
    if let Some(cpus) = &options.start {
        for (at, thread) in rq.threads.values_mut().enumerate() {
            let cpu = cpus.get(at).copied().filter(|&cpu| thread.mask.contains(cpu));
            thread.cpu = cpu.ok_or_else(|| {
                let task = TaskId(at as u32);
                let name = &system.tasks[task].name;
                let list: Vec<String> = cpus.iter().map(|cpu| cpu.0.to_string()).collect();
                let list = list.join("+");
                let reason = format!("start=`{list}` has no CPU that task `{name}` may use");
                Refusal::invalid(reason).about(task)
            })?;
        }
    }
    Ok(rq)
}
