//! Jobs that come once: their row has an arrival and no period, and perhaps no deadline.
//!
//! Every task of the model has a period. That of a single job is a multiple of the hyperperiod of
//! the other tasks, so that the schedule repeats as it would without the job. A job without a
//! deadline gives way to the others: its deadline is so far away that policies that compare
//! deadlines or periods run it last.

use layland_model::{Duration, TIME_LIMIT, Task};
use std::collections::BTreeSet;

/// The least number of hyperperiods until the deadline of a job that has none.
const FAR: i64 = 10;

/// A task with a single job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Once {
    /// The position of the task.
    pub task: usize,
    /// The deadline of its job, if it has one.
    pub deadline: Option<Duration>,
}

/// Gives the tasks of single jobs a period, and a deadline if they have none.
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
    let work = once.iter().map(|once| i128::from(tasks[once.task].own_wcet().ns())).sum::<i128>();
    for once in once {
        let task = &mut *tasks[once.task];
        let least = match once.deadline {
            Some(deadline) => i128::from(deadline.ns()),
            None => i128::from(FAR) * (i128::from(unit) + i128::from(task.offset.ns()) + work),
        };
        // A time beyond the limit is reported when the set is validated.
        let units = (least + i128::from(unit) - 1) / i128::from(unit);
        let period = i64::try_from(units.max(1) * i128::from(unit)).unwrap_or(i64::MAX);
        task.period = Duration::from_ns(period);
        task.deadline = once.deadline.unwrap_or(task.period);
        task.jobs = Some(1);
    }
}

/// Returns the least common multiple, if it leaves room for a multiple of it.
fn lcm(a: i64, b: i64) -> Option<i64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).checked_mul(b).filter(|&all| all > 0 && all <= TIME_LIMIT / (4 * FAR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::Service;

    #[test]
    fn the_period_of_a_single_job_is_a_multiple_of_the_hyperperiod() {
        let ms = Duration::from_ms;
        let of = |wcet, period| Task::implicit("t", Service::from_ms(wcet), ms(period));
        let alone = |deadline: Option<i64>, others: &[i64]| {
            let mut tasks: Vec<Task> = others.iter().map(|&period| of(1, period)).collect();
            tasks.push(Task { offset: ms(5), ..of(2, 0) });
            let once = Once { task: others.len(), deadline: deadline.map(ms) };
            settle(&mut tasks.iter_mut().collect::<Vec<_>>(), &[once]);
            let job = &tasks[others.len()];
            assert_eq!(job.jobs, Some(1));
            (job.period, job.deadline)
        };
        assert_eq!(alone(Some(7), &[4, 6]), (ms(12), ms(7)));
        assert_eq!(alone(Some(25), &[4, 6]), (ms(36), ms(25)));
        // 10 (12 + 5 + 2) = 190, and the next multiple of 12 is 192.
        assert_eq!(alone(None, &[4, 6]), (ms(192), ms(192)));
        assert_eq!(alone(Some(3), &[]), (ms(3), ms(3)));
        // The hyperperiod of these is too long to repeat: the longest period counts.
        let primes = [100_003, 100_019, 100_043, 100_049];
        assert_eq!(alone(Some(7), &primes), (ms(100_049), ms(7)));
    }
}
