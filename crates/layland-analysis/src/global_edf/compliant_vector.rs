//! Compliant-vector analysis (**CVA**): response times and tardiness under global EDF with
//! constrained deadlines (Erickson, Devi, Baruah 2010; with priority points Erickson, Anderson 2012), and under G-FL.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) WCETs are kept, (5) overheads are part of `C_i`, (6) unit speeds, (7) no affinities within a
//! cluster, (8) nothing changes while the system runs. There is a bound if `U <= m` and `u_i <= 1`.
//!
//! | paper | meaning |
//! |---|---|
//! | `Y_i` | relative priority point, the earliest runs first: `D_i`, or the policy's under G-FL; in some forms less the smallest one |
//! | `S_i` | `max(0, C_i (1 - Y_i / T_i))` |
//! | `G(s)` | the sum of the `ceil(U) - 1` largest `C_i - S_i - C_i u_i / m + s u_i` |
//! | `s` | the least value from 0 on with `G(s) + sum S_i <= m s` |
//!
//! A job of `tau_i` is late by at most `s - C_i / m + C_i + Y_i - D_i`. Subtracting the smallest
//! point from all points does not change the schedule, but reduces the bound. Under G-FL the bound
//! is equal for all tasks, except for rounding; if it is negative for all, no job is late.
//!
//! `G(s) + sum S_i - m s` is convex, piecewise linear and decreasing, so Newton's iteration from 0
//! reaches its zero after finitely many steps. The result is exact, in rationals.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::GLOBAL_EDF;
use crate::Assumption::*;
use crate::group::Group;
use crate::{
    Assumption, BoundTest, Certify, Citation, Decide, Finding, Quantity, Reason,
    SchedulabilityTest, Scope, Subject, Tardiness, TestKind,
};
use layland_model::{Algorithm, Duration, Rate, System, Task, TaskId};
use layland_offline::points::{self, ERICKSON_ANDERSON, ERICKSON_ANDERSON_WARD};
use std::cmp::Reverse;

/// Erickson, Devi and Baruah 2010.
pub const ERICKSON_DEVI: Citation = Citation {
    key: "erickson2010improved",
    text: "J. P. Erickson, U. Devi and S. Baruah. Improved tardiness bounds for global EDF. ECRTS 2010, \
           pages 14-23.",
    bibtex: "@inproceedings{erickson2010improved,
  author    = {Jeremy P. Erickson and UmaMaheswari Devi and Sanjoy Baruah},
  title     = {Improved Tardiness Bounds for Global {EDF}},
  booktitle = {22nd Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {14--23}, year = {2010}
}",
};

const ASSUMPTIONS: &[Assumption] = &[
    SporadicReleases,
    NoJitter,
    ConstrainedDeadlines,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    WholeClusters,
    NoRequests,
];

/// The priority points that describe the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Points {
    /// `Y_i = D_i`.
    Plain,
    /// `Y_i = D_i - min D`.
    Reduced,
    /// The points of G-FL, less the smallest one.
    FairLateness,
}

/// The bound with `Y_i = D_i`, for each cluster.
pub const PLAIN: BoundTest = BoundTest {
    name: "CVA",
    title: "tardiness under global EDF by a compliant vector",
    algorithms: GLOBAL_EDF,
    assumptions: ASSUMPTIONS,
    citations: &[&ERICKSON_DEVI],
    bound: |system| super::each_cluster(system, |group| bounds(group, Points::Plain)),
};

/// The bound with `Y_i = D_i - min D`, for each cluster.
///
/// ```
/// use layland_analysis::{Tardiness, global_edf::compliant_vector};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// let Tardiness::Bounded(bounds) = compliant_vector::REDUCED.run(&system).unwrap() else { panic!() };
/// // Every Y is 0, every S is 2, s is 4: at most 4 - 2/2 + 2 - 3 late.
/// assert!(bounds.values().all(|bound| bound.rounded_up() == Some(Duration::from_ms(2))));
/// ```
pub const REDUCED: BoundTest = BoundTest {
    name: "CVA-REDUCED",
    title: "tardiness under global EDF by a compliant vector with reduced priority points",
    algorithms: GLOBAL_EDF,
    assumptions: ASSUMPTIONS,
    citations: &[&ERICKSON_DEVI, &ERICKSON_ANDERSON],
    bound: |system| super::each_cluster(system, |group| bounds(group, Points::Reduced)),
};

/// The policies that the bound and the test of fair lateness are about.
const FAIR_LATENESS_ALONE: &[Algorithm] = &[Algorithm::FairLateness];

/// The bound under G-FL, for each cluster.
///
/// ```
/// use layland_analysis::{Tardiness, global_edf::compliant_vector};
/// use layland_model::{Duration, Rate, Service, System, Task};
/// let task = |name, c| Task::implicit(name, Service::from_ms(c), Duration::from_ms(10));
/// let system = System::new(2, vec![task("a", 8), task("b", 6), task("c", 6)]);
/// let Tardiness::Bounded(bounds) = compliant_vector::FAIR.run(&system).unwrap() else { panic!() };
/// // Y is 6, 7 and 7: less 6 it is 0, 1 and 1. All tasks have one bound.
/// let first = &bounds.values().next().unwrap().tardiness;
/// assert!(bounds.values().all(|bound| bound.tardiness == *first));
/// ```
pub const FAIR: BoundTest = BoundTest {
    name: "CVA-FL",
    title: "tardiness under fair lateness by a compliant vector",
    algorithms: FAIR_LATENESS_ALONE,
    assumptions: ASSUMPTIONS,
    citations: &[&ERICKSON_ANDERSON, &ERICKSON_ANDERSON_WARD],
    bound: |system| super::each_cluster(system, |group| bounds(group, Points::FairLateness)),
};

/// Tests that no job is late by the bound under G-FL: sufficient.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::compliant_vector};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(3), Duration::from_ms(10));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// assert_eq!(compliant_vector::NOT_LATE.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const NOT_LATE: SchedulabilityTest = SchedulabilityTest {
    name: "FAIR-LATENESS",
    title: "no lateness under fair lateness",
    subject: Subject::Algorithms(FAIR_LATENESS_ALONE),
    kind: TestKind::Sufficient,
    assumptions: ASSUMPTIONS,
    citations: &[&ERICKSON_ANDERSON, &ERICKSON_ANDERSON_WARD],
    certify: Certify::Without("the verifier does not know compliant vectors"),
    decide: Decide::by(not_late),
};

fn not_late(system: &System) -> Finding {
    let of = |group: &Group<'_>| bounds(group, Points::FairLateness);
    match super::each_cluster(system, of) {
        Tardiness::Unknown(reasons) => {
            Finding { verdict: TestKind::Sufficient.verdict(false), reasons }
        }
        Tardiness::Bounded(all) => {
            let is_late = |tardiness: &Rate| *tardiness > Rate::ZERO;
            let verdict = !all.values().any(|bound| is_late(&bound.tardiness));
            let reasons = all.values().map(|bound| {
                let cpus = system.allowed_cpus(bound.task);
                Reason::compared(
                    "the tardiness",
                    Scope::task(bound.task, &cpus),
                    Quantity::Time(bound.tardiness.clone()),
                    Quantity::Time(Rate::ZERO),
                    !is_late(&bound.tardiness),
                )
            });
            Finding { verdict: TestKind::Sufficient.verdict(verdict), reasons: reasons.collect() }
        }
    }
}

/// A task with its relative priority point `Y`, and the `S` that follows from it.
struct TaskWithPoint {
    task: TaskId,
    C: Rate,
    D: Rate,
    u: Rate,
    Y: Rate,
    S: Rate,
}

fn with_points(group: &Group<'_>, of: Points) -> Vec<TaskWithPoint> {
    let unreduced = |task: &Task| {
        let earlier = match of {
            Points::Plain | Points::Reduced => Duration::ZERO,
            Points::FairLateness => points::fair_lateness(task, group.cpus.len()),
        };
        task.deadline - earlier
    };
    let least = match of {
        Points::Plain => Duration::ZERO,
        Points::Reduced | Points::FairLateness => {
            group.tasks().map(unreduced).min().unwrap_or_default()
        }
    };
    let point = |&(task, tau): &(TaskId, &Task)| {
        let [C, D, T] = [tau.own_wcet().ns(), tau.deadline.ns(), tau.period.ns()].map(Rate::whole);
        let Y = Rate::whole((unreduced(tau) - least).ns());
        let S = (&C * &(&Rate::ONE - &(&Y / &T))).max(Rate::ZERO);
        TaskWithPoint { task, C, D, u: tau.utilization(), Y, S }
    };
    group.tasks.iter().map(point).collect()
}

fn bounds(group: &Group<'_>, points: Points) -> Vec<(TaskId, Rate)> {
    let m = Rate::whole(group.cpu_count());
    let tasks = with_points(group, points);
    // On one CPU with implicit deadlines, EDF is optimal.
    let implicit = group.tasks().all(|task| task.deadline == task.period);
    if group.cpu_count() == 1 && implicit {
        return tasks.iter().map(|tau| (tau.task, Rate::ZERO)).collect();
    }
    let s = least_s(&tasks, &m, super::ceil_of_load(group).saturating_sub(1));
    // s - C_i / m + C_i + Y_i - D_i. The fraction `s` has many digits, so add the other terms first
    // and `s` only once.
    let tardiness = |TaskWithPoint { C, D, Y, .. }: &TaskWithPoint| {
        let beyond = &(&(C - D) + Y) - &(C / &m);
        (&s + &beyond).max(Rate::ZERO)
    };
    tasks.iter().map(|tau| (tau.task, tardiness(tau))).collect()
}

/// The least `s >= 0` with `G(s) + sum S_i <= m s`.
fn least_s(tasks: &[TaskWithPoint], m: &Rate, largest: usize) -> Rate {
    least(tasks, m, |lines, s| {
        first_of(lines, s, largest).unwrap_or_else(|| exactly_first_of(lines, s, largest))
    })
}

/// The contribution of a task to `G` as a line: its value at 0, and its slope.
type TaskLine<'a> = (Rate, &'a Rate);

/// Returns `least_s`, where `largest_at` selects the largest lines at `s`.
fn least(
    tasks: &[TaskWithPoint],
    m: &Rate,
    mut largest_at: impl FnMut(&[TaskLine<'_>], &Rate) -> Vec<usize>,
) -> Rate {
    let sum_S = tasks.iter().fold(Rate::ZERO, |sum, tau| &sum + &tau.S);
    let at_zero = |TaskWithPoint { C, u, S, .. }: &TaskWithPoint| &(C - S) - &(&(C * u) / m);
    let lines: Vec<TaskLine<'_>> = tasks.iter().map(|e| (at_zero(e), &e.u)).collect();
    let mut s = Rate::ZERO;
    loop {
        // The tangent at s is A + B s, from the tasks with the largest values there.
        let (mut A, mut B) = (sum_S.clone(), Rate::ZERO);
        for at in largest_at(&lines, &s) {
            let (a, u) = &lines[at];
            (A, B) = (&A + a, &B + u);
        }
        // B < m: at most ceil(U) - 1 < m utilizations of at most 1.
        let zero = &A / &(m - &B);
        if zero <= s {
            return s;
        }
        s = zero;
    }
}

/// Returns the largest lines at `s`. Ties: the steepest first, because they form the tangent to the
/// right.
fn exactly_first_of(lines: &[TaskLine<'_>], s: &Rate, largest: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_cached_key(|&at| {
        let (a, u) = &lines[at];
        Reverse((a + &(*u * s), (*u).clone()))
    });
    order.truncate(largest);
    order
}

/// Returns the same lines as [`exactly_first_of`] if their values in units of 2^-20, rounded down,
/// determine them. After a few iterations, `s` has so many digits that products with it take most
/// of the time.
fn first_of(lines: &[TaskLine<'_>], s: &Rate, largest: usize) -> Option<Vec<usize>> {
    const FINE: u32 = 20;
    /// The value at 0, `s` and the product with it are each rounded down by less than a unit; a slope is at most 1.
    const ROUNDING: i128 = 3;
    let fine = match s.scaled_floor() {
        // The saturated value stands for this or more.
        u128::MAX => return None,
        scaled => i128::try_from(scaled >> (64 - FINE)).ok()?,
    };
    let value = |(a, u): &TaskLine<'_>| {
        let ((a, b), (c, d)) = (a.as_i64_pair()?, u.as_i64_pair()?);
        let at_zero = (i128::from(a) << FINE).div_euclid(b.into());
        Some(at_zero + i128::from(c).checked_mul(fine)? / i128::from(d))
    };
    let values: Vec<i128> = lines.iter().map(value).collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_unstable_by_key(|&at| Reverse(values[at]));
    if let (Some(&next), Some(&last)) =
        (order.get(largest), order[..largest.min(order.len())].last())
        && values[last] - values[next] <= ROUNDING
    {
        return None;
    }
    order.truncate(largest);
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sporadic::random;
    use layland_model::{Duration, Service, System, Task};

    /// Some periods share divisors and some tasks are equal, so that values lie close together.
    #[test]
    fn the_largest_lines_are_those_of_exact_values() {
        let mut draw = random(1);
        let (mut told, mut asked) = (0, 0);
        for round in 0..400 {
            let unit = [1, 7, 1_000_000][round % 3];
            let tasks: Vec<Task> = (0..2 + draw(18))
                .map(|at| {
                    let period = (10 + draw(60) as i64) * unit + [0, draw(7) as i64][round % 2];
                    let wcet = 1 + draw(period as u64) as i64;
                    let deadline = wcet + draw((period - wcet + 1) as u64) as i64;
                    let [wcet, deadline, period] = match at % 2 {
                        0 => [wcet, deadline, period],
                        _ => [3, 5, 9].map(|time| time * unit),
                    };
                    let mut task = Task::implicit(
                        at.to_string(),
                        Service::from_ns(wcet),
                        Duration::from_ns(period),
                    );
                    task.deadline = Duration::from_ns(deadline);
                    task
                })
                .collect();
            let system = System::new(tasks.len(), tasks);
            let group = &Group::clusters(&system)[0];
            for points in [Points::Plain, Points::Reduced, Points::FairLateness] {
                let tasks = with_points(group, points);
                let m = Rate::whole(group.cpu_count());
                let largest = super::super::ceil_of_load(group).saturating_sub(1);
                let exact = least(&tasks, &m, |lines, s| exactly_first_of(lines, s, largest));
                assert_eq!(least_s(&tasks, &m, largest), exact);
                least(&tasks, &m, |lines, s| {
                    let exact = exactly_first_of(lines, s, largest);
                    asked += 1;
                    if let Some(mut quick) = first_of(lines, s, largest) {
                        told += 1;
                        let mut slow = exact.clone();
                        quick.sort_unstable();
                        slow.sort_unstable();
                        assert_eq!(quick, slow);
                    }
                    exact
                });
            }
        }
        assert!(told > asked / 4 && told < asked, "{told} of {asked}");
    }
}
