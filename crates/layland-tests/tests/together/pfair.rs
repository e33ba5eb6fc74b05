//! PD2 and ER-PD2: the worked examples, their rule and their slow twin on random systems, and the
//! necessary tie rules.

use layland_checker::check;
use layland_gen::{Aspect, Random};
use layland_model::{
    Behaviour, CpuId, Duration, ExecutionModel, Rate, Request, RequestKind, ScheduleRule,
    Separation, Service, System, Task, TaskId, Time,
};
use layland_policy::Policy;
use layland_sim::{Horizon, SimOptions, simulate};
use layland_testkit::logged::{Logged, first_divergence};
use layland_testkit::optimal::draw::{self, Drawn};
use layland_testkit::optimal::slow_pd2::{Slotted, slots};
use layland_testkit::registry;
use layland_trace::{NoRecord, Trace};

const POLICIES: [(&str, bool); 2] = [("pd2", false), ("er-pd2", true)];

fn build(spec: &str, system: &System) -> Box<dyn Policy> {
    registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn run(system: &System, policy: impl Policy, options: &SimOptions<'_>) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

fn set(cpus: usize, tasks: &[(i64, i64)]) -> System {
    let task = |(index, &(c, t)): (usize, &(i64, i64))| {
        Task::implicit(format!("t{index}"), Service::from_ns(c), Duration::from_ns(t))
    };
    System::new(cpus, tasks.iter().enumerate().map(task).collect())
}

/// Start, end, CPU, task.
fn segments(trace: &Trace) -> Vec<(i64, i64, u32, u32)> {
    let row = |segment: &layland_trace::Segment| {
        (segment.start.ns(), segment.end.ns(), segment.cpu.0, segment.job.task.0)
    };
    let mut segments: Vec<_> = trace.segments.iter().map(row).collect();
    segments.sort_unstable();
    segments
}

fn late(trace: &Trace) -> usize {
    trace.jobs.iter().filter(|record| record.missed(trace.over)).count()
}

/// Three tasks of 2/3 on two CPUs: the second window of the third task ends first at 1, followed by
/// that of the first task.
#[test]
fn three_tasks_of_two_thirds_share_two_cpus() {
    let system = set(2, &[(2, 3), (2, 3), (2, 3)]);
    for (spec, _) in POLICIES {
        let policy = build(&format!("{spec}:quantum=1ns"), &system);
        let rule = policy.rule();
        let trace = run(&system, policy, &SimOptions::until(Time::from_ns(3)));
        let expected = [(0, 2, 0, 0), (0, 1, 1, 1), (1, 3, 1, 2), (2, 3, 0, 1)];
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(segments(&trace), expected, "{spec}");
        assert!(check(&trace, &system, &rule, 3).is_clean());
    }
}

/// With early releases a single job runs at once. Without them, each subtask waits for its window.
#[test]
fn subtasks_wait_for_their_windows_unless_released_early() {
    let system = set(1, &[(2, 6)]);
    let ran = |spec: &str| {
        let policy = build(&format!("{spec}:quantum=1ns"), &system);
        segments(&run(&system, policy, &SimOptions::until(Time::from_ns(6))))
    };
    assert_eq!(ran("pd2"), [(0, 1, 0, 0), (3, 4, 0, 0)]);
    assert_eq!(ran("er-pd2"), [(0, 2, 0, 0)]);
}

/// Draws a system of small times: rounded or whole, constrained or late deadlines, offsets,
/// sporadic, early ends, overruns.
fn small(random: &mut Random) -> (System, Slotted) {
    let cpus = random.between(1, 4);
    let quantum = random.between(1, 5);
    let count = random.between(1, 3 * cpus + 1);
    let tasks = (0..count).map(|index| {
        let period = random.between(quantum, 12 * quantum + 3);
        let deadline = match random.below(4) {
            0 => random.between(quantum.max(period / 2), period),
            1 => random.between(period, 2 * period),
            _ => period,
        };
        let most = deadline.min(period) / quantum * quantum;
        let wcet = random.between(1, most);
        let (c, t) = (Service::from_ns(wcet), Duration::from_ns(period));
        let mut task = Task::implicit(format!("t{index}"), c, t);
        task.deadline = Duration::from_ns(deadline);
        task.rank = random.between(0, 2);
        task.offset = Duration::from_ns(random.between(0, period) * random.between(0, 1));
        match random.below(4) {
            0 => {
                let max = Duration::from_ns(random.between(0, period));
                task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
            }
            1 => {
                let (mut at, mut times) = (random.between(0, period), Vec::new());
                for _ in 0..30 {
                    times.push(Time::from_ns(at));
                    at += period + random.between(0, period) * random.between(0, 1);
                }
                task.behaviour = Behaviour::Explicit(times);
            }
            _ => {}
        }
        match random.below(6) {
            0 => {
                task.execution = ExecutionModel::Uniform {
                    min: Service::from_ns(1),
                    max: Service::from_ns(wcet),
                };
            }
            1 => task.execution = ExecutionModel::Fraction(Rate::new(3, 2)),
            _ => {}
        }
        task
    });
    let system = System::new(cpus as usize, tasks.collect());
    (system, Slotted { quantum, anywhere: random.below(2) == 0, early: false })
}

#[test]
fn their_slots_are_those_of_their_twin() {
    let (mut compared, mut loaded) = (0, 0);
    for index in 0..600 {
        let mut random = Random::new(3, index, Aspect::Utilizations);
        let (system, slotted) = small(&mut random);
        for (name, early) in POLICIES {
            let slotted = Slotted { early, ..slotted };
            let releases = if slotted.anywhere { "anywhere" } else { "slots" };
            let spec = format!("{name}:quantum={}ns:releases={releases}", slotted.quantum);
            // A window that is a slot shorter may be too short.
            let Ok(policy) = registry().build(&spec, &system) else { continue };
            let rule = policy.rule();
            let options = SimOptions { seed: index, ..SimOptions::until(Time::from_ns(200)) };
            let trace = run(&system, policy, &options);
            let report = check(&trace, &system, &rule, 3);
            assert!(report.is_clean(), "{spec}: {report}\n{system:#?}");
            let q = slotted.quantum;
            let whole = trace.over.ns() / q;
            let mut found: Vec<_> = trace
                .segments
                .iter()
                .flat_map(|segment| {
                    let (start, end) = (segment.start.ns(), segment.end.ns() - 1);
                    (start / q..=end / q).map(|slot| (slot, segment.job))
                })
                .filter(|&(slot, _)| slot < whole)
                .collect();
            found.sort_unstable();
            assert_eq!(found, slots(&system, slotted, &trace), "{spec}: {system:#?}");
            compared += found.len();
            loaded += usize::from(late(&trace) == 0);
        }
    }
    assert!(compared > 40_000 && loaded > 300, "{compared} slots, {loaded} without a miss");
}

/// If windows are shorter for tasks that may be released within slots, no job is late.
#[test]
fn releases_anywhere_cost_no_deadline() {
    let mut accepted = 0;
    for index in 0..400 {
        let mut random = Random::new(4, index, Aspect::Utilizations);
        let (mut system, Slotted { quantum, .. }) = small(&mut random);
        for task in system.tasks.values_mut() {
            if task.execution == ExecutionModel::Fraction(Rate::new(3, 2)) {
                task.execution = ExecutionModel::Wcet;
            }
        }
        for (name, _) in POLICIES {
            let spec = format!("{name}:quantum={quantum}ns:releases=anywhere");
            let assess = layland_guarantee::AssessOptions::by_tests();
            let found = layland_guarantee::assess(registry(), &spec, &system, &assess).unwrap();
            if found.verdict != layland_analysis::Verdict::Yes {
                continue;
            }
            accepted += 1;
            let options = SimOptions { seed: index, ..SimOptions::until(Time::from_ns(400)) };
            let trace = run(&system, build(&spec, &system), &options);
            assert_eq!(late(&trace), 0, "{spec}: {system:#?}");
        }
    }
    assert!(accepted > 100, "{accepted}");
}

/// Both tie rules are needed. Without one of them these sets are late (the b-bit at three CPUs, the
/// group deadline at six).
#[test]
fn ties_are_broken_as_they_must() {
    let systems = [
        set(3, &[(3, 4), (11, 12), (5, 6), (6, 12)]),
        set(6, &[(55, 60), (7, 10), (1, 2), (5, 6), (1, 2), (3, 10), (11, 12), (1, 2), (5, 6)]),
    ];
    for system in systems {
        for (name, _) in POLICIES {
            let policy = build(&format!("{name}:quantum=1ns"), &system);
            assert_eq!(late(&run(&system, policy, &SimOptions::until(Time::from_ns(600)))), 0);
        }
    }
}

/// An overrun of one task never makes another task miss a deadline, and its windows are at its own rate.
#[test]
fn an_overrun_is_the_problem_of_its_task_alone() {
    for index in 0..60 {
        let mut random = Random::new(5, index, Aspect::Utilizations);
        let Drawn { mut system, until } = draw::in_slots(&mut random, false);
        system.tasks.values_mut().next().unwrap().execution =
            ExecutionModel::Fraction(Rate::new(3, 2));
        for (name, _) in POLICIES {
            let policy = build(&format!("{name}:quantum=1ns"), &system);
            let rule = policy.rule();
            let trace = run(&system, policy, &SimOptions::until(until));
            let others = |record: &&layland_trace::JobRecord| record.job.id.task != TaskId(0);
            let late = trace.jobs.iter().filter(others).filter(|record| record.missed(until));
            assert_eq!(late.count(), 0, "{name}: {system:#?}");
            let report = check(&trace, &system, &rule, 3);
            assert!(report.is_clean(), "{name}: {report}\n{system:#?}");
        }
    }
}

/// With CPUs that go offline, tasks that leave, and simultaneous events in any order, a clone in
/// the middle acts equally.
#[test]
fn trouble_breaks_nothing() {
    for index in 0..60 {
        let mut random = Random::new(6, index, Aspect::Utilizations);
        let Drawn { mut system, until } = draw::in_slots(&mut random, index % 2 == 0);
        let at = |share: i64| Time::from_ns(until.ns() * share / 7);
        system.requests = vec![
            Request { at: at(1), kind: RequestKind::CpuOffline(CpuId(0)) },
            Request { at: at(2), kind: RequestKind::Leave(TaskId(1)) },
            Request { at: at(4), kind: RequestKind::CpuOnline(CpuId(0)) },
        ];
        for (name, _) in POLICIES {
            for quantum in [1, 3] {
                let spec = format!("{name}:quantum={quantum}ns");
                let Ok(policy) = registry().build(&spec, &system) else { continue };
                let rule = policy.rule();
                let logged = Logged::new(policy.clone());
                let log = logged.log();
                let options = SimOptions { explore: Some(index), ..SimOptions::until(until) };
                let report = check(&run(&system, logged, &options), &system, &rule, 3);
                assert!(report.is_clean(), "{spec}: {report}\n{system:#?}");
                let log = log.lock().unwrap();
                let mut copy = policy.clone();
                let (first, rest) = log.split_at(log.len() / 2);
                assert_eq!(first_divergence(&mut copy, first), None, "{spec}");
                assert_eq!(first_divergence(&mut copy.clone(), rest), None, "{spec}");
            }
        }
    }
}

#[test]
fn schedules_recur() {
    for index in 0..40 {
        let mut random = Random::new(7, index, Aspect::Utilizations);
        let Drawn { system, .. } = draw::in_slots(&mut random, false);
        if !draw::is_full(&system) {
            continue;
        }
        for (name, _) in POLICIES {
            let spec = format!("{name}:quantum=1ns");
            let horizon = Horizon::Recurrence { at_most: Time::from_ns(1 << 40) };
            let options = SimOptions { horizon, ..SimOptions::until(Time::ZERO) };
            let outcome =
                simulate(&system, build(&spec, &system), &mut NoRecord, &options).unwrap();
            let cycle = outcome.cycle.expect("there are few states");
            let (from, length) = (cycle.from.ns(), cycle.length.ns());
            let until = SimOptions::until(Time::from_ns(from + 2 * length));
            let trace = run(&system, build(&spec, &system), &until);
            let window = |from: i64| -> Vec<_> {
                let all = segments(&trace).into_iter();
                all.filter(|&(start, end, ..)| end > from && start < from + length)
                    .map(|(start, end, cpu, task)| {
                        (start.max(from) - from, end.min(from + length) - from, cpu, task)
                    })
                    .collect()
            };
            assert_eq!(window(from), window(from + length), "{spec}: {system:#?}");
        }
    }
}

/// A schedule without whole slots, or with a subtask that is moved into another window, violates the rule.
#[test]
fn the_rule_finds_what_is_moved() {
    let system = set(1, &[(2, 6), (1, 6)]);
    let policy = build("pd2:quantum=1ns", &system);
    let rule = policy.rule();
    let trace = run(&system, policy, &SimOptions::until(Time::from_ns(6)));
    assert!(check(&trace, &system, &rule, 3).is_clean());
    // t0 runs in [0, 1) and [3, 4), t1 in [1, 2).
    let mut early = trace.clone();
    let second = early.segments.iter().position(|segment| segment.start.ns() == 3).unwrap();
    early.segments[second].start = Time::from_ns(2);
    early.segments[second].end = Time::from_ns(3);
    let of_t0 = |record: &&mut layland_trace::JobRecord| record.job.id.task == TaskId(0);
    let job = early.jobs.iter_mut().find(of_t0).unwrap();
    job.end = job.end.map(|(_, how)| (Time::from_ns(3), how));
    let report = check(&early, &system, &rule, 3);
    let says = "t0#1: slot 2 of it is to lie from 3ns to 6ns, and it gets the one at 2ns";
    assert!(report.to_string().contains(says), "{report}");
    let ScheduleRule::Pfair { groups, releases, .. } = rule else { panic!() };
    let quantum = Duration::from_ns(1);
    let with_early = ScheduleRule::Pfair { groups: groups.clone(), quantum, releases, early: true };
    assert!(check(&early, &system, &with_early, 3).is_clean());
    let longer =
        ScheduleRule::Pfair { groups, quantum: Duration::from_ns(2), releases, early: true };
    let report = check(&trace, &system, &longer, 9);
    assert!(
        report.to_string().contains("t1#1 begins running on CPU 0 at 1ns, within a slot"),
        "{report}"
    );
}

#[test]
fn refusals_name_the_task_and_the_reason() {
    let mut system = set(2, &[(7, 8), (1, 8)]);
    let refusal = |spec: &str, system: &System| match registry().build(spec, system) {
        Ok(_) => panic!("{spec} was built"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        refusal("pd2:quantum=3ns", &system),
        "task `t0`: it needs 3 slots of 3ns in a window of 2: a shorter quantum rounds less"
    );
    system.tasks[TaskId(1)].jitter = Duration::from_ns(1);
    assert_eq!(
        refusal("er-pd2", &system),
        "task `t1` has a jitter of 1ns: er-pd2 needs jobs that are ready when they arrive"
    );
    let odd = set(1, &[(1, 1_000_003), (1, 1_000_033)]);
    assert!(refusal("pd2", &odd).contains("give a quantum, as in quantum=1ms"));
}
