//! Locks and self-suspension one nanosecond at a time. At each tick every CPU compares all its
//! jobs, and the events between two ticks are a list of rounds. The only stored state is the locks
//! that jobs hold and have requested.
//!
//! Long because all protocols are one simulation, which its searches step through.

mod draw;
mod every;
mod seen;
mod stops;

pub use draw::with_steps;
pub use every::{Every, every};
pub use seen::of_trace;

use layland_model::{
    Duration, JobOrder, OnMiss, Protocol, ResourceId, ScheduleRule, Step, System, Task, TaskId,
    Time,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// The state of a CPU in a tick: a task with the number of its job, and true if it only waits for a lock.
pub type Tick = Option<(TaskId, u64, bool)>;

/// The record of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunRecord {
    /// For each tick, the state of each CPU.
    pub ticks: Vec<Vec<Tick>>,
    /// The ends of jobs.
    pub ends: Vec<(i64, TaskId, u64)>,
    /// The requests, grants and releases of locks, ordered by time, then in any order.
    pub locks: Vec<(i64, TaskId, u64, ResourceId, &'static str)>,
}

/// A requested resource, the number of the request, and true if the job has to wait.
type LockRequest = Option<(ResourceId, u64, bool)>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LockingJob {
    seq: u64,
    deadline: i64,
    at: usize,
    left: i64,
    begun: bool,
    /// The requested resource, if there is one; the job either retries or has to wait.
    asked: LockRequest,
    held: Vec<(ResourceId, u64)>,
    wakes: Option<i64>,
}

impl LockingJob {
    fn new(seq: u64, deadline: i64) -> LockingJob {
        let (at, left, begun, asked, held, wakes) = (0, 0, false, None, Vec::new(), None);
        LockingJob { seq, deadline, at, left, begun, asked, held, wakes }
    }
}

struct Ticker<'a> {
    system: &'a System,
    protocol: Protocol,
    by_deadline: bool,
    cpu: Vec<usize>,
    /// The place of each task in the order.
    place: Vec<i64>,
    programs: Vec<Arc<[Step]>>,
    jobs: Vec<Option<LockingJob>>,
    /// The number and the deadline of jobs that have arrived and whose predecessors have not ended.
    waiting: Vec<VecDeque<(u64, i64)>>,
    numbers: u64,
    ran: RunRecord,
    now: i64,
}

type LockingKey = (u8, i64, i64, i64);

/// Simulates jobs that need their WCETs, up to a time. Also returns the number of preemptions of
/// each task's jobs.
///
/// # Panics
/// If the rule is not [`ScheduleRule::Locking`].
pub fn simulate(system: &System, rule: &ScheduleRule, until: Time) -> (RunRecord, Vec<u64>) {
    let mut ticker = Ticker::new(system, rule);
    let preemptions = ticker.run(until.ns());
    let Ticker { mut ran, .. } = ticker;
    ran.ends.sort_unstable();
    ran.locks.sort_unstable();
    (ran, preemptions)
}

impl Ticker<'_> {
    fn new<'a>(system: &'a System, rule: &ScheduleRule) -> Ticker<'a> {
        let ScheduleRule::Locking(rule) = rule else { panic!("only locks are simulated here") };
        let n = system.tasks.len();
        let mut cpu = vec![0; n];
        for group in &rule.groups {
            for task in &group.tasks {
                cpu[task.0 as usize] = group.cpus.lowest().expect("a group has a CPU").0 as usize;
            }
        }
        let number = |id: TaskId| match &rule.order {
            JobOrder::Fixed(numbers) => numbers[id],
            _ => 0,
        };
        let mut order: Vec<TaskId> = system.tasks.ids().collect();
        order.sort_by_key(|&id| (number(id), system.tasks[id].rank, id));
        let mut place = vec![0; n];
        for (at, id) in order.iter().enumerate() {
            place[id.0 as usize] = at as i64;
        }
        let program =
            |task: &Task| task.steps.clone().unwrap_or_else(|| [Step::Run(task.own_wcet())].into());
        Ticker {
            system,
            protocol: rule.protocol,
            by_deadline: rule.order == JobOrder::Deadline,
            cpu,
            place,
            programs: system.tasks.values().map(program).collect(),
            jobs: vec![None; n],
            waiting: vec![VecDeque::new(); n],
            numbers: 0,
            ran: RunRecord::default(),
            now: 0,
        }
    }

    fn run(&mut self, until: i64) -> Vec<u64> {
        let mut stops = stops::Stops::new(self.jobs.len());
        let mut arrived = vec![0u64; self.jobs.len()];
        let mut selected: Vec<Option<usize>> = vec![None; self.system.platform.cpu_count()];
        for now in 0..=until {
            self.now = now;
            self.end_stretches(&selected);
            self.wake();
            for (id, task) in self.system.tasks.iter() {
                let since = now - task.offset.ns();
                if since >= 0 && since % task.period.ns() == 0 {
                    let at = id.0 as usize;
                    let skips = self.jobs[at].is_some() || !self.waiting[at].is_empty();
                    if !(task.on_miss == OnMiss::Skip && skips) {
                        self.waiting[at].push_back((arrived[at], now + task.deadline.ns()));
                    }
                    arrived[at] += 1;
                }
            }
            selected = self.rounds();
            if now == until {
                break;
            }
            stops.look(self, &selected);
            let tick = self.pass(&selected);
            self.ran.ticks.push(tick);
        }
        stops.preemptions
    }

    /// Lets jobs at the end of a piece of execution perform their next steps.
    fn end_stretches(&mut self, selected: &[Option<usize>]) {
        // Collect them before any of them hands over a lock: a job that has spun until now is not
        // at the end of a step.
        let has_ended = |task: &usize| {
            self.jobs[*task].as_ref().is_some_and(|job| job.left == 0 && job.asked.is_none())
        };
        let ended: Vec<usize> = selected.iter().flatten().copied().filter(has_ended).collect();
        for task in ended {
            self.proceed(task);
        }
    }

    /// Ends suspensions. A job that neither executes nor locks anything afterwards performs its
    /// remaining steps at once.
    fn wake(&mut self) {
        for task in 0..self.jobs.len() {
            let Some(job) = &mut self.jobs[task] else { continue };
            if job.wakes != Some(self.now) {
                continue;
            }
            job.wakes = None;
            // Under SRP the job has to be admitted again.
            job.begun = false;
            let rest = &self.programs[task][job.at..];
            let needs_cpu = |step: &Step| matches!(step, Step::Run(_) | Step::Lock(_));
            if rest.iter().any(needs_cpu) {
                self.load(task);
            } else {
                self.proceed(task);
            }
        }
    }

    /// Performs rounds until nothing happens any more. Returns the job that is then selected on each CPU.
    fn rounds(&mut self) -> Vec<Option<usize>> {
        loop {
            for task in 0..self.jobs.len() {
                if self.jobs[task].is_none()
                    && let Some((seq, deadline)) = self.waiting[task].pop_front()
                {
                    self.jobs[task] = Some(LockingJob::new(seq, deadline));
                    self.load(task);
                }
            }
            let mut did = false;
            let cpus = self.system.platform.cpu_count();
            let selected: Vec<Option<usize>> =
                (0..cpus).map(|cpu| self.select_and_try(cpu)).collect();
            for &task in selected.iter().flatten() {
                if let Some(job) = &mut self.jobs[task] {
                    job.begun = true;
                }
            }
            for &task in selected.iter().flatten() {
                did |= self.act(task);
            }
            if !did {
                return selected;
            }
        }
    }

    /// Advances by a unit of time.
    fn pass(&mut self, selected: &[Option<usize>]) -> Vec<Tick> {
        let mut tick = vec![None; selected.len()];
        for (cpu, &task) in selected.iter().enumerate() {
            let Some(task) = task else { continue };
            let Some(job) = &mut self.jobs[task] else { continue };
            let spins = job.asked.is_some();
            job.left -= i64::from(!spins);
            tick[cpu] = Some((TaskId(task as u32), job.seq, spins));
        }
        tick
    }

    fn steps(&self, task: usize) -> Arc<[Step]> {
        Arc::clone(&self.programs[task])
    }

    /// Loads the next step of a job if it is a step of execution.
    fn load(&mut self, task: usize) {
        let steps = self.steps(task);
        if let Some(job) = &mut self.jobs[task]
            && let Some(Step::Run(length)) = steps.get(job.at)
        {
            job.left = length.ns();
            job.at += 1;
        }
    }

    fn log(&mut self, task: usize, resource: ResourceId, what: &'static str) {
        let seq = self.jobs[task].as_ref().map_or(0, |job| job.seq);
        self.ran.locks.push((self.now, TaskId(task as u32), seq, resource, what));
    }

    /// Performs all unlocks, suspensions and the end, up to the next step that executes or locks.
    fn proceed(&mut self, task: usize) {
        let steps = self.steps(task);
        loop {
            let Some(job) = &mut self.jobs[task] else { return };
            match steps.get(job.at) {
                None => {
                    self.ran.ends.push((self.now, TaskId(task as u32), job.seq));
                    self.jobs[task] = None;
                    return;
                }
                Some(Step::Run(_)) => return self.load(task),
                Some(Step::Lock(_)) => return,
                Some(&Step::Unlock(resource)) => {
                    job.at += 1;
                    job.held.retain(|held| held.0 != resource);
                    self.log(task, resource, "gives back");
                    self.released(task, resource);
                }
                Some(&Step::Suspend(length)) => {
                    job.at += 1;
                    if length > Duration::ZERO {
                        job.wakes = Some(self.now + length.ns());
                        return;
                    }
                }
            }
        }
    }

    fn users(&self, resource: ResourceId) -> Vec<usize> {
        let uses = |&task: &usize| self.steps(task).contains(&Step::Lock(resource));
        (0..self.jobs.len()).filter(uses).collect()
    }

    fn is_global(&self, resource: ResourceId) -> bool {
        let users = self.users(resource);
        let home = self.system.resources[resource.0 as usize].home.map(|cpu| cpu.0 as usize);
        let between = users.iter().any(|&task| self.cpu[task] != self.cpu[users[0]]);
        let away = self.protocol == Protocol::Dpcp
            && users.iter().any(|&task| home.is_some_and(|home| home != self.cpu[task]));
        self.protocol.is_between_cpus() && (between || away)
    }

    fn holder(&self, resource: ResourceId) -> Option<usize> {
        let holds = |&task: &usize| {
            let job = self.jobs[task].as_ref();
            job.is_some_and(|job| job.held.iter().any(|held| held.0 == resource))
        };
        (0..self.jobs.len()).find(holds)
    }

    /// Updates waiting jobs after an unlock.
    fn released(&mut self, by: usize, resource: ResourceId) {
        if self.protocol == Protocol::Dpcp || !self.protocol.is_between_cpus() {
            for task in 0..self.jobs.len() {
                let is_here = self.cpu[task] == self.cpu[by];
                let Some(job) = &mut self.jobs[task] else { continue };
                if let Some((asked, _, waits)) = &mut job.asked
                    && (*asked == resource || self.protocol == Protocol::Ceiling && is_here)
                {
                    *waits = false;
                }
            }
            return;
        }
        let mut queue: Vec<(u64, i64, usize)> = Vec::new();
        for (task, job) in self.jobs.iter().enumerate() {
            let asked = job.as_ref().and_then(|job| job.asked);
            if let Some((asked, at, _)) = asked
                && asked == resource
            {
                queue.push((at, self.place[task], task));
            }
        }
        let next = match self.protocol {
            Protocol::Mpcp => queue.iter().min_by_key(|waits| waits.1),
            _ => queue.iter().min_by_key(|waits| waits.0),
        };
        if let Some(&(_, _, next)) = next {
            self.grant(next);
        }
    }

    fn grant(&mut self, task: usize) {
        self.numbers += 1;
        let numbers = self.numbers;
        let fifo = self.protocol == Protocol::FmlpPlus;
        let Some(job) = &mut self.jobs[task] else { return };
        let Some((resource, at, _)) = job.asked.take() else { return };
        job.held.push((resource, if fifo { at } else { numbers }));
        job.at += 1;
        self.log(task, resource, "holds");
        self.load(task);
    }

    /// Selects a job. A selected job that has requested a lock before tries to get it, or has to wait.
    fn select_and_try(&mut self, cpu: usize) -> Option<usize> {
        loop {
            let task = self.select(cpu)?;
            let asked = self.jobs[task].as_ref().and_then(|job| job.asked);
            let Some((resource, ..)) = asked else { return Some(task) };
            if self.is_global(resource) && self.protocol != Protocol::Dpcp {
                // The job spins.
                return Some(task);
            }
            if self.try_for(task, resource) {
                return Some(task);
            }
        }
    }

    /// Returns true if a job gets the requested lock. Otherwise it has to wait or to spin.
    fn try_for(&mut self, task: usize, resource: ResourceId) -> bool {
        let is_free = self.holder(resource).is_none();
        let is_granted =
            is_free && (self.protocol != Protocol::Ceiling || self.is_above_ceilings(task));
        if is_granted {
            self.grant(task);
        } else if self.protocol != Protocol::Msrp
            && let Some(job) = &mut self.jobs[task]
            && let Some((_, _, waits)) = &mut job.asked
        {
            *waits = true;
        }
        is_granted
    }

    /// Performs a step of a selected job, unless it executes or waits. Returns true if it did something.
    fn act(&mut self, task: usize) -> bool {
        let steps = self.steps(task);
        let Some(job) = &mut self.jobs[task] else { return false };
        if job.left > 0 || job.wakes.is_some() || job.asked.is_some() {
            return false;
        }
        let Some(&Step::Lock(resource)) = steps.get(job.at) else {
            self.proceed(task);
            return true;
        };
        self.numbers += 1;
        let numbers = self.numbers;
        self.log(task, resource, "asks");
        if let Some(job) = &mut self.jobs[task] {
            job.asked = Some((resource, numbers, false));
        }
        // Under DPCP the job gets the lock once it is selected on the home CPU.
        if !(self.is_global(resource) && self.protocol == Protocol::Dpcp) {
            self.try_for(task, resource);
        }
        true
    }

    fn ceiling(&self, resource: ResourceId) -> i64 {
        let deadline = |task: usize| self.system.tasks[TaskId(task as u32)].deadline.ns();
        let users = self.users(resource);
        match self.protocol {
            Protocol::Stack => users.into_iter().map(deadline).min().unwrap_or(i64::MAX),
            _ => users.into_iter().map(|task| self.place[task]).min().unwrap_or(i64::MAX),
        }
    }

    /// Returns, for the first resource that other jobs of the CPU hold, the ceiling, the negated
    /// number of the grant, and the holder.
    fn others_hold(&self, task: usize) -> Option<(i64, i64, usize)> {
        let others = (0..self.jobs.len())
            .filter(|&other| other != task && self.cpu[other] == self.cpu[task]);
        let held = others.flat_map(|other| {
            let held = self.jobs[other].iter().flat_map(|job| &job.held);
            held.map(move |&(resource, at)| (self.ceiling(resource), -(at as i64), other))
        });
        held.min()
    }

    fn is_above_ceilings(&self, task: usize) -> bool {
        self.others_hold(task).is_none_or(|(ceiling, ..)| self.key(task, 0).1 < ceiling)
    }

    /// Returns the task for which a job waits and which inherits its priority.
    fn waits_for(&self, task: usize) -> Option<usize> {
        let (resource, _, waits) = self.jobs[task].as_ref()?.asked?;
        if !waits {
            return None;
        }
        match self.protocol {
            Protocol::Inheritance => self.holder(resource),
            Protocol::Ceiling => {
                self.holder(resource).or_else(|| self.others_hold(task).map(|held| held.2))
            }
            _ => None,
        }
    }

    fn key(&self, task: usize, depth: usize) -> LockingKey {
        let place = self.place[task];
        let Some(job) = &self.jobs[task] else { return (9, 0, 0, place) };
        let global = job.held.iter().find(|held| self.is_global(held.0));
        let asks = job.asked.is_some_and(|asked| self.is_global(asked.0));
        let remote = |resource: ResourceId| {
            let users = self.users(resource).into_iter();
            let users = users.filter(|&user| self.cpu[user] != self.cpu[task]);
            users.map(|user| self.place[user]).min().unwrap_or(i64::MAX)
        };
        match (self.protocol, global) {
            (Protocol::Mpcp, Some(&(resource, at))) => {
                return (0, remote(resource), at as i64, place);
            }
            (Protocol::FmlpPlus, Some(&(_, at))) => return (0, at as i64, 0, place),
            (Protocol::Dpcp, Some(&(resource, _))) => return (0, self.ceiling(resource), 0, place),
            (Protocol::Dpcp, None) if asks => return (0, place, 1, place),
            (Protocol::Msrp, _) if asks || global.is_some() => return (0, 0, 0, place),
            _ => {}
        }
        if self.by_deadline {
            return (1, job.deadline, 0, place);
        }
        let mut key = (1, place, 1, place);
        match self.protocol {
            Protocol::Plain | Protocol::Stack => {}
            Protocol::Inheritance | Protocol::Ceiling => {
                for other in 0..self.jobs.len() {
                    if depth < self.jobs.len() && self.waits_for(other) == Some(task) {
                        key = key.min(self.key(other, depth + 1));
                    }
                }
            }
            _ => {
                if let Some(least) = job.held.iter().map(|held| self.ceiling(held.0)).min() {
                    key = (1, place.min(least), 0, place);
                }
            }
        }
        key
    }

    fn select(&self, cpu: usize) -> Option<usize> {
        let competes = |&task: &usize| {
            let Some(job) = &self.jobs[task] else { return false };
            let away = job.held.iter().map(|held| held.0).chain(job.asked.map(|asked| asked.0));
            let home = away
                .filter(|&resource| self.protocol == Protocol::Dpcp && self.is_global(resource))
                .find_map(|resource| self.system.resources[resource.0 as usize].home);
            let on = home.map_or(self.cpu[task], |home| home.0 as usize);
            let waits = job.asked.is_some_and(|(_, _, waits)| waits);
            on == cpu && job.wakes.is_none() && !waits
        };
        let ready: Vec<usize> = (0..self.jobs.len()).filter(competes).collect();
        let least = ready.iter().copied().min_by_key(|&task| self.key(task, 0))?;
        if self.protocol != Protocol::Stack {
            return Some(least);
        }
        let begun = |&task: &usize| self.jobs[task].as_ref().is_some_and(|job| job.begun);
        let held = (0..self.jobs.len()).filter(|&task| self.cpu[task] == cpu);
        let held = held.flat_map(|task| self.jobs[task].iter().flat_map(|job| &job.held));
        let ceiling = held.map(|held| self.ceiling(held.0)).min().unwrap_or(i64::MAX);
        let deadline = self.system.tasks[TaskId(least as u32)].deadline.ns();
        if begun(&least) || deadline < ceiling {
            return Some(least);
        }
        ready.into_iter().filter(begun).min_by_key(|&task| self.key(task, 0))
    }
}
