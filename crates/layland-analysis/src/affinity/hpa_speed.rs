//! The speed that CPUs need for EDF with hierarchical affinities (Bonifaci, Brandenburg, D'Angelo,
//! Marchetti-Spaccamela 2016, Section IV). A **sufficient** speed: HPA-EDF at this speed schedules
//! every job collection that some scheduler can schedule at speed 1.
//!
//! Assumes: (1) affinities are all CPUs or disjoint sets of CPUs, (2) the jobs of a task run in
//! order, one at a time.
//!
//! [`TEST`] applies the formula to a set on CPUs of unit speed. It also assumes: (3) jobs of a task
//! at least a period apart, (4) no release jitter, (5) `D_i = T_i`, (6) WCETs are kept,
//! (7) overheads are part of `C_i`, (8) unit speeds, (9) nothing changes while the system runs. If
//! the utilizations multiplied by `s` are feasible (Hall's condition, see
//! [`feasibility`](super::feasibility)), then so is every job collection of the set with its
//! execution times multiplied by `s`; by the theorem, HPA-EDF meets every deadline on CPUs of speed
//! `s`, and these are the schedules of the set itself on CPUs of unit speed. The theorem does not
//! depend on the CPU on which each chosen task runs, so it also covers strong EDF, which chooses
//! the same tasks.
//!
//! | paper | meaning |
//! |---|---|
//! | `m` | number of CPUs |
//! | `m_max` | number of CPUs of the largest affinity other than all CPUs |
//! | `s'` | `2 - 1 / m_max` |
//! | `s` | `(s' + 1) / 2 - s' / m + sqrt((2 s' - m (s' + 1))^2 + 4 s' m^2) / (2 m)` |
//!
//! The root is irrational, so the speed is given as two rationals that enclose it.

use crate::Assumption::{self, *};
use crate::group::Group;
use crate::{
    Certify, Citation, Decide, Enclosure, Finding, Quantity, Reason, Refusal, SchedulabilityTest,
    Scope, Subject, TestKind,
};
use layland_model::{Algorithm, CpuSet, Form, Order, Rate, RateSum, System};
use num_integer::Roots;

/// Returns the speed for `m` CPUs of which the largest affinity other than all CPUs has `m_max`.
/// The enclosure is narrower than 10^-10.
///
/// ```
/// use layland_analysis::affinity::hpa_speed::sufficient_speed;
/// // Single CPUs and all of 24: below 1 + sqrt 2.
/// assert_eq!(sufficient_speed(24, 1).decimals(9).as_deref(), Some("2.343397512"));
/// assert_eq!(sufficient_speed(24, 12).decimals(9).as_deref(), Some("3.332148842"));
///
/// // Theorem IV.8: below 3.562, and below 2.415 if every other affinity is one CPU.
/// use layland_model::Rate;
/// for m in 1..=4096 {
///     assert!(sufficient_speed(m, m).high < Rate::new(3562, 1000), "{m}");
///     assert!(sufficient_speed(m, 1).high < Rate::new(2415, 1000), "{m}");
/// }
/// ```
///
/// # Panics
/// Panics if `m` or `m_max` is zero, or above
/// [`CpuSet::MAX_CPUS`](layland_model::CpuSet::MAX_CPUS).
pub fn sufficient_speed(m: usize, m_max: usize) -> Enclosure {
    let sizes = 1..=layland_model::CpuSet::MAX_CPUS;
    assert!(sizes.contains(&m) && sizes.contains(&m_max), "a set of CPUs has 1 to 4096");
    // With s' = p / m_max the root is sqrt(n) / m_max, n an integer below 2^56.
    let (m, m_max) = (m as i128, m_max as i128);
    let p = 2 * m_max - 1;
    let n = (2 * p - m * (p + m_max)).pow(2) + 4 * p * m_max * m * m;
    // sqrt(n) between two multiples of 10^-DIGITS.
    const DIGITS: u32 = 10;
    let scale = 10i128.pow(DIGITS);
    let below = (n * scale * scale).sqrt();
    let above = if below * below == n * scale * scale { below } else { below + 1 };
    let whole = |number: i128| Rate::whole(i64::try_from(number).expect("roots of 2^56 are small"));
    let (m, m_max, p, scale) = (whole(m), whole(m_max), whole(p), whole(scale));
    let two = Rate::whole(2);
    let s_1 = &p / &m_max;
    let rational = &(&(&s_1 + &Rate::ONE) / &two) - &(&s_1 / &m);
    let with_root = |root: i128| {
        let root = &(&whole(root) / &scale) / &m_max;
        &rational + &(&root / &(&two * &m))
    };
    Enclosure { low: with_root(below), high: with_root(above) }
}

/// Returns the speed for the affinities of a system, by its largest affinity other than all CPUs,
/// or by one CPU if there is none.
///
/// # Errors
/// Returns a refusal if the affinities are not on two levels.
pub fn for_system(system: &System) -> Result<Enclosure, Refusal> {
    Assumption::check_all(&[TwoLevels], system)?;
    let all = system.platform.all_cpus();
    let masks = system.tasks.ids().map(|task| system.allowed_cpus(task));
    let largest = masks.filter(|mask| *mask != all).map(|mask| mask.len()).max().unwrap_or(1);
    Ok(sufficient_speed(system.platform.cpu_count(), largest))
}

/// Tests that the set is feasible on CPUs slower by the factor [`for_system`].
///
/// ```
/// use layland_analysis::{Verdict, affinity::hpa_speed};
/// use layland_model::{Duration, Service, System, Task};
/// // Two CPUs, one of them on its own: the speed is 1.618.
/// let system = |wcets: [i64; 3]| {
///     let tasks = wcets.iter().zip(["0", "0-1", "0-1"]).map(|(&c, cpus)| {
///         let mut task = Task::implicit(cpus, Service::from_ms(c), Duration::from_ms(100));
///         task.affinity = cpus.parse().ok();
///         task
///     });
///     System::new(2, tasks.collect())
/// };
/// assert_eq!(hpa_speed::TEST.run(&system([61, 61, 1])).unwrap().verdict, Verdict::Yes);
/// assert_eq!(hpa_speed::TEST.run(&system([61, 61, 3])).unwrap().verdict, Verdict::Unknown);
/// assert_eq!(hpa_speed::TEST.run(&system([62, 10, 1])).unwrap().verdict, Verdict::Unknown);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "HPA-SPEED",
    title: "feasibility on CPUs that are slower by the speed that HPA-EDF needs",
    subject: Subject::Algorithms(&[
        Algorithm::Ordered(Form::Hierarchical, Order::Deadline),
        Algorithm::Ordered(Form::Strong, Order::Deadline),
    ]),
    kind: TestKind::Sufficient,
    assumptions: &[
        SporadicReleases,
        NoJitter,
        ImplicitDeadlines,
        WcetKept,
        NoOverheads,
        UnitSpeeds,
        NoRequests,
        TwoLevels,
    ],
    citations: &[&Citation::BONIFACI],
    certify: Certify::Reasons,
    decide: Decide::by(|system| {
        let speed = for_system(system).expect("the affinities are on two levels").high;
        // Compare each task, each affinity and all CPUs.
        let mut loads: Vec<(Scope, Rate, i64)> = Vec::new();
        let heaviest = system.tasks.iter().max_by_key(|(_, task)| task.utilization());
        if let Some((id, task)) = heaviest {
            loads.push((Scope { task: Some(id), ..Scope::default() }, task.utilization(), 1));
        }
        let all = system.platform.all_cpus();
        let mut total = RateSum::default();
        for group in Group::affinities(system) {
            let load = group.utilization().exact();
            total.add(&load);
            if group.cpus != all {
                loads.push((Scope::cpus(&group.cpus), load, group.cpu_count()));
            }
        }
        let count = |cpus: &CpuSet| cpus.len() as i64;
        loads.push((Scope::cpus(&all), total.exact(), count(&all)));
        let reasons = loads.into_iter().map(|(scope, load, cpus)| {
            let bound = &Rate::whole(cpus) / &speed;
            let holds = load <= bound;
            let (value, bound) = (Quantity::Number(load), Quantity::Number(bound));
            (holds, Reason::compared("the utilization", scope, value, bound, holds))
        });
        let (held, failed): (Vec<_>, Vec<_>) = reasons.partition(|(holds, _)| *holds);
        let holds = failed.is_empty();
        let reasons = if holds { held } else { failed };
        Finding {
            verdict: TestKind::Sufficient.verdict(holds),
            reasons: reasons.into_iter().map(|(_, reason)| reason).collect(),
        }
    }),
};
