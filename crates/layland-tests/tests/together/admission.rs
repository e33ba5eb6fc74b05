//! Admitted tasks keep their deadlines: a short form of the campaign `admission`, the examples of
//! Tang, Anderson and Abeni (2021) that make SCHED_DEADLINE late, and cases that the campaign
//! found.

use layland_config::{Format, Host, demo, read};
use layland_guarantee::Effort;
use layland_guarantee::admission::{AdmissionError, Guarantee, Overruns, Regime, can_admit};
use layland_model::{
    Behaviour, Change, CpuId, CpuSet, Duration, ExecutionModel, Platform, Request, RequestKind,
    Service, System, Task, TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::admission::{
    Keeping, Manner, SeenBeside, Sequence, SequenceCounts, campaign, campaign_beside, run, specs,
};
use layland_testkit::registry;
use layland_trace::Trace;
use std::collections::BTreeSet;

#[test]
fn nobody_who_is_admitted_is_late() {
    for spec in specs() {
        match campaign(&spec, 40, 1, Keeping::Careful) {
            Ok(SequenceCounts { tally, jobs }) => {
                let [asked, granted] = tally.joins;
                let is_used = granted > asked / 4 && granted < asked && jobs > 500;
                assert!(is_used, "{spec}: {tally:?}, {jobs} jobs");
            }
            Err(broken) => panic!("{spec}, seed {}: {}", broken.seed, broken.how),
        }
    }
}

#[test]
fn no_admitted_task_is_late_beside_foreign_threads() {
    for regime in Regime::ALL {
        match campaign_beside(regime, 150, 1) {
            Ok(SeenBeside { asked, entered, left, jobs, foreign, .. }) => {
                let is_used = entered > asked / 4 && entered < asked && left > 100;
                let is_beside = jobs > 800 && foreign > 5_000;
                assert!(
                    is_used && is_beside,
                    "{regime:?}: {entered} of {asked}, {left} left, {jobs} jobs, {foreign} us"
                );
            }
            Err(broken) => panic!("{regime:?}, seed {}: {}", broken.seed, broken.how),
        }
    }
}

/// The campaign finds the errors of a careless register.
#[test]
fn bandwidth_that_is_given_away_too_early_makes_others_late() {
    for spec in ["p-edf", "g-edf", "p-rm", "dl:ac=on", "dl-sp", "apedf", "weak-edf"] {
        let found = campaign(spec, 250, 1, Keeping::AtOnce);
        assert!(found.is_err(), "{spec}: {found:?}");
    }
    // Keeping a task until its deadline is not enough if densities were too high.
    let found = campaign("p-rm:fit=ff", 20, 1000, Keeping::AtDeadlines);
    assert!(found.is_err(), "{found:?}");
}

/// A policy without tests promises nothing.
#[test]
fn a_policy_without_tests_lets_nobody_in() {
    for spec in ["llf", "mllf"] {
        let Ok(SequenceCounts { tally, .. }) = campaign(spec, 10, 1, Keeping::Careful) else {
            panic!("{spec} broke a promise")
        };
        let [asked, granted] = tally.joins;
        assert!(asked > 0 && granted == 0, "{spec}: {tally:?}");
    }
}

#[test]
fn policies_that_plan_before_the_start_let_nobody_in() {
    let machine = Platform::identical(2);
    let takes_nobody: BTreeSet<&str> = registry()
        .iter()
        .filter(|info| {
            let answer = can_admit(registry(), &info.name, &machine);
            matches!(answer, Err(AdmissionError::TakesNobody { .. }))
        })
        .map(|info| info.name.as_ref())
        .collect();
    let planned = [
        "g-fl",
        "c-fl",
        "edf-us",
        "fpedf",
        "edf-k",
        "rm-us",
        "run",
        "qps",
        "dp-wrap",
        "ds",
        "lre-tl",
        "u-edf",
        "pd2",
        "er-pd2",
        "cd",
        "edf-wm",
        "smc",
        "ss",
        "rms",
        "cms",
        "amc",
        "zss",
        "pt",
        "plrs",
        "ps",
        "ocbp",
        "edf-vd",
        "federated",
        "groups",
    ];
    assert_eq!(takes_nobody, planned.into());
}

fn example(name: &str) -> System {
    let demo = demo(name).expect("a bundled task set");
    let loaded = read(name, demo.text.as_bytes(), Format::Toml, &Host::default());
    loaded.unwrap_or_else(|report| panic!("{}", report.plain())).system
}

/// Returns the number of late jobs under a policy without admission.
fn late_without_admission(system: &System, spec: &str, until: Time) -> usize {
    let policy = registry().build(spec, system).expect("it takes the example");
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(until)).unwrap();
    trace.jobs.iter().filter(|record| record.missed(trace.over)).count()
}

/// Runs the same system behind admission, where no job is late.
fn behind_admission(system: &System, spec: &str, until: Time) -> SequenceCounts {
    let manner = Manner {
        keeping: Keeping::Careful,
        tells_quiet: true,
        tells_releases: false,
        effort: Effort::Tests,
        guarantee: Guarantee::Deadlines,
        overruns: Overruns::Possible,
    };
    let (spec, system) = (spec.to_owned(), system.clone());
    let is_stray = |id: &TaskId| system.tasks[*id].name == "stray";
    let strays = system.tasks.ids().filter(is_stray).collect();
    let sequence = Sequence { spec, system, manner, strays, until, explore: None };
    run(&sequence).expect("nobody is late")
}

const UNTIL: Time = Time::from_ms(700);

#[test]
fn example_1_parameters_change_within_a_period() {
    let system = example("parameter-defect");
    assert!(late_without_admission(&system, "dl:ac=on", UNTIL) > 3);
    let seen = behind_admission(&system, "dl:ac=on", UNTIL);
    // The bandwidth that the first task returns stays in use until its budget is due, so the second
    // task does not get it.
    assert_eq!(seen.tally.joins, [2, 1]);
    assert!(seen.jobs >= 5);
}

/// The same tasks retry repeatedly, also after a period is over.
#[test]
fn example_1_however_often_it_is_tried() {
    let mut system = example("parameter-defect");
    let names = |at: i64, task, ms| {
        let (wcet, period) = (Service::from_ms(ms), Duration::from_ms(100));
        let change = Change::Parameters { wcet, period, deadline: period };
        Request { at: Time::from_ms(at), kind: RequestKind::Reconfigure(TaskId(task), change) }
    };
    let second = TaskId(1);
    system.tasks[second].offset = Duration::from_ms(101);
    system.requests = vec![names(0, 0, 1)];
    for at in (102..690).step_by(7) {
        let (first, second) = if at % 2 == 0 { (94, 1) } else { (1, 94) };
        system.requests.extend([names(at, 1, second), names(at, 0, first)]);
    }
    let seen = behind_admission(&system, "dl:ac=on", UNTIL);
    assert_eq!(seen.tally.joins, [2, 2]);
    assert!(seen.tally.changes[1] > 3, "{:?}", seen.tally);
}

#[test]
fn example_2_frequencies_follow_reservations() {
    let system = example("frequency-defect");
    let slowed = "dl:ac=on:grub_pa=on";
    assert!(late_without_admission(&system, slowed, UNTIL) > 3);
    // No test covers CPUs that change their speeds, so no task is admitted.
    assert_eq!(behind_admission(&system, slowed, UNTIL).tally.joins, [3, 0]);
    // At full speed, 1.89 of 2 CPUs is too much for deadlines.
    assert!(late_without_admission(&system, "dl:ac=on", UNTIL) > 0);
    assert_eq!(behind_admission(&system, "dl:ac=on", UNTIL).tally.joins, [3, 2]);
}

#[test]
fn example_3_a_budget_moves_to_another_cluster() {
    let system = example("cluster-defect");
    assert!(late_without_admission(&system, "dl:ac=on", UNTIL) > 3);
    let seen = behind_admission(&system, "dl:ac=on", UNTIL);
    assert_eq!(seen.tally.moves[1], 0);
    // The same system with clusters of one CPU, in which every task is admitted before the move.
    let mut system = System::new(2, Vec::new());
    system.platform.clusters = vec![CpuSet::single(CpuId(0)), CpuSet::single(CpuId(1))];
    let task = |name: &str, c, t, cluster, at| Task {
        behaviour: Behaviour::Hog,
        affinity: Some(CpuSet::single(CpuId(cluster))),
        cluster: cluster as usize,
        offset: Duration::from_ns(at),
        ..Task::implicit(name, Service::from_ms(c), Duration::from_ms(t))
    };
    let tasks =
        [task("tau1", 25, 100, 1, 0), task("tau4", 70, 100, 1, 1), task("tau5", 2, 10, 0, 2)];
    system.tasks = tasks.to_vec().into();
    let kind = RequestKind::Reconfigure(TaskId(1), Change::Cluster(0));
    system.requests = vec![Request { at: Time::from_ms(60), kind }];
    assert!(late_without_admission(&system, "dl:ac=on", UNTIL) > 0);
    let seen = behind_admission(&system, "dl:ac=on", UNTIL);
    assert_eq!((seen.tally.joins, seen.tally.moves), ([3, 3], [1, 0]));
}

/// Returns a task on the only CPU whose jobs arrive at these times, in microseconds, and need `needs` each.
fn listed(name: &str, [c, d, t]: [i64; 3], releases: &[i64], needs: i64) -> Task {
    let mut task = Task::implicit(name, Service::from_us(c), Duration::from_us(t));
    task.deadline = Duration::from_us(d);
    task.behaviour = Behaviour::Explicit(releases.iter().map(|&us| Time::from_us(us)).collect());
    task.execution = ExecutionModel::List(vec![Service::from_us(needs)]);
    task
}

/// Found by the campaign (`dl-sp`): a server that was used up continues with a remainder of its
/// budget, which is due sooner than a relative deadline after the wake-up of its thread. The demand
/// of jobs shows that both tasks keep their deadlines.
#[test]
fn a_server_that_resumes_a_budget_hurts_nobody_who_is_admitted() {
    let stray = listed("stray", [1_600, 4_716, 10_000], &[0, 11_077], 2_000);
    let other = listed("other", [3_000, 3_917, 12_000], &[11_000], 3_000);
    let mut system = System::new(1, vec![stray, other]);
    for spec in ["dl", "dl-sp"] {
        let policy = registry().build(spec, &system).unwrap();
        let mut trace = Trace::default();
        simulate(&system, policy, &mut trace, &SimOptions::until(UNTIL)).unwrap();
        let late = trace.jobs.iter().find(|it| it.job.id.task == TaskId(1)).unwrap();
        assert!(late.missed(trace.over), "{spec}: {late:?}");
    }
    // Tasks enter with their first jobs.
    let other = TaskId(1);
    system.tasks[other].offset = Duration::from_us(11_000);
    system.tasks[other].behaviour = Behaviour::Periodic;
    for spec in ["dl", "dl-sp"] {
        assert_eq!(behind_admission(&system, spec, Time::from_ms(20)).tally.joins, [2, 1]);
    }
}

/// Found by the campaign (`dl`): a server that waits for its next budget gets one that is due
/// before it is replenished, if its deadline becomes the end of its period meanwhile.
#[test]
fn a_server_that_waits_keeps_the_time_between_deadline_and_period() {
    let stray = listed("stray", [400, 2_000, 12_000], &[0], 3_000);
    let other = listed("other", [3_000, 4_000, 4_000], &[12_500], 3_000);
    let mut system = System::new(1, vec![stray, other]);
    let (wcet, period) = (Service::from_us(1_200), Duration::from_us(5_000));
    let change = Change::Parameters { wcet, period, deadline: period };
    let kind = RequestKind::Reconfigure(TaskId(0), change);
    system.requests = vec![Request { at: Time::from_ms(1), kind }];
    let policy = registry().build("dl", &system).unwrap();
    let mut trace = Trace::default();
    simulate(&system, policy, &mut trace, &SimOptions::until(UNTIL)).unwrap();
    let late = trace.jobs.iter().find(|it| it.job.id.task == TaskId(1)).unwrap();
    assert!(late.missed(trace.over), "{late:?}");
    assert_eq!(behind_admission(&system, "dl", UNTIL).tally.changes, [1, 0]);
}
