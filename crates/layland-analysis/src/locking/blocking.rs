//! Blocking on one CPU under fixed priorities: the maximum time for which jobs of lower priority
//! delay a job.
//!
//! Sha, Rajkumar and Lehoczky 1990 for priority inheritance and priority ceilings; Torroni, Kiziltan and Faldella 2018
//! for inheritance as an assignment problem. Immediate ceilings block as priority ceilings do.
//!
//! Assumes: (1) one CPU; (2) jobs do not suspend themselves (with ceilings they may, outside
//! sections: a job that does so `m` times meets `m + 1` sections); (3) a job requests a lock only
//! when it is selected, and a released lock is free, not handed over; otherwise a task of lower
//! priority could enter a section again in between, and no bound here would hold; (4) with
//! inheritance and with plain locks, nested sections lock resources in one order; in a deadlock the
//! CPU idles and no job completes, whatever its priority. The bounds also hold for jobs that
//! execute less or skip sections.
//!
//! | specification | here |
//! |---|---|
//! | `i`, a smaller number is a higher priority | the position in the list |
//! | `lp(i)` | `tasks[i + 1..]` |
//! | `ceiling(q) >= i`, at least as high | `ceiling[q] <= i` |
//! | `L_{j,q}` | [`Locker::longest`]; 0 if `j` does not use `q` |
//!
//! A section that blocks has begun at least a nanosecond before the job arrives, so a blocking of
//! `B` is a supremum: a run reaches at most `B - 1` for each section.

#![expect(non_snake_case, reason = "symbols of the specification")]

use super::assignment::largest_assignment;
use super::tasks::{Locker, ceilings, sum};

/// `B_i` of every task with **plain locks**: 0, or `None` if a task of lower priority uses a
/// resource that the task or a task above it uses. There is no inheritance, so tasks of
/// intermediate priority delay the waiting job without limit.
pub fn plain(tasks: &[Locker]) -> Vec<Option<i64>> {
    let ceiling = ceilings(tasks);
    let blocks = |j: &Locker, i: usize| j.sections.iter().any(|section| ceiling[section.q] <= i);
    let of_task = |i: usize| (!tasks[i + 1..].iter().any(|j| blocks(j, i))).then_some(0);
    (0..tasks.len()).map(of_task).collect()
}

/// Returns true if some job locks a resource within a section.
pub fn is_nested(tasks: &[Locker]) -> bool {
    tasks.iter().flat_map(|task| &task.sections).any(|section| section.within.is_some())
}

/// `B_i` of every task with **priority inheritance**. Without nesting, each task of lower priority
/// blocks once, and so does each resource, and the smaller of the two sums counts. For nested
/// sections, see [`inheritance_nested`].
///
/// ```
/// use layland_analysis::locking::{inheritance, lockers};
/// use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
/// use layland_model::{Duration, Resource, ResourceId, Service, Step, System, Task};
/// // Chained blocking: `h` uses both resources, `m` holds the one for 3 and `l` the other for 4.
/// let ns = Service::from_ns;
/// let hold = |q, length| [Step::Lock(ResourceId(q)), Step::Run(ns(length)), Step::Unlock(ResourceId(q))];
/// let task = |name, steps: Vec<Step>, c| Task {
///     steps: Some(steps.into()),
///     ..Task::implicit(name, ns(c), Duration::from_ns(50))
/// };
/// let mut system = System::new(1, vec![
///     task("h", [hold(0, 1), hold(1, 1)].concat(), 2),
///     task("m", hold(1, 3).to_vec(), 3),
///     task("l", hold(0, 4).to_vec(), 4),
/// ]);
/// system.resources = ["a", "b"].map(|name| Resource { name: name.to_owned(), home: None }).to_vec();
/// let tasks = lockers(&system, PriorityOrder::RateMonotonic);
/// assert_eq!(inheritance(&tasks), [7, 4, 0]);
/// // With ceilings only one of them blocks.
/// assert_eq!(layland_analysis::locking::ceiling(&tasks), [4, 4, 0]);
/// ```
pub fn inheritance(tasks: &[Locker]) -> Vec<i64> {
    if is_nested(tasks) {
        return inheritance_nested(tasks);
    }
    let ceiling = ceilings(tasks);
    let mut B = vec![0; tasks.len()];
    // From the lowest priority up: for each resource, the longest section of a task below.
    let mut of_resource = vec![0; ceiling.len()];
    for i in (0..tasks.len()).rev() {
        let longest = |j: &Locker| {
            let reaching = j.sections.iter().filter(|section| ceiling[section.q] <= i);
            reaching.map(|section| section.length).max().unwrap_or(0)
        };
        let by_task = sum(tasks[i + 1..].iter().map(longest));
        let reaching = of_resource.iter().zip(&ceiling).filter(|(_, ceiling)| **ceiling <= i);
        let by_resource = sum(reaching.map(|(&longest, _)| longest));
        B[i] = by_task.min(by_resource);
        for section in &tasks[i].sections {
            of_resource[section.q] = section.length.max(of_resource[section.q]);
        }
    }
    B
}

/// [`inheritance`] for nested sections. A job that waits for `q` within a section on `x` passes on
/// the priorities of the users of `x`, so a section reaches as high as the sections around it:
/// `reach(q)` is the least fixed point of
/// `min(ceiling(q), reach(x) for all sections on x in which q is locked)`. Each task of lower
/// priority blocks with its longest outermost section that locks, at any depth, a resource that
/// reaches `i`. The number of resources is not a bound here.
pub fn inheritance_nested(tasks: &[Locker]) -> Vec<i64> {
    let mut reach = ceilings(tasks);
    // The loop ends with a pass that changes nothing. Every other pass lowers a reach to another
    // ceiling.
    loop {
        let before = reach.clone();
        for task in tasks {
            for section in &task.sections {
                // The outer sections have passed on their reach to the section around this one, or
                // will in the next pass.
                if let Some(x) = section.within.map(|outer| task.sections[outer].q) {
                    reach[section.q] = reach[section.q].min(reach[x]);
                }
            }
        }
        if reach == before {
            break;
        }
    }
    // For each outermost section: its length, and the highest reach of the resources locked in it.
    let outermost = |j: &Locker| {
        let mut blocks: Vec<(i64, usize)> = Vec::new();
        for section in &j.sections {
            match (section.within, blocks.last_mut()) {
                // Sections are listed in the order of entry, so the last outermost one is around
                // this one.
                (Some(_), Some((_, highest))) => *highest = reach[section.q].min(*highest),
                _ => blocks.push((section.length, reach[section.q])),
            }
        }
        blocks
    };
    let blocks: Vec<Vec<(i64, usize)>> = tasks.iter().map(outermost).collect();
    let longest = |blocks: &[(i64, usize)], i: usize| {
        let reaching = blocks.iter().filter(|(_, reach)| *reach <= i);
        reaching.map(|&(length, _)| length).max().unwrap_or(0)
    };
    let of_task = |i: usize| sum(blocks[i + 1..].iter().map(|j| longest(j, i)));
    (0..tasks.len()).map(of_task).collect()
}

/// `B_i` of every task with **priority inheritance** and no nesting, from the worst choice of
/// sections, an assignment problem: each task of lower priority blocks once, and each resource
/// once. Never more than [`inheritance`].
pub fn inheritance_assigned(tasks: &[Locker]) -> Vec<i64> {
    let ceiling = ceilings(tasks);
    let of_task = |i: usize| {
        let reaching: Vec<usize> = (0..ceiling.len()).filter(|&q| ceiling[q] <= i).collect();
        let row = |j: &Locker| reaching.iter().map(|&q| j.longest(q)).collect::<Vec<i64>>();
        let blocks = |row: &Vec<i64>| row.iter().any(|&length| length > 0);
        let table: Vec<Vec<i64>> = tasks[i + 1..].iter().map(row).filter(blocks).collect();
        largest_assignment(&table)
    };
    (0..tasks.len()).map(of_task).collect()
}

/// `B_i` of every task with **priority ceilings**, immediate or not: the longest section of a task
/// of lower priority whose ceiling is at least as high. Nested sections count separately.
pub fn ceiling(tasks: &[Locker]) -> Vec<i64> {
    let ceiling = ceilings(tasks);
    let of_task = |i: usize| {
        let lower = tasks[i + 1..].iter().flat_map(|j| &j.sections);
        let reaching = lower.filter(|section| ceiling[section.q] <= i);
        reaching.map(|section| section.length).max().unwrap_or(0)
    };
    (0..tasks.len()).map(of_task).collect()
}
