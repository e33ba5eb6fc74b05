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
//!
//! Long because the order of all these searches, and the words of each answer, are here.

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
use layland_policy::{Policy, Registry};
use layland_sim::{Horizon, SimOptions, simulate};
use layland_trace::{Job, JobEnd, JobRecord, Recorder};
use limited::Decisions;
use states::{Arrival, ArrivalGrid, Explored, Extent, Outcome, Response, TakenJobs};
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

/// The name of the proof that no run of a set with larger WCETs misses.
pub const INFLATED: &str = "INFLATED";
/// The title of [`INFLATED`].
pub const INFLATED_TITLE: &str = "every state on ticks, with WCETs that are a tick longer";

/// The name of a schedule that is simulated up to its recurrence.
pub const CYCLE: &str = "CYCLE";
/// The title of [`CYCLE`].
pub const CYCLE_TITLE: &str =
    "the schedule of periodic tasks with these offsets, up to its recurrence";

/// The number of runs that are drawn.
const DRAWN: u64 = 4;
/// The limit on states of a search for exact responses, after one for late jobs: it keeps more states
/// and takes several times as long.
const RESPONSES: usize = 20_000;
/// The factor by which a job costs more under a policy that decides in slots.
const SLOTS: u64 = 64;

/// The result of a search.
#[derive(Clone, Debug)]
enum Found {
    Misses(Box<Witness>),
    /// No job is late: bounds on the responses, the reason, and the name of the method.
    Meets(TaskMap<Response>, String, &'static str),
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
        let explored = |grid, states, wants_responses| {
            let extent = Extent { jobs: TakenJobs::Own, grid, states, wants_responses };
            states::explore(self.system, &*policy, extent).ok()
        };
        if let Some(tick) = self.tick {
            let grid = ArrivalGrid::Tick(tick);
            let Some(found) = explored(grid, limit, false) else { return (None, None) };
            return match &found.outcome {
                Outcome::GaveUp => (None, None),
                Outcome::Misses { arrivals, .. } => (self.late_with(arrivals), None),
                Outcome::Meets { .. } => {
                    let precise = explored(grid, limit.min(RESPONSES), true);
                    (Some(meets(&found, precise.as_ref())), None)
                }
            };
        }
        // A miss between whole times is one as well. Each search gets its share of the states.
        let unit = states::unit(self.system).ns();
        let mut told = None;
        for (division, share) in [(1, 2), (2, 4), (3, 8), (4, 8)] {
            let grid = ArrivalGrid::Unit(division);
            // No arrival lies between two nanoseconds.
            if unit < i64::from(division) {
                break;
            }
            let Some(found) = explored(grid, limit / share, false) else { return (None, told) };
            match &found.outcome {
                Outcome::GaveUp => {}
                Outcome::Misses { arrivals, .. } => {
                    if let Some(late) = self.late_with(arrivals) {
                        return (Some(late), None);
                    }
                }
                Outcome::Meets { .. } if found.is_dense || unit == i64::from(division) => {
                    let precise = explored(grid, limit.min(RESPONSES), true);
                    return (Some(meets(&found, precise.as_ref())), None);
                }
                // Thirds of the unit are seldom whole nanoseconds, which `--tick` could name; and they
                // say nothing about halves.
                Outcome::Meets { .. } if division != 3 && unit % i64::from(division) == 0 => {
                    told = Some(vouch(&found));
                }
                Outcome::Meets { .. } => {}
            }
        }
        (self.inflated(&*policy, limit / 2), told)
    }

    /// Returns the proof for all arrivals by a search of the set with WCETs that are a tick longer, if
    /// there is one for a tick that the limit allows.
    fn inflated(&self, policy: &dyn Policy, mut limit: usize) -> Option<Found> {
        let unit = states::unit_of_windows(self.system).ns();
        // The finer the tick, the less is added, and the more states there are.
        for tick in
            [1, 2, 4, 8].into_iter().filter(|parts| unit % parts == 0).map(|parts| unit / parts)
        {
            let grid = ArrivalGrid::Tick(Duration::from_ns(tick));
            let extent =
                Extent { jobs: TakenJobs::Inflated, grid, states: limit, wants_responses: false };
            // A tick that leaves some task no time may be halved.
            let Ok(found) = states::explore(self.system, policy, extent) else { continue };
            limit = limit.saturating_sub(found.states);
            match &found.outcome {
                Outcome::Meets { responses } => {
                    // In the set itself a job may complete sooner.
                    let bound = |it: &Response| Response { is_exact: false, ..*it };
                    let why = format!(
                        "no job is late, whenever it arrives: on ticks of {:#} none is, even if WCETs are rounded up \
                         and a tick longer ({})",
                        found.tick,
                        shown_by(&found)
                    );
                    return Some(Found::Meets(
                        responses.values().map(bound).collect(),
                        why,
                        INFLATED,
                    ));
                }
                Outcome::Misses { .. } => {}
                Outcome::GaveUp => return None,
            }
        }
        None
    }

    /// Returns the run with these arrivals, if a job is late in it.
    fn late_with(&self, arrivals: &[Arrival]) -> Option<Found> {
        let (run, end) = with_arrivals(self.system, arrivals, self.origin());
        let found = self.late(run, Origin::States, end);
        found.map(|witness| Found::Misses(Box::new(witness)))
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
            for (bound, &response) in found.bounds.values_mut().zip(responses.values()) {
                let Response { within, is_exact } = response;
                let kind = if is_exact { TestKind::Exact } else { TestKind::Sufficient };
                *bound = Bound::Response { within, by, kind, per_level: Vec::new() };
            }
        }
        Found::Nothing(told) => found.reasons.extend(told),
    }
    // Tests alone have looked at the set without affinities. A search might decide that, too.
    if found.verdict != Verdict::Unknown {
        found.without_affinities =
            found.without_affinities.filter(|&verdict| verdict != Verdict::Unknown);
    }
}

/// The answer of a search of all states, with the responses of one that found them exactly, if it
/// ended.
fn meets(found: &Explored, precise: Option<&Explored>) -> Found {
    let responses = |found: &Explored| match &found.outcome {
        Outcome::Meets { responses } => Some(responses.clone()),
        Outcome::Misses { .. } | Outcome::GaveUp => None,
    };
    let bounds = precise.and_then(responses).or_else(|| responses(found));
    let (shown, tick) = (shown_by(found), found.tick);
    let why = if found.is_dense {
        format!("no job is late, whenever it arrives: {shown}, and whole times suffice here")
    } else {
        // No arrival lies between two nanoseconds, so a tick of 1 ns covers all arrivals.
        format!("no job that arrives at a whole multiple of {tick:#} is late: {shown}")
    };
    Found::Meets(bounds.expect("every job is in time"), why, STATES)
}

/// The means by which a search shows that no job is late.
fn shown_by(found: &Explored) -> String {
    match found.states {
        0 => "response times on ticks show it".to_owned(),
        states => counted(states, "state"),
    }
}

/// The remark about a search that ended on ticks that the user did not vouch for.
fn vouch(found: &Explored) -> String {
    let (shown, tick) = (shown_by(found), found.tick);
    format!(
        "no job is late as long as jobs arrive at whole multiples of {tick:#} ({shown}): --tick {tick} takes that as \
         given"
    )
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
