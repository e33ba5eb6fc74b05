//! Audsley's assignment of priorities: an exact test whether any priorities work.

use super::responses::lengths;
use super::{PINNED, response_time};
use crate::fixed_point::{Diverged, GaveUp};
use crate::group::{Group, exact, together};
use crate::{
    Certify, Citation, Decide, Finding, Part, Reason, SchedulabilityTest, Subject, TestKind,
    Verdict,
};
use layland_model::{System, Task, TaskId};

/// Audsley 1991.
pub const AUDSLEY_1991: Citation = Citation {
    key: "audsley1991optimal",
    text: "N. C. Audsley. Optimal priority assignment and feasibility of static priority tasks with \
           arbitrary start times. Report YCS 164, University of York, 1991.",
    bibtex: "@techreport{audsley1991optimal,
  author      = {Neil C. Audsley},
  title       = {Optimal Priority Assignment and Feasibility of Static Priority Tasks with Arbitrary Start Times},
  institution = {University of York}, number = {YCS 164}, year = {1991}
}",
};

/// Tests for each CPU whether any assignment of priorities works.
///
/// ```
/// use layland_analysis::{Reason, Verdict, uniprocessor::fixed_priority::{AUDSLEY, PriorityOrder, RTA}};
/// use layland_model::{Duration, Service, System, Task, TaskId};
/// // Lehoczky's kind of set: deadlines beyond periods, where deadline-monotonic is not optimal.
/// let task = |name, c, d, t| {
///     let mut task = Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
///     task.deadline = Duration::from_ms(d);
///     task
/// };
/// let system = System::new(1, vec![task("a", 52, 110, 100), task("b", 52, 154, 140)]);
/// let dm = RTA.under(PriorityOrder::DeadlineMonotonic);
/// assert_eq!(dm.run(&system).unwrap().verdict, Verdict::No);
/// let finding = AUDSLEY.run(&system).unwrap();
/// assert_eq!(finding.reasons, [Reason::PriorityOrder(vec![TaskId(1), TaskId(0)])]);
/// ```
pub const AUDSLEY: SchedulabilityTest = SchedulabilityTest {
    name: "OPA",
    title: "Audsley's assignment of fixed priorities on each CPU",
    subject: Subject::SomePriorities,
    kind: TestKind::Exact,
    assumptions: PINNED,
    citations: &[&AUDSLEY_1991],
    certify: Certify::By(order_and_responses),
    decide: Decide::by(|system| together(Group::affinities(system).iter().map(audsley))),
};

/// Returns the order that is found, and the busy periods under it.
fn order_and_responses(system: &System) -> Result<Vec<Part>, &'static str> {
    let part = |group: &Group<'_>| {
        let reasons = audsley(group).reasons;
        let [Reason::PriorityOrder(order)] = &reasons[..] else { return Err("there is no order") };
        let tasks: Vec<(TaskId, &Task)> = order.iter().map(|&id| (id, &system.tasks[id])).collect();
        lengths(&group.cpus, &tasks)
    };
    Group::affinities(system).iter().map(part).collect()
}

/// Assigns priorities from the lowest up: each to some task that meets its deadline below all
/// remaining ones. The choice does not matter; the longest deadline less jitter is tried first
/// (ties: the larger rank and id). A task whose response is unknown is skipped; if no other task
/// qualifies, the answer is unknown, too.
fn audsley(group: &Group<'_>) -> Finding {
    let mut left = group.tasks.clone();
    left.sort_by_key(|(id, task)| (task.deadline - task.jitter, task.rank, *id));
    let mut lowest_first = Vec::new();
    while !left.is_empty() {
        let (mut found, mut not_known): (Option<usize>, Option<GaveUp>) = (None, None);
        for at in (0..left.len()).rev() {
            let mut higher: Vec<&Task> = left.iter().map(|&(_, task)| task).collect();
            let tau_i = higher.remove(at);
            match response_time(tau_i, &higher, tau_i.deadline) {
                Ok(_) => {
                    found = Some(at);
                    break;
                }
                Err(Diverged::Beyond { .. } | Diverged::Overload) => {}
                Err(Diverged::GaveUp(why)) => not_known = not_known.or(Some(why)),
            }
        }
        match (found, not_known) {
            (Some(at), _) => lowest_first.push(left.remove(at).0),
            (None, Some(why)) => return Finding::new(Verdict::Unknown, Reason::GaveUp(why)),
            (None, None) => {
                let stuck = left.iter().map(|&(id, _)| id).collect();
                return exact(group, false, Reason::NoneCanBeLowest(stuck));
            }
        }
    }
    lowest_first.reverse();
    Finding::new(Verdict::Yes, Reason::PriorityOrder(lowest_first))
}
