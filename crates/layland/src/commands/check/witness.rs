//! A run that misses, where no test says *no*: a deadline that the policy misses in one legal run is not guaranteed.
//!
//! A run is legal if jobs come no sooner and execute no longer than the set says. Tried are
//!
//! 1. the densest run: every job executes for its WCET, and no task waits for longer than it must;
//! 2. runs in which separations and jitter are drawn, every job for its WCET.
//!
//! **Necessary**: a miss is a *no*; no miss says nothing. Ties are broken as the policy breaks them. Sets with several
//! criticality levels are left out: there the run itself decides which jobs have to meet their deadlines.

use crate::commands::simulate::arrivals;
use layland_model::{Behaviour, Duration, ExecutionModel, Service, System, Time};
use layland_policy::Registry;
use layland_sim::{SimOptions, simulate};
use layland_trace::{Job, JobEnd, JobRecord, Recorder};
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of what decides.
pub(crate) const NAME: &str = "WITNESS";
pub(crate) const TITLE: &str = "a run in which the policy misses a deadline";

/// So many runs are drawn.
const DRAWN: u64 = 4;

/// A job that misses its deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Witness {
    pub record: JobRecord,
    /// What the run was drawn from; none for the densest one.
    pub seed: Option<u64>,
    /// When the run was over.
    pub over: Time,
}

impl Witness {
    /// In a sentence without a full stop.
    pub(super) fn describe(&self, system: &System) -> String {
        let Job { id, arrival, deadline, .. } = self.record.job;
        let run = self.seed.map_or("in the densest run".to_owned(), |seed| {
            format!("in a run that is drawn from seed {seed}")
        });
        let end = match self.record.end {
            Some((at, JobEnd::Completed)) => format!("completes at {at:#}"),
            Some((at, JobEnd::Aborted | JobEnd::Left)) => format!("is given up at {at:#}"),
            None => format!("is pending at {:#}", self.over),
        };
        let name = &system.tasks[id.task].name;
        // People count from 1, as charts do.
        let number = id.seq.saturating_add(1);
        format!(
            "{run} `{name}`, job {number}, arrives at {arrival:#}, is due at {deadline:#}, and {end}"
        )
    }
}

/// Searches runs of up to so many jobs in all.
pub(super) fn search(
    registry: &Registry,
    spec: &str,
    system: &System,
    jobs: u64,
) -> Option<Witness> {
    if system.levels.is_mixed() || jobs == 0 {
        return None;
    }
    let is_drawn = system.tasks.values().any(|task| {
        task.jitter > Duration::ZERO || matches!(task.behaviour, Behaviour::Sporadic(_))
    });
    let runs = if is_drawn { 1 + DRAWN } else { 1 };
    let drawn = (1..runs).map(|seed| (at_wcet(system), Some(seed)));
    std::iter::once((densest(system), None))
        .chain(drawn)
        .find_map(|(run, seed)| misses(registry, spec, &run, seed, jobs / runs))
}

fn at_wcet(system: &System) -> System {
    let mut run = system.clone();
    run.tasks.values_mut().for_each(|task| task.execution = ExecutionModel::Wcet);
    run
}

fn densest(system: &System) -> System {
    let mut run = at_wcet(system);
    for task in run.tasks.values_mut() {
        task.jitter = Duration::ZERO;
        if let Behaviour::Sporadic(_) = task.behaviour {
            task.behaviour = Behaviour::Periodic;
        }
    }
    run
}

fn misses(
    registry: &Registry,
    spec: &str,
    run: &System,
    seed: Option<u64>,
    jobs: u64,
) -> Option<Witness> {
    let policy = registry.build(spec, run).ok()?;
    let late = AtomicBool::new(false);
    let mut first = FirstLate { late: &late, found: None };
    let options = SimOptions {
        seed: seed.unwrap_or(0),
        interrupt: Some(&late),
        ..SimOptions::until(until(run, jobs))
    };
    simulate(run, policy, &mut first, &options).ok()?;
    first.found.map(|(record, over)| Witness { record, seed, over })
}

/// The jobs of the run of a witness, as far as it went.
pub(super) fn jobs(
    registry: &Registry,
    spec: &str,
    system: &System,
    witness: &Witness,
) -> Option<Vec<Job>> {
    let run = if witness.seed.is_some() { at_wcet(system) } else { densest(system) };
    let policy = registry.build(spec, &run).ok()?;
    let mut released = Released::default();
    let options = SimOptions {
        seed: witness.seed.unwrap_or(0),
        ..SimOptions::until(witness.over.max(witness.record.job.deadline))
    };
    simulate(&run, policy, &mut released, &options).ok()?;
    released.0.sort_by_key(|job| (job.arrival, job.id.task, job.id.seq));
    Some(released.0)
}

#[derive(Default)]
struct Released(Vec<Job>);

impl Recorder for Released {
    fn released(&mut self, job: &Job) {
        self.0.push(*job);
    }
}

/// Until when at most so many jobs arrive, beside the first of each task.
fn until(system: &System, jobs: u64) -> Time {
    let most = i128::from(jobs) + system.tasks.len() as i128;
    let is_short = |end: i64| arrivals(system, Time::from_ns(end)) <= most;
    let mut end = 1i64;
    while is_short(end * 2) && end < i64::MAX / 8 {
        end *= 2;
    }
    // The largest length, bit by bit.
    let mut step = end / 2;
    while step > 0 {
        if is_short(end + step) {
            end += step;
        }
        step /= 2;
    }
    Time::from_ns(end)
}

/// Keeps the first job that is late, and ends the run.
struct FirstLate<'a> {
    late: &'a AtomicBool,
    found: Option<(JobRecord, Time)>,
}

impl FirstLate<'_> {
    fn consider(&mut self, record: JobRecord, at: Time) {
        let deadline = record.job.deadline;
        let is_first = self.found.is_none_or(|(first, _)| deadline < first.job.deadline);
        if is_first && record.missed(at) {
            self.found = Some((record, at));
            self.late.store(true, Ordering::Relaxed);
        }
    }
}

impl Recorder for FirstLate<'_> {
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        // Who leaves has nothing to meet.
        if end != JobEnd::Left {
            self.consider(JobRecord { job: *job, end: Some((at, end)), executed }, at);
        }
    }
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        self.consider(JobRecord { job: *job, end: None, executed }, at);
    }
}
