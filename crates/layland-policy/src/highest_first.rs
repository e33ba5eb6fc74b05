//! The scheduler that EDF and fixed-priority policies share: in each *group* of CPUs, the ready
//! jobs that come first in a static order run, and a job that has started keeps its place in the
//! order until it ends.
//!
//! One group of all CPUs is global scheduling, several groups are clustered scheduling, groups of
//! one CPU are partitioned scheduling.
//!
//! Which jobs run: with `m` CPUs online in a group, the `m` first in the order (key, rank, task),
//! where the key is the absolute deadline or a fixed priority, smaller first. The order is strict,
//! so the set is unique.
//!
//! Where they run (the locality rule of Bonifaci et al. 2016, Algorithm 6, for masks that are all
//! the same):
//!
//! 1. A job that goes on running stays where it is.
//! 2. The tasks that start now are taken in the order above. Each is *preferred* by the CPU on
//!    which it ran last, if that CPU is free now; if several ran last on one CPU, the one that ran
//!    most recently is preferred, among equals the first in the order.
//! 3. A preferred task takes its CPU; any other takes the lowest free CPU that prefers nobody.
//!
//! A release or a completion costs O(log w) for `w` waiting jobs of its group. The running job that
//! comes last is remembered; it is looked for, in O(m), only after it has stopped.

use crate::{Action, Count, Event, Needs, Policy, Refusal, RequestId, State};
use layland_model::{
    Change, CpuId, CpuMap, CpuSet, Group, Index, JobId, JobOrder, Order, ScheduleRule, System,
    Task, TaskId, TaskMap, Time,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far the jobs of a task may migrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Over all CPUs.
    Global,
    /// Within the cluster of the task.
    Clustered,
    /// Not at all.
    Partitioned,
}

const NO_CPU: u32 = u32::MAX;

/// The place of a ready job in the order of its group: the key, then the seat of its task, in one
/// number. Smaller comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u128);

impl Place {
    /// Before every job: the place of a CPU that runs nothing.
    const FIRST: Place = Place(0);

    fn new(key: i64, seat: u32) -> Place {
        // Signed keys in unsigned order, and 1 so that FIRST is before all.
        let key = u128::from(key as u64 ^ 1 << 63) + 1;
        Place(key << 32 | u128::from(seat))
    }
    fn seat(self) -> usize {
        self.0 as u32 as usize
    }
}

#[derive(Clone, Debug)]
struct TaskState {
    group: u32,
    /// Its place among the tasks of its group, by rank, then by id.
    seat: u32,
    rank: i64,
    /// The key of its jobs, where that is fixed.
    fixed_key: Option<i64>,
    /// Its ready job, if it has one.
    ready: bool,
    seq: u64,
    key: i64,
    /// The CPU that runs it, or [`NO_CPU`].
    cpu: u32,
    /// The CPU that ran it last, or [`NO_CPU`], and until when.
    last_cpu: u32,
    last_time: Time,
}

impl TaskState {
    fn place(&self) -> Place {
        Place::new(self.key, self.seat)
    }
}

#[derive(Clone, Debug)]
struct GroupState {
    /// The CPUs that are online, as a set and as a list.
    online: CpuSet,
    online_list: Vec<CpuId>,
    /// Those of them that run nothing.
    idle: CpuSet,
    idle_count: usize,
    /// The tasks by seat.
    members: Vec<TaskId>,
    waiting: BinaryHeap<Reverse<Place>>,
    /// The CPU that runs the job that comes last, if that is known.
    last: Option<CpuId>,
    /// Whether something happened since the last decision.
    touched: bool,
}

/// The policy: see the file header.
#[derive(Clone, Debug)]
pub struct HighestFirst {
    name: String,
    scope: Scope,
    order: Order,
    tasks: TaskMap<Option<TaskState>>,
    groups: Vec<GroupState>,
    /// The group of each CPU, if it is in one.
    group_of: CpuMap<Option<usize>>,
    /// The place of the job that each CPU runs; [`Place::FIRST`] if it runs nothing.
    running: CpuMap<Place>,
    online: CpuSet,
    touched: Vec<usize>,
    /// CPUs whose job was taken away without a decision: idle unless something new runs.
    vacated: Vec<CpuId>,
    refusals: Vec<(RequestId, Refusal)>,
    /// Scratch: the tasks that start, and whom each CPU prefers.
    starting: Vec<TaskId>,
    claims: CpuMap<Option<(Time, TaskId)>>,
}

impl HighestFirst {
    /// A policy for `groups` of CPUs with the tasks that each serves.
    pub(crate) fn new(
        name: String,
        scope: Scope,
        order: Order,
        system: &System,
        groups: &[(CpuSet, Vec<TaskId>)],
    ) -> Self {
        let mut policy = Self {
            name,
            scope,
            order,
            tasks: TaskMap::filled(None, system.tasks.len()),
            groups: Vec::with_capacity(groups.len()),
            group_of: CpuMap::filled(None, system.platform.cpu_count()),
            running: CpuMap::filled(Place::FIRST, system.platform.cpu_count()),
            online: CpuSet::new(),
            touched: Vec::with_capacity(groups.len()),
            vacated: Vec::new(),
            refusals: Vec::new(),
            starting: Vec::with_capacity(system.platform.cpu_count()),
            claims: CpuMap::filled(None, system.platform.cpu_count()),
        };
        for (index, (cpus, members)) in groups.iter().enumerate() {
            cpus.iter().for_each(|cpu| policy.group_of[cpu] = Some(index));
            policy.groups.push(GroupState {
                online: CpuSet::new(),
                online_list: Vec::new(),
                idle: CpuSet::new(),
                idle_count: 0,
                members: members.clone(),
                waiting: BinaryHeap::new(),
                last: None,
                touched: false,
            });
            for &task in members {
                policy.tasks[task] = Some(TaskState::new(order, index, &system.tasks[task]));
            }
            policy.seat_members(index);
        }
        policy
    }

    /// Gives every member of a group its seat, and all that depends on seats anew.
    fn seat_members(&mut self, group: usize) {
        let Self { tasks, groups, running, .. } = self;
        let group = &mut groups[group];
        group.members.sort_by_key(|&task| (tasks[task].as_ref().map(|state| state.rank), task));
        group.waiting.clear();
        group.last = None;
        for (seat, &task) in group.members.iter().enumerate() {
            let Some(state) = &mut tasks[task] else { continue };
            state.seat = seat as u32;
            if state.ready && state.cpu == NO_CPU {
                group.waiting.push(Reverse(state.place()));
            } else if state.ready {
                running[CpuId(state.cpu)] = state.place();
            }
        }
    }

    fn state(&mut self, task: TaskId) -> &mut TaskState {
        self.tasks[task].as_mut().expect("a task joins before anything else happens to it")
    }

    #[inline]
    fn touch(&mut self, group: usize) {
        if !self.groups[group].touched {
            self.groups[group].touched = true;
            self.touched.push(group);
        }
    }

    #[inline]
    fn release(&mut self, job: JobId, deadline: Time) {
        let state = self.tasks[job.task].as_mut().expect("a task joins before its first release");
        debug_assert!(!state.ready, "a task has at most one ready job");
        state.ready = true;
        state.seq = job.seq;
        state.key = state.fixed_key.unwrap_or(deadline.ns());
        let (group, place) = (state.group as usize, state.place());
        self.groups[group].waiting.push(Reverse(place));
        self.touch(group);
    }

    /// The job of a task is no longer ready; its CPU, if it has one, runs nothing.
    #[inline]
    fn retire(&mut self, now: Time, task: TaskId) {
        let state = self.tasks[task].as_mut().expect("a task joins before anything else happens");
        if !state.ready {
            return;
        }
        state.ready = false;
        let (group, place) = (state.group as usize, state.place());
        if state.cpu == NO_CPU {
            self.groups[group].waiting.retain(|&Reverse(other)| other != place);
        } else {
            let cpu = CpuId(state.cpu);
            state.stop(now);
            self.groups[group].vacate(cpu, &mut self.running);
        }
        self.touch(group);
    }

    /// The running job of a task goes back to waiting; its CPU is free if it is still online.
    fn suspend(&mut self, now: Time, task: TaskId) {
        let state = self.tasks[task].as_mut().expect("a running task has joined");
        let (group, place, cpu) = (state.group as usize, state.place(), CpuId(state.cpu));
        state.stop(now);
        self.groups[group].vacate(cpu, &mut self.running);
        self.groups[group].waiting.push(Reverse(place));
        self.touch(group);
    }

    /// The task that a CPU runs.
    fn running_on(&self, cpu: CpuId) -> Option<TaskId> {
        let group = self.group_of[cpu]?;
        (self.running[cpu] != Place::FIRST)
            .then(|| self.groups[group].members[self.running[cpu].seat()])
    }

    fn cpu_online(&mut self, cpu: CpuId) {
        self.online.insert(cpu);
        let Some(group) = self.group_of[cpu] else { return };
        if self.groups[group].online.insert(cpu) {
            self.groups[group].online_list = self.groups[group].online.iter().collect();
            self.groups[group].set_idle(cpu);
            self.touch(group);
        }
    }

    /// Takes a CPU out of its group.
    fn withdraw(&mut self, now: Time, cpu: CpuId) {
        let Some(index) = self.group_of[cpu] else { return };
        if !self.groups[index].online.contains(cpu) {
            return;
        }
        if let Some(task) = self.running_on(cpu) {
            self.suspend(now, task);
        }
        let group = &mut self.groups[index];
        group.online.remove(cpu);
        group.online_list = group.online.iter().collect();
        group.idle.remove(cpu);
        group.idle_count -= 1;
    }

    fn join(&mut self, task: TaskId, parameters: &Task, request: RequestId) {
        self.tasks.resize(self.tasks.len().max(task.index() + 1), None);
        if let Some(state) = &mut self.tasks[task] {
            state.fixed_key = self.order.fixed_key(parameters);
            return;
        }
        // A task that the policy was not built with.
        let home = match self.scope {
            Scope::Global => Ok(0),
            Scope::Clustered if parameters.cluster < self.groups.len() => Ok(parameters.cluster),
            Scope::Clustered => Err(format!("cluster {} does not exist", parameters.cluster)),
            Scope::Partitioned => self.given_group(parameters.affinity.as_ref()).ok_or_else(|| {
                format!(
                    "{} assigns tasks before the start: a later one needs an affinity to one CPU",
                    self.name
                )
            }),
        };
        match home {
            Ok(group) => {
                self.tasks[task] = Some(TaskState::new(self.order, group, parameters));
                self.groups[group].members.push(task);
                self.seat_members(group);
            }
            Err(reason) => self.refusals.push((request, Refusal::not_permitted(reason))),
        }
    }

    /// The group of the only CPU in an affinity.
    fn given_group(&self, affinity: Option<&CpuSet>) -> Option<usize> {
        let cpu = affinity.filter(|cpus| cpus.len() == 1)?.lowest()?;
        *self.group_of.get(cpu)?
    }

    /// Moves a task to another group; if its job runs, the job waits there.
    fn move_to(&mut self, now: Time, task: TaskId, group: usize) {
        let state = self.state(task);
        let old = state.group as usize;
        if old == group {
            return;
        }
        if state.cpu != NO_CPU {
            let cpu = CpuId(state.cpu);
            self.suspend(now, task);
            self.vacated.push(cpu);
        }
        self.state(task).group = group as u32;
        self.groups[old].members.retain(|&member| member != task);
        self.groups[group].members.push(task);
        self.seat_members(old);
        self.seat_members(group);
        self.touch(old);
        self.touch(group);
    }

    fn reconfigure(&mut self, now: Time, task: TaskId, change: Change, request: RequestId) {
        let refusal = match change {
            Change::Parameters { period, deadline, .. } => {
                let order = self.order;
                let state = self.state(task);
                state.fixed_key = match order {
                    Order::Deadline => None,
                    Order::RateMonotonic => Some(period.ns()),
                    Order::DeadlineMonotonic => Some(deadline.ns()),
                    Order::Given => state.fixed_key,
                };
                return;
            }
            Change::Affinity(cpus) => {
                let home = self.state(task).group as usize;
                let covers =
                    self.group_of.iter().all(|(cpu, &of)| of != Some(home) || cpus.contains(cpu));
                if covers {
                    return;
                }
                match (self.scope, self.given_group(Some(&cpus))) {
                    (Scope::Partitioned, Some(group)) => return self.move_to(now, task, group),
                    (Scope::Partitioned, None) => Refusal::not_permitted(format!(
                        "{} needs an affinity to one CPU, or one that has the CPU of the task",
                        self.name
                    )),
                    (Scope::Global | Scope::Clustered, _) => Refusal::not_permitted(format!(
                        "{} lets a task migrate over all CPUs of its cluster",
                        self.name
                    )),
                }
            }
            Change::Cluster(cluster) => match self.scope {
                Scope::Clustered => return self.move_to(now, task, cluster),
                Scope::Global | Scope::Partitioned => {
                    Refusal::not_permitted(format!("{} has no clusters to move between", self.name))
                }
            },
        };
        self.refusals.push((request, refusal));
    }

    fn set_cluster_cpus(&mut self, now: Time, cluster: usize, cpus: &CpuSet, request: RequestId) {
        let taken = cpus.iter().any(|cpu| self.group_of[cpu].is_some_and(|group| group != cluster));
        let refusal = match self.scope {
            Scope::Partitioned => Refusal::not_permitted(format!(
                "{} assigned every task to a CPU before the start",
                self.name
            )),
            Scope::Global | Scope::Clustered if taken => {
                Refusal::busy("a CPU is in another cluster")
            }
            Scope::Global | Scope::Clustered => {
                for cpu in self.group_of.ids() {
                    let is_in = self.group_of[cpu] == Some(cluster);
                    if is_in && !cpus.contains(cpu) {
                        if self.running_on(cpu).is_some() {
                            self.vacated.push(cpu);
                        }
                        self.withdraw(now, cpu);
                        self.group_of[cpu] = None;
                    } else if !is_in && cpus.contains(cpu) {
                        self.group_of[cpu] = Some(cluster);
                        if self.online.contains(cpu) {
                            self.cpu_online(cpu);
                        }
                    }
                }
                self.touch(cluster);
                return;
            }
        };
        self.refusals.push((request, refusal));
    }

    /// Fills the free CPUs of a group, preempts where a waiting job comes before a running one, and
    /// places what starts.
    #[inline]
    fn decide_group(&mut self, now: Time, index: usize, actions: &mut Vec<Action>) {
        let Self { groups, tasks, running, claims, starting, .. } = self;
        let group = &mut groups[index];
        group.touched = false;
        starting.clear();
        while let Some(&Reverse(first)) = group.waiting.peek() {
            if starting.len() == group.idle_count {
                // No CPU is left over: the last of the running jobs gives way, or none does.
                let Some((cpu, last)) = group.last_running(running) else { break };
                if first > last {
                    break;
                }
                let victim = tasks[group.members[last.seat()]].as_mut().expect("it has joined");
                victim.stop(now);
                group.vacate(cpu, running);
                group.waiting.pop();
                group.waiting.push(Reverse(last));
            } else {
                group.waiting.pop();
            }
            starting.push(group.members[first.seat()]);
        }
        if let &[task] = starting.as_slice() {
            let last = tasks[task].as_ref().map_or(NO_CPU, |state| state.last_cpu);
            let cpu = if last != NO_CPU && group.idle.contains(CpuId(last)) {
                CpuId(last)
            } else {
                group.idle.lowest().expect("there is a free CPU for each task that starts")
            };
            start(group, tasks, running, task, cpu, actions);
        } else if !starting.is_empty() {
            place(group, tasks, running, claims, starting, actions);
        }
    }
}

impl GroupState {
    #[inline]
    fn set_idle(&mut self, cpu: CpuId) {
        self.idle.insert(cpu);
        self.idle_count += 1;
    }

    /// A CPU no longer runs its job.
    #[inline]
    fn vacate(&mut self, cpu: CpuId, running: &mut CpuMap<Place>) {
        running[cpu] = Place::FIRST;
        if self.last == Some(cpu) {
            self.last = None;
        }
        self.set_idle(cpu);
    }

    /// The running job that comes last, and its CPU.
    #[inline]
    fn last_running(&mut self, running: &CpuMap<Place>) -> Option<(CpuId, Place)> {
        if self.last.is_none() {
            self.last = self.online_list.iter().copied().max_by_key(|&cpu| running[cpu]);
        }
        let cpu = self.last?;
        (running[cpu] != Place::FIRST).then_some((cpu, running[cpu]))
    }
}

impl TaskState {
    fn new(order: Order, group: usize, task: &Task) -> Self {
        Self {
            group: group as u32,
            seat: 0,
            rank: task.rank,
            fixed_key: order.fixed_key(task),
            ready: false,
            seq: 0,
            key: 0,
            cpu: NO_CPU,
            last_cpu: NO_CPU,
            last_time: Time::ZERO,
        }
    }

    /// It no longer runs.
    #[inline]
    fn stop(&mut self, now: Time) {
        self.last_cpu = self.cpu;
        self.last_time = now;
        self.cpu = NO_CPU;
    }
}

/// Places several tasks that start at once, in their order, by the locality rule.
fn place(
    group: &mut GroupState,
    tasks: &mut TaskMap<Option<TaskState>>,
    running: &mut CpuMap<Place>,
    claims: &mut CpuMap<Option<(Time, TaskId)>>,
    starting: &[TaskId],
    actions: &mut Vec<Action>,
) {
    for &task in starting {
        let Some((cpu, time)) = last_place(tasks, task) else { continue };
        if group.idle.contains(cpu) && claims[cpu].is_none_or(|(most_recent, _)| time > most_recent)
        {
            claims[cpu] = Some((time, task));
        }
    }
    // The CPUs that prefer somebody are all different, so these can start first.
    for &task in starting {
        let Some((cpu, _)) = last_place(tasks, task) else { continue };
        if claims[cpu].is_some_and(|(_, preferred)| preferred == task) {
            claims[cpu] = None;
            start(group, tasks, running, task, cpu, actions);
        }
    }
    for &task in starting {
        if tasks[task].as_ref().is_some_and(|state| state.cpu == NO_CPU) {
            let cpu = group.idle.lowest().expect("there is a free CPU for each task that starts");
            start(group, tasks, running, task, cpu, actions);
        }
    }
}

/// Where a task ran last, and until when.
fn last_place(tasks: &TaskMap<Option<TaskState>>, task: TaskId) -> Option<(CpuId, Time)> {
    let state = tasks[task].as_ref().filter(|state| state.last_cpu != NO_CPU)?;
    Some((CpuId(state.last_cpu), state.last_time))
}

#[inline]
fn start(
    group: &mut GroupState,
    tasks: &mut TaskMap<Option<TaskState>>,
    running: &mut CpuMap<Place>,
    task: TaskId,
    cpu: CpuId,
    actions: &mut Vec<Action>,
) {
    let state = tasks[task].as_mut().expect("a starting task has joined");
    state.cpu = cpu.0;
    running[cpu] = state.place();
    group.idle.remove(cpu);
    group.idle_count -= 1;
    if group.last.is_some_and(|last| running[last] < running[cpu]) {
        group.last = Some(cpu);
    }
    actions.push(Action::Run { cpu, job: JobId { task, seq: state.seq }, budget: None });
}

impl Policy for HighestFirst {
    #[inline]
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Release { job, release: _, deadline } => self.release(job, deadline),
            Event::Completion { job, cpu: _, then: _ } => self.retire(now, job.task),
            Event::Join { task, parameters, request } => self.join(task, &parameters, request),
            Event::Leave { task } => {
                self.retire(now, task);
            }
            Event::Reconfigure { task, change, request } => {
                self.reconfigure(now, task, change, request)
            }
            Event::SetClusterCpus { cluster, cpus, request } => {
                self.set_cluster_cpus(now, cluster, &cpus, request);
            }
            Event::CpuOnline { cpu } => self.cpu_online(cpu),
            Event::CpuOffline { cpu } => {
                self.online.remove(cpu);
                self.withdraw(now, cpu);
            }
            // No budget is ever granted and no timer set.
            Event::BudgetExhausted { .. }
            | Event::Timer { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. } => {}
        }
    }

    #[inline]
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        for (request, reason) in self.refusals.drain(..) {
            actions.push(Action::Refuse { request, reason });
        }
        while let Some(group) = self.touched.pop() {
            self.decide_group(now, group, actions);
        }
        for cpu in std::mem::take(&mut self.vacated) {
            if self.running_on(cpu).is_none() {
                actions.push(Action::Idle { cpu });
            }
        }
    }

    fn save(&self, now: Time, state: &mut State) {
        for task in self.tasks.values().flatten() {
            state.number(i64::from(task.group));
            state.number(if task.ready { i64::from(task.cpu) } else { -1 });
            match task.fixed_key {
                Some(key) => state.number(key),
                None if task.ready => state.time(Time::from_ns(task.key), now),
                None => {}
            }
            // How recently it ran matters only against others that ran last on the same CPU.
            state.number(i64::from(task.last_cpu));
            let more_recent = self.tasks.values().flatten().filter(|other| {
                other.last_cpu == task.last_cpu && other.last_time > task.last_time
            });
            state.number(more_recent.count() as i64);
        }
        self.group_of.ids().for_each(|cpu| state.number(i64::from(self.online.contains(cpu))));
    }

    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }

    fn rule(&self) -> ScheduleRule {
        let groups = self.groups.iter().enumerate().map(|(index, group)| Group {
            cpus: self
                .group_of
                .iter()
                .filter(|&(_, &of)| of == Some(index))
                .map(|(cpu, _)| cpu)
                .collect(),
            tasks: group.members.clone(),
        });
        let order = match self.order {
            Order::Deadline => JobOrder::Deadline,
            Order::RateMonotonic | Order::DeadlineMonotonic | Order::Given => JobOrder::Fixed(
                self.tasks
                    .values()
                    .map(|task| task.as_ref().and_then(|task| task.fixed_key).unwrap_or(i64::MAX))
                    .collect(),
            ),
        };
        ScheduleRule::HighestFirst { groups: groups.collect(), order }
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}
