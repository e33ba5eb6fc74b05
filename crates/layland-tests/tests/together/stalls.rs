//! Policies that follow arrivals on an engine whose CPUs stall. For a while a job holds its CPU
//! without progress, but it is still aborted at its deadline. The engine also notifies policies
//! late, so that one round has several events that a simulation would report one after the other.
//!
//! The assertions hold for every engine: a policy runs and aborts only ready jobs.

use layland_engine::programs::Visit;
use layland_engine::{Asked, ENDLESS, Engine, Ledger, Status, jobs, rounds};
use layland_gen::Random;
use layland_model::{
    CpuId, CpuMap, Criticality, Duration, JobId, Levels, OnMiss, Request, RequestKind, Service,
    Speed, System, Task, TaskId, Time,
};
use layland_policy::{Action, Event, Policy, Refusal, Registry, Schedules, TimerId};
use layland_trace::{Job, JobEnd};
use std::collections::BTreeMap;

/// The remaining work of a job, and its execution so far.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    left: i64,
    got: i64,
}

/// The use of a CPU.
#[derive(Clone, Copy, Debug)]
struct Slot {
    task: TaskId,
    /// The time until the budget is used up, if there is a budget and its end has not been reported.
    budget: Option<i64>,
}

struct Stalling {
    ledger: Ledger<Box<dyn Policy>, Work>,
    slots: CpuMap<Option<Slot>>,
    /// The end of each CPU's stall.
    stalled: CpuMap<Time>,
    /// Jobs that have lost their CPUs, and whose execution has not been reported to the policy.
    lost: Vec<JobId>,
    random: Random,
    ends: BTreeMap<&'static str, usize>,
}

impl Stalling {
    fn new(system: &System, policy: Box<dyn Policy>, seed: u64) -> Stalling {
        let cpus = system.platform.cpu_count();
        Stalling {
            ledger: Ledger::new(system, policy, seed, |work| work.ns()),
            slots: CpuMap::filled(None, cpus),
            stalled: CpuMap::filled(Time::ZERO, cpus),
            lost: Vec::new(),
            random: Random::of_task(seed, 6),
            ends: BTreeMap::new(),
        }
    }

    /// Runs until `end`, and calls `look` after each instant.
    fn run_until(&mut self, end: Time, mut look: impl FnMut(&Stalling)) {
        rounds::begin(self);
        while self.ledger.now < end {
            let ends = self.slots.iter().filter_map(|(cpu, slot)| {
                let Slot { task, budget } = (*slot)?;
                let left = self.ledger.tasks[task].own.left.min(budget.unwrap_or(ENDLESS));
                Some(self.ledger.now.max(self.stalled[cpu]) + Duration::from_ns(left))
            });
            let due = ends.min().unwrap_or(end).min(self.ledger.next_time()).min(end);
            let late = match self.random.below(3) {
                0 => self.random.between(0, 300_000),
                _ => 0,
            };
            self.pass_to(due.max(self.ledger.now) + Duration::from_ns(late));
            rounds::round(self);
            if self.ledger.next_time() > self.ledger.now {
                look(self);
            }
        }
    }

    fn pass_to(&mut self, next: Time) {
        for cpu in self.slots.ids() {
            let Some(Slot { task, budget }) = &mut self.slots[cpu] else { continue };
            let work = &mut self.ledger.tasks[*task].own;
            let from = self.ledger.now.max(self.stalled[cpu]);
            let most = (next - from).ns().clamp(0, work.left);
            let did = budget.map_or(most, |budget| most.min(budget));
            (work.left, work.got) = (work.left - did, work.got + did);
            *budget = budget.map(|budget| budget - did);
        }
        for until in self.stalled.values_mut() {
            if *until <= next && self.random.below(8) == 0 {
                *until = next + Duration::from_ns(self.random.between(0, 20_000_000));
            }
        }
        self.ledger.now = next;
    }

    /// Takes the CPU from its job, whatever happens to the job next.
    fn take(&mut self, cpu: CpuId) {
        if let Some(Slot { task, .. }) = self.slots[cpu].take() {
            self.lost.push(self.ledger.tasks[task].job.id);
        }
    }
}

impl Engine for Stalling {
    type Policy = Box<dyn Policy>;
    type Task = Work;
    fn ledger(&self) -> &Ledger<Box<dyn Policy>, Work> {
        &self.ledger
    }
    fn ledger_mut(&mut self) -> &mut Ledger<Box<dyn Policy>, Work> {
        &mut self.ledger
    }
    fn amount(&self, work: Service) -> i64 {
        work.ns()
    }
    fn tell_ends(&mut self) {
        for cpu in self.slots.ids() {
            let Some(Slot { task, budget }) = self.slots[cpu] else { continue };
            let job = self.ledger.tasks[task].job.id;
            if self.ledger.tasks[task].own.left == 0 {
                self.slots[cpu] = None;
                let then = jobs::complete(self, task);
                rounds::tell(self, Event::Completion { job, cpu, then });
            } else if budget == Some(0) && self.stalled[cpu] <= self.ledger.now {
                self.slots[cpu] = Some(Slot { task, budget: None });
                rounds::tell(self, Event::BudgetExhausted { job, cpu });
            }
        }
    }
    fn tell_measured(&mut self) {
        for job in std::mem::take(&mut self.lost) {
            let task = &self.ledger.tasks[job.task];
            if task.is_ready(job) {
                let executed = Service::from_ns(task.own.got);
                rounds::tell(self, Event::Measured { job, executed });
            }
        }
    }
    fn hear(&mut self, event: Event) {
        self.ledger.policy.on_event(self.ledger.now, event);
    }
    fn consult(&mut self, actions: &mut Vec<Action>) {
        self.ledger.policy.decide(self.ledger.now, actions);
    }
    fn run(&mut self, cpu: CpuId, job: JobId, budget: Option<Duration>) {
        let budget = budget.map(|budget| budget.ns());
        let is_there = self.slots[cpu].is_some_and(|slot| slot.task == job.task);
        if !is_there {
            self.withdraw(job.task);
            self.take(cpu);
        }
        self.slots[cpu] = Some(Slot { task: job.task, budget });
    }
    fn idle(&mut self, cpu: CpuId) {
        self.take(cpu);
    }
    fn stretch(&mut self, _task: TaskId, _work: i64, _after: i64) {
        unreachable!("its tasks have no steps");
    }
    fn vacate(&mut self, cpu: CpuId) {
        self.take(cpu);
    }
    fn withdraw(&mut self, task: TaskId) {
        for cpu in self.slots.ids() {
            if self.slots[cpu].is_some_and(|slot| slot.task == task) {
                self.take(cpu);
            }
        }
    }
    fn released(&mut self, task: TaskId) {
        let task = &mut self.ledger.tasks[task];
        task.own = Work { left: task.demand, got: 0 };
    }
    fn ended(&mut self, _task: TaskId, end: JobEnd) {
        let end = match end {
            JobEnd::Completed => "completed",
            JobEnd::Aborted => "aborted",
            JobEnd::Left => "left",
        };
        *self.ends.entry(end).or_default() += 1;
    }
    // Features that this engine does not have, or does not record.
    fn visit(&mut self) -> Option<Visit> {
        None
    }
    fn enact(&mut self) {}
    fn set_speed(&mut self, _cpu: CpuId, _speed: Speed) {}
    fn told(&mut self, _event: &Event) {}
    fn decided(&mut self, _action: &Action) {}
    fn fired(&mut self, _timer: TimerId, _due: Time) {}
    fn dated(&mut self, _task: TaskId) {}
    fn cut(&mut self, _task: TaskId, _end: JobEnd) {}
    fn skipped(&mut self, _job: &Job) {}
    fn answered(&mut self, _asked: Asked, _refused: Option<Refusal>) {}
}

/// Draws a few tasks of two levels on one or two CPUs, most of which abort late jobs, and some of which leave.
fn draw(index: u64) -> System {
    let mut random = Random::of_task(index, 7);
    let cpus = 1 + random.below(2) as usize;
    let mut tasks = Vec::new();
    for number in 0..cpus as u64 + 1 + random.below(3) {
        let period = Duration::from_ms([4, 5, 8, 10, 20][random.below(5) as usize]);
        let wcet = Service::from_ns(period.ns() * random.between(50, 350) / 1000);
        let mut task = Task::implicit(format!("t{number}"), wcet, period);
        if random.below(2) == 0 {
            task.criticality = Criticality(1);
            // Some have a budget of zero at the lower level, so that arriving jobs wait until they have overrun.
            let low = if random.below(2) == 0 { 0 } else { wcet.ns() / 2 };
            task.wcet = vec![Service::from_ns(low), wcet].into();
        }
        task.on_miss = match random.below(4) {
            0 => OnMiss::Continue,
            1 => OnMiss::Skip,
            _ => OnMiss::Abort,
        };
        tasks.push(task);
    }
    let mut system = System::new(cpus, tasks);
    system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    let mut leaves = |at: u32| {
        let kind = RequestKind::Leave(TaskId(at));
        Request { at: Time::from_ms(random.between(200, 400)), kind }
    };
    system.requests = [0, 1].map(&mut leaves).into();
    system.requests.sort_by_key(|request| request.at);
    system
}

/// A job of a shorter period gets the CPU before others, even if one of them stalls that should
/// already have used up its budget.
#[test]
fn who_stalls_is_preempted() {
    let mut stalled = 0;
    for index in 0..400 {
        let system = draw(index);
        if system.platform.cpu_count() > 1 {
            continue;
        }
        let Ok(policy) = Registry::standard().build("rms", &system) else { continue };
        let mut engine = Stalling::new(&system, policy, index);
        engine.run_until(Time::from_ms(500), |engine| {
            let slot = engine.slots[CpuId(0)];
            let period = |task: TaskId| system.tasks[task].period;
            let ready = engine.ledger.tasks.iter().filter(|(_, run)| run.status == Status::Ready);
            let shortest = ready.map(|(task, _)| period(task)).min();
            assert_eq!(
                slot.map(|slot| period(slot.task)),
                shortest,
                "{index} {}",
                engine.ledger.now
            );
            stalled += usize::from(slot.is_some() && engine.stalled[CpuId(0)] > engine.ledger.now);
        });
    }
    assert!(stalled > 1000, "{stalled}");
}

/// No mechanism keeps a job that its engine has aborted, or that has left, however late the
/// notifications are.
#[test]
fn jobs_that_are_over_never_run() {
    let registry = Registry::standard();
    let mut ends: BTreeMap<String, BTreeMap<&'static str, usize>> = BTreeMap::new();
    // The systems include two in which a task leaves at the instant at which its doomed job becomes ready.
    for index in 0..4000 {
        let system = draw(index);
        for info in &registry {
            let Ok(policy) = registry.build(&info.name, &system) else { continue };
            if policy.needs().schedules != Schedules::ArrivingJobs {
                continue;
            }
            let mut engine = Stalling::new(&system, policy, index);
            engine.run_until(Time::from_ms(500), |_| {});
            let own = ends.entry(info.name.to_string()).or_default();
            for (end, count) in engine.ends {
                *own.entry(end).or_default() += count;
            }
        }
    }
    assert!(ends.len() >= 8, "{ends:?}");
    for (name, own) in &ends {
        assert!(
            own.len() == 3 && own["aborted"] > 100 && own["completed"] > 1000,
            "{name}: {own:?}"
        );
    }
}
