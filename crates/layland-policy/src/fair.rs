//! Optimal scheduling of independent tasks on identical CPUs: **RUN** ([`run`]), **QPS** ([`qps`]),
//! **DP-WRAP** ([`dp_wrap`]), **LRE-TL** ([`lre_tl`]), **U-EDF** ([`u_edf`]), **PD2** and **ER-PD2** ([`pd2`]).
//!
//! RUN and QPS place the tasks before the start into parts that never interact: the proper
//! subsystems of RUN, the processor hierarchies of QPS. A part keeps its own time and its own
//! budgets, which are exact: rates are on a grid ([`RateGrid`](layland_offline::RateGrid)) on which
//! every budget is a whole number of nanoseconds. DP-WRAP, LRE-TL, U-EDF and PD2 have one part with
//! all CPUs; PD2 counts in slots.
//!
//! Deviations from the plan:
//!
//! - A job that ends early leaves the rest of its share unused.
//! - A job that executes more than its worst case waits for the share of its task in the next
//!   window, and so does a job that the machine has delayed.
//! - A CPU that goes offline takes its share with it: the work planned for it waits.
//! - Tasks cannot enter, nor change their parameters or CPUs, after the start; they can leave.

pub mod dp_wrap;
pub mod lre_tl;
mod parts;
pub mod pd2;
mod placing;
pub(crate) mod preparation;
pub mod qps;
pub mod run;
pub mod u_edf;

pub use preparation::{Prepared, has_explicit_packing, packing_heuristic};

use self::preparation::{IMPLICIT, OVERLOAD, PERIODIC, SPORADIC};
use crate::info::{OptionInfo, PolicyInfo, Values};
use crate::shell::groups::{ONE_CLUSTER, UNIT_SPEED};
use layland_model::{Algorithm, Citation};

pub(crate) fn run_fit() -> OptionInfo {
    OptionInfo::new(
        "fit",
        "the heuristic that packs tasks into servers: ff, ffd (default), bf, bfd, wf, wfd, nf, nfd, ef or efd; those \
         without d take the tasks by rank",
        Values::one_of(["ff", "ffd", "bf", "bfd", "wf", "wfd", "nf", "nfd", "ef", "efd"]),
    )
}

pub(crate) fn dual_fit() -> OptionInfo {
    OptionInfo::new(
        "dual_fit",
        "the heuristic that packs the duals of servers: as fit by default",
        run_fit().values,
    )
}

pub(crate) fn fill() -> OptionInfo {
    OptionInfo::new(
        "fill",
        "the servers that get the remaining capacity of the CPUs: largest (default) or order, those made first",
        Values::one_of(["largest", "order"]),
    )
}

pub(crate) fn run_packing() -> OptionInfo {
    OptionInfo::new(
        "packing",
        "the tasks of each server, in place of fit: 0/1/2/3/4+5",
        Values::Bins,
    )
}

pub(crate) fn duals() -> OptionInfo {
    OptionInfo::new(
        "duals",
        "the servers whose duals make each server of level 1, in place of dual_fit: 0+1/2+3/4",
        Values::Bins,
    )
}

pub(crate) fn qps_fit() -> OptionInfo {
    OptionInfo::new(
        "fit",
        "the heuristic that packs tasks: ffd (default), bfd, wfd, nfd or efd",
        Values::one_of(["ffd", "bfd", "wfd", "nfd", "efd"]),
    )
}

pub(crate) fn qps_packing() -> OptionInfo {
    OptionInfo::new(
        "packing",
        "the bins of each quasi-partition, in place of fit: 0+1/2+3/4+5//m0+m1+4+5, where m0 is the \
           master of CPU 0",
        Values::Bins,
    )
}

pub(crate) fn master() -> OptionInfo {
    OptionInfo::new(
        "master",
        "the side that a master serves: stay (default), the one it served or the one that its CPU does not \
           run; or edf, the one with the earliest deadline",
        Values::one_of(["stay", "edf"]),
    )
}

/// Returns all policies of this family.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    let run = PolicyInfo::new(
        "run",
        "RUN, reduction to uniprocessor",
        "optimal: servers whose duals are scheduled by EDF, level by level, up to one CPU",
        |system, options| Ok(Box::new(run::run(system, options)?)),
    )
    .implementing(Algorithm::Run)
    .refusing([ONE_CLUSTER, IMPLICIT, PERIODIC, OVERLOAD, UNIT_SPEED])
    .breaking_ties(
        "among equal deadlines the client that a server picked last goes first, then tasks by rank and servers in the \
           order in which they were made",
    )
    .with_options([run_fit(), dual_fit(), fill(), run_packing(), duals()])
    .citing([Citation::REGNIER, Citation::COMPAGNIN]);
    let qps = PolicyInfo::new(
        "qps",
        "QPS, quasi-partitioned scheduling",
        "optimal: EDF on each CPU; the surplus of an overloaded CPU is executed in parallel by another",
        |system, options| Ok(Box::new(qps::qps(system, options)?)),
    )
    .implementing(Algorithm::Qps)
    .refusing([ONE_CLUSTER, IMPLICIT, SPORADIC, OVERLOAD, UNIT_SPEED])
    .breaking_ties(
        "among equal deadlines the client that was picked last goes first, then a task before a master, then tasks by \
           rank",
    )
    .with_options([qps_fit(), master(), qps_packing()])
    .citing([Citation::MASSA, Citation::COMPAGNIN]);
    let [pd2, er_pd2] = pd2::policies();
    vec![run, qps, dp_wrap::policy(), lre_tl::policy(), u_edf::policy(), pd2, er_pd2]
}
