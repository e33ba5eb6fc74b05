//! [`Ledger`]: the state that every engine keeps of its tasks, of requests, and of upcoming events.
//!
//! Long because every kind of upcoming event has its agenda here.

use crate::Agenda;
use crate::instances::Graphs;
use crate::places::Steps;
use crate::positions::Positions;
use crate::streams::{Arrival, Stream};
use layland_gen::Random;
use layland_model::{
    Behaviour, Change, CpuMap, Duration, ExecutionModel, JobId, OnMiss, Request, RequestKind,
    Service, System, Task, TaskId, TaskMap, Time,
};
use layland_policy::{Action, Needs, Policy, Progress, Refusal, RefusalKind, RequestId, Schedules};
use layland_trace::Job;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// The demand of a job that does not end by itself.
pub const ENDLESS: i64 = 1 << 61;

/// The stage of a task in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has not asked to enter yet.
    Outside,
    /// It has no ready job.
    Idle,
    /// It has a ready job.
    Ready,
    /// It has left, or was refused.
    Gone,
}

/// The state that an engine keeps of a task; `T` is the additional state of a particular engine.
///
/// Amounts of work are in the unit of the engine ([`Engine::amount`](crate::Engine::amount)).
// Aligned to a cache line: when many tasks take turns, each then touches as few lines as possible.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct TaskRun<T> {
    /// The stage of the task in its life.
    pub status: Status,
    /// True if the next job has arrived and waits for this one to end.
    pub blocked: bool,
    /// True for a hog whose thread the policy schedules: one endless job, cut into jobs by the
    /// policy.
    pub endless: bool,
    /// True if the ready part of such a hog has dates.
    pub dated: bool,
    /// The kind of refusal, if the task was refused when it asked to enter.
    pub(crate) turned_away: Option<RefusalKind>,
    /// Its position among the arrivals, in the order of ranks.
    pub(crate) position: u32,
    /// The ready job, or the last one.
    pub job: Job,
    /// The total demand of that job.
    pub demand: i64,
    /// The arrival of the next job.
    pub next_arrival: Time,
    /// The earliest time at which the next job can run.
    pub next_release: Time,
    deadline: Duration,
    /// The action when its job is late.
    pub on_miss: OnMiss,
    /// The number of jobs skipped since the release of its job.
    pub(crate) skipped: u64,
    /// The period and the demand if all jobs are alike; most tasks thus bypass their stream.
    pub regular: Option<(Duration, i64)>,
    /// The jobs that wait for this one, with demands; only if the policy follows arrivals or in
    /// graphs.
    pub waiting: VecDeque<(Job, i64)>,
    /// The state of the particular engine.
    pub own: T,
}

impl<T: Default> TaskRun<T> {
    fn new(id: TaskId, position: u32) -> Self {
        let never = Time::NEVER;
        // The first release makes the sequence number 0.
        let id = JobId { task: id, seq: u64::MAX };
        Self {
            status: Status::Outside,
            blocked: false,
            endless: false,
            dated: false,
            turned_away: None,
            position,
            job: Job { id, arrival: never, release: never, deadline: never },
            demand: 0,
            next_arrival: never,
            next_release: never,
            deadline: Duration::ZERO,
            on_miss: OnMiss::Continue,
            skipped: 0,
            regular: None,
            waiting: VecDeque::new(),
            own: T::default(),
        }
    }
}

impl<T> TaskRun<T> {
    /// Returns true if this is the ready job of the task.
    #[inline]
    pub fn is_ready(&self, job: JobId) -> bool {
        self.status == Status::Ready && self.job.id == job
    }

    pub(crate) fn set_next(&mut self, arrival: Option<Arrival>) {
        (self.next_arrival, self.next_release) =
            arrival.map_or((Time::NEVER, Time::NEVER), |arrival| (arrival.at, arrival.release));
    }

    /// Advances to the next arrival. Returns the demand of a job if all of the task are alike.
    #[inline]
    pub(crate) fn draw_regular(&mut self) -> Option<i64> {
        let (period, demand) = self.regular?;
        self.next_arrival += period;
        self.next_release = self.next_arrival;
        Some(demand)
    }

    /// Returns the sequence number of the job that follows the waiting ones.
    #[inline]
    pub fn next_seq(&self) -> u64 {
        // For the first job this turns the initial number, `u64::MAX`, into 0.
        self.job.id.seq.wrapping_add(1 + self.waiting.len() as u64 + self.skipped)
    }

    /// Returns the job that arrives next. The task must have one.
    #[inline]
    pub fn next_job(&self) -> Job {
        self.next_job_at(self.next_arrival, self.next_release)
    }

    /// Returns the next job as if it had this arrival and release.
    #[inline]
    pub(crate) fn next_job_at(&self, arrival: Time, release: Time) -> Job {
        let id = JobId { task: self.job.id.task, seq: self.next_seq() };
        Job { id, arrival, release, deadline: arrival + self.deadline }
    }
}

/// A request to the policy, which its next decision may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// This task of the set asked to enter.
    Join(TaskId),
    /// The request of the set with this index.
    Request(usize),
    /// A program asked to enter, and received this id.
    Enter(TaskId),
    /// The program with this task id has left.
    Exit(TaskId),
}

/// The common state of engines: the policy, the jobs of each task, open requests, upcoming events.
///
/// An engine owns a ledger and drives it with the functions of [`rounds`](crate::rounds) and
/// [`jobs`](crate::jobs), which call back through [`Engine`](crate::Engine).
pub struct Ledger<P, T> {
    /// The policy.
    pub policy: P,
    /// The time of the current instant.
    pub now: Time,
    /// The tasks.
    pub tasks: TaskMap<TaskRun<T>>,
    /// The streams from which the tasks draw arrivals and demands.
    pub streams: TaskMap<Stream>,
    /// True for each CPU that is available.
    pub online: CpuMap<bool>,
    /// The number of events that the policy has received.
    pub events: u64,
    /// The number of decisions that it has made.
    pub decisions: u64,
    /// The things that the policy schedules.
    pub schedules: Schedules,
    /// The source from which it knows how much processor time jobs have received.
    pub progress: Progress,
    pub(crate) timers: Agenda,
    pub(crate) arrivals: Agenda,
    /// The deadline of the ready job of each task that aborts late jobs, by position.
    pub(crate) expiries: Agenda,
    /// The tasks by their position among the arrivals.
    pub(crate) positions: Positions,
    requests: Vec<Request>,
    next_request: usize,
    /// The due time of the next request, cached because every instant checks it.
    next_request_at: Time,
    pub(crate) asked: Vec<(RequestId, Asked, Option<Refusal>)>,
    request_ids: u32,
    /// The freed ids that programs can reuse.
    free: BinaryHeap<Reverse<TaskId>>,
    seed: u64,
    pub(crate) actions: Vec<Action>,
    pub(crate) exploration: Option<Exploration>,
    /// The progress of jobs through their steps, if any task has steps.
    pub(crate) steps: Option<Box<Steps>>,
    /// The jobs that wait for jobs of other tasks, if any task follows another one.
    pub(crate) graphs: Option<Box<Graphs>>,
}

/// The random order of simultaneous events.
pub(crate) struct Exploration {
    pub(crate) random: Random,
    /// True if the policy may decide between events of one instant.
    pub(crate) in_batches: bool,
    /// The tasks that continue with a job that has already arrived, because a job has ended in this
    /// round, by position. The end and the continuation are one action of a thread, so no order of
    /// events puts a decision in between.
    pub(crate) continuing: Vec<usize>,
}

impl<P: Policy, T: Default> Ledger<P, T> {
    /// Returns the ledger of a run that has not begun.
    pub fn new(system: &System, policy: P, seed: u64, amount: impl Fn(Service) -> i64) -> Self {
        let (positions, of_task) = Positions::of(system);
        let Needs { schedules, progress, speeds: _ } = policy.needs();
        let (n, m) = (system.tasks.len(), system.platform.cpu_count());
        let mut ledger = Self {
            now: Time::ZERO,
            tasks: system.tasks.ids().map(|id| TaskRun::new(id, of_task[id])).collect(),
            streams: system.tasks.ids().map(|id| Stream::new(id, &system.tasks, seed)).collect(),
            online: CpuMap::filled(false, m),
            events: 0,
            decisions: 0,
            schedules,
            progress,
            policy,
            timers: Agenda::new(0),
            arrivals: Agenda::new(n),
            expiries: Agenda::new(0),
            positions,
            requests: system.requests.clone(),
            next_request: 0,
            next_request_at: system.requests.first().map_or(Time::NEVER, |request| request.at),
            asked: Vec::with_capacity(n.min(64) + system.requests.len()),
            request_ids: 0,
            free: BinaryHeap::new(),
            seed,
            actions: Vec::with_capacity(2 * m),
            exploration: None,
            steps: Steps::of(system),
            graphs: Graphs::of(system),
        };
        for (id, task) in system.tasks.iter() {
            ledger.tasks[id].endless =
                schedules == Schedules::Threads && matches!(task.behaviour, Behaviour::Hog);
            let regular = ledger.take_parameters(id);
            ledger.tasks[id].regular = regular.map(|(period, demand)| (period, amount(demand)));
            let graphs = ledger.graphs.as_ref();
            let first_of_graph = graphs.and_then(|graphs| graphs.first_of(id));
            // The arrivals of a graph are those of its first task.
            if first_of_graph.is_none_or(|first| first == id) {
                let first = ledger.streams[id].first();
                ledger.set_next(id, first);
            }
        }
        ledger
    }
}

impl<P: Policy, T: Default> Ledger<P, T> {
    /// Assigns the lowest free id to a program that asks to enter.
    pub(crate) fn settle(&mut self, parameters: Arc<Task>) -> TaskId {
        let id = match self.free.pop() {
            Some(Reverse(id)) => id,
            None => {
                let id = self.positions.push();
                self.tasks.push(TaskRun::new(id, id.0));
                self.arrivals.grow(self.positions.len());
                // A placeholder, which is replaced below.
                let task = Arc::clone(&parameters);
                self.streams.push(Stream::from(id, task, self.seed, self.now, 0));
                id
            }
        };
        let old = &self.tasks[id];
        // The sequence numbers continue those of the last program with this id.
        let mut task = TaskRun::new(id, old.position);
        task.job = old.job;
        task.status = Status::Idle;
        let hog = matches!(parameters.behaviour, Behaviour::Hog);
        task.endless = hog && self.schedules == Schedules::Threads;
        let first = old.job.id.seq.wrapping_add(1 + old.skipped);
        // Before its first job, a task has the previous number, which is `u64::MAX` before 0.
        task.job.id.seq = first.wrapping_sub(1);
        self.tasks[id] = task;
        self.streams[id] = Stream::from(id, parameters, self.seed, self.now, first);
        id
    }
}

impl<P: Policy, T> Ledger<P, T> {
    /// Returns the time of the next arrival, timer, request, expiry or end of a suspension.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.arrivals.next().min(self.next_time_but_arrivals())
    }

    /// Returns the time of the next timer, request, expiry or end of a suspension.
    #[inline]
    pub fn next_time_but_arrivals(&self) -> Time {
        let mut next = self.timers.next().min(self.expiries.next());
        if let Some(steps) = &self.steps {
            next = next.min(steps.next());
        }
        next.min(self.next_request_at)
    }

    /// Confines a run that has not begun to these tasks: no other one ever arrives.
    pub fn confine(&mut self, is_own: impl Fn(TaskId) -> bool) {
        for id in self.tasks.ids() {
            if !is_own(id) {
                self.set_next(id, None);
            }
        }
    }

    /// Reserves memory for these numbers of timers and actions, for all requests, and for this
    /// number of waiting jobs of each task, so that the run need not allocate for them.
    pub fn reserve(&mut self, timers: usize, actions: usize, waiting: usize) {
        self.timers.grow(timers);
        self.actions.reserve(actions);
        self.asked.reserve(self.tasks.len() + self.requests.len());
        if self.schedules == Schedules::ArrivingJobs {
            self.tasks.values_mut().for_each(|task| task.waiting.reserve(waiting));
        }
    }

    /// Delivers simultaneous events in a random order from this seed, in random batches or in one.
    ///
    /// The policy decides after each batch. If decisions cost time, batches amount to another
    /// platform, not only to another order: analyses count one decision for the events of an
    /// instant, and so do analyses of locks. The end of a job and the next job of its thread, if
    /// that has already arrived, are never in two batches, because a thread does both at once.
    pub fn explore(&mut self, seed: u64, in_batches: bool) {
        let random = Random::of_task(seed, u64::MAX);
        self.exploration = Some(Exploration { random, in_batches, continuing: Vec::new() });
    }

    /// Returns the timers that are set, in the order of their expiry.
    pub fn timers(&self) -> Vec<(usize, Time)> {
        let (mut timers, mut found) = (self.timers.clone(), Vec::new());
        while let Some(timer) = timers.first() {
            found.push((timer, timers.next()));
            timers.clear(timer);
        }
        found
    }

    /// Returns the number of requests of the system that are still to come.
    pub fn requests_left(&self) -> usize {
        self.requests.len() - self.next_request
    }

    /// Returns the request with this id, until it is answered.
    pub fn asked(&self, request: RequestId) -> Option<Asked> {
        self.asked.iter().find(|(id, ..)| *id == request).map(|&(_, asked, _)| asked)
    }

    /// Returns true if a request is due.
    #[inline]
    pub(crate) fn is_request_due(&self) -> bool {
        self.next_request_at <= self.now
    }

    pub(crate) fn take_request(&mut self) -> Option<(usize, Request)> {
        let index = self.next_request;
        let due = self.requests.get(index).filter(|request| request.at <= self.now)?.clone();
        self.next_request += 1;
        let next = self.requests.get(self.next_request);
        self.next_request_at = next.map_or(Time::NEVER, |request| request.at);
        Some((index, due))
    }

    /// Returns the request of the system with this index.
    pub(crate) fn request(&self, index: usize) -> &Request {
        &self.requests[index]
    }

    pub(crate) fn new_request(&mut self, asked: Asked) -> RequestId {
        let id = RequestId(self.request_ids);
        self.request_ids += 1;
        self.asked.push((id, asked, None));
        id
    }

    /// Ends the arrivals of this task.
    pub(crate) fn end_arrivals(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        task.waiting.clear();
        task.set_next(None);
        self.arrivals.clear(task.position as usize);
    }

    /// Sets the arrival of the next job of a task.
    pub(crate) fn set_next(&mut self, id: TaskId, arrival: Option<Arrival>) {
        self.tasks[id].set_next(arrival);
        self.notice(id, self.tasks[id].next_release);
    }

    /// Schedules the next arrival of a task for this time.
    #[inline]
    pub(crate) fn notice(&mut self, id: TaskId, at: Time) {
        self.arrivals.set(self.tasks[id].position as usize, at);
    }

    /// Takes over the parameters from a stream. Returns period and demand if all jobs are alike.
    pub(crate) fn take_parameters(&mut self, id: TaskId) -> Option<(Duration, Service)> {
        let (task, stream) = (&mut self.tasks[id], &mut self.streams[id]);
        task.deadline = stream.task().deadline;
        task.on_miss = stream.task().on_miss;
        if task.on_miss == OnMiss::Abort {
            self.expiries.grow(self.positions.len());
        }
        let regular = !task.endless && is_regular(stream.task());
        regular.then(|| (stream.task().period, stream.demand(0)))
    }

    /// Changes the parameters from the next job on, whose arrival stays. Returns the new value of
    /// [`TaskRun::regular`] if the change is one of parameters.
    pub(crate) fn reconfigure(
        &mut self,
        id: TaskId,
        change: &Change,
    ) -> Option<Option<(Duration, Service)>> {
        let changed = reconfigured(self.streams[id].task(), change)?;
        self.streams[id].reconfigure(Arc::new(changed));
        Some(self.take_parameters(id))
    }

    /// Schedules the first job of an admitted program by its stream, but not before now.
    pub(crate) fn admit(&mut self, id: TaskId) {
        let first = self.streams[id].first();
        self.tasks[id].set_next(first);
        self.notice(id, self.tasks[id].next_release.max(self.now));
    }

    /// Frees the id of a departed task for reuse, unless a later request of the set names the task.
    pub(crate) fn free(&mut self, id: TaskId) {
        let names = |request: &Request| match &request.kind {
            RequestKind::Leave(task) | RequestKind::Reconfigure(task, _) => *task == id,
            RequestKind::SetClusterCpus { .. }
            | RequestKind::CpuOnline(_)
            | RequestKind::CpuOffline(_) => false,
        };
        if !self.requests[self.next_request..].iter().any(names) {
            self.free.push(Reverse(id));
        }
    }

    /// Removes and returns the next arrived job of a task that is not ready at the end of the run.
    pub fn next_unready(&mut self, id: TaskId) -> Option<Job> {
        let in_graph = self.is_in_graph(id);
        let task = &mut self.tasks[id];
        // A job that ended together with the run leaves the jobs behind that waited for it.
        let waits = matches!(task.status, Status::Ready | Status::Idle) && task.blocked;
        if !waits {
            return None;
        }
        if let Some((mut job, _)) = task.waiting.pop_front() {
            task.job.id = job.id;
            if let Some(graphs) = &mut self.graphs {
                job.release = job.release.max(graphs.give_up(id));
            }
            return Some(job);
        }
        if task.next_release > self.now || in_graph {
            return None;
        }
        let job = task.next_job();
        task.job.id = job.id;
        task.set_next(self.streams[id].next(job.id.seq, job.arrival));
        Some(job)
    }
}

/// Returns a task with the requested parameters; `None` if the request does not change these.
pub fn reconfigured(task: &Task, change: &Change) -> Option<Task> {
    match change {
        Change::Parameters { wcet, period, deadline } => {
            let mut changed = task.clone();
            let own = changed.criticality.level();
            changed.wcet[own] = *wcet;
            changed.budget = changed.budget.map(|_| *wcet);
            (changed.period, changed.deadline) = (*period, *deadline);
            Some(changed)
        }
        Change::Affinity(_) | Change::Cluster(_) => None,
    }
}

/// Returns true if all jobs of a task arrive a period apart, without end, and have the same demand.
pub fn is_regular(task: &Task) -> bool {
    let arrivals = match task.behaviour {
        Behaviour::Periodic | Behaviour::Hog => {
            task.jitter == Duration::ZERO && task.jobs.is_none()
        }
        Behaviour::Yield
        | Behaviour::Sporadic(_)
        | Behaviour::Explicit(_)
        | Behaviour::Curve(_)
        | Behaviour::SelfSuspending { .. } => false,
    };
    let demands = match task.execution {
        ExecutionModel::Wcet | ExecutionModel::Level(_) | ExecutionModel::Fraction(_) => true,
        ExecutionModel::Uniform { .. } | ExecutionModel::Discrete(_) | ExecutionModel::List(_) => {
            false
        }
    };
    arrivals && demands && task.on_miss == OnMiss::Continue
}
