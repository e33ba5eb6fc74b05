//! Adaptive mixed criticality (AMC) with the best fixed priorities (Huang et al. 2014, Sections 2.3
//! and 3.1; Baruah, Burns, Davis 2011). **Sufficient** for the promise of [`Subject::Covered`]:
//! AMC-RT, AMC-MAX and AMC-IA; each accepts every set that the one before it accepts.
//! `layland_offline::criticality` has the recurrences.
//!
//! Response bounds hold under the priorities with which the policy runs, which its option `order`
//! names: `R_i(l)` in a run that belongs to level `l`, in which the indicator does not exceed `l`
//! while a job of level `l` or above is pending.

use super::{Cpu, OrderedResponses, PER_CPU, each_cpu, each_part, responses};
use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::test::ResponseBounds;
use crate::{
    Certify, Citation, Decide, Respond, ResponseTest, SchedulabilityTest, Subject, TestKind,
};
use layland_model::{AdaptiveOrder, Algorithm, Duration, Protection, System, TaskId, TaskMap};
use layland_offline::criticality::{
    Assigned, MixedSet, Responses, amc_ia, amc_max, amc_rt, rate_monotonic,
};

const CITATIONS: &[&Citation] = &[&Citation::HUANG, &Citation::BARUAH_2011];

const TWO_LEVELS: &[Assumption] = &and::<11>(PER_CPU, TwoCriticalities);

/// AMC-RT: response times per level.
pub const AMC_RT: SchedulabilityTest = SchedulabilityTest {
    name: "AMC-RT",
    title: "adaptive mixed criticality: response times per level",
    subject: Subject::Covered(AMC),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    certify: Certify::By(|system| each_part(system, levels)),
    decide: Decide::by(|system| each_cpu(system, |cpu| cpu.assigned(amc_rt::order(&cpu.set)))),
};

/// AMC-MAX: every instant of the mode change, for two levels.
pub const AMC_MAX: SchedulabilityTest = SchedulabilityTest {
    name: "AMC-MAX",
    title: "adaptive mixed criticality: the worst over all instants of the mode change",
    subject: Subject::Covered(AMC),
    kind: TestKind::Sufficient,
    assumptions: TWO_LEVELS,
    citations: CITATIONS,
    certify: Certify::Without("the worst over all instants of a change has no short form"),
    decide: Decide::by(|system| {
        each_cpu(system, |cpu| {
            cpu.assigned(amc_max::amc_max(&cpu.set).expect("there are at most two levels"))
        })
    }),
};

/// AMC-IA, corrected: sequences of mode changes over all levels.
pub const AMC_IA: SchedulabilityTest = SchedulabilityTest {
    name: "AMC-IA",
    title: "adaptive mixed criticality: the worst over all sequences of mode changes (corrected)",
    subject: Subject::Covered(AMC),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    certify: Certify::Without("the worst over all sequences of changes has no short form"),
    decide: Decide::by(|system| {
        each_cpu(system, |cpu| cpu.assigned(amc_ia::safe_order(&cpu.set, amc_ia::FIXED_POINTS)))
    }),
};

/// AMC-IA as in the paper.
pub const AMC_IA_PAPER: SchedulabilityTest = SchedulabilityTest {
    name: "AMC-IA-PAPER",
    title: "adaptive mixed criticality: improved analysis, as in the paper; not safe",
    subject: Subject::Unsound(
        AMC,
        "Not safe: for the tasks (T,D,level,C) = (16,16,1,[5,8]), (4,4,0,[1,1]), (4,4,1,[1,2]) it gives 16 for \
         the first, equal to the deadline, for every choice of change points; released together and run periodically, \
         the task misses. A low job released between the last deadline and the mode change is not counted. \
         AMC-IA is a corrected version, never better than AMC-MAX in our experiments with two levels.",
    ),
    kind: TestKind::Sufficient,
    assumptions: PER_CPU,
    citations: CITATIONS,
    certify: Certify::Without("not safe: it decides nothing"),
    decide: Decide::by(|system| {
        each_cpu(system, |cpu| cpu.assigned(amc_ia::paper_order(&cpu.set, amc_ia::FIXED_POINTS)))
    }),
};

/// Returns the order of [`AMC_RT`], with the response times of each level.
fn levels(cpu: &Cpu) -> Result<OrderedResponses, &'static str> {
    let late = "a response time is not within its deadline";
    let order = amc_rt::order(&cpu.set).found().ok_or(late)?.order;
    let found = amc_rt::under(&cpu.set, &order);
    let of = |task: TaskId| {
        let levels = found.response[task].as_ref().map_err(|_| late)?;
        Ok((task, levels.clone()))
    };
    order.iter().copied().map(of).collect()
}

const fn amc(order: AdaptiveOrder) -> Algorithm {
    Algorithm::MixedCriticality(Protection::Adaptive(order))
}

/// AMC under any order. The policy itself ensures that the order with which it runs keeps the
/// promise.
const AMC: &[Algorithm] = &[
    amc(AdaptiveOrder::AmcRt),
    amc(AdaptiveOrder::AmcMax),
    amc(AdaptiveOrder::AmcIa),
    amc(AdaptiveOrder::AmcIaPaper),
    amc(AdaptiveOrder::RateMonotonic),
];

/// `R_i(0), .., R_i(z_i)` for each task that has bounds.
type PerLevel = TaskMap<Option<Vec<Duration>>>;

/// The bounds of a test under one order, for jobs that are covered.
const fn bounds_of(
    test: SchedulabilityTest,
    algorithms: &'static [Algorithm],
    bounds: fn(&System) -> ResponseBounds,
) -> ResponseTest {
    ResponseTest {
        name: test.name,
        title: test.title,
        algorithms,
        kind: TestKind::Sufficient,
        assumptions: test.assumptions,
        citations: CITATIONS,
        bound: Respond::Alone(bounds),
        by_rank: None,
    }
}

/// The bounds of [`AMC_RT`] under the order that it finds.
pub const AMC_RT_RESPONSES: ResponseTest =
    bounds_of(AMC_RT, &[amc(AdaptiveOrder::AmcRt)], |system| {
        responses(system, |cpu| found(amc_rt::amc_rt(&cpu.set).found()))
    });

/// The bounds of [`AMC_RT`] under the rate-monotonic order.
pub const AMC_RT_RM_RESPONSES: ResponseTest =
    bounds_of(AMC_RT, &[amc(AdaptiveOrder::RateMonotonic)], |system| {
        responses(system, |cpu| given(&amc_rt::under(&cpu.set, &rate_monotonic(&cpu.set))))
    });

/// The bounds of [`AMC_MAX`] under the order that it finds.
pub const AMC_MAX_RESPONSES: ResponseTest =
    bounds_of(AMC_MAX, &[amc(AdaptiveOrder::AmcMax)], |system| {
        responses(system, |cpu| {
            found(amc_max::amc_max(&cpu.set).ok().and_then(|found| found.found()))
        })
    });

/// The bounds of [`AMC_IA`] under the order that it finds.
pub const AMC_IA_RESPONSES: ResponseTest =
    bounds_of(AMC_IA, &[amc(AdaptiveOrder::AmcIa)], |system| {
        responses(system, |cpu| improved(&cpu.set))
    });

/// Finds the priorities first, as the policy does, because the full analysis may give up on the
/// way.
fn improved(set: &MixedSet) -> PerLevel {
    let order = amc_ia::safe_order(set, amc_ia::FIXED_POINTS).found();
    order.map_or_else(TaskMap::default, |found| {
        given(&amc_ia::safe_under(set, &found.order, amc_ia::FIXED_POINTS))
    })
}

fn found(assigned: Option<Assigned<Vec<Duration>>>) -> PerLevel {
    assigned.map_or_else(TaskMap::default, |assigned| {
        assigned.response.values().cloned().map(Some).collect()
    })
}

fn given(responses: &Responses<Vec<Duration>>) -> PerLevel {
    responses.response.values().map(|bounds| bounds.clone().ok()).collect()
}
