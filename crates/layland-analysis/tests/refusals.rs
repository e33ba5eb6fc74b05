//! Every broken assumption leads to a refusal that names the task and a remedy; and corner cases of
//! single tests.

use layland_analysis::deadline::admission::{Limit, global, kernel, kernel_bandwidth};
use layland_analysis::fixed_point::{Diverged, GaveUp};
use layland_analysis::uniprocessor::fixed_priority::{PriorityOrder, RTA, response_bounds};
use layland_analysis::{
    Assumption, Reason, Tardiness, Verdict, affinity, catalogue, global_edf, necessary,
};
use layland_model::{
    ArrivalCurve, Behaviour, CpuId, CpuSet, CurveArrivals, Duration, ExecutionModel, Levels,
    Overheads, Rate, Request, RequestKind, Service, Speed, System, Task, TaskId, Time,
};
use std::collections::BTreeSet;

fn task(name: &str, c: i64, t: i64) -> Task {
    Task::implicit(name, Service::from_ms(c), Duration::from_ms(t))
}

/// Two CPUs and two tasks, the second of which can be spoilt.
fn system(spoil: impl FnOnce(&mut Task)) -> System {
    let mut second = task("spoilt", 2, 10);
    spoil(&mut second);
    System::new(2, vec![task("fine", 1, 10), second])
}

#[test]
fn each_assumption_names_the_task_and_what_to_do() {
    let ms = Duration::from_ms;
    let cpus = |text: &str| text.parse::<CpuSet>().ok();
    let spoilt = [
        (
            Assumption::SporadicReleases,
            system(|task| task.behaviour = Behaviour::SelfSuspending { gap: ms(1) }),
        ),
        (
            Assumption::SporadicReleases,
            system(|task| {
                task.behaviour = Behaviour::Explicit(vec![Time::ZERO, Time::from_ms(9)]);
            }),
        ),
        (
            Assumption::SporadicReleases,
            system(|task| {
                let curve = ArrivalCurve::new(&[ms(1), ms(20)]).unwrap();
                task.behaviour = Behaviour::Curve(CurveArrivals { curve, extra: None }.into());
            }),
        ),
        (
            Assumption::BoundedArrivals,
            system(|task| task.behaviour = Behaviour::SelfSuspending { gap: ms(1) }),
        ),
        (Assumption::NoJitter, system(|task| task.jitter = ms(1))),
        (Assumption::ImplicitDeadlines, system(|task| task.deadline = ms(9))),
        (Assumption::ConstrainedDeadlines, system(|task| task.deadline = ms(11))),
        (Assumption::FitsAlone, system(|task| task.deadline = ms(1))),
        (
            Assumption::WcetKept,
            system(|task| task.execution = ExecutionModel::Fraction(Rate::new(11, 10))),
        ),
        (Assumption::BudgetKept, system(|task| task.budget = Some(Service::from_ms(1)))),
        (Assumption::WholeClusters, system(|task| task.affinity = cpus("1"))),
        (Assumption::OwnLevel, {
            let mut system = system(|task| task.wcet.push(Service::from_ms(3)));
            system.levels = Levels::new(vec!["LO".to_owned(), "HI".to_owned()]);
            system.tasks[TaskId(0)].wcet = vec![Service::from_ms(1); 2].into();
            system
        }),
        (Assumption::Priorities, {
            let mut system = system(|_| ());
            system.tasks[TaskId(0)].priority = Some(1);
            system
        }),
    ];
    for (assumption, system) in spoilt {
        let refusal = assumption.check(&system).unwrap_err();
        assert_eq!(refusal.assumption, assumption);
        assert_eq!(refusal.task(), Some(TaskId(1)), "{refusal}");
        assert!(refusal.to_string().contains("`spoilt`"), "{refusal}");
        assert!(!refusal.help.is_empty());
    }
}

#[test]
fn assumptions_about_the_platform_are_checked() {
    let mut with_speed = system(|_| ());
    with_speed.platform.speeds[CpuId(1)] = Speed::new(&Rate::new(1, 2)).unwrap();
    let mut with_overheads = system(|_| ());
    with_overheads.platform.overheads =
        Overheads { release: Duration::from_us(1), ..Overheads::default() };
    let mut with_request = system(|_| ());
    let kind = RequestKind::CpuOffline(CpuId(0));
    with_request.requests.push(Request { at: Time::from_ms(5), kind });
    let mut clustered = system(|_| ());
    clustered.platform.clusters = vec![CpuSet::single(CpuId(0)), CpuSet::single(CpuId(1))];
    for (assumption, system, message) in [
        (Assumption::UnitSpeeds, with_speed, "CPU 1 has speed 1/2"),
        (Assumption::NoOverheads, with_overheads, "the platform has overheads"),
        (Assumption::NoRequests, with_request, "the system changes at 5ms"),
        (Assumption::OneCluster, clustered, "the platform is divided into clusters"),
    ] {
        let refusal = assumption.check(&system).unwrap_err();
        assert_eq!((refusal.to_string().as_str(), refusal.task()), (message, None));
    }
    let on = |cpus: &str| system(|task| task.affinity = cpus.parse().ok());
    assert!(Assumption::OneCpuEach.check(&on("0")).is_err(), "the first task has two CPUs");
    let mut three = System::new(4, vec![task("a", 1, 9), task("b", 1, 9)]);
    three.tasks[TaskId(0)].affinity = "0-1".parse().ok();
    three.tasks[TaskId(1)].affinity = "1-2".parse().ok();
    assert!(Assumption::TwoLevels.check(&three).is_err());
    assert!(Assumption::SemiPartitioned.check(&three).is_err());
    let mut mixed = system(|_| ());
    mixed.levels = Levels::new(["a", "b", "c"].map(str::to_owned).to_vec());
    assert!(Assumption::TwoCriticalities.check(&mixed).is_err());
    assert!(affinity::hpa_speed::for_system(&three).is_err());
}

#[test]
fn names_are_unique_and_found() {
    let names: Vec<&str> = (catalogue::TESTS.iter().map(|test| test.name))
        .chain(catalogue::BOUNDS.iter().map(|bound| bound.name))
        .collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert_eq!(catalogue::test("gfb").map(|test| test.name), Some("GFB"));
    assert_eq!(catalogue::bound("cva").map(|bound| bound.name), Some("CVA"));
    assert!(catalogue::test("nonsense").is_none());
}

#[test]
fn the_necessary_test_knows_speeds_and_ends() {
    let mut slow = System::new(1, vec![task("a", 6, 10)]);
    slow.platform.speeds[CpuId(0)] = Speed::new(&Rate::new(1, 2)).unwrap();
    assert_eq!(necessary::TEST.run(&slow).unwrap().verdict, Verdict::No);
    // Twice the capacity, but only one job of each task.
    let mut ends = System::new(1, vec![task("a", 10, 10), task("b", 10, 10)]);
    assert_eq!(necessary::TEST.run(&ends).unwrap().verdict, Verdict::No);
    ends.tasks.values_mut().for_each(|task| task.jobs = Some(1));
    assert_eq!(necessary::TEST.run(&ends).unwrap().verdict, Verdict::Unknown);
}

/// A full load whose busy period is too long to be examined: QPA reports that it gave up.
#[test]
fn what_is_given_up_is_unknown() {
    let ns = |name: &str, c, t| Task::implicit(name, Service::from_ns(c), Duration::from_ns(t));
    let p = 999_999_937;
    // 1/2 + 1/2 of two unrelated periods: the load is full, and gives no bound.
    let mut half = System::new(1, vec![ns("a", 500_000_000, 1_000_000_000), ns("b", p, 2 * p)]);
    half.tasks[TaskId(1)].deadline = Duration::from_ns(2 * p - 1);
    let finding = catalogue::test("QPA").unwrap().run(&half).unwrap();
    let gave_up = matches!(finding.reasons[..], [Reason::GaveUp(GaveUp::OutOfSteps { .. })]);
    assert!(finding.verdict == Verdict::Unknown && gave_up, "{finding:?}");
}

#[test]
fn overload_has_no_response_bound() {
    let mut late = task("late", 5, 10);
    late.deadline = Duration::from_ms(1_000);
    let system = System::new(1, vec![task("a", 6, 10), late]);
    let bounds = response_bounds(&system, PriorityOrder::RateMonotonic).unwrap();
    assert_eq!(bounds[TaskId(1)], Err(Diverged::Overload));
    let finding = RTA.under(PriorityOrder::DeadlineMonotonic).run(&system).unwrap();
    assert_eq!(finding.verdict, Verdict::No);
    assert_eq!(finding.reasons, [Reason::NoBound(TaskId(1), Diverged::Overload)]);
    assert_eq!(
        RTA.under(PriorityOrder::Given).run(&system).unwrap_err().assumption,
        Assumption::Priorities
    );
}

#[test]
fn no_tardiness_bound_without_capacity() {
    let system = System::new(1, vec![task("a", 3, 4), task("b", 3, 4)]);
    for bound in catalogue::BOUNDS {
        assert!(matches!(bound.run(&system), Ok(Tardiness::Unknown(_))), "{}", bound.name);
    }
    let one = System::new(2, vec![task("a", 1, 4)]);
    let Ok(Tardiness::Bounded(bounds)) = global_edf::devi_anderson::TEST.run(&one) else {
        panic!()
    };
    // If Lambda is 0, x is not negative.
    assert_eq!(bounds[TaskId(0)].rounded_up(), Some(Duration::from_ms(1)));
}

/// 95 % of 2^20 is 996 147.2; three times a third of it is below that in the kernel's arithmetic.
#[test]
fn the_kernel_accepts_what_rounds_down() {
    let third =
        Task::implicit("t", Service::from_ns(316_666_667), Duration::from_ns(1_000_000_000));
    assert_eq!(kernel_bandwidth(&third), 332_049);
    let system = System::new(
        1,
        (0..3).map(|index| Task { name: index.to_string().into(), ..third.clone() }).collect(),
    );
    assert_eq!(global(&system, &Limit::default()).unwrap().verdict, Verdict::No);
    let all = system.platform.all_cpus();
    assert_eq!(kernel(system.tasks.values(), &all, &Limit::default()).verdict, Verdict::Yes);
    assert_eq!(kernel(system.tasks.values(), &all, &Limit::Off).verdict, Verdict::Yes);
}

/// The kernel rounds the limit down per CPU: 8 * 996 147 is less than 95 % of 8 * 2^20, which is 7
/// 969 177.6. Tasks that lose nothing by rounding can lie between the two.
#[test]
fn the_kernel_refuses_what_lies_between_its_limit_and_the_limit() {
    let units = [996_147, 996_147, 996_147, 996_147, 996_147, 996_147, 996_147, 996_148];
    let task = |(index, &q): (usize, &i64)| {
        Task::implicit(index.to_string(), Service::from_ns(q), Duration::from_ns(1 << 20))
    };
    let system = System::new(8, units.iter().enumerate().map(task).collect());
    assert_eq!(global(&system, &Limit::default()).unwrap().verdict, Verdict::Yes);
    let all = system.platform.all_cpus();
    assert_eq!(kernel(system.tasks.values(), &all, &Limit::default()).verdict, Verdict::No);
}
