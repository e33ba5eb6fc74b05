//! Jobs that come once: their row has an arrival and a deadline, and no period.
//!
//! Every task of the model has a period. That of a single job is a multiple of the hyperperiod of
//! the other tasks, so that the schedule repeats as it would without the job, and so long that the
//! job hardly counts in utilizations. A job without a deadline is not a task: it gives way to all
//! others, and an invented deadline would be missed, or make it overtake them.

use layland_model::{Duration, TIME_LIMIT, Task};
use std::collections::BTreeSet;

/// The least number of hyperperiods in the period of a single job.
const RARE: i64 = 100;

/// A task with a single job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Once {
    /// The position of the task.
    pub task: usize,
    /// The deadline of its job.
    pub deadline: Duration,
}

/// Gives the tasks of single jobs a period.
pub(crate) fn settle(tasks: &mut [&mut Task], once: &[Once]) {
    if once.is_empty() {
        return;
    }
    let single: BTreeSet<usize> = once.iter().map(|once| once.task).collect();
    let others = tasks.iter().enumerate().filter(|(at, _)| !single.contains(at));
    let periods: Vec<i64> = others.map(|(_, task)| task.period.ns()).collect();
    let unit = match periods.iter().max() {
        Some(&longest) => {
            periods.iter().try_fold(1, |all, &period| lcm(all, period)).unwrap_or(longest).max(1)
        }
        None => 1_000_000,
    };
    for once in once {
        let task = &mut *tasks[once.task];
        let least = i128::from(once.deadline.ns()).max(i128::from(RARE) * i128::from(unit));
        // A time beyond the limit is reported when the set is validated.
        let units = (least + i128::from(unit) - 1) / i128::from(unit);
        let period = i64::try_from(units * i128::from(unit)).unwrap_or(i64::MAX);
        task.period = Duration::from_ns(period);
        task.deadline = once.deadline;
        task.jobs = Some(1);
    }
}

/// Returns the least common multiple, if it leaves room for a multiple of it.
fn lcm(a: i64, b: i64) -> Option<i64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).checked_mul(b).filter(|&all| all > 0 && all <= TIME_LIMIT / (4 * RARE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::Service;

    #[test]
    fn the_period_of_a_single_job_is_a_multiple_of_the_hyperperiod() {
        let ms = Duration::from_ms;
        let of = |wcet, period| Task::implicit("t", Service::from_ms(wcet), ms(period));
        let alone = |deadline: i64, others: &[i64]| {
            let mut tasks: Vec<Task> = others.iter().map(|&period| of(1, period)).collect();
            tasks.push(Task { offset: ms(5), ..of(2, 0) });
            let once = Once { task: others.len(), deadline: ms(deadline) };
            settle(&mut tasks.iter_mut().collect::<Vec<_>>(), &[once]);
            let job = &tasks[others.len()];
            assert_eq!((job.jobs, job.deadline), (Some(1), ms(deadline)));
            job.period
        };
        assert_eq!(alone(7, &[4, 6]), ms(1_200));
        assert_eq!(alone(1_250, &[4, 6]), ms(1_260));
        assert_eq!(alone(3, &[]), ms(100));
        // The hyperperiod of these is too long to repeat: the longest period counts.
        let primes = [100_003, 100_019, 100_043, 100_049];
        assert_eq!(alone(7, &primes), ms(10_004_900));
    }
}
