//! DAG tasks on one CPU each: all nodes of a graph on one CPU, under EDF or fixed priorities.
//!
//! | test | policies | kind |
//! |---|---|---|
//! | `GRAPH-QPA` | EDF on each CPU | **exact**, its response bounds are sufficient |
//! | `GRAPH-RTA`, `GRAPH-RTA-RM`, `GRAPH-RTA-DM` | fixed priorities on each CPU | **sufficient** |
//!
//! Assumes: (1) some task follows another, and the tasks of a graph have the same CPUs, (2) every task may use one CPU
//! alone, (3) jobs of a task at least a period apart, (4) no release jitter, (5) WCETs are kept, (6) overheads are part
//! of `C_i`, (7) unit speeds, (8) nothing changes while the system runs; for EDF: (9) no task follows one of a later
//! deadline; for fixed priorities: (9) few pairs of tasks share a CPU, (10) for given priorities: there are some.
//! Deadlines are arbitrary, and those of the nodes of a graph may differ.
//!
//! **What precedence does on one CPU.** A job is *pending* from its arrival to its end, whether it waits for others or
//! not. Call a set `S` of jobs *closed* if it has, with each job, the jobs of the same instance that it waits for and
//! the jobs of its task before it; and *dominant* if each of its jobs comes before each job that is not in it.
//!
//! Lemma. If `S` is closed and dominant, the CPU runs a job of `S` whenever one is pending. For take a pending job of
//! `S` from the oldest instance of its graph that has one, and go from it to jobs that it waits for as long as they are
//! pending: edges lead within the instance, and there is no cycle. The last of these is in `S`, and nothing keeps it
//! from running but a job before it, which is in `S`.
//!
//! So in `S` the CPU idles no more than without edges, and the arguments about busy periods hold word for word with
//! *pending* for *ready*: what is in `S` is done when as much time has gone by as the arrivals of `S` need.
//!
//! **EDF.** Let `S` be the jobs due by `t`. It is dominant, for any rule about equal deadlines, and closed by (9):
//! whatever a job waits for is due no later. Take the first missed deadline as `t`, and the last instant `s` before
//! it at which no job of `S` was pending: all the time from `s` to `t` goes to jobs that arrive from `s` on and are
//! due by `t`, and it is too little. That is the processor demand of the nodes as tasks that follow nobody, and of
//! one deadline the demand of a graph is that of one task with all of its work. It is necessary as well: all graphs
//! may arrive together, and no schedule does more work than there is time. So QPA decides as if nobody followed
//! anybody. By the same lemma a node that arrives `a` after the start of a busy period of `S`, due at `t = a + D`,
//! has ended when that busy period is over; Spuri's `L(a)` bounds it, with the other nodes of the graph among the
//! tasks that interfere.
//!
//! **Fixed priorities.** Let the tasks be in their strict order (priority, rank, task). The first so many of them are
//! dominant, and closed if they follow none behind. For the `p`-th task take the least such set that has it. A job of
//! it has ended by the end of the busy period of that set: its response time is at most that of a task of the lowest
//! priority in the set, with all others of the set above it. Where every task comes behind those that it follows this
//! is the ordinary response time, and the schedule is the same with edges and without.

use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::group::Group;
use crate::test::test_and_responses;
use crate::uniprocessor::edf::{self, BARUAH, ZHANG_BURNS};
use crate::uniprocessor::edf_response::{self, SPURI, Ties};
use crate::uniprocessor::fixed_priority::{LEHOCZKY, PriorityOrder, TINDELL, response_time};
use crate::{
    Certify, Finding, Quantity, Reason, ResponseBound, ResponseTest, SchedulabilityTest, Scope,
    Shortcuts, Subject, TestKind,
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
const GIVEN: &[Assumption] = &and::<10>(FEW, Priorities);

const EDF: &[Algorithm] = &[Algorithm::Ordered(Form::Partitioned, Order::Deadline)];
const TITLE: &str = "demand and response times of graphs on one CPU each under EDF";

/// `GRAPH-QPA`: the processor demand of EDF, whatever follows what.
pub const QPA: SchedulabilityTest = SchedulabilityTest {
    name: "GRAPH-QPA",
    title: TITLE,
    subject: Subject::Algorithms(EDF),
    kind: TestKind::Exact,
    assumptions: ALONG,
    citations: &[&BARUAH, &ZHANG_BURNS],
    certify: Certify::Without(super::NO_PROOF),
    shortcuts: Shortcuts::NONE,
    decide: |system| edf::TEST.run_unchecked(system),
};

/// The response bounds of `GRAPH-QPA`: Spuri's, whatever follows what.
pub const QPA_RESPONSES: ResponseTest = ResponseTest {
    name: "GRAPH-QPA",
    title: TITLE,
    algorithms: EDF,
    kind: TestKind::Sufficient,
    assumptions: ALONG,
    citations: &[&SPURI],
    bound: |system| {
        let mut bounds = TaskMap::filled(None, system.tasks.len());
        for bound in Group::affinities(system).iter().flat_map(edf_bounds) {
            let task = bound.task;
            bounds[task] = Some(bound);
        }
        bounds
    },
    by_rank: None,
};

/// The response bounds of the tasks of one CPU under EDF; none if the search finds none.
pub(super) fn edf_bounds(group: &Group<'_>) -> Vec<ResponseBound> {
    let found =
        edf_response::responses(&group.sporadic(), Ties::Lost).ok().flatten().unwrap_or_default();
    let tasks = group.tasks.iter().zip(found);
    tasks.map(|(&(task, _), response)| ResponseBound::new(task, response)).collect()
}

macro_rules! fixed {
    ($($test:ident, $responses:ident, $name:literal, $order:ident, $assumptions:ident, $title:literal;)*) => {
        $(test_and_responses! {
            $test, $responses, $name, $title,
            &[Algorithm::Ordered(Form::Partitioned, Order::$order)],
            $assumptions, &[&LEHOCZKY, &TINDELL], Certify::Without(super::NO_PROOF),
            |system| both(system, PriorityOrder::$order).0,
            |system| both(system, PriorityOrder::$order).1,
            |system| both(system, PriorityOrder::$order)
        })*
    };
}
fixed! {
    RTA, RTA_RESPONSES, "GRAPH-RTA", Given, GIVEN,
        "response times of graphs on one CPU each under fixed priorities (p-fp)";
    RTA_RM, RTA_RM_RESPONSES, "GRAPH-RTA-RM", RateMonotonic, FEW,
        "response times of graphs on one CPU each under fixed priorities (p-rm)";
    RTA_DM, RTA_DM_RESPONSES, "GRAPH-RTA-DM", DeadlineMonotonic, FEW,
        "response times of graphs on one CPU each under fixed priorities (p-dm)";
}

/// Finding and bounds under fixed priorities in an order.
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

/// For each of these tasks, the highest priority first: the last one of the least set of first ones that has it and
/// follows none behind.
fn closed(ids: &[TaskId], tasks: &[&Task]) -> Vec<usize> {
    let most = ids.iter().map(|id| id.index()).max().map_or(0, |most| most + 1);
    let mut place = vec![0; most];
    ids.iter().enumerate().for_each(|(at, id)| place[id.index()] = at);
    // How far the tasks up to each one reach.
    let mut reach: Vec<usize> = Vec::with_capacity(tasks.len());
    for (at, task) in tasks.iter().enumerate() {
        let own = task.follows.iter().map(|followed| place[followed.index()]);
        reach.push(own.chain(reach.last().copied()).fold(at, usize::max));
    }
    let mut last = vec![0; tasks.len()];
    for at in (0..tasks.len()).rev() {
        // Whoever is behind has its set already, and that has all before it.
        last[at] = if reach[at] > at { last[reach[at]] } else { at };
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::Service;

    /// Whether the sets are the least ones, by trying all.
    #[test]
    fn sets_are_closed_and_none_is_smaller() {
        let mut lifted = 0;
        for drawn in 0..1u32 << 12 {
            let ids: Vec<TaskId> = [3, 0, 4, 1, 2].map(TaskId).to_vec();
            let mut tasks: Vec<Task> =
                vec![Task::implicit("", Service::from_ns(1), Duration::from_ns(9)); 5];
            // No cycle: edges ascend by id.
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
