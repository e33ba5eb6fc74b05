//! Locks and self-suspension: the policy compared with its tick-by-tick twin and its rule.

use crate::schedules::{build, run, run_repeated, violations};
use layland_analysis::Verdict;
use layland_checker::check;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    CpuId, Duration, Protocol, Resource, ResourceId, ScheduleRule, Service, Step, System, Task,
    TaskId, Time,
};
use layland_sim::{Cycle, Horizon, SimOptions, simulate, with_random_ranks};
use layland_testkit::cases::{Deadlines, on_random, systems};
use layland_testkit::locks::{self, Every, RunRecord, with_steps};
use layland_testkit::registry;
use layland_testkit::strategies::{periodic_system, rich_system};
use layland_trace::{Counters, JobEnd, Mark, MarkKind, Trace};
use proptest::prelude::*;
use std::cell::Cell;

const HORIZON: Time = Time::from_ns(120);

/// Returns every order with every protocol that it supports.
fn specs() -> impl Iterator<Item = (String, Protocol)> {
    Protocol::ALL.into_iter().flat_map(|protocol| {
        let orders: &[&str] = match protocol {
            Protocol::Stack => &["p-edf"],
            Protocol::Plain | Protocol::FmlpPlus | Protocol::Msrp => &["p-edf", "p-fp", "p-rm"],
            _ => &["p-fp", "p-dm"],
        };
        let spec = move |order: &&str| format!("{order}:locks={}", protocol.abbreviation());
        orders.iter().map(move |order| (spec(order), protocol))
    })
}

/// Returns the system without aborts, which the twin does not support. Aborted jobs would hold no locks here.
fn without_aborts(mut system: System) -> System {
    for task in system.tasks.values_mut() {
        if task.on_miss == layland_model::OnMiss::Abort {
            task.on_miss = layland_model::OnMiss::Continue;
        }
    }
    system
}

/// Returns the events up to the last instant, for which a trace does not show the selected jobs.
/// The events of one instant are in any order.
fn before_the_end(trace: &Trace, cpus: usize) -> (RunRecord, Vec<Mark>) {
    let mut ran = locks::of_trace(trace, cpus);
    ran.locks.retain(|lock| lock.0 < trace.over.ns());
    ran.ends.retain(|end| end.0 < trace.over.ns());
    let rests = |mark: &&Mark| {
        let rests = matches!(mark.kind, MarkKind::Suspended(_) | MarkKind::Resumed(_));
        rests && mark.at < trace.over
    };
    (ran, trace.marks.iter().filter(rests).cloned().collect())
}

/// A schedule keeps its rule, and a schedule of one protocol breaks the rule of another. It may
/// keep it if the two differ only at instants at which jobs become ready, because the checker does
/// not know there which jobs had arrived.
#[test]
fn schedules_of_other_protocols_break_the_rule() {
    let (tried, missed) = (Cell::new(0), Cell::new(0));
    on_random(300, 100, systems(1..3, 5, 20..110, Deadlines::Constrained), |system| {
        for ours in Protocol::ALL {
            let system = with_steps(system.clone(), ours, 7);
            let order = if ours == Protocol::Stack { "p-edf" } else { "p-dm" };
            let spec = |protocol: Protocol| format!("{order}:locks={}", protocol.abbreviation());
            let Ok(policy) = registry().build(&spec(ours), &system) else { continue };
            let rule = policy.rule();
            if !matches!(rule, ScheduleRule::Locking(_)) {
                continue;
            }
            let options = SimOptions::until(HORIZON);
            let right = run(&system, policy, &options);
            for theirs in Protocol::ALL {
                let Ok(other) = registry().build(&spec(theirs), &system) else { continue };
                let wrong = run(&system, other, &options);
                let cpus = system.platform.cpu_count();
                let same = right == wrong;
                if !same && before_the_end(&right, cpus) == before_the_end(&wrong, cpus) {
                    continue;
                }
                let is_clean = check(&wrong, &system, &rule, 5).is_clean();
                if same {
                    let (ours, theirs) = (spec(ours), spec(theirs));
                    prop_assert!(is_clean, "{} {} {:#?}", ours, theirs, &system);
                    continue;
                }
                tried.set(tried.get() + 1);
                missed.set(missed.get() + u32::from(is_clean));
            }
        }
        Ok(true)
    });
    let (tried, missed) = (tried.get(), missed.get());
    assert!(tried > 250 && 50 * missed < tried, "{missed} of {tried} are missed");
}

/// Marks that are added to a trace, removed or moved are found.
#[test]
fn false_marks_are_found() {
    let run_of = |ns| Step::Run(Service::from_ns(ns));
    let bus = ResourceId(0);
    let of = |name: &str, steps: Vec<Step>, offset, period| Task {
        offset: Duration::from_ns(offset),
        steps: Some(steps.into()),
        ..Task::implicit(name, Service::from_ns(4), Duration::from_ns(period))
    };
    let locks = |at| vec![run_of(at), Step::Lock(bus), run_of(4 - at), Step::Unlock(bus)];
    let sleeps = vec![run_of(1), Step::Suspend(Duration::from_ns(2)), run_of(3)];
    let high = of("high", locks(1), 2, 20);
    let mut system =
        System::new(1, vec![high, of("middle", sleeps, 3, 30), of("low", locks(1), 0, 40)]);
    system.resources = vec![Resource { name: "bus".to_owned(), home: None }];
    let spec = "p-rm:locks=pip";
    let rule = build(spec, &system).rule();
    let right = run(&system, build(spec, &system), &SimOptions::until(HORIZON));
    assert_eq!(violations(spec, &right, &system), "");
    let marks = right.marks.len();
    assert!(marks > 20);
    let late = |mark: &mut Mark| mark.at = Time::from_ns(mark.at.ns() + 1);
    for at in 0..marks {
        for change in 0..3 {
            let mut wrong = right.clone();
            match change {
                0 => drop(wrong.marks.remove(at)),
                1 => wrong.marks.insert(at, right.marks[at].clone()),
                _ => late(&mut wrong.marks[at]),
            }
            let is_clean = check(&wrong, &system, &rule, 5).is_clean();
            assert!(!is_clean, "{change} {at}: {:?}", right.marks[at]);
        }
    }
}

/// A job that neither executes nor locks after its suspension ends together with it, also at an
/// instant at which a job of higher priority is released. This agrees with the bound, and a trace
/// in which the job ends later is not a valid schedule.
#[test]
fn a_job_that_needs_no_processor_time_any_more_ends_at_once() {
    let ns = Duration::from_ns;
    let (run_of, sleep) =
        (|ns| Step::Run(Service::from_ns(ns)), |length| Step::Suspend(ns(length)));
    let bus = ResourceId(0);
    let within = vec![Step::Lock(bus), run_of(1), sleep(2), Step::Unlock(bus), sleep(0)];
    for (steps, protocols) in [
        (vec![run_of(1), sleep(2)], &Protocol::ALL[..]),
        (vec![run_of(1), sleep(1), sleep(0), sleep(1)], &Protocol::ALL),
        (vec![Step::Lock(bus), run_of(1), Step::Unlock(bus), sleep(2), sleep(0)], &Protocol::ALL),
        (within, &[Protocol::Plain]),
    ] {
        let named =
            |name: &str, wcet, period| Task::implicit(name, Service::from_ns(wcet), ns(period));
        let (mut high, mut low) = (named("high", 3, 6), named("low", 1, 12));
        (high.priority, low.priority, low.deadline) = (Some(0), Some(1), ns(6));
        low.steps = Some(steps.into());
        let mut system = System::new(1, vec![high, low]);
        system.resources = vec![Resource { name: "bus".to_owned(), home: Some(CpuId(0)) }];
        assert_eq!(system.validate(), []);
        for &protocol in protocols {
            if protocol == Protocol::Stack {
                continue;
            }
            let spec = format!("p-fp:locks={}", protocol.abbreviation());
            let rule = build(&spec, &system).rule();
            let until = Time::from_ns(24);
            let trace = run(&system, build(&spec, &system), &SimOptions::until(until));
            let ends = |trace: &Trace| {
                let low = trace.jobs.iter().filter(|record| record.job.id.task == TaskId(1));
                low.filter_map(|record| Some(record.completion()?.ns())).collect::<Vec<_>>()
            };
            assert_eq!(ends(&trace), [6, 18], "{spec} {system:#?}");
            assert_eq!(violations(&spec, &trace, &system), "");
            let (expected, _) = locks::simulate(&system, &rule, until);
            assert_eq!(locks::of_trace(&trace, 1).ends, expected.ends, "{spec}");
            assert_eq!(locks::every(&system, &rule, 1_000), Every::Meets(vec![3, 6]), "{spec}");
            let found =
                assess(registry(), &spec, &system, &AssessOptions::of_every_test()).unwrap();
            if let Bound::Response { within, .. } = found.bounds[TaskId(1)] {
                assert!(within >= ns(6), "{spec}: {within}");
            }
            let is_known = protocol != Protocol::Inheritance && protocol != Protocol::Msrp;
            let locks = !system.tasks[TaskId(1)].sections().is_empty();
            if is_known && !locks {
                assert_eq!(found.verdict, Verdict::Yes, "{spec} {:?}", found.reasons);
            }
            let mut late = trace.clone();
            let first = late.jobs.iter_mut().find(|record| record.job.id.task == TaskId(1));
            first.expect("it has one").end = Some((Time::from_ns(9), JobEnd::Completed));
            let late = check(&late, &system, &rule, 5);
            assert!(!late.is_clean(), "{spec}: it may wait for a CPU to end");
        }
    }
}

/// The state recurs, and the schedule after it repeats.
#[test]
fn schedules_recur() {
    let found = Cell::new(0);
    on_random(150, 50, systems(1..3, 5, 20..90, Deadlines::Constrained), |system| {
        for (spec, protocol) in specs() {
            let system = with_steps(system.clone(), protocol, 5);
            let Ok(policy) = registry().build(&spec, &system) else { continue };
            let mut trace = Trace::default();
            let options = SimOptions {
                horizon: Horizon::Recurrence { at_most: Time::from_ns(20_000) },
                ..SimOptions::until(HORIZON)
            };
            let Ok(outcome) = simulate(&system, policy, &mut trace, &options) else { continue };
            let Some(Cycle { from, length }) = outcome.cycle else { continue };
            found.set(found.get() + 1);
            let end = from + length + length;
            let longer = run(&system, build(&spec, &system), &SimOptions::until(end));
            let cpus = system.platform.cpu_count();
            let ticks = locks::of_trace(&longer, cpus).ticks;
            let (from, length) = (from.ns() as usize, length.ns() as usize);
            for at in from..from + length {
                let task = |at: usize| {
                    let on = ticks[at].iter().map(|on| on.map(|(task, _, spins)| (task, spins)));
                    on.collect::<Vec<_>>()
                };
                prop_assert_eq!(task(at), task(at + length), "{}: {:#?}", &spec, &system);
            }
        }
        Ok(true)
    });
    assert!(found.get() > 250, "{} schedules recur", found.get());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn ticks_run_the_same_jobs(system in periodic_system(), seed in any::<u64>()) {
        for (spec, protocol) in specs() {
            let system = with_steps(without_aborts(system.clone()), protocol, seed);
            prop_assert_eq!(system.validate(), []);
            let Ok(policy) = registry().build(&spec, &system) else { continue };
            let rule = policy.rule();
            if !matches!(rule, ScheduleRule::Locking(_)) {
                // No task has drawn steps.
                continue;
            }
            let trace = run(&system, policy, &SimOptions::until(HORIZON));
            let (expected, preemptions) = locks::simulate(&system, &rule, HORIZON);
            let found = locks::of_trace(&trace, system.platform.cpu_count());
            prop_assert_eq!(&found.locks, &expected.locks, "{}: {:#?}", &spec, &system);
            prop_assert_eq!(found, expected, "{}: {:#?}", &spec, &system);
            prop_assert_eq!(violations(&spec, &trace, &system), "");
            // The counts of the engine and those of the trace.
            let mut told = Counters::default();
            let policy = build(&spec, &system);
            simulate(&system, policy, &mut told, &SimOptions::until(HORIZON)).unwrap();
            let mut replayed = Counters::default();
            trace.replay(&mut replayed);
            for counters in [told, replayed] {
                let of_task = |id| counters.task(id).preemptions;
                let counted: Vec<u64> = system.tasks.ids().map(of_task).collect();
                prop_assert_eq!(&counted, &preemptions, "{}: {:#?}", &spec, &system);
            }
        }
    }

    /// Includes overruns, drawn arrivals, simultaneous events in any order, and a clone in the middle.
    #[test]
    fn rich_systems_are_clean_and_repeat(system in rich_system(), seed in any::<u64>()) {
        for (spec, protocol) in specs() {
            let system = with_random_ranks(&with_steps(system.clone(), protocol, seed), seed);
            if registry().build(&spec, &system).is_err() {
                continue;
            }
            let options = SimOptions { explore: Some(seed), ..SimOptions::until(HORIZON) };
            let trace = run_repeated(&system, build(&spec, &system), &options);
            prop_assert_eq!(violations(&spec, &trace, &system), "");
        }
    }
}
