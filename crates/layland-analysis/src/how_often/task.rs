//! Tasks with random execution times, and the jobs that delay a given one.

use layland_model::{Duration, Rate, Service};

/// The order in which jobs run on the CPU, with preemption. Ties go to the task that comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OneCpuOrder {
    /// The first task of the list has the highest priority.
    FixedPriority,
    /// Earliest deadline first.
    EarliestDeadline,
}

/// A task whose jobs have independent execution times with one distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomTask {
    /// In ascending order, in nanoseconds; the probabilities are positive and sum to 1.
    times: Vec<(i64, Rate)>,
    pub(super) period: i64,
    pub(super) deadline: i64,
    pub(super) jitter: i64,
}

/// The reason why parameters are not those of a task with random execution times.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRandomTask {
    /// An execution time of 0: such a job is complete when it is ready, whatever else is pending.
    /// Round it up to a nanosecond.
    #[error("an execution time is {0}, and must be positive")]
    Time(Service),
    /// A probability is negative.
    #[error("the probability {0} is negative")]
    Negative(Rate),
    /// The probabilities do not sum to 1.
    #[error("the probabilities sum to {0}, not to 1")]
    Sum(Rate),
    /// The period or the deadline is not positive, or the jitter is longer than the period.
    #[error("a period and a deadline are positive, and no jitter is longer than the period")]
    Parameters,
}

impl RandomTask {
    /// A task with these execution times and their probabilities: jobs at least a period apart,
    /// a deadline that counts from the arrival, ready up to `jitter` after the arrival.
    ///
    /// # Errors
    /// See [`InvalidRandomTask`].
    pub fn new(
        times: &[(Service, Rate)],
        period: Duration,
        deadline: Duration,
        jitter: Duration,
    ) -> Result<RandomTask, InvalidRandomTask> {
        let mut merged: Vec<(i64, Rate)> = Vec::new();
        let mut sorted: Vec<&(Service, Rate)> = times.iter().collect();
        sorted.sort_by_key(|(time, _)| *time);
        for (time, rate) in sorted {
            if *time <= Service::ZERO {
                return Err(InvalidRandomTask::Time(*time));
            }
            if *rate < Rate::ZERO {
                return Err(InvalidRandomTask::Negative(rate.clone()));
            }
            match merged.last_mut() {
                Some((last, sum)) if *last == time.ns() => *sum = &*sum + rate,
                Some(_) | None => merged.push((time.ns(), rate.clone())),
            }
        }
        merged.retain(|(_, rate)| *rate > Rate::ZERO);
        let sum: Rate = merged.iter().map(|(_, rate)| rate.clone()).sum();
        if sum != Rate::ONE {
            return Err(InvalidRandomTask::Sum(sum));
        }
        let [period, deadline, jitter] = [period, deadline, jitter].map(Duration::ns);
        if period <= 0 || deadline <= 0 || !(0..=period).contains(&jitter) {
            return Err(InvalidRandomTask::Parameters);
        }
        Ok(RandomTask { times: merged, period, deadline, jitter })
    }

    /// The greatest execution time.
    pub fn wcet(&self) -> Service {
        Service::from_ns(self.longest())
    }

    pub(super) fn longest(&self) -> i64 {
        self.times.last().map_or(0, |(time, _)| *time)
    }

    /// The mean execution time, in nanoseconds.
    pub fn mean(&self) -> Rate {
        self.times.iter().map(|(time, rate)| &Rate::whole(*time) * rate).sum()
    }

    /// The times in this unit, rounded up: amounts of work in ascending order.
    pub(super) fn amounts(&self, unit: i64, scale: i64) -> Vec<(i64, Rate)> {
        let mut merged: Vec<(i64, Rate)> = Vec::new();
        for (time, rate) in &self.times {
            let amount = num_integer::Integer::div_ceil(time, &unit) * scale;
            match merged.last_mut() {
                Some((last, sum)) if *last == amount => *sum = &*sum + rate,
                Some(_) | None => merged.push((amount, rate.clone())),
            }
        }
        merged
    }
}

/// The tasks whose jobs may delay one of task `judged`, and itself: its *level*.
pub(super) fn level(count: usize, order: OneCpuOrder, judged: usize) -> std::ops::Range<usize> {
    match order {
        OneCpuOrder::FixedPriority => 0..judged + 1,
        OneCpuOrder::EarliestDeadline => 0..count,
    }
}

/// Returns true if a job of task `i` that arrives at `at` comes before the job of task `judged`
/// that arrives at `job_at`. Ties go to the task that comes first in the list.
pub(super) fn is_relevant(
    tasks: &[RandomTask],
    order: OneCpuOrder,
    (judged, job_at): (usize, i64),
    (i, at): (usize, i64),
) -> bool {
    if i == judged {
        return at <= job_at;
    }
    match order {
        OneCpuOrder::FixedPriority => i < judged,
        OneCpuOrder::EarliestDeadline => {
            (at + tasks[i].deadline, i) < (job_at + tasks[judged].deadline, judged)
        }
    }
}

/// The mean load of these tasks: the sum of the mean execution times over the periods.
pub(super) fn mean_load(tasks: &[RandomTask]) -> Rate {
    tasks.iter().map(|task| &task.mean() / &Rate::whole(task.period)).sum()
}

/// The load by the greatest execution times.
pub(super) fn full_load(tasks: &[RandomTask]) -> Rate {
    tasks.iter().map(|task| Rate::new(task.longest(), task.period)).sum()
}
