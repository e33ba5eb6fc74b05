//! Response times on one CPU under fixed priorities with locks:
//!
//! `R_i = C_i + S_i + B_i + sum over h above i of ceil((R_i + J_h) / T_h) C_h`, the least solution,
//! if it is at most `D_i`.
//!
//! `B_i` is the blocking of the [protocol](super::blocking). Without self-suspension, `S_i` and
//! `J_h` are 0. By `R_i <= T_i` all jobs from above, the blocking and one job of `i` are complete
//! in any order, so a busy period holds only one job of `i`, and the first one decides. With
//! ceilings, jobs may suspend themselves outside sections: each of the `m_i` ends of a suspension
//! meets one more section, `(m_i + 1) B_i`, and a task above with `S_h > 0` has the jitter
//! `R_h - C_h` (see [`suspension`](super::suspension)), for which it must meet its deadlines.

#![expect(non_snake_case, reason = "symbols of the specification")]

use super::blocking;
use super::tasks::{Locker, arriving, by_cpu, sum};
use crate::fixed_point::{Diverged, least};
use crate::group::together;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{Finding, Quantity, Reason, ResponseBound, Scope, Verdict};
use layland_model::{CpuSet, Duration, System, TaskMap};

/// The reason why a task has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unbounded {
    /// The task may wait for a lock while an unlimited number of jobs of intermediate priority run.
    Blocked,
    /// A task above may be late, so self-suspension is no longer bounded.
    Above,
    /// The search found no bound up to the deadline.
    Search(Diverged),
}

/// A bound in nanoseconds, or the reason why there is none.
pub type Response = Result<i64, Unbounded>;

/// Returns the least solution of `t = own + sum of ceil((t + J) / T) C` over these `(C, T, J)`, up
/// to the limit.
pub(crate) fn response(own: i64, limit: i64, above: &[(i64, i64, i64)]) -> Response {
    let f = |t: Duration| {
        let of_task = |&(C, T, J): &(i64, i64, i64)| arriving(t.ns().saturating_add(J), T, C);
        Duration::from_ns(own.saturating_add(sum(above.iter().map(of_task))))
    };
    let found = least(Duration::from_ns(own), Duration::from_ns(limit), f);
    found.map(Duration::ns).map_err(Unbounded::Search)
}

/// Returns the response times of tasks that do not suspend themselves, with this blocking.
pub fn responses(tasks: &[Locker], B: &[i64]) -> Vec<Response> {
    let of_task = |i: usize| {
        let above: Vec<_> = tasks[..i].iter().map(|h| (h.C, h.T, 0)).collect();
        response(tasks[i].C.saturating_add(B[i]), tasks[i].D, &above)
    };
    (0..tasks.len()).map(of_task).collect()
}

/// Returns the response times with priority ceilings, immediate or not, of tasks that may suspend
/// themselves.
pub fn ceiling_responses(tasks: &[Locker]) -> Vec<Response> {
    let B = blocking::ceiling(tasks);
    let mut all: Vec<Response> = Vec::new();
    for (i, task) in tasks.iter().enumerate() {
        let above = tasks[..i].iter().zip(&all).map(|(h, R_h)| {
            let J_h = if h.S > 0 { (*R_h).ok()? - h.C } else { 0 };
            Some((h.C, h.T, J_h))
        });
        // Without suspensions, only the task's own deadline matters.
        let suspends = tasks[..=i].iter().any(|task| task.S > 0);
        let is_late_above = suspends && all.iter().any(Result::is_err);
        let own = sum([task.C, task.S, (task.m + 1).saturating_mul(B[i])].into_iter());
        all.push(match above.collect::<Option<Vec<_>>>() {
            Some(above) if !is_late_above => response(own, task.D, &above),
            _ => Err(Unbounded::Above),
        });
    }
    all
}

/// Returns the response times with plain locks.
pub fn plain_responses(tasks: &[Locker]) -> Vec<Response> {
    let B = blocking::plain(tasks);
    let without = responses(tasks, &vec![0; tasks.len()]);
    let of_task =
        |(B_i, R_i): (&Option<i64>, Response)| B_i.map_or(Err(Unbounded::Blocked), |_| R_i);
    B.iter().zip(without).map(of_task).collect()
}

/// Returns the finding and the bounds of the tasks of each CPU.
pub(super) fn each_cpu(
    system: &System,
    order: PriorityOrder,
    responses: impl Fn(&[Locker]) -> Vec<Response>,
) -> (Finding, TaskMap<Option<ResponseBound>>) {
    let mut bounds = TaskMap::filled(None, system.tasks.len());
    let findings: Vec<Finding> = (by_cpu(system, order).iter())
        .map(|tasks| {
            let responses = responses(tasks);
            for (task, response) in tasks.iter().zip(&responses) {
                let bound = |R: i64| ResponseBound::new(task.id, Duration::from_ns(R));
                bounds[task.id] = response.ok().map(bound);
            }
            finding(tasks, &responses)
        })
        .collect();
    (together(findings.into_iter()), bounds)
}

/// Returns the finding for tasks with these response times, each within its deadline.
pub(crate) fn finding(tasks: &[Locker], responses: &[Response]) -> Finding {
    let mut reasons = Vec::new();
    for (task, &response) in tasks.iter().zip(responses) {
        let failed = |reasons| Finding { verdict: Verdict::Unknown, reasons };
        match response {
            Ok(R) => reasons.push(within(task, R, true)),
            Err(Unbounded::Blocked) => {
                let why = Reason::Holds(
                    "jobs that come while it waits for a lock delay it, as many as there are",
                );
                return failed(vec![Reason::MayBeLate(task.id), why]);
            }
            // The task above has a reason of its own, which comes first.
            Err(Unbounded::Above) => return failed(vec![Reason::MayBeLate(task.id)]),
            Err(Unbounded::Search(Diverged::Beyond { reached, .. })) => {
                return failed(vec![within(task, reached.ns(), false).of_bound_at_least()]);
            }
            Err(Unbounded::Search(Diverged::Overload)) => {
                return failed(vec![Reason::NoBound(task.id, Diverged::Overload)]);
            }
            Err(Unbounded::Search(Diverged::GaveUp(why))) => {
                return failed(vec![Reason::GaveUp(why)]);
            }
        }
    }
    Finding { verdict: Verdict::Yes, reasons }
}

/// Compares a response time with its deadline.
pub(super) fn within(task: &Locker, R: i64, holds: bool) -> Reason {
    let quantity = |ns: i64| Quantity::of_ns(ns.into());
    let scope = Scope::task(task.id, &CpuSet::single(task.cpu));
    Reason::compared("the response time", scope, quantity(R), quantity(task.D), holds)
}
