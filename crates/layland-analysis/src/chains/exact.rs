//! Exact latencies under logical execution time (Günzel et al. 2023, for periodic tasks).
//!
//! In the steady state, job `k` of a task reads at `O + k T` and writes `I` later, for all integers
//! `k`. Runs begin with a job 0. Their chains are chains of the steady state, so the values are
//! bounds for every run, and a run that lasts a hyperperiod after the warm-up reaches them.
//! **Exact** under the assumptions of [`chains`](super).
//!
//! Everything repeats after the hyperperiod `H` of the chain's tasks, so only the jobs of the first
//! and the last task within one hyperperiod need to be examined. A division finds the next job of a
//! task, without a list of jobs.

use super::{Unbounded, length, reads_at_arrival, recurs};
use layland_model::{Chain, Latency, System, Task};
use num_integer::Integer;

/// The maximum number of jobs of the first and of the last task that are examined in a hyperperiod
/// of the chain.
pub const LIMIT: i64 = 1_000_000;

/// The reads and writes of a task.
struct Instants {
    offset: i128,
    period: i128,
    interval: i128,
}

impl Instants {
    fn of(task: &Task) -> Instants {
        Instants {
            offset: task.offset.ns().into(),
            period: task.period.ns().into(),
            interval: task.write_after().ns().into(),
        }
    }
    fn read(&self, job: i128) -> i128 {
        self.offset + job * self.period
    }
    fn write(&self, job: i128) -> i128 {
        self.read(job) + self.interval
    }
    /// Returns the first job that reads at `at` or later. A read sees a write at the same instant.
    fn first_reader(&self, at: i128) -> i128 {
        Integer::div_ceil(&(at - self.offset), &self.period)
    }
    /// Returns the last job that has written at `at` or before.
    fn last_writer(&self, at: i128) -> i128 {
        Integer::div_floor(&(at - self.offset - self.interval), &self.period)
    }
}

/// The exact latencies of a chain of a valid system under logical execution time. Reaction time and
/// data age are equal; the reduced forms differ.
///
/// ```
/// use layland_analysis::chains::let_exact;
/// use layland_model::{Chain, Communication, Duration, Service, System, Task, TaskId};
/// let task = |name, t| Task::implicit(name, Service::from_ms(1), Duration::from_ms(t));
/// let system = System::new(1, vec![task("camera", 10), task("brake", 15)]);
/// let chain = Chain::new("stop", [0, 1].map(TaskId), Communication::Let);
/// let latency = let_exact(&system, &chain).unwrap();
/// assert_eq!(latency.reaction, Some(Duration::from_ms(45)));
/// assert_eq!(latency.reduced_age, Some(Duration::from_ms(30)));
/// ```
///
/// # Errors
/// Returns [`Unbounded`] if the set breaks an assumption, or a hyperperiod has more than [`LIMIT`]
/// jobs.
pub fn let_exact(system: &System, chain: &Chain) -> Result<Latency, Unbounded> {
    recurs(system, chain)?;
    reads_at_arrival(system, chain)?;
    let tasks: Vec<Instants> =
        chain.tasks.iter().map(|&id| Instants::of(&system.tasks[id])).collect();
    let [first, .., last] = &tasks[..] else {
        let [only] = &tasks[..] else { return Ok(Latency::default()) };
        let (own, next) = (length(only.interval)?, length(only.interval + only.period)?);
        let (full, reduced) = (Some(next), Some(own));
        return Ok(Latency {
            reaction: full,
            age: full,
            reduced_reaction: reduced,
            reduced_age: reduced,
        });
    };
    let hyperperiod = tasks.iter().try_fold(1i128, |all, task| {
        let next = (all / all.gcd(&task.period)).checked_mul(task.period)?;
        (next / first.period.max(last.period) <= LIMIT.into()).then_some(next)
    });
    let hyperperiod = hyperperiod.ok_or(Unbounded::ManyJobs)?;
    let (firsts, lasts) = (hyperperiod / first.period, hyperperiod / last.period);
    if firsts + lasts > LIMIT.into() {
        return Err(Unbounded::ManyJobs);
    }
    let answer = |job: i128| {
        let mut written = first.write(job);
        for task in &tasks[1..] {
            written = task.write(task.first_reader(written));
        }
        written
    };
    let source = |job: i128| {
        let mut read = last.read(job);
        for task in tasks[..tasks.len() - 1].iter().rev() {
            read = task.read(task.last_writer(read));
        }
        read
    };
    let (mut reaction, mut reduced_reaction) = (0, 0);
    let mut answered = answer(0);
    for job in 0..firsts {
        let next = answer(job + 1);
        reduced_reaction = reduced_reaction.max(answered - first.read(job));
        reaction = reaction.max(next - first.read(job));
        answered = next;
    }
    let (mut age, mut reduced_age) = (0, 0);
    for job in 0..lasts {
        let from = source(job);
        age = age.max(last.write(job + 1) - from);
        reduced_age = reduced_age.max(last.write(job) - from);
    }
    Ok(Latency {
        reaction: Some(length(reaction)?),
        reduced_reaction: Some(length(reduced_reaction)?),
        age: Some(length(age)?),
        reduced_age: Some(length(reduced_age)?),
    })
}
