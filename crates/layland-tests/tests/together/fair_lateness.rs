//! G-FL and C-FL: the worked example, their priority points by the formula, their equivalence to
//! EDF on one CPU, and their bound, compared with its definition, with that of global EDF, and with
//! schedules. Their slow twins are those of every highest-first policy (`differential.rs`).

use layland_analysis::{Tardiness, Verdict, global_edf::compliant_vector};
use layland_checker::check;
use layland_guarantee::{AssessOptions, assess};
use layland_model::{
    CpuId, CpuSet, Duration, JobOrder, Rate, ScheduleRule, Service, System, Task, TaskId, TaskMap,
    Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::cases::{Deadlines, on_random, run, some_sporadic, systems};
use layland_testkit::registry;
use layland_trace::Trace;
use proptest::prelude::*;
use std::cell::Cell;

fn system(cpus: usize, tasks: &[(i64, i64)]) -> System {
    let task = |(at, &(c, t)): (usize, &(i64, i64))| {
        Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(t))
    };
    System::new(cpus, tasks.iter().enumerate().map(task).collect())
}

fn trace(spec: &str, system: &System, until: i64) -> Trace {
    let policy = registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(Time::from_ns(until))).unwrap();
    trace
}

/// Returns the length by which the points of each task's jobs are before their deadlines, and the
/// number of its CPUs.
fn earlier(spec: &str, system: &System) -> (TaskMap<Duration>, Vec<usize>) {
    let policy = registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"));
    match policy.rule() {
        ScheduleRule::HighestFirst { groups, order: JobOrder::Points(earlier), .. } => {
            let cpus = system.tasks.ids().map(|id| {
                let group = groups.iter().find(|group| group.tasks.contains(&id));
                group.expect("every task is in a group").cpus.len()
            });
            (earlier, cpus.collect())
        }
        rule => panic!("{spec} promises {rule:?}"),
    }
}

fn bounds(test: &layland_analysis::BoundTest, system: &System) -> Option<Vec<Rate>> {
    match test.run(system).expect("the system keeps the assumptions") {
        Tardiness::Bounded(all) => {
            Some(all.values().map(|bound| bound.tardiness.clone()).collect())
        }
        Tardiness::Unknown(_) => None,
    }
}

/// Two fully loaded CPUs. Under G-EDF the long job waits for the two short ones, whose deadlines
/// are earlier, and is late by all of that; under G-FL its point is first.
#[test]
fn the_long_job_counts_as_due_first() {
    let set = system(2, &[(4, 8), (4, 8), (9, 9)]);
    let (earlier, _) = earlier("g-fl", &set);
    assert_eq!(earlier.values().map(|earlier| earlier.ns()).collect::<Vec<_>>(), [2, 2, 4]);
    let first = |spec: &str| {
        let trace = trace(spec, &set, 20);
        let of_first = trace.jobs.iter().filter(|record| record.job.id.seq == 0);
        of_first.map(|record| record.completion().unwrap().ns()).collect::<Vec<_>>()
    };
    // Points at 6, 6 and 5.
    assert_eq!(first("g-edf"), [4, 4, 13]);
    assert_eq!(first("g-fl"), [4, 8, 9]);
    let [edf, fair] =
        ["g-edf", "g-fl"].map(|spec| run(&set, spec, 20_000, 0).total().max_tardiness);
    assert!(fair < edf, "{fair:?} {edf:?}");
    let report = check(
        &trace("g-fl", &set, 2_000),
        &set,
        &registry().build("g-fl", &set).unwrap().rule(),
        5,
    );
    assert!(report.is_clean(), "{report}");
    // The checker distinguishes the two policies.
    let report = check(
        &trace("g-edf", &set, 2_000),
        &set,
        &registry().build("g-fl", &set).unwrap().rule(),
        5,
    );
    assert!(!report.is_clean());
}

#[test]
fn clusters_have_points_of_their_own() {
    let mut set = system(3, &[(4, 8), (9, 9), (5, 10), (6, 7)]);
    let cpus = |list: &[u32]| -> CpuSet { list.iter().map(|&cpu| CpuId(cpu)).collect() };
    set.platform.clusters = vec![cpus(&[0, 1]), cpus(&[2])];
    set.tasks[TaskId(3)].cluster = 1;
    assert!(registry().build("g-fl", &set).is_err());
    let (earlier, cpus) = earlier("c-fl", &set);
    assert_eq!(cpus, [2, 2, 2, 1]);
    assert_eq!(earlier.values().map(|earlier| earlier.ns()).collect::<Vec<_>>(), [2, 4, 2, 0]);
}

/// The points are `(m - 1) / m C` before the deadlines, rounded down, as a fraction.
#[test]
fn points_are_their_formula() {
    on_random(500, 300, systems(1..6, 8, 10..110, Deadlines::Constrained), |set| {
        let (earlier, cpus) = earlier("g-fl", &set);
        for ((task, earlier), &m) in set.tasks.values().zip(earlier.values()).zip(&cpus) {
            let exact = &Rate::new(m as i64 - 1, m as i64) * &Rate::whole(task.own_wcet().ns());
            prop_assert_eq!(Some(earlier.ns()), exact.floor());
        }
        Ok(cpus.first().is_some_and(|&m| m > 1))
    });
}

/// On one CPU the point of a job is its deadline.
#[test]
fn on_one_cpu_it_is_edf() {
    on_random(300, 300, systems(1..2, 6, 10..120, Deadlines::Constrained), |set| {
        prop_assert_eq!(trace("g-fl", &set, 300).segments, trace("g-edf", &set, 300).segments);
        Ok(true)
    });
}

/// The bound by its definition: the largest zero of a line, over all choices of `ceil(U) - 1` tasks.
fn slow_bounds(set: &System) -> Vec<Rate> {
    let m = set.platform.cpu_count() as i64;
    let floor = |c: i64| c * (m - 1) / m;
    let ns = |task: &Task| [task.own_wcet().ns(), task.deadline.ns(), task.period.ns()];
    let points: Vec<i64> =
        set.tasks.values().map(|task| ns(task)[1] - floor(ns(task)[0])).collect();
    let least = *points.iter().min().expect("a task");
    let of = |(task, &point): (&Task, &i64)| {
        let [c, d, t] = ns(task);
        let y = point - least;
        // C (1 - Y / T), if Y is at most T.
        let s = Rate::of_wide(i128::from(c) * i128::from(t - y), i128::from(t));
        let u = Rate::new(c, t);
        let a = &(&Rate::whole(c) - &s) - &(&(&Rate::whole(c) * &u) / &Rate::whole(m));
        (c, d, y, u, s, a)
    };
    let tasks: Vec<_> = set.tasks.values().zip(&points).map(of).collect();
    let total: Rate = tasks.iter().map(|(_, _, _, u, _, _)| u.clone()).sum();
    let sum: Rate = tasks.iter().map(|(_, _, _, _, s, _)| s.clone()).sum();
    let many = total.ceil().expect("few") - 1;
    let mut best = Rate::ZERO;
    for chosen in 0u32..1 << tasks.len() {
        if i64::from(chosen.count_ones()) > many {
            continue;
        }
        let (mut at_zero, mut slope) = (sum.clone(), Rate::ZERO);
        for (at, (_, _, _, u, _, a)) in tasks.iter().enumerate() {
            if chosen >> at & 1 == 1 {
                (at_zero, slope) = (&at_zero + a, &slope + u);
            }
        }
        best = best.max(&at_zero / &(&Rate::whole(m) - &slope));
    }
    let late = |&(c, d, y, ..): &(i64, i64, i64, Rate, Rate, Rate)| {
        let beyond = &Rate::whole(c + y - d) - &Rate::new(c, m);
        (&best + &beyond).max(Rate::ZERO)
    };
    tasks.iter().map(late).collect()
}

#[test]
fn the_bound_is_its_definition() {
    on_random(1_500, 700, systems(2..5, 7, 10..101, Deadlines::Constrained), |set| {
        let Some(found) = bounds(&compliant_vector::FAIR, &set) else { return Ok(false) };
        prop_assert_eq!(&found, &slow_bounds(&set));
        let verdict = compliant_vector::NOT_LATE.run(&set).unwrap().verdict;
        let late = found.iter().any(|tardiness| *tardiness > Rate::ZERO);
        prop_assert_eq!(verdict == Verdict::Yes, !late);
        Ok(true)
    });
}

/// By the bounds, no task is later than the latest one under G-EDF, except for the nanosecond by
/// which a point is rounded. The largest bounds are equal, with the same exception.
#[test]
fn the_largest_bound_is_not_larger_than_that_of_global_edf() {
    let inputs = systems(2..5, 8, 60..101, Deadlines::Constrained);
    let smaller = Cell::new(0);
    on_random(1_500, 700, inputs, |set| {
        let (Some(fair), Some(edf)) =
            (bounds(&compliant_vector::FAIR, &set), bounds(&compliant_vector::REDUCED, &set))
        else {
            return Ok(false);
        };
        let most = |all: &[Rate]| all.iter().max().cloned().unwrap_or(Rate::ZERO);
        let least = |all: &[Rate]| all.iter().min().cloned().unwrap_or(Rate::ZERO);
        prop_assert!(most(&fair) <= &most(&edf) + &Rate::ONE, "{fair:?} {edf:?}");
        prop_assert!(most(&fair) <= &least(&fair) + &Rate::ONE, "{fair:?}");
        smaller.set(smaller.get() + u32::from(&most(&fair) + &Rate::ONE < most(&edf)));
        Ok(true)
    });
    assert!(smaller.get() > 100, "smaller {} times", smaller.get());
}

/// Schedules keep the bound, whatever the offsets and separations.
#[test]
fn no_job_is_later_than_the_bound() {
    let inputs = (systems(2..5, 8, 70..101, Deadlines::Constrained), any::<u8>(), any::<u64>());
    on_random(1_500, 400, inputs, |(set, which, seed)| {
        let Some(bounds) = bounds(&compliant_vector::FAIR, &set) else { return Ok(false) };
        let mut late = false;
        for set in [set.clone(), some_sporadic(set, which)] {
            let counters = run(&set, "g-fl", 800, seed);
            for (id, bound) in set.tasks.ids().zip(&bounds) {
                let tardiness = counters.task(id).max_tardiness;
                late |= tardiness > Duration::ZERO;
                prop_assert!(
                    Rate::whole(tardiness.ns()) <= *bound,
                    "{id:?}: {tardiness:?} {bound:?}"
                );
            }
        }
        Ok(late)
    });
}

/// On clusters of one CPU, C-FL is EDF, with its exact test.
#[test]
fn clusters_of_one_cpu_are_analysed_as_edf() {
    let mut set = system(2, &[(4, 8), (4, 8), (9, 9)]);
    let single = |cpu| CpuSet::single(CpuId(cpu));
    set.platform.clusters = vec![single(0), single(1)];
    set.tasks[TaskId(2)].cluster = 1;
    let found = assess(registry(), "c-fl", &set, &AssessOptions::by_tests()).unwrap();
    assert_eq!(found.verdict, Verdict::Yes);
}
