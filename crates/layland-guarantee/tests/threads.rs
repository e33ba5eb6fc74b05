//! Threads with reservations: assessments of SCHED_DEADLINE and of adaptive partitioning.

use layland_analysis::Verdict;
use layland_guarantee::{AssessOptions, Assessment, Bound, assess};
use layland_model::{CpuId, CpuSet, Duration, Service, System, Task};
use layland_policy::Registry;

fn task(name: &str, wcet: i64, period: i64) -> Task {
    Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
}

fn found(spec: &str, system: &System) -> Assessment {
    assess(&Registry::standard(), spec, system, &AssessOptions::by_tests()).unwrap()
}

fn verdict(spec: &str, system: &System) -> (Verdict, Option<&'static str>) {
    let found = found(spec, system);
    (found.verdict, found.decided_by)
}

/// Returns the number of tasks with a bound.
fn found_bounds(spec: &str, system: &System) -> usize {
    found(spec, system).bounds.values().filter(|bound| **bound != Bound::Unknown).count()
}

const THREADS: [&str; 4] = ["dl", "dl-sp", "apedf", "a2pedf"];

#[test]
fn one_cpu_is_decided_exactly() {
    let fits = System::new(1, vec![task("a", 4, 10), task("b", 5, 11)]);
    for spec in THREADS {
        let found = found(spec, &fits);
        assert_eq!(found.verdict, Verdict::Yes, "{spec}: {:?}", found.reasons);
        for (id, bound) in found.bounds.iter() {
            let deadline = fits.tasks[id].deadline;
            assert!(
                matches!(bound, Bound::Response { within, .. } if *within <= deadline),
                "{bound:?}"
            );
        }
    }
    // Two tasks of 1/2, with a deadline that they cannot both meet: 5 + 5 are due at 9.
    let mut late = System::new(1, vec![task("a", 5, 10), task("b", 5, 10)]);
    late.tasks.values_mut().for_each(|task| task.deadline = Duration::from_ms(9));
    for spec in ["dl", "dl-sp:ac=off", "apedf"] {
        assert_eq!(verdict(spec, &late), (Verdict::No, Some("QPA")), "{spec}");
    }
}

#[test]
fn budgets_count_as_execution_times() {
    let mut system = System::new(2, vec![task("a", 2, 10), task("b", 2, 10), task("c", 3, 10)]);
    system.tasks.values_mut().for_each(|task| task.budget = Some(Service::from_ms(4)));
    for spec in THREADS {
        let found = found(spec, &system);
        assert_eq!(found.verdict, Verdict::Yes, "{spec}: {:?}", found.reasons);
        let said = |text: &str| found.reasons.iter().any(|reason| reason.contains(text));
        assert!(said("the budgets count") || spec.starts_with('a'), "{spec}: {:?}", found.reasons);
    }
    // Budgets of 7 + 7 + 7 are more than two CPUs have in 10 ms; the WCETs are less.
    system.tasks.values_mut().for_each(|task| task.budget = Some(Service::from_ms(7)));
    assert_eq!(verdict("apedf", &system).0, Verdict::Unknown);
    let wcets = found("dl", &system);
    assert_eq!(wcets.verdict, Verdict::Yes, "{:?}", wcets.reasons);
    assert!(
        wcets.reasons.iter().any(|reason| reason.contains("WCETs count")),
        "{:?}",
        wcets.reasons
    );
}

/// On one CPU a thread that ends its job at its deadline continues with its remaining budget,
/// before a thread with an earlier deadline: budgets must be counted.
#[test]
fn the_rest_of_a_budget_is_not_forgotten() {
    let mut early = task("early", 5, 10);
    early.deadline = Duration::from_ms(5);
    let mut other = task("other", 5, 10);
    other.budget = Some(Service::from_ms(10));
    let system = System::new(1, vec![early, other]);
    assert_eq!(verdict("p-edf", &system).0, Verdict::Yes);
    assert_eq!(verdict("dl", &system).0, Verdict::Unknown);
}

#[test]
fn tied_threads_are_decided_cpu_by_cpu_and_mixtures_are_not() {
    let mut system = System::new(2, vec![task("a", 6, 10), task("b", 4, 10), task("c", 9, 10)]);
    for (task, cpu) in system.tasks.values_mut().zip([0, 0, 1]) {
        task.affinity = Some(CpuSet::single(CpuId(cpu)));
    }
    assert_eq!(verdict("dl", &system), (Verdict::Yes, Some("QPA")));
    // Admission control needs whole clusters: it would reject these threads.
    assert_eq!(verdict("dl:ac=on", &system).0, Verdict::Unknown);
    // A thread that migrates makes the others wait for it.
    system.tasks.push(task("d", 1, 100));
    let mixed = found("dl", &system);
    assert_eq!(mixed.verdict, Verdict::Unknown);
    assert!(
        mixed.reasons.iter().any(|reason| reason.contains("share a cluster")),
        "{:?}",
        mixed.reasons
    );
    let speeds = System::new(1, vec![task("a", 1, 10)]);
    assert_eq!(verdict("dl", &speeds).0, Verdict::Yes);
    let slowed = found("dl:grub_pa=on", &speeds);
    assert_eq!(slowed.verdict, Verdict::Unknown);
    assert!(
        slowed.reasons.iter().any(|reason| reason.contains("Defect 2")),
        "{:?}",
        slowed.reasons
    );
}

/// Tests for global EDF hold with deadlines a nanosecond earlier: the server of a job that ends at
/// its deadline may be replenished in place.
#[test]
fn global_sets_are_accepted_with_a_nanosecond_to_spare() {
    let ns = |name: &str, wcet, period| {
        Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period))
    };
    let tight = System::new(2, ["a", "b", "c"].map(|name| ns(name, 2, 4)).to_vec());
    assert_eq!(verdict("g-edf", &tight).0, Verdict::Yes);
    assert_eq!(verdict("dl", &tight).0, Verdict::Unknown);
    let roomy = System::new(2, ["a", "b", "c"].map(|name| ns(name, 400, 1000)).to_vec());
    let found = found("dl", &roomy);
    assert_eq!(found.verdict, Verdict::Yes);
    assert!(found.reasons.iter().any(|reason| reason.contains("replenished in place")));
}

#[test]
fn admission_control_is_told_and_decides_only_where_it_is_on() {
    let full = System::new(1, vec![task("a", 5, 10), task("b", 5, 10)]);
    let options = AssessOptions::of_every_test();
    let found = assess(&Registry::standard(), "dl", &full, &options).unwrap();
    assert_eq!(found.verdict, Verdict::Yes);
    let admission = found.said.iter().find(|said| said.test.name == "AC").unwrap();
    assert_eq!((*admission.finding).as_ref().unwrap().verdict, Verdict::Unknown);
    // With admission control the second task is rejected, though EDF could serve both.
    assert_eq!(verdict("dl:ac=on", &full), (Verdict::No, Some("AC")));
    assert!(found_bounds("dl:ac=on", &full) == 0 && found_bounds("dl", &full) == 2);
    assert_eq!(verdict("dl-sp", &full), (Verdict::No, Some("AC-SP")));
    assert_eq!(verdict("dl-sp:ac=off", &full), (Verdict::Yes, Some("QPA")));
}

#[test]
fn a_bound_of_many_periods_is_called_useless() {
    let task = task("a", 1, 10);
    let late = |ms: i64| Bound::Tardiness {
        within: layland_model::Rate::whole(ms * 1_000_000),
        by: "TANG",
    };
    assert!(!late(1_000).is_useless(&task));
    assert!(late(1_001).is_useless(&task));
    assert!(!Bound::Unknown.is_useless(&task));
}

/// Sets that need memory and time for the square of the number of tasks are refused with the limit.
#[test]
fn sets_with_too_many_pairs_are_told_so() {
    let tasks = (0..20_000).map(|at| task(&format!("t{at}"), 1, 1_000_000));
    let system = System::new(4, tasks.collect());
    for spec in ["g-dm", "dl", "weak-rm"] {
        let options = AssessOptions::of_every_test();
        let found = assess(&Registry::standard(), spec, &system, &options).unwrap();
        let refused = found.said.iter().filter_map(|said| (*said.finding).as_ref().err());
        let told = refused.map(ToString::to_string).find(|text| text.contains("pairs of tasks"));
        assert!(told.is_some_and(|text| text.starts_with("400000000 pairs")), "{spec}");
    }
}
