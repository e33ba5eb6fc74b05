//! **WORST-PHASE**: the greatest probability of a miss over all sporadic arrivals, if late jobs
//! continue.
//!
//! **Theorem.** For given distances `x_i` from the arrival `r` of the judged job back to the last
//! arrival of each other task before `r`, `1 <= x_i <= T_i`, the worst arrivals are periodic:
//! `r - x_i + j T_i` for all whole `j`, and `r - j T_k` for the judged task.
//!
//! Fix the execution times of all jobs, numbered away from `r`. No earlier arrival of a task can be
//! later than `r - x_i - j T_i`, and moving it there raises the work that arrives in each `[s, r)`,
//! so the backlog at `r`, in every run. No later arrival can be earlier than `r - x_i + j T_i`, and
//! moving it there raises the work in each `[r, r + t)`. Under EDF the jobs that count arrive at
//! `r + D_k - D_i` at the latest; later ones that are moved earlier still count. Arrivals do not
//! depend on execution times, so they can be fixed first.
//!
//! Assumes: (1) to (5) of PERIODIC, but for arrivals at least a period apart, and (6) arrivals at
//! whole ticks, the greatest common divisor of all times. **Exact** under these, up to the two bounds.

use super::periodic::{Judged, Periodic};
use super::settled::common_tick;
use super::{Chance, Mass, Precision, Unanswered};
use layland_model::{Duration, OnMiss, Time};

/// The worst distances back from the judged job to the last arrivals before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorstPhase {
    /// `x_i` for each task, 0 for the judged one and for those that do not delay it.
    pub back: Vec<Duration>,
    /// The probability of a miss with these distances; its upper bound is that over all distances.
    pub chance: Chance,
}

/// The worst arrivals from time 0 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstJobs {
    /// The arrivals of each task.
    pub arrivals: Vec<Vec<Time>>,
    /// The probability of a miss with these arrivals; its upper bound is that over all arrivals.
    pub chance: Chance,
}

impl Judged<'_> {
    /// All distances, in ticks: the combinations of 1 to `T_i` for each other task of the level.
    fn distances(&self, tick: i64, most: u64) -> Result<Vec<Vec<i64>>, Unanswered> {
        let mut all = vec![vec![0; self.tasks.len()]];
        for i in self.level().filter(|&i| i != self.task) {
            let period = self.tasks[i].period / tick;
            if (all.len() as u64).saturating_mul(period as u64) > most {
                return Err(Unanswered::TooLarge);
            }
            let with = |old: Vec<i64>| {
                (1..=period).map(move |x| {
                    let mut new = old.clone();
                    new[i] = x;
                    new
                })
            };
            all = all.into_iter().flat_map(with).collect();
        }
        Ok(all)
    }

    /// The greatest probability of a miss in the long run, over all arrivals at ticks. At most this
    /// number of combinations of distances is tried.
    ///
    /// # Errors
    /// [`Unanswered::TooLarge`] if there are more, and the errors of
    /// [`Periodic::long_run`].
    pub fn worst_phase(&self, precision: &Precision, most: u64) -> Result<WorstPhase, Unanswered> {
        self.refuse_jitter()?;
        let tick = common_tick(self.tasks, []);
        let mut worst: Option<WorstPhase> = None;
        let mut high = Mass::ZERO;
        for back in self.distances(tick, most)? {
            // The judged task arrives at 0.
            let offset = |(i, x): (usize, &i64)| {
                Duration::from_ns((-x * tick).rem_euclid(self.tasks[i].period))
            };
            let offsets: Vec<Duration> = back.iter().enumerate().map(offset).collect();
            let periodic = Periodic { judged: *self, offsets: &offsets };
            let chance = periodic.first_of_each_turn(precision)?;
            high = high.max(chance.high);
            if worst.as_ref().is_none_or(|worst| chance.low > worst.chance.low) {
                let back = back.iter().map(|x| Duration::from_ns(x * tick)).collect();
                worst = Some(WorstPhase { back, chance });
            }
        }
        let mut worst = worst.ok_or(Unanswered::TooLarge)?;
        worst.chance.high = high;
        Ok(worst)
    }

    /// The greatest probability that the job which arrives at `job_at` is late, over all arrivals at
    /// ticks from time 0 on.
    ///
    /// # Errors
    /// [`Unanswered::Jitter`], and [`Unanswered::TooLarge`] as in [`worst_phase`](Self::worst_phase).
    pub fn worst_first_jobs(&self, job_at: Time, most: u64) -> Result<FirstJobs, Unanswered> {
        self.refuse_jitter()?;
        let tick = common_tick(self.tasks, [job_at.ns()]);
        let mut worst: Option<FirstJobs> = None;
        let mut high = Mass::ZERO;
        for back in self.distances(tick, most)? {
            let arrivals: Vec<Vec<Time>> =
                (0..self.tasks.len()).map(|i| self.truncated(i, job_at, back[i] * tick)).collect();
            let chance = self.under_arrivals(OnMiss::Continue, &arrivals, job_at)?;
            high = high.max(chance.high);
            if worst.as_ref().is_none_or(|worst| chance.low > worst.chance.low) {
                worst = Some(FirstJobs { arrivals, chance });
            }
        }
        let mut worst = worst.ok_or(Unanswered::TooLarge)?;
        worst.chance.high = high;
        Ok(worst)
    }

    /// The arrivals from 0 on of a task whose last one before `job_at` is `back` earlier. A task that
    /// does not delay the judged one has none.
    fn truncated(&self, i: usize, job_at: Time, back: i64) -> Vec<Time> {
        let (r, task) = (job_at.ns(), &self.tasks[i]);
        if i == self.task {
            return (0..=r / task.period)
                .rev()
                .map(|j| Time::from_ns(r - j * task.period))
                .collect();
        }
        if !self.level().contains(&i) {
            return Vec::new();
        }
        let end = r + self.tasks[self.task].deadline;
        let first = (r - back).rem_euclid(task.period);
        (0..)
            .map(|j| first + j * task.period)
            .take_while(|at| *at < end)
            .map(Time::from_ns)
            .collect()
    }
}
