//! The common structure of RUN, QPS and the global policies of this family: parts that never
//! interact, each with its tasks, its CPUs, its own time and one timer.
//!
//! A part plans on the ideal time line: the schedule follows from the releases and the budgets
//! alone. A real engine reports everything some microseconds late. Then all earlier events are
//! processed in order, each instant with its own selection, and only the last selection is carried
//! out:
//!
//! - A release counts from the time at which the job could first run, not from the time of its
//!   report; otherwise windows would begin late and drift. If that time is before the last
//!   decision, because the previous job was late, the release counts from now.
//! - A completion counts from now: until then the job has held its CPU.
//!
//! An engine that is never late, like the simulator, reports every event at its own instant.
//!
//! On a real machine jobs receive less than the time for which they are planned: threads wait for
//! context switches, are interrupted, and make room for the manager. So an engine that measures
//! reports before each decision the time that jobs have received ([`Progress::Measured`]). Then a
//! job is charged for that time and not for the plan, whatever was planned between two decisions
//! and not carried out; the work that a late job still needs is added to its next window; and an
//! idle CPU runs a job that has used up its window. Budgets of servers stay as planned: they depend
//! on each other, and the margin of their tasks must cover their losses.

use crate::shell::{Alarm, Refusals, fixed_answer};
use crate::{Action, Count, Event, Needs, Policy, Progress, State, TimerId};
use layland_model::{
    CpuId, CpuMap, CpuSet, Group, Index, JobId, ScheduleRule, TaskId, TaskMap, Time,
};
use std::collections::BTreeSet;
use std::fmt::Debug;

/// A point in time that never comes, in nanoseconds.
pub(super) const NEVER: i64 = i64::MAX;
/// A value that is not a valid index.
pub(super) const NONE: u32 = u32::MAX;

/// The common state of every part. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// The unit of the grid: windows begin and end at multiples of it, and rates count in its inverse.
    pub unit: i64,
    /// Its CPUs.
    pub cpus: Vec<CpuId>,
    /// True for each of its CPUs that is online.
    pub online: Vec<bool>,
    /// The time up to which its state is known.
    pub now: i64,
    /// The time of the next event.
    pub next: i64,
    /// True if the engine reports the processor time that jobs have received.
    pub is_measured: bool,
    /// The number of instants at which it was updated, and the last of them.
    updates: u64,
    updated: i64,
    /// The number of times that a server of it got a new window, or turned to another client.
    pub server_updates: u64,
}

impl Frame {
    pub(super) fn new(unit: i64, cpus: Vec<CpuId>) -> Frame {
        let online = vec![false; cpus.len()];
        Frame {
            unit,
            cpus,
            online,
            now: 0,
            next: NEVER,
            is_measured: false,
            updates: 0,
            updated: -1,
            server_updates: 0,
        }
    }

    fn set_online(&mut self, cpu: CpuId, is_online: bool) {
        if let Some(at) = self.cpus.iter().position(|&of| of == cpu) {
            self.online[at] = is_online;
        }
    }

    /// Counts the current instant as an update, unless it was counted before.
    fn count(&mut self) {
        self.updates += u64::from(self.updated != self.now);
        self.updated = self.now;
    }
}

/// A subsystem or a hierarchy. Times are in nanoseconds.
pub(super) trait FairPart: Clone + Debug + Send + 'static {
    /// Returns the common state.
    fn frame(&self) -> &Frame;
    /// Returns the common state for changes.
    fn frame_mut(&mut self) -> &mut Frame;
    /// Returns true if a task has a ready job, and a job that is released now, with this release,
    /// has waited for its end. Returns false if that makes no difference.
    fn has_job(&self, _member: usize, _release: i64) -> bool {
        false
    }
    /// Handles a job of a task that is ready now.
    fn release(&mut self, member: usize, job: JobId, deadline: i64);
    /// Ensures that a job of a task that was just released may execute at least for the share of
    /// one window, whatever the previous job took of it.
    fn grant(&mut self, member: usize);
    /// Removes the ready job of a task, if it is this one.
    fn end(&mut self, member: usize, job: Option<JobId>);
    /// Accounts for running jobs that have run for `past`, up to now.
    fn advance(&mut self, past: i64);
    /// Returns the planned and received times of the tasks, with their remaining budgets.
    fn accounts(&mut self) -> impl Iterator<Item = (&mut PlannedTime, &mut i64)>;
    /// Returns the account of a task, and its ready job.
    fn account(&mut self, member: usize) -> (&mut PlannedTime, Option<JobId>);
    /// Brings the servers up to date with the events of now, in parts that have servers.
    fn refresh(&mut self) {}
    /// Selects jobs, after the servers are up to date. Returns the time of the next event.
    fn select(&mut self) -> i64;
    /// Returns the job that is selected for the CPU of this index, if it is ready.
    fn selected(&self, cpu: usize) -> Option<JobId>;
    /// Writes all state that future selections depend on, apart from its time.
    fn save(&self, now: Time, state: &mut State);
    /// Returns the rule that the schedules of parts of this kind obey.
    fn rule(_parts: &[Self], groups: Vec<Group>) -> ScheduleRule {
        ScheduleRule::Optimal { groups }
    }

    /// Accounts for the time until `to`.
    fn pass(&mut self, to: i64) {
        let past = to - self.frame().now;
        if past > 0 {
            self.frame_mut().now = to;
            self.advance(past);
        }
    }

    /// Charges the time that jobs have received, in place of the plan since the last decision.
    fn settle(&mut self) {
        if self.frame().is_measured {
            for (account, remaining) in self.accounts() {
                let PlannedTime { planned, got, .. } = *account;
                *remaining = (*remaining + planned - got).max(0);
                (account.planned, account.got) = (0, 0);
            }
        }
    }

    /// Brings the servers up to date with the events at `now`.
    fn refresh_at(&mut self, now: i64) {
        self.pass(now);
        self.frame_mut().count();
        self.refresh();
    }
    /// Processes the events at `now`.
    fn step(&mut self, now: i64) {
        self.refresh_at(now);
        self.frame_mut().next = self.select();
    }

    /// Processes all events before `now`, and accounts for the time until then.
    fn catch_up(&mut self, now: i64) {
        while self.frame().next < now {
            self.step(self.frame().next);
        }
        self.pass(now);
    }
}

/// The time planned for a task since the last decision, and the time that it has received. In
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlannedTime {
    pub planned: i64,
    pub got: i64,
    /// The total time that its ready job has received.
    pub in_all: i64,
}

/// The minimum time until the next update of a measured part, in nanoseconds. A manager that shares
/// the CPU of a job would otherwise leave it no time to receive what it lacks.
const LEAST_LOOK: i64 = 50_000;

/// A release that has yet to be processed.
#[derive(Clone, Copy, Debug)]
struct Released {
    /// The earliest time at which the job could have run.
    at: i64,
    /// The part and the index of its task.
    home: (u32, u32),
    job: JobId,
    deadline: i64,
}

/// A policy that consists of parts.
#[derive(Clone, Debug)]
pub(super) struct Parts<P> {
    name: &'static str,
    parts: Vec<P>,
    /// The part of each task, and its index there.
    home: TaskMap<(u32, u32)>,
    /// Tasks that have left: a new task with one of these ids has no server.
    left: BTreeSet<TaskId>,
    /// The part of each CPU; [`NONE`] if nothing ever runs on it.
    part_of: CpuMap<u32>,
    /// The jobs that the engine runs.
    shown: CpuMap<Option<JobId>>,
    online: CpuSet,
    /// The timer of each part.
    timers: Vec<Alarm>,
    /// Parts with events since the last decision.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
    is_updated: bool,
    /// Jobs that were released since the last decision.
    released: Vec<Released>,
    /// The parts and indices of tasks whose jobs ended since then, with these jobs; `None` for any
    /// job, if the task has left.
    ended: Vec<((u32, u32), Option<JobId>)>,
    refusals: Refusals,
}

impl<P: FairPart> Parts<P> {
    pub(super) fn new(
        name: &'static str,
        parts: Vec<P>,
        cpus: usize,
        home: Vec<(u32, u32)>,
    ) -> Self {
        let mut part_of = CpuMap::filled(NONE, cpus);
        for (index, part) in parts.iter().enumerate() {
            part.frame().cpus.iter().for_each(|&cpu| part_of[cpu] = index as u32);
        }
        Self {
            name,
            released: Vec::with_capacity(home.len()),
            ended: Vec::with_capacity(home.len()),
            home: home.into(),
            left: BTreeSet::new(),
            part_of,
            shown: CpuMap::filled(None, cpus),
            online: CpuSet::new(),
            timers: vec![Alarm::OFF; parts.len()],
            touched: Vec::with_capacity(parts.len()),
            is_touched: vec![false; parts.len()],
            is_updated: false,
            refusals: Refusals::default(),
            parts,
        }
    }

    /// Returns one part with all CPUs and all tasks, which are its members in this order.
    pub(super) fn of_all(name: &'static str, part: P, order: &[TaskId]) -> Self {
        let mut home = vec![(0, 0); order.len()];
        for (member, task) in (0..).zip(order) {
            home[task.index()] = (0, member);
        }
        let cpus = part.frame().cpus.len();
        Self::new(name, vec![part], cpus, home)
    }

    pub(super) fn parts(&self) -> &[P] {
        &self.parts
    }

    /// Returns the number of instants at which a part was updated, summed over the parts.
    pub(super) fn updates(&self) -> u64 {
        self.parts.iter().map(|part| part.frame().updates).sum()
    }

    /// Returns the number of times that a server got a new window, or turned to another client.
    pub(super) fn server_updates(&self) -> u64 {
        self.parts.iter().map(|part| part.frame().server_updates).sum()
    }

    /// Returns the tasks and the CPUs of each part.
    fn groups(&self) -> Vec<Group> {
        let group = |(index, part): (usize, &P)| Group {
            cpus: part.frame().cpus.iter().copied().collect(),
            tasks: self
                .home
                .iter()
                .filter(|(_, home)| home.0 == index as u32)
                .map(|(task, _)| task)
                .collect(),
        };
        self.parts.iter().enumerate().map(group).collect()
    }

    fn touch(&mut self, part: u32) {
        if !std::mem::replace(&mut self.is_touched[part as usize], true) {
            self.touched.push(part);
        }
    }

    /// Records that a job of a task has ended.
    fn end(&mut self, task: TaskId, job: Option<JobId>) {
        if let Some(&home) = self.home.get(task) {
            self.touch(home.0);
            self.ended.push((home, job));
        }
    }

    fn touch_cpu(&mut self, cpu: CpuId, is_online: bool) {
        if self.part_of[cpu] != NONE {
            self.parts[self.part_of[cpu] as usize].frame_mut().set_online(cpu, is_online);
            self.touch(self.part_of[cpu]);
        }
    }
}

impl<P: FairPart> Policy for Parts<P> {
    fn on_event(&mut self, now: Time, event: Event) {
        self.is_updated = false;
        match event {
            Event::Release { job, release, deadline } => {
                if let Some(&home) = self.home.get(job.task) {
                    self.touch(home.0);
                    let part = &self.parts[home.0 as usize];
                    let has_job = part.has_job(home.1 as usize, release.ns());
                    // A release before the last update, or one that had to wait for its
                    // predecessor, counts from now.
                    let is_new = release.ns() >= part.frame().now && !has_job;
                    let at = if is_new { release.min(now) } else { now }.ns();
                    self.released.push(Released { at, home, job, deadline: deadline.ns() });
                }
            }
            Event::Completion { job, cpu, .. } => {
                self.shown[cpu] = None;
                self.end(job.task, Some(job));
            }
            Event::Ended { job } => {
                for shown in self.shown.values_mut() {
                    *shown = shown.filter(|&shown| shown != job);
                }
                self.end(job.task, Some(job));
            }
            Event::Timer { id } => {
                self.timers[id.0 as usize].rang();
                self.touch(id.0);
            }
            Event::Join { .. } | Event::Reconfigure { .. } | Event::SetClusterCpus { .. } => {
                let reason = || format!("{} places tasks and CPUs before the start", self.name);
                let cpus = |_| self.part_of.ids().collect();
                let known = |task| self.home.get(task).filter(|_| !self.left.contains(&task));
                let may_use = |task| known(task).map(cpus);
                if let Some((request, refusal)) = fixed_answer(&event, reason, may_use) {
                    self.refusals.push(request, refusal);
                }
            }
            Event::Leave { task } => {
                self.left.insert(task);
                self.end(task, None);
                self.released.retain(|released| released.job.task != task);
                for shown in self.shown.values_mut() {
                    *shown = shown.filter(|job| job.task != task);
                }
            }
            Event::Measured { job, executed } => {
                if let Some(&(part, member)) = self.home.get(job.task) {
                    // An engine with a dispatcher for each part reports its own jobs alone to it.
                    self.parts[part as usize].frame_mut().is_measured = true;
                    let (account, ready) = self.parts[part as usize].account(member as usize);
                    if ready == Some(job) {
                        account.got += executed.ns() - account.in_all;
                        account.in_all = executed.ns();
                    }
                }
            }
            // This policy never grants budgets, and does not ask for arrivals.
            Event::BudgetExhausted { .. } | Event::Arrival { .. } | Event::Step { .. } => {}
            Event::CpuOnline { cpu } => {
                self.online.insert(cpu);
                self.touch_cpu(cpu, true);
            }
            Event::CpuOffline { cpu } => {
                self.online.remove(cpu);
                self.shown[cpu] = None;
                self.touch_cpu(cpu, false);
            }
        }
    }

    fn update(&mut self, now: Time) {
        if std::mem::replace(&mut self.is_updated, true) {
            return;
        }
        let Self { parts, released, ended, .. } = self;
        // Process releases at their own times, so that windows begin on time even if the engine is
        // late.
        released.sort_unstable_by_key(|released| (released.at, released.home));
        for &Released { at, home: (part, member), job, deadline } in &*released {
            let part = &mut parts[part as usize];
            part.catch_up(at);
            part.release(member as usize, job, deadline);
            part.account(member as usize).0.in_all = 0;
            // Force an update at the release, even if no other event is due then.
            part.frame_mut().next = at;
        }
        for &index in &self.touched {
            parts[index as usize].catch_up(now.ns());
            parts[index as usize].settle();
        }
        // After `settle`, which charges the time that earlier jobs have received.
        for Released { home: (part, member), .. } in released.drain(..) {
            let part = &mut parts[part as usize];
            if part.frame().is_measured {
                part.grant(member as usize);
            }
        }
        for ((part, member), job) in ended.drain(..) {
            parts[part as usize].end(member as usize, job);
        }
        for &index in &self.touched {
            parts[index as usize].refresh_at(now.ns());
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.update(now);
        self.is_updated = false;
        let Self { parts, shown, online, timers, .. } = self;
        for &index in &self.touched {
            self.is_touched[index as usize] = false;
            let part = &mut parts[index as usize];
            part.frame_mut().next = part.select();
            for (at, &cpu) in part.frame().cpus.iter().enumerate() {
                let job = part.selected(at).filter(|_| online.contains(cpu));
                if job == shown[cpu] {
                    continue;
                }
                shown[cpu] = job;
                actions.push(match job {
                    Some(job) => Action::Run { cpu, job, budget: None },
                    None => Action::Idle { cpu },
                });
            }
            let Frame { next, is_measured, .. } = *part.frame();
            let soon = if is_measured { now.ns() + LEAST_LOOK } else { next };
            let next = Time::from_ns(next.max(soon));
            timers[index as usize].set(next, TimerId(index), actions);
        }
        self.touched.clear();
        self.refusals.emit(actions);
    }

    fn save(&self, now: Time, state: &mut State) {
        for part in &self.parts {
            let mut part = part.clone();
            part.catch_up(now.ns());
            part.save(now, state);
            let next = part.frame().next;
            state.number(if next == NEVER { NEVER } else { next - now.ns() });
        }
        for (cpu, job) in self.shown.iter() {
            state.number(job.map_or(-1, |job| job.task.index() as i64));
            state.number(i64::from(self.online.contains(cpu)));
        }
        state.number(self.left.len() as i64);
        self.left.iter().for_each(|task| state.number(i64::from(task.0)));
    }

    fn needs(&self) -> Needs {
        Needs { progress: Progress::Measured, ..Needs::READY_JOBS }
    }

    fn rule(&self) -> ScheduleRule {
        P::rule(&self.parts, self.groups())
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}

/// Implements [`Policy`](crate::Policy) for a wrapper of [`Parts`].
macro_rules! policy_of_parts {
    ($policy:ty) => {
        impl $crate::Policy for $policy {
            fn on_event(&mut self, now: layland_model::Time, event: $crate::Event) {
                self.0.on_event(now, event);
            }
            fn decide(&mut self, now: layland_model::Time, actions: &mut Vec<$crate::Action>) {
                self.0.decide(now, actions);
            }
            fn update(&mut self, now: layland_model::Time) {
                self.0.update(now);
            }
            fn save(&self, now: layland_model::Time, state: &mut $crate::State) {
                self.0.save(now, state);
            }
            fn needs(&self) -> $crate::Needs {
                self.0.needs()
            }
            fn rule(&self) -> layland_model::ScheduleRule {
                self.0.rule()
            }
            fn counts(&self) -> Vec<$crate::Count> {
                self.counted()
            }
        }
    };
}
pub(super) use policy_of_parts;
