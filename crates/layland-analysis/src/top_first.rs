//! Utilization bounds of global policies under which heavy tasks come first: EDF-US (Srinivasan and Baruah 2002), fpEDF
//! (Baruah 2004), EDF^(k) (Goossens, Funk and Baruah 2003), RM-US (Andersson, Baruah and Jonsson 2001). **Sufficient.**
//!
//! Assumes: (1) one cluster of all CPUs, (2) jobs of a task at least a period apart, (3) no release jitter,
//! (4) `D_i = T_i`, (5) `C_i <= D_i`, (6) WCETs are kept, (7) overheads are part of `C_i`, (8) unit speeds, (9) no
//! affinities, (10) nothing changes while the system runs.
//!
//! | policy | the class | accepted if |
//! |---|---|---|
//! | EDF-US | `u_i > m / (2 m - 1)` | `U <= m^2 / (2 m - 1)` |
//! | fpEDF | of the `m - 1` largest tasks those with `u_i > 1/2` | `U <= (m + 1) / 2` |
//! | EDF^(k) | the `k - 1` largest tasks | for some `k <= m`: `m >= k - 1 + ceil(U_{>k} / (1 - u_k))` |
//! | RM-US | `u_i > m / (3 m - 2)` | `U <= m^2 / (3 m - 2)`, on `m >= 2` CPUs |
//!
//! `U_{>k}` is the utilization of the tasks beyond the `k` largest. `(m + 1) / 2` is the best
//! possible bound for policies with fixed job priorities (Baruah 2004).
//!
//! *EDF-US\[1/2\]* has no test here. Its bound `(m + 1) / 2` holds while fewer than `m` tasks are
//! above 1/2. With `h` such tasks the others pass GFB on the remaining CPUs
//! (`crates/layland-guarantee/src/views.rs`): they have at most
//! `(m + 1) / 2 - h / 2 = (m' + 1) / 2` for `m' = m - h` CPUs, and none is above 1/2. With `m` such
//! tasks the bound does not hold: (1, 6), (8, 12), (10, 15) on two CPUs.
//!
//! Deviation: on one CPU RM-US is RM, and `m^2 / (3 m - 2)` would be 1, a bound that RM does not
//! have.

use crate::Assumption::{self, *};
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Subject,
    TestKind, Verdict,
};
use layland_model::{Algorithm, Rate, System, TopClass};
use layland_offline::top::{self, ANDERSSON, BARUAH, GOOSSENS, SRINIVASAN};

const IMPLICIT: &[Assumption] = &[
    OneCluster,
    SporadicReleases,
    NoJitter,
    ImplicitDeadlines,
    FitsAlone,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    WholeClusters,
    NoRequests,
];

const UNKNOWN_CLASS: &str = "the verifier does not know which tasks come first";

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
        assumptions: IMPLICIT,
        citations,
        certify: Certify::Without(UNKNOWN_CLASS),
        decide: Decide::by(decide),
    }
}

/// The bound of EDF-US.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::gfb, top_first};
/// use layland_model::{Duration, Service, System, Task};
/// // Dhall's effect: nothing that is said of global EDF accepts a task of utilization 1 beside others.
/// let tasks = [(1, 10), (1, 10), (10, 10)].iter().enumerate().map(|(at, &(c, t))| {
///     Task::implicit(at.to_string(), Service::from_ms(c), Duration::from_ms(t))
/// });
/// let system = System::new(2, tasks.collect());
/// assert_eq!(gfb::TEST.run(&system).unwrap().verdict, Verdict::Unknown);
/// assert_eq!(top_first::EDF_US.run(&system).unwrap().verdict, Verdict::Yes);
/// assert_eq!(top_first::EDF_K.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const EDF_US: SchedulabilityTest = test(
    "EDF-US",
    "utilization bound of EDF-US",
    &[Algorithm::TopFirst(TopClass::EdfUs)],
    &[&SRINIVASAN],
    |system| at_most(system, |m| Rate::new(m * m, 2 * m - 1)),
);

/// The bound of fpEDF.
pub const FPEDF: SchedulabilityTest = test(
    "FPEDF",
    "utilization bound of fpEDF",
    &[Algorithm::TopFirst(TopClass::FpEdf)],
    &[&BARUAH],
    |system| at_most(system, |m| Rate::new(m + 1, 2)),
);

/// The test of EDF^(k), for the `k` that the policy takes.
pub const EDF_K: SchedulabilityTest =
    test("EDF-K", "test of EDF^(k)", &[Algorithm::TopFirst(TopClass::EdfK)], &[&GOOSSENS], some_k);

/// The bound of RM-US.
pub const RM_US: SchedulabilityTest = test(
    "RM-US",
    "utilization bound of RM-US",
    &[Algorithm::TopFirst(TopClass::RmUs)],
    &[&ANDERSSON],
    |system| match system.platform.cpu_count() {
        1 => Finding::new(Verdict::Unknown, Reason::Holds("the bound is one for several CPUs")),
        _ => at_most(system, |m| Rate::new(m * m, 3 * m - 2)),
    },
);

/// Compares the utilization of the tasks with this bound on all CPUs.
fn at_most(system: &System, bound: fn(i64) -> Rate) -> Finding {
    let cpus = system.platform.all_cpus();
    let bound = bound(cpus.len() as i64);
    let mut sum = layland_model::RateSum::with_capacity(system.tasks.len());
    system.tasks.values().for_each(|task| task.add_utilization(&mut sum));
    let holds = sum.fits(&Rate::ZERO, &bound);
    let (value, bound) = (Quantity::Sum(sum), Quantity::Number(bound));
    let reason = Reason::compared("the utilization", Scope::cpus(&cpus), value, bound, holds);
    Finding::new(TestKind::Sufficient.verdict(holds), reason)
}

fn some_k(system: &System) -> Finding {
    let Some(k) = top::smallest_k(system) else {
        return Finding::new(Verdict::Unknown, Reason::Holds("no k passes the test"));
    };
    let cpus = system.platform.all_cpus();
    let mut left: Vec<Rate> =
        top::by_utilization(system).iter().map(|&id| system.tasks[id].utilization()).collect();
    let beyond: Rate = left.split_off(k.min(left.len())).into_iter().sum();
    // If the largest of the others has a CPU to itself, no task is beyond it.
    let u_k = left.pop().filter(|_| beyond > Rate::ZERO).unwrap_or(Rate::ZERO);
    let shared = (&beyond / &(&Rate::ONE - &u_k)).ceil().unwrap_or(i64::MAX);
    let needed = Rate::whole((k as i64 - 1).saturating_add(shared));
    let bound = Quantity::Number(Rate::whole(cpus.len() as i64));
    let what = "the number of CPUs that it needs";
    let reason = Reason::compared(what, Scope::cpus(&cpus), Quantity::Number(needed), bound, true);
    Finding::new(Verdict::Yes, reason)
}
