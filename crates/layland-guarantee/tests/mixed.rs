//! Mixed criticality: the tests that decide, and those that never do.

use layland_analysis::Verdict;
use layland_guarantee::{AssessOptions, Assessment, assess};
use layland_model::{Criticality, Duration, Levels, Service, System, Task};
use layland_policy::Registry;

/// Tasks `(T, level, C(0), C(1))` on one CPU, in milliseconds.
fn system(tasks: &[(i64, u8, i64, i64)]) -> System {
    let task = |(at, &(period, level, lo, hi)): (usize, &(i64, u8, i64, i64))| {
        let mut task =
            Task::implicit(format!("t{at}"), Service::from_ms(lo), Duration::from_ms(period));
        task.wcet.push(Service::from_ms(hi));
        task.criticality = Criticality(level);
        task
    };
    let mut system = System::new(1, tasks.iter().enumerate().map(task).collect());
    system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
    assert_eq!(system.validate(), []);
    system
}

fn check(spec: &str, system: &System) -> Assessment {
    let options = AssessOptions::of_every_test();
    assess(&Registry::standard(), spec, system, &options).expect("the policy exists")
}

/// The example of Section 3.1 of Huang et al.: the larger WCETs need 120 % of the CPU together,
/// which says nothing about policies that drop the low task.
#[test]
fn more_than_the_cpu_at_all_levels_together_is_no_refusal() {
    let system = system(&[(2, 0, 1, 1), (10, 1, 1, 5), (100, 1, 20, 20)]);
    let found = check("amc", &system);
    assert_eq!((found.verdict, found.decided_by), (Verdict::Yes, Some("AMC-RT")));
    assert_eq!(check("p-rm", &system).verdict, Verdict::No);
}

/// Two low jobs and one that may overrun: the pattern of the paper accepts a set that cannot be
/// guaranteed.
#[test]
fn what_is_not_sound_does_not_decide() {
    let system = system(&[(3, 0, 2, 2), (7, 1, 2, 6)]);
    let found = check("plrs:lists=ija", &system);
    let said = found.said.iter().find(|said| said.test.name == "FJP-IJA-PAPER").expect("it ran");
    assert!((*said.finding).as_ref().is_ok_and(|finding| finding.verdict == Verdict::Yes));
    assert_eq!((found.verdict, found.decided_by), (Verdict::Unknown, None), "{:?}", found.reasons);
}

/// An order that differs from the one that the test of the policy would choose.
#[test]
fn a_yes_is_about_the_parameters_that_the_policy_runs_with() {
    let system = system(&[(10, 0, 5, 5), (11, 1, 5, 6)]);
    assert_eq!(check("smc", &system).verdict, Verdict::Yes);
    assert_eq!(check("smc:order=cm", &system).verdict, Verdict::Yes);
    let found = check("smc:order=rm", &system);
    assert_eq!((found.verdict, found.decided_by), (Verdict::Unknown, None), "{:?}", found.reasons);
}
