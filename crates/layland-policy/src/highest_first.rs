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
//! A release or a completion costs O(log n) for `n` tasks of its group.

use crate::{Action, Event, Policy, Refusal, RequestId, State};
use layland_model::{
    Change, CpuId, CpuMap, CpuSet, Group, Index, JobId, JobOrder, LargestLast, ScheduleRule,
    SmallestFirst, System, Task, TaskId, TaskMap, Time, Tournament,
};
use std::cmp::Reverse;

/// The key of a job: what decides which job comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The absolute deadline.
    Deadline,
    /// The period of its task (rate-monotonic).
    Period,
    /// The relative deadline of its task (deadline-monotonic).
    RelativeDeadline,
    /// The priority that the task was given.
    Given,
}

impl Key {
    /// The key of every job of a task, unless jobs have keys of their own.
    fn of_task(self, task: &Task) -> Option<i64> {
        match self {
            Key::Deadline => None,
            Key::Period => Some(task.period.ns()),
            Key::RelativeDeadline => Some(task.deadline.ns()),
            Key::Given => Some(task.priority.unwrap_or(i64::MAX - 1)),
        }
    }
}

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

#[derive(Clone, Debug)]
struct TaskState {
    group: usize,
    /// Its place in the tie-breaking order of its group.
    leaf: usize,
    rank: i64,
    /// The key of its jobs, where that is fixed.
    fixed_key: Option<i64>,
    /// Its ready job, if it has one: sequence number and key.
    ready: bool,
    seq: u64,
    key: i64,
    /// The CPU that runs it, or [`NO_CPU`].
    cpu: u32,
    /// The CPU that ran it last, or [`NO_CPU`], and until when.
    last_cpu: u32,
    last_time: Time,
}

#[derive(Clone, Debug)]
struct GroupState {
    /// The CPUs that are online.
    online: CpuSet,
    /// Those of them that run nothing.
    idle: CpuSet,
    idle_count: usize,
    /// The tasks by leaf: ascending rank, then id.
    members: Vec<TaskId>,
    waiting: Tournament<SmallestFirst>,
    running: Tournament<LargestLast>,
    /// Whether something happened since the last decision.
    touched: bool,
}

/// The policy: see the file header.
#[derive(Clone, Debug)]
pub struct HighestFirst {
    name: &'static str,
    scope: Scope,
    key: Key,
    tasks: TaskMap<Option<TaskState>>,
    groups: Vec<GroupState>,
    /// The group of each CPU, if it is in one.
    group_of: CpuMap<Option<usize>>,
    running_on: CpuMap<Option<TaskId>>,
    online: CpuSet,
    touched: Vec<usize>,
    /// CPUs whose job was taken away without a decision: idle unless something new runs.
    vacated: Vec<CpuId>,
    refusals: Vec<(RequestId, Refusal)>,
    starting: Vec<TaskId>,
}

impl HighestFirst {
    /// A policy for `groups` of CPUs with the tasks that each serves.
    pub(crate) fn new(
        name: &'static str,
        scope: Scope,
        key: Key,
        system: &System,
        groups: &[(CpuSet, Vec<TaskId>)],
    ) -> Self {
        let mut policy = Self {
            name,
            scope,
            key,
            tasks: TaskMap::filled(None, system.tasks.len()),
            groups: Vec::with_capacity(groups.len()),
            group_of: CpuMap::filled(None, system.platform.cpu_count()),
            running_on: CpuMap::filled(None, system.platform.cpu_count()),
            online: CpuSet::new(),
            touched: Vec::with_capacity(groups.len()),
            vacated: Vec::new(),
            refusals: Vec::new(),
            starting: Vec::with_capacity(system.platform.cpu_count()),
        };
        for (index, (cpus, members)) in groups.iter().enumerate() {
            cpus.iter().for_each(|cpu| policy.group_of[cpu] = Some(index));
            policy.groups.push(GroupState {
                online: CpuSet::new(),
                idle: CpuSet::new(),
                idle_count: 0,
                members: members.clone(),
                waiting: Tournament::new(0),
                running: Tournament::new(0),
                touched: false,
            });
            for &task in members {
                policy.tasks[task] = Some(TaskState::new(key, index, &system.tasks[task]));
            }
            policy.seat_members(index);
        }
        policy
    }

    /// Orders the members of a group and builds its trees anew.
    fn seat_members(&mut self, group: usize) {
        let Self { tasks, groups, .. } = self;
        let group = &mut groups[group];
        group.members.sort_by_key(|&task| (tasks[task].as_ref().map(|state| state.rank), task));
        group.waiting = Tournament::new(group.members.len());
        group.running = Tournament::new(group.members.len());
        for (leaf, &task) in group.members.iter().enumerate() {
            let Some(state) = &mut tasks[task] else { continue };
            state.leaf = leaf;
            if state.ready && state.cpu == NO_CPU {
                group.waiting.set(leaf, state.key);
            } else if state.ready {
                group.running.set(leaf, state.key);
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
        let group = state.group;
        self.groups[group].waiting.set(state.leaf, state.key);
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
        let (group, leaf) = (state.group, state.leaf);
        if state.cpu == NO_CPU {
            self.groups[group].waiting.clear(leaf);
        } else {
            let cpu = CpuId(state.cpu);
            state.last_cpu = state.cpu;
            state.last_time = now;
            state.cpu = NO_CPU;
            self.groups[group].running.clear(leaf);
            self.groups[group].set_idle(cpu);
            self.running_on[cpu] = None;
        }
        self.touch(group);
    }

    /// The running job of a task goes back to waiting; its CPU is free if it is still online.
    fn suspend(&mut self, now: Time, task: TaskId) {
        let state = self.state(task);
        let (group, leaf, key, cpu) = (state.group, state.leaf, state.key, CpuId(state.cpu));
        state.last_cpu = state.cpu;
        state.last_time = now;
        state.cpu = NO_CPU;
        self.running_on[cpu] = None;
        let group_state = &mut self.groups[group];
        group_state.running.clear(leaf);
        group_state.waiting.set(leaf, key);
        if group_state.online.contains(cpu) {
            group_state.set_idle(cpu);
        }
        self.touch(group);
    }

    fn cpu_online(&mut self, cpu: CpuId) {
        self.online.insert(cpu);
        let Some(group) = self.group_of[cpu] else { return };
        if self.groups[group].online.insert(cpu) {
            self.groups[group].set_idle(cpu);
            self.touch(group);
        }
    }

    /// Takes a CPU out of its group.
    fn withdraw(&mut self, now: Time, cpu: CpuId) {
        let Some(group) = self.group_of[cpu] else { return };
        let group = &mut self.groups[group];
        if !group.online.remove(cpu) {
            return;
        }
        if group.idle.remove(cpu) {
            group.idle_count -= 1;
        }
        if let Some(task) = self.running_on[cpu] {
            self.suspend(now, task);
        }
    }

    fn join(&mut self, task: TaskId, parameters: &Task, request: RequestId) {
        self.tasks.resize(self.tasks.len().max(task.index() + 1), None);
        if let Some(state) = &mut self.tasks[task] {
            state.fixed_key = self.key.of_task(parameters);
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
                self.tasks[task] = Some(TaskState::new(self.key, group, parameters));
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
        let old = state.group;
        if old == group {
            return;
        }
        if state.cpu != NO_CPU {
            let cpu = CpuId(state.cpu);
            self.suspend(now, task);
            self.vacated.push(cpu);
        }
        self.state(task).group = group;
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
                let key = self.key;
                let state = self.state(task);
                state.fixed_key = match key {
                    Key::Deadline => None,
                    Key::Period => Some(period.ns()),
                    Key::RelativeDeadline => Some(deadline.ns()),
                    Key::Given => state.fixed_key,
                };
                return;
            }
            Change::Affinity(cpus) => {
                let home = self.state(task).group;
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
                        if self.running_on[cpu].is_some() {
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
    fn decide_group(&mut self, now: Time, index: usize, actions: &mut Vec<Action>) {
        let Self { groups, tasks, running_on, starting, .. } = self;
        let group = &mut groups[index];
        group.touched = false;
        starting.clear();
        while let Some((leaf, key)) = group.waiting.best() {
            if starting.len() == group.idle_count {
                // No CPU is left over: the last of the running ones gives way, or nobody does.
                let Some((last, last_key)) = group.running.best() else { break };
                if (key, leaf) > (last_key, last) {
                    break;
                }
                let victim =
                    tasks[group.members[last]].as_mut().expect("a running task has joined");
                let cpu = CpuId(victim.cpu);
                victim.last_cpu = victim.cpu;
                victim.last_time = now;
                victim.cpu = NO_CPU;
                running_on[cpu] = None;
                group.running.clear(last);
                group.waiting.set(last, last_key);
                group.set_idle(cpu);
            }
            group.waiting.clear(leaf);
            starting.push(group.members[leaf]);
        }
        if let &[task] = starting.as_slice() {
            let last = tasks[task].as_ref().map_or(NO_CPU, |state| state.last_cpu);
            let cpu = if last != NO_CPU && group.idle.contains(CpuId(last)) {
                CpuId(last)
            } else {
                group.idle.lowest().expect("there is a free CPU for each task that starts")
            };
            start(group, tasks, running_on, task, cpu, actions);
        } else if !starting.is_empty() {
            place(group, tasks, running_on, starting, actions);
        }
    }
}

impl GroupState {
    #[inline]
    fn set_idle(&mut self, cpu: CpuId) {
        self.idle.insert(cpu);
        self.idle_count += 1;
    }
}

impl TaskState {
    fn new(key: Key, group: usize, task: &Task) -> Self {
        Self {
            group,
            leaf: 0,
            rank: task.rank,
            fixed_key: key.of_task(task),
            ready: false,
            seq: 0,
            key: 0,
            cpu: NO_CPU,
            last_cpu: NO_CPU,
            last_time: Time::ZERO,
        }
    }
}

/// Places several tasks that start at once, in their order, by the locality rule.
fn place(
    group: &mut GroupState,
    tasks: &mut TaskMap<Option<TaskState>>,
    running_on: &mut CpuMap<Option<TaskId>>,
    starting: &[TaskId],
    actions: &mut Vec<Action>,
) {
    let last = |task: TaskId| {
        let state = tasks[task].as_ref().expect("a starting task has joined");
        (state.last_cpu, state.last_time)
    };
    // (CPU, most recent first, position): the first entry of each CPU is the task it prefers.
    let mut claims: Vec<(u32, Reverse<Time>, usize)> = starting
        .iter()
        .enumerate()
        .map(|(position, &task)| (last(task).0, Reverse(last(task).1), position))
        .filter(|&(cpu, ..)| cpu != NO_CPU && group.idle.contains(CpuId(cpu)))
        .collect();
    claims.sort_unstable();
    claims.dedup_by_key(|&mut (cpu, ..)| cpu);
    let mut chosen = vec![NO_CPU; starting.len()];
    let mut unreserved = group.idle.clone();
    for &(cpu, _, position) in &claims {
        chosen[position] = cpu;
        unreserved.remove(CpuId(cpu));
    }
    for (position, &task) in starting.iter().enumerate() {
        let cpu = if chosen[position] == NO_CPU {
            let cpu = unreserved.lowest().expect("there is a free CPU for each task that starts");
            unreserved.remove(cpu);
            cpu
        } else {
            CpuId(chosen[position])
        };
        start(group, tasks, running_on, task, cpu, actions);
    }
}

#[inline]
fn start(
    group: &mut GroupState,
    tasks: &mut TaskMap<Option<TaskState>>,
    running_on: &mut CpuMap<Option<TaskId>>,
    task: TaskId,
    cpu: CpuId,
    actions: &mut Vec<Action>,
) {
    let state = tasks[task].as_mut().expect("a starting task has joined");
    state.cpu = cpu.0;
    group.running.set(state.leaf, state.key);
    group.idle.remove(cpu);
    group.idle_count -= 1;
    running_on[cpu] = Some(task);
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
            Event::BudgetExhausted { .. } | Event::Timer { .. } => {}
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
            if self.running_on[cpu].is_none() {
                actions.push(Action::Idle { cpu });
            }
        }
    }

    fn save(&self, now: Time, state: &mut State) {
        for task in self.tasks.values().flatten() {
            state.number(task.group as i64);
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
        let order = match self.key {
            Key::Deadline => JobOrder::Deadline,
            Key::Period | Key::RelativeDeadline | Key::Given => JobOrder::Fixed(
                self.tasks
                    .values()
                    .map(|task| task.as_ref().and_then(|task| task.fixed_key).unwrap_or(i64::MAX))
                    .collect(),
            ),
        };
        ScheduleRule::HighestFirst { groups: groups.collect(), order }
    }
}
