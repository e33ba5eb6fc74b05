//! The manager on a machine that does not exist: threads in virtual time, which report, are late and run on for a
//! moment as those of a kernel do. Every interleaving is drawn, none depends on the machine that runs the tests.

use super::carrier::{Carrier, Noticed, Report};
use super::overheads::Measured;
use super::{Finished, Manager, Start};
use crate::log::replay::replay;
use crate::log::trace::verify;
use crate::log::{Entry, Log};
use crate::supports;
use layland_gen::Random;
use layland_model::{
    CpuId, CpuSet, Criticality, Duration, ExecutionModel, JobId, Levels, OnMiss, Request,
    RequestKind, ScheduleRule, Service, System, Task, TaskId, TaskMap, Time,
};
use layland_policy::{Policy, Registry};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A thread of the machine.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// The CPU that it was given.
    on: Option<CpuId>,
    /// The CPU that it had last.
    last: Option<CpuId>,
    /// How long it goes on although its CPU was taken from it.
    runs_on: i64,
    /// Whether it was told of the job; what that still needs, and what it has got.
    told: bool,
    left: i64,
    got: i64,
    done: Option<Report>,
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
                thread.done = Some(Report { end_ns: self.now + work, used: thread.got });
                self.news += 1;
            }
        }
        self.now += length;
    }

    /// When a thread ends its job next, if none loses its CPU.
    fn next_end(&self) -> Option<i64> {
        let ends = self.threads.values().filter(|thread| {
            thread.told
                && thread.done.is_none()
                && (thread.on.is_some() || thread.left <= thread.runs_on)
        });
        ends.map(|thread| self.now + thread.left).min()
    }
}

/// A machine whose clock goes on when it is read.
struct Machine(RefCell<World>);

impl Machine {
    fn new(tasks: usize, seed: u64) -> Machine {
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
    fn report(&self, task: TaskId) -> Report {
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
    fn begin(&mut self, task: TaskId) {
        let thread = &mut self.0.get_mut().threads[task];
        assert!(!thread.told && thread.on.is_none(), "{task} has a job: {thread:?}");
        thread.raised_ns = None;
    }
    fn lower(&mut self, task: TaskId, measured: &mut Measured) {
        let world = self.0.get_mut();
        let runs_on = if world.random.below(2) == 0 { world.random.between(0, 200_000) } else { 0 };
        let thread = &mut world.threads[task];
        assert!(thread.told && thread.on.is_some(), "{task} has no CPU: {thread:?}");
        (thread.on, thread.runs_on) = (None, runs_on);
        measured.demotions += 1;
    }
    fn raise(
        &mut self,
        task: TaskId,
        cpu: CpuId,
        _job: JobId,
        demand: i64,
        measured: &mut Measured,
    ) {
        let world = self.0.get_mut();
        let taken = world.threads.values().any(|other| other.on == Some(cpu));
        assert!(!taken, "two threads on CPU {cpu}");
        let now = world.now;
        let thread = &mut world.threads[task];
        assert!(thread.on.is_none() && thread.done.is_none(), "{task} cannot run: {thread:?}");
        if !std::mem::replace(&mut thread.told, true) {
            (thread.left, thread.got) = (demand, 0);
        }
        let migrated = thread.last.is_some_and(|last| last != cpu);
        thread.raised_ns = Some((now, migrated));
        (thread.on, thread.last, thread.runs_on) = (Some(cpu), Some(cpu), 0);
        measured.dispatches += 1;
    }
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

/// A few tasks with periods of some milliseconds; some systems of two criticality levels, with affinities, with late
/// jobs that are given up or skipped, with CPUs that come and go.
fn draw(index: u64) -> System {
    let mut random = Random::of_task(index, 2);
    let cpus = 1 + random.below(3) as usize;
    let is_critical = random.below(3) == 0;
    let is_masked = random.below(4) == 0;
    let mut tasks = Vec::new();
    for number in 0..cpus as u64 + 1 + random.below(3) {
        let ms = [4, 5, 8, 10, 16, 20][random.below(6) as usize];
        let period = Duration::from_ms(ms);
        let share = random.between(100, 600);
        let wcet = Service::from_ns(period.ns() * share / 1000);
        let mut task = Task::implicit(format!("t{number}"), wcet, period);
        task.offset = Duration::from_ns(random.between(0, period.ns()));
        if random.below(2) == 0 {
            let demands = (0..1 + random.below(4)).map(|_| random.between(1, wcet.ns()));
            task.execution = ExecutionModel::List(demands.map(Service::from_ns).collect());
        }
        task.on_miss = match random.below(6) {
            0 => OnMiss::Abort,
            1 => OnMiss::Skip,
            _ => OnMiss::Continue,
        };
        if is_critical && random.below(2) == 0 {
            task.criticality = Criticality(1);
            task.wcet = vec![Service::from_ns(wcet.ns() / 2), wcet];
        }
        if is_masked && random.below(2) == 0 {
            let first = CpuId(random.below(cpus as u64) as u32);
            task.affinity = Some(CpuSet::single(first));
        }
        tasks.push(task);
    }
    let mut system = System::new(cpus, tasks);
    if is_critical {
        system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    }
    if random.below(4) == 0 {
        let cpu = CpuId(random.below(cpus as u64) as u32);
        let at = |ms| Time::from_ms(ms);
        system.requests = vec![
            Request { at: at(40), kind: RequestKind::CpuOffline(cpu) },
            Request { at: at(60), kind: RequestKind::CpuOnline(cpu) },
        ];
    }
    system
}

fn run(system: &System, policy: Box<dyn Policy>, seed: u64) -> Finished {
    let log = Log::with_capacity(1 << 16, 1024);
    let (epoch_ns, end) = (0, Time::from_ms(120));
    let start = Start { system, policy, markers: None, log, seed, epoch_ns, end };
    Manager::new(start, Machine::new(system.tasks.len(), seed)).run()
}

/// Their rule depends on what jobs have got, which they take to be the time since `Run`: on a machine that is late
/// it is less.
const RULE_OF_PROGRESS: &[&str] = &["edzl"];

/// Whatever happens while the manager works: no thread is given a CPU that another has, the policy's rule holds in the
/// schedule that it made, a replay decides the same, and a job that ended while it was being preempted is told of.
#[test]
fn every_policy_runs_on_a_machine_that_is_late() {
    let registry = Registry::standard();
    let mut ended: BTreeMap<String, usize> = BTreeMap::new();
    for index in 0..60 {
        let system = draw(index);
        for info in &registry {
            let build = || registry.build(&info.name, &system);
            let Ok(policy) = build() else { continue };
            if supports(&system, &*policy).is_err() {
                continue;
            }
            let rule = match RULE_OF_PROGRESS.contains(&info.name.as_ref()) {
                true => ScheduleRule::None,
                false => policy.rule(),
            };
            let finished = run(&system, policy, index);
            let what = format!("{} {index}", info.name);
            assert!(!finished.log_full && finished.unsupported.is_none(), "{what}");
            let violations = verify(&finished.log, &system, &rule);
            assert!(violations.is_empty(), "{what}: {violations:#?}");
            let replayed =
                replay(&finished.log, &system, &mut *build().expect("it was built before"));
            let replayed = replayed.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(replayed.divergence, None, "{what}");
            assert_eq!(replayed.events, finished.events, "{what}");
            let ends = finished.log.records.iter();
            let ends = ends.filter(|record| is_an_end(&record.entry, &system)).count();
            *ended.entry(info.name.to_string()).or_default() += ends;
        }
    }
    let without: Vec<_> = ended.iter().filter(|&(_, &count)| count == 0).collect();
    assert!(ended.len() > 30 && without.len() <= 5, "{ended:?}");
}

/// An end of a job that nobody gives up.
fn is_an_end(entry: &Entry, system: &System) -> bool {
    matches!(entry, Entry::Ended { job } if system.tasks[job.task].on_miss != OnMiss::Abort)
}

/// The same machine, twice: the same log.
#[test]
fn a_run_repeats() {
    let mut repeated = 0;
    for index in 0..20 {
        let system = draw(index);
        let Ok(policy) = Registry::standard().build("g-edf", &system) else { continue };
        let first = run(&system, policy.clone(), index).log;
        assert!(!first.records.is_empty() && first == run(&system, policy, index).log, "{index}");
        repeated += 1;
    }
    assert!(repeated >= 5, "g-edf took {repeated} systems");
}
