//! The short answers that a first fit asks for, with what is remembered from one task to the next, against whole
//! analyses.

use layland_model::{CpuId, CpuSet, Criticality, Duration, Levels, Service, System, Task, TaskId};
use layland_offline::criticality::{MixedSet, fjp, zero_slack};
use layland_testkit::cases::on_random;
use layland_testkit::criticality::{Plain, set_of, sets};
use layland_testkit::registry;
use proptest::prelude::*;
use std::cell::Cell;

/// Tasks come to one CPU one after the other, and stay if they are accepted.
fn come(
    levels: usize,
    tasks: &[Plain],
    mut accepts: impl FnMut(&MixedSet) -> Result<bool, TestCaseError>,
) -> Result<u32, TestCaseError> {
    let mut there: Vec<Plain> = Vec::new();
    let mut refused = 0;
    for task in tasks {
        there.push(task.clone());
        if !accepts(&set_of(levels, &there))? {
            there.pop();
            refused += 1;
        }
    }
    Ok(refused)
}

#[test]
fn jobs_that_were_stuck_change_no_answer() {
    let asked = Cell::new(0);
    on_random(12_000, 2_000, sets(3, 16), |(levels, tasks)| {
        let mut refused = 0;
        for most in [30, fjp::JOBS] {
            let mut stuck = None;
            refused += come(levels, &tasks, |set| {
                asked.set(asked.get() + u32::from(stuck.is_some()));
                let accepted = fjp::accepts_unless(set, most, &mut stuck);
                prop_assert_eq!(accepted, fjp::safe(set, most).answer.is_yes());
                prop_assert_eq!(accepted, fjp::accepts(set, most));
                Ok(accepted)
            })?;
        }
        Ok(refused > 2)
    });
    assert!(asked.get() > 1_000, "{} sets came after jobs that were stuck", asked.get());
}

#[test]
fn whoever_is_suspected_first_changes_no_answer() {
    let by_others = Cell::new(0);
    on_random(12_000, 2_000, sets(3, 12), |(levels, tasks)| {
        let mut suspect = None;
        let refused = come(levels, &tasks, |set| {
            let found = zero_slack::safe(set);
            let refused = zero_slack::refused(set, suspect);
            prop_assert_eq!(refused.is_none(), found.answer.is_yes());
            // Whoever is suspected, and whether the task is there.
            for other in (0..=set.len() as u32).map(TaskId) {
                let by = zero_slack::refused(set, Some(other));
                prop_assert_eq!(by.is_none(), refused.is_none());
                by_others.set(by_others.get() + u32::from(by != refused));
            }
            suspect = refused.or(suspect);
            Ok(refused.is_none())
        })?;
        Ok(refused > 2)
    });
    assert!(by_others.get() > 1_000, "{} sets were refused for another task", by_others.get());
}

/// What is left out of a policy that is asked for its rule changes no rule and no refusal.
#[test]
fn a_policy_for_its_rule_has_the_rule_of_one_that_runs() {
    const SPECS: [&str; 18] = [
        "rms",
        "cms",
        "smc",
        "smc:order=rm",
        "smc:order=cm",
        "amc",
        "amc:order=amc-max",
        "amc:order=amc-ia",
        "amc:order=amc-ia-paper",
        "amc:order=rm",
        "pt",
        "zss",
        "zss:instants=paper",
        "plrs",
        "plrs:lists=lb",
        "ocbp:lists=ija",
        "edf-vd:deadlines=tuned",
        "edf-vd:deadlines=whole",
    ];
    let registry = registry();
    let drawn = (sets(3, 7), 1usize..4, 0u8..4, any::<bool>());
    on_random(3_000, 1_500, drawn, |((levels, tasks), cpus, tied, has_jitter)| {
        let task = |(index, plain): (usize, &Plain)| {
            let wcet = |&c: &i64| Service::from_ns(c);
            let name = format!("t{index}");
            let mut task = Task::implicit(
                name,
                wcet(&plain.wcet[plain.level]),
                Duration::from_ns(plain.period),
            );
            task.deadline = Duration::from_ns(plain.deadline);
            task.criticality = Criticality(plain.level as u8);
            task.wcet = plain.wcet.iter().map(wcet).collect();
            if tied == 0 || (tied == 1 && index == 0) {
                task.affinity = Some(CpuSet::single(CpuId((index % cpus) as u32)));
            }
            if has_jitter && index == 1 {
                task.jitter = Duration::from_ns(1);
            }
            task
        };
        let mut system = System::new(cpus, tasks.iter().enumerate().map(task).collect());
        system.levels = Levels::new((0..levels).map(|level| format!("L{level}")).collect());
        let mut taken = 0;
        for spec in SPECS {
            let (info, options) = registry.parse(spec).expect("it is known");
            let runs = info.build(&system, &options).map(|policy| policy.rule());
            let asked = info.build(&system, &options.for_its_rule()).map(|policy| policy.rule());
            taken += u32::from(runs.is_ok());
            prop_assert_eq!(asked, runs, "{}", spec);
        }
        Ok(taken > 3)
    });
}
