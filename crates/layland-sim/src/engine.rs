//! The event loop.
//!
//! One *instant* is one or more *rounds* at the same time. A round tells the policy what happened,
//! in the order of the contract of [`Policy`]: completions and exhausted budgets by CPU, timers by
//! id, arrivals by rank, then requests; asks for one decision; and carries it out. An instant has a
//! further round only if something more is due at the same time (a job with nothing to execute, a
//! timer set for now).
//!
//! Work is counted in grains (see `grains.rs`), so that a CPU of any speed does a whole number of
//! them per nanosecond: the work that is left is always exact. A job ends at the first whole
//! nanosecond by which it has got all its work. On unit-speed CPUs nothing is ever rounded.
//!
//! A segment is recorded when the instant in which its job was taken off is over, and only if it
//! has a positive length: what a policy does and undoes within one instant leaves no mark.
//!
//! The next arrival of every task, the next end on every CPU and every timer sit in three agendas
//! (see `agenda.rs`): an event costs O(log n + log m).

mod cpus;
mod decisions;
mod jobs;
mod overheads;
mod requests;
mod state;

use crate::agenda::Agenda;
use crate::grains::Grains;
use crate::options::{Cycle, Horizon, Options, Outcome, SimError, last_offset};
use layland_engine::streams::{Stream, generator, uniform};
use layland_model::{
    Behaviour, CpuId, CpuMap, Duration, Index, JobId, Overheads, Service, System, TaskId, TaskMap,
    Time,
};
use layland_policy::{
    Action, Event, Policy, Refusal, RefusalKind, RequestId, Schedules, State, TimerId,
};
use layland_trace::{Job, Recorder};
use rand_pcg::Pcg64;
use state::{CpuRun, NONE, Status, TaskRun};
use std::collections::BTreeMap;
use std::sync::Arc;
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
/// use layland_sim::{Options, simulate};
/// use layland_trace::Trace;
/// let task = |name, c, t| Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
/// // Dhall's effect: two light tasks make a heavy one late under global EDF.
/// let system = System::new(2, vec![task("a", 2, 10), task("b", 2, 10), task("c", 10, 11)]);
/// let policy = layland_policy::registry::build("g-edf", &system).unwrap();
/// let mut trace = Trace::default();
/// simulate(&system, policy, &mut trace, &Options::until(Time::from_ms(40))).unwrap();
/// let late = trace.jobs.iter().find(|job| job.missed(trace.over)).unwrap();
/// assert_eq!(late.completion(), Some(Time::from_ms(12)));
/// ```
pub fn simulate<P: Policy, R: Recorder>(
    system: &System,
    policy: P,
    recorder: &mut R,
    options: &Options<'_>,
) -> Result<Outcome, SimError> {
    let end = options.horizon.end(system)?;
    let checkpoints = match options.horizon {
        Horizon::At(_) | Horizon::Hyperperiods(_) => None,
        Horizon::Recurrence { .. } => system.hyperperiod().map(|every| Checkpoints {
            every,
            next: last_offset(system),
            seen: BTreeMap::new(),
        }),
    };
    Ok(Engine::new(system, policy, recorder, options).run(end, checkpoints))
}

struct Checkpoints {
    every: Duration,
    next: Time,
    seen: BTreeMap<State, Time>,
}

enum Asked {
    Join(TaskId),
    Request(usize),
}

struct Engine<'a, P, R> {
    system: &'a System,
    policy: P,
    recorder: &'a mut R,
    options: &'a Options<'a>,
    grains: Grains,
    /// The overheads, if there are any.
    costs: Option<Overheads>,
    now: Time,
    tasks: TaskMap<TaskRun>,
    streams: TaskMap<Stream>,
    cpus: CpuMap<CpuRun>,
    /// The tasks by leaf.
    by_rank: Vec<TaskId>,
    arrivals: Agenda,
    ends: Agenda,
    timers: Agenda,
    next_tick: Time,
    next_request: usize,
    dirty: Vec<CpuId>,
    actions: Vec<Action>,
    /// Requests that the next decision may refuse, and those that it refused.
    asked: Vec<(RequestId, Asked, Option<Refusal>)>,
    /// Tasks that were refused when they asked to enter, and how.
    turned_away: BTreeMap<TaskId, RefusalKind>,
    request_ids: u32,
    exploration: Option<Pcg64>,
    /// Whether the policy follows arrivals.
    follows: bool,
    events: u64,
    decisions: u64,
}

impl<'a, P: Policy, R: Recorder> Engine<'a, P, R> {
    fn new(system: &'a System, policy: P, recorder: &'a mut R, options: &'a Options<'a>) -> Self {
        let platform = &system.platform;
        let grains = Grains::new(&platform.speeds);
        let by_rank = system.by_rank();
        let mut arrivals = Agenda::new(by_rank.len());
        let mut streams: TaskMap<Stream> = system
            .tasks
            .iter()
            .map(|(id, task)| Stream::new(id, Arc::new(task.clone()), options.seed))
            .collect();
        let mut tasks: TaskMap<TaskRun> = system
            .tasks
            .iter()
            .map(|(id, task)| TaskRun::new(id, task, grains, &mut streams[id]))
            .collect();
        if policy.needs().schedules == Schedules::Threads {
            for (id, task) in system.tasks.iter() {
                if matches!(task.behaviour, Behaviour::Hog) {
                    tasks[id].endless = true;
                    tasks[id].regular = None;
                }
            }
        }
        for (leaf, &task) in by_rank.iter().enumerate() {
            tasks[task].leaf = leaf as u32;
            arrivals.set(leaf, tasks[task].next_release);
        }
        let cpus =
            platform.speeds.values().map(|&speed| CpuRun::new(grains.per_ns(speed))).collect();
        let costs = (!platform.overheads.is_zero()).then(|| platform.overheads.clone());
        let ticks = costs.as_ref().filter(|costs| costs.tick > Duration::ZERO);
        let next_tick = ticks.map_or(Time::NEVER, |costs| Time::ZERO + costs.tick_period);
        Self {
            follows: policy.needs().schedules == Schedules::ArrivingJobs,
            system,
            policy,
            recorder,
            options,
            grains,
            costs,
            now: Time::ZERO,
            tasks,
            streams,
            cpus,
            by_rank,
            arrivals,
            ends: Agenda::new(platform.cpu_count()),
            timers: Agenda::new(0),
            next_tick,
            next_request: 0,
            dirty: Vec::with_capacity(platform.cpu_count()),
            actions: Vec::with_capacity(2 * platform.cpu_count()),
            asked: Vec::new(),
            turned_away: BTreeMap::new(),
            request_ids: 0,
            exploration: options.explore.map(|seed| generator(seed, u64::MAX)),
            events: 0,
            decisions: 0,
        }
    }

    fn run(mut self, end: Time, mut checkpoints: Option<Checkpoints>) -> Outcome {
        let mut cycle = None;
        let mut interrupted = false;
        let mut instants = 0u32;
        for cpu in self.system.platform.cpus() {
            self.cpus[cpu].online = true;
            self.tell(Event::CpuOnline { cpu });
        }
        self.decide();
        loop {
            let mut next = self.next_time();
            if next > self.now {
                if let Some(points) = &checkpoints
                    && points.next > self.now
                {
                    next = next.min(points.next);
                }
                if next > end {
                    if self.now < end {
                        self.show();
                        self.now = end;
                    }
                    break;
                }
                instants += 1;
                if instants.is_multiple_of(4096) {
                    if let Some(progress) = self.options.progress {
                        progress(self.now);
                    }
                    if self.options.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                        interrupted = true;
                        break;
                    }
                }
                if let Some(points) = &mut checkpoints
                    && points.next == self.now
                {
                    let mut state = State::default();
                    save(&self, &mut state);
                    if let Some(&from) = points.seen.get(&state) {
                        cycle = Some(Cycle { from, length: self.now - from });
                        break;
                    }
                    points.seen.insert(state, self.now);
                    points.next += points.every;
                    next = next.min(points.next);
                }
                self.show();
                self.now = next;
            }
            self.round();
        }
        self.finish(interrupted);
        Outcome {
            end: self.now,
            interrupted,
            cycle,
            events: self.events,
            decisions: self.decisions,
        }
    }

    #[inline]
    fn next_time(&mut self) -> Time {
        let mut next = self.ends.next().min(self.arrivals.next()).min(self.timers.next());
        if let Some(request) = self.system.requests.get(self.next_request) {
            next = next.min(request.at);
        }
        next.min(self.next_tick)
    }

    #[inline]
    fn tell(&mut self, event: Event) {
        self.events += 1;
        self.policy.on_event(self.now, event);
    }

    #[inline]
    fn round(&mut self) {
        let before = self.events;
        if self.next_tick == self.now {
            self.tick();
        }
        let now = self.now;
        while self.ends.next() == now {
            if let Some(cpu) = self.ends.first() {
                self.end_on(CpuId::from_index(cpu));
            }
        }
        if self.exploration.is_some() {
            self.explore_round(before);
        } else {
            while self.timers.next() == now {
                if let Some(timer) = self.timers.first() {
                    self.fire(timer);
                }
            }
            while self.arrivals.next() == now {
                if let Some(leaf) = self.arrivals.first() {
                    self.arrive(self.by_rank[leaf]);
                }
            }
            self.requests();
        }
        if self.events > before {
            self.decide();
        } else if !self.asked.is_empty() {
            self.grant();
        }
    }

    /// Deals a random batch of what is due, in random order; the rest has another round.
    fn explore_round(&mut self, events_before: u64) {
        let now = self.now;
        let mut due: Vec<(bool, usize)> = Vec::new();
        while self.timers.next() == now {
            if let Some(timer) = self.timers.first() {
                self.timers.clear(timer);
                due.push((true, timer));
            }
        }
        while self.arrivals.next() == now {
            if let Some(leaf) = self.arrivals.first() {
                self.arrivals.clear(leaf);
                due.push((false, leaf));
            }
        }
        if due.is_empty() {
            self.requests();
            return;
        }
        let random = self.exploration.as_mut().expect("only called while exploring");
        for last in (1..due.len()).rev() {
            due.swap(last, uniform(random, last as u64) as usize);
        }
        let least = u64::from(self.events == events_before);
        let batch = (least + uniform(random, due.len() as u64 - least)) as usize;
        for &(is_timer, index) in &due[batch..] {
            if is_timer {
                self.timers.set(index, now);
            } else {
                self.arrivals.set(index, now);
            }
        }
        for &(is_timer, index) in &due[..batch] {
            if is_timer {
                self.fire(index);
            } else {
                self.arrive(self.by_rank[index]);
            }
        }
    }

    fn fire(&mut self, timer: usize) {
        self.timers.clear(timer);
        self.tell(Event::Timer { id: TimerId(timer as u32) });
    }

    fn finish(&mut self, interrupted: bool) {
        let now = self.now;
        for cpu in self.system.platform.cpus() {
            self.detach(cpu);
        }
        self.show();
        for id in self.system.tasks.ids() {
            let task = &mut self.tasks[id];
            if matches!(task.status, Status::Outside | Status::Gone) {
                continue;
            }
            if task.endless && !task.dated {
                continue;
            }
            if task.status == Status::Ready {
                let executed = self.grains.to_service(task.demand - task.remaining.max(0));
                self.recorder.pending(&task.job, now, executed);
                if !task.blocked {
                    continue;
                }
                // Arrived, but never ready.
                for (job, _) in std::mem::take(&mut task.waiting) {
                    task.job = job;
                    self.recorder.released(&job);
                    self.recorder.pending(&job, now, Service::ZERO);
                }
                let stream = &mut self.streams[id];
                while task.next_release <= now {
                    task.job = Job {
                        id: JobId { task: id, seq: task.job.id.seq.wrapping_add(1) },
                        arrival: task.next_arrival,
                        release: task.next_release,
                        deadline: task.next_arrival + task.deadline,
                    };
                    self.recorder.released(&task.job);
                    self.recorder.pending(&task.job, now, Service::ZERO);
                    task.set_next(stream.next(task.job.id.seq, task.job.arrival));
                }
            }
        }
        self.recorder.over(now, interrupted);
    }
}

/// Writes all that the future depends on, at the end of an instant.
fn save<P: Policy, R: Recorder>(engine: &Engine<'_, P, R>, state: &mut State) {
    let now = engine.now;
    for (id, task) in engine.tasks.iter() {
        state.number(task.status as i64);
        state.number(i64::from(task.blocked));
        state.time(task.next_release, now);
        state.time(task.next_arrival, now);
        state.number(engine.streams[id].phase(task.job.id.seq));
        if task.status == Status::Ready {
            let progress = match engine.cpus.get(CpuId(task.cpu)) {
                Some(cpu) => (now - cpu.progress_from).max(Duration::ZERO).ns() * cpu.per_ns,
                None => 0,
            };
            state.number(i64::from(task.cpu));
            state.number(i64::from(task.last_cpu));
            // What a hog has left of its budget is the policy's to say.
            state.number(if task.endless { 0 } else { task.remaining - progress });
            state.time(task.job.deadline, now);
        }
        if engine.follows {
            state.number(task.waiting.len() as i64);
            for (job, demand) in &task.waiting {
                state.time(job.deadline, now);
                state.number(*demand);
            }
        }
    }
    for cpu in engine.cpus.values() {
        state.number(i64::from(cpu.online));
        // The budget of a job that is no longer there means nothing.
        state.time(if cpu.task == NONE { Time::NEVER } else { cpu.budget_end }, now);
        state.time(cpu.busy_until.max(now), now);
        state.number(cpu.loaded.map_or(-1, |job| {
            let task = &engine.tasks[job.task];
            i64::from(job.task.0) << 1
                | i64::from(task.job.id == job && task.status == Status::Ready)
        }));
    }
    let mut timers = engine.timers.clone();
    while let Some(timer) = timers.first() {
        state.number(timer as i64);
        state.time(timers.next(), now);
        timers.clear(timer);
    }
    state.time(engine.next_tick, now);
    state.number((engine.system.requests.len() - engine.next_request) as i64);
    engine.policy.save(now, state);
}
