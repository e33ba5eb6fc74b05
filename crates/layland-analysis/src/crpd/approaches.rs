//! The tests of this module: each approach for the three orders of fixed priorities and for EDF.

use super::citations::{ALTMEYER, BUSQUETS, LEE, LUNNISS, TAN};
use super::reloads::Approach;
use super::{edf, fixed_priority};
use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{Certify, ResponseTest, SchedulabilityTest, Shortcuts, Subject, TestKind};
use layland_model::{Algorithm, Form, Order};

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

macro_rules! tests {
    (@fixed $test:ident, $responses:ident, $order:ident, $approach:ident, $name:expr, $title:expr, $assumptions:ident,
        $citations:expr) => {
        #[doc = concat!("`", $name, "`: ", $title, ".")]
        pub const $test: SchedulabilityTest = SchedulabilityTest {
            name: $name,
            title: $title,
            subject: Subject::Algorithms(&[Algorithm::Ordered(Form::Partitioned, Order::$order)]),
            kind: TestKind::Sufficient,
            assumptions: $assumptions,
            citations: $citations,
            certify: NO_PROOF,
            shortcuts: Shortcuts {
                with_bounds: Some(|system| {
                    fixed_priority::each_cpu(system, PriorityOrder::$order, Approach::$approach)
                }),
                ..Shortcuts::NONE
            },
            decide: |system| {
                fixed_priority::each_cpu(system, PriorityOrder::$order, Approach::$approach).0
            },
        };
        #[doc = concat!("The response bounds of `", $name, "`.")]
        pub const $responses: ResponseTest = ResponseTest {
            name: $name,
            title: $title,
            algorithms: &[Algorithm::Ordered(Form::Partitioned, Order::$order)],
            kind: TestKind::Sufficient,
            assumptions: $assumptions,
            citations: $citations,
            bound: |system| {
                fixed_priority::each_cpu(system, PriorityOrder::$order, Approach::$approach).1
            },
            by_rank: None,
        };
    };
    ($($approach:ident, $name:literal, $what:literal, [$($cited:expr),*];
        $given:ident, $given_r:ident, $rm:ident, $rm_r:ident, $dm:ident, $dm_r:ident, $edf:ident;)*) => {
        $(
        tests! { @fixed $given, $given_r, Given, $approach, $name,
            concat!("response times with cache-related delays on each CPU, ", $what, " (p-fp)"), GIVEN, &[$($cited),*] }
        tests! { @fixed $rm, $rm_r, RateMonotonic, $approach, concat!($name, "-RM"),
            concat!("response times with cache-related delays on each CPU, ", $what, " (p-rm)"), FIXED, &[$($cited),*] }
        tests! { @fixed $dm, $dm_r, DeadlineMonotonic, $approach, concat!($name, "-DM"),
            concat!("response times with cache-related delays on each CPU, ", $what, " (p-dm)"), FIXED, &[$($cited),*] }
        #[doc = concat!("`", $name, "-EDF`: processor demand of EDF with cache-related delays.")]
        pub const $edf: SchedulabilityTest = SchedulabilityTest {
            name: concat!($name, "-EDF"),
            title: concat!("processor demand of EDF with cache-related delays on each CPU, ", $what),
            subject: Subject::Algorithms(&[Algorithm::Ordered(Form::Partitioned, Order::Deadline)]),
            kind: TestKind::Sufficient,
            assumptions: BASE,
            citations: &[$($cited,)* &LUNNISS],
            certify: NO_PROOF,
            shortcuts: Shortcuts::NONE,
            decide: |system| edf::each_cpu(system, Approach::$approach),
        };
        )*
    };
}

tests! {
    EcbOnly, "CRPD-ECB-ONLY", "by ECB-Only", [&BUSQUETS];
    ECB_ONLY, ECB_ONLY_RESPONSES, ECB_ONLY_RM, ECB_ONLY_RM_RESPONSES, ECB_ONLY_DM, ECB_ONLY_DM_RESPONSES, ECB_ONLY_EDF;
    UcbOnly, "CRPD-UCB-ONLY", "by UCB-Only", [&LEE];
    UCB_ONLY, UCB_ONLY_RESPONSES, UCB_ONLY_RM, UCB_ONLY_RM_RESPONSES, UCB_ONLY_DM, UCB_ONLY_DM_RESPONSES, UCB_ONLY_EDF;
    UcbUnion, "CRPD-UCB-UNION", "by UCB-Union", [&TAN, &ALTMEYER];
    UCB_UNION, UCB_UNION_RESPONSES, UCB_UNION_RM, UCB_UNION_RM_RESPONSES, UCB_UNION_DM, UCB_UNION_DM_RESPONSES,
    UCB_UNION_EDF;
    EcbUnion, "CRPD-ECB-UNION", "by ECB-Union", [&ALTMEYER];
    ECB_UNION, ECB_UNION_RESPONSES, ECB_UNION_RM, ECB_UNION_RM_RESPONSES, ECB_UNION_DM, ECB_UNION_DM_RESPONSES,
    ECB_UNION_EDF;
    UcbMultiset, "CRPD-UCB-MULTI", "by UCB-Union Multiset", [&ALTMEYER];
    UCB_MULTI, UCB_MULTI_RESPONSES, UCB_MULTI_RM, UCB_MULTI_RM_RESPONSES, UCB_MULTI_DM, UCB_MULTI_DM_RESPONSES,
    UCB_MULTI_EDF;
    EcbMultiset, "CRPD-ECB-MULTI", "by ECB-Union Multiset", [&ALTMEYER];
    ECB_MULTI, ECB_MULTI_RESPONSES, ECB_MULTI_RM, ECB_MULTI_RM_RESPONSES, ECB_MULTI_DM, ECB_MULTI_DM_RESPONSES,
    ECB_MULTI_EDF;
    Combined, "CRPD-COMBINED", "by both multisets", [&ALTMEYER];
    COMBINED, COMBINED_RESPONSES, COMBINED_RM, COMBINED_RM_RESPONSES, COMBINED_DM, COMBINED_DM_RESPONSES, COMBINED_EDF;
}
