//! The options of `check` that change the question, and all parts of the answer. Such an option
//! must affect every part, or the answer is *unknown*.

use super::CheckArgs;
use crate::ui::exit::Exit;
use crate::ui::input::Set;
use clap::{Args, Command};
use layland_analysis::{Subject, Verdict, catalogue};
use layland_answers::Checked;
use layland_guarantee::Findings;
use layland_model::{
    Chain, Communication, CpuId, CpuSet, Criticality, Duration, Levels, Preemption, Service,
    System, Task, TaskId,
};
use layland_policy::Registry;
use std::collections::BTreeSet;

/// The kinds of options.
enum Kind {
    /// The option selects the set. All answers are about it.
    Set,
    /// The option selects the policies or tests, and the length of the search. A policy or
    /// test that is not selected gives no answer.
    Asked,
    /// The option changes the question about the set. The strings describe its effect on each of
    /// [`ANSWERS`].
    Question([&'static str; ANSWERS.len()]),
    /// The option selects what is printed, or where.
    Output,
}

/// The parts of the answer.
const ANSWERS: [&str; 9] = [
    "tests and bounds",
    "the margin",
    "the limits of each number",
    "the verdict without affinities",
    "the answers about some scheduler, partition or priorities",
    "WITNESS",
    "STATES",
    "chains",
    "certificates",
];

use Kind::{Asked, Output, Question};

const TABLE: &[(&str, Kind)] = &[
    ("set", Kind::Set),
    ("more", Kind::Set),
    ("task", Kind::Set),
    ("cpus", Kind::Set),
    ("from", Kind::Set),
    ("unit", Kind::Set),
    ("columns", Kind::Set),
    ("policy", Asked),
    ("test", Asked),
    ("effort", Asked),
    ("design", Asked),
    (
        "reserve",
        Question([
            "of the larger set",
            "of the larger set",
            "of the larger set",
            "of the larger set",
            "of the set as it is: a set that no scheduler can keep with less, none can keep with more; a yes decides nothing",
            "runs the larger set",
            "searches the larger set",
            "of the larger set",
            "refused together",
        ]),
    ),
    (
        "tick",
        Question([
            "a no is unknown, and no bound is reached",
            "a yes, which holds",
            "accepted values, which hold; beyond them nothing is known",
            "a no is unknown",
            "a no is left out, unless the densest run is on ticks",
            "runs on ticks alone",
            "searches ticks alone",
            "bounds, which hold",
            "no proof of a no",
        ]),
    ),
    ("chart", Output),
    ("output", Output),
    ("certificate", Output),
    ("bounds", Output),
    ("all", Output),
    ("no_margin", Output),
    ("sensitivity", Output),
    ("cite", Output),
    ("json", Output),
    ("digits", Output),
    ("ascii", Output),
    ("workers", Output),
];

#[test]
fn every_option_has_a_row() {
    let command = CheckArgs::augment_args(Command::new("check"));
    let options: BTreeSet<&str> =
        command.get_arguments().map(|option| option.get_id().as_str()).collect();
    let rows: BTreeSet<&str> = TABLE.iter().map(|(option, _)| *option).collect();
    assert_eq!(
        options, rows,
        "does a new option change the question, and does it reach {ANSWERS:?}?"
    );
    let questions = TABLE.iter().filter(|(_, kind)| match kind {
        Question(answers) => answers.iter().all(|answer| !answer.is_empty()),
        Kind::Set | Asked | Output => false,
    });
    assert_eq!(questions.count(), 2);
}

fn task((name, c, t, d): (&str, i64, i64, i64)) -> Task {
    let mut task = Task::implicit(name.to_owned(), Service::from_ms(c), Duration::from_ms(t));
    task.deadline = Duration::from_ms(d);
    task
}

/// No test of a policy refutes jobs that arrive at ticks; only a run or a proof of infeasibility
/// does.
#[test]
fn no_test_refutes_jobs_that_arrive_at_ticks() {
    let registry = Registry::standard();
    let sets = [
        vec![("a", 1, 30, 29), ("b", 1, 12, 12), ("c", 12, 25, 25)],
        vec![("a", 2, 5, 3), ("b", 2, 7, 4), ("c", 3, 9, 9)],
        vec![("a", 3, 5, 5), ("b", 4, 9, 9)],
    ];
    let (mut taken_back, mut refuted) = (0, 0);
    for (at, tasks) in sets.into_iter().enumerate() {
        for is_preempted in [true, false] {
            let mut system = System::new(1, tasks.iter().copied().map(task).collect());
            if !is_preempted {
                system.tasks.values_mut().for_each(|task| task.preemption = Preemption::Never);
            }
            let checked = |more: &[&str]| {
                let words = [&["--all", "--no-margin"][..], more].concat();
                let args = CheckArgs::of_words(&words).expect("they are arguments");
                let set = Set::in_memory("set", system.clone());
                let mut question = args.question();
                question.options.wanted.findings = Findings::All;
                question.ask(&registry, set).expect("no policy is named")
            };
            let (plain, on_ticks) = (checked(&[]), checked(&["--tick", "1ms"]));
            for found in &on_ticks.policies {
                let before = plain.policies.iter().find(|before| before.spec == found.spec);
                let before = before.map(|before| before.verdict);
                taken_back +=
                    usize::from(before == Some(Verdict::No) && found.verdict == Verdict::Unknown);
                if found.verdict != Verdict::No || found.refused.is_some() {
                    continue;
                }
                refuted += 1;
                let by = found.decided_by.expect("a test says no");
                let is_of_all =
                    catalogue::test(by).is_some_and(|test| test.subject == Subject::SomeScheduler);
                assert!(by == "WITNESS" || is_of_all, "set {at}, {}: {by}", found.spec);
            }
        }
    }
    assert!(taken_back > 0 && refuted > 10, "{taken_back} taken back, {refuted} refuted");
}

/// Returns a task of a two-level system, with its execution times and its level.
fn mixed((name, low, high, t, level): (&str, i64, i64, i64, u8)) -> Task {
    let mut task = task((name, low, t, t));
    task.wcet = [low, high].map(Service::from_ms).into();
    task.criticality = Criticality(level);
    task
}

/// Returns sets whose runs reserve more than the set states, or would if the CPUs had enough
/// capacity.
fn sets_with_room_and_without() -> Vec<System> {
    let of = |cpus, tasks: &[(&str, i64, i64, i64)]| {
        System::new(cpus, tasks.iter().copied().map(task).collect())
    };
    let light = of(1, &[("a", 1, 10, 10), ("b", 2, 20, 15)]);
    // A tenth more for each budget overloads the CPUs.
    let full = of(2, &[("a", 6, 10, 10), ("b", 6, 10, 10), ("c", 7, 10, 10)]);
    let mut apart = of(2, &[("a", 9, 20, 20), ("b", 9, 20, 20), ("c", 1, 10, 10)]);
    apart.tasks[TaskId(0)].affinity = Some(CpuSet::single(CpuId(0)));
    let mut chained = of(1, &[("read", 2, 10, 10), ("act", 5, 20, 20)]);
    chained.chains = vec![Chain::new("react", [0, 1].map(TaskId), Communication::Implicit)];
    let tasks = [("view", 4, 4, 10, 0), ("brake", 3, 5, 10, 1)].map(mixed);
    let mut levels = System::new(1, tasks.to_vec());
    levels.levels = Levels::new(["LO", "HI"].map(str::to_owned).to_vec());
    vec![light, full, apart, chained, levels]
}

/// With a margin, each answer about a policy is about what its runs reserve. Answers about every
/// scheduler are about the set as it is.
#[test]
fn a_margin_is_the_larger_set_to_everything_that_answers() {
    let registry = Registry::standard();
    let checked = |system: &System, more: &[&str]| {
        let words = [&["--all", "--effort", "2000"][..], more].concat();
        let args = CheckArgs::of_words(&words).expect("they are arguments");
        let set = Set::in_memory("set", system.clone());
        let mut question = args.question();
        question.options.wanted.findings = Findings::All;
        question.ask(&registry, set).expect("no policy is named")
    };
    let (mut larger, mut lost, mut witnesses, mut margins, mut chains) = (0, 0, 0, 0, 0);
    for system in sets_with_room_and_without() {
        let (plain, with_margin) = (checked(&system, &[]), checked(&system, &["--reserve", "0.1"]));
        let of = |spec: &str| with_margin.system(spec);
        let mut others: Vec<(System, Checked)> = Vec::new();
        for found in &with_margin.policies {
            let (spec, reserved) = (&*found.spec, of(&found.spec));
            if others.iter().all(|(other, _)| other.tasks != reserved.tasks) {
                others.push((reserved.clone(), checked(reserved, &[])));
            }
            let (_, alone) = others
                .iter()
                .find(|(other, _)| other.tasks == reserved.tasks)
                .expect("it was asked about");
            let same = alone.policies.iter().find(|same| same.spec == spec);
            let same = same.unwrap_or_else(|| panic!("{spec} says nothing of the larger set"));
            assert_eq!(
                (found.verdict, found.decided_by),
                (same.verdict, same.decided_by),
                "{spec}"
            );
            assert_eq!(found.reasons, same.reasons, "{spec}");
            assert_eq!(found.bounds, same.bounds, "{spec}");
            assert_eq!(found.margin, same.margin, "{spec}");
            assert_eq!(found.without_affinities, same.without_affinities, "{spec}");
            let run = |checked: &Checked, system: &System| {
                checked.witnesses().get(spec).map(|witness| witness.describe(system))
            };
            assert_eq!(run(&with_margin, reserved), run(alone, reserved), "{spec}");
            assert_eq!(with_margin.chains.get(spec), alone.chains.get(spec), "{spec}");
            if reserved.tasks == system.tasks {
                continue;
            }
            larger += 1;
            let before = plain.policies.iter().find(|before| before.spec == spec);
            let was_yes = before.is_some_and(|before| before.verdict == Verdict::Yes);
            lost += usize::from(was_yes && found.verdict != Verdict::Yes);
            witnesses += usize::from(found.witness.is_some());
            margins += usize::from(found.margin.is_some());
            chains += usize::from(with_margin.chains.contains_key(spec));
        }
        assert_eq!(plain.any_policy.len(), with_margin.any_policy.len());
        for (before, said) in plain.any_policy.iter().zip(&with_margin.any_policy) {
            assert_eq!(before.test.name, said.test.name);
            assert_eq!(**before.finding, **said.finding, "{}", said.test.name);
        }
        // Feasibility under some scheduler decides nothing about what runs reserve.
        let is_yes = with_margin.policies.iter().any(|found| found.verdict == Verdict::Yes);
        assert!(is_yes || with_margin.exit != Exit::Yes);
    }
    assert!(
        larger > 20 && lost > 3 && margins > 20 && chains > 2,
        "{larger} larger, {lost} lost, {margins} margins, {chains} with chains"
    );
    assert!(witnesses > 0, "no run of a larger set misses");
    let both = ["--reserve", "0.1", "--certificate", "proof.json", "-t", "a=1ms/5ms"];
    assert!(CheckArgs::of_words(&both).is_err(), "no certificate is about a larger set");
}
