//! The tasks of a [`Grouped`](super::Grouped) policy, and the ready job of each.

use super::Progress;
use super::priority::Priority;
use layland_model::{
    CpuId, Duration, InLevel, Index, JobId, JobOrder, Order, Service, System, Task, TaskId,
    TaskMap, Time,
};

const NO_CPU: u32 = u32::MAX;

/// The key of the jobs of a task: a smaller key is a higher priority.
#[derive(Clone, Copy, Debug)]
pub(super) enum JobKey {
    /// This key for all jobs.
    Fixed(i64),
    /// The deadline of the job, less this number of nanoseconds.
    BeforeDeadline(i64),
    /// The time at which the job became ready, behind all jobs of smaller levels.
    Level(i64),
}

impl JobKey {
    /// Returns the key for all jobs of a task if the order has one, and the deadline otherwise.
    fn of(fixed: Option<i64>) -> JobKey {
        fixed.map_or(JobKey::BeforeDeadline(0), JobKey::Fixed)
    }
}

/// A task and its ready job, if it has one. Every event reads one, so it fits in exactly one cache
/// line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct TaskState {
    /// The priority of the ready job; while there is none, only its seat is valid.
    pub priority: Priority,
    pub seq: u64,
    /// The rule for the keys of its jobs.
    pub key: JobKey,
    pub group: u32,
    /// True if it has a ready job.
    pub ready: bool,
    /// The CPU that runs it, or [`NO_CPU`].
    cpu: u32,
    /// Its last CPU, or [`NO_CPU`], and the time until which it ran there.
    last_cpu: u32,
    last_time: Time,
    /// True if it has joined, and has not left. Before the start this is true of every task.
    pub is_in: bool,
}

impl TaskState {
    fn new(key: JobKey, group: usize) -> Self {
        Self {
            priority: Priority::new(0, 0),
            seq: 0,
            key,
            group: group as u32,
            ready: false,
            cpu: NO_CPU,
            last_cpu: NO_CPU,
            last_time: Time::ZERO,
            is_in: true,
        }
    }

    /// Returns the CPU that runs it.
    #[inline]
    pub(super) fn cpu(&self) -> Option<CpuId> {
        (self.cpu != NO_CPU).then_some(CpuId(self.cpu))
    }

    /// Returns its last CPU before now, and the time until which it ran there.
    #[inline]
    pub(super) fn last(&self) -> Option<(CpuId, Time)> {
        (self.last_cpu != NO_CPU).then_some((CpuId(self.last_cpu), self.last_time))
    }

    #[inline]
    fn release(&mut self, seq: u64, release: Time, deadline: Time, levels: &[i64]) {
        debug_assert!(!self.ready, "a task has at most one ready job");
        self.ready = true;
        self.seq = seq;
        let seat = self.priority.seat() as u32;
        self.priority = match self.key {
            JobKey::Fixed(key) => Priority::new(key, seat),
            JobKey::BeforeDeadline(earlier) => Priority::new(deadline.ns() - earlier, seat),
            JobKey::Level(level) => Priority::in_level(place(levels, level), release.ns(), seat),
        };
    }

    #[inline]
    fn stop(&mut self, now: Time) {
        self.last_cpu = self.cpu;
        self.last_time = now;
        self.cpu = NO_CPU;
    }
}

/// Returns the position of a level among all.
fn place(levels: &[i64], level: i64) -> usize {
    levels.partition_point(|&other| other < level)
}

/// The remaining WCET of a job.
#[derive(Clone, Copy, Debug)]
struct RemainingWcet {
    wcet: Service,
    /// The WCET of the job at its release.
    granted: Service,
    /// The rest at the last start or stop of the job; negative once the job has exceeded its WCET.
    left: Service,
    deadline: Time,
    /// The time since which the job runs.
    since: Option<Time>,
}

impl RemainingWcet {
    fn of(task: &Task) -> RemainingWcet {
        let (left, granted) = (Service::ZERO, Service::ZERO);
        RemainingWcet { wcet: task.own_wcet(), granted, left, deadline: Time::ZERO, since: None }
    }

    fn at(&self, now: Time) -> Service {
        self.left - self.since.map_or(Service::ZERO, |since| (now - since).at_unit_speed())
    }
}

/// All tasks, by id and by seat.
#[derive(Clone, Debug)]
pub(super) struct Tasks {
    order: Order,
    /// The tasks that come first regardless of the order, by id; `None` if the policy has no such
    /// class.
    top: Option<Vec<TaskId>>,
    /// The time by which jobs count as due before their deadlines, by id; `None` if no task has
    /// one.
    earlier: Option<TaskMap<Duration>>,
    /// The order within a level, if ranks do not decide it, and every level that a task has ever
    /// had, ascending.
    levels: Option<(InLevel, Vec<i64>)>,
    states: TaskMap<Option<TaskState>>,
    ranks: TaskMap<i64>,
    by_seat: Vec<TaskId>,
    /// The remaining WCETs, apart from the states, which are small because every event reads one;
    /// `None` if not tracked.
    left: Option<TaskMap<RemainingWcet>>,
}

impl Tasks {
    /// Returns the tasks of a system, each with the group that serves it.
    pub(super) fn new<'a>(
        order: Order,
        progress: Progress,
        system: &System,
        groups: impl Iterator<Item = &'a [TaskId]>,
    ) -> Self {
        let mut states = TaskMap::filled(None, system.tasks.len());
        for (group, tasks) in groups.enumerate() {
            for &task in tasks {
                let key = JobKey::of(order.fixed_key(&system.tasks[task]));
                states[task] = Some(TaskState::new(key, group));
            }
        }
        let ranks = system.tasks.values().map(|task| task.rank).collect();
        let left = match progress {
            Progress::Ignored => None,
            Progress::Tracked => Some(system.tasks.values().map(RemainingWcet::of).collect()),
        };
        let by_seat = system.by_rank();
        let mut tasks =
            Self { order, top: None, earlier: None, levels: None, states, ranks, by_seat, left };
        tasks.seat_from(0);
        tasks
    }

    /// Updates the seats of the tasks from a position of the order onwards.
    fn seat_from(&mut self, at: usize) {
        for (seat, &task) in self.by_seat.iter().enumerate().skip(at) {
            let state = self.states[task].as_mut().expect("every task is in a group");
            state.priority = state.priority.with_seat(seat as u32);
        }
    }

    /// Makes these tasks come first, regardless of the order.
    pub(super) fn put_first(&mut self, top: Vec<TaskId>) {
        for &task in &top {
            self.of(task).key = JobKey::Fixed(i64::MIN);
        }
        self.top = Some(top);
    }

    /// Makes jobs count as due before their deadlines, by these times.
    pub(super) fn advance(&mut self, earlier: TaskMap<Duration>) {
        for (task, earlier) in earlier.iter() {
            self.of(task).key = JobKey::BeforeDeadline(earlier.ns());
        }
        self.earlier = Some(earlier);
    }

    /// Makes jobs with the same number queue by the time at which they became ready.
    pub(super) fn queue_in_levels(&mut self, in_level: InLevel) {
        let mut levels: Vec<i64> = Vec::new();
        for state in self.states.values_mut().flatten() {
            if let JobKey::Fixed(level) = state.key {
                state.key = JobKey::Level(level);
                levels.push(level);
            }
        }
        levels.sort_unstable();
        levels.dedup();
        self.levels = Some((in_level, levels));
    }

    /// Returns the order within a level, if ranks do not decide it.
    pub(super) fn in_level(&self) -> Option<InLevel> {
        self.levels.as_ref().map(|&(in_level, _)| in_level)
    }

    /// Inserts the level of a task that joins: the positions of later levels increase by one.
    fn make_level(&mut self, key: JobKey) -> Reseated {
        let (JobKey::Level(level), Some((_, levels))) = (key, &mut self.levels) else {
            return Reseated::Nobody;
        };
        let at = place(levels, level);
        if levels.get(at) == Some(&level) {
            return Reseated::Nobody;
        }
        levels.insert(at, level);
        for state in self.states.values_mut().flatten().filter(|state| state.ready) {
            if let JobKey::Level(level) = state.key {
                let (ready, seat) = (state.priority.key(), state.priority.seat() as u32);
                state.priority = Priority::in_level(place(levels, level), ready, seat);
            }
        }
        Reseated::Others
    }

    /// Returns the time by which jobs count as due before their deadlines; `None` if no task has
    /// one.
    pub(super) fn earlier(&self) -> Option<&TaskMap<Duration>> {
        self.earlier.as_ref()
    }

    /// Returns the tasks that come first; `None` if the policy has no such class.
    pub(super) fn top(&self) -> Option<&[TaskId]> {
        self.top.as_deref()
    }

    /// Returns the rule for the keys of the jobs of a task with these parameters.
    pub(super) fn key(&self, id: TaskId, parameters: &Task) -> JobKey {
        if let Some(&earlier) = self.earlier.as_ref().and_then(|earlier| earlier.get(id)) {
            return JobKey::BeforeDeadline(earlier.ns());
        }
        if let (Some(_), Some(level)) = (&self.levels, self.order.fixed_key(parameters)) {
            return JobKey::Level(level);
        }
        let top = self.top.as_deref().unwrap_or_default();
        JobKey::of(JobOrder::key_in_class(top, self.order, id, parameters))
    }

    /// Sets the period and the deadline of the next jobs of a task.
    pub(super) fn set_key(&mut self, task: TaskId, period: Duration, deadline: Duration) {
        let order = self.order;
        let state = self.of(task);
        state.key = match order {
            Order::Deadline => JobKey::BeforeDeadline(0),
            Order::RateMonotonic => JobKey::Fixed(period.ns()),
            Order::DeadlineMonotonic => JobKey::Fixed(deadline.ns()),
            Order::Given => state.key,
        };
    }

    /// Returns the order that determines keys.
    pub(super) fn order(&self) -> Order {
        self.order
    }

    pub(super) fn get(&self, task: TaskId) -> Option<&TaskState> {
        self.states.get(task)?.as_ref()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (TaskId, &TaskState)> {
        self.states.iter().filter_map(|(task, state)| Some((task, state.as_ref()?)))
    }

    /// Returns the fixed key of every task, for orders with fixed keys.
    pub(super) fn fixed_keys(&self) -> TaskMap<i64> {
        let key = |state: &Option<TaskState>| match state.as_ref().map(|state| state.key) {
            Some(JobKey::Fixed(key) | JobKey::Level(key)) => key,
            Some(JobKey::BeforeDeadline(_)) | None => i64::MAX,
        };
        self.states.values().map(key).collect()
    }

    /// Adds a task, or replaces one that has left. Reports whether the priorities of others have
    /// changed.
    pub(super) fn add(&mut self, task: TaskId, group: usize, parameters: &Task) -> Reseated {
        let count = self.states.len().max(task.index() + 1);
        self.states.resize(count, None);
        self.ranks.resize(count, 0);
        if let Some(left) = &mut self.left {
            left.resize(count, RemainingWcet::of(parameters));
            left[task] = RemainingWcet::of(parameters);
        }
        let key = self.key(task, parameters);
        let levels = self.make_level(key);
        let known = self.states[task].replace(TaskState::new(key, group));
        let vacated = match &known {
            // With the same rank, the task keeps its seat.
            Some(known) if self.ranks[task] == parameters.rank => {
                let state = self.of(task);
                state.priority = state.priority.with_seat(known.priority.seat() as u32);
                return levels;
            }
            Some(known) => {
                let seat = known.priority.seat();
                self.by_seat.remove(seat);
                seat
            }
            None => self.by_seat.len(),
        };
        self.ranks[task] = parameters.rank;
        let comes_before = |&other: &TaskId| (self.ranks[other], other) < (parameters.rank, task);
        let at = self.by_seat.partition_point(comes_before);
        self.by_seat.insert(at, task);
        // Tasks between the old seat and the new one have moved, too.
        self.seat_from(at.min(vacated));
        // A new last seat moves no other task.
        if known.is_none() && at + 1 == self.by_seat.len() { levels } else { Reseated::Others }
    }

    /// Returns a task that has joined.
    #[inline]
    pub(super) fn of(&mut self, task: TaskId) -> &mut TaskState {
        self.states[task].as_mut().expect("a task joins before anything else happens to it")
    }

    /// Handles a job of a task that is ready.
    #[inline]
    pub(super) fn release(&mut self, job: JobId, release: Time, deadline: Time) -> &TaskState {
        if let Some(left) = &mut self.left {
            let left = &mut left[job.task];
            (left.granted, left.left, left.deadline) = (left.wcet, left.wcet, deadline);
        }
        let levels = self.levels.as_ref().map_or(&[][..], |(_, levels)| levels);
        let state = self.states[job.task].as_mut();
        let state = state.expect("a task joins before anything else happens to it");
        state.release(job.seq, release, deadline, levels);
        state
    }

    /// Records that a job runs, and returns the job.
    #[inline]
    pub(super) fn start(&mut self, job: Priority, now: Time, cpu: CpuId) -> JobId {
        let task = self.task(job);
        if let Some(left) = &mut self.left {
            left[task].since = Some(now);
        }
        let state = self.of(task);
        state.cpu = cpu.0;
        JobId { task, seq: state.seq }
    }

    /// Records that the running job of a task no longer runs.
    #[inline]
    pub(super) fn stop(&mut self, task: TaskId, now: Time) {
        if let Some(left) = &mut self.left {
            let left = &mut left[task];
            (left.left, left.since) = (left.at(now), None);
        }
        self.of(task).stop(now);
    }

    /// Returns the remaining WCET of the job of a task, if tracked; negative once the job has
    /// exceeded its WCET.
    pub(super) fn left(&self, task: TaskId, now: Time) -> Option<Service> {
        self.left.as_ref().map(|left| left[task].at(now))
    }

    /// Returns the WCET of the job of a task, if progress is tracked.
    pub(super) fn wcet(&self, task: TaskId) -> Option<Service> {
        self.left.as_ref().map(|left| left[task].granted)
    }

    /// Returns the time for which the job of a task has held CPUs, if progress is tracked.
    pub(super) fn executed(&self, task: TaskId, now: Time) -> Option<Service> {
        self.left.as_ref().map(|left| left[task].granted - left[task].at(now))
    }

    /// Returns the deadline of the job of a task, if progress is tracked.
    pub(super) fn deadline(&self, task: TaskId) -> Option<Time> {
        self.left.as_ref().map(|left| left[task].deadline)
    }

    /// Sets the WCET of the next jobs of a task.
    pub(super) fn set_wcet(&mut self, task: TaskId, wcet: Service) {
        if let Some(left) = &mut self.left {
            left[task].wcet = wcet;
        }
    }

    /// Returns the task whose job has this priority.
    #[inline]
    pub(super) fn task(&self, job: Priority) -> TaskId {
        self.by_seat[job.seat()]
    }

    /// Returns the job that has this priority.
    #[inline]
    pub(super) fn job(&self, job: Priority) -> (&TaskState, JobId) {
        let task = self.task(job);
        let state = self.states[task].as_ref().expect("a task with a job is known");
        (state, JobId { task, seq: state.seq })
    }
}

/// The effect of the arrival of a task on the priorities of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Reseated {
    Nobody,
    Others,
}
