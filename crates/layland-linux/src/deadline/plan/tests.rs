use super::*;
use layland_model::{Group, Task};

const FACTS: Facts = Facts {
    tick: Duration::from_ms(4),
    has_hrtick: Some(false),
    limit_thousandths: 900,
    repair: None,
};

fn global(tasks: &[(i64, i64)], cpus: usize) -> (System, ScheduleRule) {
    let task = |(index, &(wcet, period)): (usize, &(i64, i64))| {
        Task::implicit(format!("t{index}"), Service::from_ms(wcet), Duration::from_ms(period))
    };
    let system = System::new(cpus, tasks.iter().enumerate().map(task).collect());
    let group = Group { cpus: CpuSet::first(cpus), tasks: system.tasks.ids().collect() };
    (system, ScheduleRule::highest_first(vec![group], JobOrder::Deadline))
}

#[test]
fn a_reservation_is_the_wcet_and_a_margin() {
    let (system, rule) = global(&[(20, 100), (200, 1000)], 2);
    let plan = Plan::new(&system, &rule, &FACTS, None, false).unwrap();
    let runtimes: Vec<i64> =
        plan.reservations.values().map(|r| r.runtime.ns() / 1_000_000).collect();
    // The first margin is one tick, because 5 % of the WCET is less.
    assert_eq!(runtimes, [24, 210]);
    assert_eq!(plan.caveats.len(), 2);
    let budgets: Vec<Option<Service>> =
        plan.reserved(&system).tasks.values().map(|task| task.budget).collect();
    assert_eq!(budgets, [24, 210].map(|ms| Some(Service::from_ms(ms))));
    let none = Margin::Time(Duration::ZERO);
    let plan = Plan::new(&system, &rule, &FACTS, Some(&none), false).unwrap();
    assert_eq!(plan.reservations[TaskId(0)].runtime, Duration::from_ms(20));
}

#[test]
fn what_the_kernel_would_refuse_is_refused_with_numbers() {
    let refused = |tasks: &[(i64, i64)], cpus, margin: Option<Duration>| {
        let (system, rule) = global(tasks, cpus);
        let margin = margin.map(Margin::Time);
        Plan::new(&system, &rule, &FACTS, margin.as_ref(), false).unwrap_err()
    };
    let short = refused(&[(7, 100)], 1, None);
    assert!(matches!(short, Refusal::ShorterThanTicks { .. }), "{short}");
    let full = refused(&[(45, 100), (46, 100)], 1, Some(Duration::ZERO));
    assert_eq!(
        full.to_string(),
        "CPU 0 would be asked for a load of 0.910, and at most 0.900 may be reserved"
    );
    let long = refused(&[(98, 100)], 1, Some(Duration::from_ms(3)));
    assert!(matches!(long, Refusal::NoRoom { .. }), "{long}");
    let slow = refused(&[(8, 5000)], 1, None);
    assert!(matches!(slow, Refusal::Rule { .. }), "{slow}");
    let (mut gives_up, rule) = global(&[(20, 100)], 1);
    gives_up.tasks[TaskId(0)].on_miss = OnMiss::Abort;
    let refused = Plan::new(&gives_up, &rule, &FACTS, None, false).unwrap_err();
    assert!(matches!(refused, Refusal::OnMiss { .. }), "{refused}");
    let (system, _) = global(&[(20, 100)], 1);
    let none = Plan::new(&system, &ScheduleRule::None, &FACTS, None, false);
    assert_eq!(none.unwrap_err(), Refusal::NotEdf);
}

#[test]
fn a_split_task_is_refused_and_the_others_are_partitioned() {
    let registry = layland_policy::Registry::standard();
    let rule = |spec: &str, system: &System| registry.build(spec, system).unwrap().rule();
    let (whole, _) = global(&[(40, 100), (40, 100), (70, 100)], 2);
    for spec in ["cd", "edf-wm"] {
        let plan = Plan::new(&whole, &rule(spec, &whole), &FACTS, None, false).unwrap();
        let cpus: Vec<String> = plan.domains.iter().map(|of| of.cpus.to_string()).collect();
        assert_eq!(cpus, ["0", "1"], "{spec}");
        let counts: Vec<usize> = plan.domains.iter().map(|of| of.tasks.len()).collect();
        assert_eq!(counts, [1, 2], "{spec}");
        assert!(plan.caveats.iter().any(|caveat| caveat.contains("aborts no job")));
    }
    let (split, _) = global(&[(60, 100), (60, 100), (60, 100)], 2);
    let refused = Plan::new(&split, &rule("cd", &split), &FACTS, None, false).unwrap_err();
    assert_eq!(refused, Refusal::Split { task: split.tasks[TaskId(2)].name.to_string(), count: 2 });
    assert!(refused.help().contains("--engine fifo"));
}

#[test]
fn ticks_do_not_matter_where_budgets_are_precise_or_it_is_forced() {
    let (system, rule) = global(&[(1, 10)], 1);
    let precise = Facts { has_hrtick: Some(true), ..FACTS };
    let plan = Plan::new(&system, &rule, &precise, None, false).unwrap();
    assert_eq!(plan.reservations[TaskId(0)].runtime, Duration::from_us(1050));
    assert!(Plan::new(&system, &rule, &FACTS, None, true).is_ok());
}

/// The rule of a kernel with the repair: a thread has one CPU or all, and both sums have a limit.
#[test]
fn a_repaired_kernel_takes_tied_threads() {
    let task = |name: &str, ms: i64, cpus: Option<CpuSet>| Task {
        affinity: cpus,
        ..Task::implicit(name.to_owned(), Service::from_ms(ms), Duration::from_ms(100))
    };
    let one = |cpu| Some(CpuSet::single(CpuId(cpu)));
    let none = Margin::Time(Duration::ZERO);
    let repaired = Facts { repair: Some(Repair::LIGHT), ..FACTS };
    let plan = |facts: &Facts, tasks: Vec<Task>| {
        let system = System::new(3, tasks);
        Plan::of_repaired(&system, facts, Repair::PAPER, Some(&none), false, false)
    };
    let tasks = || vec![task("a", 90, one(0)), task("b", 90, one(1)), task("c", 90, None)];
    assert_eq!(plan(&FACTS, tasks()), Err(Refusal::NotRepaired));
    let found = plan(&repaired, tasks()).unwrap();
    assert_eq!((found.repair, found.domains.len()), (Some(Repair::PAPER), 1));
    assert_eq!(found.affinities.unwrap()[TaskId(1)], CpuSet::single(CpuId(1)));
    assert_eq!(found.caveats.len(), 1);
    // Condition (2): 1 % too much on CPU 1; condition (1): 1 % too much on all.
    let mut more = tasks();
    more.push(task("d", 10, one(1)));
    let refused = plan(&repaired, more).unwrap_err().to_string();
    assert_eq!(
        refused,
        "CPU 1 would be asked for a load of 1.000, and at most 0.900 may be reserved"
    );
    let mut more = tasks();
    more.push(task("d", 10, None));
    let refused = plan(&repaired, more).unwrap_err().to_string();
    assert!(refused.starts_with("CPUs 0-2 would be asked for a load of 2.800"), "{refused}");
    // Two of three CPUs are neither one nor all.
    let refused = plan(&repaired, vec![task("e", 10, Some(CpuSet::first(2)))]).unwrap_err();
    assert!(matches!(refused, Refusal::NeitherOneNorAll { .. }), "{refused}");
    // Of a hog that reserves everything, the plan says that it stays late.
    let mut hog = task("f", 100, None);
    hog.behaviour = Behaviour::Hog;
    let caveats = plan(&repaired, vec![hog]).unwrap().caveats;
    assert!(caveats[0].starts_with("task `f` migrates"), "{caveats:?}");
}
