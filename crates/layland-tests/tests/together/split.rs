//! Semi-partitioned EDF: the worked example, twins on random systems, the promises of the pieces,
//! and the policies that splitting dominates.

use layland_analysis::semi_partitioned as tests;
use layland_analysis::{SchedulabilityTest, Verdict};
use layland_checker::check;
use layland_gen::{Aspect, Random};
use layland_guarantee::{AssessOptions, assess};
use layland_model::{
    Algorithm, CpuId, Duration, Piece, Rate, ScheduleRule, Service, Speed, SplitOrder, Splitting,
    System, Task, TaskId, TaskMap, Time,
};
use layland_offline::split;
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate};
use layland_testkit::differential::nanoseconds;
use layland_testkit::registry;
use layland_testkit::split::{assign, draw, fits, run as drawn_run, schedule};
use layland_trace::{Counters, JobEnd, Segment, Trace};
use std::collections::BTreeMap;

const ORDERS: [(&str, SplitOrder); 4] = [
    ("du", SplitOrder::Utilization),
    ("dd", SplitOrder::Density),
    ("id", SplitOrder::Deadline),
    ("ip", SplitOrder::Period),
];

/// Returns every policy with its options, and its way to split.
fn specs() -> Vec<(String, Splitting, SplitOrder)> {
    let names = [
        ("cd:split=fail-first", Splitting::FailFirst),
        ("cd:split=fail-worst", Splitting::FailWorst),
        ("cd:split=next-first", Splitting::NextFirst),
        ("cd:split=next-best", Splitting::NextBest),
        ("edf-wm", Splitting::Windows),
    ];
    let each = names.iter().flat_map(|&(name, splitting)| {
        ORDERS.iter().map(move |&(word, order)| (format!("{name}:order={word}"), splitting, order))
    });
    each.collect()
}

fn test_of(splitting: Splitting) -> &'static SchedulabilityTest {
    match splitting {
        Splitting::FailFirst => &tests::FAIL_FIRST,
        Splitting::FailWorst => &tests::FAIL_WORST,
        Splitting::NextFirst => &tests::NEXT_FIRST,
        Splitting::NextBest => &tests::NEXT_BEST,
        Splitting::Windows => &tests::WINDOWS,
    }
}

fn run(system: &System, policy: impl Policy, until: i64) -> Trace {
    let mut trace = Trace::default();
    let options = SimOptions::until(Time::from_ns(until));
    simulate(system, policy, &mut trace, &options).expect("it is short");
    trace
}

/// Draws random systems, some with deadlines before the ends of periods.
fn systems(count: u64) -> impl Iterator<Item = (u64, System)> {
    (0..count).map(|index| {
        let mut random = Random::new(31, index, Aspect::Utilizations);
        (index, draw(&mut random, index % 3 == 0))
    })
}

/// Draws such systems on CPUs of different speeds.
fn systems_of_other_speeds(count: u64) -> impl Iterator<Item = (u64, System)> {
    systems(count).map(|(index, mut system)| {
        let mut random = Random::new(32, index, Aspect::Utilizations);
        let rates = [(1, 2), (2, 3), (1, 1), (3, 2), (2, 1)].map(|(n, d)| Rate::new(n, d));
        for speed in system.platform.speeds.values_mut() {
            *speed = Speed::new(&rates[random.below(5) as usize]).unwrap();
        }
        (index, system)
    })
}

fn six_tenths() -> System {
    let task = |name| Task::implicit(name, Service::from_ns(6), Duration::from_ns(10));
    System::new(2, ["a", "b", "c"].map(task).to_vec())
}

/// Three tasks of 6/10, of which no two fit on one CPU: the second task runs 4 on CPU 0 and 2 on CPU 1.
#[test]
fn a_task_that_fits_nowhere_is_split() {
    let system = six_tenths();
    let policy = registry().build("cd:split=next-first", &system).unwrap();
    let rule = policy.rule();
    let ScheduleRule::Split { pieces } = &rule else { panic!("{rule:?}") };
    let row =
        |piece: &Piece| (piece.cpu.0, piece.offset.ns(), piece.budget.ns(), piece.deadline.ns());
    let rows: Vec<Vec<_>> = pieces.values().map(|own| own.iter().map(row).collect()).collect();
    let expected = [vec![(0, 0, 6, 10)], vec![(0, 0, 4, 4), (1, 4, 2, 6)], vec![(1, 0, 6, 10)]];
    assert_eq!(rows, expected);
    let trace = run(&system, policy, 10);
    let mut found: Vec<_> = (trace.segments.iter())
        .map(|of| (of.cpu.0, of.start.ns(), of.end.ns(), of.job.task.0))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [(0, 0, 4, 1), (0, 4, 10, 0), (1, 0, 4, 2), (1, 4, 6, 1), (1, 6, 8, 2)]);
    assert!(check(&trace, &system, &rule, 3).is_clean());
}

#[test]
fn pieces_are_those_of_the_twin() {
    let mut count: BTreeMap<(Splitting, bool), u32> = BTreeMap::new();
    for (_, system) in systems(700).chain(systems_of_other_speeds(500)) {
        for (spec, splitting, order) in specs() {
            let fast = split(&system, splitting, order).ok();
            let slow = assign(&system, splitting, order);
            assert_eq!(fast, slow, "{spec}: {system:#?}");
            let has_split = fast.is_some_and(|it| it.values().any(|own| own.len() > 1));
            *count.entry((splitting, has_split)).or_default() += 1;
        }
    }
    for splitting in Splitting::ALL {
        assert!(count[&(splitting, true)] > 100, "{count:?}");
    }
}

/// Each CPU of an accepted set is schedulable by the definition, a CPU has at most one piece without laxity, and
/// budgets and windows add up.
#[test]
fn pieces_fit_their_tasks_and_their_cpus() {
    let mut most = 0;
    for (_, system) in systems(500) {
        for (spec, splitting, order) in specs() {
            let Ok(pieces) = split(&system, splitting, order) else { continue };
            let mut on: BTreeMap<CpuId, Vec<(i64, i64, i64)>> = BTreeMap::new();
            let mut tight: BTreeMap<CpuId, u32> = BTreeMap::new();
            let mut splits = 0;
            for (id, task) in system.tasks.iter() {
                let own = &pieces[id];
                let budgets: i64 = own.iter().map(|piece| piece.budget.ns()).sum();
                assert_eq!(budgets, task.own_wcet().ns(), "{spec}: {own:?}");
                assert!(own.windows(2).all(|pair| pair[0].due() <= pair[1].offset), "{own:?}");
                assert!(own.last().unwrap().due() <= task.deadline, "{spec}: {own:?}");
                splits += usize::from(own.len() > 1);
                most = most.max(own.len());
                for piece in own {
                    let load = (piece.budget.ns(), piece.deadline.ns(), task.period.ns());
                    on.entry(piece.cpu).or_default().push(load);
                    *tight.entry(piece.cpu).or_default() += u32::from(piece.has_no_laxity());
                }
                let is_next = matches!(splitting, Splitting::NextFirst | Splitting::NextBest);
                assert!(!is_next || own.len() <= 2, "{spec}: {own:?}");
            }
            if matches!(splitting, Splitting::NextFirst | Splitting::NextBest) {
                assert!(splits < system.platform.cpu_count(), "{spec}: {splits}");
            }
            assert!(on.values().all(|loads| fits(loads)), "{spec}: {pieces:?}");
            assert!(tight.values().all(|&count| count <= 1), "{spec}: {pieces:?}");
        }
    }
    assert!(most >= 3, "{most}");
}

/// Schedules equal those of the twin, for any demands, and keep the rule.
#[test]
fn schedules_are_those_of_the_twin() {
    let (mut compared, mut moved, mut given_up) = (0, 0, 0);
    for (index, system) in systems(400) {
        let mut random = Random::new(32, index, Aspect::Offsets);
        let drawn = drawn_run(&mut random, &system, 100, index % 2 == 0);
        for (spec, ..) in specs() {
            let Ok(policy) = registry().build(&spec, &drawn) else { continue };
            let rule = policy.rule();
            let ScheduleRule::Split { pieces } = &rule else { panic!("{rule:?}") };
            let trace = run(&drawn, policy, 100);
            let report = check(&trace, &drawn, &rule, 3);
            assert!(report.is_clean(), "{spec}: {report}\n{drawn:#?}");
            let found = nanoseconds(&trace);
            assert_eq!(found, schedule(&drawn, pieces, &trace), "{spec}: {drawn:#?}");
            compared += found.len();
            moved += (trace.segments.windows(2))
                .filter(|pair| pair[0].job == pair[1].job && pair[0].cpu != pair[1].cpu)
                .count();
            let aborted = |end: &Option<(Time, JobEnd)>| matches!(end, Some((_, JobEnd::Aborted)));
            given_up += trace.jobs.iter().filter(|record| aborted(&record.end)).count();
        }
    }
    assert!(compared > 400_000 && moved > 500 && given_up > 500, "{compared} {moved} {given_up}");
}

/// Accepted sets are never late, under any releases at least a period apart. Pieces without laxity
/// run without a gap from the beginning of their windows. A job migrates less often than it has
/// pieces.
#[test]
fn accepted_sets_are_never_late() {
    let (mut runs, mut without_laxity) = (0, 0);
    for (index, system) in systems(300) {
        for (spec, splitting, order) in specs() {
            let finding = tests::in_order(&system, splitting, order).unwrap();
            if order == SplitOrder::Utilization {
                assert_eq!(test_of(splitting).run(&system).unwrap(), finding, "{spec}");
            }
            let found = assess(registry(), &spec, &system, &AssessOptions::by_tests()).unwrap();
            assert_eq!(found.verdict == Verdict::Yes, finding.verdict == Verdict::Yes, "{spec}");
            let built = registry().build(&spec, &system);
            assert_eq!(finding.verdict == Verdict::Yes, built.is_ok(), "{spec}: {system:#?}");
            let Ok(policy) = built else { continue };
            let ScheduleRule::Split { pieces } = policy.rule() else { panic!("{spec}") };
            for round in 0..4 {
                let mut random = Random::new(33 + round, index, Aspect::Offsets);
                let drawn = drawn_run(&mut random, &system, 300, false);
                let trace = run(&drawn, policy.clone(), 300);
                let mut counters = Counters::new(drawn.tasks.len(), drawn.platform.cpu_count());
                let options = SimOptions::until(Time::from_ns(300));
                simulate(&drawn, policy.clone(), &mut counters, &options).expect("it is short");
                let most: usize = pieces.values().map(|own| own.len() - 1).max().unwrap();
                let migrations = counters.total().migrations_within_jobs;
                assert!(migrations <= (most * trace.jobs.len()) as u64, "{spec}: {drawn:#?}");
                for record in &trace.jobs {
                    assert!(!record.missed(trace.over), "{spec}: {record:?} {drawn:#?}");
                    let first = pieces[record.job.id.task][0];
                    let arrival = record.job.arrival.ns();
                    if !first.has_no_laxity() || arrival + first.budget.ns() > 300 {
                        continue;
                    }
                    let own = trace.segments.iter().find(|segment| segment.job == record.job.id);
                    let own = own.filter(|_| record.executed > Service::ZERO);
                    let Some(own) = own else { continue };
                    let until = arrival + first.budget.min(record.executed.at_unit_speed()).ns();
                    assert_eq!((own.start.ns(), own.end.ns()), (arrival, until), "{spec}");
                    without_laxity += 1;
                }
                runs += 1;
            }
        }
    }
    assert!(runs > 1500 && without_laxity > 1500, "{runs} {without_laxity}");
}

/// With deadlines at the ends of periods, the capacity of a CPU is its utilization. C=D thus begins
/// where first fit in the same order ends, so it accepts all sets that first fit accepts, and more.
#[test]
fn splitting_what_fails_dominates_first_fit() {
    let (mut both, mut more) = (0, 0);
    for index in 0..3000 {
        let mut random = Random::new(34, index, Aspect::Utilizations);
        let system = draw(&mut random, false);
        let packs = registry().build("p-edf:fit=ffd", &system).is_ok();
        for spec in ["cd:order=du", "cd:order=dd", "edf-wm:order=du", "edf-wm:order=dd"] {
            let splits = registry().build(spec, &system);
            assert!(splits.is_ok() || !packs, "{spec}: {system:#?}");
            if let (Ok(policy), true) = (&splits, packs) {
                let ScheduleRule::Split { pieces } = policy.rule() else { panic!("{spec}") };
                assert!(pieces.values().all(|own| own.len() == 1), "{spec}: {system:#?}");
            }
            both += u32::from(packs);
            more += u32::from(splits.is_ok() && !packs);
        }
    }
    assert!(both > 3000 && more > 800, "{both} {more}");
}

/// With arbitrary deadlines, C=D begins where first fit by processor demand ends.
#[test]
fn splitting_what_fails_dominates_first_fit_by_demand() {
    let (mut both, mut more) = (0, 0);
    for index in 0..1500 {
        let mut random = Random::new(35, index, Aspect::Utilizations);
        let system = draw(&mut random, true);
        let mut on = vec![Vec::new(); system.platform.cpu_count()];
        let mut tasks = system.by_rank();
        tasks.sort_by_key(|&id| std::cmp::Reverse(system.tasks[id].density()));
        let packs = tasks.iter().all(|&id| {
            let task = &system.tasks[id];
            let load = (task.own_wcet().ns(), task.deadline.ns(), task.period.ns());
            let room = |loads: &Vec<(i64, i64, i64)>| {
                fits(&loads.iter().copied().chain([load]).collect::<Vec<_>>())
            };
            let cpu = on.iter().position(room);
            cpu.map(|cpu| on[cpu].push(load)).is_some()
        });
        for spec in ["cd:order=dd", "edf-wm:order=dd"] {
            let splits = registry().build(spec, &system).is_ok();
            assert!(splits || !packs, "{spec}: {system:#?}");
            both += u32::from(packs);
            more += u32::from(splits && !packs);
        }
    }
    assert!(both > 600 && more > 150, "{both} {more}");
}

#[test]
fn the_rule_finds_what_is_wrong() {
    let system = six_tenths();
    let policy = registry().build("cd", &system).unwrap();
    let rule = policy.rule();
    let trace = run(&system, policy, 30);
    assert!(check(&trace, &system, &rule, 3).is_clean());
    let says = |trace: &Trace, rule: &ScheduleRule, what: &str| {
        let report = check(trace, &system, rule, 20).to_string();
        assert!(report.contains(what), "{what}: {report}");
    };
    // The schedule of another policy.
    let g_edf = run(&system, registry().build("g-edf", &system).unwrap(), 30);
    says(&g_edf, &rule, "where it has no piece left");
    // A piece that runs before the previous one is used up, and before its window.
    let ScheduleRule::Split { pieces } = &rule else { panic!("{rule:?}") };
    let with = |change: &dyn Fn(&mut TaskMap<Vec<Piece>>)| {
        let mut pieces = pieces.clone();
        change(&mut pieces);
        ScheduleRule::Split { pieces }
    };
    let (last, ns) = (TaskId(2), Duration::from_ns);
    let other = with(&|pieces| {
        (pieces[last][0].budget, pieces[last][0].deadline) = (ns(3), ns(3));
        pieces[last][1].budget = ns(3);
    });
    says(&trace, &other, "gets 4ns of its piece on CPU 0, and the budget is 3ns");
    let later = with(&|pieces| {
        (pieces[last][1].offset, pieces[last][1].deadline) =
            (Duration::from_ns(7), Duration::from_ns(3));
    });
    says(&trace, &later, "its piece there is ready at 7ns");
    // Pieces that do not belong to the set.
    let less = with(&|pieces| pieces[last][1].budget = ns(1));
    says(&trace, &less, "the pieces of `c` are less than its WCET together");
    let again = with(&|pieces| pieces[last][1].cpu = CpuId(0));
    says(&trace, &again, "are not all on other CPUs");
    let early = with(&|pieces| pieces[last][1].offset = Duration::from_ns(3));
    says(&trace, &early, "have windows that begin before the one before ends");
    let tight = with(&|pieces| pieces[TaskId(0)][0].deadline = Duration::from_ns(6));
    says(&trace, &tight, "are without laxity on a CPU that has such a piece already");
    // `c` takes CPU 1 from `b`, which has the smaller rank and an equal deadline.
    let trace = run(&system, registry().build("cd", &system).unwrap(), 10);
    let mut overtaken = trace.clone();
    let at = Time::from_ns;
    let mut on_1 = overtaken.segments.iter().copied().filter(|segment| segment.cpu == CpuId(1));
    let (b, c) = (on_1.next().unwrap(), on_1.next().unwrap());
    assert_eq!((b.end, c.start, c.end), (at(6), at(6), at(8)));
    overtaken.segments.retain(|segment| segment.cpu == CpuId(0));
    overtaken.segments.extend([
        Segment { end: at(4), ..b },
        Segment { start: at(4), end: at(6), ..c },
        Segment { start: at(6), end: at(8), ..b },
    ]);
    overtaken.segments.sort_by_key(|segment| (segment.end, segment.cpu));
    for record in &mut overtaken.jobs {
        match record.job.id.task.0 {
            1 => record.end = Some((at(8), JobEnd::Completed)),
            2 => record.end = Some((at(6), JobEnd::Completed)),
            _ => {}
        }
    }
    says(&overtaken, &rule, "b#1 waits at 4ns while c (piece 2 of 2)#1");
}

/// A job that needs more than its WCET is aborted, and makes no other job late.
#[test]
fn overruns_harm_nobody_else() {
    let mut given_up = 0;
    for (index, system) in systems(200) {
        let mut random = Random::new(36, index, Aspect::Offsets);
        let drawn = drawn_run(&mut random, &system, 200, true);
        for (spec, ..) in specs() {
            let Ok(policy) = registry().build(&spec, &drawn) else { continue };
            let trace = run(&drawn, policy, 200);
            for record in &trace.jobs {
                let wcet = drawn.tasks[record.job.id.task].own_wcet();
                match record.end {
                    Some((at, JobEnd::Completed)) => assert!(at <= record.job.deadline, "{spec}"),
                    Some((at, JobEnd::Aborted)) => {
                        assert!(at <= record.job.deadline && record.executed == wcet, "{spec}");
                        given_up += 1;
                    }
                    Some((_, JobEnd::Left)) => panic!("{spec}: nobody leaves"),
                    None => assert!(record.job.deadline > trace.over, "{spec}"),
                }
            }
        }
    }
    assert!(given_up > 1000, "{given_up}");
}

/// The test for a way to split covers each order, for the pieces that the policy makes in it.
#[test]
fn every_order_is_guaranteed_by_the_test_of_its_splitting() {
    let task = |name, c, t| Task::implicit(name, Service::from_ns(c), Duration::from_ns(t));
    let system = System::new(2, vec![task("a", 12, 20), task("b", 6, 10), task("c", 6, 10)]);
    let told = |spec: &str| {
        let found = assess(registry(), spec, &system, &AssessOptions::by_tests()).unwrap();
        (found.verdict, found.decided_by, found.reasons[0].clone())
    };
    let yes = |by, why: &str| (Verdict::Yes, Some(by), why.to_owned());
    assert_eq!(told("cd"), yes("CD", "`c` is split: 4 ns on CPU 0, 2 ns on CPU 1"));
    let of_a = "`a` is split: 4 ns on CPU 0, 8 ns on CPU 1";
    assert_eq!(told("cd:order=ip"), yes("CD", of_a));
    assert_eq!(told("cd:order=id:split=fail-worst"), yes("CD-WORST", of_a));
    let found = assess(registry(), "edf-wm:order=id", &six_tenths(), &AssessOptions::by_tests());
    assert_eq!(found.unwrap().decided_by, Some("EDF-WM"));
    // Its assumptions are checked for every order.
    let mut changing = system.clone();
    changing.requests = vec![layland_model::Request {
        at: Time::from_ns(5),
        kind: layland_model::RequestKind::Leave(TaskId(0)),
    }];
    let found = assess(registry(), "cd:order=ip", &changing, &AssessOptions::by_tests()).unwrap();
    assert_eq!(found.verdict, Verdict::Unknown, "{:?}", found.reasons);
}

#[test]
fn policies_say_how_they_split_and_in_which_order() {
    let of = |spec: &str| {
        let (info, options) = registry().parse(spec).unwrap();
        info.algorithm(&options)
    };
    assert_eq!(of("cd"), Algorithm::Split(Splitting::FailFirst, SplitOrder::Utilization));
    assert_eq!(
        of("cd:split=next-best:order=du"),
        Algorithm::Split(Splitting::NextBest, SplitOrder::Utilization)
    );
    assert_eq!(of("cd:order=dd"), Algorithm::Split(Splitting::FailFirst, SplitOrder::Density));
    assert_eq!(of("c=d"), Algorithm::Split(Splitting::FailFirst, SplitOrder::Utilization));
    assert_eq!(of("EDF_WM"), Algorithm::Split(Splitting::Windows, SplitOrder::Utilization));
}

#[test]
fn what_pieces_cannot_express_is_refused() {
    let refused = |change: &dyn Fn(&mut System), spec: &str| {
        let mut system = six_tenths();
        change(&mut system);
        registry().build(spec, &system).map(|_| ()).unwrap_err().to_string()
    };
    let id = TaskId(0);
    for spec in ["cd", "edf-wm"] {
        let late = refused(&|of| of.tasks[id].deadline = Duration::from_ns(11), spec);
        assert!(late.contains("needs deadlines up to the ends of periods"), "{late}");
        let hog = refused(&|of| of.tasks[id].behaviour = layland_model::Behaviour::Hog, spec);
        assert!(hog.contains("needs jobs that end"), "{hog}");
        let jitter = refused(&|of| of.tasks[id].jitter = Duration::from_ns(1), spec);
        assert!(jitter.contains("ready when they arrive"), "{jitter}");
        let full = refused(&|of| of.tasks[id].wcet = vec![Service::from_ns(10)].into(), spec);
        assert!(full.contains("are left over"), "{full}");
    }
}
