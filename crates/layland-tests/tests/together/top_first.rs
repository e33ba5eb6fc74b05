//! EDF-US, fpEDF, EDF^(k) and RM-US: the worked examples, their classes and tests compared with the
//! formulas, and the sets that their tests accept. Their slow twins are those of every
//! highest-first policy (`differential.rs`).

use layland_analysis::{SchedulabilityTest, Verdict, top_first};
use layland_checker::check;
use layland_guarantee::{AssessOptions, assess};
use layland_model::{Duration, JobOrder, Rate, ScheduleRule, Service, System, Task, TaskId, Time};
use layland_offline::top;
use layland_sim::{SimOptions, simulate, with_random_ranks};
use layland_testkit::cases::{Deadlines, on_random, run, some_sporadic, systems};
use layland_testkit::registry;
use layland_testkit::strategies::{periodic_system, rich_system};
use layland_trace::{Counters, Trace};
use proptest::prelude::*;

const POLICIES: [&str; 7] =
    ["edf-us", "edf-us:zeta=1/2", "fpedf", "edf-k", "edf-k:k=2", "rm-us", "rm-us:zeta=1/4"];

fn system(cpus: usize, tasks: &[(i64, i64)]) -> System {
    let task = |(at, &(c, t)): (usize, &(i64, i64))| {
        Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(t))
    };
    System::new(cpus, tasks.iter().enumerate().map(task).collect())
}

/// Returns the tasks that come first under a policy.
fn class(spec: &str, system: &System) -> Vec<u32> {
    let policy = registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"));
    match policy.rule() {
        ScheduleRule::HighestFirst { order: JobOrder::TopFirst { top, .. }, .. } => {
            top.into_iter().map(|task| task.0).collect()
        }
        rule => panic!("{spec} promises {rule:?}"),
    }
}

fn misses(counters: &Counters) -> bool {
    counters.total().missed > 0
}

fn late(spec: &str, system: &System) -> bool {
    misses(&run(system, spec, 120, 0))
}

/// Dhall and Liu's effect: EDF starts the heavy task at 1, too late for its deadline.
#[test]
fn the_heavy_task_of_dhall_and_liu_never_waits() {
    let dhall = system(2, &[(1, 5), (1, 5), (6, 6)]);
    assert!(late("g-edf", &dhall));
    for spec in ["edf-us", "fpedf", "edf-k"] {
        assert_eq!(class(spec, &dhall), [2], "{spec}");
        assert!(!late(spec, &dhall), "{spec}");
    }
    // U_1 = 1 leaves nothing for others. Beyond the second task there is 1/5, which needs 1/4 of a CPU.
    assert_eq!(top::smallest_k(&dhall), Some(2));
}

/// The printed bound of EDF-US[1/2] needs fewer than `m` tasks above 1/2. Here two of them occupy both CPUs.
#[test]
fn edf_us_with_a_half_misses_at_its_printed_bound() {
    let set = system(2, &[(1, 6), (8, 12), (10, 15)]);
    let utilization: Rate = set.tasks.values().map(Task::utilization).sum();
    assert_eq!(utilization, Rate::new(3, 2));
    assert_eq!(class("edf-us:zeta=1/2", &set), [1, 2]);
    assert!(late("edf-us:zeta=1/2", &set));
    assert_eq!(class("fpedf", &set).len(), 1);
    assert!(!late("fpedf", &set));
    let assessed = |spec: &str| {
        assess(registry(), spec, &set, &AssessOptions::by_tests()).map(|found| found.verdict)
    };
    assert_eq!(assessed("fpedf"), Ok(Verdict::Yes));
    assert_ne!(assessed("edf-us:zeta=1/2"), Ok(Verdict::Yes));
}

/// `m^2 / (3 m - 2)` is 1 on one CPU, but RM does not have this bound.
#[test]
fn rm_us_has_no_bound_on_one_cpu() {
    let set = system(1, &[(2, 4), (3, 6)]);
    assert!(late("rm-us", &set));
    assert_eq!(top_first::RM_US.run(&set).unwrap().verdict, Verdict::Unknown);
}

/// A class with more tasks than CPUs: its tasks compete by rank, and no task below them is in time.
#[test]
fn more_tasks_than_cpus_can_come_first() {
    let set = system(2, &[(2, 3), (2, 3), (2, 3)]);
    assert_eq!(class("edf-us:zeta=1/2", &set), [0, 1, 2]);
    let assessed = assess(registry(), "edf-us:zeta=1/2", &set, &AssessOptions::by_tests()).unwrap();
    assert_ne!(assessed.verdict, Verdict::Yes);
}

/// Returns true if the density exceeds `zeta`, with integers only.
fn is_above(task: &Task, zeta: (i64, i64)) -> bool {
    let d = task.deadline.min(task.period).ns();
    i128::from(task.own_wcet().ns()) * i128::from(zeta.1) > i128::from(d) * i128::from(zeta.0)
}

/// The classes and tests by their formulas, with fractions over one denominator.
mod slow {
    use super::*;

    pub(super) fn above(system: &System, zeta: (i64, i64)) -> Vec<u32> {
        let tasks = system.tasks.iter();
        tasks.filter(|(_, task)| is_above(task, zeta)).map(|(id, _)| id.0).collect()
    }

    /// Sorts by selection: it repeatedly takes the largest of the remaining tasks.
    pub(super) fn by_utilization(system: &System) -> Vec<TaskId> {
        let mut left: Vec<TaskId> = system.tasks.ids().collect();
        let mut order = Vec::new();
        while let Some(&first) = left.first() {
            let larger = |a: TaskId, b: TaskId| {
                let [a, b] = [a, b].map(|id| (id, &system.tasks[id]));
                let fraction = |task: &Task| {
                    let d = task.deadline.min(task.period).ns();
                    (i128::from(task.own_wcet().ns()), i128::from(d))
                };
                let ((c_a, d_a), (c_b, d_b)) = (fraction(a.1), fraction(b.1));
                let by_rank = (a.1.rank, a.0) < (b.1.rank, b.0);
                c_a * d_b > c_b * d_a || c_a * d_b == c_b * d_a && by_rank
            };
            let largest = left.iter().fold(first, |a, &b| if larger(b, a) { b } else { a });
            left.retain(|&id| id != largest);
            order.push(largest);
        }
        order
    }

    /// `m >= k - 1 + ceil(U_{>k} / (1 - u_k))`, as printed.
    pub(super) fn passes(system: &System, k: usize) -> bool {
        let order = by_utilization(system);
        let u = |id: &TaskId| system.tasks[*id].density();
        let beyond: Rate = order[k..].iter().map(u).sum();
        let m = system.platform.cpu_count() as i64;
        let room = &Rate::ONE - &u(&order[k - 1]);
        if room <= Rate::ZERO {
            return room == Rate::ZERO && beyond == Rate::ZERO && m >= k as i64 - 1;
        }
        (&beyond / &room).ceil().is_some_and(|ceil| m >= k as i64 - 1 + ceil)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn classes_are_their_definitions(
        set in systems(1..5, 8, 10..110, Deadlines::Implicit), seed in any::<u64>(),
    ) {
        let set = with_random_ranks(&set, seed);
        let m = set.platform.cpu_count() as i64;
        prop_assert_eq!(class("edf-us", &set), slow::above(&set, (m, 2 * m - 1)));
        prop_assert_eq!(class("edf-us:zeta=1/2", &set), slow::above(&set, (1, 2)));
        prop_assert_eq!(class("rm-us", &set), slow::above(&set, (m, 3 * m - 2)));
        let order = slow::by_utilization(&set);
        prop_assert_eq!(&top::by_utilization(&set), &order);
        let sorted = |mut tasks: Vec<u32>| {
            tasks.sort_unstable();
            tasks
        };
        let largest = order.iter().take(m as usize - 1);
        let heavy = largest.filter(|&&id| is_above(&set.tasks[id], (1, 2))).map(|id| id.0);
        prop_assert_eq!(class("fpedf", &set), sorted(heavy.collect()));
        let ks = 1..=order.len().min(m as usize);
        let smallest = ks.into_iter().find(|&k| slow::passes(&set, k));
        prop_assert_eq!(top::smallest_k(&set), smallest);
        match smallest {
            Some(k) => {
                let first = order[..k - 1].iter().map(|id| id.0).collect();
                prop_assert_eq!(class("edf-k", &set), sorted(first));
            }
            None => prop_assert!(registry().build("edf-k", &set).is_err()),
        }
    }

    /// Includes overruns, requests, and simultaneous events in any order.
    #[test]
    fn rich_systems_are_clean(set in rich_system(), seed in any::<u64>()) {
        let set = with_random_ranks(&set, seed);
        for spec in POLICIES {
            let Ok(policy) = registry().build(spec, &set) else { continue };
            let rule = policy.rule();
            for explore in [None, Some(seed)] {
                let options = SimOptions { seed, explore, ..SimOptions::until(Time::from_ns(120)) };
                let mut trace = Trace::default();
                simulate(&set, policy.clone(), &mut trace, &options).expect("it is in range");
                let report = check(&trace, &set, &rule, 5);
                prop_assert!(report.is_clean(), "{}: {}\n{:#?}", spec, report, set);
            }
        }
    }

    /// Without tasks in the class, the policy is global EDF.
    #[test]
    fn without_a_class_it_is_global_edf(set in periodic_system()) {
        let options = SimOptions::until(Time::from_ns(120));
        let trace = |spec: &str| {
            let mut trace = Trace::default();
            let policy = registry().build(spec, &set).expect("it takes every system");
            simulate(&set, policy, &mut trace, &options).expect("it is in range");
            trace
        };
        let (edf, none) = (trace("g-edf"), trace("edf-us:zeta=1000"));
        prop_assert_eq!(edf.segments, none.segments);
        prop_assert_eq!(trace("g-rm").segments, trace("rm-us:zeta=1000").segments);
    }
}

/// A set that a bound accepts never misses a deadline, whatever the offsets and separations.
#[test]
fn what_the_bounds_accept_never_misses() {
    let tests: [(SchedulabilityTest, &str); 4] = [
        (top_first::EDF_US, "edf-us"),
        (top_first::FPEDF, "fpedf"),
        (top_first::EDF_K, "edf-k"),
        (top_first::RM_US, "rm-us"),
    ];
    for (test, policy) in tests {
        let inputs = (systems(1..5, 8, 10..75, Deadlines::Implicit), any::<u8>(), any::<u64>());
        on_random(3_000, 150, inputs, |(set, sporadic, seed)| {
            let accepted = test.run(&set).is_ok_and(|found| found.verdict == Verdict::Yes);
            if accepted {
                prop_assert!(!misses(&run(&set, policy, 400, 0)), "{}: {:#?}", test.name, set);
                let sporadic = some_sporadic(set, sporadic);
                prop_assert!(!misses(&run(&sporadic, policy, 600, seed)), "{}", test.name);
            }
            Ok(accepted)
        });
    }
}

/// The verdicts about the other tasks on the CPUs that the class leaves hold, also for shorter
/// deadlines and any class.
#[test]
fn what_is_left_to_the_others_is_enough() {
    for policy in POLICIES {
        let inputs = prop_oneof![
            systems(2..5, 8, 10..90, Deadlines::Implicit),
            systems(2..5, 8, 10..90, Deadlines::Constrained),
        ];
        on_random(1_200, 100, (inputs, any::<u8>(), any::<u64>()), |(set, sporadic, seed)| {
            let set = with_random_ranks(&set, seed);
            let found = match assess(registry(), policy, &set, &AssessOptions::by_tests()) {
                Ok(found) if found.verdict == Verdict::Yes => found,
                Ok(_) | Err(_) => return Ok(false),
            };
            let by = found.decided_by;
            prop_assert!(!misses(&run(&set, policy, 400, 0)), "{} {:?}: {:#?}", policy, by, set);
            let sporadic = some_sporadic(set, sporadic);
            let trace = run(&sporadic, policy, 600, seed);
            prop_assert!(!misses(&trace), "{} {:?}: {:#?}", policy, by, sporadic);
            Ok(true)
        });
    }
}

/// With the capacity below the class, EDF-US[1/2] has its bound while fewer than `m` tasks come
/// first. The test of the others also accepts all sets that the published bounds of the EDF
/// policies accept.
#[test]
fn the_bounds_follow_from_what_is_left() {
    let inputs = systems(2..5, 8, 10..75, Deadlines::Implicit);
    on_random(3_000, 300, inputs, |set| {
        let m = set.platform.cpu_count();
        let utilization: Rate = set.tasks.values().map(Task::utilization).sum();
        let says = |spec: &str, test: &str| {
            let options =
                AssessOptions { tests: vec![test.to_owned()], ..AssessOptions::by_tests() };
            assess(registry(), spec, &set, &options).is_ok_and(|it| it.verdict == Verdict::Yes)
        };
        if top::above(&set, &Rate::new(1, 2)).len() < m && utilization <= Rate::new(m as i64 + 1, 2)
        {
            prop_assert!(says("edf-us:zeta=1/2", "GFB"), "{:#?}", set);
        }
        let mut accepted = false;
        for (test, spec) in [
            (top_first::EDF_US, "edf-us"),
            (top_first::FPEDF, "fpedf"),
            (top_first::EDF_K, "edf-k"),
        ] {
            if test.run(&set).is_ok_and(|found| found.verdict == Verdict::Yes) {
                accepted = true;
                prop_assert!(says(spec, "GFB"), "{}: {:#?}", spec, set);
            }
        }
        Ok(accepted)
    });
}

/// The class is decided before the start, so a newcomer and other parameters are rejected.
#[test]
fn nobody_comes_later() {
    use layland_model::{Change, Request, RequestKind};
    let mut set = system(2, &[(1, 5), (1, 5), (6, 6)]);
    let [wcet, period] = [3, 6];
    set.requests = vec![Request {
        at: Time::from_ns(7),
        kind: RequestKind::Reconfigure(
            TaskId(0),
            Change::Parameters {
                wcet: Service::from_ns(wcet),
                period: Duration::from_ns(period),
                deadline: Duration::from_ns(period),
            },
        ),
    }];
    for spec in ["edf-us", "fpedf", "edf-k", "rm-us"] {
        let mut trace = Trace::default();
        let policy = registry().build(spec, &set).expect("it takes the set");
        simulate(&set, policy, &mut trace, &SimOptions::until(Time::from_ns(60)))
            .expect("in range");
        let [answer] = trace.answers.as_slice() else { panic!("{:?}", trace.answers) };
        let reason = format!("{spec} decides before the start which tasks come first");
        assert_eq!(answer.refused.as_deref(), Some(reason.as_str()));
    }
}
