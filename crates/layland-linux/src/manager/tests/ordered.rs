//! Threads that release and end their jobs themselves, on CPUs that run threads by their priorities, in
//! virtual time.
//!
//! The kernel of this machine knows priorities, and neither jobs nor policies. After each step it must
//! run what the policy decided. The manager is called at the times at which it is needed, late, and at
//! no other time.

use super::{Finished, draw};
use crate::log::replay::replay;
use crate::log::trace::{View, trace, verify};
use crate::log::{Entry, Log};
use crate::manager::carrier::{
    Carrier, EndReport, Grant, NewJob, NextJob, Noticed, SelfReleasing, There,
};
use crate::manager::levels::Level;
use crate::manager::overheads::Measured;
use crate::manager::{Manager, Start};
use layland_engine::ahead::AnswerTable;
use layland_engine::programs::Visit;
use layland_gen::Random;
use layland_model::{
    Behaviour, CpuId, CpuMap, Criticality, Duration, ExecutionModel, Index, Levels, Rate,
    Separation, Service, System, Task, TaskId, TaskMap, Time,
};
use layland_policy::{FixedOrder, Policy, Refusal, Registry};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

const NEVER: i64 = i64::MAX;

/// A thread of the machine.
#[derive(Clone, Debug, Default)]
struct Thread {
    level: Level,
    is_parked: bool,
    rests_until: i64,
    /// True if the job was released to it; the remaining demand of the job, and its execution time.
    told: bool,
    demand: i64,
    left: i64,
    got: i64,
    done: Option<EndReport>,
    /// True if it waits for its turn to work for the manager.
    wants_to_work: bool,
    raised_ns: Option<i64>,
}

impl Thread {
    fn has_work(&self) -> bool {
        self.told && self.done.is_none()
    }
}

/// A fault of the machine's carrier that a test must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Threads of higher priority are not lowered.
    LowersNobody,
    /// A lowered thread stays where it is.
    RaisesNobody,
    /// The manager does not come for a job that has not run.
    IsPatient,
}

struct World {
    now: i64,
    random: Random,
    order: FixedOrder,
    threads: TaskMap<Thread>,
    chosen: CpuMap<Option<TaskId>>,
    /// The CPU on which somebody works for the manager.
    works_on: Option<CpuId>,
    fault: Option<Fault>,
    levels_changed: u64,
}

impl World {
    /// Returns the thread that the kernel runs on a CPU.
    fn runs(&self, cpu: CpuId) -> Option<TaskId> {
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
    fn wake(&mut self) {
        let now = self.now;
        for thread in self.threads.values_mut() {
            thread.wants_to_work |= thread.rests_until <= now;
        }
    }

    /// Lets time pass.
    fn pass(&mut self, length: i64) {
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

    fn next_change(&self) -> i64 {
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
struct Machine(Rc<RefCell<World>>);

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
        // A thread without a job sleeps again, if somebody else has released or ended it meanwhile.
        thread.wants_to_work &= thread.done.is_some();
    }
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    steps: u64,
    /// The invocations of the manager, those of them in which the policy decided, and those for a timer,
    /// a budget or a job that is aborted.
    invocations: u64,
    useful: u64,
    asked: u64,
    levels_changed: u64,
    /// The number of times that the kernel did not run what the policy had decided.
    otherwise: u64,
}

/// Returns the time at which the manager is needed, apart from jobs that have not run.
fn told(manager: &Manager<'_, Machine>) -> Time {
    let budgets = manager.cpus.values().filter(|run| run.task.is_some()).map(|run| run.budget_end);
    let next = manager.ledger.next_time_but_arrivals().min(Time::from_ms(120));
    budgets.fold(next, Time::min)
}

/// Runs a system. After each step the kernel must run what the policy decided.
fn run(
    system: &System,
    policy: Box<dyn Policy>,
    seed: u64,
    fault: Option<Fault>,
) -> (Finished, Counts) {
    let order = policy.fixed_order().expect("only policies with an order").clone();
    let tasks = system.tasks.len();
    let world = Rc::new(RefCell::new(World {
        now: 0,
        random: Random::of_task(seed, 4),
        chosen: CpuMap::filled(None, system.platform.cpu_count()),
        threads: TaskMap::filled(Thread { rests_until: NEVER, ..Thread::default() }, tasks),
        order,
        works_on: None,
        fault,
        levels_changed: 0,
    }));
    let log = Log::with_capacity(1 << 16, 1024);
    let end = Time::from_ms(120);
    let start = Start { system, policy, markers: None, log, seed, epoch_ns: 0, end };
    let mut manager = Manager::new(start, Machine(Rc::clone(&world)));
    let mut counts = Counts::default();
    manager.begin();
    manager.carrier.leave();
    loop {
        let needed = match fault {
            Some(Fault::IsPatient) => told(&manager).ns(),
            Some(Fault::LowersNobody | Fault::RaisesNobody) | None => manager.needed_at().ns(),
        };
        let before = manager.ledger.decisions;
        let mut over = false;
        world.borrow_mut().wake();
        let worker = {
            let world = world.borrow();
            let mut runs = world.chosen.ids().filter_map(|cpu| world.runs(cpu));
            runs.find(|&id| world.threads[id].wants_to_work)
        };
        let now = world.borrow().now;
        if needed <= now {
            let begun = manager.log.records.len();
            over |= manager.work(None);
            counts.invocations += 1;
            counts.useful += u64::from(manager.ledger.decisions > before);
            // A round may do more than it was called for.
            let asked = |entry: &Entry| {
                matches!(entry, Entry::Timer { .. } | Entry::Budget { .. } | Entry::Dropped { .. })
            };
            let of_round = &manager.log.records[begun..];
            let is_asked = of_round.iter().any(|record| asked(&record.entry));
            counts.asked += u64::from(manager.ledger.decisions > before && is_asked);
            manager.carrier.leave();
        } else if let Some(id) = worker {
            over |= manager.work(Some(id));
            counts.steps += 1;
            manager.carrier.leave();
        } else {
            // Nothing is pending, so the kernel must run what the policy decided.
            for cpu in system.platform.cpus() {
                let runs = world.borrow().runs(cpu);
                counts.otherwise += u64::from(runs != manager.cpus[cpu].task);
            }
            let mut world = world.borrow_mut();
            let until = world.next_change().min(needed).max(now + 1);
            // The manager comes late.
            let late = if until == needed { world.random.between(0, 40_000) } else { 0 };
            world.pass(until - now + late);
        }
        if over {
            counts.levels_changed = world.borrow().levels_changed;
            return (manager.end(), counts);
        }
    }
}

const SPECS: &[&str] =
    &["smc", "smc:order=rm", "rms", "cms", "zss", "zss:late=demote", "zss:instants=paper", "pt"];

/// Gives some tasks releases that are not periodic, and overruns.
fn varied(index: u64) -> System {
    let mut system = draw(index);
    let mut random = Random::of_task(index, 5);
    for task in system.tasks.values_mut() {
        if random.below(3) == 0 {
            let max = Duration::from_ns(random.between(1, task.period.ns()));
            task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
        }
    }
    if random.below(2) == 0 {
        let factor = Rate::new(3, 2);
        let task = TaskId(random.below(system.tasks.len() as u64) as u32);
        if let Ok(longer) = crate::with_overrun(&system, task, &factor) {
            return longer;
        }
    }
    system
}

#[test]
fn threads_release_and_end_their_jobs_and_the_kernel_runs_what_was_decided() {
    let registry = Registry::standard();
    let mut runs: BTreeMap<&str, (usize, Counts)> = BTreeMap::new();
    for index in 0..400 {
        let system = varied(index);
        for &spec in SPECS {
            let build = || registry.build(spec, &system);
            let Ok(policy) = build() else { continue };
            let rule = policy.rule();
            let (finished, counts) = run(&system, policy, index, None);
            let what = format!("{spec} {index}");
            assert!(!finished.log_full && finished.unsupported.is_none(), "{what}");
            let violations = verify(&finished.log, &system, &rule);
            assert!(violations.is_empty(), "{what}: {violations:#?}");
            let replayed =
                replay(&finished.log, &system, &mut *build().expect("it was built before"));
            let replayed = replayed.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(replayed.divergence, None, "{what}");
            assert_eq!(replayed.events, finished.events, "{what}");
            assert_eq!(counts.otherwise, 0, "{what}");
            let sum = runs.entry(spec).or_default();
            sum.0 += 1;
            sum.1.steps += counts.steps;
            sum.1.invocations += counts.invocations;
            sum.1.useful += counts.useful;
            sum.1.levels_changed += counts.levels_changed;
        }
    }
    for &spec in SPECS {
        let (count, sum) = runs[spec];
        assert!(count > 20 && sum.steps > 10 * sum.useful / 10, "{spec}: {count} {sum:?}");
    }
    assert_eq!(runs["smc"].1.levels_changed, 0, "nobody is suspended under smc");
    assert!(runs["zss"].1.levels_changed > 0 && runs["pt"].1.levels_changed > 0, "{runs:?}");
}

/// Where nothing overruns, no budget is used up and no job is critical or late, the manager never works.
#[test]
fn the_manager_is_not_invoked_at_releases_and_ends() {
    let registry = Registry::standard();
    let task = |name, wcet_us, period_ms| {
        let wcet = Service::from_us(wcet_us);
        Task::implicit(name, wcet, Duration::from_ms(period_ms))
    };
    let mut system =
        System::new(1, vec![task("a", 900, 4), task("b", 1_500, 8), task("c", 4_000, 20)]);
    for task in system.tasks.values_mut() {
        task.execution = ExecutionModel::Fraction(Rate::new(4, 5));
    }
    for spec in ["smc", "rms", "zss"] {
        let policy = registry.build(spec, &system).unwrap();
        let (finished, counts) = run(&system, policy, 7, None);
        let jobs = finished.log.records.iter();
        let jobs = jobs.filter(|record| matches!(record.entry, Entry::Done { .. })).count();
        // The last invocation ends the run.
        assert_eq!((counts.invocations, counts.useful), (1, 0), "{spec}: {counts:?}");
        assert!(counts.steps as usize >= jobs && jobs > 45, "{spec}: {counts:?}");
    }
    // With slices the manager is invoked for the slices, and for nothing else.
    let mut levels = system.clone();
    levels.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    for task in levels.tasks.values_mut() {
        task.wcet = vec![task.wcet[0]; 2].into();
    }
    levels.tasks[TaskId(2)].criticality = Criticality(1);
    let policy = registry.build("pt", &levels).unwrap();
    let (_, counts) = run(&levels, policy, 7, None);
    // A job may end at the very time at which the manager comes to look at its budget.
    let others = counts.useful - counts.asked;
    assert!(counts.asked > 20 && others < counts.asked / 10, "{counts:?}");
}

/// A carrier that does not change priorities is noticed.
#[test]
fn faults_are_noticed() {
    let registry = Registry::standard();
    for fault in [Fault::LowersNobody, Fault::RaisesNobody] {
        let mut noticed = 0;
        for index in 0..120 {
            let system = varied(index);
            for spec in ["zss", "pt"] {
                let Ok(policy) = registry.build(spec, &system) else { continue };
                let (_, counts) = run(&system, policy, index, Some(fault));
                noticed += usize::from(counts.otherwise > 0);
            }
        }
        assert!(noticed > 3, "{fault:?} is noticed in {noticed} runs");
    }
}

/// A job of low criticality and high priority runs beyond the zero-slack instant of another job, whose
/// thread has never run: the manager has to come at this instant.
#[test]
fn a_job_that_has_not_run_becomes_critical_in_time() {
    let task = |name, low_ms, high_ms, period_ms| {
        let mut task =
            Task::implicit(name, Service::from_ms(high_ms), Duration::from_ms(period_ms));
        task.wcet = vec![Service::from_ms(low_ms), Service::from_ms(high_ms)].into();
        task
    };
    let mut system = System::new(1, vec![task("l", 6, 6, 15), task("h", 1, 16, 20)]);
    system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    system.tasks[TaskId(1)].criticality = Criticality(1);
    // Nobody works between its release and the end of the other job.
    system.tasks[TaskId(1)].offset = Duration::from_ms(1);
    system.tasks[TaskId(1)].execution = ExecutionModel::List(vec![Service::from_ms(15)]);
    let policy = Registry::standard().build("zss", &system).unwrap();
    let patience = policy.fixed_order().unwrap().patience[TaskId(1)].unwrap();
    assert!(patience < Duration::from_ms(6), "{patience}");
    for (fault, is_late) in [(None, false), (Some(Fault::IsPatient), true)] {
        let (finished, counts) = run(&system, policy.clone(), 3, fault);
        let trace = trace(&finished.log, &system, View::Measured);
        let own = trace.jobs.iter().filter(|record| record.job.id.task == TaskId(1));
        let late = own.filter(|record| record.missed(trace.over)).count();
        assert_eq!(late > 0, is_late, "{fault:?}: {late} late, {counts:?}");
    }
}
