//! Per-CPU run queues of threads with servers: what SCHED_DEADLINE and the adaptive partitioners
//! share.
//!
//! Each CPU has a queue of the threads that may run there, and runs the first; what differs between
//! policies is which queue a thread is put into, and when it is moved. That is the trait [`Rules`].
//!
//! | specification | here | meaning |
//! |---|---|---|
//! | `rq[c]` | [`Queue`] | the queued threads, with the running one |
//! | `curr[c]` | `curr[c]` | the thread that CPU `c` runs |
//! | `need[c]` | `need` | the CPUs that have to reschedule |
//! | `p.cpu` | [`Thread::cpu`] | the queue that `p` is in, or was in last |
//! | `earliest(c)` | [`RunQueues::earliest`] | the earliest deadline queued on `c` |
//!
//! Order within a queue, by the option `tie`: `sticky`: deadline, then the running thread, then the
//! smaller rank; `rank`: deadline, then rank; `fifo`: deadline, then the time of enqueueing.
//!
//! One instant, whatever the engine tells at once:
//!
//! 1. Threads whose budget or job ends now are *due*. All of them are marked, then each is handled in
//!    the order of their CPUs, and after each every CPU that needs to reschedules, lowest first. A
//!    due thread is handled even if that preempted it; until then it cannot be pushed or pulled.
//! 2. Then replenishments, wake-ups and entries by rank, then requests, each followed by
//!    rescheduling. A replenishment for now that another event of this instant caused comes before
//!    the events that are left.
//!
//! With the option `grub_pa` the speed of a CPU follows the bandwidth of the threads of its queue, the
//! throttled ones included (the power-aware form of GRUB): `min(1, sum of Q/T)`, kept exactly if the
//! bandwidths have a common denominator up to 10^6, and otherwise rounded up to a thousandth. A CPU
//! without threads keeps its speed.
//!
//! A thread is charged for the time in which it holds a CPU. Where an engine measures what it really got
//! (`Measured`), the difference goes back to its server, or is charged, too: a pause of a real machine
//! throttles nobody.
//!
//! What is decided is the difference between what the engine runs and `curr` after all that.
#![expect(non_snake_case, reason = "Q, T and D are the symbols of the papers")]

use super::server::{Server, ServerState, Woken};
use super::{Tie, cpudl::Cpudl};
use crate::{Action, AfterJob, Event, Note, Policy, Refusal, RequestId, State, TimerId};
use layland_model::{
    Behaviour, Change, CpuId, CpuMap, CpuSet, Duration, Index, JobId, MoveReason, Rate, RateSum,
    Service, Speed, System, Task, TaskId, TaskMap, Time,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the thread of a task does, as far as its jobs depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Its jobs are the engine's.
    Jobs,
    /// Its jobs are its budgets.
    Hog,
    /// Its jobs are the engine's, due when its server is.
    SelfSuspending,
}

#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub server: Server,
    /// `Q / T`.
    pub u: Rate,
    pub cluster: usize,
    /// The CPUs that it may use.
    pub mask: CpuSet,
    pub cpu: CpuId,
    pub queued: bool,
    /// Whether its run queue was chosen before.
    pub placed: bool,
    /// Whether it was let in, and has not left.
    pub admitted: bool,
    /// Whether it may use more than one CPU.
    pub migrates: bool,
    /// Its place by rank, which breaks ties; also the number of its timer.
    pub seat: u32,
    due: bool,
    kind: Kind,
    /// Breaks ties between equal deadlines in its queue.
    tie: i64,
    /// Its ready job, and the one released while the other is still to be handled.
    job: Option<u64>,
    next_job: Option<u64>,
    /// The release of its last job as a hog, or when it entered; when its ready job was released, and
    /// whether that job has run.
    previous: Time,
    /// `d - T`, with the `T` by which `d` was set; not after that instant, where an overrun cost a
    /// whole budget.
    begin: Time,
    released: Time,
    ran: bool,
    /// What the engine was told last of the dates of the job.
    told: (Time, Time),
    /// What its job was charged for; as a hog, since it entered.
    charged: Duration,
}

impl Thread {
    fn new(task: &Task, cluster: &CpuSet, seat: u32) -> Thread {
        let mask = task.affinity.clone().unwrap_or_else(|| cluster.clone());
        let server = Server::new(task.reservation(), task.period, task.deadline);
        Thread {
            u: server.bandwidth(),
            server,
            cluster: task.cluster,
            cpu: mask.lowest().unwrap_or(CpuId(0)),
            migrates: mask.len() > 1,
            mask,
            queued: false,
            placed: false,
            admitted: false,
            seat,
            due: false,
            kind: match task.behaviour {
                Behaviour::Hog => Kind::Hog,
                Behaviour::SelfSuspending { .. } => Kind::SelfSuspending,
                Behaviour::Periodic
                | Behaviour::Sporadic(_)
                | Behaviour::Explicit(_)
                | Behaviour::Yield => Kind::Jobs,
            },
            tie: 0,
            job: None,
            next_job: None,
            previous: Time::ZERO,
            begin: Time::ZERO,
            released: Time::ZERO,
            ran: false,
            told: (Time::NEVER, Time::NEVER),
            charged: Duration::ZERO,
        }
    }

    /// Whether it is in the system.
    pub fn is_in(&self) -> bool {
        !matches!(self.server.state, ServerState::Inactive | ServerState::Dead)
    }

    fn set_begin(&mut self, now: Time) {
        self.begin = (self.server.deadline() - self.server.period()).min(now);
    }

    /// Release and deadline of the ready job, where its server gives them.
    fn dates(&self) -> (Time, Time) {
        let d = self.server.deadline();
        let release = match self.kind {
            // One budget: from one period before its deadline. A job that has run keeps its release.
            Kind::Hog if self.ran => self.told.0,
            Kind::Hog => self.begin.max(self.previous),
            Kind::SelfSuspending | Kind::Jobs => self.released,
        };
        (release, d)
    }
}

/// The queued threads of one CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// All of them, by deadline and tie.
    order: BTreeSet<(Time, i64, TaskId)>,
    /// Those that may use other CPUs, by deadline and rank.
    movable: BTreeSet<(Time, u32, TaskId)>,
}

/// The state that all policies with per-CPU run queues share: see the file header.
#[derive(Clone, Debug)]
pub(crate) struct RunQueues {
    pub now: Time,
    pub threads: TaskMap<Thread>,
    pub curr: CpuMap<Option<TaskId>>,
    /// The CPUs of each cluster, and those of them that are online.
    pub clusters: Vec<CpuSet>,
    pub usable: Vec<CpuSet>,
    pub cpudl: Vec<Cpudl>,
    /// `U_j`, where a policy asked for it.
    pub load: Option<CpuMap<RateSum>>,
    tie: Tie,
    lag_reset: bool,
    queues: CpuMap<Queue>,
    need: CpuSet,
    online: CpuSet,
    speeds: CpuMap<Speed>,
    /// Speeds follow the bandwidth, in multiples of one over this.
    speed_grid: Option<i64>,
    /// Enqueueings so far.
    enqueued: i64,
    /// Whether an engine has measured: then a queued thread may have got more than its budget.
    measured: bool,
    /// Since when what a CPU runs is not accounted for.
    since: CpuMap<Time>,
    /// What the engine runs, CPUs where that may differ, and those that need a new budget.
    running: CpuMap<Option<JobId>>,
    touched: CpuSet,
    regrant: CpuSet,
    /// Threads whose job may have other dates.
    dated: Vec<TaskId>,
    /// Replenishments for now, by seat.
    due_timers: BTreeSet<(u32, TaskId)>,
    /// The threads by seat.
    seats: Vec<TaskId>,
    out: Vec<Action>,
}

/// What happens to the server of a queued thread that is taken off its queue for a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// Nothing.
    Keep,
    /// It starts anew.
    NewPeriod,
    /// What a wake-up does.
    WakeUp,
}

/// What differs between policies with per-CPU run queues.
pub(crate) trait Rules: Clone + Send + 'static {
    /// Whether a server that is used up after its deadline goes on at once.
    fn bypasses(&self) -> bool;
    /// Puts a thread that enters or wakes up into a queue.
    fn woken(&mut self, rq: &mut RunQueues, p: TaskId);
    /// Puts a thread that was throttled into a queue.
    fn replenished(&mut self, rq: &mut RunQueues, p: TaskId);
    /// Puts a thread that bypassed throttling into a queue.
    fn bypassed(&mut self, rq: &mut RunQueues, p: TaskId);
    /// The running thread of a CPU has left its queue.
    fn pull(&mut self, rq: &mut RunQueues, c: CpuId);
    /// A CPU has a thread to run.
    fn push(&mut self, rq: &mut RunQueues, c: CpuId);
    /// Whether a task may enter.
    fn admit(&mut self, rq: &mut RunQueues, p: TaskId) -> Result<(), Refusal>;
    /// A thread has left; what it had reserved is free.
    fn release(&mut self, rq: &mut RunQueues, p: TaskId);
    /// A thread asks for something else.
    fn reconfigure(
        &mut self,
        rq: &mut RunQueues,
        p: TaskId,
        change: &Change,
    ) -> Result<(), Refusal>;
    /// A cluster is to get other CPUs.
    fn set_cluster_cpus(
        &mut self,
        rq: &mut RunQueues,
        cluster: usize,
        cpus: &CpuSet,
    ) -> Result<(), Refusal>;
    /// Panics where its own invariants do not hold.
    fn assert_invariants(&self, rq: &RunQueues);
}

impl RunQueues {
    pub fn new(system: &System, tie: Tie, lag_reset: bool) -> RunQueues {
        let cpus = system.platform.cpu_count();
        let clusters = system.platform.clusters.clone();
        let mut rq = RunQueues {
            now: Time::ZERO,
            threads: system
                .tasks
                .values()
                .map(|task| Thread::new(task, &clusters[task.cluster], 0))
                .collect(),
            curr: CpuMap::filled(None, cpus),
            usable: vec![CpuSet::new(); clusters.len()],
            cpudl: vec![Cpudl::default(); clusters.len()],
            clusters,
            load: None,
            tie,
            lag_reset,
            queues: CpuMap::filled(Queue::default(), cpus),
            need: CpuSet::new(),
            online: CpuSet::new(),
            speeds: system.platform.speeds.clone(),
            speed_grid: None,
            enqueued: 0,
            measured: false,
            since: CpuMap::filled(Time::ZERO, cpus),
            running: CpuMap::filled(None, cpus),
            touched: CpuSet::new(),
            regrant: CpuSet::new(),
            dated: Vec::new(),
            due_timers: BTreeSet::new(),
            seats: system.by_rank(),
            out: Vec::new(),
        };
        for (seat, &p) in rq.seats.iter().enumerate() {
            rq.threads[p].seat = seat as u32;
        }
        rq
    }

    /// From now on the speed of a CPU follows the bandwidth of its threads.
    pub fn scale_speeds(&mut self, system: &System) -> Result<(), Refusal> {
        if !system.platform.is_unit_speed() {
            return Err(Refusal::invalid("grub_pa needs CPUs of unit speed at full frequency"));
        }
        let mut grid = Some(1i64);
        for thread in self.threads.values() {
            let denominator = thread.u.as_i64_pair().map(|(_, denominator)| denominator);
            grid = grid.zip(denominator).and_then(|(grid, denominator)| {
                let common = num_integer::Integer::gcd(&grid, &denominator);
                (grid / common).checked_mul(denominator).filter(|&grid| grid <= Speed::LIMIT)
            });
        }
        let grid = grid.unwrap_or(1000);
        let longest = system.tasks.values().flat_map(|task| &task.wcet).max();
        let work = longest.map_or(0, |wcet| wcet.ns());
        if work.checked_mul(grid).is_none_or(|grains| grains > layland_model::TIME_LIMIT) {
            return Err(Refusal::invalid(
                "execution times are too long for grub_pa to be kept exactly",
            ));
        }
        self.speed_grid = Some(grid);
        Ok(())
    }

    /// Gives every CPU the speed that the bandwidth of its threads asks for.
    fn update_speeds(&mut self, grid: i64) {
        for c in self.curr.ids() {
            let bandwidth: Rate = self
                .threads
                .values()
                .filter(|thread| {
                    thread.cpu == c
                        && matches!(
                            thread.server.state,
                            ServerState::Eligible | ServerState::Throttled
                        )
                })
                .map(|thread| thread.u.clone())
                .sum();
            let steps = (&bandwidth * &Rate::whole(grid)).ceil().map_or(grid, |n| n.min(grid));
            let Some(speed) = Speed::new(&Rate::new(steps, grid)) else { continue };
            if speed != self.speeds[c] {
                self.charge(c);
                self.speeds[c] = speed;
                self.out.push(Action::SetSpeed { cpu: c, speed });
                self.touched.insert(c);
                self.regrant.insert(c);
            }
        }
    }

    /// From now on `load` is the sum of the bandwidths of the threads of each CPU.
    pub fn keep_load(&mut self) {
        let mut load = CpuMap::filled(RateSum::default(), self.curr.len());
        for thread in self.threads.values() {
            if thread.server.state != ServerState::Dead {
                load[thread.cpu].add(&thread.u);
            }
        }
        self.load = Some(load);
    }

    // --- Looking ------------------------------------------------------------------------------

    /// The first thread in the order of a queue.
    pub fn leftmost(&self, c: CpuId) -> Option<TaskId> {
        let &(d, _, first) = self.queues[c].order.first()?;
        match self.curr[c] {
            Some(p)
                if self.tie == Tie::Sticky
                    && self.is_queued_on(p, c)
                    && self.threads[p].server.deadline() == d =>
            {
                Some(p)
            }
            Some(_) | None => Some(first),
        }
    }

    /// The earliest deadline queued on a CPU.
    pub fn earliest(&self, c: CpuId) -> Option<Time> {
        self.queues[c].order.first().map(|&(d, ..)| d)
    }

    /// The same without one thread.
    pub fn earliest_without(&self, c: CpuId, x: TaskId) -> Option<Time> {
        self.queues[c].order.iter().find(|&&(_, _, p)| p != x).map(|&(d, ..)| d)
    }

    pub fn is_empty(&self, c: CpuId) -> bool {
        self.queues[c].order.is_empty()
    }

    pub fn is_queued_on(&self, p: TaskId, c: CpuId) -> bool {
        let thread = &self.threads[p];
        thread.queued && thread.cpu == c
    }

    /// What a CPU runs, if that is still in its queue.
    pub fn running(&self, c: CpuId) -> Option<TaskId> {
        self.curr[c].filter(|&p| self.is_queued_on(p, c))
    }

    pub fn deadline(&self, p: TaskId) -> Time {
        self.threads[p].server.deadline()
    }

    pub fn needs(&self, c: CpuId) -> bool {
        self.need.contains(c)
    }

    /// The threads that can be moved away from a CPU, by deadline and rank: queued, not running,
    /// not due.
    pub fn pushable(&self, c: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        let movable = self.queues[c].movable.iter().map(|&(_, _, p)| p);
        movable.filter(move |&p| self.curr[c] != Some(p) && !self.threads[p].due)
    }

    /// The CPUs that a thread can use now.
    pub fn allowed(&self, p: TaskId) -> CpuSet {
        let thread = &self.threads[p];
        thread.mask.intersection(&self.usable[thread.cluster])
    }

    /// The cluster of a CPU.
    pub fn cluster_of(&self, c: CpuId) -> Option<usize> {
        self.clusters.iter().position(|cluster| cluster.contains(c))
    }

    // --- Queues -------------------------------------------------------------------------------

    pub fn set_need(&mut self, c: CpuId) {
        self.need.insert(c);
    }

    fn update_cpudl(&mut self, c: CpuId) {
        let earliest = self.earliest(c);
        for (usable, cpudl) in self.usable.iter().zip(&mut self.cpudl) {
            if usable.contains(c) {
                cpudl.set(c, earliest);
            }
        }
    }

    /// Puts a thread into the queue of its CPU.
    pub fn enqueue(&mut self, p: TaskId) {
        self.enqueued += 1;
        let thread = &mut self.threads[p];
        debug_assert!(!thread.queued);
        thread.tie = match self.tie {
            Tie::Fifo => self.enqueued,
            Tie::Sticky | Tie::Rank => i64::from(thread.seat),
        };
        thread.queued = true;
        thread.server.state = ServerState::Eligible;
        let (c, d) = (thread.cpu, thread.server.deadline());
        let queue = &mut self.queues[c];
        queue.order.insert((d, thread.tie, p));
        if thread.migrates {
            queue.movable.insert((d, thread.seat, p));
        }
        self.update_cpudl(c);
    }

    /// Takes a thread out of the queue of its CPU, which reschedules if it ran it.
    pub fn dequeue(&mut self, p: TaskId) {
        let c = self.threads[p].cpu;
        if self.curr[c] == Some(p) {
            self.charge(c);
            self.need.insert(c);
        }
        let thread = &mut self.threads[p];
        debug_assert!(thread.queued);
        thread.queued = false;
        let d = thread.server.deadline();
        let queue = &mut self.queues[c];
        queue.order.remove(&(d, thread.tie, p));
        queue.movable.remove(&(d, thread.seat, p));
        self.update_cpudl(c);
    }

    /// Gives a thread that is not queued another CPU.
    pub fn set_cpu(&mut self, p: TaskId, c: CpuId, why: MoveReason) {
        let thread = &mut self.threads[p];
        debug_assert!(!thread.queued);
        let from = std::mem::replace(&mut thread.cpu, c);
        if from == c {
            return;
        }
        if let Some(load) = &mut self.load {
            load[from].remove(&thread.u);
            load[c].add(&thread.u);
        }
        self.out.push(Action::Note { note: Note::Moved { task: p, from, to: c, why } });
    }

    /// Moves a queued thread to the queue of another CPU.
    pub fn move_to(&mut self, p: TaskId, c: CpuId, why: MoveReason) {
        self.dequeue(p);
        self.set_cpu(p, c, why);
        self.enqueue(p);
    }

    /// A CPU reschedules if it runs nothing, or not what comes first.
    pub fn preempt_check(&mut self, c: CpuId) {
        if self.running(c).is_none() || self.leftmost(c) != self.curr[c] {
            self.need.insert(c);
        }
    }

    /// Where a thread has to go whose CPU it can no longer use: to the lowest that it can; if there is
    /// none, to one that is offline, where it waits.
    fn refuge(&self, p: TaskId) -> Option<CpuId> {
        let thread = &self.threads[p];
        let allowed = self.allowed(p);
        let among = if allowed.is_empty() { &thread.mask } else { &allowed };
        if among.contains(thread.cpu) { None } else { among.lowest() }
    }

    /// Takes a thread that is not queued off a CPU that it can no longer use.
    pub fn settle(&mut self, p: TaskId) {
        if let Some(cpu) = self.refuge(p) {
            self.set_cpu(p, cpu, MoveReason::Expelled);
        }
    }

    pub fn new_period(&mut self, p: TaskId) {
        debug_assert!(!self.threads[p].queued);
        self.threads[p].server.new_period(self.now);
        self.threads[p].set_begin(self.now);
        self.dated.push(p);
    }

    fn replenish(&mut self, p: TaskId) {
        debug_assert!(!self.threads[p].queued);
        let thread = &mut self.threads[p];
        thread.server.replenish();
        if self.lag_reset {
            thread.server.reset_lag(self.now);
        }
        thread.set_begin(self.now);
        let d = thread.server.deadline();
        self.dated.push(p);
        self.out.push(Action::Note { note: Note::Replenished { task: p, deadline: d } });
    }

    /// Accounts for what the thread on a CPU did.
    fn charge(&mut self, c: CpuId) {
        let length = self.now - self.since[c];
        if length > Duration::ZERO
            && let Some(p) = self.curr[c]
        {
            let thread = &mut self.threads[p];
            thread.server.charge(length, self.speeds[c]);
            thread.charged += length;
            thread.ran = true;
        }
        self.since[c] = self.now;
    }

    /// The ready job of a thread has got this much in all.
    fn correct(&mut self, job: JobId, executed: Service) {
        let Some(thread) = self.threads.get(job.task) else { return };
        let c = thread.cpu;
        if self.curr[c] == Some(job.task) {
            self.charge(c);
        }
        let speed = self.speeds[c];
        let thread = &mut self.threads[job.task];
        if thread.job == Some(job.seq) {
            let executed = Duration::from_ns(executed.ns());
            let charged = std::mem::replace(&mut thread.charged, executed);
            thread.server.correct(charged, executed, speed);
            self.measured = true;
        }
    }

    /// Makes a CPU run a thread or nothing.
    fn switch(&mut self, c: CpuId, next: Option<TaskId>) {
        if self.curr[c] != next {
            self.charge(c);
            self.curr[c] = next;
            self.touched.insert(c);
            self.regrant.insert(c);
        }
    }

    /// Gives what a CPU runs its budget anew, if it runs this thread.
    fn grant_again(&mut self, p: TaskId) {
        let c = self.threads[p].cpu;
        if self.curr[c] == Some(p) {
            self.touched.insert(c);
            self.regrant.insert(c);
        }
    }

    fn set_timer(&mut self, p: TaskId, at: Time) {
        let id = TimerId(self.threads[p].seat);
        self.out.push(Action::SetTimer { id, at });
    }

    // --- Requests that several policies grant in the same way -----------------------------------

    /// Stores other parameters; `tardy` is what that does to a queued server whose deadline has passed.
    pub fn set_parameters(&mut self, p: TaskId, [Q, T, D]: [i64; 3], tardy: Renewal) {
        let thread = &mut self.threads[p];
        if let Some(load) = &mut self.load {
            load[thread.cpu].remove(&thread.u);
        }
        thread.server.set_parameters(
            Service::from_ns(Q),
            Duration::from_ns(T),
            Duration::from_ns(D),
        );
        thread.u = thread.server.bandwidth();
        if let Some(load) = &mut self.load {
            load[thread.cpu].add(&thread.u);
        }
        if tardy != Renewal::Keep && thread.queued && thread.server.deadline() <= self.now {
            let c = thread.cpu;
            self.requeue(p, c, tardy);
        }
    }

    /// Takes a queued thread off its queue and puts it into that of a CPU, which may be the same. False
    /// if it is throttled instead.
    fn requeue(&mut self, p: TaskId, to: CpuId, renewal: Renewal) -> bool {
        let from = self.threads[p].cpu;
        self.dequeue(p);
        self.set_cpu(p, to, MoveReason::Expelled);
        match renewal {
            Renewal::Keep => {}
            Renewal::NewPeriod => self.new_period(p),
            Renewal::WakeUp => {
                let woken = self.threads[p].server.wake(self.now);
                self.threads[p].set_begin(self.now);
                self.dated.push(p);
                if let Woken::ThrottledUntil(at) = woken {
                    self.throttle_until(p, at);
                    return false;
                }
            }
        }
        self.enqueue(p);
        if from == to {
            // It did not stop running.
            self.grant_again(p);
            self.need.remove(to);
        }
        self.preempt_check(to);
        true
    }

    /// A thread that is not queued waits for its replenishment.
    fn throttle_until(&mut self, p: TaskId, at: Time) {
        self.threads[p].server.state = ServerState::Throttled;
        self.out.push(Action::Note { note: Note::Throttled { task: p } });
        self.set_timer(p, at);
    }

    /// Gives a thread another mask; where it is queued stays as it is.
    pub fn set_mask(&mut self, p: TaskId, mask: CpuSet) {
        let thread = &mut self.threads[p];
        thread.migrates = mask.len() > 1;
        thread.mask = mask;
        if thread.queued {
            let entry = (thread.server.deadline(), thread.seat, p);
            let movable = &mut self.queues[thread.cpu].movable;
            if thread.migrates {
                movable.insert(entry);
            } else {
                movable.remove(&entry);
            }
        }
    }

    /// Whether a thread may no longer use its CPU.
    pub fn has_to_move(&self, p: TaskId) -> bool {
        self.refuge(p).is_some()
    }

    /// Moves a thread whose CPU it may no longer use to the lowest that it may use. The CPU in whose
    /// queue it is then.
    pub fn evict(&mut self, p: TaskId, renewal: Renewal) -> Option<CpuId> {
        let lowest = self.refuge(p)?;
        if !self.threads[p].queued {
            self.set_cpu(p, lowest, MoveReason::Expelled);
            return None;
        }
        self.requeue(p, lowest, renewal).then_some(lowest)
    }

    /// The same for a thread that may stay, too.
    pub fn refresh(&mut self, p: TaskId, renewal: Renewal) -> Option<CpuId> {
        let own = self.threads[p].cpu;
        if self.has_to_move(p) {
            self.evict(p, renewal)
        } else if self.threads[p].queued && renewal != Renewal::Keep {
            self.requeue(p, own, renewal).then_some(own)
        } else {
            None
        }
    }

    /// Gives a cluster other CPUs: all of its threads may use all of them, those on a CPU that is
    /// gone move to the lowest. The CPUs that are new.
    pub fn change_cluster(&mut self, cluster: usize, cpus: &CpuSet) -> Result<CpuSet, Refusal> {
        let taken = |(other, set): (usize, &CpuSet)| other != cluster && !set.is_disjoint(cpus);
        if self.clusters.iter().enumerate().any(taken) {
            return Err(Refusal::invalid("a CPU is in another cluster"));
        }
        let added = cpus.difference(&self.clusters[cluster]);
        self.clusters[cluster] = cpus.clone();
        self.update_usable();
        for at in 0..self.seats.len() {
            let p = self.seats[at];
            let thread = &self.threads[p];
            if thread.cluster == cluster && thread.server.state != ServerState::Dead {
                self.set_mask(p, cpus.clone());
                self.evict(p, Renewal::Keep);
            }
        }
        Ok(added)
    }

    fn update_usable(&mut self) {
        for cluster in 0..self.clusters.len() {
            let usable = self.clusters[cluster].intersection(&self.online);
            let before = std::mem::replace(&mut self.usable[cluster], usable);
            before.iter().for_each(|c| self.cpudl[cluster].remove(c));
            for c in self.usable[cluster].clone().iter() {
                let earliest = self.earliest(c);
                self.cpudl[cluster].set(c, earliest);
            }
        }
    }

    // --- Invariants ---------------------------------------------------------------------------

    /// What holds after every drain.
    fn assert_invariants(&self) {
        let mut queued = 0;
        let is_unit_speed =
            self.speed_grid.is_none() && self.speeds.values().all(|&speed| speed == Speed::UNIT);
        for (c, queue) in self.queues.iter() {
            for &(d, tie, p) in &queue.order {
                let thread = &self.threads[p];
                assert!(thread.queued && thread.cpu == c, "{p:?} is on two queues");
                assert!((thread.server.deadline(), thread.tie) == (d, tie));
                let has_budget = thread.due || !thread.server.is_exhausted();
                assert!(
                    has_budget || !is_unit_speed || self.measured,
                    "a queued server has a budget"
                );
                let mask = &thread.mask;
                assert!(mask.contains(c), "{p:?} is on {c:?}, and may use {mask:?}");
                let entry = (d, thread.seat, p);
                assert_eq!(queue.movable.contains(&entry), thread.migrates);
            }
            queued += queue.order.len();
            if self.online.contains(c) {
                assert_eq!(self.curr[c], self.leftmost(c), "{c:?} runs what comes first");
            } else {
                assert_eq!(self.curr[c], None, "{c:?} is offline");
            }
        }
        let eligible = self.threads.values().filter(|thread| thread.queued);
        assert_eq!(queued, eligible.clone().count(), "a thread is on exactly one queue");
        eligible.for_each(|thread| assert_eq!(thread.server.state, ServerState::Eligible));
        for (usable, cpudl) in self.usable.iter().zip(&self.cpudl) {
            assert!(
                cpudl.agrees(usable, |c| self.earliest(c)),
                "cpudl differs from its definition"
            );
        }
        if let Some(load) = &self.load {
            for c in load.ids() {
                let here =
                    |thread: &&Thread| thread.cpu == c && thread.server.state != ServerState::Dead;
                let sum: Rate =
                    self.threads.values().filter(here).map(|thread| thread.u.clone()).sum();
                assert_eq!(load[c].exact(), sum, "U of {c:?} is the sum over its threads");
            }
        }
    }
}

/// A policy with per-CPU run queues.
#[derive(Clone, Debug)]
pub struct Threads<R> {
    rq: RunQueues,
    rules: R,
    inbox: Vec<Event>,
}

#[expect(private_bounds, reason = "the policies are built by the functions of their files")]
impl<R: Rules> Threads<R> {
    pub(crate) fn new(rq: RunQueues, rules: R) -> Threads<R> {
        Threads { rq, rules, inbox: Vec::new() }
    }

    fn drain(&mut self) {
        while let Some(c) = self.rq.need.lowest() {
            self.rq.need.remove(c);
            self.schedule(c);
        }
        if cfg!(debug_assertions) {
            self.rq.assert_invariants();
            self.rules.assert_invariants(&self.rq);
        }
    }

    fn schedule(&mut self, c: CpuId) {
        let Self { rq, rules, .. } = self;
        if !rq.online.contains(c) {
            rq.switch(c, None);
            return;
        }
        if rq.curr[c].is_some() && rq.running(c).is_none() {
            rq.switch(c, None);
            rules.pull(rq, c);
        }
        let next = rq.leftmost(c);
        rq.switch(c, next);
        if next.is_some() {
            rules.push(rq, c);
        }
    }

    // --- Due threads --------------------------------------------------------------------------

    /// A running thread has used up its budget or ended its job.
    fn mark_due(&mut self, job: JobId, cpu: CpuId) {
        self.rq.charge(cpu);
        let thread = &mut self.rq.threads[job.task];
        thread.due = thread.queued;
    }

    fn handle_due(&mut self, event: &Event) {
        let rq = &mut self.rq;
        match *event {
            Event::Completion { job, cpu: _, then } => {
                let p = job.task;
                let thread = &mut rq.threads[p];
                if !std::mem::take(&mut thread.due) {
                    return;
                }
                thread.job = None;
                if then != AfterJob::Blocks {
                    rq.next_job(p);
                }
                match then {
                    AfterJob::Blocks => {
                        rq.dequeue(p);
                        rq.threads[p].server.state = ServerState::Blocked;
                    }
                    AfterJob::Continues => {
                        rq.grant_again(p);
                        if rq.threads[p].server.is_exhausted() {
                            self.exhausted(p);
                        }
                    }
                    AfterJob::Yields => {
                        rq.threads[p].server.yield_budget();
                        self.exhausted(p);
                    }
                }
            }
            Event::BudgetExhausted { job, .. } => {
                let p = job.task;
                let thread = &mut rq.threads[p];
                if !std::mem::take(&mut thread.due) {
                    return;
                }
                thread.server.exhaust();
                if thread.kind == Kind::Hog
                    && let Some(seq) = &mut thread.job
                {
                    let job = JobId { task: p, seq: *seq };
                    *seq += 1;
                    thread.ran = false;
                    thread.previous = thread.told.0;
                    thread.told = (Time::NEVER, Time::NEVER);
                    rq.out.push(Action::EndJob { job });
                }
                rq.grant_again(p);
                self.exhausted(p);
            }
            Event::Join { .. }
            | Event::Leave { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::Release { .. }
            | Event::Timer { .. }
            | Event::CpuOnline { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::CpuOffline { .. } => {}
        }
    }

    /// A queued thread has no budget left.
    fn exhausted(&mut self, p: TaskId) {
        let Self { rq, rules, .. } = self;
        let replenishment = rq.threads[p].server.replenishment();
        let c = rq.threads[p].cpu;
        let needed = rq.needs(c);
        rq.dequeue(p);
        if rq.now >= replenishment && rules.bypasses() {
            rq.replenish(p);
            if rq.threads[p].job.is_none() {
                // It yielded, and its next job is not there yet.
                rq.threads[p].server.state = ServerState::Blocked;
                return;
            }
            rq.grant_again(p);
            // It counts as running until it is known where it goes.
            if !needed {
                rq.need.remove(c);
            }
            rules.bypassed(rq, p);
            if rq.curr[c] == Some(p) && !rq.is_queued_on(p, c) {
                rq.need.insert(c);
            }
            return;
        }
        rq.threads[p].server.state = ServerState::Throttled;
        rq.out.push(Action::Note { note: Note::Throttled { task: p } });
        if rq.now >= replenishment {
            rq.due_timers.insert((rq.threads[p].seat, p));
        } else {
            rq.set_timer(p, replenishment);
        }
    }

    // --- Other events -------------------------------------------------------------------------

    fn timer(&mut self, p: TaskId) {
        let Self { rq, rules, .. } = self;
        if rq.threads[p].server.state != ServerState::Throttled {
            return;
        }
        rq.next_job(p);
        rq.replenish(p);
        if rq.threads[p].job.is_none() {
            // It yielded, and its next job is not there yet: it sleeps.
            rq.threads[p].server.state = ServerState::Blocked;
            return;
        }
        rq.settle(p);
        rules.replenished(rq, p);
    }

    fn wake(&mut self, p: TaskId) {
        let Self { rq, rules, .. } = self;
        match rq.threads[p].server.state {
            ServerState::Inactive => {
                rq.next_job(p);
                rq.threads[p].previous = rq.now;
                rq.new_period(p);
            }
            ServerState::Blocked => {
                rq.next_job(p);
                rq.dated.push(p);
                if let Woken::ThrottledUntil(at) = rq.threads[p].server.wake(rq.now) {
                    rq.throttle_until(p, at);
                    return;
                }
            }
            ServerState::Eligible | ServerState::Throttled => {
                if rq.threads[p].job.is_none() {
                    rq.next_job(p);
                    rq.grant_again(p);
                }
                return;
            }
            ServerState::Dead => return,
        }
        rq.settle(p);
        rules.woken(rq, p);
    }

    fn handle(&mut self, event: &Event) {
        let Self { rq, rules, .. } = self;
        match event {
            Event::Arrival { .. } | Event::Measured { .. } => {}
            Event::Completion { .. } | Event::BudgetExhausted { .. } => self.handle_due(event),
            Event::Timer { id } => {
                if let Some(&p) = rq.seats.get(id.0 as usize) {
                    self.timer(p);
                }
            }
            Event::Join { task, parameters, request } => self.join(*task, parameters, *request),
            Event::Release { job, release, deadline } => {
                rq.released(*job, *release, *deadline);
                self.wake(job.task);
            }
            Event::Leave { task } => {
                let p = *task;
                let id = TimerId(rq.threads[p].seat);
                rq.leave(p);
                if std::mem::take(&mut rq.threads[p].admitted) {
                    rules.release(rq, p);
                }
                rq.out.push(Action::ClearTimer { id });
            }
            Event::Reconfigure { task, change, request } => {
                // A task that was refused in this very instant.
                let verdict = if rq.threads[*task].admitted {
                    rules.reconfigure(rq, *task, change)
                } else {
                    Err(Refusal::busy("the task is not in the system"))
                };
                if let Err(reason) = verdict {
                    rq.out.push(Action::Refuse { request: *request, reason });
                }
            }
            Event::SetClusterCpus { cluster, cpus, request } => {
                if let Err(reason) = rules.set_cluster_cpus(rq, *cluster, cpus) {
                    rq.out.push(Action::Refuse { request: *request, reason });
                }
            }
            Event::CpuOnline { cpu } => {
                rq.online.insert(*cpu);
                rq.update_usable();
                // Threads that waited for a CPU that they can use.
                for at in 0..rq.seats.len() {
                    let p = rq.seats[at];
                    if rq.threads[p].is_in() {
                        rq.evict(p, Renewal::Keep);
                    }
                }
                rules.pull(rq, *cpu);
                rq.need.insert(*cpu);
            }
            Event::CpuOffline { cpu } => {
                rq.online.remove(*cpu);
                rq.update_usable();
                for at in 0..rq.seats.len() {
                    let p = rq.seats[at];
                    if rq.threads[p].cpu == *cpu && rq.threads[p].is_in() {
                        rq.evict(p, Renewal::Keep);
                    }
                }
                rq.need.insert(*cpu);
            }
        }
    }

    fn join(&mut self, p: TaskId, task: &Arc<Task>, request: RequestId) {
        let Self { rq, rules, .. } = self;
        if p.index() >= rq.threads.len() {
            let Some(cluster) = rq.clusters.get(task.cluster) else {
                let reason = Refusal::invalid(format!("cluster {} does not exist", task.cluster));
                rq.out.push(Action::Refuse { request, reason });
                return;
            };
            let thread = Thread::new(task, cluster, 0);
            let mut gone = thread.clone();
            gone.server.state = ServerState::Dead;
            while rq.threads.len() <= p.index() {
                let seat = rq.seats.len() as u32;
                let id = rq.threads.push(Thread { seat, ..gone.clone() });
                rq.seats.push(id);
            }
            let seat = rq.threads[p].seat;
            if let Some(load) = &mut rq.load {
                load[thread.cpu].add(&thread.u);
            }
            rq.threads[p] = Thread { seat, next_job: rq.threads[p].next_job, ..thread };
        }
        match super::check_parameters(task).and_then(|()| rules.admit(rq, p)) {
            Ok(()) => rq.threads[p].admitted = true,
            Err(reason) => {
                rq.leave(p);
                rq.out.push(Action::Refuse { request, reason });
            }
        }
    }

    // --- Deciding -----------------------------------------------------------------------------

    /// Tells the engine what is different now.
    fn emit(&mut self) {
        let rq = &mut self.rq;
        if let Some(grid) = rq.speed_grid {
            rq.update_speeds(grid);
        }
        rq.dated.sort_unstable();
        rq.dated.dedup();
        for p in std::mem::take(&mut rq.dated) {
            let thread = &mut rq.threads[p];
            let Some(seq) = thread.job.filter(|_| thread.kind != Kind::Jobs && thread.is_in())
            else {
                continue;
            };
            let dates = thread.dates();
            if thread.told != dates {
                thread.told = dates;
                let job = JobId { task: p, seq };
                let (release, deadline) = dates;
                rq.out.push(Action::SetDates { job, release, deadline });
            }
        }
        for c in std::mem::take(&mut rq.touched).iter() {
            let p = rq.curr[c].filter(|&p| rq.threads[p].job.is_some());
            let job = p.and_then(|task| Some(JobId { task, seq: rq.threads[task].job? }));
            let again = rq.regrant.remove(c);
            let before = std::mem::replace(&mut rq.running[c], job);
            match job {
                Some(job) if again || before != Some(job) => {
                    // An engine that reports late may find less than a nanosecond: it is granted one.
                    let budget = rq.threads[job.task].server.budget().max(Service::from_ns(1));
                    rq.out.push(Action::Run { cpu: c, job, budget: Some(budget) });
                }
                None if before.is_some() => rq.out.push(Action::Idle { cpu: c }),
                Some(_) | None => {}
            }
        }
    }
}

impl RunQueues {
    /// The job that was released becomes the ready one, if there is none.
    fn next_job(&mut self, p: TaskId) {
        let thread = &mut self.threads[p];
        if thread.job.is_none() && thread.next_job.is_some() {
            thread.job = thread.next_job.take();
            (thread.ran, thread.charged) = (false, Duration::ZERO);
            self.dated.push(p);
        }
    }

    /// Notes a job that was released.
    fn released(&mut self, job: JobId, release: Time, deadline: Time) {
        let thread = &mut self.threads[job.task];
        if thread.job.is_none_or(|seq| seq < job.seq) {
            thread.next_job = Some(job.seq);
            thread.released = release;
            thread.told = (release, deadline);
        }
    }

    /// A thread is no longer in the system.
    fn leave(&mut self, p: TaskId) {
        if self.threads[p].queued {
            self.dequeue(p);
        }
        let thread = &mut self.threads[p];
        if thread.server.state == ServerState::Dead {
            return;
        }
        thread.server.state = ServerState::Dead;
        (thread.job, thread.next_job, thread.due) = (None, None, false);
        if let Some(load) = &mut self.load {
            load[thread.cpu].remove(&thread.u);
        }
        self.due_timers.remove(&(thread.seat, p));
    }
}

impl<R: Rules> Policy for Threads<R> {
    fn on_event(&mut self, now: Time, event: Event) {
        let rq = &mut self.rq;
        rq.now = now;
        match &event {
            Event::Completion { job, cpu, .. } => {
                self.mark_due(*job, *cpu);
                self.rq.running[*cpu] = None;
                self.rq.touched.insert(*cpu);
            }
            Event::BudgetExhausted { job, cpu } => self.mark_due(*job, *cpu),
            Event::Measured { job, executed } => {
                rq.correct(*job, *executed);
                // It changes what is left of a budget, and nothing that a decision depends on.
                return;
            }
            Event::Release { job, release, deadline } => {
                if rq.threads.get(job.task).is_some() {
                    rq.released(*job, *release, *deadline);
                }
            }
            Event::Leave { task } => {
                for c in rq.running.ids() {
                    if rq.running[c].is_some_and(|job| job.task == *task) {
                        rq.running[c] = None;
                    }
                }
            }
            Event::CpuOffline { cpu } => rq.running[*cpu] = None,
            Event::Join { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::Timer { .. }
            | Event::Arrival { .. }
            | Event::CpuOnline { .. } => {}
        }
        self.inbox.push(event);
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.rq.now = now;
        let inbox = std::mem::take(&mut self.inbox);
        let is_due = |event: &&Event| {
            matches!(event, Event::Completion { .. } | Event::BudgetExhausted { .. })
        };
        for event in inbox.iter().filter(is_due) {
            self.handle_due(event);
            self.drain();
        }
        for event in inbox.iter().filter(|event| !is_due(event)) {
            let seat = match event {
                Event::Timer { id } => id.0,
                Event::Join { .. }
                | Event::Leave { .. }
                | Event::Reconfigure { .. }
                | Event::SetClusterCpus { .. }
                | Event::Release { .. }
                | Event::Completion { .. }
                | Event::BudgetExhausted { .. }
                | Event::CpuOnline { .. }
                | Event::Arrival { .. }
                | Event::Measured { .. }
                | Event::CpuOffline { .. } => u32::MAX,
            };
            self.due_timers_before(seat);
            self.handle(event);
            self.drain();
        }
        self.due_timers_before(u32::MAX);
        self.emit();
        actions.append(&mut self.rq.out);
        self.inbox = inbox;
        self.inbox.clear();
    }

    fn schedules_threads(&self) -> bool {
        true
    }

    fn sets_speeds(&self) -> bool {
        self.rq.speed_grid.is_some()
    }

    fn save(&self, now: Time, state: &mut State) {
        let rq = &self.rq;
        for (p, thread) in rq.threads.iter() {
            state.number(thread.server.state as i64);
            let (Q, T, D) = thread.server.parameters();
            [Q.ns(), T.ns(), D.ns()].into_iter().for_each(|number| state.number(number));
            // What a running thread has left counts from now.
            let mut server = thread.server.clone();
            if let Some(c) = rq.curr.ids().find(|&c| rq.curr[c] == Some(p)) {
                server.charge(now - rq.since[c], rq.speeds[c]);
            }
            state.text(&server.exact_budget().rate().to_string());
            state.time(if thread.is_in() { server.deadline() } else { Time::NEVER }, now);
            state.number(i64::from(thread.cpu.0));
            state.number(thread.cluster as i64);
            state.text(&thread.mask.to_string());
            state.number(i64::from(thread.queued) | i64::from(thread.placed) << 1);
            state.number(i64::from(thread.job.is_some()));
        }
        for queue in rq.queues.values() {
            queue.order.iter().for_each(|&(_, _, p)| state.number(i64::from(p.0)));
            state.number(-1);
        }
        for curr in rq.curr.values() {
            state.number(curr.map_or(-1, |p| i64::from(p.0)));
        }
        state.text(&rq.online.to_string());
        for speed in rq.speeds.values() {
            state.text(&speed.to_string());
        }
        rq.clusters.iter().for_each(|cluster| state.text(&cluster.to_string()));
    }
}

#[expect(private_bounds, reason = "the policies are built by the functions of their files")]
impl<R: Rules> Threads<R> {
    /// Handles the replenishments for now whose rank comes before this seat.
    fn due_timers_before(&mut self, seat: u32) {
        while let Some(&(own, p)) = self.rq.due_timers.first()
            && own < seat
        {
            self.rq.due_timers.remove(&(own, p));
            self.timer(p);
            self.drain();
        }
    }
}
