//! Utilization bounds for rate-monotonic priorities: sufficient.
//!
//! With blocking times `B_i` (Sha, Rajkumar and Lehoczky 1990, Theorem 15) each task is a task of its own with those
//! above it: in a period of `tau_i` the blocking takes as much as `B_i` more execution of `tau_i` would, so that the
//! bound must take the first `i` tasks with `(C_i + B_i) / T_i` in place of the utilization of the last one. Without
//! blocking the condition on all tasks implies the others. The theorem is about Liu and Layland's bound; the argument
//! is the same for the hyperbolic one.

use crate::Assumption::{self, *};
use crate::group::{Group, together};
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Subject,
    TestKind,
};
use layland_model::{Algorithm, Duration, Form, Order, Rate, RateSum, Task};

/// Bini, Buttazzo and Buttazzo 2003.
pub const BINI: Citation = Citation {
    key: "bini2003rate",
    text: "E. Bini, G. C. Buttazzo and G. M. Buttazzo. Rate monotonic analysis: the hyperbolic bound. \
           IEEE Transactions on Computers 52(7):933-942, 2003.",
    bibtex: "@article{bini2003rate,
  author  = {Enrico Bini and Giorgio C. Buttazzo and Giuseppe M. Buttazzo},
  title   = {Rate Monotonic Analysis: The Hyperbolic Bound},
  journal = {IEEE Transactions on Computers}, volume = {52}, number = {7}, pages = {933--942}, year = {2003},
  doi     = {10.1109/TC.2003.1214341}
}",
};

const LAYLAND: &[Assumption] = &[
    OneCpuEach,
    SporadicReleases,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    NoRequests,
    ImplicitDeadlines,
    NoJitter,
    BlockingKept,
];

/// With deadlines equal to periods, the two orders are equal.
const RM_OR_DM: &[Algorithm] = &[
    Algorithm::Ordered(Form::Partitioned, Order::RateMonotonic),
    Algorithm::Ordered(Form::Partitioned, Order::DeadlineMonotonic),
];

/// The bound of Liu and Layland, for each CPU.
///
/// ```
/// use layland_analysis::{Verdict, uniprocessor::fixed_priority::{HYPERBOLIC, LIU_LAYLAND}};
/// use layland_model::{CpuId, Duration, Service, System, Task};
/// let system = |wcets: [i64; 2]| {
///     let task = |c| Task::implicit(format!("{c}"), Service::from_ms(c), Duration::from_ms(100));
///     System::new(1, wcets.map(task).to_vec())
/// };
/// // 2 (sqrt 2 - 1) is 0.8284.
/// assert_eq!(LIU_LAYLAND.run(&system([41, 42])).unwrap().verdict, Verdict::Unknown);
/// assert_eq!(LIU_LAYLAND.run(&system([40, 42])).unwrap().verdict, Verdict::Yes);
/// // 1.10 * 1.80 is 1.98.
/// assert_eq!(HYPERBOLIC.run(&system([10, 80])).unwrap().verdict, Verdict::Yes);
/// assert_eq!(LIU_LAYLAND.run(&system([10, 80])).unwrap().verdict, Verdict::Unknown);
/// ```
pub const LIU_LAYLAND: SchedulabilityTest = SchedulabilityTest {
    name: "LL",
    title: "Liu and Layland's utilization bound for rate-monotonic priorities",
    subject: Subject::Algorithms(RM_OR_DM),
    kind: TestKind::Sufficient,
    assumptions: LAYLAND,
    citations: &[&Citation::LIU_LAYLAND, &Citation::SHA_RAJKUMAR],
    certify: Certify::Reasons,
    decide: Decide::by(|system| {
        together(Group::affinities(system).iter().map(|group| {
            // U <= n (2^(1/n) - 1) if and only if (U / n + 1)^n <= 2.
            product(group, ["(U/n + 1)^n", "the largest ((U_i + B_i/T_i)/i + 1)^i"], |rates| {
                let n = rates.len();
                let mut sum = RateSum::with_capacity(n);
                rates.iter().for_each(|rate| sum.add(rate));
                let mean = &sum.exact() / &Rate::whole(n as i64);
                vec![&mean + &Rate::ONE; n]
            })
        }))
    }),
};

/// The hyperbolic bound, for each CPU. Accepts every set that Liu and Layland's bound accepts.
pub const HYPERBOLIC: SchedulabilityTest = SchedulabilityTest {
    name: "HB",
    title: "hyperbolic bound for rate-monotonic priorities",
    subject: Subject::Algorithms(RM_OR_DM),
    kind: TestKind::Sufficient,
    assumptions: LAYLAND,
    citations: &[&BINI, &Citation::SHA_RAJKUMAR],
    certify: Certify::Reasons,
    decide: Decide::by(|system| {
        together(Group::affinities(system).iter().map(|group| {
            let whats = [
                "the product of (u + 1)",
                "the largest product of (u + 1), B_i/T_i added to the last,",
            ];
            product(group, whats, |rates| rates.iter().map(|rate| rate + &Rate::ONE).collect())
        }))
    }),
};

/// Tests whether the product of the factors of these rates, each at least 1, is at most 2: **sufficient**. With
/// blocking, the products for each task and those above it; `what` describes the value without and with blocking.
fn product(
    group: &Group<'_>,
    what: [&'static str; 2],
    factors: impl Fn(&[Rate]) -> Vec<Rate>,
) -> Finding {
    let mut tasks: Vec<&Task> = group.tasks().collect();
    // Deadlines are implicit, so that the orders of both kinds of policies are this one.
    tasks.sort_by_key(|task| (task.period, task.rank));
    let rates: Vec<Rate> = tasks.iter().map(|task| task.utilization()).collect();
    let (mut holds, mut value) = at_most_two(&factors(&rates));
    let is_blocked = tasks.iter().any(|task| task.blocking_time > Duration::ZERO);
    for (at, task) in tasks.iter().enumerate().filter(|_| is_blocked) {
        let mut first = rates[..=at].to_vec();
        first[at] = &first[at] + &Rate::new(task.blocking_time.ns(), task.period.ns());
        let (is_in_time, product) = at_most_two(&factors(&first));
        holds &= is_in_time;
        value = value.max(product);
    }
    let what = what[usize::from(is_blocked)];
    let (value, bound) = (Quantity::Number(value), Quantity::Number(Rate::whole(2)));
    let reason = Reason::compared(what, Scope::cpus(&group.cpus), value, bound, holds);
    Finding::new(TestKind::Sufficient.verdict(holds), reason)
}

/// Decides exactly, and returns the product or a bound on it. Uses numbers with 60 binary digits,
/// rounded down and up, if they suffice; otherwise the exact product, which has many digits.
fn at_most_two(factors: &[Rate]) -> (bool, Rate) {
    const SHIFT: u32 = 60;
    let scale = Rate::whole(1 << SHIFT);
    let (mut low, mut high) = (1u128 << SHIFT, 1u128 << SHIFT);
    for factor in factors {
        let scaled = factor * &scale;
        let (Some(below), Some(above)) = (scaled.floor(), scaled.ceil()) else {
            return (false, factor.clone());
        };
        low = (low * u128::from(below.unsigned_abs())) >> SHIFT;
        high = (high * u128::from(above.unsigned_abs())).div_ceil(1 << SHIFT);
        // The product is far above 2 already, and larger numbers might overflow.
        if low > 4 << SHIFT {
            break;
        }
    }
    let value = |units: u128| &Rate::whole(units as i64) / &scale;
    if high <= 2 << SHIFT {
        return (true, value(high));
    }
    if low > 2 << SHIFT {
        return (false, value(low.min(4 << SHIFT)));
    }
    let product = factors.iter().fold(Rate::ONE, |product, factor| &product * factor);
    (product <= Rate::whole(2), product)
}
