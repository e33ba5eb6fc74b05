//! CPUs of different speeds that share tasks: the tests are sound, and the placement has the properties
//! that their proofs need.

use layland_analysis::{Reason, Verdict, necessary};
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Behaviour, CpuId, Duration, OnMiss, Platform, Rate, Separation, Service, Speed, System, Task,
    TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::cases::on_random;
use layland_testkit::registry;
use layland_testkit::strategies::periodic_system;
use layland_trace::Trace;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Speeds = Vec<(i64, i64)>;

fn speeds() -> impl Strategy<Value = Speeds> {
    prop::collection::vec(prop_oneof![(1i64..7, 1i64..7), (1i64..1000, Just(1000))], 4)
}

fn with_speeds(mut system: System, speeds: &Speeds) -> System {
    for (speed, &(n, d)) in system.platform.speeds.values_mut().zip(speeds) {
        *speed = Speed::new(&Rate::new(n, d)).unwrap();
    }
    for task in system.tasks.values_mut() {
        task.on_miss = OnMiss::Continue;
    }
    system
}

/// Gives every task room, so that tests accept often.
fn lighter(mut system: System, factor: i64) -> System {
    for task in system.tasks.values_mut() {
        let deadline = task.deadline.min(task.period).ns() * factor;
        (task.period, task.deadline) =
            (Duration::from_ns(task.period.ns() * factor), Duration::from_ns(deadline));
    }
    system
}

fn run(spec: &str, system: &System, seed: u64, until: i64) -> Trace {
    let policy = registry().build(spec, system).unwrap();
    let rule = policy.rule();
    let mut trace = Trace::default();
    let options = SimOptions { seed, ..SimOptions::until(Time::from_ns(until)) };
    simulate(system, policy, &mut trace, &options).unwrap();
    let report = layland_checker::check(&trace, system, &rule, 3);
    assert!(report.is_clean(), "{spec}: {report}\n{system:?}");
    trace
}

/// Returns the end of each job, [`Time::NEVER`] for those that do not end.
fn ends(trace: &Trace) -> BTreeMap<(TaskId, u64), Time> {
    let end = |record: &layland_trace::JobRecord| record.end.map_or(Time::NEVER, |(at, _)| at);
    trace.jobs.iter().map(|record| ((record.job.id.task, record.job.id.seq), end(record))).collect()
}

const SPECS: [&str; 8] = [
    "g-edf",
    "g-rm",
    "g-dm",
    "g-fp",
    "c-edf",
    "g-edf:place=locality",
    "g-fp:place=locality",
    "g-edf:tie=running",
];

/// No accepted set is late, and no response exceeds its bound, whether jobs arrive together, at other
/// offsets or later.
#[test]
fn accepted_sets_are_not_late_and_bounds_hold() {
    let counts = std::cell::RefCell::new(BTreeMap::<&str, u32>::new());
    let draws = (periodic_system(), speeds(), 1i64..6, any::<u64>());
    on_random(2_000, 250, draws, |(system, speeds, factor, seed)| {
        let system = lighter(with_speeds(system, &speeds), factor);
        let mut accepted = false;
        for spec in SPECS {
            let found = assess(registry(), spec, &system, &AssessOptions::by_tests()).unwrap();
            if found.verdict == Verdict::Yes {
                *counts.borrow_mut().entry(found.decided_by.unwrap_or("none")).or_default() += 1;
                accepted = true;
            }
            let mut together = system.clone();
            together.tasks.values_mut().for_each(|task| task.offset = Duration::ZERO);
            let mut apart = system.clone();
            for task in apart.tasks.values_mut() {
                let max = Duration::from_ns(3);
                task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
            }
            for runs in [&system, &together, &apart] {
                let trace = run(spec, runs, seed, 250);
                for record in &trace.jobs {
                    let task = record.job.id.task;
                    let late = record.missed(trace.over);
                    prop_assert!(
                        !(late && found.verdict == Verdict::Yes),
                        "{spec}: {:?} by {:?}: {record:?}\n{runs:?}",
                        found.verdict,
                        found.decided_by
                    );
                    let Some((end, _)) = record.end else { continue };
                    let holds = match &found.bounds[task] {
                        Bound::Response { within, .. } => end - record.job.arrival <= *within,
                        Bound::Tardiness { within, .. } => {
                            Rate::whole((end - record.job.deadline).ns()) <= *within
                        }
                        Bound::Unknown => true,
                    };
                    prop_assert!(holds, "{spec}: {:?}: {record:?}\n{runs:?}", found.bounds[task]);
                }
            }
        }
        Ok(accepted)
    });
    let counts = counts.into_inner();
    for by in ["GFB", "U-GFB", "U-BAR", "U-RTA-LC-RM", "U-RTA-LC-FP"] {
        assert!(counts.get(by).is_some_and(|&count| count > 0), "{by} decides nothing: {counts:?}");
    }
}

/// No set is late that one of the tests accepts by itself.
#[test]
fn each_test_alone_is_sound() {
    let counts = std::cell::RefCell::new(BTreeMap::<&str, u32>::new());
    let draws = (periodic_system(), speeds(), 2i64..6, any::<u64>());
    on_random(3_000, 300, draws, |(system, speeds, factor, seed)| {
        let mut system = lighter(with_speeds(system, &speeds), factor);
        system.tasks.values_mut().for_each(|task| task.offset = Duration::ZERO);
        let mut accepted = false;
        for (spec, test) in [
            ("g-edf", "U-GFB"),
            ("g-edf", "U-LOAD"),
            ("g-edf", "U-BCL"),
            ("g-edf", "U-BAR"),
            ("g-dm", "U-RTA-LC-DM"),
        ] {
            let options =
                AssessOptions { tests: vec![test.to_owned()], ..AssessOptions::by_tests() };
            let found = assess(registry(), spec, &system, &options).unwrap();
            if found.verdict == Verdict::Yes {
                accepted = true;
                *counts.borrow_mut().entry(test).or_default() += 1;
                let trace = run(spec, &system, seed, 250);
                let is_late = trace.jobs.iter().any(|record| record.missed(trace.over));
                prop_assert!(!is_late, "{test}: {system:?}");
            }
        }
        Ok(accepted)
    });
    let counts = counts.into_inner();
    assert!(counts.len() == 5 && counts.values().all(|&count| count > 50), "{counts:?}");
}

/// Where CAPACITY says *no* by the demand in an interval, a job is late when all tasks come together, and
/// the verifier's count agrees.
#[test]
fn too_much_demand_is_late() {
    let kinds = std::cell::RefCell::new([0u32; 2]);
    // A fast CPU and slow ones, and tasks of which each alone fits the fast one.
    let more = prop_oneof![Just(0i64), 0i64..30];
    let task = (20i64..101, 2i64..20, more);
    let draws = (2i64..9, 1i64..3, 2usize..5, prop::collection::vec(task, 2..6));
    on_random(2_000, 200, draws, |(fast, slow, cpus, tasks)| {
        let tasks = tasks.into_iter().enumerate().map(|(at, (share, deadline, more))| {
            let wcet = Service::from_ns((deadline * fast * share / 100).max(1));
            let period = Duration::from_ns(deadline + more);
            let deadline = Duration::from_ns(deadline);
            Task { deadline, ..Task::implicit(format!("t{at}"), wcet, period) }
        });
        let speeds: Speeds = (0..4).map(|at| (if at == 0 { fast } else { slow }, 1)).collect();
        let system = with_speeds(System::new(cpus, tasks.collect()), &speeds);
        let finding = necessary::TEST.run(&system).unwrap();
        let Some(Reason::Largest { interval, count, cpus, value, bound }) = finding.reasons.first()
        else {
            return Ok(false);
        };
        prop_assert_eq!(finding.verdict, Verdict::No);
        kinds.borrow_mut()[usize::from(interval.is_some())] += 1;
        let Some(t) = *interval else { return Ok(true) };
        // Each job by itself, each CPU nanosecond by nanosecond.
        let demand = |task: &Task| {
            let due = |job: &i64| job * task.period.ns() + task.deadline.ns() <= t.ns();
            (0..).take_while(due).count() as i64 * task.own_wcet().ns()
        };
        let mut demands: Vec<i64> = system.tasks.values().map(demand).collect();
        demands.sort_unstable_by_key(|&demand| std::cmp::Reverse(demand));
        let sum: i64 = demands[..*count].iter().sum();
        let rates = cpus.iter().map(|cpu| system.platform.speeds[cpu].rate());
        let work = &rates.sum::<Rate>() * &Rate::whole(t.ns());
        prop_assert_eq!((&*value.exact(), &*bound.exact()), (&Rate::whole(sum), &work));
        prop_assert!(Rate::whole(sum) > work);
        for spec in ["g-edf", "g-dm", "g-edf:place=locality"] {
            let late = |record: &layland_trace::JobRecord| record.missed(Time::ZERO + t);
            let trace = run(spec, &system, 0, t.ns() + 1);
            prop_assert!(trace.jobs.iter().any(late), "{spec}: {system:?}");
        }
        Ok(true)
    });
    let [by_level, by_demand] = kinds.into_inner();
    assert!(by_level > 50 && by_demand > 50, "{by_level} by level, {by_demand} by demand");
}

/// Shorter jobs, and more CPUs that are slower than all others, make no job later.
#[test]
fn shorter_jobs_and_slower_cpus_make_no_job_later() {
    let draws = (periodic_system(), speeds(), prop::collection::vec(any::<u8>(), 8), 1i64..5);
    on_random(2_000, 800, draws, |(system, speeds, shorter, slower)| {
        let system = with_speeds(system, &speeds);
        let mut changed = false;
        for spec in ["g-edf", "g-rm", "g-fp"] {
            let before = ends(&run(spec, &system, 0, 120));
            let mut short = system.clone();
            for (task, &by) in short.tasks.values_mut().zip(&shorter) {
                let wcet = task.own_wcet().ns();
                task.wcet = vec![Service::from_ns(wcet - i64::from(by) % wcet)].into();
            }
            let mut more = system.clone();
            let cpus = system.platform.cpu_count();
            let least = system.platform.speeds.values().map(|speed| speed.rate()).min().unwrap();
            more.platform = Platform::identical(cpus + 1);
            for cpu in system.platform.cpus() {
                more.platform.speeds[cpu] = system.platform.speeds[cpu];
            }
            let speed = &least / &Rate::whole(slower);
            more.platform.speeds[CpuId(cpus as u32)] = Speed::new(&speed).unwrap();
            for other in [&short, &more] {
                for (job, end) in ends(&run(spec, other, 0, 120)) {
                    let earlier = before.get(&job).copied().unwrap_or(Time::NEVER);
                    prop_assert!(
                        end <= earlier,
                        "{spec}: {job:?} ends at {end}, {earlier} before\n{other:?}"
                    );
                    changed |= end < earlier;
                }
            }
        }
        Ok(changed)
    });
}

/// Both fail where jobs stay where they run.
#[test]
fn neither_holds_where_jobs_stay() {
    let ns = Duration::from_ns;
    let task = |name: &str, release: i64, wcet: i64, deadline: i64| layland_model::Task {
        offset: ns(release),
        deadline: ns(deadline),
        jobs: Some(1),
        ..layland_model::Task::implicit(name, Service::from_ns(wcet), ns(100))
    };
    let of = |first: i64| {
        let tasks = vec![task("a", 0, first, 3), task("b", 2, 1, 12), task("c", 2, 1, 12)];
        with_speeds(System::new(2, tasks), &vec![(1, 2), (2, 1)])
    };
    let last =
        |spec: &str, first: i64| *ends(&run(spec, &of(first), 0, 20)).values().max().unwrap();
    assert_eq!(last("g-edf:place=locality", 2), Time::from_ns(4));
    assert_eq!(
        ends(&run("g-edf:place=locality", &of(2), 0, 20))[&(TaskId(1), 0)],
        Time::from_ns(3)
    );
    let (long, short) = (of(2), of(1));
    let end = |system: &System, spec: &str| {
        ends(&run(spec, system, 0, 20)).into_values().collect::<Vec<_>>()
    };
    let is_later = |spec: &str| {
        end(&short, spec).iter().zip(end(&long, spec)).any(|(short, long)| *short > long)
    };
    assert!(is_later("g-edf:place=locality"));
    assert!(!is_later("g-edf"));
}
