//! Mixed criticality: sets that safe analyses accept survive, and some that unsound ones accept do
//! not; the mechanisms follow their rules tick by tick; and the counterexamples to printed claims.
//!
//! Long because the counterexamples are written out, each with the run that breaks it.

use layland_analysis::{Verdict, necessary};
use layland_checker::check;
use layland_config::{Format, Host, demo, read};
use layland_gen::{Aspect, Random};
use layland_guarantee::{AssessOptions, Assessor, BoundsBy, Effort, Findings, Said, Wanted};
use layland_model::{
    Behaviour, Criticality, Duration, ExecutionModel, JobId, Levels, Note, Rate, ScheduleRule,
    Service, System, Task, TaskId, Time,
};
use layland_offline::criticality::virtual_deadlines::Modes;
use layland_policy::Policy;
use layland_policy::criticality::PerCpu;
use layland_policy::criticality::amc::Adaptive;
use layland_policy::criticality::edf_vd::EdfVd;
use layland_policy::criticality::indicator::OwnOverrun;
use layland_policy::criticality::mechanism::Mechanism;
use layland_policy::criticality::plrs::{ListReuse, Lists};
use layland_policy::criticality::pt::{Slices, Transformed};
use layland_policy::criticality::zss::{Late, ZeroSlack};
use layland_sim::{SimOptions, simulate};
use layland_testkit::differential::{mechanism, recomputation};
use layland_testkit::mixed::{
    Beside, Literal, SAFE, UNSOUND, beside, broken, describe, draw_set, try_set,
};
use layland_testkit::registry;
use layland_trace::{MarkKind, Trace};
use proptest::prelude::*;
use rayon::prelude::*;

/// A short form of the campaign `mixed`.
#[test]
fn what_a_safe_analysis_accepts_survives() {
    SAFE.par_iter().for_each(|spec| {
        let (mut accepted, mut index) = (0, 0);
        while accepted < 25 && index < 20_000 {
            let tried = try_set(spec, 7, index, 60);
            accepted += u64::from(tried.accepted);
            if let Some((run, system, how)) = tried.broken {
                panic!("{spec}, set {index}, run {run}: {how}\n{}", describe(&system));
            }
            index += 1;
        }
        assert!(accepted >= 25, "{spec} accepts {accepted} of {index} sets");
    });
}

/// The search finds the errors of unsound analyses.
#[test]
fn what_an_unsound_analysis_accepts_is_broken() {
    UNSOUND.par_iter().for_each(|spec| {
        let found = (0..4000).any(|index| try_set(spec, 7, index, 60).broken.is_some());
        assert!(found, "{spec}");
    });
}

/// Statements about any scheduler hold for policies that drop jobs, too, and still exclude
/// impossible sets.
#[test]
fn no_policy_keeps_what_no_scheduler_can() {
    let wanted =
        Wanted { findings: Findings::Verdict, bounds: BoundsBy::Nobody, ..Wanted::default() };
    let options = AssessOptions { wanted, effort: Effort::Quick, ..AssessOptions::by_tests() };
    let (mut refuted, mut kept) = (0, 0);
    for index in 0..3_000 {
        let mut random = Random::new(11, index, Aspect::Criticalities);
        let mut system = draw_set(&mut random);
        let heavier = random.between(1, 3);
        for task in system.tasks.values_mut() {
            task.wcet.iter_mut().for_each(|wcet| *wcet = Service::from_ns(wcet.ns() * heavier));
        }
        let too_much = necessary::TEST.run(&system).is_ok_and(|all| all.verdict == Verdict::No);
        if !too_much {
            continue;
        }
        let assessor = Assessor::new(registry(), &system, &options);
        let said = assessor.whatever_the_scheduler();
        let is_no = |said: &Said| {
            (*said.finding).as_ref().is_ok_and(|finding| finding.verdict == Verdict::No)
        };
        let none_can = said.iter().any(is_no);
        let can: Vec<&str> = registry()
            .iter()
            .map(|info| info.name.as_ref())
            .filter(|name| assessor.assess(name).expect("it is listed").verdict == Verdict::Yes)
            .collect();
        assert!(!none_can || can.is_empty(), "set {index}: {can:?}\n{}", describe(&system));
        refuted += u64::from(none_can);
        kept += u64::from(!can.is_empty());
    }
    assert!(refuted > 100 && kept > 100, "{refuted} refuted, {kept} kept by some policy");
}

fn two_levels(tasks: &[(i64, i64, u8, &[i64])], levels: usize) -> System {
    let task = |(index, &(period, deadline, level, bounds)): (usize, &(i64, i64, u8, &[i64]))| {
        let period = Duration::from_ns(period);
        let mut task = Task::implicit(format!("tau{index}"), Service::from_ns(1), period);
        task.deadline = Duration::from_ns(deadline);
        task.criticality = Criticality(level);
        task.wcet = bounds.iter().map(|&bound| Service::from_ns(bound)).collect();
        task
    };
    let mut system = System::new(1, tasks.iter().enumerate().map(task).collect());
    system.levels = Levels::new((0..levels).map(|level| format!("L{level}")).collect());
    system
}

fn with_run(mut system: System, runs: &[(&[i64], &[i64])]) -> System {
    for (task, (releases, demands)) in system.tasks.values_mut().zip(runs) {
        task.behaviour =
            Behaviour::Explicit(releases.iter().map(|&at| Time::from_ns(at)).collect());
        task.execution =
            ExecutionModel::List(demands.iter().map(|&demand| Service::from_ns(demand)).collect());
    }
    system
}

fn run<P: Policy>(system: &System, policy: P, until: i64) -> Trace {
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(Time::from_ns(until))).unwrap();
    let report = check(&trace, system, &ScheduleRule::None, 5);
    assert!(report.is_clean(), "{report}");
    trace
}

fn missed(trace: &Trace, task: u32, seq: u64) -> bool {
    let id = JobId { task: TaskId(task), seq };
    trace.jobs.iter().any(|record| record.job.id == id && record.missed(trace.over))
}

fn one_cpu<M: Mechanism>(system: &System, mechanism: M) -> PerCpu<M> {
    PerCpu::on_one_cpu("given", system, mechanism)
}

// --- Tick by tick ------------------------------------------------------------------------------

#[test]
fn every_mechanism_does_what_its_rules_say() {
    (0..3000).into_par_iter().for_each(|index| {
        mechanism(3, index).unwrap_or_else(|how| panic!("{index}: {how}"));
    });
}

/// OCBP compared with brute force at every scan. With the lists of the offline stage, no scan fails.
#[test]
fn recomputed_priorities_are_those_of_brute_force() {
    let scans: u64 = (0..6000)
        .into_par_iter()
        .map(|index| recomputation(5, index).unwrap_or_else(|how| panic!("{index}: {how}")))
        .sum();
    assert!(scans > 5000, "{scans}");
}

proptest! {
    #[test]
    fn list_ranges_are_the_literal_lists(
        steps in prop::collection::vec((0u8..4, -1i64..40), 1..60),
        offline in prop::collection::btree_set(0i64..40, 0..15),
    ) {
        let offline: Vec<i64> = offline.into_iter().rev().collect();
        let (mut ranges, mut literal) = (Lists::new(offline.clone()), Literal::new(offline));
        for (step, y) in steps {
            match step {
                0 => { ranges.reuse(y); literal.reuse(y); }
                1 if y == 7 => { ranges.reset(); literal.reset(); }
                _ => prop_assert_eq!(ranges.take(), literal.take()),
            }
            prop_assert_eq!(ranges.remaining().collect::<Vec<_>>(), literal.remaining());
        }
    }
}

// --- Counterexamples ---------------------------------------------------------------------------

/// C1: without the change point 0, AMC-IA accepts a set that needs 137 % at its level.
#[test]
fn c1_two_high_tasks_need_more_than_the_cpu() {
    let system = two_levels(&[(21, 21, 1, &[9, 21]), (30, 30, 1, &[11, 11])], 2);
    let system = with_run(system, &[(&[0, 21], &[21]), (&[0], &[11])]);
    for order in [[0, 1], [1, 0]] {
        let trace = run(&system, one_cpu(&system, Adaptive::new(&order, 2, OwnOverrun::Raise)), 60);
        assert!(missed(&trace, 0, 0) || missed(&trace, 1, 0), "{order:?}");
    }
}

/// C2: with deadlines only up to `R(0)`, the response time of the high task under the low one is allegedly 23.
#[test]
fn c2_the_low_job_that_was_not_counted() {
    let system = two_levels(&[(19, 19, 0, &[3, 3]), (23, 23, 1, &[14, 23])], 2);
    let system = with_run(system, &[(&[0, 19], &[3]), (&[0], &[23])]);
    let trace = run(&system, one_cpu(&system, Adaptive::new(&[0, 1], 2, OwnOverrun::Raise)), 30);
    assert!(missed(&trace, 1, 0));
}

/// C3: AMC-IA gives 16, the deadline, under both orders.
#[test]
fn c3_amc_ia_accepts_what_misses() {
    let system = two_levels(&[(16, 16, 1, &[5, 8]), (4, 4, 0, &[1, 1]), (4, 4, 1, &[1, 2])], 2);
    let runs: [(&[usize], &[i64]); 2] =
        [(&[2, 1, 0], &[1, 6, 10, 14]), (&[1, 2, 0], &[0, 4, 8, 12])];
    for (order, releases) in runs {
        let runs: [(&[i64], &[i64]); 3] = [(&[0], &[8]), (&[0, 4, 8, 12], &[1]), (releases, &[2])];
        let system = with_run(system.clone(), &runs);
        let trace = run(&system, one_cpu(&system, Adaptive::new(order, 2, OwnOverrun::Raise)), 16);
        assert!(missed(&trace, 0, 0), "{order:?}");
    }
}

/// C4 and C4': a slice that is not finished inside its own segment loses the rest of its budget.
#[test]
fn c4_slices_lose_budget() {
    let slices = |of: &[(i64, i64, i64)]| {
        of.iter()
            .map(|&(count, length, budget)| Slices { count, length, budget })
            .collect::<Vec<_>>()
    };
    let system = two_levels(
        &[(10, 10, 0, &[1, 1, 1]), (20, 20, 1, &[5, 16, 16]), (20, 20, 2, &[4, 4, 6])],
        3,
    );
    let system = with_run(system, &[(&[0, 10], &[1]), (&[0], &[16]), (&[0], &[4])]);
    let policy = Transformed::new(&[2, 1, 0], slices(&[(1, 10, 1), (2, 10, 8), (2, 10, 3)]));
    assert!(missed(&run(&system, one_cpu(&system, policy), 20), 1, 0));

    let system = two_levels(&[(6, 6, 0, &[1, 1]), (12, 12, 1, &[3, 6]), (4, 4, 1, &[1, 2])], 2);
    let system = with_run(system, &[(&[0, 6], &[1]), (&[0], &[6]), (&[2, 6, 10], &[2])]);
    let policy = Transformed::new(&[2, 1, 0], slices(&[(1, 6, 1), (2, 6, 3), (1, 4, 2)]));
    assert!(missed(&run(&system, one_cpu(&system, policy), 12), 1, 0));
}

/// C5: the zero-slack instant 6 of Table I is too late; 4 is not.
#[test]
fn c5_a_zero_slack_instant_that_is_too_late() {
    let system = two_levels(&[(10, 10, 1, &[4, 6]), (5, 5, 0, &[3, 3])], 2);
    let system = with_run(system, &[(&[0, 10], &[6]), (&[2, 7, 12, 17], &[3])]);
    for (instant, late) in [(6, true), (4, false)] {
        for option in [Late::Suspend, Late::Demote] {
            let policy = ZeroSlack::new(&[1, 0], &[Some(instant), None], option);
            let trace = run(&system, one_cpu(&system, policy), 20);
            assert_eq!(missed(&trace, 0, 1), late, "{instant} {option:?}");
        }
    }
}

/// C6, C6b, C6', C6b', C7: patterns of jobs that FJP-IJA accepts.
#[test]
fn c6_and_c7_accepted_patterns_that_miss() {
    let twice = |task: (i64, i64, u8, &'static [i64])| [task, task];
    let [low, high] = [(10, 10, 0, &[5i64, 5] as &[i64]), (10, 10, 1, &[2, 6])];
    let [a, b] = twice((10, 10, 1, &[1, 3]));
    let [c, d] = twice((13, 13, 1, &[3, 6]));
    type Case<'a> = (&'a str, Vec<(i64, i64, u8, &'a [i64])>, Vec<(&'a [i64], &'a [i64])>, i64);
    let cases: [Case<'_>; 5] = [
        ("C6", vec![low, high], vec![(&[0], &[5]), (&[0], &[6])], 10),
        ("C6b", vec![low, a, b], vec![(&[0], &[5]), (&[0], &[3]), (&[0], &[3])], 10),
        (
            "C6'",
            vec![(3, 3, 0, &[2, 2]), (7, 7, 1, &[2, 6])],
            vec![(&[0, 3], &[2]), (&[0], &[6])],
            7,
        ),
        (
            "C6b'",
            vec![(4, 4, 0, &[2, 2]), c, d],
            vec![(&[0, 4, 8], &[2]), (&[0], &[6]), (&[0], &[6])],
            13,
        ),
        (
            "C7",
            vec![(7, 7, 0, &[4, 4]), (18, 18, 1, &[7, 11])],
            vec![(&[2, 9, 16], &[4]), (&[0], &[11])],
            18,
        ),
    ];
    for (name, tasks, runs, until) in cases {
        let lists = if name == "C7" { "plrs:lists=ija-floor" } else { "plrs:lists=ija" };
        let system = two_levels(&tasks, 2);
        let policy =
            registry().build(lists, &system).unwrap_or_else(|error| panic!("{name}: {error}"));
        let system = with_run(system, &runs);
        let trace = run(&system, policy, until);
        let late = (1..tasks.len() as u32).any(|task| missed(&trace, task, 0));
        assert!(late, "{name}");
    }
}

/// C8: without reuse the second job of the first task gets a priority that is too low.
#[test]
fn c8_lists_must_be_reused() {
    let system = two_levels(&[(5, 5, 1, &[1, 1]), (13, 13, 0, &[8, 8]), (18, 18, 1, &[3, 6])], 2);
    let lists = vec![
        vec![21, 19, 18, 17, 15, 13, 12, 10, 8, 7, 6, 4, 2, 0],
        vec![20, 14, 9, 3],
        vec![16, 11, 5, 1],
    ];
    let system = with_run(system, &[(&[0, 5], &[1]), (&[2], &[8]), (&[0], &[3])]);
    for reuse in [false, true] {
        let policy = ListReuse::new(lists.clone(), reuse, 2, OwnOverrun::Raise);
        assert_eq!(missed(&run(&system, one_cpu(&system, policy), 20), 0, 1), !reuse);
    }
}

/// If a list runs empty, the job runs below all others, and the trace records it.
#[test]
fn an_empty_list_is_noted() {
    let system = two_levels(&[(4, 4, 0, &[1]), (20, 20, 0, &[10])], 1);
    let system = with_run(system, &[(&[0, 4, 20], &[1]), (&[0], &[10])]);
    let policy = ListReuse::new(vec![vec![1], vec![0]], true, 1, OwnOverrun::Raise);
    let trace = run(&system, one_cpu(&system, policy), 30);
    let marks: Vec<(i64, MarkKind)> =
        trace.marks.iter().map(|mark| (mark.at.ns(), mark.kind.clone())).collect();
    assert_eq!(marks, [(4, MarkKind::Note(Note::Unlisted { task: TaskId(0) }))]);
    let ends = trace.jobs.iter().filter(|record| record.job.id.task == TaskId(0));
    let ends: Vec<i64> = ends.map(|record| record.completion().unwrap().ns()).collect();
    assert_eq!(ends, [1, 12, 21]);
}

/// C9: two late tasks of one criticality. The printed heap never wakes the second one; it ends here.
#[test]
fn c9_every_late_job_ends() {
    let system = two_levels(&[(10, 4, 0, &[3, 3]), (10, 5, 0, &[3, 3]), (20, 20, 1, &[6, 6])], 2);
    let system = with_run(system, &[(&[0], &[3]), (&[0], &[3]), (&[0], &[6])]);
    for late in [Late::Suspend, Late::Demote] {
        let policy = ZeroSlack::new(&[0, 1, 2], &[None, None, Some(0)], late);
        let trace = run(&system, one_cpu(&system, policy), 20);
        assert!(missed(&trace, 0, 0) && missed(&trace, 1, 0) && !missed(&trace, 2, 0));
        assert!(trace.jobs.iter().all(|record| record.completion().is_some()), "{late:?}");
    }
}

/// C10: a pattern counted with floors is schedulable, with ceilings it is not.
#[test]
fn c10_floor_and_ceiling() {
    let system =
        two_levels(&[(13, 11, 0, &[6, 6, 6]), (12, 11, 1, &[1, 3, 3]), (6, 6, 2, &[2, 2, 5])], 3);
    assert!(registry().build("plrs:lists=ija-floor", &system).is_ok());
    assert!(registry().build("plrs:lists=ija", &system).is_err());
}

/// Recomputing priorities and reusing lists are different algorithms with different schedules. In
/// the first run, lists put the second job of the high task, which overruns, above the second one
/// of the last task. A scan that knows how few jobs are left finds that the high job may wait, so
/// that the low job is done before the overrun would drop it.
#[test]
fn recomputation_is_not_reuse() {
    let tasks: [(i64, i64, u8, &[i64]); 3] =
        [(18, 18, 0, &[5, 5]), (16, 15, 1, &[3, 7]), (22, 22, 0, &[5, 5])];
    let system = two_levels(&tasks, 2);
    let runs: [(&[i64], &[i64]); 3] = [(&[11, 29], &[5]), (&[14, 30], &[7]), (&[10, 32], &[5])];
    for (spec, low_is_late) in [("plrs", true), ("ocbp", false), ("ocbp:releases=together", false)]
    {
        let policy = registry().build(spec, &system).unwrap();
        let trace = run(&with_run(system.clone(), &runs), policy, 54);
        assert_eq!(missed(&trace, 2, 1), low_is_late, "{spec}");
        assert!((0..2).all(|seq| !missed(&trace, 1, seq)), "{spec}");
    }
    for spec in ["ocbp", "ocbp:releases=together"] {
        let sets = (0..400).into_par_iter().map(|index| beside(["plrs", spec], 11, index, 20));
        let found = sets.reduce(Beside::default, Beside::and);
        assert!(found.sets > 50 && found.differ > 0 && found.differ < found.runs, "{found:?}");
    }
}

// --- EDF with virtual deadlines ---------------------------------------------------------------

/// The example with one factor, 1/2: the schedule of the specification, and the mode that each job sees.
#[test]
fn an_overrun_begins_the_high_mode_and_idleness_ends_it() {
    let system = two_levels(&[(10, 10, 0, &[4, 4]), (10, 10, 1, &[3, 8])], 2);
    let system = with_run(system, &[(&[0, 10, 20], &[4]), (&[0, 10, 20], &[3, 8, 3])]);
    for spec in ["edf-vd", "edf-vd:deadlines=whole", "edf-vd:deadlines=tuned"] {
        let policy = registry().build(spec, &system).unwrap();
        let rule = policy.rule();
        let trace = run(&system, policy, 30);
        assert!(check(&trace, &system, &rule, 5).is_clean(), "{spec}");
        let segments: Vec<(u32, i64, i64)> = (trace.segments.iter())
            .map(|segment| (segment.job.task.0, segment.start.ns(), segment.end.ns()))
            .collect();
        assert_eq!(segments, [(1, 0, 3), (0, 3, 7), (1, 10, 18), (1, 20, 23), (0, 23, 27)]);
        let modes = trace.marks.iter().filter_map(|mark| match mark.kind {
            MarkKind::Note(Note::Indicator { level, .. }) => Some((mark.at.ns(), level.0)),
            _ => None,
        });
        assert_eq!(modes.collect::<Vec<_>>(), [(13, 1), (18, 0)], "{spec}");
    }
}

/// Virtual deadlines are never rounded: 16/3 is before 11/2, and 21/4 before both.
#[test]
fn fractions_of_virtual_deadlines_decide() {
    let system = two_levels(&[(20, 20, 1, &[2, 9]), (20, 20, 1, &[2, 9]), (20, 20, 1, &[2, 9])], 2);
    let system = with_run(system, &[(&[0], &[2]), (&[0], &[2]), (&[0], &[2])]);
    let order = |deadlines: [(i64, i64); 3]| {
        let deadline: Vec<Rate> = deadlines.map(|(n, d)| Rate::new(n, d)).to_vec();
        let modes = Modes { cut: Criticality(0), deadline: deadline.into() };
        let trace = run(&system, one_cpu(&system, EdfVd::new(&modes)), 20);
        trace.segments.iter().map(|segment| segment.job.task.0).collect::<Vec<u32>>()
    };
    assert_eq!(order([(11, 2), (16, 3), (5, 1)]), [2, 1, 0]);
    assert_eq!(order([(21, 4), (16, 3), (11, 2)]), [0, 1, 2]);
    // Equal virtual deadlines are in the order of ranks.
    assert_eq!(order([(11, 2), (22, 4), (5, 1)]), [2, 0, 1]);
}

/// A low job that exceeds its own bound is aborted alone. More than two levels become two modes,
/// and a mode change would drop more critical jobs.
#[test]
fn a_low_overrun_drops_nobody_else() {
    let system =
        two_levels(&[(10, 10, 0, &[2, 2, 2]), (10, 10, 1, &[3, 3, 3]), (10, 10, 2, &[2, 2, 7])], 3);
    let policy = registry().build("edf-vd", &system).unwrap();
    let system = with_run(system, &[(&[0], &[9]), (&[0], &[3]), (&[0], &[2])]);
    let trace = run(&system, policy, 10);
    assert_eq!([0, 1, 2].map(|task| missed(&trace, task, 0)), [true, false, false]);
    assert!(trace.marks.iter().all(|mark| !matches!(mark.kind, MarkKind::Note(_))));
}

/// Deadlines shorter than periods are only for the search, and the rejection states this.
#[test]
fn utilizations_are_for_deadlines_equal_to_periods() {
    let system = two_levels(&[(10, 6, 0, &[2, 2]), (8, 8, 1, &[2, 5]), (20, 15, 1, &[2, 4])], 2);
    for spec in ["edf-vd", "edf-vd:deadlines=whole"] {
        let error = registry().build(spec, &system).err().unwrap().to_string();
        assert!(error.contains("`tau0` is 6ns of 10ns; deadlines=tuned takes it"), "{error}");
    }
    assert!(registry().build("edf-vd:deadlines=tuned", &system).is_ok());
}

// --- Bundled sets ------------------------------------------------------------------------------

fn bundled(name: &str) -> System {
    read(name, demo(name).unwrap().text.as_bytes(), Format::Toml, &Host::default()).unwrap().system
}

/// Each bundled set shows what its description states.
#[test]
fn bundled_sets_show_what_they_say() {
    let defects = [
        ("mixed-amc-defect", "amc:order=amc-ia-paper", Some("amc:order=amc-ia"), (0, 0)),
        ("mixed-pt-defect", "pt", None, (1, 0)),
        ("mixed-zss-defect", "zss:instants=paper", Some("zss"), (0, 1)),
        ("mixed-plrs-defect", "plrs:lists=ija", Some("plrs"), (1, 0)),
    ];
    for (name, spec, refused, (task, seq)) in defects {
        let system = bundled(name);
        let policy = registry().build(spec, &system).unwrap();
        let ScheduleRule::MixedCriticality { guaranteed, .. } = policy.rule() else { panic!() };
        assert!(guaranteed.is_empty(), "{name}");
        let trace = run(&system, policy, Duration::from_ms(20).ns());
        assert!(missed(&trace, task, seq), "{name}");
        if let Some(refused) = refused {
            assert!(registry().build(refused, &system).is_err(), "{name}");
        }
    }
}

/// Every mechanism accepts the set, keeps the critical deadlines, and drops others.
#[test]
fn only_low_criticality_pays_for_overruns() {
    let system = bundled("mixed-overrun");
    let until = Duration::from_ms(2000).ns();
    let tuned = "edf-vd:deadlines=tuned";
    for spec in
        ["smc", "amc", "amc:own_overrun=cut", "zss", "zss:late=demote", "pt", "plrs", "ocbp", tuned]
    {
        let policy = registry().build(spec, &system).unwrap();
        let rule = policy.rule();
        let trace = run(&system, policy, until);
        assert!(check(&trace, &system, &rule, 5).is_clean(), "{spec}");
        let late = |record: &&layland_trace::JobRecord| record.missed(trace.over);
        let high = |record: &&layland_trace::JobRecord| record.job.id.task.0 < 2;
        assert_eq!(trace.jobs.iter().filter(late).filter(high).count(), 0, "{spec}");
        assert!(trace.jobs.iter().filter(late).count() > 0, "{spec}");
    }
    let trace = run(&system, registry().build("p-rm", &system).unwrap(), until);
    assert!(missed(&trace, 0, 0), "rate-monotonic priorities let `steer` pay");
}

/// On two CPUs the tasks of highest criticality are placed first, if the order requests it.
#[test]
fn tasks_are_placed_where_the_analysis_accepts_them() {
    let mut system = two_levels(
        &[(10, 10, 0, &[6, 6]), (10, 10, 0, &[6, 6]), (10, 10, 1, &[3, 4]), (10, 10, 1, &[3, 4])],
        2,
    );
    system.platform = layland_model::Platform::identical(2);
    for spec in [
        "smc",
        "amc:sort=criticality:fit=wf",
        "plrs:fit=wfd",
        "ocbp:fit=wfd",
        "pt:fit=wf",
        "edf-vd:fit=wfd",
        "edf-vd:deadlines=tuned:sort=size",
    ] {
        let policy =
            registry().build(spec, &system).unwrap_or_else(|error| panic!("{spec}: {error}"));
        let rule = policy.rule();
        let ScheduleRule::MixedCriticality { groups, guaranteed } = &rule else { panic!() };
        assert_eq!(guaranteed.len(), 2, "{spec}");
        assert!(groups.iter().all(|group| group.tasks.len() == 2), "{spec}: {groups:?}");
        let trace = run(&system, policy, 60);
        assert!((2..4).all(|task| (0..5).all(|seq| !missed(&trace, task, seq))), "{spec}");
        assert!(check(&trace, &system, &rule, 5).is_clean(), "{spec}");
    }
    // Affinities are kept, or the reason is reported.
    for task in system.tasks.values_mut().take(2) {
        task.affinity = Some(layland_model::CpuSet::single(layland_model::CpuId(0)));
    }
    let error = registry().build("smc:fit=ffd", &system).err().unwrap().to_string();
    assert!(error.contains("finds no CPU for task") && error.contains("may use 0"), "{error}");
}

/// A run to which the checker must object: an unsound list that is declared guaranteed.
#[test]
fn the_guarantee_is_checked() {
    let system = two_levels(&[(3, 3, 0, &[2, 2]), (7, 7, 1, &[2, 6])], 2);
    let policy = registry().build("plrs:lists=ija", &system).unwrap();
    let ScheduleRule::MixedCriticality { groups, .. } = policy.rule() else { panic!() };
    let guaranteed = groups[0].cpus.clone();
    let rule = ScheduleRule::MixedCriticality { groups, guaranteed };
    let system = with_run(system, &[(&[0, 3], &[2]), (&[0], &[6])]);
    assert!(broken(&*policy, &system, 1, 8).is_some());
    let trace = run(&system, policy, 8);
    let report = check(&trace, &system, &rule, 5);
    assert!(report.to_string().contains("tau1#1 misses its deadline 7ns"), "{report}");
}
