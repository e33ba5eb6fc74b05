//! Sharing results between several policies of one system does not change their assessments.

use layland_analysis::Verdict;
use layland_guarantee::{AssessOptions, Assessment, Assessor, Effort, assess};
use layland_model::{Criticality, Duration, Levels, OnMiss, Service, System, Task};
use layland_policy::Registry;

/// Formats everything that is known of a policy.
fn all_of(found: &Assessment) -> String {
    let said: Vec<_> = found.said.iter().map(|said| (said.test.name, &said.finding)).collect();
    format!(
        "{:?} {:?} {:?} {:?} {said:?} {:?} {:?} {:?}",
        found.verdict,
        found.decided_by,
        found.reasons,
        found.refused,
        found.bounds.values().collect::<Vec<_>>(),
        found.margin,
        found.without_affinities,
    )
}

fn sets() -> Vec<System> {
    let task = |at: i64, wcet: i64| {
        let period = Duration::from_us(1_000 + 170 * at);
        Task::implicit(at.to_string(), Service::from_us(wcet + 11 * at), period)
    };
    let plain = |wcet| System::new(3, (0..7).map(|at| task(at, wcet)).collect());
    let mut tied = plain(120);
    for (at, task) in tied.tasks.values_mut().enumerate() {
        task.affinity = ["0", "0-1", "0-2"][at % 3].parse().ok();
    }
    let mut clustered = plain(250);
    clustered.platform.clusters = vec!["0".parse().unwrap(), "1-2".parse().unwrap()];
    clustered.tasks.values_mut().skip(2).for_each(|task| task.cluster = 1);
    let mut mixed = plain(100);
    mixed.levels = Levels::new(["low".to_owned(), "high".to_owned()].to_vec());
    for (at, task) in mixed.tasks.values_mut().enumerate() {
        task.criticality = Criticality((at % 2) as u8);
        let wcet = task.wcet[0];
        task.wcet = if at % 2 == 0 { vec![wcet].into() } else { vec![wcet, wcet + wcet].into() };
    }
    vec![plain(100), plain(330), plain(700), tied, clustered, mixed]
}

#[test]
fn policies_side_by_side_are_told_what_each_is_told_alone() {
    let registry = Registry::standard();
    for options in [AssessOptions::with_margin(), AssessOptions::of_every_test()] {
        for system in sets() {
            let assessor = Assessor::new(&registry, &system, &options);
            for info in &registry {
                let together = assessor.assess(&info.name).expect("it is in the registry");
                let alone = assess(&registry, &info.name, &system, &options).expect("as before");
                assert_eq!(all_of(&together), all_of(&alone), "{}", info.name);
            }
        }
    }
}

/// A job that arrives while the one before it still runs is skipped, which is a miss, though none
/// would be late.
#[test]
fn what_may_be_skipped_in_time_is_not_guaranteed() {
    let ms = Duration::from_ms;
    let system = |way: OnMiss, deadline: i64| {
        let first = Task::implicit("first", Service::from_ms(6), ms(20));
        let mut second = Task::implicit("second", Service::from_ms(3), ms(5));
        (second.deadline, second.on_miss, second.rank) = (ms(deadline), way, 1);
        second.priority = Some(2);
        System::new(1, vec![Task { priority: Some(1), ..first }, second])
    };
    let registry = Registry::standard();
    for policy in ["p-fp", "g-fp", "p-edf", "g-edf"] {
        let verdict = |way, deadline| {
            let options = AssessOptions { effort: Effort::Tests, ..AssessOptions::with_margin() };
            let found = assess(&registry, policy, &system(way, deadline), &options);
            let found = found.expect("it is in the registry");
            (found.verdict, found.margin.map(|margin| margin.thousandths))
        };
        assert_eq!(verdict(OnMiss::Continue, 10).0, Verdict::Yes, "{policy}");
        assert_eq!(verdict(OnMiss::Skip, 10), (Verdict::Unknown, Some(0)), "{policy}");
    }
    // With deadlines within periods, only late jobs cause others to be skipped.
    let found = assess(&registry, "p-edf", &system(OnMiss::Skip, 5), &AssessOptions::by_tests());
    assert_eq!(found.expect("it is in the registry").verdict, Verdict::Yes);
}

/// A job that arrives late and one that arrives in time are less than a period apart. The second
/// one finds its server with the remaining budget of the first, and the old deadline: under `dl-sp`
/// it is late, while EDF alone keeps both deadlines.
#[test]
fn servers_are_no_jobs_where_releases_have_jitter() {
    let task = |name: &str, period, jitter| {
        let us = Duration::from_us;
        let mut task = Task::implicit(name, Service::from_us(1), us(period));
        (task.deadline, task.jitter) = (us(3), us(jitter));
        task.affinity = "0".parse().ok();
        task
    };
    let system = System::new(2, vec![task("t0", 4, 2), task("t1", 10, 1)]);
    let registry = Registry::standard();
    let verdict = |spec: &str, system: &System| {
        assess(&registry, spec, system, &AssessOptions::by_tests())
            .expect("the policy takes it")
            .verdict
    };
    let mut punctual = system.clone();
    punctual.tasks.values_mut().for_each(|task| task.jitter = Duration::ZERO);
    for spec in ["dl", "dl-sp"] {
        assert_eq!(verdict(spec, &system), Verdict::Unknown, "{spec}");
        assert_eq!(verdict(spec, &punctual), Verdict::Yes, "{spec}");
    }
    assert_eq!(verdict("p-edf", &system), Verdict::Yes);
}
