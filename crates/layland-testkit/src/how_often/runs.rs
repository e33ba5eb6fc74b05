//! Runs on one CPU, one unit of time after the other; late jobs continue.

use super::probability::patterns;
use layland_model::HitOrMiss;

/// A task of a run; the first of a list has the highest priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTask {
    /// The relative deadline.
    pub deadline: i64,
    /// The arrivals, in order, with the execution time of each job.
    pub jobs: Vec<(i64, i64)>,
}

/// The times at which the jobs of each task complete, if they do by `until`.
pub fn completions(tasks: &[RunTask], is_edf: bool, until: i64) -> Vec<Vec<Option<i64>>> {
    let mut left: Vec<Vec<i64>> =
        tasks.iter().map(|task| task.jobs.iter().map(|job| job.1).collect()).collect();
    let mut done: Vec<Vec<Option<i64>>> =
        tasks.iter().map(|task| vec![None; task.jobs.len()]).collect();
    for now in 0..until {
        let mut ready = Vec::new();
        for (i, task) in tasks.iter().enumerate() {
            for (job, &(at, _)) in task.jobs.iter().enumerate() {
                if at <= now && left[i][job] > 0 {
                    ready.push((if is_edf { at + task.deadline } else { 0 }, i, job));
                }
            }
        }
        if let Some(&(_, i, job)) = ready.iter().min() {
            left[i][job] -= 1;
            if left[i][job] == 0 {
                done[i][job] = Some(now + 1);
            }
        }
    }
    done
}

/// The outcomes of the jobs of task `k` up to `until`.
pub fn outcomes(tasks: &[RunTask], is_edf: bool, k: usize, until: i64) -> Vec<HitOrMiss> {
    let done = completions(tasks, is_edf, until).swap_remove(k);
    let outcome = |(job, done): (&(i64, i64), &Option<i64>)| {
        let due = job.0 + tasks[k].deadline;
        match done {
            Some(done) if *done <= due => HitOrMiss::Hit,
            _ if due > until => HitOrMiss::Undecided,
            _ => HitOrMiss::Miss,
        }
    };
    tasks[k].jobs.iter().zip(&done).map(outcome).collect()
}

/// The most misses of task `k` among `window` consecutive jobs, over all arrivals before `until`.
/// Tasks are `(C, T, D)`.
pub fn most_misses(
    tasks: &[(i64, i64, i64)],
    is_edf: bool,
    k: usize,
    window: usize,
    until: i64,
) -> u32 {
    let longest = tasks.iter().map(|task| task.2).max().unwrap_or(0);
    let mut all: Vec<Vec<RunTask>> = vec![Vec::new()];
    for &(wcet, period, deadline) in tasks {
        let of = patterns(period, 0, until);
        all = all
            .into_iter()
            .flat_map(|chosen| {
                of.iter().map(move |times| {
                    let jobs = times.iter().map(|at| (*at, wcet)).collect();
                    [chosen.clone(), vec![RunTask { deadline, jobs }]].concat()
                })
            })
            .collect();
    }
    let misses = |run: &Vec<RunTask>| {
        let word = outcomes(run, is_edf, k, until + longest);
        super::words::most_misses(&word, window, HitOrMiss::Hit)
    };
    all.iter().map(misses).max().unwrap_or(0)
}
