//! The run of groups with budgets: servers that are linked, beside plain tasks.
//!
//! In one instant, in this order:
//!
//! 1. ends of jobs, by CPU; the next job of a task that already waits takes a new place in the order of
//!    arrival. Then, by CPU, jobs whose turns are over go to the end of their priorities;
//! 2. paying servers with less than a nanosecond left, by CPU: throttled, or replenished at once if
//!    their next period has begun;
//! 3. replenishments of throttled servers, in the order of servers: groups as listed, CPUs ascending;
//! 4. releases;
//! 5. a group without a ready job puts all of its servers to sleep, and one with a job wakes all of
//!    them. So a group that is empty and filled within an instant does not sleep;
//! 6. the choice: on each CPU the first of ready servers and plain jobs by (deadline, server before
//!    job, rank). A group has as many best jobs on its served CPUs as there are. A job stays where it
//!    runs, otherwise returns to its last CPU, otherwise takes the lowest CPU. A server without a job
//!    *gives way*: it pays as if it ran, and the next in line has the CPU.
//!
//! Ties go by rank and not to those that run: a server that gave way would otherwise lose its tie at
//! the next instant that happens for any other reason, and the schedule would depend on when one
//! looks.
//!
//! Long because an instant is read in its order, from the ends of jobs to the choice.
//!
//! Tasks of a group with one CPU each are served there alone: each CPU is a group of its own.

use super::jobs::{Queue, ReadyJob};
use super::servers::{ServerChange, ServerEvent, ServerOnCpu, ServerState};
use crate::shell::{Alarm, Refusals, fixed_answer};
use crate::{Action, AfterJob, Count, Event, Needs, Policy, State, TimerId};
use layland_model::{
    CpuId, CpuMap, CpuSet, Duration, GroupId, Index, JobId, Order, ScheduleRule, System, TaskId,
    TaskMap, Time,
};
use std::collections::BTreeSet;
use std::sync::Arc;

const ALARM: TimerId = TimerId(0);

/// The place of a task, which does not change.
#[derive(Clone, Debug)]
struct PlacedTask {
    /// The jobs that it competes with for servers; none for a plain task.
    team: Option<usize>,
    cpus: CpuSet,
    priority: i64,
    rank: usize,
}

/// Tasks of a group that share servers.
#[derive(Clone, Debug)]
struct Team {
    group: GroupId,
    /// Positions of its servers.
    servers: Vec<usize>,
    ready: Queue,
    is_active: bool,
    /// The CPUs on which its servers are served, in the choice that is being made.
    served: Vec<CpuId>,
}

#[derive(Clone, Debug, Default)]
struct OnCpu {
    is_online: bool,
    /// The job that runs, as the engine knows it.
    runs: Option<JobId>,
    /// Positions of its servers, by rank.
    servers: Vec<usize>,
    /// The plain jobs that are ready: by deadline or priority, then by rank.
    plain: BTreeSet<(i64, usize, TaskId)>,
}

/// The policy `groups` on a set with groups.
#[derive(Clone, Debug)]
pub struct TaskGroups {
    outer: Order,
    members: Arc<TaskMap<PlacedTask>>,
    groups: Arc<Vec<Option<i64>>>,
    teams: Vec<Team>,
    servers: Vec<ServerOnCpu>,
    /// The team of each server.
    team_of: Arc<Vec<usize>>,
    cpus: CpuMap<OnCpu>,
    jobs: TaskMap<Option<ReadyJob>>,
    /// The time of the last decision.
    at: Time,
    next_place: u64,
    /// The tasks of jobs that have ended since the last decision, with the CPUs that signalled it.
    ended: Vec<(Option<CpuId>, TaskId)>,
    /// The tasks whose next jobs are released in this instant.
    expected: Vec<TaskId>,
    /// The jobs that were released since the last decision, with their arrivals and deadlines.
    released: Vec<(JobId, Time, Time)>,
    events: Vec<ServerEvent>,
    counts: ServerCounts,
    alarm: Alarm,
    refusals: Refusals,
}

#[derive(Clone, Copy, Debug, Default)]
struct ServerCounts {
    throttled: u64,
    replenished: u64,
    gave_way: u64,
}

impl TaskGroups {
    /// Returns the policy for a valid set with groups that have budgets. Tasks without a group have one
    /// CPU each, and those of a group have either all of its CPUs or one each.
    pub fn new(system: &System, outer: Order) -> TaskGroups {
        let cpus = system.platform.cpus().map(|_| OnCpu::default()).collect();
        let rank_of = |order: &[TaskId]| {
            let mut rank = TaskMap::filled(0, system.tasks.len());
            order.iter().enumerate().for_each(|(at, &task)| rank[task] = at);
            rank
        };
        let rank = rank_of(&system.by_rank());
        let mut policy = TaskGroups {
            outer,
            members: Arc::new(TaskMap::default()),
            groups: Arc::new(system.groups.iter().map(|group| group.priority).collect()),
            teams: Vec::new(),
            servers: Vec::new(),
            team_of: Arc::default(),
            cpus,
            jobs: TaskMap::filled(None, system.tasks.len()),
            at: Time::ZERO,
            next_place: 0,
            ended: Vec::new(),
            expected: Vec::new(),
            released: Vec::new(),
            events: Vec::new(),
            counts: ServerCounts::default(),
            alarm: Alarm::OFF,
            refusals: Refusals::default(),
        };
        let mut team_of_task: TaskMap<Option<usize>> = TaskMap::filled(None, system.tasks.len());
        for (at, group) in system.groups.iter().enumerate() {
            let id = GroupId::from_index(at);
            let tasks: Vec<TaskId> = system
                .tasks
                .iter()
                .filter(|(_, task)| task.group == Some(id))
                .map(|(id, _)| id)
                .collect();
            let is_linked = tasks.iter().all(|&task| system.allowed_cpus(task) == group.cpus);
            let first = policy.teams.len();
            let team = || Team {
                group: id,
                servers: Vec::new(),
                ready: Queue::new(group.inner),
                is_active: false,
                served: Vec::new(),
            };
            if is_linked {
                policy.teams.push(team());
            }
            for (cpu, server) in system.group_servers(id).unwrap_or_default() {
                let position = policy.servers.len();
                policy.servers.push(ServerOnCpu::new(id, cpu, &server));
                policy.cpus[cpu].servers.push(position);
                if !is_linked {
                    policy.teams.push(team());
                }
                let last = policy.teams.len() - 1;
                policy.teams[last].servers.push(position);
            }
            for &task in &tasks {
                let own = system.allowed_cpus(task);
                let has = |team: &Team| {
                    is_linked || team.servers.iter().any(|&at| own.contains(policy.servers[at].cpu))
                };
                team_of_task[task] =
                    policy.teams[first..].iter().position(has).map(|position| first + position);
            }
        }
        let member = |(id, task): (TaskId, &layland_model::Task)| PlacedTask {
            team: team_of_task[id],
            cpus: system.allowed_cpus(id),
            priority: task.priority.unwrap_or(i64::MAX),
            rank: rank[id],
        };
        policy.members = Arc::new(system.tasks.iter().map(member).collect());
        let mut team_of = vec![0; policy.servers.len()];
        for (at, team) in policy.teams.iter().enumerate() {
            team.servers.iter().for_each(|&position| team_of[position] = at);
        }
        policy.team_of = Arc::new(team_of);
        policy
    }

    /// Lets jobs of a group that have begun come before its other jobs, whatever its inner policy says.
    #[must_use]
    pub fn without_preemption_in(mut self, group: GroupId) -> TaskGroups {
        for team in self.teams.iter_mut().filter(|team| team.group == group) {
            team.ready.keep_started();
        }
        self
    }

    /// The changes of servers in the last decision.
    pub fn events(&self) -> &[ServerEvent] {
        &self.events
    }

    fn log(&mut self, position: usize, change: ServerChange) {
        self.events.push(self.servers[position].event(self.at, change));
        match change {
            ServerChange::Throttle => self.counts.throttled += 1,
            ServerChange::Replenish | ServerChange::Postpone => self.counts.replenished += 1,
            ServerChange::New
            | ServerChange::Keep
            | ServerChange::Revised
            | ServerChange::Wait
            | ServerChange::Idle => {}
        }
    }

    fn plain_key(&self, ready: &ReadyJob) -> (i64, usize, TaskId) {
        let member = &self.members[ready.job.task];
        let urgency = match self.outer {
            Order::Given => member.priority,
            Order::Deadline | Order::RateMonotonic | Order::DeadlineMonotonic => {
                ready.deadline.ns()
            }
        };
        (urgency, member.rank, ready.job.task)
    }

    /// Puts a ready job into its queue.
    fn enter(&mut self, ready: ReadyJob) {
        let task = ready.job.task;
        let PlacedTask { team, priority, rank, .. } = self.members[task];
        match team {
            Some(team) => self.teams[team].ready.insert(&ready, priority, rank),
            None => {
                let key = self.plain_key(&ready);
                if let Some(cpu) = self.members[task].cpus.lowest() {
                    self.cpus[cpu].plain.insert(key);
                }
            }
        }
        self.jobs[task] = Some(ready);
    }

    /// Takes the ready job of a task out of its queue.
    fn take(&mut self, task: TaskId) -> Option<ReadyJob> {
        let ready = self.jobs.get_mut(task)?.take()?;
        let PlacedTask { team, priority, rank, .. } = self.members[task];
        match team {
            Some(team) => self.teams[team].ready.remove(&ready, priority, rank),
            None => {
                let key = self.plain_key(&ready);
                if let Some(cpu) = self.members[task].cpus.lowest() {
                    self.cpus[cpu].plain.remove(&key);
                }
            }
        }
        Some(ready)
    }

    /// The job of this task is over: it is taken off its CPU.
    fn end(&mut self, task: TaskId, signalled: Option<CpuId>) {
        let runs = |cpu: &OnCpu| cpu.runs.is_some_and(|job| job.task == task);
        if let Some(cpu) = self.cpus.values_mut().find(|cpu| runs(cpu)) {
            cpu.runs = None;
        }
        if self.take(task).is_some() {
            self.ended.push((signalled, task));
        }
    }

    /// Charges the servers and the turns for the time since the last decision.
    fn charge(&mut self, now: Time) {
        let length = now - self.at;
        self.at = now;
        if length == Duration::ZERO {
            return;
        }
        self.expected.clear();
        for server in self.servers.iter_mut().filter(|server| server.pays) {
            server.charge(length);
        }
        for cpu in self.cpus.ids() {
            let Some(job) = self.cpus[cpu].runs else { continue };
            let Some(team) = self.members[job.task].team else { continue };
            let queue = &self.teams[team].ready;
            let has_turns = queue.quantum().is_some();
            // The job has another place in the order once it has started.
            if queue.keeps_started()
                && self.jobs[job.task].is_some_and(|ready| !ready.has_started)
                && let Some(ready) = self.take(job.task)
            {
                self.enter(ReadyJob { has_started: true, ..ready });
            }
            if let Some(ready) = &mut self.jobs[job.task] {
                ready.has_started = true;
                if has_turns {
                    ready.slice -= length;
                }
            }
        }
    }

    fn place(&mut self) -> u64 {
        self.next_place += 1;
        self.next_place
    }

    fn release(&mut self, (job, _, deadline): (JobId, Time, Time)) {
        let quantum = self.members[job.task].team.and_then(|team| self.teams[team].ready.quantum());
        let slice = quantum.unwrap_or(Duration::from_ns(i64::MAX));
        let place = self.place();
        self.enter(ReadyJob { job, deadline, place, has_started: false, last: None, slice });
    }

    /// Step 1: ends and the jobs that follow them, then turns that are over.
    fn settle_jobs(&mut self, now: Time) {
        let ended = std::mem::take(&mut self.ended);
        for cpu in self.cpus.ids().map(Some).chain([None]) {
            for &(_, task) in ended.iter().filter(|(on, _)| *on == cpu) {
                self.succeed(task, now);
            }
        }
        for cpu in self.cpus.ids() {
            let Some(job) = self.cpus[cpu].runs else { continue };
            if self.jobs[job.task].is_some_and(|ready| ready.slice <= Duration::ZERO)
                && let Some(mut ready) = self.take(job.task)
            {
                ready.place = self.place();
                let team = self.members[job.task].team;
                let quantum = team.and_then(|team| self.teams[team].ready.quantum());
                ready.slice = quantum.unwrap_or(Duration::from_ns(i64::MAX));
                self.enter(ready);
            }
        }
    }

    /// Releases the next job of a task if it arrived before now.
    fn succeed(&mut self, task: TaskId, now: Time) {
        let waited = |&(job, release, _): &(JobId, Time, Time)| job.task == task && release < now;
        if let Some(at) = self.released.iter().position(waited) {
            let released = self.released.remove(at);
            self.release(released);
        }
    }

    /// Steps 2 and 3.
    fn settle_budgets(&mut self, now: Time) {
        for cpu in self.cpus.ids() {
            for at in 0..self.cpus[cpu].servers.len() {
                let position = self.cpus[cpu].servers[at];
                if self.servers[position].refill(now) {
                    self.log(position, ServerChange::Replenish);
                }
                let server = &mut self.servers[position];
                if server.state == ServerState::Ready && server.is_used_up() {
                    let change = server.throttle(now);
                    self.log(position, change);
                }
            }
        }
        for position in 0..self.servers.len() {
            if self.servers[position].replenish(now) {
                self.log(position, ServerChange::Replenish);
            }
        }
    }

    /// Step 5.
    fn settle_activity(&mut self, now: Time) {
        for team in 0..self.teams.len() {
            let is_expected = |&task: &TaskId| self.members[task].team == Some(team);
            let has_work =
                !self.teams[team].ready.is_empty() || self.expected.iter().any(is_expected);
            if has_work == self.teams[team].is_active {
                continue;
            }
            self.teams[team].is_active = has_work;
            for at in 0..self.teams[team].servers.len() {
                let position = self.teams[team].servers[at];
                let change = if has_work {
                    self.servers[position].wake(now)
                } else {
                    self.servers[position].state = ServerState::Idle;
                    ServerChange::Idle
                };
                self.log(position, change);
            }
        }
    }

    /// The order of a server on its CPU.
    fn urgency(&self, position: usize) -> i64 {
        match self.outer {
            Order::Given => self.groups[self.servers[position].group.index()].unwrap_or(i64::MAX),
            Order::Deadline | Order::RateMonotonic | Order::DeadlineMonotonic => {
                self.servers[position].deadline().ns()
            }
        }
    }

    /// Step 6: for each CPU the task whose job runs next.
    fn choose(&mut self) -> CpuMap<Option<TaskId>> {
        let count = self.cpus.len();
        let mut chosen: CpuMap<Option<TaskId>> = CpuMap::filled(None, count);
        let mut gives_way = vec![false; self.servers.len()];
        loop {
            let mut first: CpuMap<Option<usize>> = CpuMap::filled(None, count);
            self.teams.iter_mut().for_each(|team| team.served.clear());
            for cpu in self.cpus.ids() {
                chosen[cpu] = None;
                let on_cpu = &self.cpus[cpu];
                if !on_cpu.is_online {
                    continue;
                }
                let ready = on_cpu.servers.iter().copied().filter(|&position| {
                    self.servers[position].state == ServerState::Ready && !gives_way[position]
                });
                let server = ready.min_by_key(|&position| (self.urgency(position), position));
                match (server, on_cpu.plain.first()) {
                    // A server comes before a plain job.
                    (Some(position), plain)
                        if plain.is_none_or(|plain| self.urgency(position) <= plain.0) =>
                    {
                        first[cpu] = Some(position);
                        self.teams[self.team_of[position]].served.push(cpu);
                    }
                    (_, Some(&(_, _, task))) => chosen[cpu] = Some(task),
                    (_, None) => {}
                }
            }
            let mut is_settled = true;
            for team in 0..self.teams.len() {
                self.assign(team, &mut chosen);
                for &cpu in &self.teams[team].served {
                    if let (None, Some(position)) = (chosen[cpu], first[cpu]) {
                        gives_way[position] = true;
                        is_settled = false;
                    }
                }
            }
            if is_settled {
                for (position, server) in self.servers.iter_mut().enumerate() {
                    let is_served = first[server.cpu] == Some(position);
                    let begins = gives_way[position] && !server.pays;
                    self.counts.gave_way += u64::from(begins);
                    server.pays = is_served || gives_way[position];
                }
                return chosen;
            }
        }
    }

    /// Gives the served CPUs of a team to its best jobs.
    fn assign(&self, team: usize, chosen: &mut CpuMap<Option<TaskId>>) {
        let Team { served, ready, .. } = &self.teams[team];
        if served.is_empty() {
            return;
        }
        let best: Vec<TaskId> = ready.tasks().take(served.len().min(ready.len())).collect();
        let mut is_placed = vec![false; best.len()];
        for (&task, placed) in best.iter().zip(&mut is_placed) {
            let runs = |cpu: CpuId| self.cpus[cpu].runs.is_some_and(|job| job.task == task);
            if let Some(&cpu) = served.iter().find(|&&cpu| runs(cpu)) {
                chosen[cpu] = Some(task);
                *placed = true;
            }
        }
        for (&task, placed) in best.iter().zip(&mut is_placed).filter(|(_, placed)| !**placed) {
            let last = self.jobs[task].and_then(|ready| ready.last);
            if let Some(cpu) = last.filter(|cpu| served.contains(cpu) && chosen[*cpu].is_none()) {
                chosen[cpu] = Some(task);
                *placed = true;
            }
        }
        for (&task, _) in best.iter().zip(&is_placed).filter(|(_, placed)| !**placed) {
            if let Some(&cpu) = served.iter().find(|&&cpu| chosen[cpu].is_none()) {
                chosen[cpu] = Some(task);
            }
        }
    }

    /// The next instant at which a server or a turn needs a decision.
    fn wakes_at(&self, now: Time) -> Time {
        let mut at = Time::NEVER;
        for server in &self.servers {
            if server.pays {
                at = at.min(now + server.left());
            }
            match server.state {
                ServerState::Throttled => at = at.min(server.replenished_at()),
                // A server by priority may be renewed while it is served.
                ServerState::Ready if server.deadline() == Time::NEVER => {
                    at = at.min(server.replenished_at());
                }
                ServerState::Ready | ServerState::Idle => {}
            }
        }
        for cpu in self.cpus.values() {
            let ready = cpu.runs.and_then(|job| self.jobs[job.task]);
            if let Some(ready) = ready.filter(|ready| ready.slice < Duration::from_ns(i64::MAX)) {
                at = at.min(now + ready.slice);
            }
        }
        at
    }
}

impl Policy for TaskGroups {
    fn on_event(&mut self, _now: Time, event: Event) {
        let may_use = |task: TaskId| Some(self.members.get(task)?.cpus.clone());
        let reason = || "groups places its tasks before the start".to_owned();
        if let Some((request, refusal)) = fixed_answer(&event, reason, may_use) {
            self.refusals.push(request, refusal);
            return;
        }
        match event {
            Event::Release { job, release, deadline } => {
                self.expected.retain(|&task| task != job.task);
                self.released.push((job, release, deadline));
            }
            Event::Completion { job, cpu, then } => {
                self.end(job.task, Some(cpu));
                if then == AfterJob::Continues {
                    self.expected.push(job.task);
                }
            }
            Event::Ended { job } => self.end(job.task, None),
            Event::Leave { task } => self.end(task, None),
            Event::CpuOnline { cpu } => self.cpus[cpu].is_online = true,
            Event::CpuOffline { cpu } => {
                self.cpus[cpu].is_online = false;
                self.cpus[cpu].runs = None;
            }
            Event::Timer { .. } => self.alarm.rang(),
            Event::Join { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::BudgetExhausted { .. }
            | Event::Step { .. } => {}
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.events.clear();
        self.refusals.emit(actions);
        self.charge(now);
        self.settle_jobs(now);
        self.settle_budgets(now);
        for released in std::mem::take(&mut self.released) {
            self.release(released);
        }
        self.settle_activity(now);
        let chosen = self.choose();
        for (cpu, &task) in chosen.iter() {
            let job = task.and_then(|task| self.jobs[task]).map(|ready| ready.job);
            let runs = self.cpus[cpu].runs;
            if job == runs {
                continue;
            }
            self.cpus[cpu].runs = job;
            match job {
                Some(job) => actions.push(Action::Run { cpu, job, budget: None }),
                None => actions.push(Action::Idle { cpu }),
            }
            if let Some(ready) = job.and_then(|job| self.jobs[job.task].as_mut()) {
                ready.last = Some(cpu);
            }
        }
        let at = self.wakes_at(now);
        self.alarm.set(at, ALARM, actions);
    }

    fn save(&self, now: Time, state: &mut State) {
        for server in &self.servers {
            server.save(self.at, now, state);
        }
        for team in &self.teams {
            state.number(i64::from(team.is_active));
        }
        // Places matter by their order alone.
        let mut places: Vec<u64> = self.jobs.values().flatten().map(|ready| ready.place).collect();
        places.sort_unstable();
        for (task, ready) in self.jobs.iter() {
            let Some(ready) = ready else {
                state.number(-1);
                continue;
            };
            let runs = self.cpus.values().any(|cpu| cpu.runs == Some(ready.job));
            let ran = if runs { now - self.at } else { Duration::ZERO };
            let is_plain = self.members[task].team.is_none();
            state.number(
                places
                    .iter()
                    .position(|&place| !is_plain && place == ready.place)
                    .map_or(-2, |at| at as i64),
            );
            state.time(ready.deadline, now);
            state.number(i64::from(ready.has_started || ran > Duration::ZERO));
            state.number(ready.last.map_or(-1, |cpu| cpu.index() as i64));
            let has_turns = ready.slice < Duration::from_ns(i64::MAX);
            state.number(if has_turns { (ready.slice - ran).ns() } else { -1 });
        }
        for cpu in self.cpus.values() {
            state.number(i64::from(cpu.is_online));
            state.number(cpu.runs.map_or(-1, |job| job.task.index() as i64));
        }
        // The jobs that were released or have ended since the last decision.
        for &(job, release, deadline) in &self.released {
            state.number(job.task.index() as i64);
            state.time(release, now);
            state.time(deadline, now);
        }
        for &(cpu, task) in &self.ended {
            state.number(cpu.map_or(-1, |cpu| cpu.index() as i64));
            state.number(task.index() as i64);
        }
        self.expected.iter().for_each(|task| state.number(task.index() as i64));
    }

    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }

    fn rule(&self) -> ScheduleRule {
        ScheduleRule::None
    }

    fn counts(&self) -> Vec<Count> {
        let ServerCounts { throttled, replenished, gave_way } = self.counts;
        [("throttled", throttled), ("replenished", replenished), ("gave way", gave_way)]
            .map(|(name, count)| Count { name, count })
            .to_vec()
    }
}
