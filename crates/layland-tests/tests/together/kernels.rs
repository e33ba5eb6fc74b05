//! Versions of Linux differ in the effects of `sched_setattr` and `sched_setaffinity` on a running
//! server. Tests each probe of 6.12, 6.18 and 7.2 as measured, and the examples of Tang, Anderson
//! and Abeni (RTNS 2021) on each version.

use layland_checker::check;
use layland_config::{Format, Host, demo, read};
use layland_model::{
    Behaviour, Change, CpuId, CpuSet, Duration, Note, Request, RequestKind, Service, System, Task,
    TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::{JobEnd, JobRecord, MarkKind, Trace};

const VERSIONS: [&str; 4] = ["5.4", "6.12", "6.18", "7.2"];

fn run(system: &System, policy: &str, until_ms: i64) -> Trace {
    assert_eq!(system.validate(), []);
    let policy = registry().build(policy, system).expect("the policy takes the system");
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(Time::from_ms(until_ms))).unwrap();
    let report = check(&trace, system, &layland_model::ScheduleRule::None, 5);
    assert!(report.is_clean(), "{report}");
    trace
}

fn example(name: &str) -> System {
    let demo = demo(name).expect("a bundled task set");
    let loaded = read(name, demo.text.as_bytes(), Format::Toml, &Host::default());
    loaded.unwrap_or_else(|report| panic!("{}", report.plain())).system
}

fn hog(name: &str, wcet: i64, period: i64, offset: i64, mask: &str) -> Task {
    let mut task = Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period));
    task.offset = Duration::from_ms(offset);
    task.behaviour = Behaviour::Hog;
    task.affinity = Some(mask.parse().unwrap());
    task
}

fn ask(at: i64, task: u32, change: Change) -> Request {
    let kind = RequestKind::Reconfigure(TaskId(task), change);
    Request { at: Time::from_ms(at), kind }
}

fn parameters(wcet: i64, period: i64) -> Change {
    let period = Duration::from_ms(period);
    Change::Parameters { wcet: Service::from_ms(wcet), period, deadline: period }
}

fn affinity(mask: &str) -> Change {
    Change::Affinity(mask.parse().unwrap())
}

// ---------------------------------------------------------------------------------------------
// The probes
// ---------------------------------------------------------------------------------------------

/// The effect of a call on the first server job of a thread with 80 ms every 100 ms, due at 102 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    /// The deadline and the budget stay.
    Nothing,
    /// The deadline is later by `shift`, and from the call on the job has this budget.
    Restarted { shift: i64, budget: i64 },
}

/// The probe: a blocker on CPU 0 from 0 to 80 ms, and the subject, released there at 2 ms, which runs
/// from 80 to 160 ms; CPU 1 is free. With `waits` a second blocker keeps the subject waiting until 140.
fn probe(version: &str, at: i64, change: &Change, waits: bool) -> Did {
    let mut tasks = vec![hog("blocker", 80, 100, 0, "0"), hog("subject", 80, 100, 2, "0")];
    tasks[0].rank = 0;
    tasks[1].rank = 1;
    if waits {
        // It holds the CPU from 80 on, with an earlier deadline than the subject.
        tasks.push(hog("other", 60, 100, 1, "0"));
    }
    // Only the first job of the blocker matters.
    tasks[0].behaviour = Behaviour::Periodic;
    tasks[0].jobs = Some(1);
    if let Some(other) = tasks.get_mut(2) {
        other.behaviour = Behaviour::Periodic;
        other.jobs = Some(1);
    }
    let mut system = System::new(2, tasks);
    system.requests = vec![ask(at, 1, change.clone())];
    let trace = run(&system, &format!("dl:kernel={version}"), 700);
    assert!(trace.answers.iter().all(|answer| answer.refused.is_none()), "{:?}", trace.answers);
    let subject = TaskId(1);
    // A budget without any execution by its deadline is aborted and replaced by the next one.
    let is_first = |record: &&JobRecord| {
        record.job.id.task == subject && !matches!(record.end, Some((_, JobEnd::Aborted)))
    };
    let first: &JobRecord = trace.jobs.iter().find(is_first).expect("a job");
    let shift = (first.job.deadline - Time::from_ms(102)).ns() / 1_000_000;
    // Its whole execution as this job, without its execution before the call.
    let before: i64 = trace
        .segments
        .iter()
        .filter(|segment| segment.job.task == subject)
        .map(|segment| {
            (segment.end.ns().min(at * 1_000_000) - segment.start.ns()).max(0) / 1_000_000
        })
        .sum();
    let executed = first.executed.ns() / 1_000_000;
    if shift == 0 && executed == 80 {
        return Did::Nothing;
    }
    Did::Restarted { shift, budget: executed - before }
}

const RUNNING_EARLY: i64 = 85;
const RUNNING_TARDY: i64 = 120;

/// Every row of the table, on 5.4 (as the paper describes it), 6.12, 6.18 and 7.2.
#[test]
fn each_call_does_what_was_measured() {
    let nothing = Did::Nothing;
    // A whole period of 100 ms with 80 ms, from `at` on.
    let anew = |at: i64| Did::Restarted { shift: at + 100 - 102, budget: 80 };
    let with = |at: i64, budget: i64| Did::Restarted { shift: at + 100 - 102, budget };
    let reduced = parameters(40, 100);
    let (move_it, superset) = (affinity("1"), affinity("0-1"));
    let rows: [(&str, i64, &Change, bool, [Did; 4]); 9] = [
        ("setattr, not tardy, running", RUNNING_EARLY, &reduced, false, [nothing; 4]),
        ("setattr, not tardy, waiting", 90, &reduced, true, [nothing; 4]),
        (
            "setattr, tardy, running",
            RUNNING_TARDY,
            &reduced,
            false,
            [nothing, with(120, 40), with(120, 40), with(120, 40)],
        ),
        (
            "setattr, tardy, waiting",
            RUNNING_TARDY,
            &reduced,
            true,
            [nothing, with(120, 40), with(120, 40), with(120, 40)],
        ),
        (
            "setaffinity moves it, tardy, running",
            RUNNING_TARDY,
            &move_it,
            false,
            [anew(120), anew(120), anew(120), nothing],
        ),
        (
            "setaffinity to a superset, tardy, running",
            RUNNING_TARDY,
            &superset,
            false,
            [nothing, anew(120), anew(120), nothing],
        ),
        (
            "setaffinity moves it, tardy, waiting",
            130,
            &move_it,
            true,
            [anew(130), anew(130), anew(130), nothing],
        ),
        (
            "setaffinity moves it, not tardy, running",
            RUNNING_EARLY,
            &move_it,
            false,
            [nothing, nothing, anew(85), nothing],
        ),
        (
            "setaffinity to a superset, not tardy, running",
            RUNNING_EARLY,
            &superset,
            false,
            [nothing; 4],
        ),
    ];
    for (row, at, change, waits, expected) in rows {
        for (version, expected) in VERSIONS.iter().zip(expected) {
            assert_eq!(probe(version, at, change, waits), expected, "{row} on {version}");
        }
    }
}

/// Other parameters never affect a throttled server.
#[test]
fn other_parameters_leave_a_throttled_server_alone() {
    for version in VERSIONS {
        let mut system = System::new(1, vec![hog("subject", 30, 100, 0, "0")]);
        system.requests = vec![ask(50, 0, parameters(40, 100))];
        let trace = run(&system, &format!("dl:kernel={version}"), 250);
        let times = |record: &JobRecord| (record.job.deadline, record.completion());
        let ms = Time::from_ms;
        assert_eq!(times(&trace.jobs[0]), (ms(100), Some(ms(30))), "{version}");
        assert_eq!(times(&trace.jobs[1]), (ms(200), Some(ms(140))), "{version}");
    }
}

/// Each difference has its own option, which overrides the version.
#[test]
fn versions_are_the_sums_of_their_differences() {
    let same = [
        ("dl:kernel=5.4", "dl"),
        ("dl:kernel=6.12", "dl:setattr_tardy=restart:affinity_tardy=any"),
        ("dl:kernel=6.18", "dl:setattr_tardy=restart:affinity_tardy=any:affinity_early=wake-up"),
        ("dl:kernel=7.2", "dl:setattr_tardy=restart:affinity_tardy=keep"),
        (
            "dl:kernel=5.4",
            "dl:kernel=6.18:setattr_tardy=keep:affinity_tardy=moved:affinity_early=keep",
        ),
    ];
    for name in ["parameter-defect", "starvation-defect", "cluster-defect"] {
        let system = example(name);
        for (one, other) in same {
            assert_eq!(run(&system, one, 660), run(&system, other, 660), "{name}: {one}");
        }
    }
}

// ---------------------------------------------------------------------------------------------
// The examples
// ---------------------------------------------------------------------------------------------

/// Returns a version as it is, and with the differences that the paper omits for all versions.
fn forms(version: &str) -> [String; 2] {
    [format!("dl:kernel={version}"), format!("dl:kernel={version}:tie=fifo:lag_reset=on")]
}

#[test]
fn examples_5_and_6_are_on_every_version() {
    for spec in VERSIONS.iter().flat_map(|version| forms(version)) {
        let late = run(&example("affinity-defect"), &spec, 600);
        assert!(late.jobs.iter().any(|record| record.missed(late.over)), "{spec}");
        // At 10 the task with the earlier deadline is preempted by a task that moves to its CPU.
        let trace = run(&example("push-defect"), &spec, 19);
        let moved = trace.marks.iter().find_map(|mark| match mark.kind {
            MarkKind::Note(Note::Moved { task: TaskId(2), to, .. })
                if mark.at == Time::from_ms(10) =>
            {
                Some(to)
            }
            _ => None,
        });
        assert_eq!(moved, Some(CpuId(1)), "{spec}");
        let preempted = trace.segments.iter().find(|segment| segment.job.task == TaskId(1));
        assert_eq!(preempted.map(|segment| segment.end), Some(Time::from_ms(10)), "{spec}");
    }
}

/// Example 7, with requests during the whole run: 50 ms is the share of `tau1` in 100 ms. The
/// deadlines of both tasks are often equal, and `tau2` then goes first, as in the paper.
#[test]
fn example_7_starves_until_6_18_and_no_more_on_7_2() {
    let mut system = example("starvation-defect");
    system.requests = (1..50)
        .map(|k| ask(2 * k, 0, Change::Affinity(CpuSet::single(CpuId(k as u32 % 2)))))
        .collect();
    for (version, share) in VERSIONS.iter().zip([0..=1, 0..=1, 0..=1, 49..=50]) {
        for lag in ["off", "on"] {
            let spec = format!("dl:kernel={version}:lag_reset={lag}");
            let trace = run(&system, &spec, 100);
            let got: i64 = trace
                .segments
                .iter()
                .filter(|segment| segment.job.task == TaskId(0))
                .map(|segment| (segment.end - segment.start).ns() / 1_000_000)
                .sum();
            assert!(share.contains(&got), "{spec}: tau1 gets {got} of 50");
        }
    }
}

/// A thread whose server is restarted again and again is late at its first deadline, and at each later one.
#[test]
fn a_thread_that_never_runs_is_late() {
    let mut starved = 0;
    for (version, every) in VERSIONS.iter().flat_map(|version| (1..=4).map(move |k| (version, k))) {
        let mut system = example("starvation-defect");
        system.requests = (1..100 / every)
            .map(|k| ask(every * k, 0, Change::Affinity(CpuSet::single(CpuId(k as u32 % 2)))))
            .collect();
        let trace = run(&system, &format!("dl:kernel={version}"), 100);
        let first = trace.segments.iter().find(|segment| segment.job.task == TaskId(0));
        let begins = first.map_or(trace.over, |segment| segment.start);
        // A request comes in each period, so that a budget without execution by the next request is aborted there.
        let given_up = trace.jobs.iter().filter(|record| {
            record.job.id.task == TaskId(0) && matches!(record.end, Some((_, JobEnd::Aborted)))
        });
        let at = |record: &JobRecord| record.end.map(|(at, _)| at);
        if begins > Time::from_ms(2 + every) {
            starved += 1;
            let first = given_up.filter_map(at).min().expect("it is late");
            assert!(
                (2..=2 + every).contains(&(first.ns() / 1_000_000)),
                "{version}, {every}: {first}"
            );
        } else {
            assert_eq!(
                given_up.filter_map(at).find(|&at| at <= begins),
                None,
                "{version}, {every}"
            );
        }
    }
    assert!(starved >= 3, "{starved}");
}

/// Example 1 as it behaves since other parameters restart a tardy server. Each time when the
/// running task has nearly used up its budget, it requests the whole bandwidth and the other task
/// requests little. All requests are granted, and the declared sum is never above 0.95. Yet each
/// task that has a budget is late with it, and the CPU has no spare time. Unlike in the paper, the
/// tardiness does not grow.
#[test]
fn example_1_in_its_modified_form() {
    let mut system = example("parameter-defect");
    let (reduced, whole) = (parameters(1, 100), parameters(94, 100));
    system.requests =
        vec![ask(0, 0, reduced.clone()), ask(99, 1, reduced.clone()), ask(99, 0, whole.clone())];
    for version in &VERSIONS[1..] {
        let spec = format!("dl:ac=on:kernel={version}");
        let mut system = system.clone();
        for round in 0..20 {
            let (runs, waits) = if round % 2 == 0 { (1, 0) } else { (0, 1) };
            let at = 187 + 93 * round;
            system.requests.extend([ask(at, waits, reduced.clone()), ask(at, runs, whole.clone())]);
            // If this were the last round, the waiting task would use up its budget, late.
            let trace = run(&system, &spec, at + 94);
            assert!(trace.answers.iter().all(|answer| answer.refused.is_none()), "{version}");
            let done = Some(Time::from_ms(at + 94));
            let job = trace.jobs.iter().find(|record| record.completion() == done);
            let job = job.unwrap_or_else(|| panic!("{version}, round {round}: no job ends"));
            assert_eq!(job.job.id.task, TaskId(waits));
            let late = (Time::from_ms(at + 94) - job.job.deadline).ns() / 1_000_000;
            assert!((80..=88).contains(&late), "{version}, round {round}: late by {late}");
            let lengths = trace.segments.iter().map(|segment| (segment.end - segment.start).ns());
            let busy: i64 = lengths.sum();
            assert_eq!(busy, (at + 94) * 1_000_000, "{version}: the CPU is never idle");
        }
        // Without the requests no task is late, because the second task is not admitted.
        system.requests.clear();
        let control = run(&system, &spec, 2000);
        assert!(control.jobs.iter().all(|record| !record.missed(control.over)));
    }
}
