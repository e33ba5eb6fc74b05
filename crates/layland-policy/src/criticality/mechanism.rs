//! What every mechanism shares: the jobs of one CPU ([`Jobs`]), and the order in which one instant is
//! processed (`Processor`).
//!
//! An engine tells what happened in the order of the contract of [`Policy`](crate::Policy). Mixed-criticality
//! mechanisms need another one, so that events are collected, and processed when a decision is due:
//!
//! 1. the job that has completed is gone (one that completes exactly at its budget has not overrun);
//! 2. the budget of the running job;
//! 3. the idle check: with no job left from before now, the busy period is over, even if jobs arrive now;
//! 4. what the time brings: deadlines, zero-slack instants, replenishments;
//! 5. a job that runs next and may get nothing at all at the present level (`C_i(l) = 0`) is dispatched: it
//!    completes or overruns before anything arrives. Analyses count what arrives before that, and not with it;
//! 6. arrivals;
//! 7. one dispatch decision.
//!
//! Deadlines come after the idle check because they never end a job. A mechanism derives what the time
//! brings from `now` and the jobs alone; its timer only makes that an engine asks in time.
//!
//! What a job has got is the time since its `Run`, unless the engine says otherwise (`Measured`).

use crate::shell::Alarm;
use crate::{Action, Note, State};
use layland_model::{CpuId, Criticality, JobId, Service, System, TaskId, Time};
use std::collections::VecDeque;
use std::fmt::Debug;

/// What a mechanism knows of a task. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The task.
    pub task: TaskId,
    /// The minimum separation of its jobs.
    pub period: i64,
    /// Its relative deadline.
    pub deadline: i64,
    /// Its criticality.
    pub criticality: usize,
    /// `C(l)` for every level `l`; not growing above its own level.
    pub bounds: Vec<i64>,
}

impl Member {
    /// What a mechanism knows of a task of a valid system.
    pub fn of(system: &System, task: TaskId) -> Member {
        let parameters = &system.tasks[task];
        let own = parameters.criticality.level();
        let bound = |level: usize| {
            let level = level.min(own).min(parameters.wcet.len() - 1);
            parameters.wcet[level].ns()
        };
        Member {
            task,
            period: parameters.period.ns(),
            deadline: parameters.deadline.ns(),
            criticality: own,
            bounds: (0..system.levels.count()).map(bound).collect(),
        }
    }

    /// `C(l)`, where `l` may be above every level.
    pub fn bound(&self, level: usize) -> i64 {
        self.bounds[level.min(self.criticality)]
    }

    /// `C(z)`: the bound at its own level.
    pub fn own_bound(&self) -> i64 {
        self.bound(self.criticality)
    }
}

/// A job that has arrived and is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Which.
    pub id: JobId,
    /// When its mechanism heard of it.
    pub heard: Time,
    /// When it could run first.
    pub release: Time,
    /// Its deadline.
    pub deadline: Time,
    /// Whether its predecessor has ended.
    pub ready: bool,
    /// What it has got.
    pub executed: i64,
    /// A fixed-job mechanism: its priority, larger is higher.
    pub priority: i64,
    /// A server: which slice it is in, and what it may have got by the end of that.
    pub slice: i64,
    /// See `slice`.
    pub granted: i64,
}

/// The jobs of one CPU, by task and in the order of their releases.
#[derive(Clone, Debug)]
pub struct Jobs {
    cpu: CpuId,
    members: Vec<Member>,
    queues: Vec<VecDeque<Pending>>,
    /// Jobs that were aborted before they were ready.
    doomed: Vec<JobId>,
    out: Vec<Action>,
}

impl Jobs {
    fn new(cpu: CpuId, members: Vec<Member>) -> Jobs {
        let queues = members.iter().map(|_| VecDeque::with_capacity(4)).collect();
        Jobs { cpu, members, queues, doomed: Vec::new(), out: Vec::new() }
    }

    /// The tasks.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The jobs of a task that are not over.
    pub fn of(&self, member: usize) -> &VecDeque<Pending> {
        &self.queues[member]
    }

    /// The job of a task that runs before its others.
    pub fn first(&self, member: usize) -> Option<&Pending> {
        self.queues[member].front()
    }

    /// The same, to change.
    pub fn first_mut(&mut self, member: usize) -> Option<&mut Pending> {
        self.queues[member].front_mut()
    }

    /// Every job that is not over.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Pending)> {
        let each = self.queues.iter().enumerate();
        each.flat_map(|(member, queue)| queue.iter().map(move |job| (member, job)))
    }

    /// The tasks that have a job.
    pub fn pending(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.queues.len()).filter(|&member| !self.queues[member].is_empty())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// Admits a job.
    pub fn admit(&mut self, member: usize, job: Pending) {
        self.queues[member].push_back(job);
    }

    /// Drops a job that was never admitted: it is aborted as soon as it is ready.
    pub fn drop_job(&mut self, job: Pending) {
        self.doom(job);
    }

    /// Aborts the first job of a task.
    pub fn abort_first(&mut self, member: usize) {
        if let Some(job) = self.queues[member].pop_front() {
            self.doom(job);
        }
    }

    /// Aborts every job of a task.
    pub fn abort_all(&mut self, member: usize) {
        while !self.queues[member].is_empty() {
            self.abort_first(member);
        }
    }

    fn doom(&mut self, job: Pending) {
        if job.ready {
            self.out.push(Action::Abort { job: job.id });
        } else {
            self.doomed.push(job.id);
        }
    }

    /// Says what goes on, for the trace.
    pub fn note(&mut self, note: Note) {
        self.out.push(Action::Note { note });
    }

    /// Says that the criticality indicator has another value.
    pub fn note_level(&mut self, level: usize) {
        let level = Criticality(u8::try_from(level).unwrap_or(u8::MAX));
        self.note(Note::Indicator { cpu: self.cpu, level });
    }

    fn find(&mut self, member: usize, id: JobId) -> Option<&mut Pending> {
        self.queues[member].iter_mut().find(|job| job.id == id)
    }
}

/// What runs next: a task, whose first job it is, and how much that may have got in all until its
/// mechanism must decide again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The task.
    pub member: usize,
    /// The limit; none if there is none.
    pub limit: Option<i64>,
}

/// A run-time mechanism on one CPU.
pub trait Mechanism: Clone + Debug + Send + 'static {
    /// The first job of a task has got as much as it was to get, and is not complete.
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize);
    /// The first job of a task has completed, or its task has left. Jobs that the mechanism itself aborts are not
    /// told.
    fn ended(&mut self, member: usize, job: JobId) {
        let _ = (member, job);
    }
    /// No job is left from before now: a busy period is over.
    fn idle(&mut self, jobs: &mut Jobs) {
        let _ = jobs;
    }
    /// Time has come to `now`.
    fn advance(&mut self, jobs: &mut Jobs, now: Time) {
        let _ = (jobs, now);
    }
    /// Jobs have arrived, at most one of each task unless an engine was late.
    fn arrive(&mut self, jobs: &mut Jobs, now: Time, arrivals: &[(usize, Pending)]) {
        let _ = now;
        arrivals.iter().for_each(|&(member, job)| jobs.admit(member, job));
    }
    /// When something happens by the time alone, after `now`.
    fn wake_at(&self, jobs: &Jobs, now: Time) -> Time {
        let _ = (jobs, now);
        Time::NEVER
    }
    /// What runs.
    fn select(&mut self, jobs: &Jobs, now: Time) -> Option<Choice>;
    /// Writes all that future decisions depend on, beside the jobs.
    fn save(&self, now: Time, state: &mut State) {
        let _ = (now, state);
    }
}

/// One CPU under a mechanism.
#[derive(Clone, Debug)]
pub(super) struct Processor<M> {
    cpu: CpuId,
    pub jobs: Jobs,
    pub mechanism: M,
    online: bool,
    /// What the engine runs, since when, and up to how much.
    running: Option<(usize, JobId)>,
    since: Time,
    limit: Option<i64>,
    /// What was told since the last decision.
    exhausted: Option<JobId>,
    arrivals: Vec<(usize, Pending)>,
    pub touched: bool,
    alarm: Alarm,
}

impl<M: Mechanism> Processor<M> {
    pub(super) fn new(cpu: CpuId, members: Vec<Member>, mechanism: M) -> Self {
        Self {
            cpu,
            jobs: Jobs::new(cpu, members),
            mechanism,
            online: false,
            running: None,
            since: Time::ZERO,
            limit: None,
            exhausted: None,
            arrivals: Vec::new(),
            touched: false,
            alarm: Alarm::OFF,
        }
    }

    pub(super) fn arrived(&mut self, member: usize, job: Pending) {
        self.arrivals.push((member, job));
    }

    /// A job is ready; it may have been aborted before.
    ///
    /// # Panics
    /// If no arrival announced the job. Its mechanism would never run it: the engine, or a policy around
    /// this one, does not know what this policy [needs](crate::Policy::needs).
    pub(super) fn released(&mut self, member: usize, id: JobId) {
        if let Some(at) = self.jobs.doomed.iter().position(|&doomed| doomed == id) {
            self.jobs.doomed.swap_remove(at);
            self.jobs.out.push(Action::Abort { job: id });
        } else if let Some((_, job)) = self.arrivals.iter_mut().find(|(_, job)| job.id == id) {
            job.ready = true;
        } else if let Some(job) = self.jobs.find(member, id) {
            job.ready = true;
        } else {
            panic!("{id:?} was released, and no arrival announced it");
        }
    }

    /// A job is over.
    pub(super) fn completed(&mut self, member: usize, id: JobId) {
        self.running.take_if(|(_, running)| *running == id);
        // While it waits for the end of one that may get nothing, an engine may give it up: its mechanism has not
        // heard of it.
        self.arrivals.retain(|(_, job)| job.id != id);
        let queue = &mut self.jobs.queues[member];
        if queue.front().is_some_and(|job| job.id == id) {
            queue.pop_front();
            self.mechanism.ended(member, id);
        }
    }

    pub(super) fn left(&mut self, member: usize) {
        self.running.take_if(|(running, _)| *running == member);
        for job in std::mem::take(&mut self.jobs.queues[member]) {
            self.mechanism.ended(member, job.id);
        }
        self.arrivals.retain(|&(of, _)| of != member);
        let task = self.jobs.members[member].task;
        self.jobs.doomed.retain(|job| job.task != task);
        // One that was aborted before it was ready may be ready in the instant in which its task leaves.
        let is_of_it =
            |action: &Action| matches!(action, Action::Abort { job } if job.task == task);
        self.jobs.out.retain(|action| !is_of_it(action));
    }

    pub(super) fn measured(&mut self, member: usize, id: JobId, executed: Service) {
        if let Some(job) = self.jobs.find(member, id) {
            job.executed = executed.ns();
        }
    }

    pub(super) fn exhausted(&mut self, id: JobId) {
        self.exhausted = Some(id);
    }

    pub(super) fn timer(&mut self) {
        self.alarm.rang();
    }

    pub(super) fn set_online(&mut self, now: Time, online: bool) {
        self.online = online;
        if !online {
            self.charge(now);
            self.running = None;
        }
    }

    /// Accounts for what the running job has got.
    fn charge(&mut self, now: Time) {
        if let Some((member, id)) = self.running
            && let Some(job) = self.jobs.find(member, id)
        {
            job.executed += (now - self.since).ns();
            if let Some(limit) = self.limit {
                job.executed = job.executed.min(limit);
            }
        }
        self.since = now;
    }

    /// Whether the job that is dispatched next may get nothing: what arrives now waits until it has ended or overrun,
    /// in this very instant. One that has the CPU already and should have overrun by now has stalled, and may do so
    /// for long: nothing waits for it.
    fn next_gets_nothing(&mut self, now: Time) -> bool {
        let Some(Choice { member, limit }) = self.mechanism.select(&self.jobs, now) else {
            return false;
        };
        let first = self.jobs.first(member).filter(|job| self.running != Some((member, job.id)));
        self.online && first.is_some_and(|job| job.ready && limit == Some(job.executed))
    }

    /// Processes the instant; the actions are in the order in which they are to be carried out.
    pub(super) fn decide(&mut self, now: Time, id: crate::TimerId, actions: &mut Vec<Action>) {
        self.touched = false;
        self.charge(now);
        let over = self.exhausted.take();
        if let (Some(over), Some((member, running))) = (over, self.running)
            && over == running
            && let Some(job) = self.jobs.find(member, running)
        {
            job.executed = self.limit.unwrap_or(job.executed);
            self.mechanism.exhausted(&mut self.jobs, member);
        }
        if self.jobs.is_empty() {
            self.mechanism.idle(&mut self.jobs);
        }
        self.mechanism.advance(&mut self.jobs, now);
        if !self.arrivals.is_empty() && !self.next_gets_nothing(now) {
            let arrivals = std::mem::take(&mut self.arrivals);
            self.mechanism.arrive(&mut self.jobs, now, &arrivals);
            self.arrivals = arrivals;
            self.arrivals.clear();
        }
        let jobs = &mut self.jobs;
        for action in jobs.out.drain(..) {
            if let Action::Abort { job } = action {
                self.running.take_if(|(_, running)| *running == job);
            }
            actions.push(action);
        }
        let choice = self.mechanism.select(jobs, now).filter(|_| self.online);
        // A job whose predecessor was just aborted is ready in this very instant: nothing runs till then.
        let first = choice.and_then(|Choice { member, limit }| {
            jobs.first(member).filter(|job| job.ready).map(|job| (member, *job, limit))
        });
        let cpu = self.cpu;
        match first {
            None if self.running.take().is_some() => actions.push(Action::Idle { cpu }),
            None => {}
            Some((member, job, limit)) => {
                let runs = Some((member, job.id));
                if self.running != runs || self.limit != limit {
                    let budget = limit.map(|limit| Service::from_ns((limit - job.executed).max(0)));
                    actions.push(Action::Run { cpu, job: job.id, budget });
                }
                (self.running, self.limit) = (runs, limit);
            }
        }
        let wake_at = self.mechanism.wake_at(jobs, now);
        self.alarm.set(wake_at, id, actions);
    }

    pub(super) fn save(&self, now: Time, state: &mut State) {
        for (member, queue) in self.jobs.queues.iter().enumerate() {
            state.number(queue.len() as i64);
            for job in queue {
                let runs = self.running == Some((member, job.id));
                let since = if runs { (now - self.since).ns() } else { 0 };
                save_job(job, job.executed + since, now, state);
            }
        }
        // Jobs that wait for the end of one that may get nothing, which comes in this very instant.
        state.number(self.arrivals.len() as i64);
        for (member, job) in &self.arrivals {
            state.number(*member as i64);
            save_job(job, job.executed, now, state);
        }
        for member in &self.jobs.members {
            let doomed = self.jobs.doomed.iter().filter(|job| job.task == member.task);
            state.number(doomed.count() as i64);
        }
        state.number(self.running.map_or(-1, |(member, _)| member as i64));
        state.number(self.running.and(self.limit).unwrap_or(-1));
        state.number(i64::from(self.online));
        self.mechanism.save(now, state);
    }
}

fn save_job(job: &Pending, executed: i64, now: Time, state: &mut State) {
    state.number(executed);
    state.time(job.release, now);
    state.time(job.deadline, now);
    [i64::from(job.ready), job.priority, job.slice, job.granted]
        .into_iter()
        .for_each(|number| state.number(number));
}

/// The task with a job that comes first in an order of tasks, among those that satisfy a condition.
pub(super) fn highest(
    jobs: &Jobs,
    place: &[usize],
    mut eligible: impl FnMut(usize) -> bool,
) -> Option<usize> {
    jobs.pending().filter(|&member| eligible(member)).min_by_key(|&member| place[member])
}

/// The place of each task in an order of tasks, highest priority first.
pub(super) fn places(order: &[usize]) -> Vec<usize> {
    let mut places = vec![usize::MAX; order.len()];
    order.iter().enumerate().for_each(|(place, &member)| places[member] = place);
    places
}
