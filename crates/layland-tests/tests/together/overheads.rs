//! Each overhead of the machine, calculated by hand.

use layland_model::{CpuSet, Duration, Overheads, Service, System, Task, Time};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::{Counters, Trace};

fn task(name: &str, wcet: i64, period: i64) -> Task {
    Task::implicit(name, Service::from_us(wcet), Duration::from_us(period))
}

/// Segments as (task, cpu, start, end, overhead) in microseconds, by start and CPU.
fn schedule(cpus: usize, tasks: Vec<Task>, overheads: Overheads, policy: &str) -> Vec<[i64; 5]> {
    let mut system = System::new(cpus, tasks);
    system.platform.overheads = overheads;
    assert_eq!(system.validate(), []);
    let policy = registry().build(policy, &system).unwrap();
    let mut trace = Trace::default();
    simulate(&system, policy, &mut trace, &SimOptions::until(Time::from_us(99))).unwrap();
    let us = |ns: i64| ns / 1000;
    let mut all: Vec<[i64; 5]> = trace
        .segments
        .iter()
        .map(|s| {
            [
                i64::from(s.job.task.0),
                i64::from(s.cpu.0),
                us(s.start.ns()),
                us(s.end.ns()),
                us(s.overhead.ns()),
            ]
        })
        .collect();
    all.sort_by_key(|&[_, cpu, start, ..]| (start, cpu));
    all
}

const fn us(length: i64) -> Duration {
    Duration::from_us(length)
}

#[test]
fn a_context_switch_is_paid_for_each_other_job() {
    let overheads = Overheads { context_switch: us(2), ..Overheads::default() };
    let mut late = task("b", 5, 50);
    late.offset = us(10);
    // Job b#1 preempts a#1 at 10: one switch to b#1, and one back.
    assert_eq!(
        schedule(1, vec![task("a", 20, 100), late], overheads, "g-edf"),
        [[0, 0, 0, 10, 2], [1, 0, 10, 17, 2], [0, 0, 17, 31, 2], [1, 0, 60, 67, 2],]
    );
}

#[test]
fn scheduling_is_paid_where_the_decision_changes_something() {
    let overheads = Overheads { scheduling: us(1), ..Overheads::default() };
    assert_eq!(
        schedule(2, vec![task("a", 5, 50), task("b", 7, 100)], overheads, "g-edf"),
        [[0, 0, 0, 6, 1], [1, 1, 0, 8, 1], [0, 0, 50, 56, 1]]
    );
}

#[test]
fn a_migration_is_paid_by_a_job_that_ran_elsewhere() {
    let overheads = Overheads { migration: us(3), ..Overheads::default() };
    let mut short = task("short", 4, 30);
    short.offset = us(2);
    let mut other = task("other", 12, 40);
    other.offset = us(1);
    // `long` runs on CPU 0, is preempted at 2 (its deadline is the latest), and resumes on CPU 0 at
    // 6: no migration. At 32 `short` comes again and takes CPU 0; `long` is done by then.
    let tasks = vec![task("long", 10, 100), other, short];
    let here = schedule(2, tasks.clone(), overheads.clone(), "g-edf");
    assert_eq!(here[0..4], [[0, 0, 0, 2, 0], [1, 1, 1, 13, 0], [2, 0, 2, 6, 0], [0, 0, 6, 14, 0]]);
    // If `short` is longer, `other` ends first and `long` resumes on CPU 1.
    let mut tasks = tasks;
    tasks[2].wcet = vec![Service::from_us(20)].into();
    let there = schedule(2, tasks, overheads, "g-edf");
    assert_eq!(
        there[0..4],
        [[0, 0, 0, 2, 0], [1, 1, 1, 13, 0], [2, 0, 2, 22, 0], [0, 1, 13, 24, 3]]
    );
}

#[test]
fn an_interrupt_is_paid_by_a_cpu_that_is_told_to_switch() {
    let overheads = Overheads { interrupt: us(2), ..Overheads::default() };
    // At 0 no CPU had a local reason to reschedule; at 5 CPU 0 ends a#1 and starts c#1 without an interrupt.
    let tasks = vec![task("a", 3, 90), task("b", 9, 91), task("c", 4, 92)];
    assert_eq!(
        schedule(2, tasks, overheads, "g-edf")[0..3],
        [[0, 0, 0, 5, 2], [1, 1, 0, 11, 2], [2, 0, 5, 9, 0]]
    );
}

#[test]
fn a_release_is_served_by_the_lowest_cpu_of_the_cluster() {
    let overheads = Overheads { release: us(1), ..Overheads::default() };
    let mut late = task("b", 5, 50);
    late.offset = us(4);
    let mut tasks = vec![task("a", 10, 100), late];
    for (task, cpu) in tasks.iter_mut().zip(0..) {
        task.affinity = Some(CpuSet::single(layland_model::CpuId(cpu)));
    }
    // CPU 0 serves the release of `b` although `b` runs on CPU 1.
    assert_eq!(
        schedule(2, tasks, overheads, "p-edf"),
        [[0, 0, 0, 12, 2], [1, 1, 4, 9, 0], [1, 1, 54, 59, 0]]
    );
}

#[test]
fn ticks_take_time_from_whatever_runs() {
    let overheads = Overheads { tick: us(1), tick_period: us(10), ..Overheads::default() };
    // Ticks at 10, 20 and 30; the one at 30 delays the end from 32 to 33.
    assert_eq!(schedule(1, vec![task("a", 30, 100)], overheads, "g-edf"), [[0, 0, 0, 33, 3]]);
}

#[test]
fn overheads_can_cost_a_deadline_and_are_counted() {
    let mut system = System::new(1, vec![task("a", 5, 10), task("b", 5, 10)]);
    let run = |system: &System| {
        let mut counters = Counters::new(2, 1);
        let policy = registry().build("g-edf", system).unwrap();
        simulate(system, policy, &mut counters, &SimOptions::until(Time::from_us(100))).unwrap();
        (counters.total().missed, counters.overhead_ns(layland_model::CpuId(0)))
    };
    assert_eq!(run(&system), (0, 0));
    system.platform.overheads.context_switch = Duration::from_ns(1);
    let (missed, overhead) = run(&system);
    assert!(missed > 0 && overhead >= 10);
}
