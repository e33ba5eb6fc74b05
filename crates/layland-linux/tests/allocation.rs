//! Once a run has begun, the manager does not allocate. The allocations of its policy are counted
//! where they are most likely: when it recomputes priorities of jobs.

mod common;

use common::{alone, task, try_run};
use layland_model::{
    Criticality, Duration, ExecutionModel, Levels, ScheduleRule, Service, System, Time,
};
use layland_policy::{Action, Count, Event, Needs, Policy, Registry, State};
use layland_sim::{SimOptions, simulate};
use layland_trace::Trace;
use std::alloc::{GlobalAlloc, Layout, System as SystemAllocator};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// True while allocations of this thread count.
    static COUNTS: Cell<bool> = const { Cell::new(false) };
}
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// Safety: every call is passed on to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // Safety: the caller upholds the contract of `alloc`.
        unsafe { SystemAllocator.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // Safety: the caller upholds the contract of `dealloc`.
        unsafe { SystemAllocator.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // Safety: the caller upholds the contract of `realloc`.
        unsafe { SystemAllocator.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    if COUNTS.try_with(Cell::get).unwrap_or(false) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts the allocations of its thread outside of the policy, from the first event until this
/// time.
#[derive(Clone)]
struct Watched(Box<dyn Policy>, Time);

impl Policy for Watched {
    fn on_event(&mut self, now: Time, event: Event) {
        COUNTS.set(false);
        self.0.on_event(now, event);
        COUNTS.set(now < self.1);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        COUNTS.set(false);
        self.0.decide(now, actions);
        COUNTS.set(now < self.1);
    }
    fn save(&self, now: Time, state: &mut State) {
        self.0.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.0.needs()
    }
    fn rule(&self) -> ScheduleRule {
        self.0.rule()
    }
    fn counts(&self) -> Vec<Count> {
        self.0.counts()
    }
}

/// Counts the allocations of a policy in its decisions, from this time on.
#[derive(Clone)]
struct Inside(Box<dyn Policy>, Time);

impl Policy for Inside {
    fn on_event(&mut self, now: Time, event: Event) {
        self.0.on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        COUNTS.set(now >= self.1);
        self.0.decide(now, actions);
        COUNTS.set(false);
    }
    fn save(&self, now: Time, state: &mut State) {
        self.0.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.0.needs()
    }
    fn rule(&self) -> ScheduleRule {
        self.0.rule()
    }
    fn counts(&self) -> Vec<Count> {
        self.0.counts()
    }
}

/// The short task preempts the others repeatedly, and each time the remaining work gets new
/// priorities.
#[test]
fn job_priorities_are_recomputed_without_allocating() {
    let _alone = alone();
    let mut system = System::new(1, vec![task("a", 1, 5), task("b", 8, 13), task("c", 6, 18)]);
    for (task, (level, low)) in system.tasks.values_mut().zip([(1, 1), (0, 8), (1, 3)]) {
        task.criticality = Criticality(level);
        task.wcet.insert(0, Service::from_ms(low));
        task.execution = ExecutionModel::List(vec![Service::from_ms(low)]);
    }
    system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    for spec in ["ocbp", "ocbp:releases=together", "ocbp:lists=ija"] {
        ALLOCATIONS.store(0, Ordering::Relaxed);
        // By then every queue has had its greatest length.
        let policy = Registry::standard().build(spec, &system).unwrap();
        let policy = Inside(policy, Time::from_ms(1200));
        let mut trace = Trace::default();
        let options = SimOptions::until(Time::from_ms(5000));
        simulate(&system, policy, &mut trace, &options).unwrap();
        assert!(trace.segments.len() > trace.jobs.len(), "{spec}: nothing is preempted");
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), 0, "{spec}");
    }
}

#[test]
fn the_manager_does_not_allocate() {
    let _alone = alone();
    let system = System::new(1, vec![task("a", 1, 10), task("b", 4, 20), task("c", 10, 50)]);
    // The last decisions before the end do not count, because building the result may allocate.
    let until = Time::from_ms(350);
    for spec in ["p-edf", "g-rm", "dl", "a2pedf"] {
        ALLOCATIONS.store(0, Ordering::Relaxed);
        let policy = Watched(Registry::standard().build(spec, &system).unwrap(), until);
        let Some(outcome) = try_run(&system, Box::new(policy), Duration::from_ms(400)) else {
            return;
        };
        assert!(outcome.decisions > 50, "{spec}: {}", outcome.decisions);
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), 0, "{spec}");
    }
    // The counter itself works.
    COUNTS.set(true);
    drop(std::hint::black_box(vec![0u8; 10]));
    COUNTS.set(false);
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), 1);
}
