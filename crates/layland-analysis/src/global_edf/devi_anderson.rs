//! The tardiness of global EDF (Devi and Anderson 2008; first in RTSS 2005).
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i = T_i`,
//! (4) WCETs are kept, (5) overheads are part of `C_i`, (6) unit speeds, (7) no affinities within a
//! cluster, (8) nothing changes while the system runs. There is a bound if `U <= m` and `u_i <= 1`.
//!
//! | paper | meaning |
//! |---|---|
//! | `Lambda` | `ceil(U) - 1` |
//! | `x` | the lateness of a job beyond its own `C_i` |
//!
//! # Non-preemptive regions
//!
//! `x = (sum of the m largest C - C_min) / (m - sum of the m - 1 largest u)` (the article's
//! EDF-NP), for jobs that are never preempted, only between segments, or after a floating region.
//! The argument for a job of `tau_k` due at `d`:
//!
//! 1. Call a job *early* if it is due by `d`, and suppose that all jobs due earlier are late by at
//!    most `x + C_i`. Let `s <= d` be the last instant before which no early job waits and some CPU
//!    runs none. From `s` to `d` all CPUs run early jobs, or other jobs that already ran at `s`; no
//!    other job begins while an early job waits. So the work of both that is left at `d` is at most
//!    the lag of early tasks at `s` plus the jobs of the others.
//! 2. At `s` each early task with work left runs: at most `m - 1` of them, with a lag of at most
//!    `C_i + x u_i` each. On the other CPUs are different tasks, with `C_i` each. The sum is at
//!    most `m x + C_k`, by the choice of `x`.
//! 3. While all CPUs are busy with this work, it ends in time. Once a CPU is not, no early job
//!    waits any more, and none arrives: the job runs, or follows a job of its task that ends by
//!    `d + x`, on the same CPU. It ends by `d + x + C_k`.
//!
//! Deviation: the thesis of Devi refines this by `Lambda`. The refinement as in SchedCAT can be
//! exceeded: with the `Lambda` largest `C` and `m - Lambda - 1` more, over
//! `m - sum of the Lambda - 1 largest u`, the bound on the tardiness of the last of (100, 200),
//! (100, 200), (1, 2) on two CPUs is 51 ns, but it waits for both of the others.

use super::GLOBAL_EDF;
use crate::Assumption::*;
use crate::group::{Group, sum_of_largest};
use crate::{Assumption, BoundTest, Citation};
use layland_model::{Algorithm, Form, Order, Rate, TaskId};

/// Devi and Anderson 2008.
pub const DEVI_ANDERSON: Citation = Citation {
    key: "devi2008tardiness",
    text: "U. C. Devi and J. H. Anderson. Tardiness bounds under global EDF scheduling on a \
           multiprocessor. Real-Time Systems 38(2):133-189, 2008.",
    bibtex: "@article{devi2008tardiness,
  author  = {UmaMaheswari C. Devi and James H. Anderson},
  title   = {Tardiness Bounds under Global {EDF} Scheduling on a Multiprocessor},
  journal = {Real-Time Systems}, volume = {38}, number = {2}, pages = {133--189}, year = {2008},
  doi     = {10.1007/s11241-007-9042-1}
}",
};

/// The policies that the bound with regions is about.
const WITH_REGIONS: &[Algorithm] = &[
    Algorithm::Deferred(Form::Global, Order::Deadline),
    Algorithm::Deferred(Form::Clustered, Order::Deadline),
];

const ASSUMPTIONS: &[Assumption] = &[
    SporadicReleases,
    NoJitter,
    ImplicitDeadlines,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    WholeClusters,
    NoRequests,
];

/// The bound, for each cluster.
///
/// ```
/// use layland_analysis::{Tardiness, global_edf::devi_anderson};
/// use layland_model::{Duration, Rate, Service, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// let Tardiness::Bounded(bounds) = devi_anderson::TEST.run(&system).unwrap() else { panic!() };
/// // Lambda is 1: x = (2 - 2) / 2.
/// assert!(bounds.values().all(|bound| bound.rounded_up() == Some(Duration::from_ms(2))));
///
/// // Stevanato et al., Section II: three tasks (6, 10, 10) on two CPUs are late, by 2 at most as far as
/// // was seen; the bound is 6.
/// let task = |name| Task::implicit(name, Service::from_ns(6), Duration::from_ns(10));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// let Tardiness::Bounded(bounds) = devi_anderson::TEST.run(&system).unwrap() else { panic!() };
/// assert!(bounds.values().all(|bound| bound.rounded_up() == Some(Duration::from_ns(6))));
/// ```
pub const TEST: BoundTest = BoundTest {
    name: "DEVI-ANDERSON",
    title: "tardiness under global EDF",
    algorithms: GLOBAL_EDF,
    assumptions: ASSUMPTIONS,
    citations: &[&DEVI_ANDERSON],
    bound: |system| super::each_cluster(system, bounds),
};

/// The bound with non-preemptive regions, for each cluster.
///
/// ```
/// use layland_analysis::{Tardiness, global_edf::devi_anderson};
/// use layland_model::{Duration, Rate, Service, System, Task};
/// let task = |(c, t)| Task::implicit("", Service::from_ns(c), Duration::from_ns(t));
/// let system = System::new(2, [(100, 200), (100, 200), (1, 2)].map(task).to_vec());
/// let Tardiness::Bounded(bounds) = devi_anderson::NONPREEMPTIVE.run(&system).unwrap() else { panic!() };
/// // x = (100 + 100 - 1) / (2 - 1/2).
/// let late: Vec<&Rate> = bounds.values().map(|bound| &bound.tardiness).collect();
/// assert_eq!(late, [&Rate::new(698, 3), &Rate::new(698, 3), &Rate::new(401, 3)]);
/// ```
pub const NONPREEMPTIVE: BoundTest = BoundTest {
    name: "NP-DEVI-ANDERSON",
    title: "tardiness under global EDF with non-preemptive regions",
    algorithms: WITH_REGIONS,
    assumptions: ASSUMPTIONS,
    citations: &[&DEVI_ANDERSON],
    bound: |system| super::each_cluster(system, bounds_with_regions),
};

/// `x + C_i` with `x = (sum of the m largest C - C_min) / (m - sum of the m - 1 largest u)`. No job
/// is late if each task has a CPU.
fn bounds_with_regions(group: &Group<'_>) -> Vec<(TaskId, Rate)> {
    let m = group.cpus.len();
    let wcets: Vec<Rate> = group.tasks().map(|task| Rate::whole(task.own_wcet().ns())).collect();
    let utilizations: Vec<Rate> = group.tasks().map(|task| task.utilization()).collect();
    let c_min = wcets.iter().min().cloned().unwrap_or(Rate::ZERO);
    let numerator = &sum_of_largest(wcets.clone(), m) - &c_min;
    let denominator = &Rate::whole(group.cpu_count()) - &sum_of_largest(utilizations, m - 1);
    let x = &numerator / &denominator;
    let bound = |c: &Rate| if wcets.len() <= m { Rate::ZERO } else { &x + c };
    group.tasks.iter().zip(&wcets).map(|(&(id, _), c)| (id, bound(c))).collect()
}

/// `x + C_i` with
/// `x = (sum of the Lambda largest C - C_min) / (m - sum of the Lambda - 1 largest u)`; 0 on one
/// CPU. If `Lambda` is 0, the sums are empty, and `x` is set to 0 instead of a negative value.
fn bounds(group: &Group<'_>) -> Vec<(TaskId, Rate)> {
    let m = group.cpu_count();
    let wcets: Vec<Rate> = group.tasks().map(|task| Rate::whole(task.own_wcet().ns())).collect();
    let utilizations: Vec<Rate> = group.tasks().map(|task| task.utilization()).collect();
    let lambda = super::ceil_of_load(group).saturating_sub(1);
    let c_min = wcets.iter().min().cloned().unwrap_or(Rate::ZERO);
    let numerator = &sum_of_largest(wcets.clone(), lambda) - &c_min;
    let denominator = &Rate::whole(m) - &sum_of_largest(utilizations, lambda.saturating_sub(1));
    let x = (&numerator / &denominator).max(Rate::ZERO);
    let bound = |c: &Rate| if m == 1 { Rate::ZERO } else { &x + c };
    group.tasks.iter().zip(&wcets).map(|(&(id, _), c)| (id, bound(c))).collect()
}
