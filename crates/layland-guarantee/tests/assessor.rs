//! What several policies of one system share does not change what is said of each.

use layland_guarantee::{AssessOptions, Assessment, Assessor, assess};
use layland_model::{Criticality, Duration, Levels, Service, System, Task};
use layland_policy::Registry;

/// Everything that is known of a policy, as text.
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
        task.wcet = if at % 2 == 0 { vec![wcet] } else { vec![wcet, wcet + wcet] };
    }
    vec![plain(100), plain(330), plain(700), tied, clustered, mixed]
}

#[test]
fn policies_side_by_side_are_told_what_each_is_told_alone() {
    let registry = Registry::standard();
    for (margin, all) in [(true, false), (false, true)] {
        let options = AssessOptions { margin, all, ..AssessOptions::default() };
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
