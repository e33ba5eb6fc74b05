//! What one task draws: release times and execution times, from a seeded stream of its own.
//!
//! The stream of task `i` is PCG-64 seeded with splitmix64 of (seed, i), so that adding a task
//! does not change what the others draw. Uniform integers are drawn by multiplication with
//! rejection, without bias; exponential ones by the inverse of the distribution function with a
//! portable logarithm.

use layland_model::{Behaviour, Duration, ExecutionModel, Separation, Service, Task, TaskId, Time};
use rand::Rng;
use rand_pcg::Pcg64;
use std::sync::Arc;

/// The seed of a stream: a full-period mix of a run's seed and an index.
fn mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A generator for a stream.
pub fn generator(seed: u64, index: u64) -> Pcg64 {
    let state = u128::from(mix(seed, index)) << 64 | u128::from(mix(!seed, index));
    Pcg64::new(state, u128::from(mix(seed ^ 0x5bd1_e995, index)))
}

/// A uniform integer in `0..=max`.
pub fn uniform(random: &mut Pcg64, max: u64) -> u64 {
    if max == u64::MAX {
        return random.next_u64();
    }
    let width = u128::from(max) + 1;
    let unbiased_from = (u128::from(u64::MAX) + 1) % width;
    loop {
        let product = u128::from(random.next_u64()) * width;
        if product & u128::from(u64::MAX) >= unbiased_from {
            return (product >> 64) as u64;
        }
    }
}

fn uniform_length(random: &mut Pcg64, max: Duration) -> Duration {
    if max <= Duration::ZERO {
        Duration::ZERO
    } else {
        Duration::from_ns(uniform(random, max.ns() as u64) as i64)
    }
}

/// The next arrival of a task.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Deadlines count from here.
    pub at: Time,
    /// The job can run from here on.
    pub release: Time,
}

/// What one task draws.
#[derive(Clone, Debug)]
pub struct Stream {
    task: Arc<Task>,
    random: Option<Box<Pcg64>>,
}

impl Stream {
    /// The stream of a task in a run with this seed.
    pub fn new(id: TaskId, task: Arc<Task>, seed: u64) -> Self {
        let draws = task.jitter > Duration::ZERO
            || matches!(task.behaviour, Behaviour::Sporadic(_))
            || matches!(
                task.execution,
                ExecutionModel::Uniform { .. } | ExecutionModel::Discrete(_)
            );
        let random = draws.then(|| Box::new(generator(seed, u64::from(id.0))));
        Self { task, random }
    }

    /// The parameters in force.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The same, to share.
    pub fn parameters(&self) -> Arc<Task> {
        Arc::clone(&self.task)
    }

    /// Whether its thread yields at the end of a job.
    pub fn yields(&self) -> bool {
        matches!(self.task.behaviour, Behaviour::Yield)
    }

    /// Where it is after job `seq` in what does not depend on the time: the position in a list of
    /// execution times or of releases, and the number of jobs that are left.
    pub fn phase(&self, seq: u64) -> i64 {
        let done = seq.wrapping_add(1);
        let position = match &self.task.execution {
            ExecutionModel::List(values) => done % values.len() as u64,
            ExecutionModel::Wcet
            | ExecutionModel::Level(_)
            | ExecutionModel::Fraction(_)
            | ExecutionModel::Uniform { .. }
            | ExecutionModel::Discrete(_) => 0,
        };
        let releases = match &self.task.behaviour {
            Behaviour::Explicit(releases) => Some(releases.len() as u64),
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Hog
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => None,
        };
        let limit = [self.task.jobs, releases].into_iter().flatten().min();
        match limit {
            // Once the last job is over, the position no longer matters.
            Some(limit) if done >= limit => -1,
            Some(limit) => (limit - done) as i64,
            None => position as i64,
        }
    }

    /// Other parameters from the next job on.
    pub fn reconfigure(&mut self, task: Arc<Task>) {
        self.task = task;
    }

    /// The first arrival, if any.
    pub fn first(&mut self) -> Option<Arrival> {
        if self.task.jobs == Some(0) {
            return None;
        }
        let at = match &self.task.behaviour {
            Behaviour::Explicit(releases) => *releases.first()?,
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Hog
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => Time::ZERO + self.task.offset,
        };
        Some(self.with_jitter(at))
    }

    /// The arrival after that of job `seq` at `previous`, if any; `None` also where it is known
    /// only when that job completes ([`Stream::after_completion`]).
    pub fn next(&mut self, seq: u64, previous: Time) -> Option<Arrival> {
        if self.task.jobs.is_some_and(|jobs| seq + 1 >= jobs) {
            return None;
        }
        let at = match &self.task.behaviour {
            Behaviour::Periodic | Behaviour::Hog | Behaviour::Yield => previous + self.task.period,
            Behaviour::Sporadic(separation) => {
                let random = self.random.as_mut().expect("a sporadic task has a stream");
                let extra = match *separation {
                    Separation::Uniform { max } => uniform_length(random, max),
                    Separation::Exponential { mean, max } => {
                        // 53 random bits in (0, 1].
                        let unit = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                        let drawn = -libm::log(unit) * mean.ns() as f64;
                        Duration::from_ns(drawn.min(max.ns() as f64) as i64)
                    }
                };
                previous + self.task.period + extra
            }
            Behaviour::Explicit(releases) => *releases.get(usize::try_from(seq + 1).ok()?)?,
            Behaviour::SelfSuspending { .. } => return None,
        };
        Some(self.with_jitter(at))
    }

    /// The arrival after job `seq`, which completed at `now`, of a task that suspends itself.
    pub fn after_completion(&mut self, seq: u64, now: Time) -> Option<Arrival> {
        match self.task.behaviour {
            Behaviour::SelfSuspending { gap }
                if self.task.jobs.is_none_or(|jobs| seq + 1 < jobs) =>
            {
                Some(self.with_jitter(now + gap))
            }
            Behaviour::SelfSuspending { .. }
            | Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Explicit(_)
            | Behaviour::Hog
            | Behaviour::Yield => None,
        }
    }

    fn with_jitter(&mut self, at: Time) -> Arrival {
        let late = match &mut self.random {
            Some(random) if self.task.jitter > Duration::ZERO => {
                uniform_length(random, self.task.jitter)
            }
            Some(_) | None => Duration::ZERO,
        };
        Arrival { at, release: at + late }
    }

    /// How long job `seq` executes.
    pub fn demand(&mut self, seq: u64) -> Service {
        match &self.task.execution {
            ExecutionModel::Wcet => self.task.own_wcet(),
            ExecutionModel::Level(level) => self.task.wcet[level.level()],
            ExecutionModel::Fraction(rate) => {
                let (n, d) = rate.as_i64_pair().expect("a valid fraction is small");
                let scaled = i128::from(self.task.own_wcet().ns()) * i128::from(n);
                let rounded_up = (scaled + i128::from(d) - 1) / i128::from(d);
                Service::from_ns(i64::try_from(rounded_up).unwrap_or(i64::MAX).max(1))
            }
            ExecutionModel::Uniform { min, max } => {
                let random = self.random.as_mut().expect("a drawing task has a stream");
                *min + Service::from_ns(uniform(random, (max.ns() - min.ns()) as u64) as i64)
            }
            ExecutionModel::Discrete(values) => {
                let random = self.random.as_mut().expect("a drawing task has a stream");
                let total: u64 = values.iter().map(|&(_, weight)| weight).sum();
                let mut left = uniform(random, total - 1);
                for &(value, weight) in values {
                    if left < weight {
                        return value;
                    }
                    left -= weight;
                }
                unreachable!("the draw is below the sum of the weights")
            }
            ExecutionModel::List(values) => values[(seq % values.len() as u64) as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_draws_reach_both_ends_evenly() {
        let mut random = generator(7, 3);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[uniform(&mut random, 9) as usize] += 1;
        }
        // Each count is binomial with mean 10 000 and standard deviation 95.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 500), "{counts:?}");
    }

    #[test]
    fn exponential_separations_have_the_mean_and_the_cut() {
        let mut task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(10));
        let (mean, max) = (Duration::from_ms(4), Duration::from_ms(40));
        task.behaviour = Behaviour::Sporadic(Separation::Exponential { mean, max });
        let mut stream = Stream::new(TaskId(0), Arc::new(task), 1);
        let mut previous = stream.first().unwrap().at;
        let mut sum = 0i64;
        for seq in 0..20_000 {
            let next = stream.next(seq, previous).unwrap().at;
            let extra = (next - previous).ns() - 10_000_000;
            assert!((0..=max.ns()).contains(&extra));
            sum += extra;
            previous = next;
        }
        let average = sum as f64 / 20_000.0;
        assert!((average - 4e6).abs() < 1.5e5, "{average}");
    }
}
