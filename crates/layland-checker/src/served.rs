//! The rule [`ScheduleRule::Served`](layland_model::ScheduleRule::Served): which job runs on each
//! CPU, where the jobs of servers wait for budget.
//!
//! The check sweeps over the instants at which something changes, and charges the budget of each
//! server as the trace shows its use. On a real machine budgets end a moment late, and there and
//! with overheads or changing tasks a trace does not show the budget. In these cases only the CPUs
//! of the tasks are checked.

use super::highest_first::Key;
use super::{Checker, Violation};
use layland_model::{
    CpuId, Duration, Group, Index, JobOrder, Server, ServerKind, TaskId, TaskMap, Time,
};
use std::collections::BTreeMap;

/// A change at an instant. Jobs are indices into `Trace::jobs`.
#[derive(Clone, Copy)]
enum ServedEdge {
    Done(usize),
    Ready(usize),
    /// The job comes and completes at this instant, because it has no demand.
    Passed(usize),
    Stop(usize),
    Start(usize),
}

/// The budget of a server up to the current instant of the trace.
#[derive(Clone, Debug)]
struct Budget {
    kind: ServerKind,
    server: Server,
    /// Sporadic servers: the replenishments, as (time, amount).
    chunks: Vec<(Time, Duration)>,
    is_active: bool,
    /// Other servers: the remaining budget of the period that ends at `ends`.
    left: Duration,
    ends: Time,
}

impl Budget {
    fn new(kind: ServerKind, server: Server) -> Budget {
        let all = server.budget.at_unit_speed();
        let chunks = vec![(Time::ZERO, all)];
        Budget { kind, server, chunks, is_active: false, left: all, ends: Time::ZERO }
    }

    fn amount(&self) -> Duration {
        match self.kind {
            ServerKind::Sporadic if self.is_active => self.chunks[0].1,
            ServerKind::Sporadic => Duration::ZERO,
            ServerKind::Deferrable | ServerKind::Polling => self.left,
        }
    }

    fn execute(&mut self, executed: Duration) {
        self.left -= executed;
        if self.kind == ServerKind::Sporadic && executed > Duration::ZERO {
            let (from, amount) = &mut self.chunks[0];
            *amount -= executed;
            let (is_used_up, again) = (*amount <= Duration::ZERO, *from + self.server.period);
            match self.chunks.last_mut().filter(|(last, _)| *last == again) {
                Some((_, amount)) => *amount += executed,
                None => self.chunks.push((again, executed)),
            }
            if is_used_up {
                let (_, rest) = self.chunks.remove(0);
                self.chunks[0].1 += rest;
            }
        }
    }

    /// Advances to an instant at which the ends of jobs have been applied: first replenishments,
    /// then arrivals.
    fn advance(&mut self, now: Time, had_work: bool, has_work: bool) {
        if self.kind == ServerKind::Sporadic {
            self.is_active = self.is_active && had_work && self.chunks[0].0 <= now;
            if has_work && !self.is_active && self.chunks[0].0 <= now {
                let (due, later): (Vec<_>, Vec<_>) =
                    self.chunks.iter().copied().partition(|&(from, _)| from <= now);
                let amount = due.iter().fold(Duration::ZERO, |sum, &(_, amount)| sum + amount);
                self.chunks = [(now, amount)].into_iter().chain(later).collect();
                self.is_active = true;
            }
            return;
        }
        if self.ends <= now {
            let period = self.server.period;
            self.left = self.server.budget.at_unit_speed();
            let whole = now.since_start().div_floor(period) + 1;
            self.ends = Time::from_ns(whole.saturating_mul(period.ns()));
        }
        if self.kind == ServerKind::Polling && !had_work {
            self.left = Duration::ZERO;
        }
    }

    /// Returns the time of the next replenishment if the server executes nothing.
    fn more_at(&self) -> Time {
        match self.kind {
            ServerKind::Sporadic => self.chunks[0].0,
            ServerKind::Deferrable | ServerKind::Polling => self.ends,
        }
    }
}

impl Checker<'_> {
    pub(super) fn check_servers(
        &mut self,
        groups: &[Group],
        order: &JobOrder,
        kind: ServerKind,
        servers: &TaskMap<Option<Server>>,
    ) {
        let is_told = !self.is_real
            && self.latency == Duration::ZERO
            && self.system.platform.overheads.is_zero()
            && self.system.requests.is_empty();
        let mut group_of_task = TaskMap::filled(None, self.system.tasks.len());
        for (index, group) in groups.iter().enumerate() {
            for &task in &group.tasks {
                group_of_task.get_mut(task).into_iter().for_each(|of| *of = Some(index));
            }
        }
        let mut edges: Vec<Vec<(Time, ServedEdge)>> = vec![Vec::new(); groups.len()];
        for segment in &self.sound {
            let task = self.trace.jobs[segment.job].job.id.task;
            let Some(&Some(group)) = group_of_task.get(task) else { continue };
            edges[group].push((segment.start, ServedEdge::Start(segment.job)));
            edges[group].push((segment.end, ServedEdge::Stop(segment.job)));
        }
        self.check_served(groups);
        if !is_told {
            return;
        }
        for (index, record) in self.trace.jobs.iter().enumerate() {
            let Some(&Some(group)) = group_of_task.get(record.job.id.task) else { continue };
            let end = record.end.map_or(self.trace.over, |(at, _)| at);
            let (from, _) = self.ready[index];
            if from < end {
                edges[group].push((from, ServedEdge::Ready(index)));
                edges[group].push((end, ServedEdge::Done(index)));
            } else if from == end && record.completion().is_some() {
                edges[group].push((end, ServedEdge::Passed(index)));
            }
        }
        let keys = self.keys(order);
        for (group, mut edges) in groups.iter().zip(edges) {
            let Some(cpu) = group.cpus.lowest().filter(|cpu| cpu.index() < self.switches.len())
            else {
                continue;
            };
            edges.sort_by_key(|&(at, _)| at);
            let budgets = group.tasks.iter().filter_map(|&task| {
                let server = servers.get(task).copied().flatten()?;
                Some((task, Budget::new(kind, server)))
            });
            self.sweep_served(cpu, &edges, &keys, budgets.collect());
        }
    }

    fn sweep_served(
        &mut self,
        cpu: CpuId,
        edges: &[(Time, ServedEdge)],
        keys: &[Key],
        mut budgets: BTreeMap<TaskId, Budget>,
    ) {
        let task_of = |job: usize| keys[job].task;
        // The ready jobs, each with the time since which its task has had work; and the jobs that
        // the CPU executes.
        let mut ready: BTreeMap<Key, Time> = BTreeMap::new();
        let mut running: Vec<usize> = Vec::new();
        let mut edges = edges.iter().peekable();
        let mut now = edges.peek().map_or(self.trace.over, |&&(at, _)| at);
        let mut reported = None;
        while now < self.trace.over {
            let mut passed = Vec::new();
            let working: Vec<TaskId> = ready.keys().map(|key| key.task).collect();
            while let Some(&(_, edge)) = edges.next_if(|&&(at, _)| at <= now) {
                match edge {
                    ServedEdge::Done(job) => {
                        ready.remove(&keys[job]);
                    }
                    ServedEdge::Ready(job) => {
                        // A job that follows another one without a gap counts as present since its
                        // arrival.
                        let arrival = self.trace.jobs[job].job.arrival.min(now);
                        let follows = working.contains(&task_of(job));
                        ready.insert(keys[job], if follows { arrival } else { now });
                    }
                    ServedEdge::Passed(job) => passed.push(task_of(job)),
                    ServedEdge::Stop(job) => running.retain(|&other| other != job),
                    ServedEdge::Start(job) => running.push(job),
                }
            }
            for (&task, budget) in &mut budgets {
                let since = ready.iter().find(|(key, _)| key.task == task).map(|(_, &since)| since);
                let had_work = since.is_some_and(|since| since < now);
                budget.advance(now, had_work, since.is_some() || passed.contains(&task));
                if since.is_none() {
                    budget.is_active = false;
                }
            }
            let may_run = |key: &&Key| {
                budgets.get(&key.task).is_none_or(|budget| budget.amount() > Duration::ZERO)
            };
            let first = ready.keys().find(may_run).copied();
            // The time up to which nothing changes.
            let mut until = edges.peek().map_or(self.trace.over, |&&(at, _)| at);
            for key in ready.keys() {
                let Some(budget) = budgets.get(&key.task) else { continue };
                if running.contains(&key.job) && budget.amount() > Duration::ZERO {
                    until = until.min(now + budget.amount());
                }
                let waits_for_chunk = budget.amount() <= Duration::ZERO;
                if budget.kind != ServerKind::Sporadic || waits_for_chunk {
                    until = until.min(budget.more_at());
                }
            }
            let finding = match (running.first().copied(), first) {
                (Some(job), _) if ready.contains_key(&keys[job]) && !may_run(&&keys[job]) => {
                    Some((job, job))
                }
                (Some(job), Some(first)) if first < keys[job] => Some((first.job, job)),
                (None, Some(first)) => Some((first.job, usize::MAX)),
                (_, _) => None,
            };
            if let Some((waiting, other)) = finding
                && reported != finding
            {
                self.violated(|this| match other {
                    usize::MAX => {
                        Violation::IdleWhileWaiting { job: this.name_at(waiting), cpu, at: now }
                    }
                    other if other == waiting => {
                        Violation::WithoutBudget { job: this.name_at(waiting), cpu, at: now }
                    }
                    other => Violation::Overtaken {
                        waiting: this.name_at(waiting),
                        running: this.name_at(other),
                        cpu,
                        at: now,
                    },
                });
            }
            reported = finding;
            let until = until.max(now + Duration::from_ns(1)).min(self.trace.over);
            for &job in &running {
                if let Some(budget) = budgets.get_mut(&task_of(job)) {
                    budget.execute(until - now);
                }
            }
            now = until;
        }
    }
}
