//! A run that misses, with what is needed to describe, show and simulate it again.

use layland_model::{Duration, System, Time};
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate};
use layland_trace::{Job, JobEnd, JobRecord, Recorder, Trace, Window};

/// The origin of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Every job executes for its WCET, and no task waits for longer than it must.
    Densest,
    /// Separations and jitter were drawn from this seed.
    Drawn(u64),
    /// The search of all states.
    States,
    /// The search over first arrivals.
    Phases,
}

impl Origin {
    /// Returns the origin in one word.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Densest => "densest",
            Origin::Drawn(_) => "drawn",
            Origin::States => "states",
            Origin::Phases => "phases",
        }
    }

    /// Returns the seed, if the run was drawn.
    pub fn seed(self) -> Option<u64> {
        match self {
            Origin::Drawn(seed) => Some(seed),
            Origin::Densest | Origin::States | Origin::Phases => None,
        }
    }
}

/// A run with a job that misses its deadline.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The job.
    pub record: JobRecord,
    /// The origin of the run.
    pub origin: Origin,
    /// The set with the releases of the run.
    pub run: System,
    /// The time at which the simulation ended.
    pub over: Time,
}

impl Witness {
    /// Describes the run in a sentence without a full stop.
    pub fn describe(&self, system: &System) -> String {
        let Job { id, arrival, deadline, .. } = self.record.job;
        let run = match self.origin {
            Origin::Densest => "in the densest run".to_owned(),
            Origin::Drawn(seed) => format!("in a run that is drawn from seed {seed}"),
            Origin::States => "in a run that a search of all states finds".to_owned(),
            Origin::Phases => {
                let first = self.run.tasks.values().map(|task| format!("{:#}", task.offset));
                let mut first: Vec<String> = first.collect();
                match (first.len(), first.pop()) {
                    (2..=8, Some(last)) => {
                        let first = first.join(", ");
                        format!("in the periodic run with the offsets {first} and {last},")
                    }
                    _ => "in a periodic run with offsets that were searched for".to_owned(),
                }
            }
        };
        let end = match self.record.end {
            Some((at, JobEnd::Completed)) => format!("completes at {at:#}"),
            Some((at, JobEnd::Aborted | JobEnd::Left)) => format!("is aborted at {at:#}"),
            None => format!("is pending at {:#}", self.over),
        };
        let name = &system.tasks[id.task].name;
        // Count jobs from 1, as charts do.
        let number = id.number();
        format!(
            "{run} job {number} of `{name}` arrives at {arrival:#}, is due at {deadline:#}, and {end}"
        )
    }

    /// Returns the time from which a report shows the run, which can be long before the miss.
    pub fn shown_from(&self) -> Time {
        let longest = self.run.tasks.values().map(|task| task.period.max(task.deadline)).max();
        let before = longest.unwrap_or_default().checked_mul(10).unwrap_or(Duration::MAX);
        Time::ZERO.max(self.record.job.deadline - before)
    }

    /// Returns the schedule from this time on.
    pub fn trace(&self, policy: Box<dyn Policy>, from: Time) -> Option<Trace> {
        let mut window = Window::new(from, self.over);
        simulate(&self.run, policy, &mut window, &self.options()).ok()?;
        Some(window.trace)
    }

    /// Returns the jobs of the run, up to its end.
    pub fn jobs(&self, policy: Box<dyn Policy>) -> Option<Vec<Job>> {
        let mut released = Released::default();
        simulate(&self.run, policy, &mut released, &self.options()).ok()?;
        released.0.sort_by_key(|job| (job.arrival, job.id.task, job.id.seq));
        Some(released.0)
    }

    fn options(&self) -> SimOptions<'static> {
        SimOptions { seed: self.origin.seed().unwrap_or(0), ..SimOptions::until(self.over) }
    }
}

#[derive(Default)]
struct Released(Vec<Job>);

impl Recorder for Released {
    fn released(&mut self, job: &Job) {
        self.0.push(*job);
    }
}
