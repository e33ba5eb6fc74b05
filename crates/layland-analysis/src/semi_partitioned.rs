//! Semi-partitioned EDF: **C=D** (Burns, Davis, Wang and Zhang 2012) and **EDF-WM** (Kato, Yamasaki and Ishikawa 2009).
//! **Sufficient.**
//!
//! Assumes: (1) one cluster of all CPUs, (2) jobs of a task at least a period apart, (3) no release jitter,
//! (4) `D_i <= T_i`, (5) `C_i <= D_i` on the fastest CPU, (6) WCETs are kept, (7) overheads are part of `C_i`, (8) no
//! affinities, (9) nothing changes while the system runs. CPUs may have any speeds: budgets are times of their CPUs.
//!
//! A set is accepted if every task can be placed, whole or in pieces, such that EDF on each CPU is
//! schedulable with the pieces as separate sporadic tasks ([`layland_offline::splitting`]). The
//! tests in the catalogue place tasks in the policies' default order, the largest utilization
//! first; [`in_order`] takes any order.
//!
//! A job reaches a piece when its window begins, or when the previous piece is used up; the latter
//! is not later as long as no piece is late. So the jobs of a piece arrive at least a period apart,
//! and each CPU has sporadic tasks under EDF, one for each of its pieces. By induction over time, a
//! *yes* for all CPUs shows that no piece is late. A job that completes early only skips its
//! remaining pieces.
//!
//! A set that is not accepted may be accepted in another order, or split in another way.

use crate::Assumption::{self, *};
use crate::{
    Certify, Citation, Decide, Finding, Reason, Refusal, SchedulabilityTest, Subject, TestKind,
    Verdict,
};
use layland_model::{Algorithm, CpuSet, Piece, SplitOrder, Splitting, System, TaskMap};
use layland_offline::{split, splitting};

const ASSUMED: &[Assumption] = &[
    OneCluster,
    SporadicReleases,
    NoJitter,
    ConstrainedDeadlines,
    FitsAlone,
    WcetKept,
    NoOverheads,
    WholeClusters,
    NoRequests,
];

/// The common fields of all these tests.
const fn test(
    name: &'static str,
    title: &'static str,
    subject: &'static [Algorithm],
    citations: &'static [&'static Citation],
    decide: fn(&System) -> Finding,
) -> SchedulabilityTest {
    SchedulabilityTest {
        name,
        title,
        subject: Subject::Algorithms(subject),
        kind: TestKind::Sufficient,
        assumptions: ASSUMED,
        citations,
        certify: Certify::Without("the verifier does not know pieces of tasks"),
        decide: Decide::by(decide),
    }
}

/// C=D splitting after first fit.
///
/// ```
/// use layland_analysis::{Verdict, partitioned::existence, semi_partitioned};
/// use layland_model::{Duration, Service, System, Task};
/// // No two of three tasks (6, 10, 10) fit on one CPU.
/// let task = |name| Task::implicit(name, Service::from_ms(6), Duration::from_ms(10));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// assert_eq!(existence::TEST.run(&system).unwrap().verdict, Verdict::No);
/// let finding = semi_partitioned::FAIL_FIRST.run(&system).unwrap();
/// assert_eq!(finding.verdict, Verdict::Yes);
/// assert_eq!(finding.reasons[0].describe(&system), "`c` is split: 4 ms on CPU 0, 2 ms on CPU 1");
/// ```
pub const FAIL_FIRST: SchedulabilityTest = test(
    "CD",
    "C=D splitting of what first fit does not place",
    &[Algorithm::Split(Splitting::FailFirst, SplitOrder::Utilization)],
    &[&Citation::BURNS],
    |system| find(system, Splitting::FailFirst, SplitOrder::Utilization),
);

/// C=D splitting after worst fit.
pub const FAIL_WORST: SchedulabilityTest = test(
    "CD-WORST",
    "C=D splitting of what worst fit does not place",
    &[Algorithm::Split(Splitting::FailWorst, SplitOrder::Utilization)],
    &[&Citation::BURNS],
    |system| find(system, Splitting::FailWorst, SplitOrder::Utilization),
);

/// C=D splitting, CPU after CPU.
pub const NEXT_FIRST: SchedulabilityTest = test(
    "CD-NEXT",
    "C=D splitting, CPU after CPU, of the first task that no longer fits",
    &[Algorithm::Split(Splitting::NextFirst, SplitOrder::Utilization)],
    &[&Citation::BURNS],
    |system| find(system, Splitting::NextFirst, SplitOrder::Utilization),
);

/// C=D splitting, CPU after CPU, of the task of which most fits.
pub const NEXT_BEST: SchedulabilityTest = test(
    "CD-BEST",
    "C=D splitting, CPU after CPU, of the task of which most fits",
    &[Algorithm::Split(Splitting::NextBest, SplitOrder::Utilization)],
    &[&Citation::BURNS],
    |system| find(system, Splitting::NextBest, SplitOrder::Utilization),
);

/// EDF-WM.
pub const WINDOWS: SchedulabilityTest = test(
    "EDF-WM",
    "windows of one length for what first fit does not place",
    &[Algorithm::Split(Splitting::Windows, SplitOrder::Utilization)],
    &[&Citation::KATO],
    |system| find(system, Splitting::Windows, SplitOrder::Utilization),
);

/// Returns the finding of the test for a splitting method on a valid system, if tasks are placed in
/// this order.
///
/// ```
/// use layland_analysis::{Verdict, semi_partitioned};
/// use layland_model::{Duration, Service, SplitOrder, Splitting, System, Task};
/// let task = |name, c, t| Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
/// let system = System::new(2, vec![task("a", 12, 20), task("b", 6, 10), task("c", 6, 10)]);
/// // The shortest period first: it is `a` that fits nowhere.
/// let finding = semi_partitioned::in_order(&system, Splitting::FailFirst, SplitOrder::Period);
/// let finding = finding.unwrap();
/// assert_eq!(finding.verdict, Verdict::Yes);
/// assert!(finding.reasons[0].describe(&system).starts_with("`a` is split"));
/// ```
///
/// # Errors
/// Returns the first assumption that the system breaks, and how to fix the system.
pub fn in_order(
    system: &System,
    splitting: Splitting,
    order: SplitOrder,
) -> Result<Finding, Refusal> {
    Assumption::check_all(ASSUMED, system)?;
    Assumption::check_all(&[NoCacheDelay, NoBlocking], system)?;
    Ok(find(system, splitting, order))
}

/// Returns the finding on a valid system whose tasks are already split into these pieces.
///
/// # Errors
/// See [`in_order`].
pub fn in_pieces(system: &System, pieces: &TaskMap<Vec<Piece>>) -> Result<Finding, Refusal> {
    Assumption::check_all(ASSUMED, system)?;
    Assumption::check_all(&[NoCacheDelay, NoBlocking], system)?;
    Ok(match splitting::keeps(system, pieces) {
        Ok(()) => Finding::new(Verdict::Yes, Reason::Split(pieces.clone())),
        Err((task, cpu)) => {
            let reason = Reason::DoesNotFit(task, CpuSet::single(cpu));
            Finding::new(Verdict::Unknown, reason)
        }
    })
}

fn find(system: &System, splitting: Splitting, order: SplitOrder) -> Finding {
    match split(system, splitting, order) {
        Ok(pieces) => Finding::new(Verdict::Yes, Reason::Split(pieces)),
        Err(no_split) => {
            Finding::new(Verdict::Unknown, Reason::NotPartitioned(no_split.to_string()))
        }
    }
}
