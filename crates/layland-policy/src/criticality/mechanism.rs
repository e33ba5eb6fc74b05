//! The common parts of all mechanisms: the jobs of one CPU ([`Jobs`]), and the order in which one
//! instant is processed (`Processor`).
//!
//! An engine reports events in the order of the contract of [`Policy`](crate::Policy).
//! Mixed-criticality mechanisms need another order, so events are collected, and processed when a
//! decision is due:
//!
//! 1. the completed job is removed (a job that completes exactly at its budget has not overrun);
//! 2. the budget of the running job is checked;
//! 3. the idle check: if no job is left from before now, the busy period is over, even if jobs
//!    arrive now;
//! 4. events of the time alone are handled: deadlines, zero-slack instants, replenishments;
//! 5. a job that runs next and may execute nothing at all at the present level (`C_i(l) = 0`) is
//!    dispatched: it completes or overruns before any arrival. Analyses count the arrivals before
//!    that point, but not those at it;
//! 6. arrivals are handled;
//! 7. one dispatch decision is made.
//!
//! Deadlines come after the idle check because they never end a job. A mechanism derives the events
//! of the time from `now` and the jobs alone; its timer only ensures that the engine requests a
//! decision in time.
//!
//! The execution of a job is the time since its `Run`, unless the engine reports otherwise
//! (`Measured`).
//!
//! Long because the order of one instant is one function, and the jobs that it keeps are beside it.

use super::order::Order;
use crate::shell::Alarm;
use crate::{Action, Note, State};
use layland_model::{CpuId, Criticality, Duration, JobId, Service, System, TaskId, Time};
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Debug;

/// The parameters of a task that mechanisms need. Times are in nanoseconds.
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
    /// `C(l)` for every level `l`; constant above its own level.
    pub bounds: Vec<i64>,
}

impl Member {
    /// Returns the parameters of a task of a valid system.
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

    /// Returns `C(l)`, where `l` may be above every level.
    pub fn bound(&self, level: usize) -> i64 {
        self.bounds[level.min(self.criticality)]
    }

    /// Returns `C(z)`: the bound at its own level.
    pub fn own_bound(&self) -> i64 {
        self.bound(self.criticality)
    }
}

/// A job that has arrived and is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The job.
    pub id: JobId,
    /// The time at which its mechanism received it.
    pub heard: Time,
    /// The earliest time at which it could run.
    pub release: Time,
    /// Its deadline.
    pub deadline: Time,
    /// True if its predecessor has ended.
    pub ready: bool,
    /// Its execution so far.
    pub executed: i64,
    /// For fixed-job mechanisms: its priority; a larger number is a higher priority.
    pub priority: i64,
    /// For servers: the index of its slice.
    pub slice: i64,
    /// The execution that it may reach by the end of `slice`.
    pub granted: i64,
}

/// The jobs of one CPU, by task and in the order of their releases.
#[derive(Clone, Debug)]
pub struct Jobs {
    cpu: CpuId,
    members: Vec<Member>,
    /// The highest criticality of the tasks.
    highest: usize,
    queues: Vec<VecDeque<Pending>>,
    /// The tasks that have a job: few of many, and each decision looks at all of them.
    active: BTreeSet<usize>,
    /// Jobs that were aborted before they were ready.
    doomed: Vec<JobId>,
    out: Vec<Action>,
}

impl Jobs {
    fn new(cpu: CpuId, members: Vec<Member>) -> Jobs {
        let queues = members.iter().map(|_| VecDeque::with_capacity(4)).collect();
        let highest = members.iter().map(|member| member.criticality).max();
        Jobs {
            cpu,
            members,
            highest: highest.unwrap_or(0),
            queues,
            active: BTreeSet::new(),
            doomed: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Returns the tasks.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the highest criticality of the tasks.
    pub fn highest_criticality(&self) -> usize {
        self.highest
    }

    /// Returns the jobs of a task that are not over.
    pub fn of(&self, member: usize) -> &VecDeque<Pending> {
        &self.queues[member]
    }

    /// Returns the first job of a task, which runs before its others.
    pub fn first(&self, member: usize) -> Option<&Pending> {
        self.queues[member].front()
    }

    /// Returns the first job of a task for changes.
    pub fn first_mut(&mut self, member: usize) -> Option<&mut Pending> {
        self.queues[member].front_mut()
    }

    /// Returns every job that is not over.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Pending)> {
        let of = |member: usize| self.queues[member].iter().map(move |job| (member, job));
        self.pending().flat_map(of)
    }

    /// Returns the tasks that have a job, in ascending order.
    pub fn pending(&self) -> impl Iterator<Item = usize> + '_ {
        self.active.iter().copied()
    }

    /// Returns true if there is no job.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Admits a job.
    pub fn admit(&mut self, member: usize, job: Pending) {
        self.queues[member].push_back(job);
        self.active.insert(member);
    }

    /// Drops a job that was never admitted: it is aborted as soon as it is ready.
    pub fn drop_job(&mut self, job: Pending) {
        self.doom(job);
    }

    /// Aborts the first job of a task.
    pub fn abort_first(&mut self, member: usize) {
        if let Some(job) = self.take_first(member) {
            self.doom(job);
        }
    }

    /// Aborts every job of a task.
    pub fn abort_all(&mut self, member: usize) {
        while !self.queues[member].is_empty() {
            self.abort_first(member);
        }
    }

    fn take_first(&mut self, member: usize) -> Option<Pending> {
        let job = self.queues[member].pop_front();
        if self.queues[member].is_empty() {
            self.active.remove(&member);
        }
        job
    }

    fn doom(&mut self, job: Pending) {
        // The engine can abort a job only once it is ready.
        if job.ready {
            self.out.push(Action::Abort { job: job.id });
        } else {
            self.doomed.push(job.id);
        }
    }

    /// Adds a note to the trace.
    pub fn note(&mut self, note: Note) {
        self.out.push(Action::Note { note });
    }

    /// Notes in the trace that the criticality indicator has changed.
    pub fn note_level(&mut self, level: usize) {
        let level = Criticality(u8::try_from(level).unwrap_or(u8::MAX));
        self.note(Note::Indicator { cpu: self.cpu, level });
    }

    fn find(&mut self, member: usize, id: JobId) -> Option<&mut Pending> {
        self.queues[member].iter_mut().find(|job| job.id == id)
    }
}

/// The choice of the job to run next: the first job of a task, up to a limit of total execution, at
/// which the mechanism must decide again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The task.
    pub member: usize,
    /// The limit; `None` if there is none.
    pub limit: Option<i64>,
}

/// A run-time mechanism on one CPU.
pub trait Mechanism: Clone + Debug + Send + 'static {
    /// Handles the first job of a task that has reached its limit of execution and is not complete.
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize);
    /// Handles an execution of a job that an engine has measured: it may be less than was counted.
    fn measured(&mut self, member: usize, job: &Pending) {
        let _ = (member, job);
    }
    /// Handles the first job of a task that has completed, or whose task has left. Not called for
    /// jobs that the mechanism itself aborts.
    fn ended(&mut self, member: usize, job: JobId) {
        let _ = (member, job);
    }
    /// Handles the end of a busy period: no job is left from before now.
    fn idle(&mut self, jobs: &mut Jobs) {
        let _ = jobs;
    }
    /// Advances the time to `now`.
    fn advance(&mut self, jobs: &mut Jobs, now: Time) {
        let _ = (jobs, now);
    }
    /// Handles jobs that have arrived, at most one of each task unless an engine was late.
    fn arrive(&mut self, jobs: &mut Jobs, now: Time, arrivals: &[(usize, Pending)]) {
        let _ = now;
        arrivals.iter().for_each(|&(member, job)| jobs.admit(member, job));
    }
    /// Returns the next time after `now` at which the state changes without an event.
    fn wake_at(&self, jobs: &Jobs, now: Time) -> Time {
        let _ = (jobs, now);
        Time::NEVER
    }
    /// Chooses the job to run.
    fn select(&mut self, jobs: &Jobs, now: Time) -> Option<Choice>;
    /// Returns the fixed priorities, if a job of lower priority than the running one may be received
    /// late; `None` if every job must be received when it arrives.
    fn order(&self) -> Option<Order<'_>> {
        None
    }
    /// With an order: returns the time after its arrival, in nanoseconds, by which a job of a task must
    /// be received even if it has not run; `None` if there is none.
    fn patience(&self, jobs: &Jobs, member: usize) -> Option<i64> {
        let _ = (jobs, member);
        None
    }
    /// With an order: returns the times after its release, in nanoseconds and ascending, at which the
    /// state of a job may change without an event.
    fn instants(&self, jobs: &Jobs, member: usize) -> Vec<i64> {
        let _ = (jobs, member);
        Vec::new()
    }
    /// Writes everything that future decisions depend on, apart from the jobs.
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
    /// The job that the engine runs, with the time since which it runs and the limit of its
    /// execution.
    running: Option<(usize, JobId)>,
    since: Time,
    limit: Option<i64>,
    /// The events since the last decision.
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

    /// Handles a job that is ready; it may have been aborted before.
    ///
    /// # Panics
    /// If no arrival announced the job. Its mechanism would never run the job: the engine, or a
    /// policy around this one, ignores the [needs](crate::Policy::needs) of this policy.
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

    /// Handles a job that is over.
    pub(super) fn completed(&mut self, member: usize, id: JobId) {
        self.running.take_if(|(_, running)| *running == id);
        // An engine may abort an arrived job that waits for the end of a job without execution
        // time; its mechanism has not received that job yet.
        self.arrivals.retain(|(_, job)| job.id != id);
        if self.jobs.first(member).is_some_and(|job| job.id == id) {
            self.jobs.take_first(member);
            self.mechanism.ended(member, id);
        }
    }

    pub(super) fn left(&mut self, member: usize) {
        self.running.take_if(|(running, _)| *running == member);
        while let Some(job) = self.jobs.take_first(member) {
            self.mechanism.ended(member, job.id);
        }
        self.arrivals.retain(|&(of, _)| of != member);
        let task = self.jobs.members[member].task;
        self.jobs.doomed.retain(|job| job.task != task);
        // A job that was aborted before it was ready may become ready in the instant in which its
        // task leaves.
        let is_of_it =
            |action: &Action| matches!(action, Action::Abort { job } if job.task == task);
        self.jobs.out.retain(|action| !is_of_it(action));
    }

    pub(super) fn measured(&mut self, member: usize, id: JobId, executed: Service) {
        if let Some(job) = self.jobs.find(member, id) {
            job.executed = executed.ns();
            let job = *job;
            self.mechanism.measured(member, &job);
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

    /// Accounts for the execution of the running job.
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

    /// Returns true if the job that is dispatched next may not execute at all: the arrivals of now
    /// then wait until that job has ended or overrun, in this very instant. A job that already has
    /// the CPU and should have overrun by now has stalled, possibly for long: nothing waits for it.
    fn next_gets_nothing(&mut self, now: Time) -> bool {
        let Some(Choice { member, limit }) = self.mechanism.select(&self.jobs, now) else {
            return false;
        };
        let first = self.jobs.first(member).filter(|job| self.running != Some((member, job.id)));
        self.online && first.is_some_and(|job| job.ready && limit == Some(job.executed))
    }

    /// Processes the instant; the actions are in the order in which the engine must carry them out.
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
            // Keep the memory.
            self.arrivals = arrivals;
            self.arrivals.clear();
        }
        let jobs = &mut self.jobs;
        for action in jobs.out.drain(..) {
            // The engine makes the CPU of an aborted job idle.
            if let Action::Abort { job } = action {
                self.running.take_if(|(_, running)| *running == job);
            }
            actions.push(action);
        }
        let choice = self.mechanism.select(jobs, now).filter(|_| self.online);
        // A job whose predecessor was just aborted becomes ready in this very instant: nothing runs
        // until then.
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
                    let left = |limit: i64| Duration::from_ns((limit - job.executed).max(0));
                    actions.push(Action::Run { cpu, job: job.id, budget: limit.map(left) });
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
        // Jobs that wait for the end of a job without execution time, which comes in this very
        // instant.
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

/// Returns the first task with a job in an order of tasks, among those that satisfy a condition.
pub(super) fn highest(
    jobs: &Jobs,
    place: &[usize],
    mut eligible: impl FnMut(usize) -> bool,
) -> Option<usize> {
    jobs.pending().filter(|&member| eligible(member)).min_by_key(|&member| place[member])
}

/// Returns the place of each task in an order of tasks, highest priority first.
pub(super) fn places(order: &[usize]) -> Vec<usize> {
    let mut places = vec![usize::MAX; order.len()];
    order.iter().enumerate().for_each(|(place, &member)| places[member] = place);
    places
}
