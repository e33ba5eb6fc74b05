//! A search for a run in which the policy misses a deadline, or for the proof that there is none,
//! where no test decides.
//!
//! A verdict is about every run that the parameters of the tasks allow: jobs at least a period
//! apart that execute for up to their WCETs. A deadline that the policy misses in one of them is
//! not guaranteed. The search tries, in this order,
//!
//! 1. the densest run: every job executes for its WCET, and no task waits for longer than it must;
//! 2. runs with randomly drawn separations and jitter, in which every job executes for its WCET;
//! 3. every state that the tasks can reach, if they are few ([`states`]): this ends with a pattern
//!    of releases that misses, with the proof that there is none, or when the effort is used up;
//! 4. runs with the first arrivals that delay one task most, and random changes of them
//!    (`phases.rs`);
//! 5. where every release is known, because all tasks are periodic and have offsets, the schedule
//!    up to its recurrence (`cycle.rs`).
//!
//! The third and the fourth choose releases freely, so they leave out sets in which offsets, given
//! releases or jitter restrict them. Their results are simulated, so that each miss is one of the
//! policy itself. Ties are broken as the policy breaks them. Sets with several criticality levels
//! are left out: there the run itself decides which jobs have to meet their deadlines.

mod cycle;
mod limited;
pub mod misses;
mod phases;
pub mod states;
#[cfg(test)]
mod tests;
mod witness;

use crate::assessment::{Assessment, Bound};
use crate::options::AssessOptions;
use layland_analysis::{TestKind, Verdict, may_become_ready_together};
use layland_model::{
    Algorithm, Behaviour, CurveArrivals, Duration, ExecutionModel, Service, System, Task, TaskMap,
    Time, counted,
};
use layland_policy::Registry;
use layland_sim::{Horizon, SimOptions, simulate};
use layland_trace::{Job, JobEnd, JobRecord, Recorder};
use limited::Decisions;
use states::{Arrival, Explored, Outcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
pub use witness::{Origin, Witness};

/// The name of a run that misses, as the decider of a verdict.
pub const WITNESS: &str = "WITNESS";
/// The title of [`WITNESS`].
pub const WITNESS_TITLE: &str = "a run in which the policy misses a deadline";
/// The name of the proof that no run misses.
pub const STATES: &str = "STATES";
/// The title of [`STATES`].
pub const STATES_TITLE: &str = "every state that sporadic tasks can reach, on ticks";

/// The name of a schedule that is simulated up to its recurrence.
pub const CYCLE: &str = "CYCLE";
/// The title of [`CYCLE`].
pub const CYCLE_TITLE: &str =
    "the schedule of periodic tasks with these offsets, up to its recurrence";

/// The number of runs that are drawn.
const DRAWN: u64 = 4;
/// The factor by which a job costs more under a policy that decides in slots.
const SLOTS: u64 = 64;

/// The result of a search.
#[derive(Clone, Debug)]
enum Found {
    Misses(Box<Witness>),
    /// No job is late: the longest responses, the reason, and the name of the method.
    Meets(TaskMap<Duration>, String, &'static str),
    /// No decision, with a remark if there is one.
    Nothing(Option<String>),
}

/// The subject and the limits of a search.
struct Search<'a> {
    pub registry: &'a Registry,
    pub spec: &'a str,
    pub system: &'a System,
    /// The limit on simulated jobs, and on states.
    pub effort: u64,
    /// The limit on decisions of the policy in all runs.
    pub decisions: Decisions,
    /// The length of which all arrivals are multiples, if the user states one.
    pub tick: Option<Duration>,
}

impl Search<'_> {
    fn run(&self) -> Found {
        match self.looked() {
            Found::Nothing(told) => Found::Nothing(self.decisions.ended().or(told)),
            found @ (Found::Misses(_) | Found::Meets(..)) => found,
        }
    }

    fn looked(&self) -> Found {
        let Search { system, .. } = *self;
        let algorithm = self.algorithm();
        let in_slots = algorithm.is_some_and(Algorithm::in_slots);
        let effort = if in_slots { self.effort / SLOTS } else { self.effort };
        if system.levels.is_mixed() || effort == 0 {
            return Found::Nothing(None);
        }
        let is_drawn = system.tasks.values().any(|task| {
            task.jitter > Duration::ZERO
                || matches!(task.behaviour, Behaviour::Sporadic(_))
                || task.curve_arrivals().is_some_and(|arrivals| arrivals.extra.is_some())
        });
        // Random releases can be at any nanosecond, not only at ticks.
        let runs = if is_drawn && self.tick.is_none() { 1 + DRAWN } else { 1 };
        let drawn = (1..runs).map(|seed| (at_wcet(system), Origin::Drawn(seed)));
        let early = std::iter::once((densest(system), Origin::Densest))
            .chain(drawn)
            .filter(|(run, _)| self.is_on_ticks(run))
            .find_map(|(run, origin)| self.misses(run, origin, effort / runs));
        if let Some(witness) = early {
            return Found::Misses(Box::new(witness));
        }
        // Arbitrary offsets are not a fair test for a policy that expects jobs at the beginnings of
        // slots, or whose budgets are whole on a grid of the offsets that the set has.
        if in_slots || algorithm.is_some_and(Algorithm::is_on_a_grid) {
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

    fn algorithm(&self) -> Option<Algorithm> {
        let (info, options) = self.registry.parse(self.spec).ok()?;
        Some(info.algorithm(&options))
    }

    /// Returns the result of a search of all states, if it ends; otherwise a remark.
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
                // No arrival lies between two nanoseconds, so a tick of 1 ns covers all arrivals.
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

    /// Returns the earliest time from which every task may release, rounded up to a tick if there
    /// is one.
    fn origin(&self) -> Duration {
        let offset = self.system.tasks.values().map(|task| task.offset).max().unwrap_or_default();
        match self.tick {
            None => offset,
            Some(tick) => Duration::from_ns((offset.ns() + tick.ns() - 1) / tick.ns() * tick.ns()),
        }
    }

    /// Returns true if the jobs of a run arrive at ticks, or if there is no tick.
    fn is_on_ticks(&self, run: &System) -> bool {
        let Some(tick) = self.tick else { return true };
        let is_whole = |length: Duration| length.ns() % tick.ns() == 0;
        run.tasks.values().all(|task| is_whole(task.period) && is_whole(task.offset))
    }

    /// Returns the run with its first late job, if one of this many jobs is late.
    fn misses(&self, run: System, origin: Origin, jobs: u64) -> Option<Witness> {
        let end = until(&run, jobs);
        if self.repeats_in_time(&run, end) { None } else { self.late(run, origin, end) }
    }

    /// Returns true if the run repeats well before this time without a late job: then no job ever
    /// is late.
    fn repeats_in_time(&self, run: &System, end: Time) -> bool {
        // A run that does not repeat is simulated again from its beginning, so limit the extra
        // time.
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
        // A run with random releases does not repeat; the simulator refuses it.
        let outcome = simulate(run, policy, &mut first, &options);
        outcome.is_ok_and(|outcome| outcome.cycle.is_some()) && first.found.is_none()
    }

    fn late(&self, run: System, origin: Origin, end: Time) -> Option<Witness> {
        let late = Arc::new(AtomicBool::new(false));
        let mut first = FirstLate { late: &late, found: None };
        self.simulate(&run, origin, end, &late, &mut first)?;
        first.found.map(|(record, over)| Witness { record, origin, run, over })
    }

    /// Simulates a run of the set under the policy, which is built for the set and does not know
    /// the run.
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

/// Where no test decides, searches for a run that misses or for the proof that there is none, and
/// enters the result in the assessment.
pub(crate) fn decide(
    registry: &Registry,
    options: &AssessOptions,
    system: &System,
    found: &mut Assessment,
) {
    // A user who names tests wants only those. The search is about runs of the set, so it says
    // nothing if the set does not explain its trace.
    let is_open = found.verdict == Verdict::Unknown
        && found.refused.is_none()
        && system.unexplained().is_empty()
        && options.tests.is_empty();
    let effort = options.effort.jobs(system);
    if !is_open || effort == 0 {
        return;
    }
    let decisions = Decisions::of(effort);
    let tick = options.tick;
    let search = Search { registry, spec: &found.spec, system, effort, decisions, tick };
    match search.run() {
        Found::Misses(witness) => {
            (found.verdict, found.decided_by) = (Verdict::No, Some(WITNESS));
            found.reasons = vec![witness.describe(system)];
            found.witness = Some(witness);
        }
        Found::Meets(responses, why, by) => {
            (found.verdict, found.decided_by) = (Verdict::Yes, Some(by));
            found.reasons = vec![why];
            // The margin is computed by the tests, which do not decide here.
            found.margin = None;
            for (bound, &within) in found.bounds.values_mut().zip(responses.values()) {
                let (kind, per_level) = (TestKind::Exact, Vec::new());
                *bound = Bound::Response { within, by, kind, per_level };
            }
        }
        Found::Nothing(told) => found.reasons.extend(told),
    }
}

/// Returns true if the set allows jobs at any distance from those of other tasks.
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

/// Returns the set with only these jobs, counted from `origin`, and the time by which all of them
/// are due.
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
            // A task without jobs in this run arrives first after the end.
            task.behaviour = Behaviour::Periodic;
            task.offset = end.since_start() + task.period;
        } else {
            task.jobs = Some(own.len() as u64);
            task.behaviour = Behaviour::Explicit(own);
        }
    }
    (run, end)
}

/// Returns the end of a run with at most this many jobs, beside the first of each task.
fn until(system: &System, jobs: u64) -> Time {
    let most = i128::from(jobs) + system.tasks.len() as i128;
    let is_short = |end: i64| system.arrivals(Time::from_ns(end)) <= most;
    let mut end = 1i64;
    while is_short(end * 2) && end < i64::MAX / 8 {
        end *= 2;
    }
    // Find the largest length, bit by bit.
    let mut step = end / 2;
    while step > 0 {
        if is_short(end + step) {
            end += step;
        }
        step /= 2;
    }
    Time::from_ns(end)
}

/// Records the first late job, and ends the run.
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
        // The jobs of tasks that leave have no deadline to meet.
        if end != JobEnd::Left {
            self.consider(JobRecord { job: *job, end: Some((at, end)), executed }, at);
        }
    }
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        self.consider(JobRecord { job: *job, end: None, executed }, at);
    }
}
