//! The check that threads under SCHED_DEADLINE got the processor time that they reserved, from the
//! record of a kernel ([`reservations`]).
//!
//! A trace carries no server deadlines, so they are rebuilt (`server.rs`). Where a deadline is
//! known,
//!
//! 1. a thread gets at most its runtime between two replenishments, unless it may reclaim;
//! 2. a thread that is ready from the beginning of a server period on gets its runtime by the
//!    server deadline;
//! 3. no thread waits while a CPU that it may use is idle, or runs a thread of a later server
//!    deadline or a lower class.
//!
//! Deviations up to the latency are not breaches. A kernel that checks budgets only at its tick
//! grants up to a tick more, and takes it back from the next period.

mod report;
mod server;

pub use self::report::{Account, Breach, Instead, Judgement, Kept, ServerEvent};
pub use self::server::Reserved;

use self::server::{Between, Period, ThreadServer};
use layland_model::{CpuId, CpuSet, Duration, TaskId, TaskMap, Time};
use layland_trace::{Foreign, Lost, ThreadEvent, ThreadEventKind};
use std::collections::BTreeMap;

/// A thread whose reservation is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The name of its task.
    pub name: String,
    /// The thread's reservation.
    pub reserved: Reserved,
    /// The CPUs that the thread may use.
    pub cpus: CpuSet,
    /// True if the thread may use bandwidth that others leave unused (`SCHED_FLAG_RECLAIM`).
    pub reclaims: bool,
}

/// The record of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// The events of the threads, in the order of time.
    pub events: &'a [ThreadEvent],
    /// Other threads of the class SCHED_DEADLINE, and threads of higher classes.
    pub above: &'a [Foreign],
    /// All other threads. They are used to name the thread that held a CPU.
    pub others: &'a [Foreign],
    /// The intervals of a CPU about which nothing is known.
    pub unknown: &'a [(CpuId, Time, Time)],
    /// The end of the record.
    pub over: Time,
    /// Deviations up to this length are not breaches.
    pub latency: Duration,
}

/// Judges a record, and reports at most `limit` breaches in full.
///
/// ```
/// use layland_checker::reservations::{Client, Kept, Recorded, Reserved, reservations};
/// use layland_model::{CpuId, CpuSet, Duration, TaskId, TaskMap, Time};
/// use layland_trace::{Lost, ThreadEvent, ThreadEventKind};
/// let ms = Duration::from_ms;
/// let reserved = Reserved { runtime: ms(2), deadline: ms(10), period: ms(10) };
/// let client = Client { name: "a".into(), reserved, cpus: CpuSet::first(1), reclaims: false };
/// let event = |at, kind| ThreadEvent { at: Time::from_ms(at), task: TaskId(0), kind };
/// let got = ThreadEventKind::GotCpu { cpu: CpuId(0), was_free: true };
/// let slept = ThreadEventKind::LostCpu(Lost::Slept);
/// // It runs for 1 ms every 20 ms: each of its wake-ups begins a new period.
/// let events = [0, 20, 40].map(|at| {
///     [event(at, ThreadEventKind::WokeUp), event(at, got), event(at + 1, slept)]
/// });
/// let events = events.concat();
/// let recorded = Recorded {
///     events: &events,
///     above: &[],
///     others: &[],
///     unknown: &[],
///     over: Time::from_ms(60),
///     latency: Duration::from_us(200),
/// };
/// let judgement = reservations(&TaskMap::from(vec![client]), &recorded, 10);
/// assert_eq!(judgement.accounts[TaskId(0)].verdict(), Kept::Yes);
/// ```
pub fn reservations(clients: &TaskMap<Client>, recorded: &Recorded<'_>, limit: usize) -> Judgement {
    let mut judgement = Judgement { limit, ..Judgement::default() };
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut all: Vec<(Time, Breach)> = Vec::new();
    for (task, client) in clients.iter() {
        let mut events = recorded.events.iter().filter(|event| event.task == task).peekable();
        let mut account = Account::default();
        if let Some(first) = events.peek() {
            let mut follower = Follower::new(task, client, recorded, first.at);
            events.for_each(|event| follower.absorb(event));
            follower.advance(recorded.over);
            follower.end_period();
            account = follower.account;
            all.append(&mut follower.breaches);
            stretches.append(&mut follower.stretches);
            judgement.events.append(&mut follower.events);
        }
        judgement.accounts.push(account);
    }
    let on_cpus = OnCpus::new(&stretches, recorded);
    for waiting in stretches.iter().filter(|stretch| stretch.cpu.is_none()) {
        let client = &clients[waiting.task];
        if let Some(breach) = on_cpus.passed_over(waiting, clients, client, recorded) {
            judgement.accounts[waiting.task].passed_over += 1;
            all.push(breach);
        }
    }
    all.sort_by_key(|&(at, _)| at);
    all.into_iter().for_each(|(_, breach)| judgement.add(breach));
    judgement.events.sort_by_key(|event| (event.at, event.task));
    judgement
}

/// An interval in which a thread runs, or waits for a CPU.
#[derive(Clone, Debug)]
struct Stretch {
    task: TaskId,
    from: Time,
    to: Time,
    /// The CPU on which the thread runs.
    cpu: Option<CpuId>,
    deadline: Option<Between<Time>>,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Sleeps,
    Waits,
    Runs(CpuId),
}

/// Follows one thread event by event.
struct Follower<'a> {
    task: TaskId,
    client: &'a Client,
    latency: Duration,
    server: ThreadServer,
    doing: Doing,
    since: Time,
    /// The period that is watched, and the execution of the thread in it.
    period: Option<Watched>,
    account: Account,
    stretches: Vec<Stretch>,
    breaches: Vec<(Time, Breach)>,
    events: Vec<ServerEvent>,
}

/// A period that is watched.
#[derive(Clone, Copy)]
struct Watched {
    period: Period,
    got: Duration,
    got_in_time: Duration,
    /// True if the thread has been ready since the beginning of the period.
    is_ready: bool,
    is_exceeded: bool,
    is_judged: bool,
}

impl<'a> Follower<'a> {
    fn new(task: TaskId, client: &'a Client, recorded: &Recorded<'_>, at: Time) -> Follower<'a> {
        Follower {
            task,
            client,
            latency: recorded.latency,
            server: ThreadServer::new(client.reserved, at),
            doing: Doing::Sleeps,
            since: at,
            period: None,
            account: Account::default(),
            stretches: Vec::new(),
            breaches: Vec::new(),
            events: Vec::new(),
        }
    }

    fn absorb(&mut self, event: &ThreadEvent) {
        let at = event.at;
        self.advance(at);
        match event.kind {
            ThreadEventKind::Unknown => {
                self.server.forget(at);
                self.period = None;
                self.doing = Doing::Sleeps;
            }
            ThreadEventKind::WokeUp => {
                if self.doing == Doing::Sleeps {
                    self.server.wake(at);
                    self.look();
                    self.doing = Doing::Waits;
                }
            }
            ThreadEventKind::GotCpu { cpu, was_free } => {
                if self.doing == Doing::Sleeps {
                    // The record lacks the thread's wake-up.
                    self.server.forget(at);
                    self.period = None;
                }
                if self.server.resume(at, was_free) {
                    self.account.replenished += 1;
                    let replenished = self.server.period().map(|period| period.deadline.most);
                    self.events.push(ServerEvent { at, task: self.task, replenished });
                }
                self.look();
                self.doing = Doing::Runs(cpu);
            }
            ThreadEventKind::LostCpu(Lost::Preempted) => self.doing = Doing::Waits,
            ThreadEventKind::LostCpu(Lost::Throttled) => {
                self.server.throttle(at);
                self.account.throttled += 1;
                self.events.push(ServerEvent { at, task: self.task, replenished: None });
                self.excuse();
                self.doing = Doing::Waits;
            }
            ThreadEventKind::LostCpu(Lost::Slept) => {
                self.excuse();
                self.doing = Doing::Sleeps;
            }
        }
        self.since = at;
    }

    /// Closes the period without a breach: the thread has used up its budget, or needs no more of
    /// it.
    fn excuse(&mut self) {
        if let Some(watched) = &mut self.period
            && !watched.is_judged
        {
            watched.is_judged = true;
            self.account.served += u64::from(watched.is_ready);
        }
    }

    /// Advances to a time up to which the thread stays in its state.
    fn advance(&mut self, to: Time) {
        let from = self.since;
        if to <= from {
            return;
        }
        let (task, deadline) = (self.task, self.server.period().map(|period| period.deadline));
        let cpu = match self.doing {
            Doing::Sleeps => {
                if let Some(watched) = &mut self.period {
                    watched.is_ready = false;
                }
                return;
            }
            Doing::Runs(cpu) => Some(cpu),
            Doing::Waits => None,
        };
        let ready = match self.server.next() {
            Some((at, deadline)) => Some((from.max(at), Some(deadline))),
            None if self.server.is_throttled => None,
            // The budget may have been used up when another thread of the class took the CPU.
            None if cpu.is_none() && self.server.may_be_used_up() => None,
            None => Some((from, deadline)),
        };
        if let Some((from, deadline)) = ready.filter(|&(from, _)| from < to) {
            self.stretches.push(Stretch { task, from, to, cpu, deadline });
        }
        if cpu.is_some() {
            self.server.charge(to - from, to);
            if let Some(watched) = &mut self.period {
                watched.got += to - from;
                let in_time = to.min(watched.period.deadline.most + self.latency) - from;
                watched.got_in_time += in_time.max(Duration::ZERO);
            }
        }
        self.judge(to);
        self.look();
    }

    /// Checks rules 1 and 2 for the period that is watched.
    fn judge(&mut self, now: Time) {
        let Some(watched) = &mut self.period else { return };
        let (client, period) = (self.client, watched.period);
        let runtime = client.reserved.runtime;
        let exceeded = watched.got - runtime;
        let comes = period.deadline.most + (client.reserved.period - client.reserved.deadline);
        if exceeded > self.latency && now <= comes && !client.reclaims && !watched.is_exceeded {
            watched.is_exceeded = true;
            self.account.exceeded += 1;
            let (thread, got) = (client.name.clone(), watched.got);
            self.breaches.push((now, Breach::Exceeded { thread, at: now, got, runtime }));
        }
        let is_due = now > period.deadline.most + self.latency;
        if is_due && watched.is_ready && !watched.is_judged {
            watched.is_judged = true;
            if period.granted.least - watched.got_in_time > self.latency {
                self.account.short += 1;
                let (thread, got) = (client.name.clone(), watched.got_in_time);
                let (from, deadline) = (period.begin, period.deadline.most);
                let breach = Breach::Short { thread, from, got, runtime, deadline };
                self.breaches.push((now, breach));
            } else {
                self.account.served += 1;
            }
        }
    }

    /// Starts to watch the current period if it is a new one.
    fn look(&mut self) {
        let now = self.server.period();
        let is_same = match (&self.period, now) {
            (Some(watched), Some(now)) => {
                watched.period.deadline == now.deadline && watched.period.granted == now.granted
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if is_same {
            return;
        }
        self.end_period();
        let Some(period) = now else { return };
        let used = period.granted.most - period.left.most;
        self.account.periods += 1;
        // Execution before the period was known counts, too.
        self.period = Some(Watched {
            period,
            got: used.max(Duration::ZERO),
            got_in_time: used.max(Duration::ZERO),
            is_ready: true,
            is_exceeded: false,
            is_judged: false,
        });
    }

    fn end_period(&mut self) {
        if let Some(watched) = self.period.take() {
            self.account.most = self.account.most.max(watched.got);
        }
    }
}

/// The uses of each CPU, in the order of time.
struct OnCpus<'a> {
    by_cpu: BTreeMap<CpuId, Vec<(Time, Time, Had<'a>)>>,
}

/// The use of a CPU.
#[derive(Clone, Copy)]
enum Had<'a> {
    /// A thread that is judged.
    Client(&'a Stretch),
    /// A thread of the class or of a higher one, or an unknown use.
    Above,
}

impl<'a> OnCpus<'a> {
    fn new(stretches: &'a [Stretch], recorded: &Recorded<'a>) -> OnCpus<'a> {
        let mut by_cpu: BTreeMap<CpuId, Vec<(Time, Time, Had<'a>)>> = BTreeMap::new();
        for stretch in stretches {
            if let Some(cpu) = stretch.cpu {
                let had = (stretch.from, stretch.to, Had::Client(stretch));
                by_cpu.entry(cpu).or_default().push(had);
            }
        }
        for run in recorded.above {
            by_cpu.entry(run.cpu).or_default().push((run.start, run.end, Had::Above));
        }
        for &(cpu, from, to) in recorded.unknown {
            by_cpu.entry(cpu).or_default().push((from, to, Had::Above));
        }
        // A CPU that does not occur in the trace may not exist.
        for run in recorded.others {
            by_cpu.entry(run.cpu).or_default();
        }
        for had in by_cpu.values_mut() {
            had.sort_by_key(|&(from, to, _)| (from, to));
        }
        OnCpus { by_cpu }
    }

    /// Returns a breach if a thread waits for longer than the latency while a CPU that it may use
    /// does less urgent work.
    fn passed_over(
        &self,
        waiting: &Stretch,
        clients: &TaskMap<Client>,
        client: &Client,
        recorded: &Recorded<'_>,
    ) -> Option<(Time, Breach)> {
        let own = waiting.deadline?;
        if waiting.to - waiting.from <= recorded.latency {
            return None;
        }
        let cpus = self.by_cpu.iter().filter(|&(&cpu, _)| client.cpus.contains(cpu));
        let wrong = cpus.filter_map(|(&cpu, had)| {
            let mut since = waiting.from;
            let mut later: Option<&Stretch> = None;
            // Unknown intervals may overlap with known ones.
            let first = had.partition_point(|&(_, to, _)| to <= waiting.from).saturating_sub(2);
            for &(from, to, had) in &had[first..] {
                if from >= waiting.to {
                    break;
                }
                if to <= waiting.from {
                    continue;
                }
                let comes_after = match had {
                    Had::Client(stretch) => {
                        stretch.deadline.is_some_and(|other| other.least > own.most)
                    }
                    Had::Above => false,
                };
                if comes_after {
                    if let (None, Had::Client(stretch)) = (later, had) {
                        later = Some(stretch);
                    }
                } else {
                    if from - since > recorded.latency {
                        return Some((since, from, cpu, later));
                    }
                    (since, later) = (to, None);
                }
            }
            (waiting.to - since > recorded.latency).then_some((since, waiting.to, cpu, later))
        });
        let (at, until, cpu, later) = wrong.min_by_key(|&(at, ..)| at)?;
        let instead = match later {
            Some(stretch) if stretch.from <= at + recorded.latency => {
                let deadline = stretch.deadline.map_or(Time::NEVER, |other| other.least);
                Instead::Later(clients[stretch.task].name.clone(), deadline)
            }
            Some(_) | None => lower(recorded.others, cpu, at, until),
        };
        let thread = client.name.clone();
        Some((at, Breach::PassedOver { thread, deadline: own.most, at, cpu, instead }))
    }
}

/// Returns the thread that had the CPU longest.
fn lower(others: &[Foreign], cpu: CpuId, at: Time, until: Time) -> Instead {
    let mut shares: BTreeMap<&str, Duration> = BTreeMap::new();
    let first = others.partition_point(|run| (run.cpu, run.end) <= (cpu, at));
    for run in others[first..].iter().take_while(|run| run.cpu == cpu && run.start < until) {
        *shares.entry(&run.thread).or_default() += run.end.min(until) - run.start.max(at);
    }
    let longest = shares.into_iter().max_by_key(|&(_, share)| share);
    longest.map_or(Instead::Nothing, |(thread, _)| Instead::Lower(thread.to_owned()))
}
