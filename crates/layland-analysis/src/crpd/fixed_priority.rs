//! Response times with cache-related preemption delays under fixed priorities:
//!
//! `R_i = C_i + sum over j above i of E_j(R_i) C_j + BRT * (the reloads of an [`Approach`])`, the
//! least solution, if it is at most `D_i` (Altmeyer, Davis and Maiza 2012, Sections 3 to 5).
//! `E_j(t) = ceil(t / T_j)`; the tasks that `j` may preempt are those below `j` down to `i`; jobs
//! of `j` preempt a job of `k` at most `E_j(R_k)` times, and all jobs of `k` at most
//! `E_j(R_k) E_k(R_i)` times. Ties of priorities go to the smaller rank, then to the smaller id.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::reloads::{Approach, Cached, Reloads};
use crate::fixed_point::{Diverged, least};
use crate::group::{Group, together};
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{Finding, Quantity, Reason, ResponseBound, Scope, Verdict};
use layland_model::{Duration, System, TaskMap};

/// The reason why a task has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unbounded {
    /// A task above may be late, so the number of its preemptions has no bound.
    Above,
    /// The search found no bound up to the deadline.
    Search(Diverged),
}

/// The response bounds of tasks on one CPU, in nanoseconds. The highest priority comes first, and
/// [`Cached::above`] of each task is its position, from 1. `reload` is the block reload time.
///
/// ```
/// use layland_analysis::crpd::{Approach, Cached, fixed_priority::responses};
/// use layland_model::TaskId;
/// let sets = |text: &str| text.parse().unwrap();
/// let task = |at: usize, wcet, period, ucb, ecb| Cached {
///     id: TaskId(at as u32), wcet, period, deadline: period, ucb: sets(ucb), ecb: sets(ecb), above: at + 1,
/// };
/// let tasks = [
///     task(0, 1, 10, "", "0-3"),
///     task(1, 2, 20, "0-2", "0-5"),
///     task(2, 6, 60, "2-5", "2-9"),
/// ];
/// // The first evicts four blocks of the others together, three of the second and two of the third alone.
/// let last = |approach| responses(&tasks, 1, approach)[2];
/// assert_eq!(last(Approach::UcbUnion), Ok(6 + 4 * (1 + 4) + 2 * (2 + 4)));
/// assert_eq!(last(Approach::EcbUnion), Ok(6 + 2 * (1 + 3) + (2 + 4)));
/// // In 20 the second comes once, and is preempted once: of the two times only one costs its three blocks.
/// assert_eq!(last(Approach::EcbMultiset), Ok(6 + (1 + 3) + (1 + 2) + (2 + 4)));
/// ```
pub fn responses(tasks: &[Cached], reload: i64, approach: Approach) -> Vec<Result<i64, Unbounded>> {
    let counted = Reloads::new(tasks);
    let mut R: Vec<Result<i64, Unbounded>> = Vec::with_capacity(tasks.len());
    for (i, tau_i) in tasks.iter().enumerate() {
        if approach.is_multiset() && R.iter().any(Result::is_err) {
            R.push(Err(Unbounded::Above));
            continue;
        }
        let E = |j: usize, t: i64| t / tasks[j].period + i64::from(t % tasks[j].period != 0);
        let f = |t: Duration| {
            let t = t.ns();
            let jobs = |j: usize| if j < i { E(j, t) } else { 0 };
            let preemptions = |j: usize, k: usize| {
                if k > i {
                    return 0;
                }
                // Only the multiset approaches use the number, and they have all bounds above.
                let R_k = if k == i { t } else { R[k].unwrap_or(t) };
                E(j, R_k).saturating_mul(E(k, t))
            };
            let work = (0..i).map(|j| E(j, t).saturating_mul(tasks[j].wcet));
            let work = work.fold(tau_i.wcet, i64::saturating_add);
            let reloads = counted.most(approach, jobs, preemptions);
            Duration::from_ns(work.saturating_add(reloads.saturating_mul(reload)))
        };
        let [start, limit] = [tau_i.wcet, tau_i.deadline].map(Duration::from_ns);
        R.push(least(start, limit, f).map(Duration::ns).map_err(Unbounded::Search));
    }
    R
}

/// The finding and the bounds of the tasks of each CPU.
pub(super) fn each_cpu(
    system: &System,
    order: PriorityOrder,
    approach: Approach,
) -> (Finding, TaskMap<Option<ResponseBound>>) {
    let reload = system.platform.overheads.block_reload_time.ns();
    let mut bounds = TaskMap::filled(None, system.tasks.len());
    let mut of_group = |group: &Group<'_>| {
        let sorted = order.sort(group);
        let cached = sorted.iter().enumerate();
        let tasks: Vec<Cached> =
            cached.map(|(at, &(id, task))| Cached::of(id, task, at + 1)).collect();
        let responses = responses(&tasks, reload, approach);
        for (task, response) in tasks.iter().zip(&responses) {
            let bound = |R: i64| ResponseBound::new(task.id, Duration::from_ns(R));
            bounds[task.id] = response.ok().map(bound);
        }
        finding(group, &tasks, &responses)
    };
    let findings: Vec<Finding> = Group::affinities(system).iter().map(&mut of_group).collect();
    (together(findings.into_iter()), bounds)
}

/// The finding for tasks with these response times, each within its deadline.
fn finding(group: &Group<'_>, tasks: &[Cached], responses: &[Result<i64, Unbounded>]) -> Finding {
    let quantity = |ns: i64| Quantity::of_ns(ns.into());
    let compared = |task: &Cached, R: i64, holds| {
        let scope = Scope::task(task.id, &group.cpus);
        let what = "the response time with reloads";
        Reason::compared(what, scope, quantity(R), quantity(task.deadline), holds)
    };
    let mut reasons = Vec::new();
    for (task, &response) in tasks.iter().zip(responses) {
        let why = match response {
            Ok(R) => {
                reasons.push(compared(task, R, true));
                continue;
            }
            // The task above has a reason of its own, which comes first.
            Err(Unbounded::Above) => Reason::MayBeLate(task.id),
            Err(Unbounded::Search(Diverged::Beyond { reached, .. })) => {
                compared(task, reached.ns(), false).of_bound_at_least()
            }
            Err(Unbounded::Search(Diverged::Overload)) => {
                Reason::NoBound(task.id, Diverged::Overload)
            }
            Err(Unbounded::Search(Diverged::GaveUp(why))) => Reason::GaveUp(why),
        };
        return Finding::new(Verdict::Unknown, why);
    }
    Finding { verdict: Verdict::Yes, reasons }
}
