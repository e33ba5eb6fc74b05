//! The short answers for first fit, with the state that is kept from one task to the next, compared
//! with whole analyses.

use layland_model::{
    CpuId, CpuSet, Criticality, Duration, Levels, ScheduleRule, Service, System, Task, TaskId,
};
use layland_offline::criticality::{
    MixedSet, amc_rt, fixed, fjp, period_transformation, virtual_deadlines, zero_slack,
};
use layland_testkit::cases::on_random;
use layland_testkit::criticality::{Plain, set_of, sets};
use layland_testkit::registry;
use proptest::prelude::*;
use std::cell::Cell;

/// Adds tasks to one CPU one after the other, and keeps those that are accepted.
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
fn deadlines_at_the_ends_of_periods_leave_only_jobs_to_be_counted() {
    let said = [const { Cell::new(0) }; 2];
    on_random(6_000, 2_000, sets(1, 16), |(levels, mut tasks)| {
        tasks.iter_mut().for_each(|task| task.deadline = task.period);
        let mut refused = 0;
        for most in [3, 8, 30, fjp::JOBS] {
            let mut stuck = None;
            refused += come(levels, &tasks, |set| {
                let long = fjp::safe(set, most);
                let accepted = fjp::accepts_unless(set, most, &mut stuck);
                prop_assert_eq!(accepted, long.answer.is_yes());
                prop_assert_eq!(fjp::decide(set, most), (long.answer, long.total()));
                let said = &said[usize::from(accepted)];
                said.set(said.get() + 1);
                Ok(accepted)
            })?;
        }
        Ok(refused > 2)
    });
    assert!(said.iter().all(|said| said.get() > 5_000), "{said:?}");
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
            // Try every suspected task, including one that is not present.
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

/// The parts that a policy omits when it is built only for its rule change neither the rule nor the rejections.
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
        let mut system = system_of(levels, &tasks, cpus);
        for (index, task) in system.tasks.values_mut().enumerate() {
            if tied == 0 || (tied == 1 && index == 0) {
                task.affinity = Some(CpuSet::single(CpuId((index % cpus) as u32)));
            }
            if has_jitter && index == 1 {
                task.jitter = Duration::from_ns(1);
            }
        }
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

/// First fit on several CPUs, with whole analyses of all tasks that a CPU would have.
#[test]
fn tasks_are_placed_as_by_whole_analyses() {
    let accepted = |policy: &str, set: &MixedSet| match policy {
        "rms" => fixed::rms(set).answer().is_yes(),
        "cms" => fixed::cms(set).answer().is_yes(),
        "smc" => fixed::ftp_smc(set).answer().is_yes(),
        "amc" => amc_rt::amc_rt(set).answer().is_yes(),
        "pt" => {
            let found = period_transformation::safe(set, 1);
            found.answer.is_yes() && found.slices.values().all(|slices| slices.length > 0)
        }
        "zss" => zero_slack::safe(set).answer.is_yes(),
        "plrs" | "ocbp" => fjp::safe(set, fjp::JOBS).answer.is_yes(),
        "edf-vd:deadlines=tuned:sort=size" => virtual_deadlines::tuned(set).answer().is_yes(),
        other => unreachable!("{other}"),
    };
    on_random(4_000, 800, (sets(3, 9), 2usize..4), |((levels, tasks), cpus)| {
        let system = system_of(levels, &tasks, cpus);
        let mut order: Vec<TaskId> = system.tasks.ids().collect();
        order.sort_by(|&a, &b| system.tasks[b].density().cmp(&system.tasks[a].density()));
        let mut some = false;
        let edf_vd = "edf-vd:deadlines=tuned:sort=size";
        for policy in ["rms", "cms", "smc", "amc", "pt", "zss", "plrs", "ocbp", edf_vd] {
            let mut bins: Vec<Vec<TaskId>> = vec![Vec::new(); cpus];
            let all_have_room = order.iter().all(|&task| {
                let fits = bins.iter_mut().find(|bin| {
                    let with: Vec<TaskId> = bin.iter().copied().chain([task]).collect();
                    accepted(policy, &MixedSet::of_tasks(&system, &with).expect("it is valid"))
                });
                fits.map(|bin| bin.push(task)).is_some()
            });
            let built = registry().build(&format!("{policy}:fit=ffd"), &system);
            prop_assert_eq!(built.is_ok(), all_have_room, "{}", policy);
            let Ok(built) = built else { continue };
            let ScheduleRule::MixedCriticality { groups, guaranteed } = built.rule() else {
                return Err(TestCaseError::fail("it has another rule"));
            };
            bins.iter_mut().for_each(|bin| bin.sort());
            let placed: Vec<Vec<TaskId>> = groups.into_iter().map(|group| group.tasks).collect();
            some |= bins.iter().filter(|bin| !bin.is_empty()).count() > 1;
            prop_assert_eq!(placed, bins, "{}", policy);
            prop_assert_eq!(guaranteed.len(), cpus, "{}", policy);
        }
        Ok(some)
    });
}

/// Returns a system of these tasks.
fn system_of(levels: usize, tasks: &[Plain], cpus: usize) -> System {
    let task = |(index, plain): (usize, &Plain)| {
        let mut task = Task::implicit(
            format!("t{index}"),
            Service::from_ns(plain.wcet[plain.level]),
            Duration::from_ns(plain.period),
        );
        task.deadline = Duration::from_ns(plain.deadline);
        task.criticality = Criticality(plain.level as u8);
        task.wcet = plain.wcet.iter().map(|&c| Service::from_ns(c)).collect();
        task
    };
    let mut system = System::new(cpus, tasks.iter().enumerate().map(task).collect());
    system.levels = Levels::new((0..levels).map(|level| format!("L{level}")).collect());
    system
}
