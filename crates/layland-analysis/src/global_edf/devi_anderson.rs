//! The tardiness of global EDF (Devi and Anderson 2008; first in RTSS 2005).
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i = T_i`,
//! (4) WCETs are kept, (5) overheads are part of `C_i`, (6) unit speeds, (7) no affinities within a
//! cluster, (8) nothing changes while the system runs. There is a bound if `U <= m` and `u_i <= 1`.
//!
//! | paper | meaning |
//! |---|---|
//! | `Lambda` | `ceil(U) - 1` |
//! | `x` | by how much a job can be later than by its own `C_i` |

use super::GLOBAL_EDF;
use crate::Assumption::*;
use crate::group::{Group, sum_of_largest};
use crate::{Assumption, BoundTest, Citation};
use layland_model::{Rate, TaskId};

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

/// `x + C_i` with `x = (sum of the Lambda largest C - C_min) / (m - sum of the Lambda - 1 largest u)`;
/// 0 on one CPU. Where `Lambda` is 0 the sums are empty, and `x` is taken to be 0 and not negative.
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
