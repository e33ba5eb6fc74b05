//! [`Ledger`]: what every engine keeps of its tasks, of requests, and of what is due next.

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

/// Where a task is in its life.
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

/// What an engine keeps of a task; `T` is what it keeps besides what all engines do.
///
/// Amounts of work are in the unit of the engine ([`Engine::amount`](crate::Engine::amount)).
// Where many tasks take turns, each begins with a line of the cache, and so has no part of one more.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct TaskRun<T> {
    /// Where the task is in its life.
    pub status: Status,
    /// Whether the next job has arrived and waits for this one to end.
    pub blocked: bool,
    /// Whether it is a hog whose thread the policy schedules: one job without an end, which the policy cuts
    /// into jobs.
    pub endless: bool,
    /// Of such a hog: whether the part that is ready has dates yet.
    pub dated: bool,
    /// How it was refused when it asked to enter, if it was.
    pub(crate) turned_away: Option<RefusalKind>,
    /// Its position among the arrivals, in the order of ranks.
    pub(crate) position: u32,
    /// The ready job, or the last one.
    pub job: Job,
    /// What that job needs in all.
    pub demand: i64,
    /// The job after it.
    pub next_arrival: Time,
    /// When that one can run first.
    pub next_release: Time,
    deadline: Duration,
    /// What happens when its job is late.
    pub on_miss: OnMiss,
    /// How many jobs were skipped since its job was released.
    pub(crate) skipped: u64,
    /// Where arrivals and demands are the same for every job: the period and the demand. Most tasks are like
    /// that, and need not ask their stream.
    pub regular: Option<(Duration, i64)>,
    /// The jobs that have arrived and wait for this one to end, with what they need: only where the policy
    /// follows arrivals.
    pub waiting: VecDeque<(Job, i64)>,
    /// What the engine itself keeps.
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
    /// Whether this is its ready job.
    #[inline]
    pub fn is_ready(&self, job: JobId) -> bool {
        self.status == Status::Ready && self.job.id == job
    }

    pub(crate) fn set_next(&mut self, arrival: Option<Arrival>) {
        (self.next_arrival, self.next_release) =
            arrival.map_or((Time::NEVER, Time::NEVER), |arrival| (arrival.at, arrival.release));
    }

    /// A job arrives of a task whose jobs are all alike: what it needs. [`None`] for other tasks.
    #[inline]
    pub(crate) fn draw_regular(&mut self) -> Option<i64> {
        let (period, demand) = self.regular?;
        self.next_arrival += period;
        self.next_release = self.next_arrival;
        Some(demand)
    }

    /// The number of the job that comes next after those that wait.
    #[inline]
    pub fn next_seq(&self) -> u64 {
        // The first makes the number of the job before it, `u64::MAX`, 0.
        self.job.id.seq.wrapping_add(1 + self.waiting.len() as u64 + self.skipped)
    }

    /// The job that arrives next, of a task of which one does.
    #[inline]
    pub fn next_job(&self) -> Job {
        self.next_job_at(self.next_arrival, self.next_release)
    }

    /// The same, if it arrives and can run then.
    #[inline]
    pub(crate) fn next_job_at(&self, arrival: Time, release: Time) -> Job {
        let id = JobId { task: self.job.id.task, seq: self.next_seq() };
        Job { id, arrival, release, deadline: arrival + self.deadline }
    }
}

/// What was asked of the policy, and may be refused by its next decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// This task of the set asked to enter.
    Join(TaskId),
    /// The request of the set with this index.
    Request(usize),
    /// A program asked to enter, and was given this id.
    Enter(TaskId),
    /// The program that was this task has left.
    Exit(TaskId),
}

/// What every engine keeps: the policy, the jobs of each task, what was asked, and what is due next.
///
/// An engine owns one and drives it with the functions of [`rounds`](crate::rounds) and
/// [`jobs`](crate::jobs), which call it back through [`Engine`](crate::Engine).
pub struct Ledger<P, T> {
    /// The policy.
    pub policy: P,
    /// The time of this instant.
    pub now: Time,
    /// The tasks.
    pub tasks: TaskMap<TaskRun<T>>,
    /// What they draw.
    pub streams: TaskMap<Stream>,
    /// Whether each CPU can be used.
    pub online: CpuMap<bool>,
    /// How many events the policy was told.
    pub events: u64,
    /// How many decisions it made.
    pub decisions: u64,
    /// What the policy schedules.
    pub schedules: Schedules,
    /// How it knows what jobs have got.
    pub progress: Progress,
    pub(crate) timers: Agenda,
    pub(crate) arrivals: Agenda,
    /// For each task that gives up late jobs, by position: the deadline of its ready job.
    pub(crate) expiries: Agenda,
    /// The tasks by their position among the arrivals.
    pub(crate) positions: Positions,
    requests: Vec<Request>,
    next_request: usize,
    /// When that one is due: it is asked for at every instant.
    next_request_at: Time,
    pub(crate) asked: Vec<(RequestId, Asked, Option<Refusal>)>,
    request_ids: u32,
    /// The ids that can be given to programs, apart from new ones.
    free: BinaryHeap<Reverse<TaskId>>,
    seed: u64,
    pub(crate) actions: Vec<Action>,
    pub(crate) exploration: Option<Exploration>,
    /// Where jobs are, if any has steps.
    pub(crate) steps: Option<Box<Steps>>,
    /// What waits for jobs of other tasks, if any task follows another one.
    pub(crate) graphs: Option<Box<Graphs>>,
}

/// How simultaneous events are dealt at random.
pub(crate) struct Exploration {
    pub(crate) random: Random,
    /// Whether the policy may decide between events of one instant.
    pub(crate) in_batches: bool,
    /// Tasks that go on with a job that is there already, since a job has ended in this round: by position. That is
    /// one action of a thread, and no order of events puts a decision in between.
    pub(crate) continuing: Vec<usize>,
}

impl<P: Policy, T: Default> Ledger<P, T> {
    /// The ledger of a run that has not begun.
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
    /// Gives a program that asks to enter the lowest id that is free.
    pub(crate) fn settle(&mut self, parameters: Arc<Task>) -> TaskId {
        let id = match self.free.pop() {
            Some(Reverse(id)) => id,
            None => {
                let id = self.positions.push();
                self.tasks.push(TaskRun::new(id, id.0));
                self.arrivals.grow(self.positions.len());
                // Replaced below.
                let task = Arc::clone(&parameters);
                self.streams.push(Stream::from(id, task, self.seed, self.now, 0));
                id
            }
        };
        let old = &self.tasks[id];
        // The numbers of jobs go on where those of the last program with this id ended.
        let mut task = TaskRun::new(id, old.position);
        task.job = old.job;
        task.status = Status::Idle;
        let hog = matches!(parameters.behaviour, Behaviour::Hog);
        task.endless = hog && self.schedules == Schedules::Threads;
        let first = old.job.id.seq.wrapping_add(1 + old.skipped);
        task.job.id.seq = first.wrapping_sub(1);
        self.tasks[id] = task;
        self.streams[id] = Stream::from(id, parameters, self.seed, self.now, first);
        id
    }
}

impl<P: Policy, T> Ledger<P, T> {
    /// When something is due next that the ledger knows of: an arrival, a timer, a request.
    #[inline]
    pub fn next_time(&self) -> Time {
        let mut next = self.arrivals.next().min(self.timers.next()).min(self.expiries.next());
        if let Some(steps) = &self.steps {
            next = next.min(steps.next());
        }
        next.min(self.next_request_at)
    }

    /// Makes room for so many timers, requests and actions, and waiting jobs of each task, so that the run
    /// need not allocate for them.
    pub fn reserve(&mut self, timers: usize, actions: usize, waiting: usize) {
        self.timers.grow(timers);
        self.actions.reserve(actions);
        self.asked.reserve(self.tasks.len() + self.requests.len());
        if self.schedules == Schedules::ArrivingJobs {
            self.tasks.values_mut().for_each(|task| task.waiting.reserve(waiting));
        }
    }

    /// Deals simultaneous events in a random order, drawn from this seed, and in random batches or at once.
    ///
    /// The policy decides after each batch. Where decisions cost time, batches are another platform and not
    /// another order: analyses count one decision for the events of an instant. So do those of locks. The end of a job
    /// and the next job of its thread, if that is there already, are never in two batches: a thread does both at once.
    pub fn explore(&mut self, seed: u64, in_batches: bool) {
        let random = Random::of_task(seed, u64::MAX);
        self.exploration = Some(Exploration { random, in_batches, continuing: Vec::new() });
    }

    /// The timers that are set, in the order in which they are due.
    pub fn timers(&self) -> Vec<(usize, Time)> {
        let (mut timers, mut found) = (self.timers.clone(), Vec::new());
        while let Some(timer) = timers.first() {
            found.push((timer, timers.next()));
            timers.clear(timer);
        }
        found
    }

    /// How many requests of the system are still to come.
    pub fn requests_left(&self) -> usize {
        self.requests.len() - self.next_request
    }

    /// What was asked under this name, until it is answered.
    pub fn asked(&self, request: RequestId) -> Option<Asked> {
        self.asked.iter().find(|(id, ..)| *id == request).map(|&(_, asked, _)| asked)
    }

    /// Whether there is a request to take.
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

    /// The request of the system with this index.
    pub(crate) fn request(&self, index: usize) -> &Request {
        &self.requests[index]
    }

    pub(crate) fn new_request(&mut self, asked: Asked) -> RequestId {
        let id = RequestId(self.request_ids);
        self.request_ids += 1;
        self.asked.push((id, asked, None));
        id
    }

    /// Nothing of this task arrives any more.
    pub(crate) fn end_arrivals(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        task.waiting.clear();
        task.set_next(None);
        self.arrivals.clear(task.position as usize);
    }

    /// The job that a task releases next arrives then.
    pub(crate) fn set_next(&mut self, id: TaskId, arrival: Option<Arrival>) {
        self.tasks[id].set_next(arrival);
        self.notice(id, self.tasks[id].next_release);
    }

    /// The next arrival of a task is noticed at this time.
    #[inline]
    pub(crate) fn notice(&mut self, id: TaskId, at: Time) {
        self.arrivals.set(self.tasks[id].position as usize, at);
    }

    /// Takes over the parameters that the stream of a task has. Where all its jobs are alike: their period and
    /// their demand.
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

    /// Other parameters from the next job on, whose arrival stands. Gives what [`TaskRun::regular`] becomes, if
    /// the change is one of parameters.
    pub(crate) fn reconfigure(
        &mut self,
        id: TaskId,
        change: &Change,
    ) -> Option<Option<(Duration, Service)>> {
        let changed = reconfigured(self.streams[id].task(), change)?;
        self.streams[id].reconfigure(Arc::new(changed));
        Some(self.take_parameters(id))
    }

    /// The first job of a program that was let in arrives when its stream says, and not before now.
    pub(crate) fn admit(&mut self, id: TaskId) {
        let first = self.streams[id].first();
        self.tasks[id].set_next(first);
        self.notice(id, self.tasks[id].next_release.max(self.now));
    }

    /// The id of a task that is gone can be given again, unless a request of the set names the task later.
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

    /// The next job of a task that has arrived but will never be ready, because the run is over.
    pub fn next_unready(&mut self, id: TaskId) -> Option<Job> {
        let in_graph = self.is_in_graph(id);
        let task = &mut self.tasks[id];
        // One that ended as the run did leaves those that waited for it behind.
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

/// A task with the parameters that a request asks for; `None` if the request is about something else.
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

/// Whether all jobs of a task arrive a period apart, without end, and need the same.
fn is_regular(task: &Task) -> bool {
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
