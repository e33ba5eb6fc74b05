//! A kernel with a mechanism that acts ahead, in virtual time: the behaviour of `ext/mechanism` and
//! of the threads of `ext/load.rs`.
//!
//! It follows them step by step, with these simplifications: there is no caretaker, no other class
//! takes a CPU, and the work of the mechanism under its lock takes no time. Other times are drawn:
//! the lateness of wake-ups, the delay until a CPU notices that it has to check its slot, the way
//! of a thread to a CPU, and the time that a thread needs to fall asleep after it has reported the
//! end of its job.
//!
//! Long because threads, CPUs and the events between them form one machine, which is checked after
//! each step.

use layland_gen::Random;
use layland_model::{CpuId, CpuMap, TaskId, TaskMap};

/// The demand of a generation without a job; an unknown demand; a next job that the clock does not
/// release.
pub const NO_JOB: i64 = -1;
pub const UNKNOWN: i64 = i64::MAX;
pub const BY_GATE: i64 = i64::MAX;

/// The defects of a mechanism or of its user that the tests have to detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A successor follows although it may be asleep, or on another CPU.
    SuccessorNeedNotWait,
    /// An order about a wake-up that is over is carried out.
    CarriesOutStaleOrders,
    /// A CPU whose slot another thread takes is not notified to check it.
    ForgetsToKick,
    /// A CPU whose thread falls asleep on another CPU, which it was about to leave, is not notified
    /// either.
    FollowsElsewhereUnseen,
    /// A thread that was preempted between the end of its job and its sleep gets no CPU any more.
    LeavesWhoFallsAsleep,
    /// If a thread aborted a job, slept and began the next one by itself, its execution so far is
    /// not counted.
    CountsFromGivingUp,
}

/// The thread that a CPU is to run, with its wake-up and its budget.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    pub thread: Option<TaskId>,
    pub wake: u32,
    pub budget: Option<i64>,
}

/// The new slot of a CPU. The generation is only for the tests; the mechanism does not know it.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub thread: Option<(TaskId, u32)>,
    pub budget: Option<i64>,
    pub generation: u32,
}

/// The thread that follows when `after` falls asleep in this wake-up.
#[derive(Clone, Copy, Debug)]
pub struct Follows {
    pub epoch: u32,
    pub after: (TaskId, u32),
    pub next: (TaskId, u32),
    pub budget: Option<i64>,
}

/// The CPU that a thread takes in this wake-up, and the thread that it preempts.
#[derive(Clone, Copy, Debug)]
pub struct Takes {
    pub epoch: u32,
    pub wake: u32,
    pub cpu: CpuId,
    pub over: Option<TaskId>,
    pub budget: Option<i64>,
}

#[derive(Clone, Debug, Default)]
pub struct Cpu {
    pub slot: Slot,
    pub order: Option<Order>,
    pub successor: Option<Follows>,
    current: Option<TaskId>,
    /// The thread that is on its way, and the time of its arrival.
    comes: Option<(TaskId, i64)>,
    /// The time at which it checks its slot.
    kick_at: Option<i64>,
}

/// The state that the manager and a thread share.
#[derive(Clone, Debug)]
pub struct Post {
    pub gate: u32,
    pub demand: i64,
    pub next_ns: i64,
    pub next_demand: i64,
    pub done_gate: u32,
    pub done_ns: [i64; 2],
}

/// The position of a thread in its program.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// It checks for work; `waited` is the time until which it has waited, if the wait has ended.
    Looks { waited: Option<i64> },
    /// It executes the job of a generation, which it may have begun by itself.
    Works { generation: u32, is_told: bool, expected: i64, begun: i64, by_itself: bool },
    /// It has finished that, and pauses until it has this processor time.
    Pauses { until: i64, then_told: Option<u32> },
    /// It waits until the gate has reached this generation.
    WaitsFor { generation: u32 },
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub is_awake: bool,
    pub wakes: u32,
    pub want: Option<CpuId>,
    pub on: Option<CpuId>,
    custody: bool,
    pub since: i64,
    ran: i64,
    pub began_at: Option<i64>,
    pub slept_at: i64,
    pub slept_ran: i64,
    pub post: Post,
    done: u32,
    does: Does,
    wakes_at: Option<i64>,
}

impl Thread {
    /// Returns its present processor time.
    pub fn ran(&self, now: i64) -> i64 {
        self.ran + if self.on.is_some() { now - self.since } else { 0 }
    }

    fn has_ended(&self, generation: u32) -> bool {
        self.post.done_gate.wrapping_sub(generation) as i32 >= 0
    }
}

/// A message to the manager.
#[derive(Clone, Copy, Debug)]
pub enum Record {
    Woke { thread: TaskId, takes: Option<CpuId> },
    Slept { on: Option<CpuId>, next: Option<TaskId> },
    Runs { thread: TaskId, cpu: CpuId, at: i64 },
    UsedUp,
}

#[derive(Debug)]
pub struct Kernel {
    pub now: i64,
    pub random: Random,
    pub threads: TaskMap<Thread>,
    pub cpus: CpuMap<Cpu>,
    pub takes: TaskMap<Option<Takes>>,
    /// The epoch in which the tables are valid; 0 stands for none.
    pub epoch: u32,
    pub records: Vec<Record>,
    /// The number of orders about wake-ups that were over.
    pub stale: u64,
    defect: Option<Defect>,
}

impl Kernel {
    pub fn new(cpus: usize, tasks: usize, random: Random, defect: Option<Defect>) -> Kernel {
        let post = Post {
            gate: 0,
            demand: NO_JOB,
            next_ns: BY_GATE,
            next_demand: UNKNOWN,
            done_gate: 0,
            done_ns: [0; 2],
        };
        let thread = Thread {
            is_awake: false,
            wakes: 0,
            want: None,
            on: None,
            custody: false,
            since: 0,
            ran: 0,
            began_at: None,
            slept_at: 0,
            slept_ran: 0,
            post,
            done: 0,
            does: Does::Looks { waited: None },
            wakes_at: None,
        };
        Kernel {
            now: 0,
            random,
            threads: TaskMap::filled(thread, tasks),
            cpus: (0..cpus).map(|_| Cpu::default()).collect(),
            takes: TaskMap::filled(None, tasks),
            epoch: 0,
            records: Vec::new(),
            stale: 0,
            defect,
        }
    }

    // Time.

    /// Lets time pass.
    pub fn pass(&mut self, length: i64) {
        let end = self.now + length;
        while self.pass_to_next(end) {}
    }

    /// Lets time pass until the next event, or to the end. Returns true if there is an event before
    /// the end.
    pub fn pass_to_next(&mut self, end: i64) -> bool {
        let next = self.next_time().max(self.now);
        if next > end {
            self.now = self.now.max(end);
            return false;
        }
        self.now = next;
        let ids: Vec<TaskId> = self.threads.ids().collect();
        for id in ids {
            let thread = &self.threads[id];
            if thread.wakes_at.is_some_and(|at| at <= self.now) {
                self.wake_up(id);
            }
            if self.left(id) == Some(0) {
                self.step(id);
            }
        }
        let cpus: Vec<CpuId> = self.cpus.iter().map(|(cpu, _)| cpu).collect();
        for cpu in cpus {
            if self.use_up_time(cpu).is_some_and(|at| at <= self.now) {
                self.cpus[cpu].slot.budget = Some(0);
                self.records.push(Record::UsedUp);
                self.kick(cpu);
            }
            if let Some((id, at)) = self.cpus[cpu].comes
                && at <= self.now
            {
                self.cpus[cpu].comes = None;
                self.start(cpu, id);
            }
            if self.cpus[cpu].comes.is_none()
                && self.cpus[cpu].kick_at.is_some_and(|at| at <= self.now)
            {
                self.dispatch(cpu);
            }
        }
        self.check();
        true
    }

    fn next_time(&self) -> i64 {
        let mut next = i64::MAX;
        for (id, thread) in self.threads.iter() {
            next = next.min(thread.wakes_at.unwrap_or(i64::MAX));
            next = next.min(self.left(id).map_or(i64::MAX, |left| self.now.saturating_add(left)));
        }
        for (id, cpu) in self.cpus.iter() {
            next = next.min(self.use_up_time(id).unwrap_or(i64::MAX));
            next = next.min(match cpu.comes {
                Some((_, at)) => at,
                None => cpu.kick_at.unwrap_or(i64::MAX),
            });
        }
        next
    }

    /// Returns the time at which the budget of the thread on a CPU will be exhausted.
    fn use_up_time(&self, cpu: CpuId) -> Option<i64> {
        let Cpu { slot, current, .. } = &self.cpus[cpu];
        let budget = slot.budget.filter(|&budget| budget > 0)?;
        let id = current.filter(|&id| slot.thread == Some(id))?;
        Some(self.threads[id].since + budget)
    }

    // The threads.

    /// Returns the time for which a thread on a CPU continues with its present step.
    fn left(&self, id: TaskId) -> Option<i64> {
        let thread = &self.threads[id];
        thread.on?;
        let own = thread.ran(self.now);
        Some(match thread.does {
            Does::Looks { .. } | Does::WaitsFor { .. } => 0,
            Does::Pauses { until, .. } => (until - own).max(0),
            Does::Works { generation, is_told, expected, begun, .. } => {
                let is_now_told = thread.post.gate == generation;
                let is_over = is_told || thread.post.gate.wrapping_sub(generation) as i32 > 0;
                let demand = if is_now_told { thread.post.demand } else { expected };
                if !is_now_told && is_over { 0 } else { (demand - (own - begun)).max(0) }
            }
        })
    }

    /// Runs the program of a thread until that takes time or the thread falls asleep.
    fn step(&mut self, id: TaskId) {
        loop {
            let pause = self.random.between(0, 8_000);
            let now = self.now;
            let thread = &mut self.threads[id];
            let (own, told) = (thread.ran(now), thread.post.gate);
            let works = |generation, is_told, expected| Does::Works {
                generation,
                is_told,
                expected,
                begun: own,
                by_itself: !is_told,
            };
            match thread.does {
                Does::Looks { waited: _ } if told != thread.done => {
                    thread.done = told;
                    thread.does = Does::Looks { waited: None };
                    if thread.post.demand != NO_JOB {
                        thread.does = works(told, true, thread.post.demand);
                    }
                }
                Does::Looks { waited } => {
                    let next = thread.post.next_ns;
                    if next != BY_GATE && waited == Some(next) && now >= next {
                        thread.done = told.wrapping_add(1);
                        thread.does = works(thread.done, false, thread.post.next_demand);
                        continue;
                    }
                    let until = (next != BY_GATE && now < next).then_some(next);
                    thread.does = Does::Looks { waited: until };
                    return self.sleep(id, until);
                }
                Does::Works { generation, mut is_told, mut expected, begun, by_itself } => {
                    let mut is_over = false;
                    if told == generation {
                        (is_told, expected) = (true, thread.post.demand);
                    } else {
                        is_over = is_told || told.wrapping_sub(generation) as i32 > 0;
                    }
                    if !is_over && expected != NO_JOB {
                        if own - begun < expected {
                            thread.does =
                                Does::Works { generation, is_told, expected, begun, by_itself };
                            return;
                        }
                        thread.post.done_ns[generation as usize % 2] = now;
                        thread.post.done_gate = generation;
                    }
                    let then_told = by_itself.then_some(generation);
                    thread.does = Does::Pauses { until: own + pause, then_told };
                }
                Does::Pauses { until, .. } if own < until => return,
                Does::Pauses { then_told, .. } => {
                    thread.does = match then_told {
                        Some(generation) => Does::WaitsFor { generation },
                        None => Does::Looks { waited: None },
                    };
                }
                Does::WaitsFor { generation } if told.wrapping_sub(generation) as i32 >= 0 => {
                    thread.does = Does::Looks { waited: None };
                }
                Does::WaitsFor { .. } => return self.sleep(id, None),
            }
        }
    }

    /// Wakes the thread if it sleeps, after the manager has incremented the gate.
    pub fn wake_by_gate(&mut self, id: TaskId) {
        if !self.threads[id].is_awake {
            self.wake_up(id);
            self.check();
        }
    }

    /// Lets a thread that waits only for the gate check again. To be called only before its first
    /// job.
    pub fn expect(&mut self, id: TaskId, at_ns: i64, demand: i64) {
        let late = self.random.between(0, 30_000);
        let thread = &mut self.threads[id];
        (thread.post.next_ns, thread.post.next_demand) = (at_ns, demand);
        thread.does = Does::Looks { waited: Some(at_ns) };
        thread.wakes_at = Some(at_ns + late);
    }

    fn wake_up(&mut self, id: TaskId) {
        let epoch = self.epoch;
        let entry = self.takes[id].take();
        let thread = &mut self.threads[id];
        assert!(!thread.is_awake, "{id} wakes twice");
        (thread.is_awake, thread.wakes_at, thread.began_at) = (true, None, None);
        thread.wakes += 1;
        let wakes = thread.wakes;
        if let Some(cpu) = thread.want {
            // The manager was faster, if it meant this wake-up.
            let slot = self.cpus[cpu].slot;
            if slot.thread != Some(id) || slot.wake != wakes {
                self.take(id);
            }
        }
        let mut taken = None;
        if let Some(Takes { epoch: valid, wake, cpu, over, budget }) = entry
            && epoch != 0
            && (valid, wake) == (epoch, wakes)
            && self.threads[id].want.is_none()
            && self.cpus[cpu].slot.thread == over
        {
            self.give(cpu, id, wake, budget);
            self.cpus[cpu].successor = None;
            taken = Some(cpu);
        }
        self.records.push(Record::Woke { thread: id, takes: taken });
        self.enqueue(id);
    }

    fn sleep(&mut self, id: TaskId, until: Option<i64>) {
        let late = match self.random.below(8) {
            0 => self.random.between(0, 200_000),
            _ => self.random.between(0, 20_000),
        };
        let on = self.threads[id].on.expect("a thread falls asleep on a CPU");
        self.stop(id);
        self.cpus[on].current = None;
        let thread = &mut self.threads[id];
        thread.wakes_at = until.map(|until| until + late);
        thread.is_awake = false;
        (thread.slept_at, thread.slept_ran) = (self.now, thread.ran);
        let wakes = thread.wakes;
        let from = self.take(id);
        let mut followed = None;
        if let Some(cpu) = from
            && let Some(Follows { epoch, after, next: (next, wake), budget }) =
                self.cpus[cpu].successor.take()
            && self.epoch != 0
            && (epoch, after) == (self.epoch, (id, wakes))
        {
            let thread = &self.threads[next];
            let waits = thread.is_awake && thread.wakes == wake && thread.want.is_none();
            if waits || self.defect == Some(Defect::SuccessorNeedNotWait) {
                self.give(cpu, next, wake, budget);
                followed = Some(next);
                if cpu != on && self.defect != Some(Defect::FollowsElsewhereUnseen) {
                    // The thread had not come to the CPU that it was given last, so no thread there
                    // would check again.
                    self.kick(cpu);
                }
            }
        }
        self.records.push(Record::Slept { on: from, next: followed });
        self.kick(on);
    }

    // Slots.

    /// Gives a CPU to a thread that has none. The thread that had it waits.
    fn give(&mut self, cpu: CpuId, id: TaskId, wake: u32, budget: Option<i64>) {
        let out = self.cpus[cpu].slot.thread.filter(|&out| out != id);
        if let Some(out) = out
            && self.threads[out].want == Some(cpu)
        {
            self.threads[out].want = None;
        }
        self.cpus[cpu].slot = Slot { thread: Some(id), wake, budget };
        self.threads[id].want = Some(cpu);
    }

    /// Takes its CPU from a thread. Returns the CPU.
    fn take(&mut self, id: TaskId) -> Option<CpuId> {
        let cpu = self.threads[id].want.take()?;
        let slot = &mut self.cpus[cpu].slot;
        (slot.thread == Some(id)).then(|| {
            slot.thread = None;
            cpu
        })
    }

    /// Returns true if its CPU is to run the thread.
    fn is_due(&self, cpu: CpuId, id: TaskId) -> bool {
        let slot = self.cpus[cpu].slot;
        (slot.thread, slot.wake) == (Some(id), self.threads[id].wakes) && slot.budget != Some(0)
    }

    // CPUs.

    fn kick(&mut self, cpu: CpuId) {
        if self.defect == Some(Defect::ForgetsToKick) && self.cpus[cpu].current.is_some() {
            return;
        }
        let delay = match self.random.below(6) {
            0 => self.random.between(0, 300_000),
            _ => self.random.between(0, 5_000),
        };
        let at = self.now + delay;
        let kick_at = &mut self.cpus[cpu].kick_at;
        *kick_at = Some(kick_at.map_or(at, |before| before.min(at)));
    }

    /// Puts a thread that is awake and on no CPU into custody.
    fn enqueue(&mut self, id: TaskId) {
        let thread = &mut self.threads[id];
        assert!(thread.is_awake && thread.on.is_none() && !thread.custody, "{id}: {thread:?}");
        thread.custody = true;
        if let Some(cpu) = thread.want
            && self.is_due(cpu, id)
        {
            self.kick(cpu);
        }
    }

    /// Lets a CPU check its slot.
    fn dispatch(&mut self, cpu: CpuId) {
        self.cpus[cpu].kick_at = None;
        let next = self.cpus[cpu].slot.thread;
        let next = next.filter(|&id| self.threads[id].custody && self.is_due(cpu, id));
        if let Some(id) = next {
            self.threads[id].custody = false;
        }
        if let Some(id) = self.cpus[cpu].current.take() {
            self.stop(id);
            self.enqueue(id);
        }
        if let Some(id) = next {
            let at = self.now + self.random.between(0, 5_000);
            self.cpus[cpu].comes = Some((id, at));
        }
    }

    fn start(&mut self, cpu: CpuId, id: TaskId) {
        assert!(self.cpus[cpu].current.is_none(), "two threads on CPU {cpu}");
        self.cpus[cpu].current = Some(id);
        let now = self.now;
        let thread = &mut self.threads[id];
        assert!(thread.is_awake && thread.on.is_none() && !thread.custody, "{id} on two CPUs");
        (thread.on, thread.since) = (Some(cpu), now);
        thread.began_at.get_or_insert(now);
        self.records.push(Record::Runs { thread: id, cpu, at: now });
        if self.cpus[cpu].slot.thread != Some(id) {
            // The thread lost the CPU on its way here.
            self.kick(cpu);
        }
        self.step(id);
    }

    fn stop(&mut self, id: TaskId) {
        let now = self.now;
        let thread = &mut self.threads[id];
        let cpu = thread.on.take().expect("a thread stops on a CPU");
        let length = now - thread.since;
        thread.ran += length;
        thread.since = now;
        let slot = &mut self.cpus[cpu].slot;
        if let (true, Some(budget)) = (slot.thread == Some(id), &mut slot.budget) {
            *budget = (*budget - length).max(0);
        }
    }

    // Orders.

    /// Carries out the orders.
    pub fn commit(&mut self) {
        let cpus: Vec<CpuId> = self.cpus.iter().map(|(cpu, _)| cpu).collect();
        let mut changed = CpuMap::filled(false, cpus.len());
        for &cpu in &cpus {
            if let Some(order) = self.cpus[cpu].order.take() {
                self.place(cpu, order, &mut changed);
            }
        }
        for cpu in cpus {
            if changed[cpu] {
                self.touch(cpu);
            }
        }
        self.check();
    }

    fn place(&mut self, cpu: CpuId, order: Order, changed: &mut CpuMap<bool>) {
        let Order { mut thread, budget, generation } = order;
        let before = self.cpus[cpu].slot.thread;
        if let Some((id, wake)) = thread {
            let own = &self.threads[id];
            if wake != own.wakes + u32::from(!own.is_awake)
                && self.defect != Some(Defect::CarriesOutStaleOrders)
            {
                self.stale += 1;
                thread = None;
            }
        }
        if let Some((id, wake)) = thread {
            let own = &self.threads[id];
            let is_behind_it = own.has_ended(generation) && own.wakes != wake
                || own.has_ended(generation) && !own.is_awake;
            assert!(!is_behind_it, "an order names {id}, which has ended its job: {own:?}");
            if own.want != Some(cpu)
                && let Some(from) = self.take(id)
            {
                changed[from] = true;
            }
            self.give(cpu, id, wake, budget);
            let own = &self.threads[id];
            if before == Some(id) && own.on == Some(cpu) {
                // The thread continues: `stop` subtracts the whole stretch from the budget.
                let so_far = self.now - own.since;
                let budget = &mut self.cpus[cpu].slot.budget;
                *budget = budget.map(|budget| budget + so_far);
            } else if before == Some(id) {
                changed[cpu] = true;
            }
        } else if let Some(id) = before {
            self.take(id);
            self.cpus[cpu].slot.thread = None;
        }
        self.cpus[cpu].successor = None;
        changed[cpu] |= before != thread.map(|(id, _)| id);
    }

    fn touch(&mut self, cpu: CpuId) {
        if let Some(id) = self.cpus[cpu].slot.thread {
            match self.threads[id].on {
                Some(on) if on == cpu => return,
                Some(on) => self.kick(on),
                None => {}
            }
        }
        self.kick(cpu);
    }

    // Invariants.

    fn check(&self) {
        for (cpu, own) in self.cpus.iter() {
            let on: Vec<TaskId> =
                self.threads.ids().filter(|&id| self.threads[id].on == Some(cpu)).collect();
            assert!(on.iter().copied().eq(own.current), "{on:?} on CPU {cpu}: {own:?}");
            if let Some(id) = own.current
                && !self.is_due(cpu, id)
            {
                assert!(own.kick_at.is_some(), "{id} goes on for ever on CPU {cpu}: {own:?}");
            }
            let Some(id) = own.slot.thread else { continue };
            let thread = &self.threads[id];
            assert_eq!(thread.want, Some(cpu), "{id} has the slot of CPU {cpu}, or of two");
            if thread.is_awake && self.is_due(cpu, id) && thread.on != Some(cpu) {
                let comes =
                    self.cpus.values().any(|own| own.comes.is_some_and(|(who, _)| who == id));
                let leaves = thread.on.is_some_and(|on| self.cpus[on].kick_at.is_some());
                let is_looked_for = thread.custody && own.kick_at.is_some();
                assert!(
                    comes || leaves || is_looked_for,
                    "{id} waits for ever for CPU {cpu}: {thread:?} {own:?}"
                );
            }
        }
        for (id, thread) in self.threads.iter() {
            let has = thread.want.is_none_or(|cpu| self.cpus[cpu].slot.thread == Some(id));
            assert!(has, "{id} wants a CPU whose slot it has not: {thread:?}");
        }
    }
}
