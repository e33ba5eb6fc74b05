//! A policy made of [`Scheduler`]s: one instance for each group of CPUs.

use super::federated;
use super::groups::{self, Groups};
use super::parts::{Alarm, Refusals};
use super::priority::Priority;
use super::tasks::{JobKey, Reseated, Tasks};
use super::turn::{GroupCpus, Scratch, Turn};
use super::{Scheduler, Scope};
use crate::info::{PolicyOptions, SystemRefusal};
use crate::{Action, Count, Event, Needs, Policy, State, TimerId};
use layland_model::{
    CpuId, CpuMap, CpuSet, Duration, Group, InLevel, JobId, JobOrder, Order, Placement, Rate,
    ScheduleRule, Speed, System, Task, TaskId, TaskMap, Time,
};

/// The state of a group.
#[derive(Clone, Debug)]
pub(super) struct GroupState<S> {
    pub scheduler: S,
    pub cpus: GroupCpus,
    pub tasks: Vec<TaskId>,
    alarm: Alarm,
    /// True if there were events since the last decision.
    touched: bool,
}

/// Schedules one or more groups of CPUs, each with its own [`Scheduler`].
#[derive(Clone, Debug)]
pub struct Grouped<S> {
    pub(super) name: String,
    pub(super) scope: Scope,
    pub(super) tasks: Tasks,
    pub(super) groups: Vec<GroupState<S>>,
    /// The group of each CPU, if it is in one.
    pub(super) group_of: CpuMap<Option<usize>>,
    /// The priority of the job that each CPU runs; [`Priority::IDLE`] if it runs nothing.
    running: CpuMap<Priority>,
    pub(super) online: CpuSet,
    touched: Vec<usize>,
    /// CPUs that lost their job without a decision: they become idle unless a new job runs there.
    pub(super) vacated: Vec<CpuId>,
    pub(super) refusals: Refusals,
    scratch: Scratch,
    /// The place of the speed of each CPU among all speeds, the highest first, if jobs go to the
    /// fastest CPUs and some group has CPUs of different speeds.
    classes: Option<CpuMap<u32>>,
}

impl<S: Scheduler> Grouped<S> {
    /// Returns a policy with copies of a scheduler. The options are those of the scope: the ways to
    /// pack tasks.
    ///
    /// # Errors
    /// - [`Scope::Global`]: if the system has several clusters, or a task may not use every CPU.
    /// - [`Scope::Clustered`]: if a task may not use every CPU of its cluster, or `size` splits the CPUs
    ///   into clusters that the tasks do not fit.
    /// - [`Scope::Partitioned`]: if the tasks cannot be packed.
    /// - [`Scope::Federated`]: as [`federated`](crate::federated::federated).
    /// - A task has no priority, and the order needs one.
    /// - A task has non-preemptive regions, and the scheduler does not keep them.
    pub fn new(
        name: impl Into<String>,
        scope: Scope,
        order: Order,
        system: &System,
        options: &PolicyOptions,
        scheduler: S,
    ) -> Result<Self, SystemRefusal> {
        let name = name.into();
        let groups: Groups = match scope {
            Scope::Global => groups::global(&name, system)?,
            Scope::Clustered => groups::clustered(&name, system, options)?,
            Scope::Partitioned => groups::partitioned(&name, order, system, options)?,
            Scope::Federated => federated::groups(&name, system, options)?,
        };
        groups::check_priorities(order, system)?;
        for (id, task) in system.tasks.iter() {
            if !scheduler.keeps_regions(id, task) {
                return Err(SystemRefusal::of_regions(&name, id, task));
            }
        }
        let cpus = system.platform.cpu_count();
        let mut group_of = CpuMap::filled(None, cpus);
        for (index, (cpus, _)) in groups.iter().enumerate() {
            cpus.iter().for_each(|cpu| group_of[cpu] = Some(index));
        }
        let by_group = groups.iter().map(|(_, tasks)| tasks.as_slice());
        let tasks = Tasks::new(order, S::PROGRESS, system, by_group);
        let state = |(_, tasks): (CpuSet, Vec<TaskId>)| GroupState {
            scheduler: scheduler.clone(),
            cpus: GroupCpus::default(),
            tasks,
            alarm: Alarm::OFF,
            touched: false,
        };
        Ok(Self {
            name,
            scope,
            tasks,
            touched: Vec::with_capacity(groups.len()),
            groups: groups.into_iter().map(state).collect(),
            group_of,
            running: CpuMap::filled(Priority::IDLE, cpus),
            online: CpuSet::new(),
            vacated: Vec::new(),
            refusals: Refusals::default(),
            scratch: Scratch::new(cpus),
            classes: None,
        })
    }

    /// Makes the jobs of highest priority run on the fastest CPUs of their groups, where these have
    /// different speeds: see the header of `turn.rs`. By default the locality rule alone decides.
    #[must_use]
    pub(crate) fn placing(mut self, place: Placement, system: &System) -> Self {
        let mut groups = self.cpus_and_tasks();
        let is_mixed = groups.any(|(cpus, _)| cpus.len() > 1 && system.speed_of(&cpus).is_none());
        // A request may put CPUs of any speeds together.
        let may_be_mixed = is_mixed || !system.requests.is_empty();
        drop(groups);
        if place == Placement::FastestFirst && may_be_mixed && !system.platform.is_unit_speed() {
            let mut speeds: Vec<Rate> = system.platform.speeds.values().map(|s| s.rate()).collect();
            speeds.sort_unstable_by(|a, b| b.cmp(a));
            speeds.dedup();
            let class = |speed: &Speed| {
                let own = speed.rate();
                speeds.iter().position(|speed| *speed == own).unwrap_or_default() as u32
            };
            self.classes = Some(system.platform.speeds.values().map(class).collect());
        }
        self
    }

    /// Makes the jobs of these tasks come first, in the order of ranks. This class is fixed before
    /// the start, so the policy then refuses tasks that join later and changes of parameters.
    #[must_use]
    pub(crate) fn putting_first(mut self, mut top: Vec<TaskId>) -> Self {
        top.sort_unstable();
        self.tasks.put_first(top);
        self
    }

    /// Makes jobs count as due before their deadlines, by the given time for each task on the CPUs
    /// of its group; on CPUs of one speed for the task in [time](Task::at_speed). These times are fixed
    /// before the start, so the policy then refuses tasks that join later and changes of parameters.
    /// For the order of deadlines.
    #[must_use]
    pub(crate) fn advancing(
        mut self,
        system: &System,
        earlier: impl Fn(&Task, usize) -> Duration,
    ) -> Self {
        let cpus: Vec<CpuSet> = self.cpus_and_tasks().map(|(cpus, _)| cpus).collect();
        let speeds: Vec<Option<Speed>> = cpus.iter().map(|cpus| system.speed_of(cpus)).collect();
        let of = |(id, task): (TaskId, &Task)| {
            let group = self.tasks.get(id).map_or(0, |state| state.group as usize);
            let other = speeds[group].filter(|&speed| speed != Speed::UNIT);
            match other.and_then(|speed| task.at_speed(speed)) {
                Some(timed) => earlier(&timed, cpus[group].len()),
                None => earlier(task, cpus[group].len()),
            }
        };
        let earlier = system.tasks.iter().map(of).collect();
        self.tasks.advance(earlier);
        self
    }

    /// Makes the jobs of tasks with the same number queue by the time at which they became ready,
    /// regardless of the ranks. A scheduler of such jobs preempts no job for another one with the
    /// same number.
    #[must_use]
    pub(crate) fn queueing_in_levels(mut self, in_level: InLevel) -> Self {
        self.tasks.queue_in_levels(in_level);
        self
    }

    /// Returns the tasks of each group.
    pub(crate) fn tasks_of_groups(&self) -> impl Iterator<Item = &[TaskId]> {
        self.groups.iter().map(|group| group.tasks.as_slice())
    }

    /// Returns the schedulers of the groups.
    pub(crate) fn schedulers(&self) -> impl Iterator<Item = &S> {
        self.groups.iter().map(|group| &group.scheduler)
    }

    /// Returns the CPUs and the tasks of each group.
    pub(crate) fn cpus_and_tasks(&self) -> impl Iterator<Item = (CpuSet, &[TaskId])> {
        let cpus = |index: usize| {
            let all = self.group_of.iter().filter(move |&(_, &of)| of == Some(index));
            all.map(|(cpu, _)| cpu).collect()
        };
        self.groups.iter().enumerate().map(move |(index, group)| (cpus(index), &group.tasks[..]))
    }

    /// Changes every scheduler before the start.
    #[must_use]
    pub(crate) fn changing(mut self, change: impl Fn(&mut S)) -> Self {
        self.groups.iter_mut().for_each(|group| change(&mut group.scheduler));
        self
    }

    /// Gives every scheduler the CPUs of its group before the start.
    #[must_use]
    pub(crate) fn knowing_their_cpus(mut self, know: impl Fn(&mut S, &CpuSet)) -> Self {
        let of_all: Vec<CpuSet> = self.cpus_and_tasks().map(|(cpus, _)| cpus).collect();
        for (group, cpus) in self.groups.iter_mut().zip(&of_all) {
            know(&mut group.scheduler, cpus);
        }
        self
    }

    /// Returns true if two tasks of a group have the same number.
    fn shares_numbers(&self, numbers: &TaskMap<i64>) -> bool {
        self.groups.iter().any(|group| {
            let mut of_group: Vec<i64> = group.tasks.iter().map(|&task| numbers[task]).collect();
            of_group.sort_unstable();
            of_group.windows(2).any(|pair| pair[0] == pair[1])
        })
    }

    #[inline]
    pub(super) fn touch(&mut self, group: usize) {
        if !self.groups[group].touched {
            self.groups[group].touched = true;
            self.touched.push(group);
        }
    }

    #[inline]
    fn release(&mut self, job: JobId, release: Time, deadline: Time) {
        let state = self.tasks.release(job, release, deadline);
        let (group, priority) = (state.group as usize, state.priority);
        self.groups[group].scheduler.wait(priority);
        self.touch(group);
    }

    /// Handles a task whose job is no longer ready; its CPU, if it has one, becomes idle.
    #[inline]
    pub(super) fn retire(&mut self, now: Time, task: TaskId) {
        let state = self.tasks.of(task);
        if !std::mem::replace(&mut state.ready, false) {
            return;
        }
        let (group, priority) = (state.group as usize, state.priority);
        match state.cpu() {
            None => self.groups[group].scheduler.forget(priority),
            Some(cpu) => {
                self.tasks.stop(task, now);
                self.groups[group].cpus.vacate(cpu, &mut self.running);
            }
        }
        self.touch(group);
    }

    /// Makes a running job wait again, without a decision; its CPU becomes idle.
    pub(super) fn suspend(&mut self, now: Time, task: TaskId, cpu: CpuId) {
        let state = self.tasks.of(task);
        let (group, priority) = (state.group as usize, state.priority);
        self.tasks.stop(task, now);
        self.groups[group].cpus.vacate(cpu, &mut self.running);
        self.groups[group].scheduler.wait(priority);
        self.touch(group);
    }

    /// Returns the task that a CPU runs.
    pub(super) fn running_on(&self, cpu: CpuId) -> Option<TaskId> {
        let priority = self.running[cpu];
        (priority != Priority::IDLE).then(|| self.tasks.task(priority))
    }

    pub(super) fn cpu_online(&mut self, cpu: CpuId) {
        self.online.insert(cpu);
        if let Some(group) = self.group_of[cpu]
            && self.groups[group].cpus.add(cpu)
        {
            self.touch(group);
        }
    }

    /// Removes a CPU from its group.
    pub(super) fn withdraw(&mut self, now: Time, cpu: CpuId) {
        let Some(group) = self.group_of[cpu] else { return };
        if self.groups[group].cpus.contains(cpu) {
            if let Some(task) = self.running_on(cpu) {
                self.suspend(now, task, cpu);
            }
            self.groups[group].cpus.remove(cpu);
        }
    }

    /// Passes the waiting jobs to every scheduler again, after priorities have changed.
    pub(super) fn reseat(&mut self, reseated: Reseated) {
        match reseated {
            Reseated::Nobody => return,
            Reseated::Others => {}
        }
        for group in &mut self.groups {
            group.scheduler.clear();
            group.cpus.forget_lowest();
        }
        for (_, state) in self.tasks.iter().filter(|(_, state)| state.ready) {
            match state.cpu() {
                Some(cpu) => self.running[cpu] = state.priority,
                None => self.groups[state.group as usize].scheduler.wait(state.priority),
            }
        }
    }

    #[inline]
    fn decide_group(&mut self, now: Time, index: usize, actions: &mut Vec<Action>) {
        let Self { groups, tasks, running, scratch, classes, .. } = self;
        let classes = classes.as_ref();
        let GroupState { scheduler, cpus, alarm, touched, .. } = &mut groups[index];
        *touched = false;
        let wake_at = Time::NEVER;
        let mut turn = Turn { now, cpus, tasks, running, scratch, actions, classes, wake_at };
        scheduler.decide(&mut turn);
        turn.finish();
        let wake_at = turn.wake_at;
        alarm.set(wake_at, TimerId(index as u32), actions);
    }
}

impl<S: Scheduler> Policy for Grouped<S> {
    #[inline]
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Release { job, release, deadline } => self.release(job, release, deadline),
            Event::Completion { job, cpu: _, then: _ } | Event::Ended { job } => {
                self.retire(now, job.task);
            }
            Event::Timer { id } => {
                let group = id.0 as usize;
                self.groups[group].alarm.rang();
                self.touch(group);
            }
            Event::Join { task, parameters, request } => self.join(task, &parameters, request),
            Event::Leave { task } => self.leave(now, task),
            Event::Reconfigure { task, change, request } => {
                self.reconfigure(now, task, change, request);
            }
            Event::SetClusterCpus { cluster, cpus, request } => {
                self.set_cluster_cpus(now, cluster, &cpus, request);
            }
            Event::CpuOnline { cpu } => self.cpu_online(cpu),
            Event::CpuOffline { cpu } => {
                self.online.remove(cpu);
                self.withdraw(now, cpu);
            }
            // Only policies that need arrivals receive them: the job may not be ready.
            Event::Arrival { job, .. } => {
                let group = self.tasks.of(job.task).group as usize;
                self.touch(group);
            }
            // This policy never grants budgets, and refuses tasks with steps.
            Event::BudgetExhausted { .. } | Event::Measured { .. } | Event::Step { .. } => {}
        }
    }

    #[inline]
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.refusals.emit(actions);
        while let Some(group) = self.touched.pop() {
            self.decide_group(now, group, actions);
        }
        if !self.vacated.is_empty() {
            for cpu in std::mem::take(&mut self.vacated) {
                if self.running_on(cpu).is_none() {
                    actions.push(Action::Idle { cpu });
                }
            }
        }
    }

    fn save(&self, now: Time, state: &mut State) {
        for (id, task) in self.tasks.iter() {
            state.number(i64::from(task.group));
            state.number(match task.cpu() {
                _ if !task.ready => -1,
                Some(cpu) => i64::from(cpu.0),
                None => i64::from(u32::MAX),
            });
            match task.key {
                JobKey::Fixed(key) => state.number(key),
                JobKey::Level(level) => {
                    state.number(level);
                    if task.ready {
                        state.time(Time::from_ns(task.priority.key()), now);
                    }
                }
                JobKey::BeforeDeadline(_) if task.ready => {
                    let by_key = || Time::from_ns(task.priority.key());
                    state.time(self.tasks.deadline(id).unwrap_or_else(by_key), now);
                }
                JobKey::BeforeDeadline(_) => {}
            }
            if task.ready {
                state.number(i64::from(task.priority.is_urgent()));
                // The running jobs may influence the next decision.
                state.number(i64::from(task.cpu().is_some()));
                self.tasks.left(id, now).into_iter().for_each(|left| state.number(left.ns()));
            }
            // Save recency only relative to tasks that ran last on the same CPU: others do not
            // compete.
            let cpu_of = |last: Option<(CpuId, Time)>| last.map(|(cpu, _)| cpu);
            let (cpu, until) = (cpu_of(task.last()), task.last().map(|(_, until)| until));
            state.number(cpu.map_or(-1, |cpu| i64::from(cpu.0)));
            let more_recent = self
                .tasks
                .iter()
                .map(|(_, other)| other.last())
                .filter(|&other| cpu_of(other) == cpu && other.map(|(_, until)| until) > until);
            state.number(more_recent.count() as i64);
        }
        self.groups.iter().for_each(|group| group.scheduler.save(now, state));
        self.group_of.ids().for_each(|cpu| state.number(i64::from(self.online.contains(cpu))));
    }

    fn needs(&self) -> Needs {
        Needs { schedules: S::SCHEDULES, ..Needs::READY_JOBS }
    }

    fn rule(&self) -> ScheduleRule {
        let cpus = |index: usize| {
            let all = self.group_of.iter().filter(move |&(_, &of)| of == Some(index));
            all.map(|(cpu, _)| cpu).collect()
        };
        let tasks = |group: &GroupState<S>| {
            let mut tasks = group.tasks.clone();
            tasks.sort_by_key(|&task| self.tasks.get(task).map(|state| state.priority.seat()));
            tasks
        };
        let groups = self.groups.iter().enumerate();
        let groups = groups.map(|(index, group)| Group { cpus: cpus(index), tasks: tasks(group) });
        let order = match (self.tasks.top(), self.tasks.order()) {
            (Some(top), then) => JobOrder::TopFirst { top: top.to_vec(), then },
            (None, Order::Deadline) => match self.tasks.earlier() {
                Some(earlier) => JobOrder::Points(earlier.clone()),
                None => JobOrder::Deadline,
            },
            (None, Order::RateMonotonic | Order::DeadlineMonotonic | Order::Given) => {
                let numbers = self.tasks.fixed_keys();
                match self.tasks.in_level() {
                    Some(in_level) if self.shares_numbers(&numbers) => {
                        JobOrder::Levels { levels: numbers, in_level }
                    }
                    Some(_) | None => JobOrder::Fixed(numbers),
                }
            }
        };
        let groups: Vec<Group> = groups.collect();
        let Some(group) = self.groups.first() else { return ScheduleRule::None };
        match (group.scheduler.rule(groups, order), &self.classes) {
            (ScheduleRule::HighestFirst { groups, order, .. }, Some(_)) => {
                ScheduleRule::HighestFirst { groups, order, placement: Placement::FastestFirst }
            }
            (rule, _) => rule,
        }
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }

    fn is_highest_first(&self) -> bool {
        match (self.groups.first(), self.rule()) {
            (Some(group), ScheduleRule::HighestFirst { order, .. }) => {
                group.scheduler.is_highest_first(&order)
            }
            _ => false,
        }
    }
}
