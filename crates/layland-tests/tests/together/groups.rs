//! Groups with reservations: each fast form beside its slow twin on random inputs.

use layland_analysis::Sporadic;
use layland_analysis::groups::design::Design;
use layland_analysis::groups::outer::{self, Served};
use layland_analysis::groups::{
    GroupTask, InnerTest, Supplies, Supply, demand, fifo, fixed_priority, global,
    lone_response_time,
};
use layland_analysis::uniprocessor::edf::Demand;
use layland_model::{Duration, GroupServer, InnerPolicy, ServerRule, Service, TIME_LIMIT};
use layland_testkit::cases::on_random;
use layland_testkit::groups::{self as slow, SlowServer, SlowTask};
use proptest::prelude::*;

const RULES: [ServerRule; 2] = [ServerRule::Cbs, ServerRule::Polling];

fn ns(length: i64) -> Duration {
    Duration::from_ns(length)
}

fn server(of: &SlowServer) -> GroupServer {
    GroupServer {
        budget: Service::from_ns(of.budget),
        period: ns(of.period),
        deadline: ns(of.deadline),
        rule: RULES[usize::from(of.is_polling)],
    }
}

fn sporadic(of: &SlowTask) -> Sporadic {
    Sporadic { wcet: Service::from_ns(of.wcet), period: ns(of.period), deadline: ns(of.deadline) }
}

fn servers(longest: i64) -> impl Strategy<Value = SlowServer> {
    (1..=longest, 0..longest, 0..longest, any::<bool>()).prop_map(
        |(period, less, lower, is_polling)| {
            let deadline = period - less % period * i64::from(less % 3 == 0);
            SlowServer { budget: deadline - lower % deadline, period, deadline, is_polling }
        },
    )
}

/// Tasks with short periods, so that every length can be looked at. A deadline may be as long as
/// `most` periods.
fn tasks(count: usize, most: i64) -> impl Strategy<Value = Vec<SlowTask>> {
    let periods = prop::sample::select(vec![4i64, 5, 6, 8, 9, 10, 12, 15, 18, 20, 24]);
    let task = (periods, 0..5i64, 0..1000i64).prop_map(move |(period, more, drawn)| {
        let wcet = (1 + more).min(period);
        let deadline = match drawn % 3 {
            0 => period,
            _ => wcet + drawn % (most * period - wcet + 1),
        };
        SlowTask { wcet, period, deadline }
    });
    prop::collection::vec(task, 1..=count)
}

#[test]
fn supplies_are_the_least_of_all_states() {
    on_random(3_000, 3_000, (servers(20), 0..80i64), |(of, at)| {
        let supply = Supply::of(&server(&of));
        prop_assert_eq!(supply.within(ns(at)).ns(), of.supply(at));
        let work = at % (3 * of.budget);
        prop_assert_eq!(supply.time_for(Service::from_ns(work)).ns(), of.time_for(work));
        // Bounded by the line of its bandwidth and its delay.
        let after = (at - supply.delay().ns()) * of.budget;
        prop_assert!(supply.within(ns(at)).ns() * of.period >= after);
        Ok(true)
    });
}

#[test]
fn supplies_of_several_servers_are_sums_of_the_largest() {
    let inputs = (prop::collection::vec(servers(12), 1..4), 0..60i64, 0..60i64);
    on_random(1_000, 1_000, inputs, |(of, at, work)| {
        let supplies = Supplies::new(of.iter().map(|of| Supply::of(&server(of))).collect());
        for j in 1..=of.len() {
            prop_assert_eq!(supplies.within(j, ns(at)).ns(), slow::several(&of, j, at));
            let enough = (0..).find(|&t| slow::several(&of, j, t) >= work);
            prop_assert_eq!(Some(supplies.time_for(j, Service::from_ns(work)).ns()), enough);
        }
        Ok(true)
    });
}

/// Fixed priorities: the bound is what the first job needs if all arrive at the start of the worst
/// pattern, unit by unit.
#[test]
fn response_times_are_those_of_the_worst_pattern() {
    on_random(4_000, 1_500, (servers(10), tasks(4, 1)), |(of, tasks)| {
        let supply = Supply::of(&server(&of));
        let mut bounded = false;
        let all: Vec<Sporadic> = tasks.iter().map(sporadic).collect();
        for k in 0..all.len() {
            let found = fixed_priority::response_time(&supply, &all[k], &all[..k], all[k].deadline);
            let slow = slow::first_response(&of, &tasks, k, tasks[k].deadline);
            prop_assert_eq!(found.ok().map(Duration::ns), slow);
            bounded |= slow.is_some();
        }
        Ok(bounded)
    });
}

#[test]
fn demand_is_that_of_every_length() {
    on_random(4_000, 1_000, (servers(10), tasks(4, 2)), |(of, tasks)| {
        let supply = Supply::of(&server(&of));
        let all: Vec<Sporadic> = tasks.iter().map(sporadic).collect();
        let overload = slow::overloads(&tasks, &[of]);
        for is_preemptive in [true, false] {
            let found = if is_preemptive {
                demand::preemptive(&supply, &all)
            } else {
                demand::nonpreemptive(&supply, &all)
            };
            let first = slow::first_excess(&of, &tasks, is_preemptive);
            match found {
                Ok(Demand::Overload) => prop_assert!(overload),
                Ok(Demand::Met) => prop_assert_eq!((overload, first), (false, None)),
                Ok(Demand::Exceeds { interval, .. }) => {
                    prop_assert!(first.is_some_and(|first| first <= interval.ns()));
                }
                Err(why) => prop_assert!(false, "{why}"),
            }
        }
        Ok(!overload)
    });
}

/// No test accepts what a wider one refuses, and response bounds order the policies.
#[test]
fn policies_inside_a_group_are_ordered() {
    on_random(3_000, 500, (servers(10), tasks(4, 1)), |(of, tasks)| {
        let supplies = Supplies::new(vec![Supply::of(&server(&of))]);
        let all: Vec<Sporadic> = tasks.iter().map(sporadic).collect();
        let group = |inner| {
            let with = |(priority, task): (usize, &Sporadic)| GroupTask {
                task: *task,
                priority: priority as i64,
            };
            InnerTest::new(inner, all.iter().enumerate().map(with).collect())
        };
        let accepts = |inner| group(inner).decide(&supplies).is_ok();
        let edf = accepts(InnerPolicy::Edf);
        // EDF is optimal on any supply for jobs that can be preempted.
        for inner in [InnerPolicy::Fp, InnerPolicy::Fifo] {
            prop_assert!(edf || !accepts(inner), "{inner:?}");
        }
        prop_assert!(edf || !accepts(InnerPolicy::NonpreemptiveEdf));
        // A task alone: all policies are one.
        if all.len() == 1 {
            for inner in [InnerPolicy::Fp, InnerPolicy::Fifo, InnerPolicy::NonpreemptiveFp] {
                prop_assert_eq!(accepts(inner), edf);
            }
        }
        // First come, first served: some job waits for one job of each task.
        let fifo = fifo::response_time(&supplies.each()[0], &all, ns(TIME_LIMIT));
        if let Ok(last) = fifo {
            let work = all.iter().map(|task| task.wcet.ns()).sum();
            prop_assert!(last >= supplies.each()[0].time_for(Service::from_ns(work)));
        }
        Ok(edf)
    });
}

fn constrained() -> impl Strategy<Value = Vec<SlowTask>> {
    tasks(5, 1)
}

#[test]
fn global_tests_are_those_of_every_length() {
    let inputs = (prop::collection::vec(servers(6), 1..4), any::<bool>(), constrained());
    on_random(1_500, 150, inputs, |(mut of, are_equal, tasks)| {
        if are_equal {
            let first = of[0];
            of.fill(first);
        }
        let supplies = Supplies::new(of.iter().map(|of| Supply::of(&server(of))).collect());
        let all: Vec<Sporadic> = tasks.iter().map(sporadic).collect();
        let found = global::fixed_priority(&supplies, &all);
        let found: Vec<Option<i64>> =
            found.into_iter().map(|found| found.ok().map(Duration::ns)).collect();
        prop_assert_eq!(&found, &slow::global_responses(&of, &tasks));
        let levels: Vec<(Sporadic, i64)> =
            all.iter().enumerate().map(|(at, task)| (*task, at as i64)).collect();
        let in_levels = global::in_levels(&supplies, &levels);
        let in_levels: Vec<Option<i64>> =
            in_levels.into_iter().map(|found| found.ok().map(Duration::ns)).collect();
        prop_assert_eq!(&in_levels, &found);
        let interference = global::interference(&supplies, &all) == global::Accepted::All;
        prop_assert_eq!(interference, slow::interference(&of, &tasks));
        let until = slow::horizon(&tasks, &of).min(3_000);
        let long = global::long_window(&supplies, &all);
        let by_units = slow::long_window(&of, &tasks, until);
        match long {
            Ok(global::Accepted::All) => prop_assert!(by_units),
            Ok(global::Accepted::Overload) => prop_assert!(slow::overloads(&tasks, &of)),
            // Up to the length that fails, if the slow twin looks that far.
            Ok(global::Accepted::AllBut(_, length)) => {
                prop_assert!(!by_units || length.ns() > until);
            }
            Err(why) => prop_assert!(false, "{why}"),
        }
        Ok(by_units || interference)
    });
}

#[test]
fn servers_as_tasks_are_those_of_every_length() {
    let inputs = (prop::collection::vec(servers(12), 1..4), prop::option::of(tasks(2, 1)));
    on_random(4_000, 800, inputs, |(mut of, tasks)| {
        let tasks = tasks.unwrap_or_default();
        for server in &mut of {
            // Half the budget, so that several fit.
            (server.is_polling, server.budget) = (false, 1 + server.budget / 3);
            server.deadline = server.deadline.max(server.budget);
            server.period = server.period.max(server.deadline);
        }
        let servers: Vec<GroupServer> = of.iter().map(server).collect();
        let all: Vec<Sporadic> = tasks.iter().map(sporadic).collect();
        let (holds, first) = slow::outer_excess(&of, &tasks);
        match outer::earliest_deadline(&servers, &all) {
            Ok(Served::InTime) => prop_assert!(holds),
            Ok(Served::Overload) => prop_assert_eq!((holds, first), (false, None)),
            Ok(Served::Exceeds { interval, .. }) => {
                prop_assert!(first.is_some_and(|first| first <= interval.ns()));
            }
            Err(why) => prop_assert!(false, "{why}"),
        }
        Ok(holds)
    });
}

#[test]
fn designs_are_the_least_of_all_budgets_and_periods() {
    let inners = prop::sample::select(vec![
        (InnerPolicy::Fp, 1),
        (InnerPolicy::Edf, 1),
        (InnerPolicy::Fifo, 1),
        (InnerPolicy::NonpreemptiveFp, 1),
        (InnerPolicy::NonpreemptiveEdf, 1),
        (InnerPolicy::Fp, 2),
        (InnerPolicy::Edf, 2),
    ]);
    on_random(400, 90, (inners, constrained(), 0..2i64), |((inner, servers), tasks, cost)| {
        let all: Vec<Sporadic> = tasks.iter().map(sporadic).collect();
        let with = |(priority, task): (usize, &Sporadic)| GroupTask {
            task: *task,
            priority: priority as i64,
        };
        let test = InnerTest::new(inner, all.iter().enumerate().map(with).collect());
        let design = Design { test, rule: ServerRule::Cbs, servers, cost: ns(cost) };
        let mut best: Option<(i64, i64)> = None;
        for period in 1..=12 {
            let accepts = |budget| {
                design.accepts(Service::from_ns(budget), ns(period), ns(period)).expect("short")
            };
            let slow = slow::least_budget(period, accepts);
            let found = design.least_budget(ns(period), ns(period)).expect("short");
            prop_assert_eq!(found.map(Service::ns), slow);
            let Some(budget) = slow else { continue };
            prop_assert!((budget..=period).all(accepts), "monotone");
            if servers == 1 && matches!(inner, InnerPolicy::Fp | InnerPolicy::Edf) {
                let proof = design.certificate(Service::from_ns(budget), ns(period), ns(period));
                let proof = proof.map_err(TestCaseError::fail)?;
                let checked = slow::check_least_budget(&proof, &tasks, budget, period);
                prop_assert_eq!(checked, Ok(()));
            }
            let whole = budget + cost;
            let is_better = best.is_none_or(|(of, in_period)| whole * in_period <= of * period);
            if whole <= period && is_better {
                best = Some((whole, period));
            }
        }
        let found = design.least_bandwidth((1..=12).map(ns)).expect("short");
        let found = found.map(|found| (found.budget.ns() + cost, found.period.ns()));
        prop_assert_eq!(found, best);
        Ok(best.is_some())
    });
}

/// Draws arrivals at least a period apart, from these numbers: often as early as possible.
fn arrivals(tasks: &[SlowTask], drawn: &[i64], until: i64) -> Vec<(i64, i64, usize)> {
    let mut at = 0;
    let mut draw = || {
        at += 1;
        drawn[at % drawn.len()]
    };
    let mut jobs = Vec::new();
    for (which, task) in tasks.iter().enumerate() {
        let mut arrival = draw() % (task.period + 1);
        while arrival < until {
            jobs.push((arrival, task.wcet, which));
            let late = draw();
            arrival += task.period + if late % 3 == 0 { late % 7 } else { 0 };
        }
    }
    jobs.sort_by_key(|&(arrival, _, which)| (arrival, which));
    jobs
}

/// A constant-bandwidth server that is never late gives every window of work its supply, and no job of
/// its group exceeds the bounds, whenever else it is served.
#[test]
fn servers_in_time_keep_the_supply_and_the_bounds() {
    let draws = prop::collection::vec(0..1000i64, 64);
    on_random(3_000, 1_000, (servers(10), tasks(3, 1), draws), |(mut of, tasks, drawn)| {
        of.is_polling = false;
        let (supply, until) = (Supply::of(&server(&of)), 400);
        let all: Vec<Sporadic> = tasks.iter().map(sporadic).collect();
        let jobs = arrivals(&tasks, &drawn, until);
        let of_server: Vec<(i64, i64)> = jobs.iter().map(|&(at, work, _)| (at, work)).collect();
        let mut at = 0;
        let often = drawn[0] % 5;
        let draw = || {
            at = (at * 31 + 7) % 1009;
            drawn[at % drawn.len()] % 5 < often
        };
        let run = slow::serve(&of, &of_server, draw, until);
        // Windows that begin while the group has work, and has it throughout.
        for start in 0..run.units.len() {
            let mut got = 0;
            for (length, &(has_work, is_served)) in (1..).zip(&run.units[start..]) {
                if !has_work {
                    break;
                }
                got += i64::from(is_served);
                prop_assert!(got >= supply.within(ns(length)).ns(), "{} from {}", length, start);
            }
        }
        let fifo = fifo::response_time(&supply, &all, ns(TIME_LIMIT));
        let longest = run.responses.iter().copied().max().unwrap_or(0);
        if let Ok(bound) = fifo {
            prop_assert!(longest <= bound.ns(), "{} in {}", longest, bound);
        }
        let alone = match &all[..] {
            [task] => lone_response_time(&server(&of), task),
            _ => None,
        };
        if let Some(bound) = alone {
            prop_assert!(longest <= bound.ns(), "{} alone in {}", longest, bound);
        }
        Ok(fifo.is_ok() || alone.is_some())
    });
}
