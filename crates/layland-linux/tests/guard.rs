//! A run with a broken policy does not affect the rest of the machine.

#[expect(dead_code, reason = "these tests choose where the policy breaks")]
mod common;

use common::{alone, task, try_run_as};
use layland_linux::{Dispatch, FifoOptions, Locks, Outcome};
use layland_model::{CpuId, CpuMap, Duration, ScheduleRule, System, TaskMap, Time};
use layland_policy::{Action, Count, Event, FixedOrder, Needs, Policy, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The fault of a broken policy after a tenth of a second.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Takes a second for one decision.
    Hangs,
    /// Panics.
    Panics,
}

/// A first-come, first-served policy, until it breaks.
#[derive(Clone)]
struct Broken {
    fault: Fault,
    queue: Vec<layland_model::JobId>,
    /// The scheduling class of the manager while it hangs, plus 1; 0 if it is unknown.
    class: Arc<AtomicU32>,
    broke: bool,
    /// With an order, the threads of the tasks work for the manager.
    order: Option<FixedOrder>,
}

fn monotonic_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Returns the scheduling class of the calling thread.
fn class() -> u32 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    let policy = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(38));
    policy.and_then(|text| text.parse().ok()).unwrap_or(u32::MAX - 1)
}

impl Policy for Broken {
    fn on_event(&mut self, _now: Time, event: Event) {
        match event {
            Event::Release { job, .. } => self.queue.push(job),
            Event::Completion { .. } => {
                self.queue.remove(0);
            }
            Event::Join { .. }
            | Event::Ended { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. }
            | Event::Leave { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::BudgetExhausted { .. }
            | Event::Timer { .. }
            | Event::CpuOnline { .. }
            | Event::CpuOffline { .. } => {}
        }
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        if now > Time::from_ms(100) && !self.broke {
            self.broke = true;
            assert!(self.fault != Fault::Panics, "a test of a panic");
            // The loop ends by itself, in case the watchdog does not stop it.
            let mut clock = monotonic_ns();
            let until = clock + 1_200_000_000;
            while clock < until {
                clock = monotonic_ns();
            }
            self.class.store(class() + 1, Ordering::Release);
        }
        if let Some(&job) = self.queue.first() {
            actions.push(Action::Run { cpu: CpuId(0), job, budget: None });
        }
    }
    fn save(&self, _now: Time, _state: &mut State) {}
    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }
    fn rule(&self) -> ScheduleRule {
        ScheduleRule::None
    }
    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
    fn fixed_order(&self) -> Option<&FixedOrder> {
        self.order.as_ref()
    }
}

/// The thread in which the policy breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Manager,
    Task,
    Dispatcher,
}

const PLACES: [Place; 3] = [Place::Manager, Place::Task, Place::Dispatcher];

/// Runs a policy that breaks there, or reports why that is not possible.
fn run_broken(fault: Fault, place: Place) -> (Option<Outcome>, Arc<AtomicU32>) {
    let (policy, class) = broken(fault, place == Place::Task);
    let dispatch = match place {
        Place::Manager | Place::Task => Dispatch::Manager,
        Place::Dispatcher => Dispatch::PerCpu(Locks::PerGroup),
    };
    let change = |options| FifoOptions { dispatch, ..options };
    (try_run_as(&system(), Box::new(policy), Duration::from_secs(20), change), class)
}

/// Returns a policy that breaks, in the manager or in the thread of the only task.
fn broken(fault: Fault, in_thread: bool) -> (Broken, Arc<AtomicU32>) {
    let class = Arc::new(AtomicU32::new(0));
    let own = Arc::clone(&class);
    let order = FixedOrder {
        cpu_of: TaskMap::filled(CpuId(0), 1),
        place: TaskMap::filled(0, 1),
        patience: TaskMap::filled(None, 1),
        instants: TaskMap::filled(Vec::new(), 1),
        replaces: false,
        yields: CpuMap::filled(false, 1),
    };
    let order = in_thread.then_some(order);
    (Broken { fault, queue: Vec::new(), class: own, broke: false, order }, class)
}

/// Returns a system of one task, whose thread counts as one of the run.
fn system() -> System {
    System::new(1, vec![task("layland-a", 5, 20)])
}

/// Returns the number of threads of runs.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("layland-")).count()
}

#[test]
fn the_watchdog_demotes_a_manager_that_hangs() {
    let _alone = alone();
    for place in PLACES {
        let (Some(outcome), class) = run_broken(Fault::Hangs, place) else { return };
        assert!(outcome.doubts[0].starts_with("the watchdog"), "{:?}", outcome.doubts);
        assert!(outcome.end < Time::from_ms(15_000), "{}", outcome.end);
        let class = class.load(Ordering::Acquire);
        assert_eq!(class, 1, "it was ordinary in the end: {place:?}");
        assert_eq!(outcome.measured.step.count() > 0, place == Place::Task);
    }
}

#[test]
fn a_panic_of_the_policy_ends_every_thread() {
    let _alone = alone();
    for place in PLACES {
        let run = std::panic::AssertUnwindSafe(|| run_broken(Fault::Panics, place).0.is_some());
        match std::panic::catch_unwind(run) {
            Ok(ran) => assert!(!ran, "the policy did not panic"),
            Err(_) => assert_eq!(threads(), 0, "threads are left"),
        }
    }
}
