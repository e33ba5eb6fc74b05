//! DAG tasks on one CPU each: all nodes of a graph on one CPU, under EDF or fixed priorities.
//!
//! | test | policies | kind |
//! |---|---|---|
//! | `GRAPH-QPA` | EDF on each CPU | **exact**, its response bounds are sufficient |
//! | `GRAPH-RTA`, `GRAPH-RTA-RM`, `GRAPH-RTA-DM` | fixed priorities on each CPU | **sufficient** |
//!
//! Assumes: (1) some task follows another, and the tasks of a graph have the same CPUs, (2) every
//! task may use one CPU only, (3) jobs of a task at least a period apart, (4) no release jitter,
//! (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) nothing changes while
//! the system runs; for EDF: (9) no task follows a task with a later deadline; for fixed
//! priorities: (9) few pairs of tasks share a CPU, (10) for given priorities: every task has one.
//! Deadlines are arbitrary, and those of the nodes of a graph may differ.
//!
//! **Precedence on one CPU.** A job is *pending* from its arrival to its end, whether it waits for
//! others or not. A set `S` of jobs is *closed* if it contains, with each job, the jobs of the same
//! instance for which it waits and the earlier jobs of its task. It is *dominant* if each of its
//! jobs comes before each job outside it.
//!
//! Lemma. If `S` is closed and dominant, the CPU runs a job of `S` whenever one is pending. Proof:
//! take a pending job of `S` from the oldest instance of its graph that has one, and follow the
//! edges to pending jobs for which it waits. Edges stay within the instance, and there is no cycle.
//! The last of these jobs is in `S`, and only a job that comes before it can keep it from running,
//! which is then also in `S`.
//!
//! So the CPU idles no more with respect to `S` than without edges, and the arguments about busy
//! periods hold with *pending* in place of *ready*: the jobs of `S` are complete once the time that
//! the arrivals of `S` need has passed.
//!
//! **EDF.** Let `S` be the jobs due by `t`. It is dominant, for any rule about equal deadlines, and
//! closed by (9): the jobs for which a job waits are due no later. Take the first missed deadline
//! as `t`, and the last instant `s` before it at which no job of `S` was pending. All the time from
//! `s` to `t` goes to jobs that arrive from `s` on and are due by `t`, and it is too little for
//! them. This is the processor demand of the nodes as independent tasks, and if they have one
//! deadline, the demand of a graph is that of one task with all of its work. The condition is also
//! necessary: all graphs may arrive together, and no schedule does more work than there is time. So
//! QPA decides as if there were no edges. By the same lemma a node that arrives `a` after the start
//! of a busy period of `S`, due at `t = a + D`, has ended when that busy period is over; Spuri's
//! `L(a)` bounds it, with the other nodes of the graph among the tasks that interfere.
//!
//! **Fixed priorities.** Let the tasks be in their strict order (priority, rank, task). Any first
//! tasks of this order form a dominant set, which is closed if none of them follows a task behind
//! the set. For the `p`-th task take the least such set that contains it. Each of its jobs ends by
//! the end of the busy period of that set, so its response time is at most that of a task of the
//! lowest priority in the set, with all others of the set above it. If every task comes behind the
//! tasks that it follows, this is the ordinary response time, and the schedule is the same with and
//! without edges.

use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::group::Group;
use crate::ordered::{Analysis, ByOrder, PARTITIONED, given_first};
use crate::uniprocessor::edf::{self, BARUAH, ZHANG_BURNS};
use crate::uniprocessor::edf_response::{self, SPURI, Ties};
use crate::uniprocessor::fixed_priority::{LEHOCZKY, PriorityOrder, TINDELL, response_time};
use crate::{
    Certify, Decide, Finding, OrderedTest, Quantity, Reason, Respond, ResponseBound, ResponseTest,
    SchedulabilityTest, Scope, Subject, TestKind,
};
use layland_model::{
    Algorithm, Duration, Form, Index, Order, System, TIME_LIMIT, Task, TaskId, TaskMap,
};

const BASE: &[Assumption] = &[
    GraphsTogether,
    OneCpuEach,
    SporadicReleases,
    NoJitter,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    NoRequests,
];
const ALONG: &[Assumption] = &and::<9>(BASE, DeadlinesAlong);
const FEW: &[Assumption] = &and::<9>(BASE, FewPairs);

const EDF: &[Algorithm] = &[Algorithm::Ordered(Form::Partitioned, Order::Deadline)];
const TITLE: &str = "demand and response times of graphs on one CPU each under EDF";

/// `GRAPH-QPA`: the processor demand of EDF, regardless of the edges.
pub const QPA: SchedulabilityTest = SchedulabilityTest {
    name: "GRAPH-QPA",
    title: TITLE,
    subject: Subject::Algorithms(EDF),
    kind: TestKind::Exact,
    assumptions: ALONG,
    citations: &[&BARUAH, &ZHANG_BURNS],
    certify: Certify::Without(super::NO_PROOF),
    decide: Decide::by(|system| edf::TEST.run_unchecked(system)),
};

/// The response bounds of `GRAPH-QPA`: those of Spuri, regardless of the edges.
pub const QPA_RESPONSES: ResponseTest = ResponseTest {
    name: "GRAPH-QPA",
    title: TITLE,
    algorithms: EDF,
    kind: TestKind::Sufficient,
    assumptions: ALONG,
    citations: &[&SPURI],
    bound: Respond::Alone(|system| {
        let mut bounds = TaskMap::filled(None, system.tasks.len());
        for bound in Group::affinities(system).iter().flat_map(edf_bounds) {
            let task = bound.task;
            bounds[task] = Some(bound);
        }
        bounds
    }),
    by_rank: None,
};

/// The response bounds of the tasks of one CPU under EDF; empty if the search finds none.
pub(super) fn edf_bounds(group: &Group<'_>) -> Vec<ResponseBound> {
    let found =
        edf_response::responses(&group.sporadic(), Ties::Lost).ok().flatten().unwrap_or_default();
    let tasks = group.tasks.iter().zip(found);
    tasks.map(|(&(task, _), response)| ResponseBound::new(task, response)).collect()
}

/// `GRAPH-RTA`, `GRAPH-RTA-RM` and `GRAPH-RTA-DM`: response times of graphs under fixed priorities.
pub const RTA: OrderedTest = OrderedTest {
    listing: given_first!(
        "GRAPH-RTA",
        "response times of graphs on one CPU each under fixed priorities"
    ),
    subject: PARTITIONED,
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<10>(FEW, Priorities), FEW),
    citations: &[&LEHOCZKY, &TINDELL],
    certify: ByOrder::all(Certify::Without(super::NO_PROOF)),
    analysis: Analysis::Together(both),
};

/// Returns the finding and the bounds under fixed priorities in an order.
fn both(system: &System, order: PriorityOrder) -> (Finding, TaskMap<Option<ResponseBound>>) {
    let mut bounds = TaskMap::filled(None, system.tasks.len());
    let (mut held, mut failed) = (Vec::new(), Vec::new());
    for group in Group::affinities(system) {
        let (ids, tasks): (Vec<TaskId>, Vec<&Task>) = order.sort(&group).into_iter().unzip();
        for (at, last) in closed(&ids, &tasks).into_iter().enumerate() {
            let (id, task) = (ids[at], tasks[at]);
            let above: Vec<&Task> = [&tasks[..at], &tasks[at + 1..=last]].concat();
            let found = response_time(task, &above, Duration::from_ns(TIME_LIMIT));
            let Ok(response) = found else {
                failed.push(Reason::MayBeLate(id));
                continue;
            };
            bounds[id] = Some(ResponseBound::new(id, response));
            let holds = response <= task.deadline;
            let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
            let (value, bound) = (quantity(response), quantity(task.deadline));
            let scope = Scope::task(id, &group.cpus);
            let reason = Reason::compared("the response time", scope, value, bound, holds);
            if holds { &mut held } else { &mut failed }.push(reason);
        }
    }
    let verdict = TestKind::Sufficient.verdict(failed.is_empty());
    let reasons = if failed.is_empty() { held } else { failed };
    (Finding { verdict, reasons }, bounds)
}

/// For each of these tasks, the highest priority first, returns the last task of its closed set:
/// the smallest prefix of the list that contains the task and whose tasks follow none behind it.
fn closed(ids: &[TaskId], tasks: &[&Task]) -> Vec<usize> {
    let most = ids.iter().map(|id| id.index()).max().map_or(0, |most| most + 1);
    let mut place = vec![0; most];
    ids.iter().enumerate().for_each(|(at, id)| place[id.index()] = at);
    // `reach[at]` is the last position that the tasks up to `at` follow.
    let mut reach: Vec<usize> = Vec::with_capacity(tasks.len());
    for (at, task) in tasks.iter().enumerate() {
        let own = task.follows.iter().map(|followed| place[followed.index()]);
        reach.push(own.chain(reach.last().copied()).fold(at, usize::max));
    }
    let mut last = vec![0; tasks.len()];
    for at in (0..tasks.len()).rev() {
        // The task at `reach[at]` has its closed set already, and this set includes all tasks
        // before it.
        last[at] = if reach[at] > at { last[reach[at]] } else { at };
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::Service;

    /// Compares the sets with the smallest ones, by trying all.
    #[test]
    fn sets_are_closed_and_none_is_smaller() {
        let mut lifted = 0;
        for drawn in 0..1u32 << 12 {
            let ids: Vec<TaskId> = [3, 0, 4, 1, 2].map(TaskId).to_vec();
            let mut tasks: Vec<Task> =
                vec![Task::implicit("", Service::from_ns(1), Duration::from_ns(9)); 5];
            // There is no cycle, as edges ascend by id.
            let pairs = (0..5).flat_map(|to| (0..to).map(move |from| (from, to)));
            for (bit, (from, to)) in pairs.enumerate() {
                if drawn >> bit & 1 == 1 {
                    let follows = tasks[to].follows.iter().copied().chain([TaskId(from as u32)]);
                    tasks[to].follows = follows.collect();
                }
            }
            let sorted: Vec<&Task> = ids.iter().map(|id| &tasks[id.index()]).collect();
            let is_closed = |last: usize| {
                let set = &ids[..=last];
                set.iter().all(|id| tasks[id.index()].follows.iter().all(|f| set.contains(f)))
            };
            for (at, last) in closed(&ids, &sorted).into_iter().enumerate() {
                assert_eq!(Some(last), (at..5).find(|&last| is_closed(last)), "{drawn:b}");
                lifted += usize::from(last > at);
            }
        }
        assert!(lifted > 1_000, "{lifted}");
    }
}
