//! A simulator that moves one nanosecond at a time, without events, trees or placement. At each
//! tick it lists the ready jobs, sorts them, and executes the first `m` of each group for one tick.
//!
//! It returns the finishing times of jobs, for periodic tasks on unit-speed CPUs that execute for
//! their WCETs or for the times of a list, with their rules for late jobs and the tasks that they
//! follow. The CPU of a job does not matter for that.

use layland_model::{
    ExecutionModel, InLevel, JobOrder, OnMiss, Order, ScheduleRule, System, Task, TaskId, Time,
};

/// A job that finished: its task, its number, its deadline and its completion, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finished {
    /// The time of completion.
    pub finish: i64,
    /// Its task.
    pub task: TaskId,
    /// The number of the job.
    pub seq: u64,
    /// Its absolute deadline.
    pub deadline: i64,
}

struct TickJob {
    task: TaskId,
    seq: u64,
    /// The arrival, by which the job queues under [`JobOrder::Levels`].
    since: i64,
    deadline: i64,
    left: i64,
    /// The part of its WCET that it has not executed.
    wcet_left: i64,
}

/// Returns the demand of a job: that of its WCET, or that of a list.
fn demand(task: &Task, seq: u64) -> i64 {
    match &task.execution {
        ExecutionModel::List(values) => values[(seq % values.len() as u64) as usize].ns(),
        _ => task.own_wcet().ns(),
    }
}

/// Removes the jobs that cannot complete in time, of those that are first of their tasks. Then the next
/// job of the task is first.
fn abort_infeasible(pending: &mut Vec<TickJob>, now: i64) {
    let next = |pending: &[TickJob]| {
        let is_first = |at: usize| !pending[..at].iter().any(|job| job.task == pending[at].task);
        let cannot = |at: usize| now + pending[at].wcet_left.max(1) > pending[at].deadline;
        (0..pending.len()).find(|&at| is_first(at) && cannot(at))
    };
    while let Some(at) = next(pending) {
        pending.remove(at);
    }
}

/// Returns every job that finishes up to `until`, in the order of finishing and task.
///
/// # Panics
/// If the rule is not [`ScheduleRule::HighestFirst`].
pub fn simulate(system: &System, rule: &ScheduleRule, order: Order, until: Time) -> Vec<Finished> {
    let ScheduleRule::HighestFirst { groups, order: rule_order, .. } = rule else {
        panic!("only highest-first policies can be simulated by ticks")
    };
    let mut pending: Vec<TickJob> = Vec::new();
    let mut finished = Vec::new();
    // The jobs that ran in the previous tick.
    let mut ran: Vec<(TaskId, u64)> = Vec::new();
    for now in 0..until.ns() {
        let aborts = |job: &TickJob| system.tasks[job.task].on_miss == OnMiss::Abort;
        pending.retain(|job| !(aborts(job) && job.deadline <= now));
        for (id, task) in system.tasks.iter() {
            let since = now - task.offset.ns();
            let skips = task.on_miss == OnMiss::Skip && pending.iter().any(|job| job.task == id);
            if since >= 0 && since % task.period.ns() == 0 && !skips {
                let seq = (since / task.period.ns()) as u64;
                pending.push(TickJob {
                    task: id,
                    seq,
                    since: now,
                    deadline: now + task.deadline.ns(),
                    left: demand(task, seq),
                    wcet_left: task.own_wcet().ns(),
                });
            }
        }
        if *rule_order == JobOrder::Feasible {
            abort_infeasible(&mut pending, now);
        }
        let key = |job: &TickJob| {
            let task = &system.tasks[job.task];
            let key = match order {
                Order::Deadline => job.deadline,
                Order::RateMonotonic => task.period.ns(),
                Order::DeadlineMonotonic => task.deadline.ns(),
                Order::Given => task.priority.unwrap_or(i64::MAX),
            };
            let has_laxity = *rule_order != JobOrder::ZeroLaxity || job.deadline - now > job.left;
            let queues = matches!(rule_order, JobOrder::Levels { in_level: InLevel::Fifo, .. });
            let keeps = queues || *rule_order == JobOrder::DeadlineThenRunning;
            let gives_way = keeps && !ran.contains(&(job.task, job.seq));
            let since = if queues { job.since } else { 0 };
            let is_first =
                matches!(rule_order, JobOrder::TopFirst { top, .. } if top.contains(&job.task));
            let key = match rule_order {
                _ if is_first => i64::MIN,
                JobOrder::Points(earlier) => key - earlier[job.task].ns(),
                _ => key,
            };
            (has_laxity, key, gives_way, since, task.rank, job.task, job.seq)
        };
        // A job that waits for others is ready when they are done.
        for at in 0..pending.len() {
            let follows = &system.tasks[pending[at].task].follows;
            let seq = pending[at].seq;
            if pending.iter().any(|other| other.seq == seq && follows.contains(&other.task)) {
                pending[at].since = now + 1;
            }
        }
        let mut runs = Vec::new();
        for group in groups {
            let mut chosen: Vec<usize> = (0..pending.len())
                .filter(|&at| {
                    let job = &pending[at];
                    let first = pending
                        .iter()
                        .filter(|other| other.task == job.task)
                        .all(|other| other.seq >= job.seq);
                    let follows = &system.tasks[job.task].follows;
                    let waits = pending
                        .iter()
                        .any(|other| other.seq == job.seq && follows.contains(&other.task));
                    group.tasks.contains(&job.task) && first && !waits
                })
                .collect();
            chosen.sort_by_key(|&at| key(&pending[at]));
            chosen.truncate(group.cpus.len());
            runs.extend(chosen.iter().map(|&at| (pending[at].task, pending[at].seq)));
            for at in chosen {
                pending[at].left -= 1;
                pending[at].wcet_left -= 1;
            }
        }
        ran = runs;
        let done = pending.extract_if(.., |job| job.left == 0);
        finished.extend(done.map(|job| Finished {
            finish: now + 1,
            task: job.task,
            seq: job.seq,
            deadline: job.deadline,
        }));
    }
    finished.sort_unstable();
    finished
}
