//! Every state that a small set with steps can reach, for all arrivals of jobs: at least a period
//! apart, at whole nanoseconds. Each job performs all of its steps in full.

use super::{LockingJob, Ticker};
use layland_model::{ScheduleRule, System};
use std::collections::BTreeSet;

/// The outcome of all runs of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Every {
    /// No job is ever late. The longest response time of each task, in nanoseconds.
    Meets(Vec<i64>),
    /// A job of this task is late in some run.
    Misses(usize),
    /// There are more states than the limit.
    GaveUp,
}

/// The state between two instants, before the releases of the second. Suspensions that end with it have ended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LockingState {
    /// The time since the last release of each task, up to its period.
    since: Vec<i64>,
    /// The jobs. Their times count from now, and the numbers of requests and grants count from 1.
    jobs: Vec<Option<LockingJob>>,
}

/// Searches every state, up to `most` states, of a set whose deadlines are at most its periods.
///
/// # Panics
/// If the rule is not [`ScheduleRule::Locking`].
pub fn every(system: &System, rule: &ScheduleRule, most: usize) -> Every {
    let mut ticker = Ticker::new(system, rule);
    let periods: Vec<i64> = system.tasks.values().map(|task| task.period.ns()).collect();
    let deadlines: Vec<i64> = system.tasks.values().map(|task| task.deadline.ns()).collect();
    let start = LockingState { since: periods.clone(), jobs: vec![None; periods.len()] };
    let mut known = BTreeSet::from([start.clone()]);
    let mut open = vec![start];
    let mut longest = vec![0; periods.len()];
    while let Some(state) = open.pop() {
        let can_come: Vec<usize> = (0..periods.len())
            .filter(|&task| state.since[task] == periods[task] && state.jobs[task].is_none())
            .collect();
        for choice in 0..1u32 << can_come.len() {
            let mut since = state.since.clone();
            ticker.jobs.clone_from(&state.jobs);
            ticker.now = 0;
            ticker.numbers =
                state.jobs.iter().flatten().map(numbers).map(|all| all.len()).sum::<usize>() as u64;
            for (at, &task) in can_come.iter().enumerate() {
                if choice >> at & 1 == 1 {
                    since[task] = 0;
                    ticker.waiting[task].push_back((0, deadlines[task]));
                }
            }
            let selected = ticker.rounds();
            ticker.pass(&selected);
            ticker.now = 1;
            ticker.end_stretches(&selected);
            ticker.wake();
            for (at, task, _) in ticker.ran.ends.drain(..) {
                let task = task.0 as usize;
                longest[task] = longest[task].max(since[task] + at);
            }
            ticker.ran.locks.clear();
            for (task, since) in since.iter_mut().enumerate() {
                *since = (*since + 1).min(periods[task]);
                if ticker.jobs[task].is_some() && *since >= deadlines[task] {
                    return Every::Misses(task);
                }
            }
            let next = LockingState { since, jobs: from_now(&ticker.jobs) };
            if known.insert(next.clone()) {
                open.push(next);
            }
            if known.len() > most {
                return Every::GaveUp;
            }
        }
    }
    Every::Meets(longest)
}

/// Returns the numbers of the job's request and of its grants.
fn numbers(job: &LockingJob) -> Vec<u64> {
    job.asked.iter().map(|asked| asked.1).chain(job.held.iter().map(|held| held.1)).collect()
}

/// Returns the jobs with times as of one nanosecond later, and with numbers that count from 1 in
/// their old order.
fn from_now(jobs: &[Option<LockingJob>]) -> Vec<Option<LockingJob>> {
    let mut all: Vec<u64> = jobs.iter().flatten().flat_map(numbers).collect();
    all.sort_unstable();
    let number = |old: u64| 1 + all.partition_point(|&other| other < old) as u64;
    let mut jobs = jobs.to_vec();
    for job in jobs.iter_mut().flatten() {
        job.deadline -= 1;
        job.wakes = job.wakes.map(|at| at - 1);
        if let Some((_, at, _)) = &mut job.asked {
            *at = number(*at);
        }
        job.held.iter_mut().for_each(|(_, at)| *at = number(*at));
    }
    jobs
}
