//! Every order within a level, on one CPU: the usual response times, in which equal tasks count as
//! higher.

use super::{ALONE, ARRIVING, NO_PROOF, ON_ONE_CPU, level, ranges, sorted};
use crate::fixed_point::Diverged;
use crate::group::{Group, together};
use crate::locking::response::{Response, Unbounded, response};
use crate::locking::{BLETSAS, CHEN_2019, by_cpu, finding_of, suspension};
use crate::uniprocessor::fixed_priority::{self, PriorityOrder, TINDELL};
use crate::{
    BoundedTest, Certify, Citation, Finding, Quantity, Reason, ResponseBound, ResponseTest,
    SchedulabilityTest, Scope, Verdict,
};
use layland_model::{Duration, System, TIME_LIMIT, Task, TaskMap};

const ONE_CPU_TEST: BoundedTest = BoundedTest {
    name: "RTA-LEVEL",
    title: "response times under fixed priorities on each CPU, in any order among equal ones",
    algorithms: ON_ONE_CPU,
    assumptions: ARRIVING,
    citations: &[&TINDELL, &Citation::GEORGE],
    certify: Certify::Without(NO_PROOF),
    both,
};
/// `RTA-LEVEL`: response times under fixed priorities on each CPU, in any order among equal ones.
pub const ONE_CPU: SchedulabilityTest = ONE_CPU_TEST.test();
/// The response bounds of `RTA-LEVEL`.
pub const ONE_CPU_RESPONSES: ResponseTest = ONE_CPU_TEST.responses();

const SUSPENDING_TEST: BoundedTest = BoundedTest {
    name: "SUSP-LEVEL",
    title: "response times with self-suspension on each CPU, in any order among equal priorities",
    algorithms: ON_ONE_CPU,
    assumptions: ALONE,
    citations: &[&CHEN_2019, &BLETSAS],
    certify: Certify::Without(NO_PROOF),
    both: with_suspension,
};
/// `SUSP-LEVEL`: response times with self-suspension on each CPU, in any order among equal priorities.
pub const SUSPENDING: SchedulabilityTest = SUSPENDING_TEST.test();
/// The response bounds of `SUSP-LEVEL`.
pub const SUSPENDING_RESPONSES: ResponseTest = SUSPENDING_TEST.responses();

/// The response time of a task in any order among `equal`, the other tasks of its level; `higher`
/// are the tasks of higher levels.
///
/// ```
/// use layland_analysis::levels::response_time;
/// use layland_model::{Duration, Service, Task};
/// let task = |c, t| Task::implicit("", Service::from_ns(c), Duration::from_ns(t));
/// let (long, short) = (task(7, 26), task(1, 5));
/// // In another order than the one of arrivals two jobs of the other task can come before.
/// assert_eq!(response_time(&long, &[], &[&short]), Ok(Duration::from_ns(9)));
/// ```
///
/// # Errors
/// See [`fixed_priority::response_time`].
pub fn response_time(tau: &Task, higher: &[&Task], equal: &[&Task]) -> Result<Duration, Diverged> {
    let above = [higher, equal].concat();
    fixed_priority::response_time(tau, &above, Duration::from_ns(TIME_LIMIT))
}

fn both(system: &System) -> (Finding, TaskMap<Option<ResponseBound>>) {
    let mut bounds = TaskMap::filled(None, system.tasks.len());
    let of_group = |mut group: Group<'_>| {
        let levels = sorted(&mut group);
        let tasks: Vec<&Task> = group.tasks().collect();
        let (mut reasons, mut late) = (Vec::new(), None);
        for range in ranges(&levels) {
            for at in range.clone() {
                let equal = [&tasks[range.start..at], &tasks[at + 1..range.end]].concat();
                let (id, task) = group.tasks[at];
                match response_time(task, &tasks[..range.start], &equal) {
                    Ok(response) => {
                        bounds[id] = Some(ResponseBound::new(id, response));
                        let holds = response <= task.deadline;
                        let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
                        let scope = Scope::task(id, &group.cpus);
                        let (value, bound) = (quantity(response), quantity(task.deadline));
                        let reason =
                            Reason::compared("the response time", scope, value, bound, holds);
                        if holds {
                            reasons.push(reason);
                        } else {
                            late.get_or_insert(reason);
                        }
                    }
                    Err(diverged) => drop(late.get_or_insert(Reason::NoBound(id, diverged))),
                }
            }
        }
        match late {
            None => Finding { verdict: Verdict::Yes, reasons },
            Some(reason) => Finding::new(Verdict::Unknown, reason),
        }
    };
    let finding = together(Group::affinities(system).into_iter().map(of_group));
    (finding, bounds)
}

/// Suspensions of all other tasks count as jitter up to their deadlines. This bounds their work
/// alone, so it holds in any order. The task's own suspensions count as execution.
fn with_suspension(system: &System) -> (Finding, TaskMap<Option<ResponseBound>>) {
    let mut bounds = TaskMap::filled(None, system.tasks.len());
    let findings: Vec<Finding> = by_cpu(system, PriorityOrder::Given)
        .into_iter()
        .map(|tasks| {
            let levels: Vec<i64> = tasks.iter().map(|task| level(&system.tasks[task.id])).collect();
            let mut responses: Vec<Response> = Vec::new();
            let mut above_fails = false;
            for range in ranges(&levels) {
                for at in range.clone() {
                    let others = (0..range.end).filter(|&other| other != at);
                    let terms: Vec<_> =
                        others.map(|i| suspension::up_to_deadline(&tasks[i])).collect();
                    let own = tasks[at].C.saturating_add(tasks[at].S);
                    responses.push(if above_fails {
                        Err(Unbounded::Above)
                    } else {
                        response(own, tasks[at].D, &terms)
                    });
                }
                above_fails |= responses.iter().any(Result::is_err);
            }
            // The bound of each task relies on the deadlines of its level.
            let of_level = |range: std::ops::Range<usize>| {
                let all = responses[range.clone()].iter().all(Result::is_ok);
                range.filter(move |_| all)
            };
            for at in ranges(&levels).flat_map(of_level) {
                let id = tasks[at].id;
                let bound = |R: i64| ResponseBound::new(id, Duration::from_ns(R));
                bounds[id] = responses[at].ok().map(bound);
            }
            finding_of(&tasks, &responses)
        })
        .collect();
    (together(findings.into_iter()), bounds)
}
