//! The release times and execution times of one task, drawn from its own seeded stream.
//!
//! Every task has its own stream of random numbers ([`Random::of_task`]), so that adding a task
//! does not change the values of the others. Uniform integers are drawn without bias; exponential
//! ones by the inverse of the distribution function with a portable logarithm.

use layland_gen::Random;
use layland_model::{
    ArrivalCurve, Behaviour, Duration, ExecutionModel, Separation, Service, Task, TaskId, Tasks,
    Time,
};
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

fn uniform_length(random: &mut Random, max: Duration) -> Duration {
    // Do not advance the generator if there is only one value.
    if max <= Duration::ZERO {
        Duration::ZERO
    } else {
        Duration::from_ns(random.between(0, max.ns()))
    }
}

/// Returns a random addition to the minimum separation.
fn drawn(random: &mut Random, separation: &Separation) -> Duration {
    match *separation {
        Separation::Uniform { max } => uniform_length(random, max),
        Separation::Exponential { mean, max } => {
            // 53 random bits in (0, 1]: the logarithm of 0 is infinite.
            let unit = ((random.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64;
            let drawn = -libm::log(unit) * mean.ns() as f64;
            Duration::from_ns(drawn.min(max.ns() as f64) as i64)
        }
    }
}

/// Returns the curve by which the arrivals of a task are drawn, if there is one.
fn drawn_curve(task: &Task) -> Option<&ArrivalCurve> {
    let arrivals = task.curve_arrivals().filter(|arrivals| arrivals.extra.is_some())?;
    Some(&arrivals.curve)
}

/// The last arrivals, as many as a curve relates to the next one; earlier ones have no influence.
#[derive(Clone, Debug)]
struct Recent {
    at: VecDeque<Time>,
    most: usize,
}

impl Recent {
    /// Returns an empty list with memory for all entries, so that later arrivals do not allocate.
    fn of(curve: &ArrivalCurve) -> Recent {
        let most = curve.delta_min().len();
        Recent { at: VecDeque::with_capacity(most), most }
    }

    fn push(&mut self, at: Time) {
        if self.at.len() == self.most {
            self.at.pop_back();
        }
        self.at.push_front(at);
    }

    /// Returns the earliest time at which the curve permits the next arrival.
    fn earliest(&self, curve: &ArrivalCurve) -> Time {
        let after =
            self.at.iter().zip(curve.delta_min()).map(|(at, &least)| at.saturating_add(least));
        after.max().unwrap_or(Time::ZERO)
    }
}

/// The next arrival of a task.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The time from which deadlines count.
    pub at: Time,
    /// The time from which the job can run.
    pub release: Time,
}

/// The parameters of a task: either those in a system, which all its tasks share, or its own.
#[derive(Clone, Debug)]
enum Parameters {
    Of(Tasks, TaskId),
    Own(Arc<Task>),
}

impl Deref for Parameters {
    type Target = Task;
    #[inline]
    fn deref(&self) -> &Task {
        match self {
            Parameters::Of(tasks, id) => &tasks[*id],
            Parameters::Own(task) => task,
        }
    }
}

/// The stream of arrivals and demands of one task.
#[derive(Clone, Debug)]
pub struct Stream {
    task: Parameters,
    random: Option<Box<Random>>,
    /// The last arrivals of a task whose arrivals are drawn by a curve.
    recent: Option<Box<Recent>>,
    /// The time from which offset and listed releases count.
    origin: Time,
    /// The sequence number of its first job.
    first: u64,
}

impl Stream {
    /// Returns the stream of a task of the set, in a run with this seed.
    pub fn new(id: TaskId, tasks: &Tasks, seed: u64) -> Self {
        Self::of(id, Parameters::Of(tasks.clone(), id), seed, Time::ZERO, 0)
    }

    /// Returns the stream of a program that enters at `origin` as this task, and whose first job
    /// has the number `first`. Its values differ from those of earlier programs with the same id.
    pub fn from(id: TaskId, task: Arc<Task>, seed: u64, origin: Time, first: u64) -> Self {
        Self::of(id, Parameters::Own(task), seed, origin, first)
    }

    fn of(id: TaskId, task: Parameters, seed: u64, origin: Time, first: u64) -> Self {
        let recent = drawn_curve(&task).map(|curve| Box::new(Recent::of(curve)));
        let draws = task.jitter > Duration::ZERO
            || recent.is_some()
            || matches!(task.behaviour, Behaviour::Sporadic(_))
            || matches!(
                task.execution,
                ExecutionModel::Uniform { .. } | ExecutionModel::Discrete(_)
            );
        let random = draws.then(|| {
            // A program that reuses an id has another first number, so it draws other values.
            let generation = seed.wrapping_add(first.wrapping_mul(0x5851_f42d_4c95_7f2d));
            Box::new(Random::of_task(generation, u64::from(id.0)))
        });
        Self { task, random, recent, origin, first }
    }

    /// Returns the parameters in force.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Returns the parameters in force for sharing. Allocates, unless the stream has [its
    /// own](Self::own).
    pub fn parameters(&self) -> Arc<Task> {
        match &self.task {
            Parameters::Of(tasks, id) => Arc::new(tasks[*id].clone()),
            Parameters::Own(task) => Arc::clone(task),
        }
    }

    /// Gives the stream its own copy of the parameters. An engine that must not allocate calls this
    /// before it begins.
    pub fn own(&mut self) {
        self.task = Parameters::Own(self.parameters());
    }

    /// Returns true if the thread of the task yields at the end of a job.
    pub fn yields(&self) -> bool {
        matches!(self.task.behaviour, Behaviour::Yield)
    }

    /// Returns the part of the state after job `seq` that does not depend on the time: the position
    /// in a list of execution times or of releases, and the number of jobs that are left.
    pub fn phase(&self, seq: u64) -> i64 {
        // Before the first job of the first program, `seq` is `u64::MAX`.
        let done = seq.wrapping_add(1).wrapping_sub(self.first);
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
            | Behaviour::Curve(_)
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

    /// Changes the parameters from the next job on.
    pub fn reconfigure(&mut self, task: Arc<Task>) {
        self.task = Parameters::Own(task);
    }

    /// Returns the first arrival, if there is one.
    pub fn first(&mut self) -> Option<Arrival> {
        if self.task.jobs == Some(0) {
            return None;
        }
        let at = match &self.task.behaviour {
            Behaviour::Explicit(releases) => self.listed(releases, 0)?,
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Curve(_)
            | Behaviour::Hog
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => self.origin + self.task.offset,
        };
        if let Some(recent) = &mut self.recent {
            recent.push(at);
        }
        Some(self.with_jitter(at))
    }

    /// Returns a release of the list.
    fn listed(&self, releases: &[Time], index: u64) -> Option<Time> {
        let at = releases.get(usize::try_from(index).ok()?)?;
        Some(self.origin + at.since_start())
    }

    /// Returns true if job `seq` is the last one that the limit on the number of jobs permits.
    fn is_last(&self, seq: u64) -> bool {
        self.task.jobs.is_some_and(|jobs| seq - self.first + 1 >= jobs)
    }

    /// Returns the arrival after that of job `seq` at `previous`, if there is one. Also returns
    /// `None` if the arrival is known only when that job completes ([`Stream::after_completion`]).
    pub fn next(&mut self, seq: u64, previous: Time) -> Option<Arrival> {
        if self.is_last(seq) {
            return None;
        }
        let at = match &self.task.behaviour {
            Behaviour::Periodic | Behaviour::Hog | Behaviour::Yield => previous + self.task.period,
            Behaviour::Sporadic(separation) => {
                let random = self.random.as_mut().expect("a sporadic task has a stream");
                previous + self.task.period + drawn(random, separation)
            }
            Behaviour::Curve(arrivals) => match (&arrivals.extra, &mut self.recent) {
                (Some(extra), Some(recent)) => {
                    let random = self.random.as_mut().expect("a task that draws has a stream");
                    let at = recent.earliest(&arrivals.curve).saturating_add(drawn(random, extra));
                    recent.push(at);
                    at
                }
                // The densest arrivals have the minimum distances of the curve from the first one.
                (Some(_) | None, _) => {
                    let since = arrivals.curve.distance(seq - self.first + 1);
                    (self.origin + self.task.offset).saturating_add(since)
                }
            },
            Behaviour::Explicit(releases) => self.listed(releases, seq - self.first + 1)?,
            Behaviour::SelfSuspending { .. } => return None,
        };
        Some(self.with_jitter(at))
    }

    /// Returns the arrival after job `seq`, which completed at `now`, of a task that suspends
    /// itself.
    pub fn after_completion(&mut self, seq: u64, now: Time) -> Option<Arrival> {
        match self.task.behaviour {
            Behaviour::SelfSuspending { gap } if !self.is_last(seq) => {
                Some(self.with_jitter(now + gap))
            }
            Behaviour::SelfSuspending { .. }
            | Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Explicit(_)
            | Behaviour::Curve(_)
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

    /// Returns the execution time of job `seq`.
    pub fn demand(&mut self, seq: u64) -> Service {
        match &self.task.execution {
            ExecutionModel::Wcet => self.task.own_wcet(),
            ExecutionModel::Level(level) => self.task.wcet[level.level()],
            ExecutionModel::Fraction(rate) => {
                let (n, d) = rate.as_i64_pair().expect("a valid fraction is small");
                // In 128 bits, since the product does not fit in 64.
                let scaled = i128::from(self.task.own_wcet().ns()) * i128::from(n);
                let rounded_up = (scaled + i128::from(d) - 1) / i128::from(d);
                Service::from_ns(i64::try_from(rounded_up).unwrap_or(i64::MAX).max(1))
            }
            ExecutionModel::Uniform { min, max } => {
                let random = self.random.as_mut().expect("a drawing task has a stream");
                Service::from_ns(random.between(min.ns(), max.ns()))
            }
            ExecutionModel::Discrete(values) => {
                let random = self.random.as_mut().expect("a drawing task has a stream");
                let total: u64 = values.iter().map(|&(_, weight)| weight).sum();
                let mut left = random.below(total);
                for &(value, weight) in values {
                    if left < weight {
                        return value;
                    }
                    left -= weight;
                }
                unreachable!("the draw is below the sum of the weights")
            }
            ExecutionModel::List(values) => {
                values[((seq - self.first) % values.len() as u64) as usize]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_separations_have_the_mean_and_the_cut() {
        let mut task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(10));
        let (mean, max) = (Duration::from_ms(4), Duration::from_ms(40));
        task.behaviour = Behaviour::Sporadic(Separation::Exponential { mean, max });
        let mut stream = Stream::new(TaskId(0), &vec![task].into(), 1);
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
