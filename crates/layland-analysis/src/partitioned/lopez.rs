//! The utilization bound of partitioned EDF (Lopez, Diaz, Garcia 2004). **Sufficient.**
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i = T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) one
//! cluster and (9) no affinities within it, (10) nothing changes while the system runs. Then first
//! fit finds a partition, as does every allocation that takes tasks in decreasing order and fails
//! only if a task fits no CPU.
//!
//! | paper | meaning |
//! |---|---|
//! | `beta` | `floor(1 / u_max)`: the number of tasks, even the largest, that always fit one CPU |

use crate::Assumption::*;
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Subject,
    TestKind,
};
use layland_model::{Algorithm, Form, Order, Rate, RateSum, System, Task};

/// Lopez, Diaz and Garcia 2004.
pub const LOPEZ: Citation = Citation {
    key: "lopez2004utilization",
    text: "J. M. Lopez, J. L. Diaz and D. F. Garcia. Utilization bounds for EDF scheduling on \
           real-time multiprocessor systems. Real-Time Systems 28(1):39-68, 2004.",
    bibtex: "@article{lopez2004utilization,
  author  = {Jos{\\'e} Mar{\\'i}a L{\\'o}pez and Jos{\\'e} Luis D{\\'i}az and Daniel F. Garc{\\'i}a},
  title   = {Utilization Bounds for {EDF} Scheduling on Real-Time Multiprocessor Systems},
  journal = {Real-Time Systems}, volume = {28}, number = {1}, pages = {39--68}, year = {2004}
}",
};

/// The bound, for the largest utilization of the set.
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "LOPEZ",
    title: "utilization bound of partitioned EDF",
    subject: Subject::Algorithms(&[Algorithm::Ordered(Form::Partitioned, Order::Deadline)]),
    kind: TestKind::Sufficient,
    assumptions: &[
        SporadicReleases,
        NoJitter,
        ImplicitDeadlines,
        FitsAlone,
        WcetKept,
        NoOverheads,
        UnitSpeeds,
        OneCluster,
        WholeClusters,
        NoRequests,
    ],
    citations: &[&LOPEZ],
    certify: Certify::Reasons,
    decide: Decide::by(|system| within_bound(system, Task::utilization)),
};

/// The bound for the adaptively partitioned policies, whose first placement is a first fit.
///
/// Assumes the same as [`TEST`], except that (5) jobs stay within the budgets of their threads:
/// `C_i` is the budget, by which the policies place threads, or the WCET if none is given.
///
/// ```
/// use layland_analysis::{Verdict, partitioned::lopez};
/// use layland_model::{Duration, Service, System, Task};
/// // Stevanato et al., Section III: whatever the tasks, a utilization of (M + 1) / 2 is enough. Here a
/// // task fills one of three CPUs, so that the bound is 2.
/// let verdict = |last: i64| {
///     let tasks = [(10, 10), (5, 10), (last, 10)].into_iter().enumerate().map(|(at, (c, t))| {
///         Task::implicit(at.to_string(), Service::from_ms(c), Duration::from_ms(t))
///     });
///     lopez::ADAPTIVE.run(&System::new(3, tasks.collect())).unwrap().verdict
/// };
/// assert_eq!((verdict(5), verdict(6)), (Verdict::Yes, Verdict::Unknown));
/// ```
pub const ADAPTIVE: SchedulabilityTest = SchedulabilityTest {
    name: "LOPEZ-ADAPTIVE",
    title: "utilization bound of adaptively partitioned EDF",
    subject: Subject::Algorithms(&[Algorithm::AdaptivePartitioning]),
    assumptions: &[
        SporadicReleases,
        NoJitter,
        ImplicitDeadlines,
        FitsAlone,
        BudgetKept,
        NoOverheads,
        UnitSpeeds,
        OneCluster,
        WholeClusters,
        NoRequests,
    ],
    citations: &[&Citation::ABENI_CUCINOTTA, &LOPEZ],
    decide: Decide::by(|system| {
        within_bound(system, |task| Rate::new(task.reservation().ns(), task.period.ns()))
    }),
    ..TEST
};

fn within_bound(system: &System, utilization: impl Fn(&Task) -> Rate) -> Finding {
    let largest = system.tasks.values().map(&utilization).max().unwrap_or(Rate::ONE);
    let bound = utilization_bound(system.platform.cpu_count(), &largest);
    let mut sum = RateSum::default();
    system.tasks.values().for_each(|task| sum.add(&utilization(task)));
    let holds = sum.fits(&Rate::ZERO, &bound);
    let (value, bound) = (Quantity::Sum(sum), Quantity::Number(bound));
    let reason = Reason::compared("the utilization", Scope::default(), value, bound, holds);
    Finding::new(TestKind::Sufficient.verdict(holds), reason)
}

/// `(beta m + 1) / (beta + 1)` with `beta = floor(1 / u_max)`, for `0 < u_max <= 1`.
///
/// ```
/// use layland_analysis::partitioned::lopez::utilization_bound;
/// use layland_model::Rate;
/// assert_eq!(utilization_bound(4, &Rate::ONE), Rate::new(5, 2));
/// assert_eq!(utilization_bound(8, &Rate::new(3, 10)), Rate::new(25, 4));
/// ```
///
/// # Panics
/// Panics if `u_max` is zero.
pub fn utilization_bound(cpus: usize, u_max: &Rate) -> Rate {
    // A beta beyond 64 bits requires a u_max below 2^-63; 2^63 is then a smaller, safe beta.
    let beta = Rate::whole((&Rate::ONE / u_max).floor().unwrap_or(i64::MAX));
    let m = Rate::whole(cpus as i64);
    &(&(&beta * &m) + &Rate::ONE) / &(&beta + &Rate::ONE)
}
