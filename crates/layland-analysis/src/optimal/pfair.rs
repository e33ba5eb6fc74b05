//! Pfair: **PD2** and **ER-PD2** (Anderson and Srinivasan 2001; of sporadic tasks: Srinivasan and Anderson 2002).
//! **Sufficient.**
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) WCETs are kept, (4) overheads are
//! part of `C_i`, (5) unit speeds, (6) one cluster, (7) no affinities, (8) nothing changes while the system runs.
//!
//! ```text
//! C_i <= min(D_i, T_i) for every task, and sum C_i / min(D_i, T_i) <= m
//! ```
//!
//! where all times are whole slots, and every job is released at the beginning of one. For a
//! policy, `layland check` first converts the times of a set to slots: WCETs are rounded up,
//! windows down. The comparison includes this rounding. To Pfair, a task of `C` slots in every
//! window of `D` is a task of that weight, so a window may be shorter than the period. If the
//! utilizations alone exceed `m`, no scheduler meets the deadlines, and CAPACITY says so; the cases
//! in between are open.

use crate::{
    Assumption, Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope,
    Subject, TestKind,
};
use layland_model::{Algorithm, Rate, System};

/// Tests whether the weights sum to at most the number of CPUs.
///
/// ```
/// use layland_analysis::{Verdict, optimal::pfair};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
/// let mut system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// assert_eq!(pfair::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// // A deadline before the end of the period makes its task heavier.
/// system.tasks.values_mut().for_each(|task| task.period = Duration::from_ms(4));
/// assert_eq!(pfair::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// system.tasks.values_mut().for_each(|task| task.deadline = Duration::from_ms(2));
/// assert_eq!(pfair::TEST.run(&system).unwrap().verdict, Verdict::Unknown);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "PFAIR",
    title: "the weights sum to no more than the number of CPUs: enough for PD2 and ER-PD2",
    subject: Subject::Algorithms(&[Algorithm::Pd2, Algorithm::ErPd2]),
    kind: TestKind::Sufficient,
    assumptions: &[
        Assumption::SporadicReleases,
        Assumption::NoJitter,
        Assumption::FitsAlone,
        Assumption::WcetKept,
        Assumption::NoOverheads,
        Assumption::UnitSpeeds,
        Assumption::OneCluster,
        Assumption::WholeClusters,
        Assumption::NoRequests,
    ],
    citations: &[&Citation::ANDERSON_PFAIR, &Citation::SRINIVASAN_PFAIR],
    certify: Certify::Without("the verifier does not know slots"),
    decide: Decide::by(fits),
};

fn fits(system: &System) -> Finding {
    let cpus = Rate::whole(system.platform.cpu_count() as i64);
    let total: Rate = system.tasks.values().map(|task| task.density()).sum();
    let holds = total <= cpus;
    let reason = Reason::compared(
        "the sum of the weights",
        Scope::default(),
        Quantity::Number(total),
        Quantity::Number(cpus),
        holds,
    );
    Finding::new(TestKind::Sufficient.verdict(holds), reason)
}
