//! Optimal policies: **RUN**, **QPS**, **DP-WRAP**, **LRE-TL** and **U-EDF**. **Exact.**
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i = T_i`, (4) WCETs
//! are kept, (5) overheads are part of `C_i`, (6) unit speeds, (7) one cluster, (8) no affinities, (9)
//! nothing changes while the system runs. RUN and DP-WRAP themselves refuse tasks that are not periodic.
//!
//! ```text
//! C_i <= T_i for every task, and sum C_i / T_i <= m
//! ```
//! where each rate is rounded up so that the budgets of all servers are whole nanoseconds: see
//! [`RateGrid`]. The comparison includes this rounding.

pub mod overhead;
pub mod pfair;

use crate::{
    Assumption, Certify, Citation, Decide, Evidence, Finding, Part, Quantity, Reason,
    SchedulabilityTest, Scope, Subject, TestKind,
};
use layland_model::{Algorithm, Rate, System};
use layland_offline::RateGrid;

/// Tests whether the tasks need at most the capacity of the CPUs.
///
/// ```
/// use layland_analysis::{Verdict, optimal};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// assert_eq!(optimal::TEST.run(&system).unwrap().verdict, Verdict::Yes);
///
/// // Example III.1 of Compagnin et al.: rates of 0.6, four times, 0.4 and 0.2 fill three CPUs.
/// let tasks = [(12, 20), (6, 10), (6, 10), (12, 20), (2, 5), (2, 10)].map(|(c, t)| {
///     Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t))
/// });
/// let on = |cpus| optimal::TEST.run(&System::new(cpus, tasks.to_vec())).unwrap().verdict;
/// assert_eq!((on(2), on(3)), (Verdict::No, Verdict::Yes));
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "OPTIMAL",
    title: "the utilizations sum to no more than the number of CPUs: enough for RUN, QPS, DP-WRAP, LRE-TL and U-EDF",
    subject: Subject::Algorithms(&[
        Algorithm::Run,
        Algorithm::Qps,
        Algorithm::DpWrap,
        Algorithm::LreTl,
        Algorithm::UEdf,
    ]),
    kind: TestKind::Exact,
    assumptions: &[
        Assumption::SporadicReleases,
        Assumption::NoJitter,
        Assumption::ImplicitDeadlines,
        Assumption::WcetKept,
        Assumption::NoOverheads,
        Assumption::UnitSpeeds,
        Assumption::OneCluster,
        Assumption::WholeClusters,
        Assumption::NoRequests,
    ],
    citations: &[
        &Citation::REGNIER,
        &Citation::MASSA,
        &Citation::LEVIN,
        &Citation::FUNK,
        &Citation::NELISSEN,
    ],
    certify: Certify::By(rates),
    decide: Decide::by(fits),
};

fn rates(system: &System) -> Result<Vec<Part>, &'static str> {
    let grid = RateGrid::of(system).ok_or("some rate is above 1 on every grid")?;
    let rates = grid.tasks.iter().map(|(id, rate)| (id, rate.numerator)).collect();
    let evidence = Evidence::Rates { unit: grid.unit, rates };
    let tasks = system.tasks.ids().collect();
    Ok(vec![Part { cpus: system.platform.all_cpus(), tasks, evidence }])
}

fn fits(system: &System) -> Finding {
    let cpus = Rate::whole(system.platform.cpu_count() as i64);
    let (what, total) = match RateGrid::of(system) {
        Some(grid) => ("the sum of the rates", grid.total()),
        // Some rate exceeds 1 after any rounding.
        None => ("the number of CPUs that a rate above 1 needs", &cpus + &Rate::ONE),
    };
    let holds = total <= cpus;
    let reason = Reason::compared(
        what,
        Scope::default(),
        Quantity::Number(total),
        Quantity::Number(cpus),
        holds,
    );
    Finding::new(TestKind::Exact.verdict(holds), reason)
}
