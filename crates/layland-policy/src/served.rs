//! Servers of fixed priority on each CPU: **sporadic** (SS), **deferrable** (DS) and **polling**
//! (PS), for streams of jobs with arbitrary arrivals and lengths.
//!
//! A task with a budget `Q` is served: its jobs wait in the order in which they arrive, and get `Q`
//! in each period `T` of the task, at its priority. To other tasks it is almost like a periodic
//! task (`Q`, `T`), except that a deferrable server can take `2 Q` without a pause. All other tasks
//! are scheduled as under `p-rm` (or by `order`).
//!
//! | papers | here | meaning |
//! |---|---|---|
//! | capacity, `C_s` | [`Server::budget`], `BudgetAccount::left` | the execution that the server has left |
//! | replenishment: `RT`, `RA` | `Chunk::from`, `Chunk::amount` | the time and the amount of a replenishment |
//! | `T_s` | [`Server::period`] | |
//! | active | `is_active` | there is work, and budget for it |
//!
//! - Deferrable (Strosnider, Lehoczky and Sha 1995): the budget is full again at every multiple of
//!   `T`, however much of it is left. Polling: the same, but the budget is zero while there is no
//!   work.
//! - Sporadic (Sprunt, Sha and Lehoczky 1989), in the form with chunks that Stanovich, Baker, Wang
//!   and González Harbour 2010 corrected: the budget is a list of chunks, each with the time from
//!   which it counts; initially one chunk with the whole budget counts from 0. When work arrives at
//!   a server that is not active, and the first chunk already counts, all chunks that count are
//!   merged into one that counts from now, and the server becomes active. The part of the first
//!   chunk that it executes counts again a period after that chunk began to count. When the chunk
//!   is used up, the next one serves, from its own time on. Without work the server is not active.
//!   The period counts from the activation, even while a higher job runs; in that case POSIX's
//!   `SCHED_SPORADIC` replenishes too early and too much.
//!
//! Ties: equal priorities go to the smaller rank, then to the smaller id. Simultaneous events: ends
//! come first, then replenishments, then arrivals. So a polling server whose work arrives at a
//! multiple of `T` has already lost its budget, unless earlier work waits; and work that arrives as
//! the last work ends activates a sporadic server anew.
//!
//! Cases that the papers leave out:
//! - a budget is the time that a job holds its CPU, with overheads. On a real machine the end of a
//!   budget comes slightly late: the excess is subtracted from the next chunk, or the next budget;
//! - the budget `Q` of a task is work: on a CPU of speed `s` the server has `ceil(Q / s)` of its time;
//! - a server that a request moves to another CPU begins anew there.

mod account;

use self::account::BudgetAccount;
use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Values};
use crate::levels;
use crate::queue::Queue;
use crate::shell::groups::{self, PACKED};
use crate::shell::{Grouped, Priority, Progress, Scheduler, Scope, Turn};
use crate::{Refusal, State};
use layland_model::{
    Algorithm, Citation, CpuMap, CpuSet, Duration, Group, JobOrder, Order, ScheduleRule, Server,
    ServerKind, Service, Speed, System, TaskId, TaskMap, Time,
};
use std::sync::Arc;

/// Sprunt, Sha and Lehoczky 1989.
pub const SPRUNT: Citation = Citation {
    key: "sprunt1989aperiodic",
    text: "B. Sprunt, L. Sha and J. Lehoczky. Aperiodic task scheduling for hard-real-time systems. \
           Real-Time Systems 1(1):27-60, 1989.",
    bibtex: "@article{sprunt1989aperiodic,
  author  = {Brinkley Sprunt and Lui Sha and John Lehoczky},
  title   = {Aperiodic Task Scheduling for Hard-Real-Time Systems},
  journal = {Real-Time Systems}, volume = {1}, number = {1}, pages = {27--60}, year = {1989},
  doi     = {10.1007/BF02341920}
}",
};

/// Strosnider, Lehoczky and Sha 1995.
pub const STROSNIDER: Citation = Citation {
    key: "strosnider1995deferrable",
    text: "J. K. Strosnider, J. P. Lehoczky and L. Sha. The deferrable server algorithm for enhanced aperiodic \
           responsiveness in hard real-time environments. IEEE Transactions on Computers 44(1):73-91, 1995.",
    bibtex: "@article{strosnider1995deferrable,
  author  = {Jay K. Strosnider and John P. Lehoczky and Lui Sha},
  title   = {The Deferrable Server Algorithm for Enhanced Aperiodic Responsiveness in Hard Real-Time Environments},
  journal = {IEEE Transactions on Computers}, volume = {44}, number = {1}, pages = {73--91}, year = {1995},
  doi     = {10.1109/12.368008}
}",
};

/// Stanovich, Baker, Wang and González Harbour 2010.
pub const STANOVICH: Citation = Citation {
    key: "stanovich2010defects",
    text: "M. Stanovich, T. P. Baker, A.-I. Wang and M. González Harbour. Defects of the POSIX sporadic server and how \
           to correct them. RTAS 2010.",
    bibtex: "@inproceedings{stanovich2010defects,
  author    = {Mark Stanovich and Theodore P. Baker and An-I Wang and Michael {Gonz{\\'a}lez Harbour}},
  title     = {Defects of the {POSIX} Sporadic Server and How to Correct Them},
  booktitle = {16th IEEE Real-Time and Embedded Technology and Applications Symposium (RTAS)}, year = {2010}
}",
};

/// Returns the policies of all kinds.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    ServerKind::ALL.map(policy).into()
}

fn policy(kind: ServerKind) -> PolicyInfo {
    let summary = match kind {
        ServerKind::Sporadic => {
            "tasks with a budget get used budget back a period after they began to use it"
        }
        ServerKind::Deferrable => "tasks with a budget get all of it back in each of their periods",
        ServerKind::Polling => {
            "tasks with a budget get all of it back in each of their periods, and lose it where they have no work"
        }
    };
    let citation = match kind {
        ServerKind::Sporadic => vec![SPRUNT, STANOVICH],
        ServerKind::Deferrable => vec![STROSNIDER],
        ServerKind::Polling => vec![SPRUNT],
    };
    PolicyInfo::new(
        kind.abbreviation(),
        format!("{} servers under partitioned fixed priorities", kind.name()),
        summary,
        move |system, options| Ok(Box::new(served(kind, system, options)?)),
    )
    .implementing_by(move |options| {
        Algorithm::Served(kind, order(options).unwrap_or(Order::RateMonotonic))
    })
    .refusing([PACKED, "with order=fp tasks without a `priority`"])
    .with_options([groups::fit(), by_order()].into_iter().chain(levels::option(Order::Given)))
    .breaking_ties("equal priorities go to the smaller rank, then to the task that comes first")
    .citing(citation)
}

fn by_order() -> OptionInfo {
    OptionInfo::new(
        "order",
        "the tasks with the higher priority: those of the shorter period (rm, the default), the shorter relative \
         deadline (dm), or as the tasks say (fp)",
        Values::one_of(["rm", "dm", "fp"]),
    )
}

fn order(options: &PolicyOptions) -> Result<Order, Refusal> {
    let orders = [Order::RateMonotonic, Order::DeadlineMonotonic, Order::Given];
    let named = orders.map(|order| (order.abbreviation(), order));
    Ok(options.one_of("order", &named)?.unwrap_or(Order::RateMonotonic))
}

/// Returns the policy with fixed priorities on each CPU and servers for tasks with a budget.
///
/// # Errors
/// If the tasks cannot be packed, where a task with a budget counts with its budget; a priority is
/// missing; or a task has non-preemptive regions.
pub fn served(
    kind: ServerKind,
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<Served>, SystemRefusal> {
    let name = kind.abbreviation();
    let servers: TaskMap<Option<Server>> = system.tasks.values().map(Server::of).collect();
    // A server uses its budget of a CPU, however long its jobs are.
    let mut reserved = system.clone();
    for (id, server) in servers.iter() {
        if let Some(server) = server {
            reserved.tasks[id].wcet = vec![server.budget].into();
        }
    }
    let scheduler = Served {
        kind,
        accounts: Vec::new(),
        working: Vec::new(),
        worked: Vec::new(),
        decided_at: Time::ZERO,
        deadlines: Arc::new(system.tasks.values().map(|task| task.deadline).collect()),
        speeds: Arc::new(system.platform.speeds.clone()),
        given: Arc::new(servers.clone()),
        servers: Arc::new(servers),
        waiting: Queue::default(),
        fresh: Vec::new(),
        held: Vec::new(),
        ran: None,
    };
    // The response times of servers are not those of tasks: densities decide under a named
    // heuristic, and the test knows the servers by their kind.
    let accept =
        if groups::heuristic(options).is_ok_and(|named| named.is_some()) { "load" } else { "test" };
    let options = options.with("accept", accept).with(groups::SERVERS, name);
    let order = order(&options)?;
    let grouped = Grouped::new(name, Scope::Partitioned, order, &reserved, &options, scheduler)?;
    let grouped = grouped.knowing_their_cpus(Served::count_in_time_of);
    for (cpus, tasks) in grouped.cpus_and_tasks() {
        refuse_overfull(name, system, &cpus, tasks)?;
    }
    let in_level = levels::of(order, system, &options)?;
    levels::refuse_shared(name, "servers", in_level, system, grouped.tasks_of_groups())?;
    Ok(grouped)
}

/// Runs the job of highest priority on one CPU, and jobs of servers only within their budgets: see
/// the file header.
#[derive(Clone, Debug)]
pub struct Served {
    kind: ServerKind,
    /// The servers with their budgets in the time of this CPU.
    servers: Arc<TaskMap<Option<Server>>>,
    /// The servers as given, with their budgets in work, and the speeds of all CPUs.
    given: Arc<TaskMap<Option<Server>>>,
    speeds: Arc<CpuMap<Speed>>,
    deadlines: Arc<TaskMap<Duration>>,
    /// The accounts of the servers that have had a job here, by task.
    accounts: Vec<(TaskId, BudgetAccount)>,
    /// The servers with work as of the last decision, those with work as of earlier instants, and
    /// the time of that decision.
    working: Vec<TaskId>,
    worked: Vec<TaskId>,
    decided_at: Time,
    /// The ready jobs that do not run and are not served.
    waiting: Queue,
    /// Waiting jobs that have not been sorted into served and other ones.
    fresh: Vec<Priority>,
    /// The ready jobs of servers that do not run.
    held: Vec<ServedJob>,
    /// The job that has run since the last decision.
    ran: Option<RunningTask>,
}

/// A ready job of a server.
#[derive(Clone, Copy, Debug)]
struct ServedJob {
    job: Priority,
    task: TaskId,
    /// The time of the first decision about it; or its arrival, if the server had work until then.
    since: Time,
}

#[derive(Clone, Copy, Debug)]
struct RunningTask {
    task: TaskId,
    /// As for the job in [`ServedJob`], if it is served.
    since: Time,
    /// The time up to which its budget is charged.
    from: Time,
}

/// Returns a server with its budget in the time of a CPU of this speed.
fn in_time(server: Server, speed: Speed) -> Server {
    Server { budget: Service::from_ns(speed.time_for(server.budget).ns()), ..server }
}

/// Returns the speed of the only CPU of a group.
fn speed_of(speeds: &CpuMap<Speed>, cpus: &CpuSet) -> Speed {
    cpus.lowest().and_then(|cpu| speeds.get(cpu).copied()).unwrap_or_default()
}

/// Refuses servers whose budgets take longer than their periods on their CPU.
fn refuse_overfull(
    name: &str,
    system: &System,
    cpus: &CpuSet,
    tasks: &[TaskId],
) -> Result<(), SystemRefusal> {
    let speed = speed_of(&system.platform.speeds, cpus);
    for &id in tasks {
        let task = &system.tasks[id];
        let Some(server) = Server::of(task) else { continue };
        let time = speed.time_for(server.budget);
        if speed != Speed::UNIT && time > server.period {
            return Err(Refusal::busy(format!(
                "{name}: the budget of task `{}` takes {time} of {cpus:#}, longer than its period of {}",
                task.name, server.period
            ))
            .about(id));
        }
    }
    Ok(())
}

impl Served {
    /// Counts the budgets in the time of the CPU of its group.
    fn count_in_time_of(&mut self, cpus: &CpuSet) {
        let speed = speed_of(&self.speeds, cpus);
        if speed != Speed::UNIT {
            let timed = |server: &Option<Server>| server.map(|server| in_time(server, speed));
            self.servers = Arc::new(self.given.values().map(timed).collect());
        }
    }

    fn server(&self, task: TaskId) -> Option<Server> {
        *self.servers.get(task)?
    }

    fn account(&self, task: TaskId) -> Option<&BudgetAccount> {
        let (_, account) = self.accounts.iter().find(|(of, _)| *of == task)?;
        Some(account)
    }

    /// Charges the job that ran, and sorts the jobs that began to wait since the last decision.
    fn absorb(&mut self, turn: &Turn<'_>) {
        let now = turn.now();
        if self.decided_at < now {
            // One instant may have several rounds: a job ends in one, and the next job is released
            // in another.
            self.worked.clone_from(&self.working);
            self.decided_at = now;
        }
        if let Some(ran) = &mut self.ran {
            let executed = (now - ran.from).at_unit_speed();
            ran.from = now;
            let task = ran.task;
            if let Some(server) = self.servers.get(task).copied().flatten()
                && let Some((_, account)) = self.accounts.iter_mut().find(|(of, _)| *of == task)
            {
                account.charge(server, executed);
            }
        }
        for job in std::mem::take(&mut self.fresh) {
            let task = turn.task(job);
            let Some(server) = self.server(task) else {
                self.waiting.push(job);
                continue;
            };
            // The job may have lost its CPU without a decision, or have waited for the end of
            // another one. If there was no work, it has not arrived before now: jitter has delayed
            // it.
            let arrival = self.deadlines.get(task).map(|&d| turn.deadline(job) - d);
            let arrival = arrival.filter(|_| self.worked.contains(&task));
            self.held.push(ServedJob { job, task, since: arrival.unwrap_or(now).min(now) });
            if self.account(task).is_none() {
                self.accounts.push((task, BudgetAccount::new(self.kind, server)));
                self.accounts.sort_by_key(|(task, _)| *task);
            }
        }
    }

    /// Updates the accounts to this instant. `running` is the running task, with the `since` of its
    /// job.
    fn settle(&mut self, now: Time, running: Option<(TaskId, Time)>) {
        let Self { kind, servers, accounts, held, .. } = self;
        for (task, account) in accounts {
            let Some(server) = servers[*task] else { continue };
            let held = held.iter().filter(|held| held.task == *task).map(|held| held.since);
            let running = running.filter(|(of, _)| of == task).map(|(_, since)| since);
            let since = held.chain(running).min();
            account.settle(*kind, server, now, since.is_some_and(|since| since >= now));
            if since.is_some() {
                account.activate(now);
            }
        }
    }

    fn has_budget(&self, task: TaskId) -> bool {
        self.account(task).is_none_or(|account| account.left() > Service::ZERO)
    }

    /// Returns the highest waiting job that may run.
    fn highest(&self) -> Option<Priority> {
        let served = self.held.iter().filter(|held| self.has_budget(held.task));
        served.map(|held| held.job).chain(self.waiting.highest()).min()
    }

    fn put_back(&mut self, job: Priority, task: TaskId, since: Time) {
        match self.server(task) {
            Some(_) => self.held.push(ServedJob { job, task, since }),
            None => self.waiting.push(job),
        }
    }
}

impl Scheduler for Served {
    const PROGRESS: Progress = Progress::Tracked;

    fn wait(&mut self, job: Priority) {
        self.fresh.push(job);
    }

    fn forget(&mut self, job: Priority) {
        let held = self.held.len();
        self.held.retain(|held| held.job != job);
        let fresh = self.fresh.len();
        self.fresh.retain(|&other| other != job);
        if self.held.len() == held && self.fresh.len() == fresh {
            self.waiting.remove(job);
        }
    }

    fn clear(&mut self) {
        self.waiting.clear();
        self.fresh.clear();
        self.held.clear();
    }

    fn decide(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now();
        self.absorb(turn);
        let running = turn.running().next().map(|job| {
            let task = turn.task(job);
            let since = self.ran.filter(|ran| ran.task == task).map_or(now, |ran| ran.since);
            (job, task, since)
        });
        self.settle(now, running.map(|(_, task, since)| (task, since)));
        let running = running.filter(|&(job, task, since)| {
            let highest = self.highest();
            let stays =
                self.has_budget(task) && highest.is_none_or(|first| job.is_higher_than(first));
            if !stays {
                self.put_back(job, task, since);
                // If no other job starts there, the CPU needs an explicit `Idle`.
                match self.highest() {
                    Some(_) => turn.preempt(job),
                    None => turn.stop(job),
                }
            }
            stays
        });
        self.ran = running.map(|(_, task, since)| RunningTask { task, since, from: now });
        if turn.has_idle_cpu()
            && let Some(job) = self.highest()
        {
            let task = turn.task(job);
            let served = self.held.iter().position(|held| held.job == job);
            let since = match served {
                Some(at) => self.held.swap_remove(at).since,
                None => {
                    self.waiting.pop();
                    now
                }
            };
            turn.start(job);
            self.ran = Some(RunningTask { task, since, from: now });
        }
        self.working.clear();
        self.working.extend(self.held.iter().map(|held| held.task));
        self.working.extend(self.ran.map(|ran| ran.task));
        let mut wake_at = Time::NEVER;
        if let Some(RunningTask { task, .. }) = self.ran
            && let Some(account) = self.account(task)
        {
            wake_at = now + account.left().at_unit_speed();
            if let BudgetAccount::Multiples { full_at, .. } = account {
                wake_at = wake_at.min(*full_at);
            }
        }
        for held in self.held.iter().filter(|held| !self.has_budget(held.task)) {
            let at = self.account(held.task).map_or(Time::NEVER, BudgetAccount::replenished_at);
            wake_at = wake_at.min(at);
        }
        turn.wake_at(wake_at);
    }

    fn save(&self, now: Time, state: &mut State) {
        for (task, server) in self.servers.iter() {
            let Some(server) = *server else { continue };
            let ran = self.ran.filter(|ran| ran.task == task);
            let has_work = ran.is_some() || self.held.iter().any(|held| held.task == task);
            let mut account = self
                .account(task)
                .cloned()
                .unwrap_or_else(|| BudgetAccount::new(self.kind, server));
            if let Some(ran) = ran {
                account.charge(server, (now - ran.from).at_unit_speed());
            }
            account.save(self.kind, server, now, has_work, state);
            // It still matters for other events at this instant.
            let is_now = self.decided_at == now;
            state.number(i64::from(is_now && self.worked.contains(&task)));
        }
    }

    fn rule(&self, groups: Vec<Group>, order: JobOrder) -> ScheduleRule {
        let mut servers = self.given.as_ref().clone();
        for group in &groups {
            let speed = speed_of(&self.speeds, &group.cpus);
            for &task in &group.tasks {
                if let Some(Some(server)) = servers.get_mut(task) {
                    *server = in_time(*server, speed);
                }
            }
        }
        ScheduleRule::Served { groups, order, kind: self.kind, servers }
    }
}
