//! The rule [`ScheduleRule::HighestFirst`](layland_model::ScheduleRule::HighestFirst) at every instant of a
//! trace: no CPU of a group is idle while a job waits, and no waiting job comes before a running one.
//!
//! The check sweeps over the instants at which something changes. If running jobs go first among
//! equal deadlines ([`JobOrder::DeadlineThenRunning`]), a job that starts has to meet more
//! conditions than one that goes on: no job of the same deadline may lose its CPU to it unless a
//! job of an earlier deadline has come, and no job of a smaller rank may have been waiting. A job
//! that becomes ready at the same instant may reach the policy a moment later, and a trace does not
//! show the order. On a machine with latencies a trace does not show either what was known when a
//! job was started, so equal deadlines are not checked there. For jobs of one level
//! ([`JobOrder::Levels`]), the same conditions hold if they queue in the order in which they became
//! ready; nothing is checked if their order is unknown.
//!
//! If jobs go to the fastest CPUs ([`Placement::FastestFirst`]), the k-th running job in the order has
//! to be on a CPU as fast as the k-th fastest online one, on a machine without overheads.
//!
//! Long because the sweep, its edges and its state are read together.

use super::{Checker, Violation};
use layland_model::{
    Change, CpuId, CpuMap, CpuSet, Duration, Group, InLevel, Index, JobOrder, Placement, Rate,
    RequestKind, TaskId, TaskMap, Time,
};
use layland_trace::JobRecord;
use std::collections::BTreeSet;

impl Checker<'_> {
    /// Checks the rule for each group. Without an order, it only checks that no CPU is idle while a
    /// job waits.
    pub(super) fn check_highest_first(
        &mut self,
        groups: &[Group],
        order: Option<&JobOrder>,
        placement: Placement,
    ) {
        let cpu_count = self.system.platform.cpu_count();
        let mut group_of_task: TaskMap<Option<usize>> =
            TaskMap::filled(None, self.system.tasks.len());
        let mut group_of_cpu: CpuMap<Option<usize>> = CpuMap::filled(None, cpu_count);
        for (index, group) in groups.iter().enumerate() {
            let is_changing = |&task: &TaskId| {
                self.is_changing.get(task) == Some(&true)
                    || order == Some(&JobOrder::ZeroLaxity) && self.gets_another_wcet(task)
            };
            if group.tasks.iter().any(is_changing) {
                continue;
            }
            for &task in &group.tasks {
                group_of_task.get_mut(task).into_iter().for_each(|of| *of = Some(index));
            }
            for cpu in group.cpus.iter() {
                group_of_cpu.get_mut(cpu).into_iter().for_each(|of| *of = Some(index));
            }
        }
        let mut edges: Vec<Vec<(Time, Edge)>> = vec![Vec::new(); groups.len()];
        for (index, record) in self.trace.jobs.iter().enumerate() {
            let Some(&Some(group)) = group_of_task.get(record.job.id.task) else { continue };
            let end = record.end.map_or(self.trace.over, |(at, _)| at);
            let (from, _) = self.ready[index];
            if from < end {
                for (from, to) in self.ready_within(index, from, end) {
                    edges[group].push((from, Edge::Ready(index)));
                    edges[group].push((to, Edge::Done(index)));
                }
            } else if from == end {
                edges[group].push((end, Edge::Passed(index)));
            }
        }
        if order == Some(&JobOrder::ZeroLaxity) {
            for (index, at) in self.urgencies() {
                let task = self.trace.jobs[index].job.id.task;
                if let Some(&Some(group)) = group_of_task.get(task) {
                    edges[group].push((at, Edge::Urgent(index)));
                }
            }
        }
        for segment in std::mem::take(&mut self.sound) {
            let task = self.trace.jobs[segment.job].job.id.task;
            let group = group_of_task.get(task).copied().flatten();
            if group_of_cpu[segment.cpu] != group {
                if group.is_some() {
                    self.violated(|this| Violation::OutsideGroup {
                        job: this.name_at(segment.job),
                        cpu: segment.cpu,
                        at: segment.start,
                    });
                }
                // The CPU is busy nevertheless.
                if let Some(of_cpu) = group_of_cpu[segment.cpu] {
                    edges[of_cpu].push((segment.start, Edge::Busy(segment.cpu)));
                    edges[of_cpu].push((segment.end, Edge::Free(segment.cpu)));
                }
            }
            if let Some(group) = group {
                edges[group].push((segment.start, Edge::Start(segment.job, segment.cpu)));
                edges[group].push((segment.end, Edge::Stop(segment.job, segment.cpu)));
            }
        }
        for (at, cpu, online) in self.cpu_marks() {
            let Some(group) = group_of_cpu[cpu] else { continue };
            let edge = if online { Edge::Online(cpu) } else { Edge::Offline(cpu) };
            edges[group].push((at, edge));
        }
        let mut keys: Vec<Key> = self.keys(order.unwrap_or(&JobOrder::Deadline));
        for (group, mut edges) in groups.iter().zip(edges) {
            // A stable sort. All edges of one instant are applied before the state is examined.
            edges.sort_by_key(|&(at, _)| at);
            self.sweep(&group.cpus, &edges, &mut keys, order);
            let is_ideal = self.latency == Duration::ZERO
                && !self.is_real
                && self.system.platform.overheads.is_zero();
            if placement == Placement::FastestFirst && is_ideal {
                self.check_places(&group.cpus, &edges, &keys);
            }
        }
    }

    /// Checks that the running jobs are on the fastest online CPUs of the group, in their order.
    fn check_places(&mut self, cpus: &CpuSet, edges: &[(Time, Edge)], keys: &[Key]) {
        let mut running: BTreeSet<(Key, CpuId)> = BTreeSet::new();
        let mut online: BTreeSet<CpuId> = cpus.iter().collect();
        online.retain(|cpu| self.system.platform.speeds.get(*cpu).is_some());
        let speed = |cpu: CpuId| self.system.platform.speeds[cpu].rate();
        let mut wrong = Vec::new();
        for instant in edges.chunk_by(|(a, _), (b, _)| a == b) {
            let now = instant[0].0;
            // Jobs stop before others start on their CPUs.
            for &(_, edge) in instant {
                match edge {
                    Edge::Stop(job, cpu) => {
                        running.remove(&(keys[job], cpu));
                    }
                    Edge::Online(cpu) => {
                        online.insert(cpu);
                    }
                    Edge::Offline(cpu) => {
                        online.remove(&cpu);
                    }
                    // Priorities that change are those of EDZL, which knows unit speeds alone.
                    Edge::Start(..)
                    | Edge::Urgent(_)
                    | Edge::Ready(_)
                    | Edge::Done(_)
                    | Edge::Passed(_)
                    | Edge::Busy(_)
                    | Edge::Free(_) => {}
                }
            }
            for &(_, edge) in instant {
                if let Edge::Start(job, cpu) = edge {
                    running.insert((keys[job], cpu));
                }
            }
            if now >= self.trace.over {
                break;
            }
            let mut fastest: Vec<Rate> = online.iter().map(|&cpu| speed(cpu)).collect();
            fastest.sort_unstable_by(|a, b| b.cmp(a));
            let places = running.iter().zip(&fastest);
            let slow = places.filter(|((_, cpu), fastest)| speed(*cpu) < **fastest);
            wrong.extend(slow.take(1).map(|(&(key, cpu), _)| (key.job, cpu, now)));
        }
        for (job, cpu, at) in wrong {
            self.violated(|this| Violation::NotFastest { job: this.name_at(job), cpu, at });
        }
    }

    /// Returns true if a request changes the WCET of a task. The trace does not show from when on
    /// the change counts, or whether it is refused.
    pub(super) fn gets_another_wcet(&self, task: TaskId) -> bool {
        self.system.requests.iter().any(|request| {
            matches!(&request.kind, RequestKind::Reconfigure(of, Change::Parameters { .. }) if *of == task)
        })
    }

    /// Returns the time from which each job has no laxity, for the jobs that reach it before their
    /// ends. Laxity shrinks while a job waits, and also once it has executed its WCET; it never
    /// grows.
    fn urgencies(&self) -> Vec<(usize, Time)> {
        let mut segments: Vec<Vec<(Time, Time)>> = vec![Vec::new(); self.trace.jobs.len()];
        for segment in &self.sound {
            segments[segment.job].push((segment.start, segment.end));
        }
        let mut found = Vec::new();
        for (index, (record, mut segments)) in self.trace.jobs.iter().zip(segments).enumerate() {
            let Some(task) = self.system.tasks.get(record.job.id.task) else { continue };
            let end = record.end.map_or(self.trace.over, |(at, _)| at);
            let (deadline, mut left) = (record.job.deadline, task.own_wcet().at_unit_speed());
            let (mut since, _) = self.ready[index];
            segments.sort_unstable();
            segments.push((end, end));
            for (start, stop) in segments {
                // The job waits until `start` and then runs until `stop`.
                let without_laxity = (deadline - left).max(since);
                if without_laxity <= start {
                    found.push((index, without_laxity));
                    break;
                }
                left = (left - (stop - start)).max(Duration::ZERO);
                if left == Duration::ZERO && deadline <= stop {
                    found.push((index, deadline.max(start)));
                    break;
                }
                since = stop;
            }
        }
        found
    }

    pub(super) fn keys(&self, order: &JobOrder) -> Vec<Key> {
        let key = |(index, record): (usize, &JobRecord)| {
            let task = record.job.id.task;
            let queues = matches!(order, JobOrder::Levels { in_level: InLevel::Fifo, .. });
            let ready = if queues { record.job.release } else { Time::ZERO };
            let first = match order {
                JobOrder::Deadline
                | JobOrder::DeadlineThenRunning
                | JobOrder::ZeroLaxity
                | JobOrder::Feasible => record.job.deadline.ns(),
                JobOrder::Points(earlier) => {
                    let earlier = earlier.get(task).copied().unwrap_or_default();
                    (record.job.deadline - earlier).ns()
                }
                JobOrder::Fixed(priorities) | JobOrder::Levels { levels: priorities, .. } => {
                    // A task without a priority comes last.
                    priorities.get(task).copied().unwrap_or(i64::MAX)
                }
                JobOrder::TopFirst { top, then } => {
                    let task_of = self.system.tasks.get(task);
                    task_of
                        .and_then(|parameters| JobOrder::key_in_class(top, *then, task, parameters))
                        .unwrap_or(record.job.deadline.ns())
                }
            };
            let rank = self.system.tasks.get(task).map_or(i64::MAX, |task| task.rank);
            Key { laxity: Laxity::Some, first, ready, rank, task, job: index }
        };
        self.trace.jobs.iter().enumerate().map(key).collect()
    }

    fn sweep(
        &mut self,
        cpus: &CpuSet,
        edges: &[(Time, Edge)],
        keys: &mut [Key],
        order: Option<&JobOrder>,
    ) {
        let ties = order.map(Ties::of);
        let cpu_count = self.system.platform.cpu_count();
        let mut state = Sweep {
            is_ready: BTreeSet::new(),
            on: BTreeSet::new(),
            waiting: BTreeSet::new(),
            running: BTreeSet::new(),
            holders: CpuMap::filled(0, cpu_count),
            free: cpus.iter().filter(|cpu| cpu.index() < cpu_count).collect(),
            offline: CpuSet::new(),
            passed: Vec::new(),
        };
        let mut idle_since = Since::default();
        let mut overtaken_since = Since::default();
        let mut edges = edges.iter().peekable();
        while let Some(&(now, edge)) = edges.next() {
            let mut before = (ties == Some(Ties::Started)).then(|| state.before());
            state.passed.clear();
            let mut gone = CpuSet::new();
            let rest = std::iter::from_fn(|| edges.next_if(|&&(at, _)| at == now));
            for edge in std::iter::once(edge).chain(rest.map(|&(_, edge)| edge)) {
                if let Edge::Offline(cpu) = edge {
                    gone.insert(cpu);
                }
                state.apply(edge, cpus, keys);
            }
            if now >= self.trace.over {
                break;
            }
            // A job that loses its CPU waits like any other.
            if let Some(before) = &mut before {
                let is_gone = |cpu| gone.contains(cpu) || state.offline.contains(cpu);
                before.ran.retain(|&(_, cpu)| !is_gone(cpu));
            }
            let until = edges.peek().map_or(self.trace.over, |&&(at, _)| at.min(self.trace.over));
            let Some(&first_waiting) = state.waiting.first() else {
                (idle_since, overtaken_since) = (Since::default(), Since::default());
                continue;
            };
            let waiting = first_waiting.job;
            let idle = state.free.iter().copied().find(|&cpu| !state.offline.contains(cpu));
            let idle = idle.map(|cpu| (waiting, cpu));
            // Do not report a finding again for as long as it lasts.
            if let Some(((waiting, cpu), at)) = idle_since.lasts(idle, now, until, self.latency) {
                let violation = self.unused(waiting, cpu, (at, until));
                self.report.blame(&violation);
                self.violated(|_| violation);
            }
            let overtaken = match ties {
                None => None,
                Some(Ties::Ranked) => state
                    .running
                    .last()
                    .filter(|&&last| first_waiting < last)
                    .map(|last| (waiting, last.job)),
                Some(Ties::Started | Ties::Open) => state
                    .overtaken_by_start(before.as_ref().filter(|_| self.latency == Duration::ZERO)),
            };
            if let Some(((waiting, running), at)) =
                overtaken_since.lasts(overtaken, now, until, self.latency)
            {
                let cpu = state.cpu_of(running);
                self.violated(|this| Violation::Overtaken {
                    waiting: this.name_at(waiting),
                    running: this.name_at(running),
                    cpu,
                    at,
                });
            }
        }
    }
}

/// The rule that decides between jobs with equal numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ties {
    /// The rest of the key decides at any time.
    Ranked,
    /// The rest of the key decides when a job starts. No job is stopped for an equal one.
    Started,
    /// The rule is unknown.
    Open,
}

impl Ties {
    fn of(order: &JobOrder) -> Ties {
        match order {
            JobOrder::DeadlineThenRunning | JobOrder::Levels { in_level: InLevel::Fifo, .. } => {
                Ties::Started
            }
            JobOrder::Levels { in_level: InLevel::Any, .. } => Ties::Open,
            JobOrder::Deadline
            | JobOrder::Points(_)
            | JobOrder::ZeroLaxity
            | JobOrder::Feasible
            | JobOrder::Fixed(_)
            | JobOrder::TopFirst { .. } => Ties::Ranked,
        }
    }
}

/// A finding about one job, the time since which it holds, and whether it was reported.
struct Since<T> {
    what: Option<(usize, T)>,
    at: Time,
    is_reported: bool,
}

impl<T> Default for Since<T> {
    fn default() -> Self {
        Since { what: None, at: Time::ZERO, is_reported: false }
    }
}

impl<T: Copy + PartialEq> Since<T> {
    /// Returns the finding to report and the time since which it holds, if it holds for longer than
    /// the latency in total. The waiting job distinguishes one finding from the next. Without a
    /// latency, so does the other job.
    fn lasts(
        &mut self,
        what: Option<(usize, T)>,
        now: Time,
        until: Time,
        latency: Duration,
    ) -> Option<((usize, T), Time)> {
        let is_same = match (self.what, what) {
            (Some(old), Some(new)) if latency > Duration::ZERO => old.0 == new.0,
            (old, new) => old == new,
        };
        if !is_same {
            *self = Since { what, at: now, is_reported: false };
        }
        self.what = what;
        let what = what?;
        let is_long = latency == Duration::ZERO || until - self.at > latency;
        if self.is_reported || !is_long {
            return None;
        }
        self.is_reported = true;
        Some((what, self.at))
    }
}

/// The order of jobs: the job with the smaller key comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub laxity: Laxity,
    /// The deadline or the fixed priority.
    pub first: i64,
    /// The time at which the job became ready, if jobs of one priority queue in that order.
    pub ready: Time,
    pub rank: i64,
    pub task: TaskId,
    /// Index into `Trace::jobs`.
    pub job: usize,
}

/// The first criterion under [`JobOrder::ZeroLaxity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Laxity {
    None,
    /// The job has laxity, or the order ignores laxity.
    Some,
}

/// A change at an instant. Jobs are indices into `Trace::jobs`.
#[derive(Clone, Copy)]
enum Edge {
    Ready(usize),
    Done(usize),
    /// The job comes and ends at this instant, because it has no demand or is aborted at once.
    Passed(usize),
    /// The job has no laxity from this instant on.
    Urgent(usize),
    Start(usize, CpuId),
    Stop(usize, CpuId),
    /// A job of another group starts.
    Busy(CpuId),
    /// A job of another group stops.
    Free(CpuId),
    Online(CpuId),
    Offline(CpuId),
}

/// The state between two instants. It also works for a trace with several jobs on one CPU.
struct Sweep {
    is_ready: BTreeSet<usize>,
    /// The jobs with the CPUs that they hold.
    on: BTreeSet<(usize, CpuId)>,
    /// The jobs that are ready and hold no CPU.
    waiting: BTreeSet<Key>,
    /// The jobs that hold a CPU.
    running: BTreeSet<Key>,
    /// The number of jobs on each CPU.
    holders: CpuMap<i64>,
    /// The CPUs of the group without a job.
    free: BTreeSet<CpuId>,
    offline: CpuSet,
    /// Jobs that came and ended at this instant. Each may have taken a CPU and left it before
    /// anything else happened.
    passed: Vec<Key>,
}

/// The state just before an instant.
struct Before {
    /// The jobs that ran, with their CPUs.
    ran: Vec<(usize, CpuId)>,
    /// The jobs that waited.
    waited: Vec<usize>,
}

impl Sweep {
    fn before(&self) -> Before {
        Before {
            ran: self.running.iter().map(|key| (key.job, self.cpu_of(key.job))).collect(),
            waited: self.waiting.iter().map(|key| key.job).collect(),
        }
    }

    /// Returns a waiting job and a running one that should not run before it, if running jobs go
    /// first among equal numbers. Equal numbers are compared only if the state `before` is known.
    fn overtaken_by_start(&self, before: Option<&Before>) -> Option<(usize, usize)> {
        let (first, last) = (self.waiting.first()?, self.running.last()?);
        if first.first < last.first {
            return Some((first.job, last.job));
        }
        let Before { ran, waited } = before?;
        if first.first > last.first {
            return None;
        }
        let equal = |set: &BTreeSet<Key>| -> Vec<Key> {
            set.iter().filter(|key| key.first == first.first).copied().collect()
        };
        let (waiting, running) = (equal(&self.waiting), equal(&self.running));
        let has_run = |key: &&Key| ran.iter().any(|&(job, _)| job == key.job);
        let started = running.iter().rev().find(|job| !has_run(job))?;
        let came = self.running.iter().filter(|key| !has_run(key)).chain(&self.passed);
        let is_displaced = came.into_iter().any(|key| key.first < first.first);
        let stopped = waiting.iter().filter(|_| !is_displaced).find(has_run);
        let has_waited = |key: &&Key| waited.contains(&key.job);
        let passed_over = || waiting.iter().filter(has_waited).find(|&job| job < started);
        let overtaken = stopped.or_else(passed_over)?;
        Some((overtaken.job, started.job))
    }

    fn apply(&mut self, edge: Edge, cpus: &CpuSet, keys: &mut [Key]) {
        match edge {
            Edge::Ready(job) => {
                self.is_ready.insert(job);
                self.place(keys[job]);
            }
            Edge::Done(job) => {
                self.is_ready.remove(&job);
                self.place(keys[job]);
            }
            Edge::Passed(job) => self.passed.push(keys[job]),
            Edge::Urgent(job) => {
                self.running.remove(&keys[job]);
                self.waiting.remove(&keys[job]);
                keys[job].laxity = Laxity::None;
                self.place(keys[job]);
            }
            Edge::Start(job, cpu) => {
                self.on.insert((job, cpu));
                self.place(keys[job]);
                self.hold(cpu, 1, cpus);
            }
            Edge::Stop(job, cpu) => {
                self.on.remove(&(job, cpu));
                self.place(keys[job]);
                self.hold(cpu, -1, cpus);
            }
            Edge::Busy(cpu) => self.hold(cpu, 1, cpus),
            Edge::Free(cpu) => self.hold(cpu, -1, cpus),
            Edge::Online(cpu) => {
                self.offline.remove(cpu);
            }
            Edge::Offline(cpu) => {
                self.offline.insert(cpu);
            }
        }
    }

    fn place(&mut self, key: Key) {
        let job = key.job;
        let is_running = self.on.range((job, CpuId(0))..=(job, CpuId(u32::MAX))).next().is_some();
        let is_waiting = self.is_ready.contains(&job) && !is_running;
        for (set, belongs) in [(&mut self.running, is_running), (&mut self.waiting, is_waiting)] {
            if belongs {
                set.insert(key);
            } else {
                set.remove(&key);
            }
        }
    }

    fn hold(&mut self, cpu: CpuId, change: i64, cpus: &CpuSet) {
        self.holders[cpu] += change;
        // While the edges of one instant are applied, a count may be off by one in either
        // direction.
        if self.holders[cpu] > 0 {
            self.free.remove(&cpu);
        } else if cpus.contains(cpu) {
            self.free.insert(cpu);
        }
    }

    fn cpu_of(&self, job: usize) -> CpuId {
        let mut on = self.on.range((job, CpuId(0))..=(job, CpuId(u32::MAX)));
        on.next().map_or(CpuId(0), |&(_, cpu)| cpu)
    }
}
