//! Non-preemptive regions: the policies are compared with their rule and their tick-by-tick twin.
//! The analyses are compared with every schedule of few tasks, with simulations, and with each
//! other.
//!
//! Long because it has both the policies and their guarantees.

use crate::schedules::{build, finished, run, run_repeated, violations};
use layland_analysis::uniprocessor::deferred::edf::{Blocked, demand_and_blocking};
use layland_analysis::uniprocessor::deferred::{edf, edf_response, fixed_priority};
use layland_analysis::uniprocessor::edf as plain_edf;
use layland_analysis::uniprocessor::edf_response::Ties;
use layland_analysis::uniprocessor::fixed_priority as plain_fp;
use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
use layland_analysis::{ResponseBound, Verdict, catalogue};
use layland_checker::check;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    CpuId, CpuSet, Duration, ExecutionModel, Order, Overheads, Preemption, ScheduleRule,
    Separation, Service, System, Task, TaskId, TaskMap, Time,
};
use layland_policy::{Policy, Registry};
use layland_sim::{SimOptions, simulate, with_random_ranks};
use layland_testkit::cases::{Deadlines, on_random, systems};
use layland_testkit::deferred::{self, longest_responses, with_regions};
use layland_testkit::strategies::{clustered, periodic_system, rich_system};
use layland_testkit::{registry, ticks};
use layland_trace::{Counters, Trace};
use proptest::prelude::*;

const HORIZON: Time = Time::from_ns(120);
const POLICIES: [(&str, Order); 6] = [
    ("g-edf", Order::Deadline),
    ("g-edf:tie=running", Order::Deadline),
    ("p-edf", Order::Deadline),
    ("g-fp", Order::Given),
    ("p-rm", Order::RateMonotonic),
    ("g-dm", Order::DeadlineMonotonic),
];

fn draws() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 8)
}

fn task(name: &str, wcet: i64, period: i64, preemption: Preemption) -> Task {
    let task = Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period));
    Task { preemption, ..task }
}

fn segments(lengths: &[i64]) -> Preemption {
    Preemption::Between(lengths.iter().map(|&length| Service::from_ns(length)).collect())
}

/// `(start, end, CPU, task)` of each segment.
fn executed(trace: &Trace) -> Vec<(i64, i64, u32, u32)> {
    let mut all: Vec<_> = (trace.segments.iter())
        .map(|it| (it.start.ns(), it.end.ns(), it.cpu.0, it.job.task.0))
        .collect();
    all.sort_unstable();
    all
}

/// A long job has begun when a short one arrives. The waiting time depends on the preemption points
/// of the long one.
#[test]
fn a_region_ends_where_the_task_says() {
    for (preemption, expected) in [
        (Preemption::Anywhere, vec![(0, 2, 0, 1), (2, 4, 0, 0), (4, 10, 0, 1)]),
        (Preemption::Never, vec![(0, 8, 0, 1), (8, 10, 0, 0)]),
        (
            Preemption::Delayed(Duration::from_ns(3)),
            vec![(0, 5, 0, 1), (5, 7, 0, 0), (7, 10, 0, 1)],
        ),
        (segments(&[1, 5, 2]), vec![(0, 6, 0, 1), (6, 8, 0, 0), (8, 10, 0, 1)]),
        (segments(&[2, 6]), vec![(0, 2, 0, 1), (2, 4, 0, 0), (4, 10, 0, 1)]),
    ] {
        let mut short = task("short", 2, 15, Preemption::Anywhere);
        short.offset = Duration::from_ns(2);
        let system = System::new(1, vec![short, task("long", 8, 30, preemption)]);
        for spec in ["g-edf", "p-rm"] {
            let trace = run(&system, build(spec, &system), &SimOptions::until(Time::from_ns(14)));
            assert_eq!(executed(&trace), expected, "{spec} {system:#?}");
            assert_eq!(violations(spec, &trace, &system), "");
        }
    }
}

/// On two CPUs the waiting job takes the first CPU that becomes available, not that of the lowest job.
#[test]
fn the_first_cpu_that_may_be_had_is_taken() {
    let mut high = task("high", 2, 20, Preemption::Anywhere);
    high.offset = Duration::from_ns(1);
    let tasks =
        vec![high, task("middle", 6, 30, segments(&[3, 3])), task("low", 6, 40, Preemption::Never)];
    let system = System::new(2, tasks);
    let trace = run(&system, build("g-rm", &system), &SimOptions::until(Time::from_ns(12)));
    let expected = [(0, 3, 0, 1), (0, 6, 1, 2), (3, 5, 0, 0), (5, 8, 0, 1)];
    assert_eq!(executed(&trace), expected);
}

/// The option turns all jobs into regions, whatever the tasks state; with a CPU for each task no job waits.
#[test]
fn the_option_takes_every_preemption_away() {
    let system = System::new(
        1,
        vec![task("a", 1, 4, Preemption::Anywhere), task("b", 5, 20, segments(&[2, 3]))],
    );
    let rule = build("p-edf:nonpreemptive", &system).rule();
    let ScheduleRule::Deferred { regions, .. } = rule else { panic!("{rule:?}") };
    assert!(regions.values().all(|region| *region == Preemption::Never));
    assert!(matches!(
        build(
            "p-edf:nonpreemptive=off",
            &System::new(1, vec![task("a", 1, 4, Preemption::Anywhere)])
        )
        .rule(),
        ScheduleRule::HighestFirst { .. }
    ));
}

#[test]
fn policies_that_preempt_anywhere_refuse_regions() {
    let system = System::new(
        1,
        vec![task("a", 1, 4, Preemption::Never), task("b", 5, 20, Preemption::Anywhere)],
    );
    let mut kept = Vec::new();
    for info in registry() {
        match registry().build(&info.name, &system) {
            Ok(_) => kept.push(info.name.to_string()),
            Err(error) if info.name.ends_with("-fp") => {
                assert!(
                    error.to_string().contains("priority") || error.task() == Some(TaskId(0)),
                    "{error}"
                );
            }
            Err(error) => {
                assert!(
                    error.to_string().contains("task `a` has non-preemptive regions"),
                    "{error}"
                );
                assert_eq!(error.task(), Some(TaskId(0)));
            }
        }
    }
    let expected = ["g-edf", "c-edf", "p-edf", "g-rm", "c-rm", "p-rm", "g-dm", "c-dm", "p-dm"];
    assert_eq!(kept, expected);
    let mut fast = system;
    fast.platform.speeds.values_mut().for_each(|speed| {
        *speed =
            layland_model::Speed::new(&layland_model::Rate::new(1, 2)).expect("a small fraction");
    });
    assert!(registry().build("p-edf", &fast).is_ok());
    fast.tasks.values_mut().for_each(|task| task.preemption = segments(&[task.own_wcet().ns()]));
    assert!(registry().build("p-edf", &fast).is_ok());
    // On CPUs of different speeds a segment does not end at a time of its own.
    let first = fast.platform.cpus().next().expect("there is a CPU");
    fast.platform.speeds[first] = layland_model::Speed::UNIT;
    let error = registry().build("g-edf", &fast).map(|_| ());
    assert_eq!(error.is_err(), fast.platform.cpu_count() > 1);
    if let Err(error) = error {
        assert!(error.to_string().contains("its CPUs have one speed"), "{error}");
    }
}

/// Davis et al. 2007: three messages on a bus. The first job of the last message is in time, and
/// the second is not.
#[test]
fn the_second_message_is_late() {
    let us = |length: i64| length * 1_000;
    let message = |name: &str, period: i64, deadline: i64| {
        let mut message = task(name, us(1_000), us(period), Preemption::Never);
        message.deadline = Duration::from_ns(us(deadline));
        message
    };
    let messages =
        vec![message("A", 2_500, 2_500), message("B", 3_500, 3_250), message("C", 3_500, 3_250)];
    let system = System::new(1, messages);
    let trace = run(&system, build("p-dm", &system), &SimOptions::until(Time::from_ns(us(7_500))));
    let responses: Vec<i64> = (trace.jobs.iter())
        .filter(|record| record.job.id.task == TaskId(2))
        .filter_map(|record| Some((record.completion()? - record.job.arrival).ns() / 1_000))
        .collect();
    assert_eq!(responses, [3_000, 3_500]);
    let found = assess(registry(), "p-dm", &system, &AssessOptions::by_tests()).unwrap();
    assert_eq!((found.verdict, found.decided_by), (Verdict::No, Some("NP-RTA-DM")));
    let responses = fixed_priority::TEST
        .responses_under(PriorityOrder::DeadlineMonotonic)
        .unwrap()
        .run(&system)
        .unwrap();
    let of = |task: u32| responses[TaskId(task)].as_ref().map(|bound| bound.response.ns());
    assert_eq!([of(0), of(1), of(2)], [Some(us(2_000) - 1), Some(us(3_000) - 1), Some(us(3_500))]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn ticks_finish_the_same_jobs(system in periodic_system(), draws in draws(), never in any::<bool>()) {
        let system = with_regions(system, &draws, true);
        for (spec, order) in POLICIES {
            let spec = if never { format!("{spec}:nonpreemptive") } else { spec.to_owned() };
            let Ok(policy) = registry().build(&spec, &system) else { continue };
            let rule = policy.rule();
            let trace = run(&system, policy, &SimOptions::until(HORIZON));
            if matches!(rule, ScheduleRule::Deferred { .. }) {
                let expected = deferred::simulate(&system, &rule, order, HORIZON);
                prop_assert_eq!(finished(&trace), expected, "{}: {:#?}", spec, system);
            }
            prop_assert_eq!(violations(&spec, &trace, &system), "");
        }
    }

    /// Another schedule keeps the rule only if it is equal.
    #[test]
    fn schedules_with_other_regions_break_the_rule(
        system in periodic_system(),
        draws in prop::array::uniform2(draws()),
    ) {
        // A trace does not show the order of arrivals at one instant, so a floating region may
        // begin again or not.
        let [ours, theirs] = draws.map(|draws| with_regions(system.clone(), &draws, false));
        let options = SimOptions::until(HORIZON);
        let rule = build("g-edf", &ours).rule();
        if !matches!(rule, ScheduleRule::Deferred { .. }) {
            return Ok(());
        }
        let trace = run(&theirs, build("g-edf", &theirs), &options);
        let expected = deferred::simulate(&ours, &rule, Order::Deadline, HORIZON);
        // The end of the run may hide the last jobs.
        let until = |all: Vec<ticks::Finished>| -> Vec<ticks::Finished> {
            all.into_iter().filter(|job| job.finish < HORIZON.ns() - 20).collect()
        };
        if until(finished(&trace)) != until(expected) {
            prop_assert!(!check(&trace, &ours, &rule, 5).is_clean(), "{:#?}", ours);
        }
    }

    /// Includes overruns, requests, clusters, simultaneous events in any order, and a clone in the middle.
    #[test]
    fn rich_systems_are_clean_and_repeat(
        system in rich_system(),
        draws in draws(),
        seed in any::<u64>(),
        size in 1usize..4,
    ) {
        let system = with_regions(with_random_ranks(&system, seed), &draws, true);
        let system = clustered(system, size);
        for spec in ["c-edf", "c-fp", "c-edf:tie=running", "p-rm", "c-edf:nonpreemptive"] {
            let Ok(policy) = registry().build(spec, &system) else { continue };
            for explore in [None, Some(seed)] {
                let options = SimOptions { seed, explore, ..SimOptions::until(HORIZON) };
                let trace = run_repeated(&system, policy.clone(), &options);
                prop_assert_eq!(violations(spec, &trace, &system), "");
            }
        }
    }

    #[test]
    fn overheads_break_no_rule(
        system in periodic_system(),
        draws in draws(),
        costs in prop::array::uniform6(0i64..3),
    ) {
        let mut system = with_regions(system, &draws, true);
        let [release, scheduling, context_switch, migration, interrupt, tick] =
            costs.map(Duration::from_ns);
        system.platform.overheads = Overheads {
            release, scheduling, context_switch, migration, interrupt, tick,
            tick_period: Duration::from_ns(7),
            block_reload_time: Duration::ZERO,
        };
        for (spec, _) in POLICIES {
            let Ok(policy) = registry().build(spec, &system) else { continue };
            let trace = run(&system, policy, &SimOptions::until(HORIZON));
            prop_assert_eq!(violations(spec, &trace, &system), "");
        }
    }
}

// --- Analyses ---------------------------------------------------------------------------------------

/// Draws up to three tasks with regions on one CPU.
fn small() -> impl Strategy<Value = System> {
    let task = (1i64..5, 0i64..5, 0i64..4);
    (prop::collection::vec(task, 2..4), draws(), any::<bool>()).prop_map(
        |(tasks, draws, floating)| {
            let task = |(at, &(wcet, more, later)): (usize, &(i64, i64, i64))| {
                let deadline = wcet + more;
                let period = deadline + later;
                let mut task = Task::implicit(
                    at.to_string(),
                    Service::from_ns(wcet),
                    Duration::from_ns(period),
                );
                task.deadline = Duration::from_ns(deadline);
                task.priority = Some(at as i64);
                task
            };
            let mut system = System::new(1, tasks.iter().enumerate().map(task).collect());
            for (task, draw) in system.tasks.values_mut().zip(draws.iter().cycle()) {
                task.rank = (draw >> 61) as i64;
            }
            with_regions(system, &draws, floating)
        },
    )
}

fn is_floating(task: &Task) -> bool {
    matches!(task.preemption, Preemption::Delayed(_))
}

/// Checks every schedule of few tasks: *yes* and *no* are right, and the response times are reached.
#[test]
fn exact_tests_are_what_all_schedules_say() {
    for is_edf in [true, false] {
        on_random(1_000, 150, small(), |system| {
            let Some(every) = longest_responses(&system, is_edf, 60_000) else { return Ok(false) };
            let (tests, responses) = if is_edf {
                (vec![edf::TEST, edf_response::TEST], edf_response::RESPONSES)
            } else {
                (
                    vec![fixed_priority::TEST.under(PriorityOrder::Given)],
                    fixed_priority::TEST.responses_under(PriorityOrder::Given).unwrap(),
                )
            };
            for test in &tests {
                let finding = test.run(&system).expect("the system keeps the assumptions");
                let expected = if every.is_some() { Verdict::Yes } else { Verdict::No };
                if finding.verdict == Verdict::Unknown {
                    prop_assert!(test.name != "NP-QPA" && system.tasks.values().any(is_floating));
                } else {
                    prop_assert_eq!(finding.verdict, expected, "{}: {:#?}", test.name, system);
                }
            }
            if let Some(longest) = &every {
                let bounds = responses.run(&system).expect("the system keeps the assumptions");
                let by_rank = responses.run_by_rank_unchecked(&system);
                for ((id, task), &longest) in system.tasks.iter().zip(longest) {
                    let of = |bounds: &TaskMap<Option<ResponseBound>>| {
                        bounds[id].as_ref().map_or(i64::MAX, |bound| bound.response.ns())
                    };
                    let (bound, any) = (of(by_rank.as_ref().unwrap_or(&bounds)), of(&bounds));
                    prop_assert!(bound <= any, "{}: {} and {}", id, bound, any);
                    let is_exact = !is_floating(task);
                    let holds = if is_exact { bound == longest } else { bound >= longest };
                    prop_assert!(
                        holds,
                        "{} of {}: {} and {} {:#?}",
                        responses.name,
                        id,
                        bound,
                        longest,
                        system
                    );
                }
            }
            Ok(every.is_some())
        });
    }
}

/// Without regions these tests equal the tests without support for regions.
#[test]
fn without_regions_nothing_is_another_answer() {
    let inputs = systems(1..3, 6, 20..103, Deadlines::Arbitrary);
    on_random(500, 300, inputs, |mut system| {
        let cpus = system.platform.cpu_count();
        for (at, task) in system.tasks.values_mut().enumerate() {
            task.affinity = Some(CpuSet::single(CpuId((at % cpus) as u32)));
        }
        let verdict = |test: &layland_analysis::SchedulabilityTest| {
            test.run(&system).map(|found| found.verdict)
        };
        prop_assert_eq!(verdict(&edf::TEST), verdict(&plain_edf::TEST));
        prop_assert_eq!(
            verdict(&fixed_priority::TEST.under(PriorityOrder::Given)),
            verdict(&plain_fp::RTA.under(PriorityOrder::Given))
        );
        let of = |name: &str| {
            let analysis = catalogue::RESPONSES.iter().find(|analysis| analysis.name == name);
            analysis.expect("it is in the catalogue").run(&system)
        };
        prop_assert_eq!(of("NP-EDF-RTA"), of("EDF-RTA"));
        prop_assert_eq!(of("NP-RTA"), of("RTA"));
        prop_assert_eq!(of("NP-RTA-RM"), of("RTA-RM"));
        Ok(true)
    });
}

/// Both tests for EDF agree if no task has a floating region.
#[test]
fn demand_and_response_times_agree() {
    let inputs = (systems(1..2, 6, 20..101, Deadlines::Arbitrary), draws());
    on_random(1_500, 400, inputs, |(system, draws)| {
        let system = with_regions(system, &draws, false);
        let all: Vec<&Task> = system.tasks.values().collect();
        let demand = demand_and_blocking(&all);
        let Ok(Some(responses)) = edf_response::responses(&all, Ties::Lost) else {
            let is_met = matches!(demand, Ok(Blocked::Met { .. }));
            prop_assert!(!is_met);
            return Ok(false);
        };
        let all_in_time =
            all.iter().zip(&responses).all(|(task, &response)| response <= task.deadline);
        prop_assert_eq!(all_in_time, matches!(demand, Ok(Blocked::Met { .. })), "{:#?}", system);
        Ok(all_in_time)
    });
}

/// Guaranteed deadlines are never missed, and no bound is exceeded, for any arrivals.
#[test]
fn what_is_guaranteed_holds_in_adversarial_runs() {
    let inputs = (
        systems(1..3, 6, 15..100, Deadlines::Constrained),
        draws(),
        prop::array::uniform3(any::<u64>()),
    );
    let specs = ["p-edf", "p-rm", "p-dm", "p-fp", "p-edf:nonpreemptive", "p-fp:nonpreemptive"];
    on_random(600, 120, inputs, |(system, draws, seeds)| {
        let mut system = with_regions(system, &draws, true);
        if seeds[0] % 3 == 0 {
            for (at, task) in system.tasks.values_mut().enumerate() {
                task.jitter = Duration::from_ns((seeds[0] >> (2 * at + 3) & 3) as i64);
            }
        }
        let mut any = false;
        for spec in specs {
            let found = assess(registry(), spec, &system, &AssessOptions::by_tests())
                .expect("the policy exists");
            if found.refused.is_some() {
                continue;
            }
            any |= found.verdict == Verdict::Yes;
            for seed in seeds {
                let mut run = system.clone();
                for (at, task) in run.tasks.values_mut().enumerate() {
                    task.offset = Duration::from_ns((seed >> (5 * at) & 15) as i64);
                    if seed >> at & 1 == 1 {
                        let max = Duration::from_ns(1 + (seed >> 7 & 7) as i64);
                        task.behaviour =
                            layland_model::Behaviour::Sporadic(Separation::Uniform { max });
                    }
                    if seed >> (at + 9) & 3 == 0 {
                        let (min, max) = (Service::from_ns(1), task.own_wcet());
                        task.execution = ExecutionModel::Uniform { min, max };
                    }
                }
                let mut counters = Counters::new(run.tasks.len(), run.platform.cpu_count());
                let options = SimOptions { seed, ..SimOptions::until(Time::from_ns(500)) };
                // The policy places the tasks of the system, whatever their offsets.
                let policy = registry().build(spec, &system).expect("it was built before");
                simulate(&run, policy, &mut counters, &options).expect("the horizon is in range");
                let missed = counters.total().missed > 0;
                prop_assert!(
                    !(missed && found.verdict == Verdict::Yes),
                    "{} is guaranteed by {:?} and misses",
                    spec,
                    found.decided_by
                );
                for (id, bound) in found.bounds.iter() {
                    if let Bound::Response { within, by, .. } = bound {
                        let longest = counters.task(id).max_response.unwrap_or_default();
                        prop_assert!(
                            longest <= *within,
                            "{} {}: {} > {}",
                            spec,
                            by,
                            longest,
                            within
                        );
                    }
                }
            }
        }
        Ok(any)
    });
}

/// A test without support for regions gives no verdict on a system with regions.
#[test]
fn other_tests_refuse_regions() {
    let system = System::new(1, vec![task("a", 1, 4, Preemption::Never)]);
    for test in catalogue::TESTS.iter() {
        let knows = test.name.starts_with("NP-") || test.name == "CAPACITY";
        let refusal = test.run(&system).err();
        let refuses = refusal
            .as_ref()
            .is_some_and(|refusal| refusal.assumption == layland_analysis::Assumption::Preemptible);
        let for_other_reasons = refusal.is_some() && !refuses;
        assert!(for_other_reasons || refuses != knows, "{}: {refusal:?}", test.name);
    }
}

/// A policy that was not built for regions rejects tasks with regions that join later.
#[test]
fn who_joins_with_regions_is_refused() {
    use layland_policy::{Action, Event, RequestId};
    use std::sync::Arc;
    let system = System::new(1, vec![task("a", 1, 4, Preemption::Anywhere)]);
    let join = |policy: &mut dyn Policy, preemption: Preemption| {
        let parameters = Arc::new(Task {
            affinity: Some(CpuSet::single(CpuId(0))),
            ..task("b", 2, 8, preemption)
        });
        let request = RequestId(7);
        policy.on_event(Time::ZERO, Event::Join { task: TaskId(1), parameters, request });
        let mut actions = Vec::new();
        policy.decide(Time::ZERO, &mut actions);
        actions.iter().any(|action| matches!(action, Action::Refuse { .. }))
    };
    let registry = Registry::standard();
    assert!(join(&mut *registry.build("p-edf", &system).unwrap(), Preemption::Never));
    assert!(!join(&mut *registry.build("p-edf", &system).unwrap(), Preemption::Anywhere));
    assert!(!join(
        &mut *registry.build("p-edf:nonpreemptive", &system).unwrap(),
        Preemption::Anywhere
    ));
}
