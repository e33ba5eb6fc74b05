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
use crate::ordered::{Analysis, ByOrder, Listing, by_order, given_first};
use crate::overheads;
use crate::test::ResponseBounds;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{
    Certify, Citation, Decide, Finding, OrderedTest, SchedulabilityTest, Subject, TestKind,
};
use layland_model::Algorithm::Locking;
use layland_model::{CpuId, Order, Protocol, System};

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

/// `LOCK-RTA`: response times with plain locks on each CPU.
pub const LOCK_RTA: OrderedTest = OrderedTest {
    listing: given_first!("LOCK-RTA", "response times with plain locks on each CPU"),
    subject: by_order!(|ORDER| Subject::Algorithms(&[Locking(ORDER, Protocol::Plain)])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<13>(ORDERED, Priorities), ORDERED),
    citations: &[&Citation::SHA_RAJKUMAR],
    certify: ByOrder::all(Certify::Reasons),
    analysis: Analysis::Together(|system, order| {
        response::each_cpu(system, order, response::plain_responses)
    }),
};

/// `PIP-RTA`: response times with priority inheritance on each CPU.
pub const PIP_RTA: OrderedTest = OrderedTest {
    listing: given_first!("PIP-RTA", "response times with priority inheritance on each CPU"),
    subject: by_order!(|ORDER| Subject::Algorithms(&[Locking(ORDER, Protocol::Inheritance)])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<13>(ORDERED, Priorities), ORDERED),
    citations: &[&Citation::SHA_RAJKUMAR],
    certify: ByOrder::all(Certify::Reasons),
    analysis: Analysis::Together(|system, order| {
        response::each_cpu(system, order, |tasks| {
            response::responses(tasks, &blocking::inheritance(tasks))
        })
    }),
};

/// `PIP-MATCHING`: response times with priority inheritance on each CPU, blocking as an assignment problem.
pub const PIP_MATCHING: OrderedTest = OrderedTest {
    listing: given_first!(
        "PIP-MATCHING",
        "response times with priority inheritance on each CPU, blocking as an assignment problem"
    ),
    subject: by_order!(|ORDER| Subject::Algorithms(&[Locking(ORDER, Protocol::Inheritance)])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<13>(FLAT, Priorities), FLAT),
    citations: &[&Citation::SHA_RAJKUMAR, &TORRONI],
    certify: ByOrder::all(Certify::Reasons),
    analysis: Analysis::Together(|system, order| {
        response::each_cpu(system, order, |tasks| {
            response::responses(tasks, &blocking::inheritance_assigned(tasks))
        })
    }),
};

/// `PCP-RTA`: response times with priority ceilings on each CPU.
pub const PCP_RTA: OrderedTest = OrderedTest {
    listing: given_first!("PCP-RTA", "response times with priority ceilings on each CPU"),
    subject: by_order!(|ORDER| Subject::Algorithms(&[
        Locking(ORDER, Protocol::Ceiling),
        Locking(ORDER, Protocol::ImmediateCeiling)
    ])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<12>(CEILING, Priorities), CEILING),
    citations: &[&Citation::SHA_RAJKUMAR, &BLETSAS],
    certify: ByOrder::all(Certify::Reasons),
    analysis: Analysis::Together(|system, order| {
        response::each_cpu(system, order, response::ceiling_responses)
    }),
};

const SUSPENDING: ByOrder<&[Assumption]> = ByOrder::new(&and::<11>(ALONE, Priorities), ALONE);

/// A test of jobs that suspend themselves and lock nothing: all protocols are then equivalent.
const fn suspending(
    listing: Listing,
    citations: &'static [&'static Citation],
    both: fn(&System, PriorityOrder) -> (Finding, ResponseBounds),
) -> OrderedTest {
    OrderedTest {
        listing,
        subject: by_order!(|ORDER| Subject::Algorithms(&[
            Locking(ORDER, Protocol::Plain),
            Locking(ORDER, Protocol::Inheritance),
            Locking(ORDER, Protocol::Ceiling),
            Locking(ORDER, Protocol::ImmediateCeiling),
            Locking(ORDER, Protocol::Mpcp),
            Locking(ORDER, Protocol::Dpcp),
            Locking(ORDER, Protocol::FmlpPlus),
            Locking(ORDER, Protocol::Msrp),
        ])),
        kind: TestKind::Sufficient,
        assumptions: SUSPENDING,
        citations,
        certify: ByOrder::all(Certify::Reasons),
        analysis: Analysis::Together(both),
    }
}

/// The finding and the bounds of this method on each CPU.
fn by_method(system: &System, order: PriorityOrder, method: Method) -> (Finding, ResponseBounds) {
    response::each_cpu(system, order, |tasks| suspension::responses(method, tasks))
}

/// `SUSP-OBL`: response times with self-suspension on each CPU, as execution.
pub const SUSP_OBL: OrderedTest = suspending(
    given_first!("SUSP-OBL", "response times with self-suspension on each CPU, as execution"),
    &[&CHEN_2019],
    |system, order| by_method(system, order, Method::Oblivious),
);

/// `SUSP-JITTER-D`: response times with self-suspension on each CPU, as jitter up to the deadline.
pub const SUSP_JITTER_D: OrderedTest = suspending(
    given_first!(
        "SUSP-JITTER-D",
        "response times with self-suspension on each CPU, as jitter up to the deadline"
    ),
    &[&CHEN_2019, &BLETSAS],
    |system, order| by_method(system, order, Method::DeadlineJitter),
);

/// `SUSP-JITTER-R`: response times with self-suspension on each CPU, as jitter up to the response time.
pub const SUSP_JITTER_R: OrderedTest = suspending(
    given_first!(
        "SUSP-JITTER-R",
        "response times with self-suspension on each CPU, as jitter up to the response time"
    ),
    &[&CHEN_2019, &BLETSAS],
    |system, order| by_method(system, order, Method::ResponseJitter),
);

/// `SUSP-BLOCK`: response times with self-suspension on each CPU, as blocking.
pub const SUSP_BLOCK: OrderedTest = suspending(
    given_first!("SUSP-BLOCK", "response times with self-suspension on each CPU, as blocking"),
    &[&LIU, &CHEN_2016],
    |system, order| by_method(system, order, Method::Blocking),
);

/// `SUSP-UNIFIED`: response times with self-suspension on each CPU, as the best of jitter and blocking.
pub const SUSP_UNIFIED: OrderedTest = suspending(
    given_first!(
        "SUSP-UNIFIED",
        "response times with self-suspension on each CPU, as the best of jitter and blocking"
    ),
    &[&CHEN_2016],
    |system, order| by_method(system, order, Method::Unified),
);

/// `SUSP-JITTER-S`: the published analysis of self-suspension as jitter, which is wrong.
pub const SUSP_JITTER_S: SchedulabilityTest = SchedulabilityTest {
    name: "SUSP-JITTER-S",
    title: "self-suspension as jitter of its own length, as printed in 2004 (p-fp)",
    subject: Subject::Unsound(
        &[
            Locking(Order::Given, Protocol::Plain),
            Locking(Order::Given, Protocol::Inheritance),
            Locking(Order::Given, Protocol::Ceiling),
            Locking(Order::Given, Protocol::ImmediateCeiling),
        ],
        "A job that suspends itself may come late in its period, and the next one at once: the distance between \
         them shrinks by up to R - C, and not by S alone. The authors have withdrawn it (2018).",
    ),
    kind: TestKind::Sufficient,
    assumptions: &and::<11>(ALONE, Priorities),
    citations: &[&BLETSAS],
    certify: Certify::Without("it is not sound"),
    decide: Decide::by(|system| {
        let responses = |tasks: &[Locker]| suspension::responses(Method::UnsafeJitter, tasks);
        response::each_cpu(system, PriorityOrder::Given, responses).0
    }),
};

/// `MPCP`: response times with MPCP between CPUs.
pub const MPCP: OrderedTest = OrderedTest {
    listing: given_first!("MPCP", "response times with MPCP between CPUs"),
    subject: by_order!(|ORDER| Subject::Algorithms(&[Locking(ORDER, Protocol::Mpcp)])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<12>(BETWEEN, Priorities), BETWEEN),
    citations: &[&RAJKUMAR_1990, &LAKSHMANAN, &BRANDENBURG_2019],
    certify: ByOrder::all(Certify::Without(NO_PROOF)),
    analysis: Analysis::Together(|system, order| by_requests(system, order, mpcp::bounds)),
};

/// `FMLP+`: response times with FMLP+ between CPUs.
pub const FMLP: OrderedTest = OrderedTest {
    listing: given_first!("FMLP+", "response times with FMLP+ between CPUs"),
    subject: by_order!(|ORDER| Subject::Algorithms(&[Locking(ORDER, Protocol::FmlpPlus)])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<12>(BETWEEN, Priorities), BETWEEN),
    citations: &[&overheads::BRANDENBURG, &BRANDENBURG_2019],
    certify: ByOrder::all(Certify::Without(NO_PROOF)),
    analysis: Analysis::Together(|system, order| by_requests(system, order, fmlp::bounds)),
};

/// `DPCP`: response times with DPCP between CPUs.
pub const DPCP: OrderedTest = OrderedTest {
    listing: given_first!("DPCP", "response times with DPCP between CPUs"),
    subject: by_order!(|ORDER| Subject::Algorithms(&[Locking(ORDER, Protocol::Dpcp)])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<13>(AT_HOME, Priorities), AT_HOME),
    citations: &[&RAJKUMAR_1988, &BRANDENBURG_2019],
    certify: ByOrder::all(Certify::Without(NO_PROOF)),
    analysis: Analysis::Together(|system, order| {
        between::whole(system, order, |system, tasks| {
            // A resource without a home is not used, so any CPU will do.
            let home = |resource: &layland_model::Resource| resource.home.unwrap_or(CpuId(0));
            let homes: Vec<CpuId> = system.resources.iter().map(home).collect();
            let shared = dpcp::shared(tasks, &homes);
            let bounded = dpcp::bounds(&shared, &homes);
            (shared.tasks, bounded)
        })
    }),
};

/// `MSRP`: response times with MSRP between CPUs, each request alone.
pub const MSRP: OrderedTest = OrderedTest {
    listing: given_first!("MSRP", "response times with MSRP between CPUs, each request alone"),
    subject: by_order!(|ORDER| Subject::Algorithms(&[Locking(ORDER, Protocol::Msrp)])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<12>(SPINNING, Priorities), SPINNING),
    citations: &[&GAI],
    certify: ByOrder::all(Certify::Without(NO_PROOF)),
    analysis: Analysis::Together(|system, order| {
        by_requests(system, order, |shared| msrp::bounds(shared, msrp::Counting::Classic))
    }),
};

/// `MSRP-HOLISTIC`: response times with MSRP between CPUs, all requests of a job together.
pub const MSRP_HOLISTIC: OrderedTest = OrderedTest {
    listing: given_first!(
        "MSRP-HOLISTIC",
        "response times with MSRP between CPUs, all requests of a job together"
    ),
    subject: by_order!(|ORDER| Subject::Algorithms(&[Locking(ORDER, Protocol::Msrp)])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<12>(SPINNING, Priorities), SPINNING),
    citations: &[&GAI, &overheads::BRANDENBURG],
    certify: ByOrder::all(Certify::Without(NO_PROOF)),
    analysis: Analysis::Together(|system, order| {
        by_requests(system, order, |shared| msrp::bounds(shared, msrp::Counting::Holistic))
    }),
};

/// The finding and the bounds of a protocol that needs the requests for each resource.
fn by_requests<W>(
    system: &System,
    order: PriorityOrder,
    bounds: impl FnOnce(&between::Shared) -> Result<between::Bounded<W>, between::Rejected>,
) -> (Finding, ResponseBounds) {
    between::whole(system, order, |_, tasks| {
        let shared = between::Shared::new(tasks);
        let bounded = bounds(&shared);
        (shared.tasks, bounded)
    })
}
