//! Tests about fixed priorities. Rate-monotonic, deadline-monotonic and given priorities share one
//! analysis, and an [`OrderedTest`] makes a schedulability test and response bounds for each order.

use crate::proof::Certify;
use crate::test::{Decide, Respond, ResponseBounds, ResponseTest, SchedulabilityTest, Subject};
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{Assumption, Finding, TestKind, Verdict};
use layland_model::{Algorithm, Citation, Form, System, TaskMap};

/// A schedulability test for every order of fixed priorities, with the response bounds by which it
/// decides.
///
/// ```
/// use layland_analysis::Verdict;
/// use layland_analysis::uniprocessor::fixed_priority::{PriorityOrder, RTA};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |c, d, t| {
///     let mut task = Task::implicit(format!("{t}"), Service::from_ms(c), Duration::from_ms(t));
///     task.deadline = Duration::from_ms(d);
///     task
/// };
/// let system = System::new(1, vec![task(2, 4, 4), task(1, 2, 8)]);
/// let verdict = |order| RTA.under(order).run(&system).unwrap().verdict;
/// assert_eq!(verdict(PriorityOrder::RateMonotonic), Verdict::No);
/// assert_eq!(verdict(PriorityOrder::DeadlineMonotonic), Verdict::Yes);
/// ```
#[derive(Clone, Copy)]
pub struct OrderedTest {
    pub(crate) listing: Listing,
    pub(crate) subject: ByOrder<Subject>,
    pub(crate) kind: TestKind,
    pub(crate) assumptions: ByOrder<&'static [Assumption]>,
    pub(crate) citations: &'static [&'static Citation],
    pub(crate) certify: ByOrder<Certify>,
    pub(crate) analysis: Analysis,
}

impl OrderedTest {
    /// The test under an order.
    pub const fn under(&'static self, order: PriorityOrder) -> SchedulabilityTest {
        SchedulabilityTest {
            name: self.name(order),
            title: self.listing.titles.of(order),
            subject: self.subject.of(order),
            kind: self.kind,
            assumptions: self.assumptions.of(order),
            citations: self.citations,
            certify: self.certify.of(order),
            decide: Decide::under(self, order),
        }
    }

    /// The response bounds under an order, if the test finds some.
    pub const fn responses_under(&'static self, order: PriorityOrder) -> Option<ResponseTest> {
        match self.analysis {
            Analysis::Finding(_) => None,
            Analysis::Apart { .. } | Analysis::Together(_) | Analysis::OrSooner { .. } => {
                Some(ResponseTest {
                    name: self.name(order),
                    title: self.listing.titles.of(order),
                    algorithms: self.subject.of(order).algorithms(),
                    kind: self.kind,
                    assumptions: self.assumptions.of(order),
                    citations: self.citations,
                    bound: Respond::Ordered(self, order),
                    by_rank: None,
                })
            }
        }
    }

    /// The name of the test under an order.
    pub const fn name(&self, order: PriorityOrder) -> &'static str {
        self.listing.names.of(order)
    }
}

/// The names and titles under each order.
#[derive(Clone, Copy)]
pub(crate) struct Listing {
    /// The orders as programs list them.
    pub(crate) orders: [PriorityOrder; 3],
    pub(crate) names: ByOrder<&'static str>,
    pub(crate) titles: ByOrder<&'static str>,
}

/// Lists `RTA`, `RTA-RM` and `RTA-DM`. The title ends with the policy on each CPU.
macro_rules! given_first {
    ($name:literal, $title:literal) => {
        $crate::ordered::Listing {
            orders: $crate::ordered::GIVEN_FIRST,
            names: $crate::ordered::ByOrder {
                given: $name,
                rate_monotonic: concat!($name, "-RM"),
                deadline_monotonic: concat!($name, "-DM"),
            },
            titles: $crate::ordered::ByOrder {
                given: concat!($title, " (p-fp)"),
                rate_monotonic: concat!($title, " (p-rm)"),
                deadline_monotonic: concat!($title, " (p-dm)"),
            },
        }
    };
}
pub(crate) use given_first;

/// Lists `BCL-RM`, `BCL-DM` and `BCL-FP`. The title names the order between two parts.
macro_rules! given_last {
    ($name:literal, $before:literal, $after:literal) => {
        $crate::ordered::given_last!($name, $before, "fixed", $after)
    };
    ($name:literal, $before:literal, $given:literal, $after:literal) => {
        $crate::ordered::Listing {
            orders: $crate::ordered::GIVEN_LAST,
            names: $crate::ordered::ByOrder {
                given: concat!($name, "-FP"),
                rate_monotonic: concat!($name, "-RM"),
                deadline_monotonic: concat!($name, "-DM"),
            },
            titles: $crate::ordered::ByOrder {
                given: concat!($before, $given, $after),
                rate_monotonic: concat!($before, "rate-monotonic", $after),
                deadline_monotonic: concat!($before, "deadline-monotonic", $after),
            },
        }
    };
}
pub(crate) use given_last;

pub(crate) const GIVEN_FIRST: [PriorityOrder; 3] =
    [PriorityOrder::Given, PriorityOrder::RateMonotonic, PriorityOrder::DeadlineMonotonic];
pub(crate) const GIVEN_LAST: [PriorityOrder; 3] =
    [PriorityOrder::RateMonotonic, PriorityOrder::DeadlineMonotonic, PriorityOrder::Given];

/// A value for each order.
#[derive(Clone, Copy)]
pub(crate) struct ByOrder<T> {
    pub(crate) given: T,
    pub(crate) rate_monotonic: T,
    pub(crate) deadline_monotonic: T,
}

impl<T: Copy> ByOrder<T> {
    /// One value for given priorities, and one for those that follow from the parameters of tasks.
    pub(crate) const fn new(given: T, derived: T) -> ByOrder<T> {
        ByOrder { given, rate_monotonic: derived, deadline_monotonic: derived }
    }

    pub(crate) const fn all(value: T) -> ByOrder<T> {
        ByOrder::new(value, value)
    }

    pub(crate) const fn of(&self, order: PriorityOrder) -> T {
        match order {
            PriorityOrder::Given => self.given,
            PriorityOrder::RateMonotonic => self.rate_monotonic,
            PriorityOrder::DeadlineMonotonic => self.deadline_monotonic,
        }
    }
}

/// Makes a [`ByOrder`] of a value in which a constant stands for the order:
/// `by_order!(|ORDER| Subject::SomePartitionUnder(ORDER))`.
macro_rules! by_order {
    (|$order:ident| $value:expr) => {
        $crate::ordered::ByOrder {
            given: {
                const $order: layland_model::Order = layland_model::Order::Given;
                $value
            },
            rate_monotonic: {
                const $order: layland_model::Order = layland_model::Order::RateMonotonic;
                $value
            },
            deadline_monotonic: {
                const $order: layland_model::Order = layland_model::Order::DeadlineMonotonic;
                $value
            },
        }
    };
}
pub(crate) use by_order;

/// Partitioned scheduling in the order.
pub(crate) const PARTITIONED: ByOrder<Subject> =
    by_order!(|ORDER| Subject::Algorithms(&[Algorithm::Ordered(Form::Partitioned, ORDER)]));

/// Global and clustered scheduling in the order.
pub(crate) const GLOBAL: ByOrder<Subject> = by_order!(|ORDER| Subject::Algorithms(&[
    Algorithm::Ordered(Form::Global, ORDER),
    Algorithm::Ordered(Form::Clustered, ORDER),
]));

/// The search of a test, for a system that keeps the assumptions and an order.
#[derive(Clone, Copy)]
pub(crate) enum Analysis {
    /// A finding, and no bounds.
    Finding(fn(&System, PriorityOrder) -> Finding),
    /// The finding and the bounds, each by a search of its own.
    Apart {
        finding: fn(&System, PriorityOrder) -> Finding,
        bounds: fn(&System, PriorityOrder) -> ResponseBounds,
    },
    /// The finding and the bounds from one search.
    Together(fn(&System, PriorityOrder) -> (Finding, ResponseBounds)),
    /// The finding and the bounds from one search, or the verdict alone, which is faster.
    OrSooner {
        both: fn(&System, PriorityOrder) -> (Finding, ResponseBounds),
        verdict: fn(&System, PriorityOrder) -> Verdict,
    },
}

impl Analysis {
    pub(crate) fn finding(self, system: &System, order: PriorityOrder) -> Finding {
        match self {
            Analysis::Finding(finding) | Analysis::Apart { finding, .. } => finding(system, order),
            Analysis::Together(both) | Analysis::OrSooner { both, .. } => both(system, order).0,
        }
    }

    pub(crate) fn verdict(self, system: &System, order: PriorityOrder) -> Verdict {
        match self {
            Analysis::OrSooner { verdict, .. } => verdict(system, order),
            Analysis::Finding(_) | Analysis::Apart { .. } | Analysis::Together(_) => {
                self.finding(system, order).verdict
            }
        }
    }

    pub(crate) fn bounds(self, system: &System, order: PriorityOrder) -> ResponseBounds {
        match self {
            Analysis::Finding(_) => TaskMap::filled(None, system.tasks.len()),
            Analysis::Apart { bounds, .. } => bounds(system, order),
            Analysis::Together(both) | Analysis::OrSooner { both, .. } => both(system, order).1,
        }
    }

    pub(crate) fn finding_and_bounds(
        self,
        system: &System,
        order: PriorityOrder,
    ) -> Option<(Finding, ResponseBounds)> {
        match self {
            Analysis::Finding(_) | Analysis::Apart { .. } => None,
            Analysis::Together(both) | Analysis::OrSooner { both, .. } => Some(both(system, order)),
        }
    }
}
