//! Blocking times: the tests that support them compared with slow twins, and the others, which reject them.

use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
use layland_analysis::uniprocessor::{edf, fixed_priority};
use layland_analysis::{Assumption, SchedulabilityTest, Tardiness, TestKind, Verdict, catalogue};
use layland_gen::{Aspect, Random};
use layland_model::{
    ArrivalCurve, Behaviour, CurveArrivals, Duration, Rate, Service, System, Task, TaskId,
};
use layland_testkit::blocking::{Blocked, is_met, response};
use proptest::prelude::*;
use std::sync::Arc;

/// All periods divide 120.
const PERIODS: [i64; 10] = [2, 3, 4, 5, 6, 8, 10, 12, 15, 20];
const REPEATS: i64 = 120;

/// Draws tasks with a load of at most 1, by ascending periods.
#[expect(non_snake_case, reason = "symbols of the papers")]
fn tasks(random: &mut Random) -> Vec<Blocked> {
    let has_jitter = random.below(3) == 0;
    let mut tasks: Vec<Blocked> = (0..1 + random.below(4))
        .map(|_| {
            let T = PERIODS[random.below(PERIODS.len() as u64) as usize];
            let C = random.between(1, (T / 2).max(1));
            let D = random.between(C, 2 * T);
            let J = if has_jitter { random.between(0, (D - 1).min(T - 1)) } else { 0 };
            let B = if random.below(3) == 0 { 0 } else { random.between(0, 2 * T) };
            Blocked { C, D, T, J, B }
        })
        .collect();
    tasks.sort_by_key(|task| task.T);
    while tasks.iter().map(|task| Rate::new(task.C, task.T)).sum::<Rate>() > Rate::ONE {
        tasks.pop();
    }
    tasks
}

/// Returns the tasks on one CPU, which may become ready together.
fn system(tasks: &[Blocked]) -> System {
    let latest = tasks.iter().map(|task| task.J).max().unwrap_or(0);
    let task = |(at, blocked): (usize, &Blocked)| {
        let ns = Duration::from_ns;
        Task {
            deadline: ns(blocked.D),
            jitter: ns(blocked.J),
            offset: ns(latest - blocked.J),
            blocking_time: ns(blocked.B),
            rank: at as i64,
            ..Task::implicit(at.to_string(), Service::from_ns(blocked.C), ns(blocked.T))
        }
    };
    System::new(1, tasks.iter().enumerate().map(task).collect())
}

/// Returns the system with the sporadic arrivals as curves, which take other paths through the analyses.
fn by_curves(mut system: System) -> System {
    for task in system.tasks.values_mut() {
        let distances = vec![task.period, task.period * 2, task.period * 3 - Duration::from_ns(1)];
        let curve = ArrivalCurve::new(&distances).expect("it ascends");
        let arrivals = CurveArrivals { curve, extra: None };
        task.period = arrivals.curve.separation();
        task.behaviour = Behaviour::Curve(Arc::new(arrivals));
    }
    system
}

fn unblocked(tasks: &[Blocked]) -> Vec<Blocked> {
    tasks.iter().map(|task| Blocked { B: 0, ..*task }).collect()
}

/// Returns the right verdict: a *yes* holds with blocking, and a *no* needs a late job without it.
fn expected(with: bool, without: bool) -> Verdict {
    match (with, without) {
        (true, _) => Verdict::Yes,
        (false, true) => Verdict::Unknown,
        (false, false) => Verdict::No,
    }
}

fn verdict(test: &SchedulabilityTest, system: &System) -> Verdict {
    let finding = test.run(system).expect("it knows blocking times");
    assert_eq!(test.verdict_unchecked(system), finding.verdict, "{system:?}");
    finding.verdict
}

#[test]
fn responses_are_those_of_a_busy_period_that_begins_with_the_blocking() {
    let mut random = Random::new(1, 0, Aspect::Utilizations);
    let mut seen = [0; 3];
    for _ in 0..4_000 {
        let tasks = tasks(&mut random);
        let system = system(&tasks);
        // If blocking keeps the CPU busy for ever, response times repeat and the twin does not end.
        let of = |tasks: &[Blocked], at: usize| response(&tasks[..=at], 20 * REPEATS);
        let found =
            fixed_priority::response_bounds(&system, fixed_priority::PriorityOrder::RateMonotonic);
        let found = found.expect("it knows blocking times");
        for (id, bound) in found.iter() {
            if let Some(slow) = of(&tasks, id.0 as usize) {
                let bound = bound.as_ref().expect("it is short");
                assert_eq!(bound.response.ns(), slow, "{tasks:?}");
            }
        }
        let meets = |tasks: &[Blocked]| {
            (0..tasks.len())
                .try_fold(true, |meets, at| Some(meets && of(tasks, at)? <= tasks[at].D))
        };
        let (Some(with), Some(without)) = (meets(&tasks), meets(&unblocked(&tasks))) else {
            continue;
        };
        let expected = expected(with, without);
        assert_eq!(
            verdict(&fixed_priority::RTA.under(PriorityOrder::RateMonotonic), &system),
            expected,
            "{tasks:?}"
        );
        seen[expected as usize] += 1;
    }
    assert!(seen.iter().all(|&times| times > 300), "{seen:?}");
}

#[test]
fn demand_is_met_where_no_job_is_late_whoever_is_blocked() {
    let mut random = Random::new(2, 0, Aspect::Utilizations);
    let mut seen = [0; 3];
    for _ in 0..4_000 {
        let tasks = tasks(&mut random);
        let meets = |tasks: &[Blocked]| is_met(tasks, 3 * REPEATS);
        let expected = expected(meets(&tasks), meets(&unblocked(&tasks)));
        let found = verdict(&edf::TEST, &system(&tasks));
        // With jitter and a full load no bound on the intervals is known.
        let is_full = tasks.iter().map(|task| Rate::new(task.C, task.T)).sum::<Rate>() == Rate::ONE;
        if found == Verdict::Unknown && is_full && tasks.iter().any(|task| task.J > 0) {
            continue;
        }
        assert_eq!(found, expected, "{tasks:?}");
        seen[expected as usize] += 1;
    }
    assert!(seen.iter().all(|&times| times > 300), "{seen:?}");
}

/// A curve that only states the distance between two jobs does not avoid the blocking.
#[test]
fn curves_are_blocked_as_sporadic_tasks_are() {
    let mut random = Random::new(3, 0, Aspect::Utilizations);
    let mut seen = [0; 3];
    for _ in 0..1_000 {
        let mut tasks = tasks(&mut random);
        tasks.iter_mut().for_each(|task| task.J = 0);
        let (plain, curves) = (system(&tasks), by_curves(system(&tasks)));
        for test in [&edf::TEST, &fixed_priority::RTA.under(PriorityOrder::RateMonotonic)] {
            let [plain, curves] = [&plain, &curves].map(|system| verdict(test, system));
            // The curve has denser arrivals, so it may be accepted less often, but never more often.
            assert!(curves != Verdict::Yes || plain == Verdict::Yes, "{}: {tasks:?}", test.name);
            seen[curves as usize] += 1;
        }
        let none = by_curves(system(&unblocked(&tasks)));
        for test in [&edf::TEST, &fixed_priority::RTA.under(PriorityOrder::RateMonotonic)] {
            let (with, without) = (verdict(test, &curves), verdict(test, &none));
            assert_eq!(with == Verdict::No, without == Verdict::No, "{}: {tasks:?}", test.name);
            assert!(with != Verdict::Yes || without == Verdict::Yes, "{}: {tasks:?}", test.name);
        }
    }
    assert!(seen.iter().all(|&times| times > 100), "{seen:?}");
}

/// Every test declares its support for blocking times, and a test without support rejects them.
#[test]
fn no_test_takes_a_blocking_time_that_it_does_not_count() {
    let blocked = |task: &mut Task| task.blocking_time = Duration::from_secs(1);
    let knows = |listed: &[Assumption]| listed.contains(&Assumption::BlockingKept);
    let mut known = Vec::new();
    for case in 0..400 {
        let mut random = Random::new(4, case, Aspect::Utilizations);
        let mut tasks = tasks(&mut random);
        tasks.iter_mut().for_each(|task| (task.J, task.B) = (0, 0));
        let mut system = system(&tasks);
        system
            .tasks
            .values_mut()
            .enumerate()
            .for_each(|(at, task)| task.priority = Some(at as i64));
        if case % 2 == 0 {
            system.tasks.values_mut().for_each(|task| task.deadline = task.period);
        }
        let plain = system.clone();
        blocked(&mut system.tasks[TaskId(0)]);
        for test in catalogue::TESTS.iter() {
            let (with, without) = (test.run(&system), test.run(&plain));
            let is_refused = with.as_ref().is_err_and(|refusal| {
                refusal.assumption == Assumption::NoBlocking && refusal.task() == Some(TaskId(0))
            });
            let verdict = with.as_ref().map(|finding| finding.verdict);
            assert_ne!(verdict, Ok(Verdict::Yes), "{}", test.name);
            match (test.kind, knows(test.assumptions)) {
                (TestKind::Necessary, _) => assert_eq!(with, without, "{}", test.name),
                (TestKind::Exact | TestKind::Sufficient, true) => known.push(test.name),
                (TestKind::Exact | TestKind::Sufficient, false) => {
                    assert!(is_refused || without.is_err(), "{}: {with:?}", test.name);
                }
            }
        }
        for analysis in catalogue::RESPONSES.iter() {
            let (with, without) = (analysis.run(&system), analysis.run(&plain));
            if knows(analysis.assumptions) {
                let bound = with.expect("it knows blocking times")[TaskId(0)].clone();
                let least = Duration::from_secs(1);
                assert!(bound.is_none_or(|bound| bound.response > least), "{}", analysis.name);
            } else {
                assert!(with.is_err() || without.is_err(), "{}", analysis.name)
            }
        }
        for analysis in catalogue::BOUNDS {
            let with = analysis.run(&system);
            assert!(!matches!(with, Ok(Tardiness::Bounded(_))), "{}", analysis.name);
        }
    }
    known.sort_unstable();
    known.dedup();
    assert_eq!(known, ["HB", "LL", "QPA", "RTA", "RTA-DM", "RTA-RM"]);
}

/// The bounds on the utilization accept nothing that response times refuse, and what they accept without blocking as
/// long as blocking is short.
#[test]
fn bounds_on_the_utilization_count_blocking() {
    let rta = fixed_priority::RTA.under(PriorityOrder::RateMonotonic);
    let tests = [&fixed_priority::LIU_LAYLAND, &fixed_priority::HYPERBOLIC];
    let (mut accepted, mut lost) = ([0; 2], 0);
    for case in 0..4_000 {
        let mut tasks = tasks(&mut Random::new(6, case, Aspect::Utilizations));
        tasks.iter_mut().for_each(|task| (task.D, task.J) = (task.T, 0));
        let (blocked, plain) = (system(&tasks), system(&unblocked(&tasks)));
        let found = tests.map(|test| verdict(test, &blocked));
        for (test, found) in tests.iter().zip(found) {
            if found == Verdict::Yes {
                assert_eq!(verdict(&rta, &blocked), Verdict::Yes, "{}: {tasks:?}", test.name);
                assert_eq!(verdict(test, &plain), Verdict::Yes, "{}: {tasks:?}", test.name);
            }
        }
        // The hyperbolic bound accepts all that Liu and Layland's accepts.
        assert!(found[0] != Verdict::Yes || found[1] == Verdict::Yes, "{tasks:?}");
        accepted
            .iter_mut()
            .zip(found)
            .for_each(|(count, found)| *count += i32::from(found == Verdict::Yes));
        let is_blocked = tasks.iter().any(|task| task.B > 0);
        lost += i32::from(
            is_blocked && found[1] != Verdict::Yes && verdict(tests[1], &plain) == Verdict::Yes,
        );
    }
    assert!(accepted[0] > 100 && accepted[1] > accepted[0] && lost > 100, "{accepted:?} {lost}");
}

proptest! {
    /// More blocking never improves an answer.
    #[test]
    fn blocking_is_no_help(case in any::<u64>(), more in 1i64..40) {
        let tasks = tasks(&mut Random::new(5, case, Aspect::Utilizations));
        let longer: Vec<Blocked> =
            tasks.iter().map(|task| Blocked { B: task.B + more, ..*task }).collect();
        let [rm, dm] = [PriorityOrder::RateMonotonic, PriorityOrder::DeadlineMonotonic]
            .map(|order| fixed_priority::RTA.under(order));
        for test in [&edf::TEST, &rm, &dm] {
            let [with, longer] = [&tasks, &longer].map(|tasks| verdict(test, &system(tasks)));
            prop_assert!(longer != Verdict::Yes || with == Verdict::Yes, "{}: {tasks:?}", test.name);
        }
    }
}
