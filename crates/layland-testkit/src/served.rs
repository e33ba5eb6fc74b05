//! Servers of fixed priority one nanosecond at a time. The running job is selected at each tick,
//! and a budget is a list of nanoseconds, each with the time from which it counts.

use crate::ticks::Finished;
use layland_model::{
    Behaviour, ExecutionModel, OnMiss, Order, ScheduleRule, Server, ServerKind, Service, System,
    TaskId, TaskMap, Time,
};

/// Returns the system with servers drawn from these numbers, for jobs with any arrivals.
pub fn with_servers(mut system: System, draws: &[u64]) -> System {
    for (task, &draw) in system.tasks.values_mut().zip(draws.iter().cycle()) {
        let (kind, draw) = (draw % 4, draw / 4);
        if kind == 0 {
            continue;
        }
        let most = task.period.min(task.deadline).ns();
        task.budget = Some(Service::from_ns(1 + (draw % most as u64) as i64));
        if kind > 1 {
            let gaps = (0..12).map(|at| (draw >> (5 * at) & 31) as i64 * 3 / 4);
            let times = gaps.scan(0, |now, gap| {
                *now += gap;
                Some(Time::from_ns(*now))
            });
            task.behaviour = Behaviour::Explicit(times.collect());
            task.execution = ExecutionModel::List(
                (0..5).map(|at| Service::from_ns(1 + (draw >> (7 * at) & 7) as i64)).collect(),
            );
        }
    }
    system
}

#[derive(Clone, Copy)]
struct ServedJob {
    task: TaskId,
    seq: u64,
    arrival: i64,
    deadline: i64,
    left: i64,
}

/// A server at a tick.
struct Ticking {
    server: Server,
    /// Sporadic servers: the times from which the nanoseconds of the budget count, in ascending order.
    from: Vec<i64>,
    is_active: bool,
    /// Other servers: the remaining budget.
    left: i64,
}

impl Ticking {
    fn of(server: Server) -> Ticking {
        let from = vec![0; server.budget.ns() as usize];
        Ticking { server, from, is_active: false, left: 0 }
    }

    /// Updates the budget before the job is selected.
    fn begin(&mut self, kind: ServerKind, now: i64, had_work: bool, has_work: bool) {
        if now % self.server.period.ns() == 0 {
            self.left = self.server.budget.ns();
        }
        if kind == ServerKind::Polling && !had_work {
            self.left = 0;
        }
        self.is_active &= had_work && self.from[0] <= now;
        if has_work && !self.is_active && self.from[0] <= now {
            self.is_active = true;
            let due = self.from.partition_point(|&from| from <= now);
            self.from[..due].fill(now);
        }
    }

    fn may_run(&self, kind: ServerKind) -> bool {
        match kind {
            ServerKind::Sporadic => self.is_active,
            ServerKind::Deferrable | ServerKind::Polling => self.left > 0,
        }
    }

    fn run(&mut self) {
        self.left -= 1;
        let used = self.from.remove(0);
        self.from.push(used + self.server.period.ns());
    }
}

/// Returns every job that finishes up to `until`, in the order of finishing and task.
///
/// # Panics
/// If the rule is not [`ScheduleRule::Served`].
pub fn simulate(system: &System, rule: &ScheduleRule, order: Order, until: Time) -> Vec<Finished> {
    let ScheduleRule::Served { groups, kind, servers, .. } = rule else {
        panic!("only servers are simulated here")
    };
    let mut ticking: TaskMap<Option<Ticking>> =
        servers.values().map(|server| server.map(Ticking::of)).collect();
    let mut arrived: TaskMap<u64> = TaskMap::filled(0, system.tasks.len());
    let mut pending: Vec<ServedJob> = Vec::new();
    let mut finished = Vec::new();
    for now in 0..until.ns() {
        let aborts = |job: &ServedJob| system.tasks[job.task].on_miss == OnMiss::Abort;
        pending.retain(|job| !(aborts(job) && job.deadline <= now));
        for (id, task) in system.tasks.iter() {
            let since = now - task.offset.ns();
            let coming = match &task.behaviour {
                Behaviour::Explicit(times) => times.iter().filter(|at| at.ns() == now).count(),
                _ => usize::from(since >= 0 && since % task.period.ns() == 0),
            };
            for _ in 0..coming {
                let seq = arrived[id];
                arrived[id] += 1;
                if task.on_miss == OnMiss::Skip && pending.iter().any(|job| job.task == id) {
                    continue;
                }
                let work = match &task.execution {
                    ExecutionModel::List(works) => works[seq as usize % works.len()],
                    _ => task.own_wcet(),
                };
                let deadline = now + task.deadline.ns();
                pending.push(ServedJob { task: id, seq, arrival: now, deadline, left: work.ns() });
            }
        }
        for id in system.tasks.ids() {
            let Some(ticking) = &mut ticking[id] else { continue };
            let work = || pending.iter().filter(|job| job.task == id);
            ticking.begin(*kind, now, work().any(|job| job.arrival < now), work().next().is_some());
        }
        for group in groups {
            let may_run = |job: &&ServedJob| {
                let first = |other: &ServedJob| other.task != job.task || other.seq >= job.seq;
                let has_budget = ticking[job.task].as_ref().is_none_or(|it| it.may_run(*kind));
                group.tasks.contains(&job.task) && pending.iter().all(first) && has_budget
            };
            let key = |job: &&ServedJob| {
                let task = &system.tasks[job.task];
                (order.fixed_key(task), task.rank, job.task)
            };
            let Some(&runs) = pending.iter().filter(may_run).min_by_key(key) else { continue };
            if let Some(ticking) = &mut ticking[runs.task] {
                ticking.run();
            }
            let mine = |job: &&mut ServedJob| (job.task, job.seq) == (runs.task, runs.seq);
            pending.iter_mut().filter(mine).for_each(|job| job.left -= 1);
        }
        let done = pending.extract_if(.., |job| job.left == 0);
        finished.extend(done.map(|job| Finished {
            finish: now + 1,
            task: job.task,
            seq: job.seq,
            deadline: job.deadline,
        }));
    }
    finished.sort_unstable();
    finished
}
