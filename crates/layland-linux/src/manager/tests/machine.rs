//! A machine whose CPUs only follow orders.

use crate::manager::carrier::{Carrier, EndReport, Grant, NewJob, NextJob, Noticed, There};
use crate::manager::overheads::Measured;
use layland_engine::ahead::AnswerTable;
use layland_engine::programs::Visit;
use layland_gen::Random;
use layland_model::{CpuId, Task, TaskId, TaskMap};
use layland_policy::{FixedOrder, Refusal};
use std::cell::RefCell;

/// A thread of the machine.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// The CPU that it was given.
    on: Option<CpuId>,
    /// The CPU that it had last.
    last: Option<CpuId>,
    /// The time for which it continues after its CPU was taken from it.
    runs_on: i64,
    /// True if the job was released to it; the remaining demand of the job, and its execution time.
    told: bool,
    demand: i64,
    left: i64,
    got: i64,
    done: Option<EndReport>,
    raised_ns: Option<(i64, bool)>,
}

#[derive(Debug)]
struct World {
    now: i64,
    random: Random,
    threads: TaskMap<Thread>,
    news: u32,
}

impl World {
    /// Lets time pass.
    fn pass(&mut self, length: i64) {
        for thread in self.threads.values_mut() {
            if !thread.told || thread.done.is_some() {
                continue;
            }
            let most = if thread.on.is_some() { length } else { length.min(thread.runs_on) };
            let work = most.min(thread.left);
            if thread.on.is_none() {
                thread.runs_on -= work;
                if work == 0 {
                    continue;
                }
            }
            thread.left -= work;
            thread.got += work;
            if thread.left == 0 {
                thread.done = Some(EndReport { end_ns: self.now + work, used: thread.got });
                self.news += 1;
            }
        }
        self.now += length;
    }

    /// Returns the time at which a thread next ends its job, if none loses its CPU.
    fn next_end(&self) -> Option<i64> {
        let ends = self.threads.values().filter(|thread| {
            thread.told
                && thread.done.is_none()
                && (thread.on.is_some() || thread.left <= thread.runs_on)
        });
        ends.map(|thread| self.now + thread.left).min()
    }
}

/// A machine whose clock advances when it is read.
pub struct Machine(RefCell<World>);

impl Machine {
    pub fn new(tasks: usize, seed: u64) -> Machine {
        let random = Random::of_task(seed, 1);
        let threads = TaskMap::filled(Thread::default(), tasks);
        Machine(RefCell::new(World { now: 0, random, threads, news: 0 }))
    }
}

impl Carrier for Machine {
    fn clock_ns(&self) -> i64 {
        let mut world = self.0.borrow_mut();
        let pause = if world.random.below(50) == 0 { 60_000 } else { 3_000 };
        let length = world.random.between(0, pause);
        world.pass(length);
        world.now
    }
    fn news(&self) -> u32 {
        self.0.borrow().news
    }
    fn wait(&mut self, news: u32, until_ns: i64) {
        let world = self.0.get_mut();
        if world.news == news {
            let until = world.next_end().map_or(until_ns, |end| end.min(until_ns));
            let late = world.random.between(0, 40_000);
            world.pass((until - world.now).max(0) + late);
        }
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
        let world = self.0.get_mut();
        let (raised, migrated) = world.threads[task].raised_ns.take()?;
        Some(Noticed { latency_ns: world.now - raised, migrated, started_ns: Some(raised) })
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
        let thread = &mut self.0.get_mut().threads[task];
        assert!(!thread.told && thread.on.is_none(), "{task} has a job: {thread:?}");
        thread.raised_ns = None;
        thread.demand = job.demand;
    }
    fn lower(&mut self, task: TaskId, measured: &mut Measured) -> Option<i64> {
        let world = self.0.get_mut();
        let runs_on = if world.random.below(2) == 0 { world.random.between(0, 200_000) } else { 0 };
        let thread = &mut world.threads[task];
        assert!(thread.told && thread.on.is_some(), "{task} has no CPU: {thread:?}");
        (thread.on, thread.runs_on) = (None, runs_on);
        measured.demotions += 1;
        None
    }
    fn raise(&mut self, task: TaskId, cpu: CpuId, measured: &mut Measured) -> Option<There> {
        let world = self.0.get_mut();
        let taken = world.threads.values().any(|other| other.on == Some(cpu));
        assert!(!taken, "two threads on CPU {cpu}");
        let now = world.now;
        let thread = &mut world.threads[task];
        assert!(thread.on.is_none() && thread.done.is_none(), "{task} cannot run: {thread:?}");
        if !std::mem::replace(&mut thread.told, true) {
            (thread.left, thread.got) = (thread.demand, 0);
        }
        let migrated = thread.last.is_some_and(|last| last != cpu);
        thread.raised_ns = Some((now, migrated));
        (thread.on, thread.last, thread.runs_on) = (Some(cpu), Some(cpu), 0);
        measured.dispatches += 1;
        None
    }
    fn limit(&mut self, _cpu: CpuId, _grant: Option<Grant>) {}
    fn arrange(&mut self, _order: &FixedOrder) {}
    fn settle(&mut self, _measured: &mut Measured) {}
    fn acts_ahead(&self) -> bool {
        false
    }
    fn offer(&mut self, _table: &AnswerTable) {}
    fn withdraw(&mut self) {}
    fn clear(&mut self, cpu: CpuId, measured: &mut Measured) -> bool {
        let mut found = false;
        for thread in self.0.get_mut().threads.values_mut() {
            if thread.on.is_none() && thread.last == Some(cpu) && thread.runs_on > 0 {
                thread.runs_on = 0;
                measured.parks += 1;
                found = true;
            }
        }
        found
    }
    fn give_up(&mut self, task: TaskId) {
        let thread = &mut self.0.get_mut().threads[task];
        assert!(thread.on.is_none(), "{task} gives up a job on a CPU: {thread:?}");
        (thread.told, thread.done, thread.runs_on) = (false, None, 0);
    }
    fn forget(&mut self, task: TaskId) {
        let thread = &mut self.0.get_mut().threads[task];
        (thread.on, thread.told, thread.done, thread.runs_on) = (None, false, None, 0);
    }
}
