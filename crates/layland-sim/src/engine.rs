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

use crate::agenda::Agenda;
use crate::grains::Grains;
use crate::options::{Cycle, Horizon, Options, Outcome, SimError, last_offset};
use layland_model::{
    Behaviour, Change, CpuId, CpuMap, Duration, ExecutionModel, Index, JobId, Overheads,
    RequestKind, Service, Speed, System, Task, TaskId, TaskMap, Time,
};
use layland_policy::{
    Action, AfterJob, Event, Note, Policy, Refusal, RefusalKind, RequestId, State, TimerId,
};
use layland_trace::{Answer, Errno, Job, JobEnd, Mark, MarkKind, Recorder, Segment};
use layland_workload::{Arrival, Stream, generator, uniform};
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, VecDeque};
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

const NONE: u32 = u32::MAX;

/// The demand of a job that does not end by itself, in grains.
const ENDLESS: i64 = 1 << 61;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// It has not asked to enter yet.
    Outside,
    /// It has no ready job.
    Idle,
    /// It has a ready job.
    Ready,
    /// It has left, or was refused.
    Gone,
}

/// What the loop needs of a task at every job.
#[derive(Clone, Debug)]
struct TaskRun {
    status: Status,
    /// Whether the next job has arrived and waits for this one to end.
    blocked: bool,
    /// The CPU that runs the ready job, or [`NONE`].
    cpu: u32,
    /// Its leaf among the arrivals: its place in the order of ranks.
    leaf: u32,
    /// The ready job, or the last one.
    job: Job,
    /// What the ready job needs in all, and still, in grains.
    demand: i64,
    remaining: i64,
    /// The job after it.
    next_arrival: Time,
    next_release: Time,
    deadline: Duration,
    /// Where arrivals and demands are the same for every job: the period and the demand.
    regular: Option<(Duration, i64)>,
    /// The CPU that the ready job ran on last, or [`NONE`].
    last_cpu: u32,
    /// Whether it is a hog whose thread the policy schedules: one job without an end, which the
    /// policy cuts into jobs; and whether the part that is ready has dates yet.
    endless: bool,
    dated: bool,
    /// The jobs that have arrived and wait for this one to end, with what they need in grains: only where
    /// the policy follows arrivals.
    waiting: VecDeque<(Job, i64)>,
}

#[derive(Clone, Debug)]
struct CpuRun {
    /// The task whose job it runs, or [`NONE`].
    task: u32,
    /// Grains per nanosecond.
    per_ns: i64,
    /// The job makes progress from here on; before, the CPU is busy with overheads.
    progress_from: Time,
    /// When the budget that the policy granted ends, [`Time::NEVER`] if it is unlimited.
    budget_end: Time,
    /// The job whose segment is open: task (or [`NONE`]) and sequence number.
    shown: u32,
    shown_seq: u64,
    segment_start: Time,
    /// How long the job of the open segment has made progress in it.
    segment_progress: Duration,
    /// Whether what it runs may differ from what its open segment shows.
    dirty: bool,
    online: bool,
    /// For overheads: the end of the work of the kernel, the job loaded last, and the last time
    /// that the CPU itself had reason to schedule.
    busy_until: Time,
    loaded: Option<JobId>,
    entered_at: Time,
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
        if policy.schedules_threads() {
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
            follows: policy.follows_arrivals(),
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

    // --- Jobs ---------------------------------------------------------------------------------

    /// The next job of a task arrives, or is ready because the one before it has ended.
    #[inline]
    fn arrive(&mut self, id: TaskId) {
        if self.follows {
            self.arrive_followed(id);
            return;
        }
        let task = &mut self.tasks[id];
        if task.status == Status::Ready {
            task.blocked = true;
            self.arrivals.clear(task.leaf as usize);
            return;
        }
        if task.status == Status::Outside {
            task.status = Status::Idle;
            self.join(id);
        }
        self.release(id);
    }

    /// The same for a policy that follows arrivals: it is told of every job that has arrived, and then of
    /// the one that is ready, if none was.
    fn arrive_followed(&mut self, id: TaskId) {
        let now = self.now;
        if self.tasks[id].status == Status::Outside {
            self.tasks[id].status = Status::Idle;
            self.join(id);
        }
        while self.tasks[id].next_release <= now {
            let task = &mut self.tasks[id];
            let seq = task.job.id.seq.wrapping_add(1 + task.waiting.len() as u64);
            let job = Job {
                id: JobId { task: id, seq },
                arrival: task.next_arrival,
                release: task.next_release,
                deadline: task.next_arrival + task.deadline,
            };
            let demand = if let Some((period, demand)) = task.regular {
                task.next_arrival += period;
                task.next_release = task.next_arrival;
                demand
            } else {
                let stream = &mut self.streams[id];
                let demand = self.grains.from(stream.demand(seq));
                task.set_next(stream.next(seq, job.arrival));
                demand
            };
            task.waiting.push_back((job, demand));
            let Job { release, deadline, .. } = job;
            self.tell(Event::Arrival { job: job.id, release, deadline });
        }
        let task = &mut self.tasks[id];
        self.arrivals.set(task.leaf as usize, task.next_release);
        if task.status == Status::Idle
            && let Some((job, demand)) = task.waiting.pop_front()
        {
            task.status = Status::Ready;
            task.last_cpu = NONE;
            task.job = job;
            (task.demand, task.remaining) = (demand, demand);
            self.recorder.released(&job);
            self.tell(Event::Release { job: job.id, release: job.release, deadline: job.deadline });
            if self.costs.is_some() {
                self.pay_release(id);
            }
        }
        let task = &mut self.tasks[id];
        task.blocked = !task.waiting.is_empty();
    }

    #[cold]
    fn join(&mut self, id: TaskId) {
        let request = self.new_request(Asked::Join(id));
        let parameters = self.streams[id].parameters();
        self.tell(Event::Join { task: id, parameters, request });
    }

    #[inline]
    fn release(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        task.status = Status::Ready;
        task.blocked = false;
        task.last_cpu = NONE;
        task.job.id.seq = task.job.id.seq.wrapping_add(1);
        task.job.arrival = task.next_arrival;
        task.job.release = task.next_release;
        task.job.deadline = task.next_arrival + task.deadline;
        let job = task.job;
        if let Some((period, demand)) = task.regular {
            task.demand = demand;
            task.next_arrival += period;
            task.next_release = task.next_arrival;
        } else if task.endless {
            task.demand = ENDLESS;
            task.dated = true;
            task.set_next(None);
        } else {
            let stream = &mut self.streams[id];
            task.demand = self.grains.from(stream.demand(job.id.seq));
            task.set_next(stream.next(job.id.seq, job.arrival));
        }
        task.remaining = task.demand;
        // A job that has arrived already is noticed within this instant, and waits.
        let key = task.next_release.max(self.now);
        self.arrivals.set(task.leaf as usize, key);
        self.recorder.released(&job);
        self.tell(Event::Release { job: job.id, release: job.release, deadline: job.deadline });
        if self.costs.is_some() {
            self.pay_release(id);
        }
    }

    /// A job has got all its work, or used up its budget.
    #[inline]
    fn end_on(&mut self, cpu: CpuId) {
        self.charge(cpu);
        let id = TaskId(self.cpus[cpu].task);
        self.cpus[cpu].entered_at = self.now;
        let job = self.tasks[id].job;
        if self.tasks[id].remaining > 0 {
            self.cpus[cpu].budget_end = Time::NEVER;
            self.schedule_end(cpu);
            self.recorder
                .marked(&Mark { at: self.now, kind: MarkKind::BudgetExhausted(job.id, cpu) });
            self.tell(Event::BudgetExhausted { job: job.id, cpu });
            return;
        }
        self.cpus[cpu].task = NONE;
        self.ends.clear(cpu.index());
        self.mark_dirty(cpu);
        let then = self.end_job(id, JobEnd::Completed);
        self.tell(Event::Completion { job: job.id, cpu, then });
    }

    /// The ready job of a task, which is on no CPU any more, ends.
    #[inline]
    fn end_job(&mut self, id: TaskId, end: JobEnd) -> AfterJob {
        let now = self.now;
        let task = &mut self.tasks[id];
        task.status = Status::Idle;
        task.cpu = NONE;
        let executed = self.grains.to_service(task.demand - task.remaining.max(0));
        let job = task.job;
        self.recorder.ended(&job, now, end, executed);
        let task = &mut self.tasks[id];
        if task.blocked {
            self.arrivals.set(task.leaf as usize, now);
        } else if task.regular.is_none() {
            let stream = &mut self.streams[id];
            if let Some(arrival) = stream.after_completion(job.id.seq, now) {
                task.set_next(Some(arrival));
                self.arrivals.set(task.leaf as usize, task.next_release);
            }
            if stream.yields() {
                return AfterJob::Yields;
            }
        }
        if task.blocked || task.next_release <= now {
            AfterJob::Continues
        } else {
            AfterJob::Blocks
        }
    }

    // --- CPUs ---------------------------------------------------------------------------------

    /// Accounts for what the job on a CPU did since it was last accounted for.
    #[inline]
    fn charge(&mut self, cpu: CpuId) {
        let cpu = &mut self.cpus[cpu];
        if cpu.task == NONE || self.now <= cpu.progress_from {
            return;
        }
        let length = self.now - cpu.progress_from;
        let done = length.ns() * cpu.per_ns;
        cpu.progress_from = self.now;
        cpu.segment_progress += length;
        self.tasks[TaskId(cpu.task)].remaining -= done;
    }

    /// Puts the next end on a CPU, of its job or of its budget, among the events.
    #[inline]
    fn schedule_end(&mut self, cpu: CpuId) {
        let run = &self.cpus[cpu];
        let left = self.tasks[TaskId(run.task)].remaining.max(0);
        let length = if run.per_ns == 1 { left } else { (left + run.per_ns - 1) / run.per_ns };
        let end = run.progress_from + Duration::from_ns(length);
        self.ends.set(cpu.index(), end.min(run.budget_end));
    }

    /// Takes the job off a CPU, which then runs nothing. The job stays ready.
    #[inline]
    fn detach(&mut self, cpu: CpuId) {
        self.charge(cpu);
        let task = std::mem::replace(&mut self.cpus[cpu].task, NONE);
        if task != NONE {
            self.tasks[TaskId(task)].cpu = NONE;
            self.ends.clear(cpu.index());
            self.mark_dirty(cpu);
        }
    }

    #[inline]
    fn mark_dirty(&mut self, cpu: CpuId) {
        if !self.cpus[cpu].dirty {
            self.cpus[cpu].dirty = true;
            self.dirty.push(cpu);
        }
    }

    #[inline]
    fn run_job(&mut self, cpu: CpuId, job: JobId, budget: Option<Service>) {
        let task = &self.tasks[job.task];
        assert!(
            task.status == Status::Ready && task.job.id == job && self.cpus[cpu].online,
            "the policy runs {job:?}, which is not ready, on {cpu:?}"
        );
        let per_ns = self.cpus[cpu].per_ns;
        let budget_end = budget.map_or(Time::NEVER, |budget| {
            let grains = self.grains.from(budget);
            let length = if per_ns == 1 { grains } else { (grains + per_ns - 1) / per_ns };
            self.now.saturating_add(Duration::from_ns(length))
        });
        let from = task.cpu;
        if from == cpu.0 {
            self.charge(cpu);
            self.cpus[cpu].budget_end = budget_end;
            self.schedule_end(cpu);
            return;
        }
        if from != NONE {
            self.detach(CpuId(from));
        }
        if self.cpus[cpu].task != NONE {
            self.detach(cpu);
        }
        if self.costs.is_some() {
            self.pay_dispatch(cpu, job);
        }
        self.tasks[job.task].cpu = cpu.0;
        let run = &mut self.cpus[cpu];
        run.task = job.task.0;
        run.budget_end = budget_end;
        run.progress_from = self.now.max(run.busy_until);
        self.schedule_end(cpu);
        self.mark_dirty(cpu);
    }

    /// Ends the open segment of a CPU now.
    #[inline]
    fn close_segment(&mut self, cpu: CpuId) {
        let run = &mut self.cpus[cpu];
        let task = std::mem::replace(&mut run.shown, NONE);
        if task != NONE && self.now > run.segment_start {
            let job = JobId { task: TaskId(task), seq: run.shown_seq };
            let overhead = (self.now - run.segment_start) - run.segment_progress;
            let owner = &mut self.tasks[job.task];
            if owner.job.id.seq == job.seq {
                owner.last_cpu = cpu.0;
            }
            let segment = Segment { job, cpu, start: run.segment_start, end: self.now, overhead };
            self.recorder.executed(&segment);
        }
    }

    /// Brings the segments up to what the CPUs run at the end of an instant.
    #[inline]
    fn show(&mut self) {
        if self.dirty.len() > 1 {
            self.dirty.sort_unstable();
        }
        for at in 0..self.dirty.len() {
            let cpu = self.dirty[at];
            let run = &mut self.cpus[cpu];
            run.dirty = false;
            let task = run.task;
            let seq = if task == NONE { 0 } else { self.tasks[TaskId(task)].job.id.seq };
            if task == run.shown && (task == NONE || seq == run.shown_seq) {
                continue;
            }
            self.close_segment(cpu);
            let run = &mut self.cpus[cpu];
            (run.shown, run.shown_seq) = (task, seq);
            run.segment_start = self.now;
            run.segment_progress = Duration::ZERO;
        }
        self.dirty.clear();
    }

    // --- Decisions ----------------------------------------------------------------------------

    #[inline]
    fn decide(&mut self) {
        self.decisions += 1;
        let mut actions = std::mem::take(&mut self.actions);
        self.policy.decide(self.now, &mut actions);
        for action in actions.drain(..) {
            match action {
                Action::Run { cpu, job, budget } => self.run_job(cpu, job, budget),
                Action::Idle { cpu } => self.detach(cpu),
                Action::SetTimer { id, at } => {
                    self.timers.grow(id.0 as usize + 1);
                    self.timers.set(id.0 as usize, at.max(self.now));
                }
                Action::ClearTimer { id } => {
                    self.timers.grow(id.0 as usize + 1);
                    self.timers.clear(id.0 as usize);
                }
                Action::Abort { job } => self.abort(job),
                Action::EndJob { job } => self.end_endless(job),
                Action::SetDates { job, release, deadline } => {
                    self.set_dates(job, release, deadline);
                }
                Action::SetSpeed { cpu, speed } => self.set_speed(cpu, speed),
                Action::Note { note } => self.note(note),
                Action::Refuse { request, reason } => self.refuse(request, reason),
            }
        }
        self.actions = actions;
        if !self.asked.is_empty() {
            self.grant();
        }
    }

    #[cold]
    fn abort(&mut self, job: JobId) {
        let task = &self.tasks[job.task];
        assert!(
            task.status == Status::Ready && task.job.id == job,
            "the policy aborts {job:?}, which is not ready"
        );
        self.stop(job.task, JobEnd::Aborted);
    }

    /// The policy cuts the work of a hog: the ready job is over, and the next one is ready.
    fn end_endless(&mut self, job: JobId) {
        let task = &self.tasks[job.task];
        assert!(
            task.endless && task.job.id == job && task.status != Status::Idle,
            "the policy ends {job:?}, which is not the ready job of a hog"
        );
        let cpu = CpuId(task.cpu);
        if cpu.0 != NONE {
            self.charge(cpu);
            self.mark_dirty(cpu);
        }
        let task = &mut self.tasks[job.task];
        let executed = self.grains.to_service(task.demand - task.remaining);
        self.recorder.ended(&task.job, self.now, JobEnd::Completed, executed);
        task.job.id.seq += 1;
        (task.demand, task.remaining) = (ENDLESS, ENDLESS);
        task.last_cpu = NONE;
        task.dated = false;
    }

    /// A hog has left, after the decision of that instant.
    fn left(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        if task.endless && std::mem::take(&mut task.dated) {
            let executed = self.grains.to_service(task.demand - task.remaining);
            self.recorder.ended(&task.job, self.now, JobEnd::Left, executed);
        }
    }

    fn set_dates(&mut self, job: JobId, release: Time, deadline: Time) {
        let task = &mut self.tasks[job.task];
        assert!(
            task.status == Status::Ready && task.job.id == job,
            "the policy dates {job:?}, which is not ready"
        );
        task.job.deadline = deadline;
        if task.endless {
            (task.job.arrival, task.job.release) = (release, release);
            if !std::mem::replace(&mut task.dated, true) {
                self.recorder.released(&task.job);
            }
        }
    }

    #[cold]
    fn set_speed(&mut self, cpu: CpuId, speed: Speed) {
        self.charge(cpu);
        let factor = self.grains.refine(speed);
        if factor > 1 {
            self.system.platform.cpus().for_each(|other| self.charge(other));
            self.rescale(factor);
        }
        self.cpus[cpu].per_ns = self.grains.per_ns(speed);
        if self.cpus[cpu].task != NONE {
            self.schedule_end(cpu);
        }
        self.recorder.marked(&Mark { at: self.now, kind: MarkKind::Speed(cpu, speed) });
    }

    /// Every grain becomes `factor` grains.
    fn rescale(&mut self, factor: i64) {
        for cpu in self.cpus.values_mut() {
            cpu.per_ns *= factor;
        }
        for task in self.tasks.values_mut() {
            if task.endless {
                task.remaining = task.demand - (task.demand - task.remaining) * factor;
                continue;
            }
            let scale = |grains: i64| {
                grains.checked_mul(factor).expect("execution times fit the speeds of the policy")
            };
            (task.demand, task.remaining) = (scale(task.demand), scale(task.remaining));
            task.waiting.iter_mut().for_each(|(_, demand)| *demand = scale(*demand));
            task.regular = task.regular.map(|(period, demand)| (period, scale(demand)));
        }
    }

    fn note(&mut self, note: Note) {
        let kind = match note {
            Note::Moved { task, from, to, why } => MarkKind::Moved { task, from, to, why },
            Note::Throttled { task } => MarkKind::Throttled(task),
            Note::Replenished { task, deadline } => MarkKind::Replenished { task, deadline },
            Note::Indicator { cpu, level } => MarkKind::Indicator(cpu, level),
            Note::Unlisted { task } => MarkKind::Unlisted(task),
        };
        self.recorder.marked(&Mark { at: self.now, kind });
    }

    /// Ends the ready job of a task, wherever it is.
    fn stop(&mut self, id: TaskId, end: JobEnd) {
        let cpu = self.tasks[id].cpu;
        if cpu != NONE {
            self.detach(CpuId(cpu));
        }
        self.end_job(id, end);
    }

    // --- Requests -----------------------------------------------------------------------------

    fn new_request(&mut self, asked: Asked) -> RequestId {
        let id = RequestId(self.request_ids);
        self.request_ids += 1;
        self.asked.push((id, asked, None));
        id
    }

    #[inline]
    fn requests(&mut self) {
        while let Some(request) = self.system.requests.get(self.next_request)
            && request.at == self.now
        {
            self.ask(self.next_request);
            self.next_request += 1;
        }
    }

    #[cold]
    fn ask(&mut self, index: usize) {
        match &self.system.requests[index].kind {
            RequestKind::Leave(task) => {
                self.new_request(Asked::Request(index));
                self.leave(*task);
            }
            RequestKind::Reconfigure(task, change) => {
                let outside = matches!(self.tasks[*task].status, Status::Outside | Status::Gone);
                if outside {
                    // A task that was turned away gets the same answer again.
                    let kind = self.turned_away.get(task).copied();
                    let kind = kind.unwrap_or(RefusalKind::Invalid);
                    let reason = "the task is not in the system".to_owned();
                    let reason = Refusal { kind, reason };
                    self.answer_request(index, Some(reason));
                    return;
                }
                let request = self.new_request(Asked::Request(index));
                self.tell(Event::Reconfigure { task: *task, change: change.clone(), request });
            }
            RequestKind::SetClusterCpus { cluster, cpus } => {
                let request = self.new_request(Asked::Request(index));
                self.tell(Event::SetClusterCpus { cluster: *cluster, cpus: cpus.clone(), request });
            }
            RequestKind::CpuOnline(cpu) => {
                self.new_request(Asked::Request(index));
                if !std::mem::replace(&mut self.cpus[*cpu].online, true) {
                    self.recorder.marked(&Mark { at: self.now, kind: MarkKind::CpuOnline(*cpu) });
                    self.tell(Event::CpuOnline { cpu: *cpu });
                }
            }
            RequestKind::CpuOffline(cpu) => {
                self.new_request(Asked::Request(index));
                if std::mem::replace(&mut self.cpus[*cpu].online, false) {
                    self.detach(*cpu);
                    self.recorder.marked(&Mark { at: self.now, kind: MarkKind::CpuOffline(*cpu) });
                    self.tell(Event::CpuOffline { cpu: *cpu });
                }
            }
        }
    }

    fn leave(&mut self, id: TaskId) {
        let before = self.tasks[id].status;
        if before == Status::Ready {
            let cpu = self.tasks[id].cpu;
            if !self.tasks[id].endless {
                self.stop(id, JobEnd::Left);
            } else if cpu != NONE {
                // The policy may still say that a job of the hog ended in this instant: see `left`.
                self.detach(CpuId(cpu));
            }
        }
        let task = &mut self.tasks[id];
        task.status = Status::Gone;
        task.waiting.clear();
        self.arrivals.clear(task.leaf as usize);
        match before {
            Status::Idle | Status::Ready => self.tell(Event::Leave { task: id }),
            Status::Outside | Status::Gone => {}
        }
    }

    #[cold]
    fn refuse(&mut self, request: RequestId, reason: Refusal) {
        let asked = self.asked.iter_mut().find(|(id, ..)| *id == request);
        let (_, asked, refused) = asked.expect("the policy refuses what was not asked");
        let joining = if let Asked::Join(id) = asked { Some(*id) } else { None };
        if let Some(id) = joining {
            self.turned_away.insert(id, reason.kind);
        }
        *refused = Some(reason);
        if let Some(id) = joining {
            if self.tasks[id].status == Status::Ready {
                self.stop(id, JobEnd::Left);
                self.tasks[id].dated = false;
            }
            self.tasks[id].status = Status::Gone;
            self.tasks[id].waiting.clear();
            self.arrivals.clear(self.tasks[id].leaf as usize);
        }
    }

    /// What the last decision did not refuse is granted.
    #[cold]
    fn grant(&mut self) {
        for (_, asked, refused) in std::mem::take(&mut self.asked) {
            let index = match asked {
                Asked::Join(id) => {
                    if refused.is_some() {
                        let request = format!("task `{}` enters", self.system.tasks[id].name);
                        self.answer(request, refused);
                    }
                    continue;
                }
                Asked::Request(index) => index,
            };
            if let (
                None,
                RequestKind::Reconfigure(id, Change::Parameters { wcet, period, deadline }),
            ) = (&refused, &self.system.requests[index].kind)
            {
                let mut task = Task::clone(self.streams[*id].task());
                let own = task.criticality.level();
                task.wcet[own] = *wcet;
                task.budget = task.budget.map(|_| *wcet);
                (task.period, task.deadline) = (*period, *deadline);
                self.tasks[*id].reconfigure(&task, self.grains, &mut self.streams[*id]);
            }
            if let RequestKind::Leave(id) = &self.system.requests[index].kind {
                self.left(*id);
            }
            self.answer_request(index, refused);
        }
    }

    fn answer_request(&mut self, index: usize, refused: Option<Refusal>) {
        let request = self.system.describe(&self.system.requests[index].kind);
        self.answer(request, refused);
    }

    fn answer(&mut self, request: String, refused: Option<Refusal>) {
        let errno = refused.as_ref().map(|refusal| match refusal.kind {
            RefusalKind::Busy => Errno::Busy,
            RefusalKind::NotPermitted => Errno::NotPermitted,
            RefusalKind::Invalid => Errno::Invalid,
        });
        let refused = refused.map(|refusal| refusal.reason);
        self.recorder.answered(&Answer { at: self.now, request, refused, errno });
    }

    // --- Overheads ----------------------------------------------------------------------------

    /// The kernel takes a CPU for some time: its job, if any, goes on afterwards.
    fn steal(&mut self, cpu: CpuId, cost: Duration) {
        self.charge(cpu);
        let run = &mut self.cpus[cpu];
        run.busy_until = run.busy_until.max(self.now) + cost;
        if run.task != NONE {
            run.progress_from = run.progress_from.max(self.now) + cost;
            self.schedule_end(cpu);
        }
    }

    #[cold]
    fn tick(&mut self) {
        let Some(costs) = self.costs.clone() else { return };
        self.next_tick = self.now + costs.tick_period;
        for cpu in self.system.platform.cpus() {
            if self.cpus[cpu].online {
                self.steal(cpu, costs.tick);
            }
        }
    }

    #[cold]
    fn pay_release(&mut self, id: TaskId) {
        let cost = self.costs.as_ref().map_or(Duration::ZERO, |costs| costs.release);
        let cluster = &self.system.platform.clusters[self.system.tasks[id].cluster];
        if let (true, Some(cpu)) = (cost > Duration::ZERO, cluster.lowest()) {
            self.steal(cpu, cost);
        }
    }

    #[cold]
    fn pay_dispatch(&mut self, cpu: CpuId, job: JobId) {
        let Some(costs) = &self.costs else { return };
        let mut cost = costs.scheduling;
        let last_cpu = self.tasks[job.task].last_cpu;
        let run = &mut self.cpus[cpu];
        if run.loaded != Some(job) {
            cost += costs.context_switch;
        }
        if last_cpu != NONE && last_cpu != cpu.0 {
            cost += costs.migration;
        }
        if run.entered_at != self.now {
            cost += costs.interrupt;
        }
        run.loaded = Some(job);
        run.busy_until = run.busy_until.max(self.now) + cost;
    }

    // --- The end ------------------------------------------------------------------------------

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

impl TaskRun {
    fn new(id: TaskId, task: &Task, grains: Grains, stream: &mut Stream) -> Self {
        let never = Time::NEVER;
        let job = Job {
            // The first release makes this 0.
            id: JobId { task: id, seq: u64::MAX },
            arrival: never,
            release: never,
            deadline: never,
        };
        let mut run = Self {
            status: Status::Outside,
            blocked: false,
            cpu: NONE,
            leaf: 0,
            job,
            demand: 0,
            remaining: 0,
            next_arrival: never,
            next_release: never,
            deadline: task.deadline,
            regular: regular(task, grains, stream),
            last_cpu: NONE,
            endless: false,
            dated: false,
            waiting: VecDeque::new(),
        };
        run.set_next(stream.first());
        run
    }

    fn set_next(&mut self, arrival: Option<Arrival>) {
        (self.next_arrival, self.next_release) =
            arrival.map_or((Time::NEVER, Time::NEVER), |arrival| (arrival.at, arrival.release));
    }

    /// Other parameters from the next job on, whose arrival stands.
    fn reconfigure(&mut self, task: &Task, grains: Grains, stream: &mut Stream) {
        stream.reconfigure(Arc::new(task.clone()));
        self.deadline = task.deadline;
        self.regular = if self.endless { None } else { regular(task, grains, stream) };
    }
}

/// The period and the demand in grains of a task all of whose jobs are alike and unlimited.
fn regular(task: &Task, grains: Grains, stream: &mut Stream) -> Option<(Duration, i64)> {
    let regular_arrivals = match task.behaviour {
        Behaviour::Periodic | Behaviour::Hog => {
            task.jitter == Duration::ZERO && task.jobs.is_none()
        }
        Behaviour::Yield
        | Behaviour::Sporadic(_)
        | Behaviour::Explicit(_)
        | Behaviour::SelfSuspending { .. } => false,
    };
    let regular_demand = match task.execution {
        ExecutionModel::Wcet | ExecutionModel::Level(_) | ExecutionModel::Fraction(_) => true,
        ExecutionModel::Uniform { .. } | ExecutionModel::Discrete(_) | ExecutionModel::List(_) => {
            false
        }
    };
    (regular_arrivals && regular_demand).then(|| (task.period, grains.from(stream.demand(0))))
}

impl CpuRun {
    fn new(per_ns: i64) -> Self {
        Self {
            task: NONE,
            per_ns,
            progress_from: Time::ZERO,
            budget_end: Time::NEVER,
            shown: NONE,
            shown_seq: 0,
            segment_start: Time::ZERO,
            segment_progress: Duration::ZERO,
            dirty: false,
            online: false,
            busy_until: Time::ZERO,
            loaded: None,
            entered_at: Time::NEVER,
        }
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
