//! Response times under fixed priorities with non-preemptive regions: **FPNS** (Davis, Burns, Bril and Lukkien 2007)
//! and **FPDS** (Bril, Lukkien and Verhaegh 2009). **Exact** for jobs without floating regions of their own.
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart,
//! (3) WCETs are kept, (4) overheads are part of `C_i`, (5) unit speeds, (6) nothing changes while
//! the system runs, (7) few pairs of tasks share a CPU, (8) for given priorities: every task has
//! one. Jobs do not suspend themselves. Deadlines are arbitrary, and a release jitter `J_i` is
//! covered.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `B_i` | the largest [blocking](Task::blocking) of a task of lower priority | which delays `tau_i` once |
//! | `F_i`, `q_i` | [`last_region`](Task::last_region) | the part at the end of a job that is not preempted |
//! | `S_i(q)`, `w_i(q)` | `S` | the start of the last region of the `q`-th job of a busy period: the least fixed point of `B_i + (q + 1) C_i - F_i + sum over H_i of (floor((S + J_j) / T_j) + 1) C_j` |
//! | `t_i` | `t` | the end of the busy period: the least fixed point of `B_i + sum over H_i and tau_i of ceil((t + J_j) / T_j) C_j` |
//! | `R_i` | | the largest `S(q) + F_i + J_i - q T_i` over all jobs of the busy period |
//!
//! All jobs of the busy period count, also if `D_i <= T_i`: jobs that arrive during the last region
//! of a job delay the next one, and the first job need not be the worst. The analysis of CAN of
//! 1994 examines only the first job, and accepts sets that miss deadlines: see
//! `cases/davis2007.md`.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::unless_floating;
use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::fixed_point::{Diverged, GaveUp, MAX_STEPS, least};
use crate::group::{Group, exact, together};
use crate::ordered::{Analysis, ByOrder, by_order, given_first};
use crate::uniprocessor::arrivals::{Repetition, TaskArrivals};
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{
    Certify, Citation, Finding, OrderedTest, Quantity, Reason, ResponseBound, Scope, Subject,
    TestKind, Verdict,
};
use layland_model::{
    Algorithm, Duration, Form, Rate, RateSum, System, TIME_LIMIT, Task, TaskId, TaskMap,
};

const PINNED: &[Assumption] =
    &[OneCpuEach, BoundedArrivals, WcetKept, NoOverheads, UnitSpeeds, NoRequests, FewPairs];

/// `NP-RTA`, `NP-RTA-RM` and `NP-RTA-DM`: response times with non-preemptive regions, for each CPU.
pub const TEST: OrderedTest = OrderedTest {
    listing: given_first!(
        "NP-RTA",
        "response times under fixed priorities with non-preemptive regions on each CPU"
    ),
    subject: by_order!(|ORDER| Subject::Algorithms(&[Algorithm::Deferred(
        Form::Partitioned,
        ORDER
    ),])),
    kind: TestKind::Exact,
    assumptions: ByOrder::new(&and::<8>(PINNED, Priorities), PINNED),
    citations: &[&Citation::DAVIS_CAN, &Citation::BRIL],
    certify: ByOrder::all(Certify::Without("the verifier does not know non-preemptive regions")),
    analysis: Analysis::Apart {
        finding: |system, order| {
            let finding = |group: &Group<'_>| every_response(group, order);
            together(Group::affinities(system).iter().map(finding))
        },
        bounds: responses,
    },
};

/// Returns `R_i`, the largest response time of a job of `tau_i` among tasks `H_i` of higher and
/// `L_i` of lower priority, from its arrival, including jitter.
///
/// ```
/// use layland_analysis::uniprocessor::deferred::fixed_priority::response_time;
/// use layland_model::{Duration, Preemption, Service, Task};
/// // Three messages of 1 ms (Davis et al. 2007): the first job of the last one takes 3 ms, the second one 3.5 ms.
/// let [a, b, c] = [2_500, 3_500, 3_500].map(|period| {
///     let mut task = Task::implicit("", Service::from_us(1_000), Duration::from_us(period));
///     task.preemption = Preemption::Never;
///     task
/// });
/// let limit = Duration::from_us(10_000);
/// assert_eq!(response_time(&c, &[&a, &b], &[], limit), Ok(Duration::from_us(3_500)));
/// assert_eq!(response_time(&b, &[&a], &[&c], limit), Ok(Duration::from_ns(2_999_999)));
/// ```
///
/// # Errors
/// [`Diverged::Beyond`] if it is more than `limit`; [`Diverged::Overload`] if it has no bound at all;
/// [`Diverged::GaveUp`] if it is not found.
pub fn response_time<'a>(
    tau_i: &'a Task,
    H_i: &[&'a Task],
    L_i: &[&Task],
    limit: Duration,
) -> Result<Duration, Diverged> {
    let B_i = L_i.iter().map(|tau_k| tau_k.blocking()).max().unwrap_or_default();
    blocked_response_time(tau_i, H_i, B_i, limit)
}

/// [`response_time`] where jobs of lower priority delay a job of `tau_i` for at most `B_i`, once in
/// a busy period.
pub(crate) fn blocked_response_time<'a>(
    tau_i: &'a Task,
    H_i: &[&'a Task],
    B_i: Duration,
    limit: Duration,
) -> Result<Duration, Diverged> {
    let mut load = RateSum::default();
    H_i.iter().for_each(|tau_j| load.add(&tau_j.utilization()));
    if !load.fits(&tau_i.utilization(), &Rate::ONE) {
        return Err(Diverged::Overload);
    }
    let (C_i, F_i) = (tau_i.own_wcet().at_unit_speed(), tau_i.last_region());
    let J_i = tau_i.jitter;
    let coming =
        |tau_j: &&'a Task| (TaskArrivals::of(tau_j), tau_j.jitter.ns(), tau_j.own_wcet().ns());
    let own_arrivals = TaskArrivals::of(tau_i);
    let higher: Vec<(TaskArrivals<'a>, i64, i64)> = H_i.iter().map(coming).collect();
    // `begun` is the work of jobs that begin up to an instant, `busy` that of jobs that arrive
    // before it.
    let begun = |own: Duration, S: Duration| {
        let of_task = |&(tau_j, J_j, C_j): &(TaskArrivals<'a>, i64, i64)| {
            tau_j.within((S.ns() + J_j).saturating_add(1)).saturating_mul(C_j)
        };
        sum(own, higher.iter().map(of_task))
    };
    let busy = |t: Duration| {
        let of_task = |&(tau_j, J_j, C_j): &(TaskArrivals<'a>, i64, i64)| {
            tau_j.within(t.ns() + J_j).saturating_mul(C_j)
        };
        let own = (own_arrivals, J_i.ns(), C_i.ns());
        sum(B_i, higher.iter().chain([&own]).map(of_task))
    };
    // If a full load keeps the CPU busy for ever, responses repeat once the load does.
    let repetition = Repetition::of(own_arrivals, higher.iter().map(|&(tau_j, ..)| tau_j));
    let mut mark: Option<(i64, Duration)> = None;
    let (mut R_i, mut S, mut t) = (Duration::ZERO, Duration::ZERO, C_i);
    for q in 0..MOST_JOBS {
        let first = Duration::from_ns(own_arrivals.distance(q));
        if q > 0 {
            match least(t, first - J_i, busy) {
                // The next job arrives after the busy period.
                Ok(_) => return Ok(R_i),
                Err(Diverged::Beyond { reached, .. }) => t = reached,
                Err(diverged @ (Diverged::Overload | Diverged::GaveUp(_))) => return Err(diverged),
            }
        }
        let own = sum(B_i, [C_i.ns().saturating_mul(q + 1) - F_i.ns()].into_iter());
        let response = |S: Duration| {
            Duration::from_ns(S.ns().saturating_add((F_i + J_i).ns()).saturating_sub(first.ns()))
        };
        let S_limit = limit.ns().saturating_add(first.ns()) - (F_i + J_i).ns();
        let start = if q == 0 { own } else { S + C_i };
        let found = least(start, Duration::from_ns(S_limit), |S| begun(own, S));
        S = found.map_err(|diverged| match diverged {
            Diverged::Beyond { reached, .. } => {
                Diverged::Beyond { limit, reached: response(reached) }
            }
            Diverged::GaveUp(_) | Diverged::Overload => diverged,
        })?;
        R_i = R_i.max(response(S));
        let Some(Repetition { jobs, length, from_job, from }) = &repetition else { continue };
        if q >= *from_job && S.ns() > *from {
            match mark {
                // The state repeats from here on, shifted in time.
                Some((marked, then)) if q == marked + jobs && S.ns() - then.ns() == *length => {
                    return Ok(R_i);
                }
                Some((marked, _)) if q < marked + jobs => {}
                Some(_) | None => mark = Some((q, S)),
            }
        }
    }
    Err(GaveUp::OutOfSteps { reached: S, steps: MOST_JOBS as u64 }.into())
}

/// The number of jobs of a busy period after which the search gives up.
const MOST_JOBS: i64 = MAX_STEPS as i64;

fn sum(first: Duration, others: impl Iterator<Item = i64>) -> Duration {
    Duration::from_ns(others.fold(first.ns(), i64::saturating_add))
}

/// The tasks of a CPU, the highest priority first.
struct Sorted<'a> {
    ids: Vec<TaskId>,
    tasks: Vec<&'a Task>,
}

impl<'a> Sorted<'a> {
    fn of(group: &Group<'a>, order: PriorityOrder) -> Sorted<'a> {
        let (ids, tasks) = order.sort(group).into_iter().unzip();
        Sorted { ids, tasks }
    }

    fn response(&self, at: usize, limit: Duration) -> Result<Duration, Diverged> {
        response_time(self.tasks[at], &self.tasks[..at], &self.tasks[at + 1..], limit)
    }
}

/// The response bounds of all tasks for which they exist.
fn responses(system: &System, order: PriorityOrder) -> TaskMap<Option<ResponseBound>> {
    let mut bounds = TaskMap::filled(None, system.tasks.len());
    for group in Group::affinities(system) {
        let sorted = Sorted::of(&group, order);
        for (at, &id) in sorted.ids.iter().enumerate() {
            let response = sorted.response(at, Duration::from_ns(TIME_LIMIT)).ok();
            bounds[id] = response.map(|response| ResponseBound::new(id, response));
        }
    }
    bounds
}

fn every_response(group: &Group<'_>, order: PriorityOrder) -> Finding {
    let sorted = Sorted::of(group, order);
    let mut reasons = Vec::new();
    for (at, &id) in sorted.ids.iter().enumerate() {
        let (task, D_i) = (sorted.tasks[at], sorted.tasks[at].deadline);
        let compared = |R: Duration, holds| {
            let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
            let scope = Scope::task(id, &group.cpus);
            Reason::compared("the response time", scope, quantity(R), quantity(D_i), holds)
        };
        let late = |reason| unless_floating(exact(group, false, reason), task);
        match sorted.response(at, D_i) {
            Ok(R_i) => reasons.push(compared(R_i, true)),
            Err(Diverged::Beyond { reached, .. }) => {
                return late(compared(reached, false).at_least());
            }
            // The load exceeds the CPU, regardless of preemption.
            Err(Diverged::Overload) => {
                return exact(group, false, Reason::NoBound(id, Diverged::Overload));
            }
            Err(Diverged::GaveUp(why)) => {
                return Finding::new(Verdict::Unknown, Reason::GaveUp(why));
            }
        }
    }
    Finding { verdict: Verdict::Yes, reasons }
}
