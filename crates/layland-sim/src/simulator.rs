//! The event loop.
//!
//! One *instant* is one or more *rounds* at the same time ([`layland_engine::rounds`]). An instant
//! has a further round only if another event is due at the same time (a job with nothing to
//! execute, a timer set for now).
//!
//! Work is counted in grains (see `grains.rs`), so that a CPU of any speed does a whole number of
//! them per nanosecond: the remaining work is always exact. A job ends at the first whole
//! nanosecond by which it has received all its work. On unit-speed CPUs nothing is ever rounded.
//!
//! A segment is recorded at the end of the instant in which its job was taken off, and only if it
//! has a positive length: changes that a policy makes and undoes within one instant leave no mark.
//!
//! Three agendas ([`Agenda`]) hold the next arrival of every task, the next end on every CPU and
//! every timer: an event costs O(log n + log m).

mod caches;
mod cpus;
mod engine;
mod fixed;
mod overheads;
mod recurrence;
mod state;

use crate::grains::Grains;
use crate::options::{Horizon, Outcome, SimError, SimOptions};
use caches::Caches;
use layland_engine::programs::{NoPrograms, Programs};
use layland_engine::{Agenda, Ledger, Status, rounds};
use layland_model::{CpuId, CpuMap, Duration, Overheads, Service, System, Time};
use layland_policy::Policy;
use layland_trace::Recorder;
use recurrence::Checkpoints;
use state::{CpuRun, Marked, TaskState};
use std::sync::atomic::Ordering;

/// Simulates a valid system under a policy that was built for it.
///
/// # Errors
/// If the horizon needs a hyperperiod and there is none, or is out of range.
///
/// # Panics
/// If the policy breaks its contract.
///
/// ```
/// use layland_model::{Duration, Service, System, Task, Time};
/// use layland_sim::{SimOptions, simulate};
/// use layland_trace::Trace;
/// let task = |name, c, t| Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
/// // Dhall's effect: two light tasks make a heavy one late under global EDF.
/// let system = System::new(2, vec![task("a", 2, 10), task("b", 2, 10), task("c", 10, 11)]);
/// let policy = layland_policy::Registry::standard().build("g-edf", &system).unwrap();
/// let mut trace = Trace::default();
/// simulate(&system, policy, &mut trace, &SimOptions::until(Time::from_ms(40))).unwrap();
/// let late = trace.jobs.iter().find(|job| job.missed(trace.over)).unwrap();
/// assert_eq!(late.completion(), Some(Time::from_ms(12)));
/// ```
pub fn simulate<P: Policy, R: Recorder>(
    system: &System,
    policy: P,
    recorder: &mut R,
    options: &SimOptions<'_>,
) -> Result<Outcome<P>, SimError> {
    let end = options.horizon.end(system)?;
    let checkpoints = match options.horizon {
        Horizon::At(_) | Horizon::Hyperperiods(_) => {
            if let Some(outcome) = fixed::simulated(system, &policy, recorder, options, end) {
                return Ok(outcome.with_policy(policy));
            }
            None
        }
        Horizon::Recurrence { .. } => Checkpoints::of(system),
    };
    let mut none = NoPrograms;
    let simulator = Simulator::new(system, policy, recorder, options, &mut none);
    Ok(simulator.run(end, checkpoints))
}

/// Simulates a valid system, with programs that come and go while the simulation runs.
///
/// # Errors
/// If the horizon is a recurrence, or as for [`simulate`].
///
/// # Panics
/// If the policy breaks its contract, or a program that is not in the system leaves.
pub fn simulate_with<P: Policy, R: Recorder, G: Programs>(
    system: &System,
    policy: P,
    recorder: &mut R,
    options: &SimOptions<'_>,
    programs: &mut G,
) -> Result<Outcome<P>, SimError> {
    match options.horizon {
        Horizon::At(_) | Horizon::Hyperperiods(_) => {}
        Horizon::Recurrence { .. } => return Err(SimError::ProgramsNeverRecur),
    }
    let end = options.horizon.end(system)?;
    Ok(Simulator::new(system, policy, recorder, options, programs).run(end, None))
}

struct Simulator<'a, P, R, G> {
    system: &'a System,
    ledger: Ledger<P, TaskState>,
    recorder: &'a mut R,
    programs: &'a mut G,
    options: &'a SimOptions<'a>,
    grains: Grains,
    /// The overheads, if there are any.
    costs: Option<Box<Overheads>>,
    /// The caches, if jobs may have to reload blocks that others evict.
    caches: Option<Box<Caches>>,
    cpus: CpuMap<CpuRun>,
    /// The end of the job or of its budget, for each CPU.
    ends: Agenda,
    next_tick: Time,
    /// The CPUs whose jobs reach a step in the next round of this instant.
    due: Vec<CpuId>,
    /// The CPUs whose open segment may differ from their current job.
    dirty: Marked,
}

impl<'a, P: Policy, R: Recorder, G: Programs> Simulator<'a, P, R, G> {
    fn new(
        system: &'a System,
        policy: P,
        recorder: &'a mut R,
        options: &'a SimOptions<'a>,
        programs: &'a mut G,
    ) -> Self {
        let platform = &system.platform;
        let grains = Grains::new(&platform.speeds);
        let mut ledger = Ledger::new(system, policy, options.seed, |work| grains.from(work));
        if let Some(seed) = options.explore {
            // With overheads or steps, all events of an instant come in one batch: see
            // `SimOptions::explore`.
            let alone = system.tasks.values().all(|task| task.steps.is_none());
            ledger.explore(seed, platform.overheads.is_zero() && alone);
        }
        let cpus =
            platform.speeds.values().map(|&speed| CpuRun::new(grains.per_ns(speed))).collect();
        let costs = platform.overheads.without_reloads();
        let costs = (!costs.is_zero()).then(|| Box::new(costs));
        let ticks = costs.as_ref().filter(|costs| costs.tick > Duration::ZERO);
        let next_tick = ticks.map_or(Time::NEVER, |costs| Time::ZERO + costs.tick_period);
        Self {
            system,
            ledger,
            recorder,
            programs,
            options,
            grains,
            costs,
            caches: Caches::of(system),
            cpus,
            ends: Agenda::new(platform.cpu_count()),
            next_tick,
            due: Vec::new(),
            dirty: Marked::new(platform.cpu_count()),
        }
    }

    fn run(mut self, end: Time, mut checkpoints: Option<Checkpoints>) -> Outcome<P> {
        let mut cycle = None;
        let mut interrupted = false;
        let mut instants = 0u32;
        rounds::begin(&mut self);
        loop {
            let mut next = self.next_time();
            if self.caches.is_some() {
                next = self.next_after_reloads(next);
            }
            let now = self.ledger.now;
            if next > now {
                if let Some(points) = &checkpoints {
                    next = points.no_later(next, now);
                }
                if next > end {
                    if now < end {
                        self.show_last();
                        self.ledger.now = end;
                    }
                    break;
                }
                instants += 1;
                if instants.is_multiple_of(4096) {
                    if let Some(progress) = self.options.progress {
                        progress(now);
                    }
                    if self.options.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                        interrupted = true;
                        break;
                    }
                }
                if let Some(points) = &mut checkpoints {
                    cycle = points.recurs(now, |state| self.save(state));
                    if cycle.is_some() {
                        break;
                    }
                    next = points.no_later(next, now);
                }
                self.show();
                self.ledger.now = next;
            }
            rounds::round(&mut self);
        }
        self.finish(interrupted);
        let Ledger { policy, now, events, decisions, .. } = self.ledger;
        Outcome { policy, end: now, interrupted, cycle, events, decisions }
    }

    #[inline]
    fn next_time(&self) -> Time {
        let next = self.ends.next().min(self.ledger.next_time());
        next.min(self.next_tick).min(self.programs.next())
    }

    fn finish(&mut self, interrupted: bool) {
        let now = self.ledger.now;
        for cpu in self.system.platform.cpus() {
            self.detach(cpu);
        }
        self.show_last();
        for id in self.ledger.tasks.ids() {
            let task = &self.ledger.tasks[id];
            // A part of a hog without dates has not been released.
            if task.endless && !task.dated {
                continue;
            }
            if task.status == Status::Ready {
                let executed = self.grains.to_service(task.own.executed(task.demand));
                self.recorder.pending(&task.job, now, executed);
            } else if !self.ledger.is_in_graph(id) {
                continue;
            }
            while let Some(job) = self.ledger.next_unready(id) {
                self.recorder.released(&job);
                self.recorder.pending(&job, now, Service::ZERO);
            }
        }
        self.recorder.over(now, interrupted);
    }
}
