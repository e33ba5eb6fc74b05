//! The machine: threads with priorities, and a kernel that runs the first one on each CPU.

use crate::manager::carrier::{
    Carrier, EndReport, Grant, NewJob, NextJob, Noticed, SelfReleasing, There,
};
use crate::manager::levels::Level;
use crate::manager::overheads::Measured;
use layland_engine::ahead::AnswerTable;
use layland_engine::programs::Visit;
use layland_gen::Random;
use layland_model::{CpuId, CpuMap, Index, Task, TaskId, TaskMap};
use layland_policy::{FixedOrder, Refusal};
use std::cell::RefCell;
use std::rc::Rc;

pub const NEVER: i64 = i64::MAX;

/// A thread of the machine.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    pub level: Level,
    pub is_parked: bool,
    pub rests_until: i64,
    /// True if the job was released to it; the remaining demand of the job, and its execution time.
    pub told: bool,
    pub demand: i64,
    pub left: i64,
    pub got: i64,
    pub done: Option<EndReport>,
    /// True if it waits for its turn to work for the manager.
    pub wants_to_work: bool,
    pub raised_ns: Option<i64>,
}

impl Thread {
    fn has_work(&self) -> bool {
        self.told && self.done.is_none()
    }
}

/// A fault of the machine's carrier that a test must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Threads of higher priority are not lowered.
    LowersNobody,
    /// A lowered thread stays where it is.
    RaisesNobody,
    /// The manager does not come for a job that has not run.
    IsPatient,
}

pub struct World {
    pub now: i64,
    pub random: Random,
    pub order: FixedOrder,
    pub threads: TaskMap<Thread>,
    pub chosen: CpuMap<Option<TaskId>>,
    /// The CPU on which a thread works for the manager.
    pub works_on: Option<CpuId>,
    pub fault: Option<Fault>,
    pub levels_changed: u64,
}

impl World {
    /// Returns the thread that the kernel runs on a CPU.
    pub fn runs(&self, cpu: CpuId) -> Option<TaskId> {
        let own = self.threads.iter().filter(|(id, _)| self.order.cpu_of[*id] == cpu);
        let ready = own
            .filter(|(_, thread)| !thread.is_parked && (thread.has_work() || thread.wants_to_work));
        ready
            .min_by_key(|&(id, thread)| {
                let level = match thread.level {
                    Level::Own => 0,
                    Level::Yielding => 1,
                    Level::Waiting => 2,
                };
                (level, if level == 0 { self.order.place[id] } else { id.index() })
            })
            .map(|(id, _)| id)
    }

    /// Wakes the threads whose releases are past.
    pub fn wake(&mut self) {
        let now = self.now;
        for thread in self.threads.values_mut() {
            thread.wants_to_work |= thread.rests_until <= now;
        }
    }

    /// Lets time pass.
    pub fn pass(&mut self, length: i64) {
        let end = self.now + length;
        loop {
            self.wake();
            let mut until = end;
            let mut running = Vec::new();
            for cpu in self.chosen.ids() {
                if self.works_on == Some(cpu) {
                    continue;
                }
                // A thread that wants to work waits for the lock, and keeps its CPU.
                let runs = self.runs(cpu).filter(|&id| !self.threads[id].wants_to_work);
                if let Some(id) = runs {
                    until = until.min(self.now + self.threads[id].left);
                    running.push(id);
                }
            }
            let rests = self.threads.values().map(|thread| thread.rests_until);
            let wakes = rests.filter(|&at| at > self.now).min().unwrap_or(NEVER);
            until = until.min(wakes);
            let length = until - self.now;
            self.now = until;
            for id in running {
                let thread = &mut self.threads[id];
                thread.left -= length;
                thread.got += length;
                if thread.left == 0 {
                    thread.done = Some(EndReport { end_ns: until, used: thread.got });
                    thread.wants_to_work = true;
                }
            }
            if until == end {
                return;
            }
        }
    }

    pub fn next_change(&self) -> i64 {
        let rests = self.threads.values().map(|thread| thread.rests_until);
        let rests = rests.filter(|&at| at > self.now);
        let runs = self.chosen.ids().filter_map(|cpu| self.runs(cpu));
        let ends = runs.map(|id| self.now + self.threads[id].left);
        rests.chain(ends).min().unwrap_or(NEVER)
    }

    fn set_level(&mut self, id: TaskId, level: Level) {
        self.levels_changed += u64::from(self.threads[id].level != level);
        self.threads[id].level = level;
    }

    fn unchoose(&mut self, id: TaskId) {
        let chosen = self.chosen.values_mut().filter(|chosen| **chosen == Some(id));
        chosen.for_each(|chosen| *chosen = None);
    }

    fn end_job(&mut self, id: TaskId) {
        self.unchoose(id);
        self.set_level(id, Level::Own);
        let thread = &mut self.threads[id];
        (thread.told, thread.done, thread.is_parked) = (false, None, false);
    }
}

#[derive(Clone)]
pub struct Machine(pub Rc<RefCell<World>>);

impl Carrier for Machine {
    fn clock_ns(&self) -> i64 {
        let mut world = self.0.borrow_mut();
        let pause = if world.random.below(50) == 0 { 60_000 } else { 3_000 };
        let length = world.random.between(0, pause);
        world.pass(length);
        world.now
    }
    fn news(&self) -> u32 {
        0
    }
    fn wait(&mut self, _news: u32, _until_ns: i64) {
        unreachable!("the manager sleeps on its timer");
    }
    fn expect_awake_by(&self, _at_ns: i64) {}
    fn is_stopped(&self) -> bool {
        false
    }
    fn is_tripped(&self) -> bool {
        false
    }
    fn is_done(&self, task: TaskId) -> bool {
        let world = self.0.borrow();
        world.threads[task].told && world.threads[task].done.is_some()
    }
    fn report(&self, task: TaskId) -> EndReport {
        self.0.borrow().threads[task].done.expect("only a job that is done has one")
    }
    fn used(&self, task: TaskId, known: i64) -> i64 {
        let thread = &self.0.borrow().threads[task];
        if thread.told { thread.got } else { known }
    }
    fn notice(&mut self, task: TaskId) -> Option<Noticed> {
        let mut world = self.0.borrow_mut();
        let now = world.now;
        let raised = world.threads[task].raised_ns.take()?;
        Some(Noticed { latency_ns: now - raised, migrated: false, started_ns: Some(raised) })
    }
    fn is_unnoticed(&self, task: TaskId) -> bool {
        self.0.borrow().threads[task].raised_ns.is_some()
    }
    fn is_used_up(&self, _cpu: CpuId) -> bool {
        false
    }
    fn visit(&mut self) -> Option<Visit> {
        None
    }
    fn entered(&mut self, _task: TaskId, _parameters: &Task, _refused: Option<&Refusal>) {}
    fn left(&mut self, _task: TaskId) {}
    fn expect(&mut self, _task: TaskId, _first: NextJob) {}
    fn begin(&mut self, task: TaskId, job: NewJob) {
        let thread = &mut self.0.borrow_mut().threads[task];
        assert!(!thread.told, "{task} has a job: {thread:?}");
        thread.raised_ns = None;
        thread.demand = job.demand;
    }
    fn lower(&mut self, task: TaskId, measured: &mut Measured) -> Option<i64> {
        self.0.borrow_mut().unchoose(task);
        measured.demotions += 1;
        None
    }
    fn raise(&mut self, task: TaskId, cpu: CpuId, measured: &mut Measured) -> Option<There> {
        let mut world = self.0.borrow_mut();
        assert_eq!(world.order.cpu_of[task], cpu, "{task} is elsewhere");
        assert_eq!(world.chosen[cpu], None, "two threads on CPU {cpu}");
        world.chosen[cpu] = Some(task);
        world.threads[task].raised_ns = Some(world.now);
        measured.dispatches += 1;
        None
    }
    fn limit(&mut self, _cpu: CpuId, _grant: Option<Grant>) {}
    fn arrange(&mut self, order: &FixedOrder) {
        let mut world = self.0.borrow_mut();
        for cpu in order.yields.ids() {
            let Some(chosen) = world.chosen[cpu] else { continue };
            for id in order.cpu_of.ids() {
                let thread = &world.threads[id];
                let counts = id != chosen && order.cpu_of[id] == cpu && thread.has_work();
                if counts && !thread.is_parked && world.fault != Some(Fault::LowersNobody) {
                    let level = thread.level.of_other(order, chosen, id);
                    world.set_level(id, level);
                }
            }
            let level = Level::of_chosen(order, chosen);
            if world.fault != Some(Fault::RaisesNobody) {
                world.set_level(chosen, level);
            }
            let thread = &mut world.threads[chosen];
            thread.is_parked = false;
            if !std::mem::replace(&mut thread.told, true) {
                (thread.left, thread.got) = (thread.demand, 0);
            }
        }
    }
    fn settle(&mut self, _measured: &mut Measured) {}
    fn acts_ahead(&self) -> bool {
        false
    }
    fn offer(&mut self, _table: &AnswerTable) {}
    fn withdraw(&mut self) {}
    fn clear(&mut self, cpu: CpuId, measured: &mut Measured) -> bool {
        let mut world = self.0.borrow_mut();
        let mut found = false;
        for id in world.order.cpu_of.ids().collect::<Vec<_>>() {
            let is_there = world.order.cpu_of[id] == cpu && world.chosen[cpu] != Some(id);
            let thread = &mut world.threads[id];
            if is_there && thread.has_work() && !thread.is_parked {
                thread.is_parked = true;
                measured.parks += 1;
                found = true;
            }
        }
        found
    }
    fn give_up(&mut self, task: TaskId) {
        self.0.borrow_mut().end_job(task);
    }
    fn forget(&mut self, task: TaskId) {
        self.0.borrow_mut().end_job(task);
    }
}

impl SelfReleasing for Machine {
    fn enter(&mut self, worker: Option<TaskId>) {
        let mut world = self.0.borrow_mut();
        // The manager has a CPU of its own, or shares the first one.
        let shares = world.random.below(2) == 0;
        world.works_on = match worker {
            Some(id) => Some(world.order.cpu_of[id]),
            None => shares.then_some(CpuId(0)),
        };
        if let Some(id) = worker {
            world.threads[id].wants_to_work = false;
        }
    }
    fn leave(&mut self) {
        self.0.borrow_mut().works_on = None;
    }
    fn rest(&mut self, task: TaskId, until_ns: i64) {
        let thread = &mut self.0.borrow_mut().threads[task];
        thread.rests_until = until_ns;
        // A thread without a job sleeps again, if another thread has released or ended it meanwhile.
        thread.wants_to_work &= thread.done.is_some();
    }
}
