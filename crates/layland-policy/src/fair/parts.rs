//! What RUN and QPS have in common: parts that never interact, each with its tasks, its CPUs, its own
//! time and one timer.
//!
//! A part plans on the ideal time line: what is to happen when follows from the budgets alone. If an
//! engine tells the time late, everything that was due before is processed in order, each with a
//! selection of its own, and only the last selection is carried out; so budgets never drift.

use crate::{Action, Event, Policy, Refusal, RequestId, State, TimerId};
use layland_model::{
    Change, CpuId, CpuMap, CpuSet, Group, Index, JobId, ScheduleRule, TaskId, TaskMap, Time,
};
use std::fmt::Debug;

/// A point in time that never comes, in nanoseconds.
pub(super) const NEVER: i64 = i64::MAX;
/// No index.
pub(super) const NONE: u32 = u32::MAX;

/// A subsystem or a hierarchy. Times are in nanoseconds.
pub(super) trait Part: Clone + Debug + Send + 'static {
    /// Its CPUs.
    fn cpus(&self) -> &[CpuId];
    /// A job of a task is ready.
    fn release(&mut self, member: usize, job: JobId, deadline: i64, now: i64);
    /// The ready job of a task is no longer there.
    fn end(&mut self, member: usize);
    /// Processes all that is due before `now`, and accounts for the time until then.
    fn catch_up(&mut self, now: i64);
    /// Processes what is due now, and selects.
    fn step(&mut self, now: i64);
    /// When something is due again.
    fn next(&self) -> i64;
    /// The job that is selected for the CPU of this index, if it is ready.
    fn selected(&self, cpu: usize) -> Option<JobId>;
    /// Writes all that future selections depend on.
    fn save(&self, now: Time, state: &mut State);
}

/// A policy that is made of parts.
#[derive(Clone, Debug)]
pub(super) struct Parts<P> {
    name: &'static str,
    parts: Vec<P>,
    /// The part of each task, and its index there.
    home: TaskMap<(u32, u32)>,
    /// The part of each CPU; [`NONE`] if nothing ever runs on it.
    part_of: CpuMap<u32>,
    /// What the engine runs.
    shown: CpuMap<Option<JobId>>,
    online: CpuSet,
    /// For when each part's timer is set.
    timers: Vec<i64>,
    /// Parts that something happened to since the last decision.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
    refusals: Vec<(RequestId, Refusal)>,
}

impl<P: Part> Parts<P> {
    pub(super) fn new(
        name: &'static str,
        parts: Vec<P>,
        cpus: usize,
        home: Vec<(u32, u32)>,
    ) -> Self {
        let mut part_of = CpuMap::filled(NONE, cpus);
        for (index, part) in parts.iter().enumerate() {
            part.cpus().iter().for_each(|&cpu| part_of[cpu] = index as u32);
        }
        Self {
            name,
            home: home.into(),
            part_of,
            shown: CpuMap::filled(None, cpus),
            online: CpuSet::new(),
            timers: vec![NEVER; parts.len()],
            touched: Vec::with_capacity(parts.len()),
            is_touched: vec![false; parts.len()],
            refusals: Vec::new(),
            parts,
        }
    }

    pub(super) fn parts(&self) -> &[P] {
        &self.parts
    }

    /// The tasks and the CPUs of each part.
    fn groups(&self) -> Vec<Group> {
        let group = |(index, part): (usize, &P)| Group {
            cpus: part.cpus().iter().copied().collect(),
            tasks: self
                .home
                .iter()
                .filter(|(_, home)| home.0 == index as u32)
                .map(|(task, _)| task)
                .collect(),
        };
        self.parts.iter().enumerate().map(group).collect()
    }

    /// The part of a task, brought up to now, and the task's index there; it will be asked to select.
    fn touch_task(&mut self, task: TaskId, now: Time) -> Option<(&mut P, usize)> {
        let &(part, member) = self.home.get(task)?;
        self.touch(part);
        let part = &mut self.parts[part as usize];
        part.catch_up(now.ns());
        Some((part, member as usize))
    }

    fn touch(&mut self, part: u32) {
        if !std::mem::replace(&mut self.is_touched[part as usize], true) {
            self.touched.push(part);
        }
    }

    /// The job of a task is no longer there; neither is it on a CPU.
    fn end(&mut self, task: TaskId, now: Time) {
        let Some((part, member)) = self.touch_task(task, now) else { return };
        part.end(member);
        for at in 0..part.cpus().len() {
            let cpu = self.parts[self.home[task].0 as usize].cpus()[at];
            if self.shown[cpu].is_some_and(|job| job.task == task) {
                self.shown[cpu] = None;
            }
        }
    }

    fn touch_cpu(&mut self, cpu: CpuId) {
        if self.part_of[cpu] != NONE {
            self.touch(self.part_of[cpu]);
        }
    }
}

impl<P: Part> Policy for Parts<P> {
    fn on_event(&mut self, now: Time, event: Event) {
        let fixed =
            |name| Refusal::not_permitted(format!("{name} places tasks and CPUs before the start"));
        match event {
            Event::Release { job, deadline, .. } => {
                if let Some((part, member)) = self.touch_task(job.task, now) {
                    part.release(member, job, deadline.ns(), now.ns());
                }
            }
            Event::Completion { job, cpu, .. } => {
                self.shown[cpu] = None;
                if let Some((part, member)) = self.touch_task(job.task, now) {
                    part.end(member);
                }
            }
            Event::Timer { id } => {
                self.timers[id.0 as usize] = NEVER;
                self.touch(id.0);
            }
            Event::Join { task, request, .. } => {
                if self.home.get(task).is_none() {
                    self.refusals.push((request, fixed(self.name)));
                }
            }
            Event::Leave { task } => self.end(task, now),
            Event::Reconfigure { task, change, request } => match change {
                Change::Affinity(cpus) if self.part_of.ids().all(|cpu| cpus.contains(cpu)) => {}
                Change::Parameters { .. } | Change::Affinity(_) | Change::Cluster(_) => {
                    let Refusal { kind, reason } = fixed(self.name);
                    let reason = format!("{reason}: task {task} cannot change");
                    self.refusals.push((request, Refusal { kind, reason }));
                }
            },
            Event::SetClusterCpus { request, .. } => {
                self.refusals.push((request, fixed(self.name)));
            }
            // A budget is never granted, and arrivals are not asked for.
            Event::BudgetExhausted { .. } | Event::Arrival { .. } | Event::Measured { .. } => {}
            Event::CpuOnline { cpu } => {
                self.online.insert(cpu);
                self.touch_cpu(cpu);
            }
            Event::CpuOffline { cpu } => {
                self.online.remove(cpu);
                self.shown[cpu] = None;
                self.touch_cpu(cpu);
            }
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        let Self { parts, shown, online, timers, .. } = self;
        for &index in &self.touched {
            self.is_touched[index as usize] = false;
            let part = &mut parts[index as usize];
            part.catch_up(now.ns());
            part.step(now.ns());
            for (at, &cpu) in part.cpus().iter().enumerate() {
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
            let timer = &mut timers[index as usize];
            if part.next() != *timer {
                *timer = part.next();
                let id = TimerId(index);
                actions.push(match part.next() {
                    NEVER => Action::ClearTimer { id },
                    at => Action::SetTimer { id, at: Time::from_ns(at) },
                });
            }
        }
        self.touched.clear();
        let refusals = self.refusals.drain(..);
        actions.extend(refusals.map(|(request, reason)| Action::Refuse { request, reason }));
    }

    fn save(&self, now: Time, state: &mut State) {
        for part in &self.parts {
            let mut part = part.clone();
            part.catch_up(now.ns());
            part.save(now, state);
        }
        for (cpu, job) in self.shown.iter() {
            state.number(job.map_or(-1, |job| job.task.index() as i64));
            state.number(i64::from(self.online.contains(cpu)));
        }
    }

    fn rule(&self) -> ScheduleRule {
        ScheduleRule::Optimal { groups: self.groups() }
    }
}
