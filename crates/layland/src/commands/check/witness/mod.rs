//! Where no test decides: a run in which the policy misses a deadline, or the proof that there is none.
//!
//! A verdict is about every run that the parameters of the tasks allow: jobs at least a period apart that execute for
//! up to their WCETs. A deadline that the policy misses in one of them is not guaranteed. Tried are, in this order,
//!
//! 1. the densest run: every job executes for its WCET, and no task waits for longer than it must;
//! 2. runs in which separations and jitter are drawn, every job for its WCET;
//! 3. every state that the tasks can reach, if they are few ([`states`]): that ends with a pattern of releases that
//!    misses, with the proof that there is none, or for want of effort;
//! 4. runs with the first arrivals that hurt one task most, and what chance finds near to them (`phases.rs`);
//! 5. where every release is known, because all tasks are periodic and have offsets, the schedule up to its recurrence
//!    (`cycle.rs`).
//!
//! The third and the fourth choose releases freely, so that they leave out sets in which offsets, given releases or
//! jitter say more. What they find is simulated: a miss is one of the policy itself. Ties are broken as the policy
//! breaks them. Sets with several criticality levels are left out: there the run itself decides which jobs have to
//! meet their deadlines.

mod cycle;
mod limited;
mod phases;
#[cfg(test)]
mod tests;

use crate::ui::jobs::arrivals;
use layland_analysis::may_become_ready_together;
use layland_guarantee::states::{self, Arrival, Explored, Outcome};
use layland_model::{
    Algorithm, Behaviour, CurveArrivals, Duration, ExecutionModel, Service, System, Task, TaskMap,
    Time, counted,
};
use layland_policy::{Policy, Registry};
use layland_sim::{Horizon, SimOptions, simulate};
use layland_trace::{Job, JobEnd, JobRecord, Recorder, Trace, Window};
pub(super) use limited::Decisions;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of what decides.
pub(crate) const NAME: &str = "WITNESS";
pub(crate) const TITLE: &str = "a run in which the policy misses a deadline";
/// The name of the proof that there is none.
pub(crate) const STATES: &str = "STATES";
pub(crate) const STATES_TITLE: &str = "every state that sporadic tasks can reach, on ticks";

/// The name of a schedule that is followed to its recurrence.
pub(crate) const CYCLE: &str = "CYCLE";
pub(crate) const CYCLE_TITLE: &str =
    "the schedule of periodic tasks with these offsets, up to its recurrence";

/// So many runs are drawn.
const DRAWN: u64 = 4;
/// In slots a job takes so many times as long: each is a decision.
const SLOTS: u64 = 64;

/// Where a run comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Densest,
    /// From this seed.
    Drawn(u64),
    /// The search of all states.
    States,
    /// First arrivals that were searched for.
    Phases,
}

impl Origin {
    pub(super) fn name(self) -> &'static str {
        match self {
            Origin::Densest => "densest",
            Origin::Drawn(_) => "drawn",
            Origin::States => "states",
            Origin::Phases => "phases",
        }
    }

    pub(super) fn seed(self) -> Option<u64> {
        match self {
            Origin::Drawn(seed) => Some(seed),
            Origin::Densest | Origin::States | Origin::Phases => None,
        }
    }
}

/// A run with a job that misses its deadline.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    pub record: JobRecord,
    pub origin: Origin,
    /// The set with the releases of the run.
    pub run: System,
    /// When the run was over.
    pub over: Time,
}

impl Witness {
    /// In a sentence without a full stop.
    pub(super) fn describe(&self, system: &System) -> String {
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
            Some((at, JobEnd::Aborted | JobEnd::Left)) => format!("is given up at {at:#}"),
            None => format!("is pending at {:#}", self.over),
        };
        let name = &system.tasks[id.task].name;
        // People count from 1, as charts do.
        let number = id.seq.saturating_add(1);
        format!(
            "{run} job {number} of `{name}` arrives at {arrival:#}, is due at {deadline:#}, and {end}"
        )
    }

    /// From when on a report shows the run, which can be long before it misses.
    pub(super) fn shown_from(&self) -> Time {
        let longest = self.run.tasks.values().map(|task| task.period.max(task.deadline)).max();
        let before = longest.unwrap_or_default().checked_mul(10).unwrap_or(Duration::MAX);
        Time::ZERO.max(self.record.job.deadline - before)
    }

    /// The schedule from some time on.
    pub(super) fn trace(&self, policy: Box<dyn Policy>, from: Time) -> Option<Trace> {
        let mut window = Window::new(from, self.over);
        simulate(&self.run, policy, &mut window, &self.options()).ok()?;
        Some(window.trace)
    }

    /// The jobs of the run, as far as it went.
    pub(super) fn jobs(&self, policy: Box<dyn Policy>) -> Option<Vec<Job>> {
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

/// What a search found.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Misses(Box<Witness>),
    /// No job is late: the longest responses, why that holds, and what shows it.
    Meets(TaskMap<Duration>, String, &'static str),
    /// Nothing that decides, and what else there is to say.
    Nothing(Option<String>),
}

/// What is searched.
pub(super) struct Search<'a> {
    pub registry: &'a Registry,
    pub spec: &'a str,
    pub system: &'a System,
    /// So many jobs may be simulated, and as many states looked at.
    pub effort: u64,
    /// So often the policy may decide in all of these runs.
    pub decisions: Decisions,
    /// All that arrivals are multiples of, if the user says so.
    pub tick: Option<Duration>,
}

impl Search<'_> {
    pub(super) fn run(&self) -> Found {
        match self.looked() {
            Found::Nothing(told) => Found::Nothing(self.decisions.ended().or(told)),
            found @ (Found::Misses(_) | Found::Meets(..)) => found,
        }
    }

    fn looked(&self) -> Found {
        let Search { system, .. } = *self;
        let in_slots = self.is_in_slots();
        let effort = if in_slots { self.effort / SLOTS } else { self.effort };
        if system.levels.is_mixed() || effort == 0 {
            return Found::Nothing(None);
        }
        let is_drawn = system.tasks.values().any(|task| {
            task.jitter > Duration::ZERO
                || matches!(task.behaviour, Behaviour::Sporadic(_))
                || task.curve_arrivals().is_some_and(|arrivals| arrivals.extra.is_some())
        });
        // What is drawn is at any nanosecond.
        let runs = if is_drawn && self.tick.is_none() { 1 + DRAWN } else { 1 };
        let drawn = (1..runs).map(|seed| (at_wcet(system), Origin::Drawn(seed)));
        let early = std::iter::once((densest(system), Origin::Densest))
            .chain(drawn)
            .filter(|(run, _)| self.is_on_ticks(run))
            .find_map(|(run, origin)| self.misses(run, origin, effort / runs));
        if let Some(witness) = early {
            return Found::Misses(Box::new(witness));
        }
        // Offsets of any nanosecond are no fair question to a policy that expects jobs at the beginnings of slots, or
        // whose budgets are whole on a grid of the offsets that the set has.
        if in_slots || self.is_on_a_grid() {
            return Found::Nothing(None);
        }
        if !releases_are_free(system) {
            return self.cycle();
        }
        let (found, told) = self.every_state();
        match found {
            Some(found) => found,
            None if !self.is_on_ticks(&densest(system)) => Found::Nothing(told),
            None => match phases::search(self) {
                Some(witness) => Found::Misses(Box::new(witness)),
                None => Found::Nothing(told),
            },
        }
    }

    fn is_in_slots(&self) -> bool {
        matches!(self.algorithm(), Some(Algorithm::Pd2 | Algorithm::ErPd2))
    }

    fn is_on_a_grid(&self) -> bool {
        match self.algorithm() {
            Some(
                Algorithm::Run
                | Algorithm::Qps
                | Algorithm::DpWrap
                | Algorithm::LreTl
                | Algorithm::UEdf,
            ) => true,
            Some(_) | None => false,
        }
    }

    fn algorithm(&self) -> Option<Algorithm> {
        let (info, options) = self.registry.parse(self.spec).ok()?;
        Some(info.algorithm(&options))
    }

    /// What a search of all states finds, if it ends; or else what there is to say of it.
    fn every_state(&self) -> (Option<Found>, Option<String>) {
        let limit = usize::try_from(self.effort).unwrap_or(usize::MAX);
        let Ok(policy) = self.registry.build(self.spec, self.system) else { return (None, None) };
        let explored = states::explore(self.system, &*policy, self.tick, limit);
        let Ok(Explored { outcome, states, tick }) = explored else { return (None, None) };
        let many = || counted(states, "state");
        match outcome {
            Outcome::GaveUp => (None, None),
            Outcome::Misses { arrivals, .. } => {
                let (run, end) = with_arrivals(self.system, &arrivals, self.origin());
                let found = self.late(run, Origin::States, end);
                (found.map(|witness| Found::Misses(Box::new(witness))), None)
            }
            Outcome::Meets { responses } => {
                // Nothing lies between two nanoseconds.
                if self.tick.is_some() || tick == Duration::from_ns(1) {
                    let why = format!(
                        "no job that arrives at a whole multiple of {tick:#} is late: {}",
                        many()
                    );
                    return (Some(Found::Meets(responses, why, STATES)), None);
                }
                let told = format!(
                    "no job is late as long as jobs arrive at whole multiples of {tick:#} ({}): --tick {tick} takes \
                     that as given",
                    many()
                );
                (None, Some(told))
            }
        }
    }

    /// The first time from which on every task may release, at a tick if there are some.
    fn origin(&self) -> Duration {
        let offset = self.system.tasks.values().map(|task| task.offset).max().unwrap_or_default();
        match self.tick {
            None => offset,
            Some(tick) => Duration::from_ns((offset.ns() + tick.ns() - 1) / tick.ns() * tick.ns()),
        }
    }

    /// Whether the jobs of a run arrive at ticks, if there are some.
    fn is_on_ticks(&self, run: &System) -> bool {
        let Some(tick) = self.tick else { return true };
        let is_whole = |length: Duration| length.ns() % tick.ns() == 0;
        run.tasks.values().all(|task| is_whole(task.period) && is_whole(task.offset))
    }

    /// The first job of a run that is late, among so many.
    fn misses(&self, run: System, origin: Origin, jobs: u64) -> Option<Witness> {
        let end = until(&run, jobs);
        match self.repeats_in_time(&run, end) {
            true => None,
            false => self.late(run, origin, end),
        }
    }

    /// Whether the run repeats itself well before this time, and no job was late until then: then none ever is.
    fn repeats_in_time(&self, run: &System, end: Time) -> bool {
        // A run that does not is simulated again from its beginning. That must not take much longer.
        let at_most = Time::from_ns(end.ns() / 4);
        if run.hyperperiod().is_none_or(|length| Time::ZERO + length > at_most) {
            return false;
        }
        let Ok(policy) = self.registry.build(self.spec, self.system) else { return false };
        let late = Arc::new(AtomicBool::new(false));
        let policy = self.decisions.limit(policy, &late);
        let mut first = FirstLate { late: &late, found: None };
        let options = SimOptions {
            horizon: Horizon::Recurrence { at_most },
            interrupt: Some(&late),
            ..SimOptions::until(end)
        };
        // What is drawn does not repeat itself, and is refused.
        let outcome = simulate(run, policy, &mut first, &options);
        outcome.is_ok_and(|outcome| outcome.cycle.is_some()) && first.found.is_none()
    }

    fn late(&self, run: System, origin: Origin, end: Time) -> Option<Witness> {
        let late = Arc::new(AtomicBool::new(false));
        let mut first = FirstLate { late: &late, found: None };
        self.simulate(&run, origin, end, &late, &mut first)?;
        first.found.map(|(record, over)| Witness { record, origin, run, over })
    }

    /// Simulates a run of the set under the policy, which knows of the set alone.
    fn simulate(
        &self,
        run: &System,
        origin: Origin,
        end: Time,
        interrupt: &Arc<AtomicBool>,
        recorder: &mut impl Recorder,
    ) -> Option<()> {
        let policy = self.registry.build(self.spec, self.system).ok()?;
        let policy = self.decisions.limit(policy, interrupt);
        let options = SimOptions {
            seed: origin.seed().unwrap_or(0),
            interrupt: Some(interrupt),
            ..SimOptions::until(end)
        };
        simulate(run, policy, recorder, &options).ok().map(|_| ())
    }
}

/// Whether jobs may come at any distance from those of other tasks, as far as the set says.
fn releases_are_free(system: &System) -> bool {
    let is_free = |task: &Task| {
        task.jitter == Duration::ZERO
            && matches!(task.behaviour, Behaviour::Periodic | Behaviour::Sporadic(_))
    };
    system.requests.is_empty()
        && system.tasks.values().all(is_free)
        && !system.has_followers()
        && may_become_ready_together(system.tasks.values())
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
        match &task.behaviour {
            Behaviour::Sporadic(_) => task.behaviour = Behaviour::Periodic,
            Behaviour::Curve(arrivals) => {
                let densest = CurveArrivals { extra: None, ..(**arrivals).clone() };
                task.behaviour = Behaviour::Curve(Arc::new(densest));
            }
            Behaviour::Periodic
            | Behaviour::Explicit(_)
            | Behaviour::Hog
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => {}
        }
    }
    run
}

/// The set with these jobs, counted from `origin`, and no others, and when all of them are due.
fn with_arrivals(system: &System, arrivals: &[Arrival], origin: Duration) -> (System, Time) {
    let mut run = at_wcet(system);
    let comes = |arrival: &Arrival| arrival.at.saturating_add(origin);
    let due =
        |arrival: &Arrival| comes(arrival).saturating_add(system.tasks[arrival.task].deadline);
    let end = arrivals.iter().map(due).max().unwrap_or(Time::ZERO);
    for id in system.tasks.ids() {
        let task = &mut run.tasks[id];
        let own = arrivals.iter().filter(|arrival| arrival.task == id).map(comes);
        let own: Vec<Time> = own.collect();
        if own.is_empty() {
            // A task without jobs is one that comes after the end.
            task.behaviour = Behaviour::Periodic;
            task.offset = end.since_start() + task.period;
        } else {
            task.jobs = Some(own.len() as u64);
            task.behaviour = Behaviour::Explicit(own);
        }
    }
    (run, end)
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
