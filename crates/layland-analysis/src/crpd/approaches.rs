//! The tests of this module: each approach for the three orders of fixed priorities and for EDF.

use super::citations::{ALTMEYER, BUSQUETS, LEE, LUNNISS, TAN};
use super::reloads::Approach;
use super::{edf, fixed_priority};
use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::ordered::{Analysis, ByOrder, Listing, PARTITIONED, given_first};
use crate::test::ResponseBounds;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{
    Certify, Citation, Decide, Finding, OrderedTest, SchedulabilityTest, Subject, TestKind,
};
use layland_model::{Algorithm, Form, Order, System};

/// `CacheDelay` is checked first, so that a set without caches is refused for this reason, whatever
/// else it breaks.
const BASE: &[Assumption] = &[
    CacheDelay,
    OneCpuEach,
    SporadicReleases,
    NoJitter,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    NoRequests,
    FewPairs,
];
const FIXED: &[Assumption] = &and::<10>(BASE, ConstrainedDeadlines);
const GIVEN: &[Assumption] = &and::<11>(FIXED, Priorities);
const NO_PROOF: Certify = Certify::Without("the verifier does not know caches");

const fn fixed(
    listing: Listing,
    citations: &'static [&'static Citation],
    both: fn(&System, PriorityOrder) -> (Finding, ResponseBounds),
) -> OrderedTest {
    OrderedTest {
        listing,
        subject: PARTITIONED,
        kind: TestKind::Sufficient,
        assumptions: ByOrder::new(GIVEN, FIXED),
        citations,
        certify: ByOrder::all(NO_PROOF),
        analysis: Analysis::Together(both),
    }
}

const fn by_demand(
    name: &'static str,
    title: &'static str,
    citations: &'static [&'static Citation],
    decide: fn(&System) -> Finding,
) -> SchedulabilityTest {
    SchedulabilityTest {
        name,
        title,
        subject: Subject::Algorithms(&[Algorithm::Ordered(Form::Partitioned, Order::Deadline)]),
        kind: TestKind::Sufficient,
        assumptions: BASE,
        citations,
        certify: NO_PROOF,
        decide: Decide::by(decide),
    }
}

/// `CRPD-ECB-ONLY`: response times with cache-related delays on each CPU, by ECB-Only.
pub const ECB_ONLY: OrderedTest = fixed(
    given_first!(
        "CRPD-ECB-ONLY",
        "response times with cache-related delays on each CPU, by ECB-Only"
    ),
    &[&BUSQUETS],
    |system, order| fixed_priority::each_cpu(system, order, Approach::EcbOnly),
);

/// `CRPD-ECB-ONLY-EDF`: processor demand of EDF with cache-related delays.
pub const ECB_ONLY_EDF: SchedulabilityTest = by_demand(
    "CRPD-ECB-ONLY-EDF",
    "processor demand of EDF with cache-related delays on each CPU, by ECB-Only",
    &[&BUSQUETS, &LUNNISS],
    |system| edf::each_cpu(system, Approach::EcbOnly),
);

/// `CRPD-UCB-ONLY`: response times with cache-related delays on each CPU, by UCB-Only.
pub const UCB_ONLY: OrderedTest = fixed(
    given_first!(
        "CRPD-UCB-ONLY",
        "response times with cache-related delays on each CPU, by UCB-Only"
    ),
    &[&LEE],
    |system, order| fixed_priority::each_cpu(system, order, Approach::UcbOnly),
);

/// `CRPD-UCB-ONLY-EDF`: processor demand of EDF with cache-related delays.
pub const UCB_ONLY_EDF: SchedulabilityTest = by_demand(
    "CRPD-UCB-ONLY-EDF",
    "processor demand of EDF with cache-related delays on each CPU, by UCB-Only",
    &[&LEE, &LUNNISS],
    |system| edf::each_cpu(system, Approach::UcbOnly),
);

/// `CRPD-UCB-UNION`: response times with cache-related delays on each CPU, by UCB-Union.
pub const UCB_UNION: OrderedTest = fixed(
    given_first!(
        "CRPD-UCB-UNION",
        "response times with cache-related delays on each CPU, by UCB-Union"
    ),
    &[&TAN, &ALTMEYER],
    |system, order| fixed_priority::each_cpu(system, order, Approach::UcbUnion),
);

/// `CRPD-UCB-UNION-EDF`: processor demand of EDF with cache-related delays.
pub const UCB_UNION_EDF: SchedulabilityTest = by_demand(
    "CRPD-UCB-UNION-EDF",
    "processor demand of EDF with cache-related delays on each CPU, by UCB-Union",
    &[&TAN, &ALTMEYER, &LUNNISS],
    |system| edf::each_cpu(system, Approach::UcbUnion),
);

/// `CRPD-ECB-UNION`: response times with cache-related delays on each CPU, by ECB-Union.
pub const ECB_UNION: OrderedTest = fixed(
    given_first!(
        "CRPD-ECB-UNION",
        "response times with cache-related delays on each CPU, by ECB-Union"
    ),
    &[&ALTMEYER],
    |system, order| fixed_priority::each_cpu(system, order, Approach::EcbUnion),
);

/// `CRPD-ECB-UNION-EDF`: processor demand of EDF with cache-related delays.
pub const ECB_UNION_EDF: SchedulabilityTest = by_demand(
    "CRPD-ECB-UNION-EDF",
    "processor demand of EDF with cache-related delays on each CPU, by ECB-Union",
    &[&ALTMEYER, &LUNNISS],
    |system| edf::each_cpu(system, Approach::EcbUnion),
);

/// `CRPD-UCB-MULTI`: response times with cache-related delays on each CPU, by UCB-Union Multiset.
pub const UCB_MULTI: OrderedTest = fixed(
    given_first!(
        "CRPD-UCB-MULTI",
        "response times with cache-related delays on each CPU, by UCB-Union Multiset"
    ),
    &[&ALTMEYER],
    |system, order| fixed_priority::each_cpu(system, order, Approach::UcbMultiset),
);

/// `CRPD-UCB-MULTI-EDF`: processor demand of EDF with cache-related delays.
pub const UCB_MULTI_EDF: SchedulabilityTest = by_demand(
    "CRPD-UCB-MULTI-EDF",
    "processor demand of EDF with cache-related delays on each CPU, by UCB-Union Multiset",
    &[&ALTMEYER, &LUNNISS],
    |system| edf::each_cpu(system, Approach::UcbMultiset),
);

/// `CRPD-ECB-MULTI`: response times with cache-related delays on each CPU, by ECB-Union Multiset.
pub const ECB_MULTI: OrderedTest = fixed(
    given_first!(
        "CRPD-ECB-MULTI",
        "response times with cache-related delays on each CPU, by ECB-Union Multiset"
    ),
    &[&ALTMEYER],
    |system, order| fixed_priority::each_cpu(system, order, Approach::EcbMultiset),
);

/// `CRPD-ECB-MULTI-EDF`: processor demand of EDF with cache-related delays.
pub const ECB_MULTI_EDF: SchedulabilityTest = by_demand(
    "CRPD-ECB-MULTI-EDF",
    "processor demand of EDF with cache-related delays on each CPU, by ECB-Union Multiset",
    &[&ALTMEYER, &LUNNISS],
    |system| edf::each_cpu(system, Approach::EcbMultiset),
);

/// `CRPD-COMBINED`: response times with cache-related delays on each CPU, by both multisets.
pub const COMBINED: OrderedTest = fixed(
    given_first!(
        "CRPD-COMBINED",
        "response times with cache-related delays on each CPU, by both multisets"
    ),
    &[&ALTMEYER],
    |system, order| fixed_priority::each_cpu(system, order, Approach::Combined),
);

/// `CRPD-COMBINED-EDF`: processor demand of EDF with cache-related delays.
pub const COMBINED_EDF: SchedulabilityTest = by_demand(
    "CRPD-COMBINED-EDF",
    "processor demand of EDF with cache-related delays on each CPU, by both multisets",
    &[&ALTMEYER, &LUNNISS],
    |system| edf::each_cpu(system, Approach::Combined),
);
