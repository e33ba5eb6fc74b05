//! Fixed priorities with a cut-off: `R_i = C_i(z_i) + sum over H_i of ceil(R_i / T_j) C_j(z_i)`
//! (Huang et al. 2014, Eq. 2; Vestal 2007). **Sufficient** for the promise of [`Subject::Covered`].
//! `layland_offline::criticality::fixed` has the symbols and the misprint.

use super::{Cpu, OrderedResponses, PER_CPU, VESTAL, each_cpu, each_part, responses};
use crate::test::ResponseBounds;
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, Respond, ResponseTest,
    SchedulabilityTest, Scope, Subject, TestKind,
};
use layland_model::{Algorithm, CutOffOrder, Duration, Protection, System, TaskMap};
use layland_offline::criticality::{MixedSet, Responses, fixed};

/// Rate-monotonic priorities with a cut-off.
pub const SMC_RM: SchedulabilityTest = SchedulabilityTest {
    name: "SMC-RM",
    title: "response times at each task's level under rate-monotonic priorities with a cut-off",
    subject: Subject::Covered(&[smc(CutOffOrder::RateMonotonic)]),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    certify: Certify::By(|system| each_part(system, |cpu| at_own_level(&fixed::rms(&cpu.set)))),
    decide: Decide::by(|system| each_cpu(system, |cpu| given(cpu, system, fixed::rms(&cpu.set)))),
};

/// Criticality-monotonic priorities with a cut-off.
pub const SMC_CM: SchedulabilityTest = SchedulabilityTest {
    name: "SMC-CM",
    title: "response times at each task's level under criticality-monotonic priorities with a cut-off",
    subject: Subject::Covered(&[smc(CutOffOrder::CriticalityMonotonic)]),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    certify: Certify::By(|system| each_part(system, |cpu| at_own_level(&fixed::cms(&cpu.set)))),
    decide: Decide::by(|system| each_cpu(system, |cpu| given(cpu, system, fixed::cms(&cpu.set)))),
};

/// Static mixed criticality with the best priorities.
///
/// ```
/// use layland_analysis::{Reason, Verdict, mixed::{AMC_RT, FTP_SMC}};
/// use layland_model::{Criticality, Duration, Levels, Service, System, Task, TaskId};
/// // The example of Section 3.1: (C(0), C(1), T, level).
/// let task = |(lo, hi, t, level)| {
///     let mut task = Task::implicit(format!("{t}"), Service::from_ms(lo), Duration::from_ms(t));
///     task.wcet.push(Service::from_ms(hi));
///     task.criticality = Criticality(level);
///     task
/// };
/// let mut system = System::new(1, [(1, 1, 2, 0), (1, 5, 10, 1), (20, 20, 100, 1)].map(task).to_vec());
/// system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
/// assert_eq!(FTP_SMC.run(&system).unwrap().verdict, Verdict::Unknown);
/// // Dropping the low task once a high one overruns is enough.
/// let finding = AMC_RT.run(&system).unwrap();
/// assert_eq!(finding.verdict, Verdict::Yes);
/// assert_eq!(finding.reasons, [Reason::PriorityOrder(vec![TaskId(0), TaskId(1), TaskId(2)])]);
/// ```
pub const FTP_SMC: SchedulabilityTest = SchedulabilityTest {
    name: "FTP-SMC",
    title: "static mixed criticality: response times at each task's level, with the best priorities",
    subject: Subject::Covered(&[smc(CutOffOrder::Audsley)]),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    certify: Certify::By(|system| each_part(system, best_order)),
    decide: Decide::by(|system| each_cpu(system, |cpu| cpu.assigned(fixed::order(&cpu.set)))),
};

const CITATIONS: &[&Citation] = &[&Citation::HUANG, &VESTAL];

const fn smc(order: CutOffOrder) -> Algorithm {
    Algorithm::MixedCriticality(Protection::CutOff(order))
}

const LATE: &str = "a response time is not within its deadline";

fn at_own_level(found: &Responses<Duration>) -> Result<OrderedResponses, &'static str> {
    let of = |&task| Ok((task, vec![found.response[task].map_err(|_| LATE)?]));
    found.order.iter().map(of).collect()
}
fn best_order(cpu: &Cpu) -> Result<OrderedResponses, &'static str> {
    let found = fixed::ftp_smc(&cpu.set).found().ok_or(LATE)?;
    Ok(found.order.iter().map(|&task| (task, vec![found.response[task]])).collect())
}

fn given(cpu: &Cpu, system: &System, found: Responses<Duration>) -> Finding {
    let late = found.response.iter().find_map(|(task, bound)| bound.is_err().then_some(task));
    let reason = match late {
        Some(task) => Reason::MayBeLate(cpu.tasks[task.0 as usize]),
        None => {
            // Report the task with the least slack.
            let room = |&(task, bound): &(_, Duration)| cpu.set.deadline(task) - bound;
            let bounds =
                found.response.iter().filter_map(|(task, &bound)| Some((task, bound.ok()?)));
            let (task, bound) = bounds.min_by_key(room).expect("a set has tasks");
            let id = cpu.tasks[task.0 as usize];
            Reason::compared(
                "the response time",
                Scope::task(id, &system.allowed_cpus(id)),
                Quantity::of_ns(bound.ns().into()),
                Quantity::of_ns(cpu.set.deadline(task).ns().into()),
                true,
            )
        }
    };
    cpu.finding(found.answer(), reason)
}

/// The bounds of a test, for jobs that are covered.
const fn bounds_of(
    test: SchedulabilityTest,
    bounds: fn(&System) -> ResponseBounds,
) -> ResponseTest {
    ResponseTest {
        name: test.name,
        title: test.title,
        algorithms: test.subject.algorithms(),
        kind: TestKind::Sufficient,
        assumptions: PER_CPU,
        citations: CITATIONS,
        bound: Respond::Alone(bounds),
        by_rank: None,
    }
}

/// The bounds of [`SMC_RM`].
pub const SMC_RM_RESPONSES: ResponseTest =
    bounds_of(SMC_RM, |system| responses(system, |cpu| all(&fixed::rms(&cpu.set))));

/// The bounds of [`SMC_CM`].
pub const SMC_CM_RESPONSES: ResponseTest =
    bounds_of(SMC_CM, |system| responses(system, |cpu| all(&fixed::cms(&cpu.set))));

/// The bounds of [`FTP_SMC`].
pub const FTP_SMC_RESPONSES: ResponseTest =
    bounds_of(FTP_SMC, |system| responses(system, |cpu| best(&cpu.set)));

/// Each bound depends on a task and those above it only, whether these meet their deadlines or not.
fn all(found: &Responses<Duration>) -> TaskMap<Option<Vec<Duration>>> {
    found.response.values().map(|bound| bound.ok().map(|bound| vec![bound])).collect()
}
/// The bounds under the best priorities, which the policy uses.
fn best(set: &MixedSet) -> TaskMap<Option<Vec<Duration>>> {
    let found = fixed::ftp_smc(set).found();
    found.map_or_else(TaskMap::default, |found| {
        found.response.values().map(|&bound| Some(vec![bound])).collect()
    })
}
