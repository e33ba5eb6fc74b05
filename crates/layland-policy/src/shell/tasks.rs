//! The tasks of a [`Grouped`](super::Grouped) policy, and the ready job of each.

use super::priority::Priority;
use layland_model::{CpuId, Index, JobId, Order, Service, System, Task, TaskId, TaskMap, Time};

const NO_CPU: u32 = u32::MAX;

/// A task and its ready job, if it has one. It is small, because every event reads one.
#[derive(Clone, Debug)]
pub(super) struct TaskState {
    pub group: u32,
    /// Where it is among all tasks, by rank, then by id.
    seat: u32,
    /// The key of its jobs, where that is fixed.
    pub fixed_key: Option<i64>,
    pub wcet: Service,
    /// The ready job: its number, its key, and what is left of its WCET at its last start or stop.
    pub ready: bool,
    pub urgent: bool,
    pub seq: u64,
    pub key: i64,
    pub left: Service,
    /// The CPU that runs it, or [`NO_CPU`], and since when.
    cpu: u32,
    since: Time,
    /// The CPU that ran it last, or [`NO_CPU`], and until when.
    last_cpu: u32,
    last_time: Time,
    /// It has joined, and has not left. Before the start this is so for every task.
    pub is_in: bool,
}

impl TaskState {
    fn new(order: Order, group: usize, task: &Task) -> Self {
        Self {
            group: group as u32,
            seat: 0,
            fixed_key: order.fixed_key(task),
            wcet: task.own_wcet(),
            ready: false,
            urgent: false,
            seq: 0,
            key: 0,
            left: Service::ZERO,
            cpu: NO_CPU,
            since: Time::ZERO,
            last_cpu: NO_CPU,
            last_time: Time::ZERO,
            is_in: true,
        }
    }

    #[inline]
    pub(super) fn priority(&self) -> Priority {
        let priority = Priority::new(self.key, self.seat);
        if self.urgent { priority.urgent() } else { priority }
    }

    /// The CPU that runs it.
    #[inline]
    pub(super) fn cpu(&self) -> Option<CpuId> {
        (self.cpu != NO_CPU).then_some(CpuId(self.cpu))
    }

    /// The CPU on which it ran last before now, and until when.
    #[inline]
    pub(super) fn last(&self) -> Option<(CpuId, Time)> {
        (self.last_cpu != NO_CPU).then_some((CpuId(self.last_cpu), self.last_time))
    }

    #[inline]
    pub(super) fn release(&mut self, seq: u64, deadline: Time) {
        debug_assert!(!self.ready, "a task has at most one ready job");
        self.ready = true;
        self.urgent = false;
        self.seq = seq;
        self.key = self.fixed_key.unwrap_or(deadline.ns());
        self.left = self.wcet;
    }

    #[inline]
    pub(super) fn start(&mut self, now: Time, cpu: CpuId) {
        self.cpu = cpu.0;
        self.since = now;
    }

    #[inline]
    pub(super) fn stop(&mut self, now: Time) {
        self.left = self.left_at(now);
        self.last_cpu = self.cpu;
        self.last_time = now;
        self.cpu = NO_CPU;
    }

    /// What is left of the WCET of its job; negative once that is exceeded.
    #[inline]
    pub(super) fn left_at(&self, now: Time) -> Service {
        if self.cpu == NO_CPU {
            return self.left;
        }
        self.left - Service::from_ns((now - self.since).ns())
    }
}

/// All tasks, by id and by seat.
#[derive(Clone, Debug)]
pub(super) struct Tasks {
    order: Order,
    states: TaskMap<Option<TaskState>>,
    ranks: TaskMap<i64>,
    by_seat: Vec<TaskId>,
}

impl Tasks {
    /// The tasks of a system, each with the group that serves it.
    pub(super) fn new<'a>(
        order: Order,
        system: &System,
        groups: impl Iterator<Item = &'a [TaskId]>,
    ) -> Self {
        let mut states = TaskMap::filled(None, system.tasks.len());
        for (group, tasks) in groups.enumerate() {
            for &task in tasks {
                states[task] = Some(TaskState::new(order, group, &system.tasks[task]));
            }
        }
        let ranks = system.tasks.values().map(|task| task.rank).collect();
        let mut tasks = Self { order, states, ranks, by_seat: system.by_rank() };
        tasks.seat_from(0);
        tasks
    }

    /// Writes into the tasks where they are in the order.
    fn seat_from(&mut self, at: usize) {
        for (seat, &task) in self.by_seat.iter().enumerate().skip(at) {
            self.states[task].as_mut().expect("every task is in a group").seat = seat as u32;
        }
    }

    /// The order that keys follow.
    pub(super) fn order(&self) -> Order {
        self.order
    }

    pub(super) fn get(&self, task: TaskId) -> Option<&TaskState> {
        self.states.get(task)?.as_ref()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &TaskState> {
        self.states.values().flatten()
    }

    /// The fixed key of every task, for those orders that have some.
    pub(super) fn fixed_keys(&self) -> TaskMap<i64> {
        let key = |state: &Option<TaskState>| state.as_ref().and_then(|state| state.fixed_key);
        self.states.values().map(|state| key(state).unwrap_or(i64::MAX)).collect()
    }

    /// Adds a task, or replaces one that has left. Whether the priorities of others have changed.
    pub(super) fn add(&mut self, task: TaskId, group: usize, parameters: &Task) -> Reseated {
        let count = self.states.len().max(task.index() + 1);
        self.states.resize(count, None);
        self.ranks.resize(count, 0);
        let known = self.states[task].replace(TaskState::new(self.order, group, parameters));
        match known {
            Some(known) if self.ranks[task] == parameters.rank => {
                self.of(task).seat = known.seat;
                return Reseated::Nobody;
            }
            Some(_) => self.by_seat.retain(|&other| other != task),
            None => {}
        }
        self.ranks[task] = parameters.rank;
        let comes_before = |&other: &TaskId| (self.ranks[other], other) < (parameters.rank, task);
        let at = self.by_seat.partition_point(comes_before);
        self.by_seat.insert(at, task);
        self.seat_from(at);
        if known.is_none() && at + 1 == self.by_seat.len() {
            Reseated::Nobody
        } else {
            Reseated::Others
        }
    }

    /// A task that has joined.
    #[inline]
    pub(super) fn of(&mut self, task: TaskId) -> &mut TaskState {
        self.states[task].as_mut().expect("a task joins before anything else happens to it")
    }

    /// The task whose job has this priority.
    #[inline]
    pub(super) fn task(&self, job: Priority) -> TaskId {
        self.by_seat[job.seat()]
    }

    /// The job that has this priority.
    #[inline]
    pub(super) fn job(&self, job: Priority) -> (&TaskState, JobId) {
        let task = self.task(job);
        let state = self.states[task].as_ref().expect("a task with a job is known");
        (state, JobId { task, seq: state.seq })
    }
}

/// Whether the arrival of a task has changed the priorities of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Reseated {
    Nobody,
    Others,
}
