//! The schedulability tests of this module, each for the three orders of fixed priorities.

use super::between::{self, dpcp, fmlp, mpcp, msrp};
use super::suspension::{self, Method};
use super::tasks::Locker;
use super::{
    BLETSAS, BRANDENBURG_2019, CHEN_2016, CHEN_2019, GAI, LAKSHMANAN, LIU, NO_PROOF, RAJKUMAR_1988,
    RAJKUMAR_1990, TORRONI, blocking, response,
};
use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::overheads;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{Certify, Citation, ResponseTest, SchedulabilityTest, Shortcuts, Subject, TestKind};
use layland_model::{Algorithm, CpuId, Order, Protocol, System};

/// The assumptions of every test.
const BASE: &[Assumption] = &[
    OneCpuEach,
    SporadicReleases,
    NoJitter,
    ConstrainedDeadlines,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    NoRequests,
    FewPairs,
];
const CEILING: &[Assumption] = &and::<11>(&and::<10>(BASE, SuspendedOutside), LocalResources);
const PLAIN: &[Assumption] = &and::<11>(&and::<10>(BASE, NoSuspension), LocalResources);
const ORDERED: &[Assumption] = &and::<12>(PLAIN, OrderedNesting);
const FLAT: &[Assumption] = &and::<12>(PLAIN, Flat);
pub(super) const ALONE: &[Assumption] = &and::<10>(BASE, NoSections);
const BETWEEN: &[Assumption] = &and::<11>(&and::<10>(BASE, SuspendedOutside), NestedLocally);
const AT_HOME: &[Assumption] = &and::<12>(BETWEEN, Homes);
pub(super) const SPINNING: &[Assumption] =
    &and::<11>(&and::<10>(BASE, NoSuspension), NestedLocally);

/// Defines a test and its response times for one order, and for all three. `$both` returns the
/// finding and the bounds of a system whose priorities are in an order.
macro_rules! tests {
    (@one $test:ident, $responses:ident, $order:ident, $name:expr, $title:expr, [$($protocol:ident),+],
        $assumptions:expr, $citations:expr, $certify:expr, $both:expr) => {
        #[doc = concat!("`", $name, "`: ", $title, ".")]
        pub const $test: SchedulabilityTest = SchedulabilityTest {
            name: $name,
            title: $title,
            subject: Subject::Algorithms(
                &[$(Algorithm::Locking(Order::$order, Protocol::$protocol)),+],
            ),
            kind: TestKind::Sufficient,
            assumptions: $assumptions,
            citations: $citations,
            certify: $certify,
            shortcuts: Shortcuts {
                with_bounds: Some(|system| $both(system, PriorityOrder::$order)),
                ..Shortcuts::NONE
            },
            decide: |system| $both(system, PriorityOrder::$order).0,
        };
        #[doc = concat!("The response times of `", $name, "`.")]
        pub const $responses: ResponseTest = ResponseTest {
            name: $test.name,
            title: $test.title,
            algorithms: &[$(Algorithm::Locking(Order::$order, Protocol::$protocol)),+],
            kind: TestKind::Sufficient,
            assumptions: $assumptions,
            citations: $citations,
            bound: |system| $both(system, PriorityOrder::$order).1,
            by_rank: None,
        };
    };
    ($name:literal, $title:literal, $protocols:tt, $assumptions:ident, $number:literal, $citations:expr, $certify:expr,
        $both:expr;
        $given:ident, $given_r:ident, $rm:ident, $rm_r:ident, $dm:ident, $dm_r:ident) => {
        tests! { @one $given, $given_r, Given, $name, concat!($title, " (p-fp)"), $protocols,
            &and::<$number>($assumptions, Priorities), $citations, $certify, $both }
        tests! { @one $rm, $rm_r, RateMonotonic, concat!($name, "-RM"), concat!($title, " (p-rm)"), $protocols,
            $assumptions, $citations, $certify, $both }
        tests! { @one $dm, $dm_r, DeadlineMonotonic, concat!($name, "-DM"), concat!($title, " (p-dm)"), $protocols,
            $assumptions, $citations, $certify, $both }
    };
}

macro_rules! on_one_cpu {
    ($responses:expr) => {
        |system: &System, order: PriorityOrder| response::each_cpu(system, order, $responses)
    };
}
macro_rules! between_cpus {
    ($bounds:expr) => {
        |system: &System, order: PriorityOrder| between::whole(system, order, $bounds)
    };
}

tests! {
    "LOCK-RTA", "response times with plain locks on each CPU", [Plain], ORDERED, 13, &[&Citation::SHA_RAJKUMAR],
    Certify::Reasons,
    on_one_cpu!(response::plain_responses);
    LOCK_RTA, LOCK_RTA_RESPONSES, LOCK_RTA_RM, LOCK_RTA_RM_RESPONSES, LOCK_RTA_DM, LOCK_RTA_DM_RESPONSES
}
tests! {
    "PIP-RTA", "response times with priority inheritance on each CPU", [Inheritance], ORDERED, 13, &[&Citation::SHA_RAJKUMAR],
    Certify::Reasons,
    on_one_cpu!(|tasks| response::responses(tasks, &blocking::inheritance(tasks)));
    PIP_RTA, PIP_RTA_RESPONSES, PIP_RTA_RM, PIP_RTA_RM_RESPONSES, PIP_RTA_DM, PIP_RTA_DM_RESPONSES
}
tests! {
    "PIP-MATCHING", "response times with priority inheritance on each CPU, blocking as an assignment problem",
    [Inheritance], FLAT, 13, &[&Citation::SHA_RAJKUMAR, &TORRONI], Certify::Reasons,
    on_one_cpu!(|tasks| response::responses(tasks, &blocking::inheritance_assigned(tasks)));
    PIP_MATCHING, PIP_MATCHING_RESPONSES, PIP_MATCHING_RM, PIP_MATCHING_RM_RESPONSES,
    PIP_MATCHING_DM, PIP_MATCHING_DM_RESPONSES
}
tests! {
    "PCP-RTA", "response times with priority ceilings on each CPU", [Ceiling, ImmediateCeiling], CEILING, 12,
    &[&Citation::SHA_RAJKUMAR, &BLETSAS], Certify::Reasons,
    on_one_cpu!(response::ceiling_responses);
    PCP_RTA, PCP_RTA_RESPONSES, PCP_RTA_RM, PCP_RTA_RM_RESPONSES, PCP_RTA_DM, PCP_RTA_DM_RESPONSES
}

/// If jobs lock nothing, all protocols are equivalent.
macro_rules! suspending {
    ($name:literal, $title:literal, $citations:expr, $method:ident; $($names:ident),+) => {
        tests! {
            $name, $title,
            [Plain, Inheritance, Ceiling, ImmediateCeiling, Mpcp, Dpcp, FmlpPlus, Msrp], ALONE, 11,
            $citations, Certify::Reasons,
            on_one_cpu!(|tasks| suspension::responses(Method::$method, tasks));
            $($names),+
        }
    };
}
suspending! {
    "SUSP-OBL", "response times with self-suspension on each CPU, as execution", &[&CHEN_2019], Oblivious;
    SUSP_OBL, SUSP_OBL_RESPONSES, SUSP_OBL_RM, SUSP_OBL_RM_RESPONSES, SUSP_OBL_DM, SUSP_OBL_DM_RESPONSES
}
suspending! {
    "SUSP-JITTER-D", "response times with self-suspension on each CPU, as jitter up to the deadline",
    &[&CHEN_2019, &BLETSAS], DeadlineJitter;
    SUSP_JITTER_D, SUSP_JITTER_D_RESPONSES, SUSP_JITTER_D_RM, SUSP_JITTER_D_RM_RESPONSES,
    SUSP_JITTER_D_DM, SUSP_JITTER_D_DM_RESPONSES
}
suspending! {
    "SUSP-JITTER-R", "response times with self-suspension on each CPU, as jitter up to the response time",
    &[&CHEN_2019, &BLETSAS], ResponseJitter;
    SUSP_JITTER_R, SUSP_JITTER_R_RESPONSES, SUSP_JITTER_R_RM, SUSP_JITTER_R_RM_RESPONSES,
    SUSP_JITTER_R_DM, SUSP_JITTER_R_DM_RESPONSES
}
suspending! {
    "SUSP-BLOCK", "response times with self-suspension on each CPU, as blocking", &[&LIU, &CHEN_2016], Blocking;
    SUSP_BLOCK, SUSP_BLOCK_RESPONSES, SUSP_BLOCK_RM, SUSP_BLOCK_RM_RESPONSES,
    SUSP_BLOCK_DM, SUSP_BLOCK_DM_RESPONSES
}
suspending! {
    "SUSP-UNIFIED", "response times with self-suspension on each CPU, as the best of jitter and blocking",
    &[&CHEN_2016], Unified;
    SUSP_UNIFIED, SUSP_UNIFIED_RESPONSES, SUSP_UNIFIED_RM, SUSP_UNIFIED_RM_RESPONSES,
    SUSP_UNIFIED_DM, SUSP_UNIFIED_DM_RESPONSES
}

/// `SUSP-JITTER-S`: the published analysis of self-suspension as jitter, which is wrong.
pub const SUSP_JITTER_S: SchedulabilityTest = SchedulabilityTest {
    name: "SUSP-JITTER-S",
    title: "self-suspension as jitter of its own length, as printed in 2004 (p-fp)",
    subject: Subject::Unsound(
        &[
            Algorithm::Locking(Order::Given, Protocol::Plain),
            Algorithm::Locking(Order::Given, Protocol::Inheritance),
            Algorithm::Locking(Order::Given, Protocol::Ceiling),
            Algorithm::Locking(Order::Given, Protocol::ImmediateCeiling),
        ],
        "A job that suspends itself may come late in its period, and the next one at once: the distance between \
         them shrinks by up to R - C, and not by S alone. The authors have withdrawn it (2018).",
    ),
    kind: TestKind::Sufficient,
    assumptions: &and::<11>(ALONE, Priorities),
    citations: &[&BLETSAS],
    certify: Certify::Without("it is not sound"),
    shortcuts: Shortcuts::NONE,
    decide: |system| {
        let responses = |tasks: &[Locker]| suspension::responses(Method::UnsafeJitter, tasks);
        response::each_cpu(system, PriorityOrder::Given, responses).0
    },
};

tests! {
    "MPCP", "response times with MPCP between CPUs", [Mpcp], BETWEEN, 12,
    &[&RAJKUMAR_1990, &LAKSHMANAN, &BRANDENBURG_2019], Certify::Without(NO_PROOF),
    between_cpus!(|_, tasks| {
        let shared = between::Shared::new(tasks);
        let bounded = mpcp::bounds(&shared);
        (shared.tasks, bounded)
    });
    MPCP, MPCP_RESPONSES, MPCP_RM, MPCP_RM_RESPONSES, MPCP_DM, MPCP_DM_RESPONSES
}
tests! {
    "FMLP+", "response times with FMLP+ between CPUs", [FmlpPlus], BETWEEN, 12,
    &[&overheads::BRANDENBURG, &BRANDENBURG_2019], Certify::Without(NO_PROOF),
    between_cpus!(|_, tasks| {
        let shared = between::Shared::new(tasks);
        let bounded = fmlp::bounds(&shared);
        (shared.tasks, bounded)
    });
    FMLP, FMLP_RESPONSES, FMLP_RM, FMLP_RM_RESPONSES, FMLP_DM, FMLP_DM_RESPONSES
}
tests! {
    "DPCP", "response times with DPCP between CPUs", [Dpcp], AT_HOME, 13, &[&RAJKUMAR_1988, &BRANDENBURG_2019],
    Certify::Without(NO_PROOF),
    between_cpus!(|system, tasks| {
        // A resource without a home is not used, so any CPU will do.
        let home = |resource: &layland_model::Resource| resource.home.unwrap_or(CpuId(0));
        let homes: Vec<CpuId> = system.resources.iter().map(home).collect();
        let shared = dpcp::shared(tasks, &homes);
        let bounded = dpcp::bounds(&shared, &homes);
        (shared.tasks, bounded)
    });
    DPCP, DPCP_RESPONSES, DPCP_RM, DPCP_RM_RESPONSES, DPCP_DM, DPCP_DM_RESPONSES
}
macro_rules! spinning {
    ($name:literal, $title:literal, $citations:expr, $counting:ident; $($names:ident),+) => {
        tests! {
            $name, $title, [Msrp], SPINNING, 12, $citations, Certify::Without(NO_PROOF),
            between_cpus!(|_, tasks| {
                let shared = between::Shared::new(tasks);
                let bounded = msrp::bounds(&shared, msrp::Counting::$counting);
                (shared.tasks, bounded)
            });
            $($names),+
        }
    };
}
spinning! {
    "MSRP", "response times with MSRP between CPUs, each request alone", &[&GAI], Classic;
    MSRP, MSRP_RESPONSES, MSRP_RM, MSRP_RM_RESPONSES, MSRP_DM, MSRP_DM_RESPONSES
}
spinning! {
    "MSRP-HOLISTIC", "response times with MSRP between CPUs, all requests of a job together",
    &[&GAI, &overheads::BRANDENBURG], Holistic;
    MSRP_HOLISTIC, MSRP_HOLISTIC_RESPONSES, MSRP_HOLISTIC_RM, MSRP_HOLISTIC_RM_RESPONSES,
    MSRP_HOLISTIC_DM, MSRP_HOLISTIC_DM_RESPONSES
}
