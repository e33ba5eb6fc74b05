//! Response times: exact, except for blocking times, which are upper bounds.
//!
//! | paper | meaning |
//! |---|---|
//! | `w(q)` | the completion of the `q`-th job of a busy period, from its start |
//! | `J_i` | release jitter |
//! | `H_i` | the tasks of higher priority |
//! | `B_i` | the maximum time for which jobs of lower priority delay a job of the task, once in a busy period |

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::{BLOCKED, GIVEN, PriorityOrder};
use crate::fixed_point::{Diverged, GaveUp, MAX_STEPS, least_within};
use crate::group::{Group, exact, together};
use crate::ordered::{Analysis, ByOrder, PARTITIONED, given_first};
use crate::proof::{MOST, TOO_LONG};
use crate::sporadic::Divisor;
use crate::uniprocessor::arrivals::{NO_CERTIFICATE, have_bursts};
use crate::uniprocessor::deferred;
use crate::{
    Assumption, Certify, Citation, Evidence, Finding, OrderedTest, Part, Quantity, Reason, Refusal,
    ResponseBound, Scope, TestKind, Verdict,
};
use layland_model::{CpuSet, Duration, Rate, RateSum, System, TIME_LIMIT, Task, TaskId, TaskMap};
use std::borrow::Borrow;
use std::cell::Cell;

/// Lehoczky 1990.
pub const LEHOCZKY: Citation = Citation {
    key: "lehoczky1990fixed",
    text: "J. P. Lehoczky. Fixed priority scheduling of periodic task sets with arbitrary deadlines. \
           RTSS 1990, pages 201-209.",
    bibtex: "@inproceedings{lehoczky1990fixed,
  author    = {John P. Lehoczky},
  title     = {Fixed Priority Scheduling of Periodic Task Sets with Arbitrary Deadlines},
  booktitle = {11th Real-Time Systems Symposium (RTSS)}, pages = {201--209}, year = {1990},
  doi       = {10.1109/REAL.1990.128748}
}",
};

/// Tindell, Burns and Wellings 1994.
pub const TINDELL: Citation = Citation {
    key: "tindell1994extendible",
    text: "K. W. Tindell, A. Burns and A. J. Wellings. An extendible approach for analyzing fixed \
           priority hard real-time tasks. Real-Time Systems 6(2):133-151, 1994.",
    bibtex: "@article{tindell1994extendible,
  author  = {Ken W. Tindell and Alan Burns and Andy J. Wellings},
  title   = {An Extendible Approach for Analyzing Fixed Priority Hard Real-Time Tasks},
  journal = {Real-Time Systems}, volume = {6}, number = {2}, pages = {133--151}, year = {1994}
}",
};

/// `RTA`, `RTA-RM` and `RTA-DM`: response times under fixed priorities, for each CPU. They are exact
/// without blocking times.
pub const RTA: OrderedTest = OrderedTest {
    listing: given_first!("RTA", "response times under fixed priorities on each CPU"),
    subject: PARTITIONED,
    kind: TestKind::Exact,
    assumptions: ByOrder::new(GIVEN, BLOCKED),
    citations: &[&LEHOCZKY, &TINDELL],
    certify: ByOrder {
        given: Certify::By(|system| busy_periods(system, PriorityOrder::Given)),
        rate_monotonic: Certify::By(|system| busy_periods(system, PriorityOrder::RateMonotonic)),
        deadline_monotonic: Certify::By(|system| {
            busy_periods(system, PriorityOrder::DeadlineMonotonic)
        }),
    },
    analysis: Analysis::Apart {
        finding: |system, order| {
            let finding = |group: &Group<'_>| every_response(group, order);
            together(Group::affinities(system).iter().map(finding))
        },
        bounds: |system, order| {
            let mut found = TaskMap::filled(None, system.tasks.len());
            if let Ok(bounds) = response_bounds(system, order) {
                for bound in bounds.values().flatten() {
                    found[bound.task] = Some(bound.clone());
                }
            }
            found
        },
    },
};

/// Returns `R_i`, the largest response time of a job of `tau_i` among tasks `H_i` of higher
/// priority, from its arrival, including jitter and blocking time.
///
/// ```
/// use layland_analysis::uniprocessor::fixed_priority::response_time;
/// use layland_model::{Duration, Service, Task};
/// // R = 20 + ceil(R/2) + ceil(R/10) has the solution 50 (Huang et al. 2014, Section 3.1).
/// let [tau_1, tau_2, tau_3] = [(1, 2), (1, 10), (20, 100)]
///     .map(|(c, t)| Task::implicit("", Service::from_ns(c), Duration::from_ns(t)));
/// let r_3 = response_time(&tau_3, &[tau_1, tau_2], tau_3.deadline);
/// assert_eq!(r_3, Ok(Duration::from_ns(50)));
/// ```
///
/// # Errors
/// [`Diverged::Beyond`] if it is more than `limit`; [`Diverged::Overload`] if it has no bound at all;
/// [`Diverged::GaveUp`] if it is not found.
pub fn response_time(
    tau_i: &Task,
    H_i: &[impl Borrow<Task>],
    limit: Duration,
) -> Result<Duration, Diverged> {
    response_time_within(tau_i, H_i, limit, &Cell::new(TERMS))
}

/// [`response_time`], limited by a number of terms that searches share.
fn response_time_within(
    tau_i: &Task,
    H_i: &[impl Borrow<Task>],
    limit: Duration,
    terms: &Cell<u64>,
) -> Result<Duration, Diverged> {
    let higher = || H_i.iter().map(|tau_j| tau_j.borrow());
    if have_bursts(higher().chain([tau_i])) {
        // Without regions, the last region is a nanosecond.
        let (higher, B_i): (Vec<&Task>, _) = (higher().collect(), tau_i.blocking_time);
        return deferred::fixed_priority::blocked_response_time(tau_i, &higher, B_i, limit);
    }
    // A step evaluates all tasks of higher priority. All jobs of a busy period share the steps.
    let each = H_i.len() as u64 + 1;
    let steps = Cell::new((terms.get() / each).min(MAX_STEPS));
    let all = steps.get();
    let found = search(tau_i, H_i, limit, &steps, |_| {});
    terms.set(terms.get() - (all - steps.get()) * each);
    found
}

/// [`response_time`] in at most this number of steps; the callback receives each `w(q)`.
fn search(
    tau_i: &Task,
    H_i: &[impl Borrow<Task>],
    limit: Duration,
    steps: &Cell<u64>,
    mut found: impl FnMut(Duration),
) -> Result<Duration, Diverged> {
    let (C_i, T_i, J_i) = (tau_i.own_wcet().at_unit_speed(), tau_i.period, tau_i.jitter);
    // Within a period the search ends soon, even if the busy period has no end.
    if limit > T_i && overloaded(tau_i, H_i) {
        return Err(Diverged::Overload);
    }
    let higher: Vec<Higher> = H_i.iter().map(|tau_j| Higher::from(tau_j.borrow())).collect();
    let B_i = tau_i.blocking_time;
    let mut R_i = Duration::ZERO;
    let mut w = Duration::ZERO;
    let mut repeats_from = i64::MAX;
    for q in 0..MAX_STEPS as i64 {
        // w(q), the least fixed point of w = B_i + (q + 1) C_i + sum ceil((w + J_j) / T_j) C_j.
        // R_i >= w(q) + J_i - q T_i, so a w(q) beyond this limit ends the search.
        let first = Duration::from_ns(T_i.ns().saturating_mul(q));
        let own = C_i.ns().saturating_mul(q + 1).saturating_add(B_i.ns());
        let own = Duration::from_ns(own);
        let w_limit = Duration::from_ns(limit.ns().saturating_add(first.ns()) - J_i.ns());
        let start = if q == 0 { own } else { Duration::from_ns(w.ns().saturating_add(C_i.ns())) };
        w = least_within(start, w_limit, (FAR, steps), |w| interference(own, &higher, w)).map_err(
            |diverged| match diverged {
                Diverged::Beyond { reached, .. } => {
                    let reached = reached.ns().saturating_add(J_i.ns()) - first.ns();
                    Diverged::Beyond { limit, reached: Duration::from_ns(reached) }
                }
                Diverged::GaveUp(_) | Diverged::Overload => diverged,
            },
        )?;
        found(w);
        R_i = R_i.max(w + J_i - first);
        // The next job becomes ready after the busy period, so no later job has a longer response.
        if w <= first + T_i - J_i {
            return Ok(R_i);
        }
        // If jitter and a full load keep the CPU busy for ever, w(q + H / T_i) = w(q) + H for the
        // hyperperiod H, so later jobs have the responses of earlier ones. If blocking keeps the
        // CPU busy beyond H with a smaller load, w(q + H / T_i) is less.
        if q == 0 {
            repeats_from = hyperperiod(tau_i, H_i).map_or(i64::MAX, |H| H.div_floor(T_i));
        }
        if q + 1 >= repeats_from {
            return Ok(R_i);
        }
    }
    Err(GaveUp::OutOfSteps { reached: w, steps: MAX_STEPS }.into())
}

/// The maximum number of times that a search evaluates a task of higher priority.
const TERMS: u64 = 500_000_000;
/// This maximum for the searches for all bounds of a system together, which have no deadlines as
/// limits.
const TERMS_OF_BOUNDS: u64 = 200_000_000;

/// The limit up to which a busy period is followed; adding a jitter, a period or a WCET does not
/// overflow.
const FAR: Duration = Duration::from_ns(1 << 62);

/// Returns the least common multiple of the periods, or `None` if it is too long.
fn hyperperiod(tau_i: &Task, H_i: &[impl Borrow<Task>]) -> Option<Duration> {
    let lcm = |H: i64, tau_j: &Task| {
        let T_j = tau_j.period.ns();
        H.checked_mul(T_j / num_integer::gcd(H, T_j)).filter(|&ns| ns <= TIME_LIMIT)
    };
    H_i.iter().try_fold(tau_i.period.ns(), |H, tau_j| lcm(H, tau_j.borrow())).map(Duration::from_ns)
}

fn overloaded(tau_i: &Task, H_i: &[impl Borrow<Task>]) -> bool {
    let mut sum = RateSum::default();
    H_i.iter().for_each(|tau_j| sum.add(&tau_j.borrow().utilization()));
    !sum.fits(&tau_i.utilization(), &Rate::ONE)
}

/// A task of higher priority in the form that the search reads repeatedly.
struct Higher {
    C: i64,
    T: Divisor,
    J: i64,
}

impl From<&Task> for Higher {
    fn from(tau: &Task) -> Higher {
        Higher { C: tau.own_wcet().ns(), T: Divisor::new(tau.period.ns()), J: tau.jitter.ns() }
    }
}

fn interference(own: Duration, higher: &[Higher], w: Duration) -> Duration {
    // Counts `ceil((w + J) / T)` jobs; `w` is at least a WCET, and so above 0.
    let of_task =
        |tau_j: &Higher| (1 + tau_j.T.div_rem(w.ns() + tau_j.J - 1).0).saturating_mul(tau_j.C);
    Duration::from_ns(higher.iter().map(of_task).fold(own.ns(), i64::saturating_add))
}

/// Returns the response bounds of all tasks, or an error for a task whose response time is not
/// bounded by [`TIME_LIMIT`] or not found.
///
/// # Errors
/// Returns a refusal if the system breaks an assumption.
pub fn response_bounds(
    system: &System,
    order: PriorityOrder,
) -> Result<TaskMap<Result<ResponseBound, Diverged>>, Refusal> {
    let assumptions = match order {
        PriorityOrder::Given => GIVEN,
        PriorityOrder::RateMonotonic | PriorityOrder::DeadlineMonotonic => BLOCKED,
    };
    Assumption::check_all(assumptions, system)?;
    Assumption::NoCacheDelay.check(system)?;
    let mut bounds: Vec<(TaskId, Result<ResponseBound, Diverged>)> = Vec::new();
    let terms = Cell::new(TERMS_OF_BOUNDS);
    for group in Group::affinities(system) {
        let (ids, tasks): (Vec<TaskId>, Vec<&Task>) = order.sort(&group).into_iter().unzip();
        for (at, &task) in ids.iter().enumerate() {
            let limit = Duration::from_ns(TIME_LIMIT);
            let response = response_time_within(tasks[at], &tasks[..at], limit, &terms);
            bounds.push((task, response.map(|response| ResponseBound::new(task, response))));
        }
    }
    bounds.sort_by_key(|&(task, _)| task);
    Ok(bounds.into_iter().map(|(_, bound)| bound).collect())
}

/// Compares a response time with the deadline.
fn response_reason(
    group: &Group<'_>,
    id: TaskId,
    R: Duration,
    deadline: Duration,
    holds: bool,
) -> Reason {
    let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
    let scope = Scope::task(id, &group.cpus);
    let reason =
        Reason::compared("the response time", scope, quantity(R), quantity(deadline), holds);
    // The search stopped at the first length beyond the deadline.
    if holds { reason } else { reason.at_least() }
}

/// Returns the lengths `w(q)` of all tasks, the highest priority first, if every deadline is met.
pub(super) fn busy_periods(
    system: &System,
    order: PriorityOrder,
) -> Result<Vec<Part>, &'static str> {
    let part = |group: &Group<'_>| lengths(&group.cpus, &order.sort(group));
    Group::affinities(system).iter().map(part).collect()
}

/// Returns the lengths `w(q)` of these tasks, in the order of their priorities.
pub(super) fn lengths(cpus: &CpuSet, tasks: &[(TaskId, &Task)]) -> Result<Part, &'static str> {
    if have_bursts(tasks.iter().map(|&(_, task)| task)) {
        return Err(NO_CERTIFICATE);
    }
    let mut periods = Vec::new();
    for (at, &(id, tau_i)) in tasks.iter().enumerate() {
        let higher: Vec<&Task> = tasks[..at].iter().map(|&(_, task)| task).collect();
        let mut lengths = Vec::new();
        let steps = Cell::new(MAX_STEPS);
        let response = search(tau_i, &higher, tau_i.deadline, &steps, |w| {
            if lengths.len() <= MOST {
                lengths.push(w);
            }
        });
        response.map_err(|_| "a response time is not within its deadline")?;
        // If the load is full and jitter keeps the CPU busy for ever, the search ends by the
        // hyperperiod.
        let (last, jobs) = (lengths.last().copied().unwrap_or_default(), lengths.len() as i64);
        if lengths.len() > MOST {
            return Err(TOO_LONG);
        }
        if last.ns() > tau_i.period.ns().saturating_mul(jobs) - tau_i.jitter.ns() {
            return Err("the busy period has no end: responses repeat with the hyperperiod");
        }
        periods.push((id, lengths));
    }
    let tasks = tasks.iter().map(|&(id, _)| id).collect();
    Ok(Part { cpus: cpus.clone(), tasks, evidence: Evidence::BusyPeriods(periods) })
}

fn every_response(group: &Group<'_>, order: PriorityOrder) -> Finding {
    let (ids, tasks): (Vec<TaskId>, Vec<&Task>) = order.sort(group).into_iter().unzip();
    let mut reasons = Vec::new();
    // A task that is late if it is blocked for its whole blocking time, but in time without
    // blocking.
    let mut open: Option<Reason> = None;
    for (at, &id) in ids.iter().enumerate() {
        let (task, higher) = (tasks[at], &tasks[..at]);
        let D_i = task.deadline;
        let mut found = response_time(task, higher, D_i);
        if let Err(Diverged::Beyond { reached, .. }) = found
            && task.blocking_time > Duration::ZERO
        {
            found = response_time(&unblocked(task), higher, D_i);
            if found.is_ok() {
                open.get_or_insert_with(|| {
                    response_reason(group, id, reached, D_i, false).of_bound_at_least()
                });
                continue;
            }
        }
        match found {
            Ok(R_i) => reasons.push(response_reason(group, id, R_i, D_i, true)),
            Err(Diverged::Beyond { reached, .. }) => {
                return exact(group, false, response_reason(group, id, reached, D_i, false));
            }
            Err(diverged @ Diverged::Overload) => {
                return exact(group, false, Reason::NoBound(id, diverged));
            }
            Err(Diverged::GaveUp(why)) => {
                return Finding::new(Verdict::Unknown, Reason::GaveUp(why));
            }
        }
    }
    match open {
        Some(reason) => {
            let mut finding = Finding::new(Verdict::Unknown, reason);
            finding.reasons.push(Reason::Holds(BLOCKED_FOR_LESS));
            finding
        }
        None => Finding { verdict: Verdict::Yes, reasons },
    }
}

/// The reason for *unknown* if a task fails with its blocking time but not without.
pub(crate) const BLOCKED_FOR_LESS: &str =
    "blocking times are upper bounds: without them no job is known to be late";

/// Returns the task without its blocking time.
pub(crate) fn unblocked(task: &Task) -> Task {
    Task { blocking_time: Duration::ZERO, ..task.clone() }
}
