//! Runs of fixed priorities on one CPU, one unit of time after the other; late jobs continue.

use layland_model::HitOrMiss;

/// A task of a run; the first of a list has the highest priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTask {
    /// The relative deadline.
    pub deadline: i64,
    /// The arrivals, in order, with the execution time of each job.
    pub jobs: Vec<(i64, i64)>,
}

/// The outcomes of the jobs of task `k` up to `until`.
pub fn outcomes(tasks: &[RunTask], k: usize, until: i64) -> Vec<HitOrMiss> {
    let mut left: Vec<Vec<i64>> =
        tasks.iter().map(|task| task.jobs.iter().map(|job| job.1).collect()).collect();
    let mut done = vec![None; tasks[k].jobs.len()];
    for now in 0..until {
        let ready = |i: usize| {
            let jobs = tasks[i].jobs.iter().zip(&left[i]);
            jobs.enumerate()
                .find(|(_, (job, left))| job.0 <= now && **left > 0)
                .map(|found| found.0)
        };
        if let Some((i, job)) = (0..=k).find_map(|i| Some((i, ready(i)?))) {
            left[i][job] -= 1;
            if i == k && left[i][job] == 0 {
                done[job] = Some(now + 1);
            }
        }
    }
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
